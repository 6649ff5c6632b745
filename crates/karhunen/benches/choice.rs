//! The choice of a route compared with the best one: the processor time of fits by each route, over shapes,
//! densities, spectra and requests. Prints one line of CSV for each case as it ends; `docs/log/routes.md` states the
//! expected results.
//!
//! `cargo bench --bench choice` runs all of them, which takes hours; arguments restrict it to the cases whose
//! names contain one of them (`2246x10473`, `dense/flat`, `0.9`). Fits run on one thread, in turns, and the least
//! time of each counts. A route that takes 1.5 times as long as another is stopped, and its time begins with `>`.
//! Routes are not tried if their matrix has more than four times the rows of the smaller one, or for the singular
//! values of more than 1200 rows; their time is left empty.

// The output is the record.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use karhunen::matrix::SparseMatrix;
use karhunen::pca::Route;
use karhunen::{Dense, Error, Flow, NComponents, Observer, Pca, PcaModel, Run, Source, Weights};
use karhunen_testkit::SplitMix64;

/// Variances of the columns.
#[derive(Clone, Copy, Debug)]
enum Spectrum {
    /// `1 / j^2`.
    Fast,
    /// `1 / j`.
    Slow,
    /// All equal.
    Flat,
    /// Twenty columns with four fifths of the variance, the others equal.
    Factors,
}

impl Spectrum {
    const ALL: [Self; 4] = [Self::Fast, Self::Slow, Self::Flat, Self::Factors];

    fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Slow => "slow",
            Self::Flat => "flat",
            Self::Factors => "factors",
        }
    }

    /// The standard deviation of column `j` of `p`.
    fn deviation(self, j: usize, p: usize) -> f64 {
        let place = (j + 1) as f64;
        match self {
            Self::Fast => 1.0 / place,
            Self::Slow => 1.0 / place.sqrt(),
            Self::Flat => 1.0,
            Self::Factors if j < 20 => (0.2 * p as f64).sqrt(),
            Self::Factors => 1.0,
        }
    }
}

/// Rows, columns, and the density of a sparse matrix.
type Shape = (usize, usize, Option<f64>);

/// Normal values; sparse ones are `1 + |normal|`, so that centring matters.
fn dense(n: usize, p: usize, spectrum: Spectrum) -> Vec<f64> {
    let mut random = SplitMix64::new(1);
    let deviations: Vec<f64> = (0..p).map(|j| spectrum.deviation(j, p)).collect();
    (0..n * p).map(|entry| random.normal() * deviations[entry % p]).collect()
}

fn sparse(n: usize, p: usize, density: f64, spectrum: Spectrum) -> SparseMatrix<f64> {
    let mut random = SplitMix64::new(2);
    let (mut rows, mut columns, mut values) = (Vec::<u32>::new(), Vec::<u32>::new(), Vec::new());
    // Gaps between stored entries are geometric.
    let mut entry = 0;
    loop {
        entry += ((1.0 - random.uniform()).ln() / (1.0 - density).ln()) as usize;
        if entry >= n * p {
            break;
        }
        let j = entry % p;
        rows.push((entry / p) as u32);
        columns.push(j as u32);
        values.push((1.0 + random.normal().abs()) * spectrum.deviation(j, p));
        entry += 1;
    }
    SparseMatrix::from_triples(n, p, &rows, &columns, &values).expect("places within the shape, none twice")
}

/// Processor time of this thread in seconds, or elapsed time if the system does not report it.
struct Clock {
    start: Instant,
}

impl Clock {
    fn now(&self) -> f64 {
        // The system updates the figure when the thread yields; otherwise it lags by milliseconds.
        std::thread::yield_now();
        let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanoseconds = schedstat.as_deref().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        nanoseconds.map_or_else(|| self.start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
    }
}

/// Cancels a fit at a deadline.
struct Until<'a> {
    clock: &'a Clock,
    end: f64,
}

impl Observer for Until<'_> {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        if self.clock.now() > self.end { Flow::Stop } else { Flow::Continue }
    }
}

/// The time of a fit.
#[derive(Clone, Copy)]
enum Time {
    Seconds(f64),
    MoreThan(f64),
    NotTried,
}

impl Time {
    fn seconds(self) -> f64 {
        if let Self::Seconds(seconds) = self { seconds } else { f64::INFINITY }
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{seconds:.4}"),
            Self::MoreThan(seconds) => write!(f, ">{seconds:.4}"),
            Self::NotTried => Ok(()),
        }
    }
}

fn timed(x: &dyn Source<f64>, pca: &Pca, limit: f64, clock: &Clock) -> (Time, Option<PcaModel>) {
    let start = clock.now();
    let until = Until { clock, end: start + limit };
    let model =
        pca.fit_with(x, &Weights::default(), &Run { n_threads: Some(1), observer: &until, ..Run::default() });
    let seconds = clock.now() - start;
    match model {
        Ok(model) => (Time::Seconds(seconds), Some(model)),
        Err(Error::Stopped { .. }) => (Time::MoreThan(seconds), None),
        Err(error) => panic!("the benchmark's data fit: {error}"),
    }
}

const ROUTES: [Route; 4] = [Route::Svd, Route::Covariance, Route::Gram, Route::BlockKrylov];

fn worth_a_try(route: Route, n: usize, p: usize) -> bool {
    match route {
        Route::Svd => n.min(p) <= 1200,
        Route::Covariance => p <= 4 * n,
        Route::Gram => n <= 4 * p,
        Route::BlockKrylov => true,
    }
}

/// Fits by the choice and by each route in turns, and prints the line.
fn compare(name: &str, x: &dyn Source<f64>, request: NComponents, test: bool, clock: &Clock) {
    let (n, p) = x.shape();
    let with = |solver| Pca { n_components: request, solver, ..Pca::default() };
    let (mut auto, model) = timed(x, &with(None), f64::INFINITY, clock);
    let model = model.expect("there was no limit");
    assert!(model.explained_variance()[0] > 0.0);
    let mut routes = ROUTES.map(|_| Time::NotTried);
    let turns = match auto.seconds() {
        _ if test => 1,
        s if s < 0.1 => 5,
        s if s < 1.0 => 3,
        s if s < 4.0 => 2,
        _ => 1,
    };
    for turn in 0..turns {
        if turn > 0 {
            let again = timed(x, &with(None), f64::INFINITY, clock).0;
            auto = Time::Seconds(auto.seconds().min(again.seconds()));
        }
        for (route, best) in ROUTES.into_iter().zip(0..) {
            if !worth_a_try(route, n, p) || matches!(routes[best], Time::MoreThan(_)) {
                continue;
            }
            let least = routes.iter().map(|time| time.seconds()).fold(auto.seconds(), f64::min);
            let (time, _) = timed(x, &with(Some(route)), 1.5 * least + 0.01, clock);
            routes[best] = match (routes[best], time) {
                (Time::Seconds(a), Time::Seconds(b)) => Time::Seconds(a.min(b)),
                (Time::Seconds(a), _) => Time::Seconds(a),
                _ => time,
            };
        }
    }
    // The choice is one of the routes, whose own times may have been stopped.
    let best = routes.iter().map(|time| time.seconds()).fold(auto.seconds(), f64::min);
    let [svd, covariance, gram, krylov] = routes;
    println!(
        "{name},{},{},{auto},{svd},{covariance},{gram},{krylov},{:.2}",
        model.components().n_rows(),
        model.convergence().solver,
        auto.seconds() / best
    );
}

fn name_of(request: NComponents) -> String {
    match request {
        NComponents::Variance(share) => share.to_string(),
        NComponents::Count(k) => k.to_string(),
        NComponents::All => "all".to_owned(),
        NComponents::Mle => "mle".to_owned(),
    }
}

/// The shapes and requests that are compared.
fn table(test: bool) -> (Vec<Shape>, Vec<NComponents>) {
    use NComponents::{All, Count, Mle, Variance};
    if test {
        return (vec![(300, 200, None), (200, 300, Some(0.05))], vec![Variance(0.8), All]);
    }
    let shapes = vec![
        (20_000, 300, None),
        (300, 20_000, None),
        (10_000, 1000, None),
        (1000, 10_000, None),
        (1000, 1000, None),
        (3000, 2500, None),
        (5000, 5000, None),
        (20_000, 1000, Some(0.01)),
        (20_000, 1000, Some(0.1)),
        (2246, 10_473, Some(0.01)),
        (5000, 5000, Some(0.001)),
        (5000, 5000, Some(0.01)),
        (3000, 3000, Some(0.1)),
        (50_000, 20_000, Some(0.001)),
    ];
    let shares = [0.5, 0.8, 0.9, 0.99].map(Variance);
    (shapes, [&shares[..], &[All, Mle], &[10, 50, 200].map(Count)].concat())
}

/// The name of the processor, if the system reports it.
fn processor() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    line.map_or("unknown processor", |line| line.trim_start_matches([' ', '\t', ':'])).to_owned()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let test = arguments.iter().any(|argument| argument == "--test");
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let clock = Clock { start: Instant::now() };
    let (shapes, requests) = table(test);
    println!("# {}, one thread", processor());
    println!("case,components,chosen,auto_s,svd_s,covariance_s,gram_s,block_krylov_s,ratio");
    for (n, p, density) in shapes {
        for spectrum in Spectrum::ALL {
            let kind = density.map_or("dense".to_owned(), |density| format!("{}%", 100.0 * density));
            let name = |request| format!("{n}x{p}/{kind}/{}/{}", spectrum.name(), name_of(request));
            let wanted: Vec<NComponents> = requests
                .iter()
                .copied()
                // Minka's estimate needs as many rows as columns.
                .filter(|&r| r != NComponents::Mle || n >= p)
                .filter(|&r| filters.is_empty() || filters.iter().any(|f| name(r).contains(f.as_str())))
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let run = |x: &dyn Source<f64>| {
                wanted.iter().for_each(|&request| compare(&name(request), x, request, test, &clock));
            };
            match density {
                Some(density) => run(&sparse(n, p, density, spectrum).view()),
                None => {
                    let values = dense(n, p, spectrum);
                    run(&Dense::row_major(&values, n, p).expect("as many values as the shape has"));
                }
            }
        }
    }
}
