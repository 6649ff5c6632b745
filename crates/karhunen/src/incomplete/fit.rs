//! One fit, from top to bottom: mean, penalties, start, iterations, rotation, error bars.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::exec::{Exec, Iteration, Observer};
use crate::incomplete::factors::{Factors, Side};
use crate::incomplete::gauge::{gauge, penalties};
use crate::incomplete::kernels::gradient::squares;
use crate::incomplete::kernels::normal::solve_side;
use crate::incomplete::mean::{ColumnSums, Spread, spread};
use crate::incomplete::methods::als::Als;
use crate::incomplete::methods::ccd::Ccd;
use crate::incomplete::methods::conjugate::Conjugate;
use crate::incomplete::methods::descent::{Descent, Metric};
use crate::incomplete::methods::factorial::Factorial;
use crate::incomplete::methods::full::{Full, Loadings};
use crate::incomplete::methods::imputation::Imputation;
use crate::incomplete::methods::map::Map;
use crate::incomplete::methods::online::Online;
use crate::incomplete::methods::{Iterate, Progress};
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::observed::{Observed, Typed};
use crate::incomplete::options::{IncompletePca, MeanMode, Method, Regularization};
use crate::incomplete::pace::{remaining, seconds_left};
use crate::incomplete::posterior::Posterior;
use crate::incomplete::problem::{Diagonal, MeanRule, Problem};
use crate::incomplete::start::{Start, random, warm_up};
use crate::incomplete::stopping::{StopReason, Stopping, TraceEntry};
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

pub(crate) fn fit<T: Scalar>(
    pca: &IncompletePca,
    data: &Observed<T>,
    start: Option<&Start>,
    observer: &dyn Observer,
) -> Result<IncompleteModel> {
    Exec::run(pca.n_threads, observer, |exec| match data.typed() {
        Typed::F32(data) => fit_typed(pca, data, start, exec),
        Typed::F64(data) => fit_typed(pca, data, start, exec),
    })
}

fn fit_typed<T: Lane>(
    pca: &IncompletePca,
    data: &Observed<T>,
    start: Option<&Start>,
    exec: &Exec<'_>,
) -> Result<IncompleteModel> {
    let split = match pca.early_stopping {
        Some(share) => Some(data.split_by(share, pca.seed, &exec.phase("setting entries aside"))?),
        None => None,
    };
    let (data, held_out) = match &split {
        Some((kept, aside)) => (kept, Some(aside).filter(|aside| aside.n_observed() > 0)),
        None => (data, None),
    };
    let prepared = Prepared::new(pca, data, start, &exec.phase("means and variances"))?;
    let (method, reason) = pca.chosen();
    let problem = prepared.problem(pca, method, data);
    let mut best: Option<Run<T>> = None;
    let began = Instant::now();
    for number in 0..pca.n_starts {
        let part = exec.phase(method.name());
        let part = part.part(number as f64 / pca.n_starts as f64, (number + 1) as f64 / pca.n_starts as f64);
        let factors = match start {
            Some(start) => Factors::new(&start.loadings, &start.scores, &prepared.mean),
            None => {
                let seed = pca.seed.wrapping_add(number as u64);
                let mut factors =
                    random(data, pca.n_components, &prepared.mean, prepared.spread.mean_square.sqrt(), seed);
                if method != Method::Online {
                    warm_up(&problem, &mut factors, &part.part(0.0, 0.0))?;
                }
                factors
            }
        };
        let before = began.elapsed().as_secs_f64();
        let place = Place { method, number, before };
        let run = run(pca, place, problem.clone(), factors, held_out, &prepared, &part)?;
        if best.as_ref().is_none_or(|best| run.rank() < best.rank()) {
            best = Some(run);
        }
    }
    match best {
        Some(run) => run.into_model(pca, method, reason, &problem, &prepared, &exec.phase("error bars")),
        // The options ask for at least one start.
        None => unreachable!("a fit without a start"),
    }
}

/// The model of given loadings and mean: scores by one half sweep, nothing iterated.
pub(crate) fn finish_from<T: Scalar>(
    pca: &IncompletePca,
    data: &Observed<T>,
    start: &Start,
    observer: &dyn Observer,
) -> Result<IncompleteModel> {
    let pca = IncompletePca { n_components: start.loadings.n_cols(), method: Method::Online, ..pca.clone() };
    pca.check_all(data, Some(start))?;
    Exec::run(pca.n_threads, observer, |exec| match data.typed() {
        Typed::F32(data) => finish_typed(&pca, data, start, exec),
        Typed::F64(data) => finish_typed(&pca, data, start, exec),
    })
}

fn finish_typed<T: Lane>(
    pca: &IncompletePca,
    data: &Observed<T>,
    start: &Start,
    exec: &Exec<'_>,
) -> Result<IncompleteModel> {
    let prepared = Prepared::new(pca, data, Some(start), &exec.phase("means and variances"))?;
    let problem = prepared.problem(pca, Method::Online, data);
    let mut factors = Factors::new(&start.loadings, &start.scores, &prepared.mean);
    let [squares, _] = solve_side(&problem, &mut factors, Side::Scores, &exec.phase("scores"))?;
    let cost = squares + problem.side_penalty(Side::Loadings, &factors, exec)?;
    let stop = StopReason::Iterations;
    let penalties = [problem.loadings.clone(), problem.scores.clone()];
    let run = Run {
        factors,
        trace: Vec::new(),
        stop,
        cost,
        squares,
        held_out_rmse: None,
        posterior: None,
        penalties,
        remark: None,
    };
    let reason = "asked for".to_owned();
    run.into_model(pca, Method::Online, reason, &problem, &prepared, &exec.phase("error bars"))
}

/// What is known before the first iteration.
pub(crate) struct Prepared {
    pub(crate) sums: ColumnSums,
    /// The mean that the fit starts with.
    pub(crate) mean: Vec<f64>,
    /// The value of pseudo-observations.
    pub(crate) prior: f64,
    pub(crate) spread: Spread,
}

impl Prepared {
    fn new<T: Lane>(
        pca: &IncompletePca,
        data: &Observed<T>,
        start: Option<&Start>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let sums = ColumnSums::of(data, exec)?;
        let prior = pca.mean_prior.value.unwrap_or_else(|| sums.grand_mean());
        let observed = sums.means(pca.mean_prior.count, prior);
        let mean = match (pca.mean, start.and_then(|start| start.mean.clone())) {
            (MeanMode::None, _) => vec![0.0; data.n_features()],
            (_, Some(mean)) => mean,
            (_, None) => observed.clone(),
        };
        let spread = spread(data, if pca.mean == MeanMode::None { &mean } else { &observed }, exec)?;
        // Squares of residuals and their sums must be in the range of the type.
        let largest = if T::EPSILON > f64::EPSILON { 1e30 } else { 1e290 };
        if spread.mean_square.is_nan() || spread.mean_square > largest {
            return Err(Error::Overflow { statistic: "variance", column: spread.widest });
        }
        Ok(Self { sums, mean, prior, spread })
    }

    /// The problem of a method: its penalties and its rule of the mean.
    fn problem<'a, T: Lane>(
        &self,
        pca: &IncompletePca,
        method: Method,
        data: &'a Observed<T>,
    ) -> Problem<'a, T> {
        let default = match method {
            Method::Als | Method::Ridge | Method::Soft => {
                Regularization::Ridge(self.spread.mean_square.sqrt())
            }
            _ => Regularization::None,
        };
        let (loadings, scores) = match pca.regularization.unwrap_or(default) {
            Regularization::None => (Diagonal::Same(0.0), Diagonal::Same(0.0)),
            Regularization::Ridge(lambda) => (Diagonal::Same(lambda), Diagonal::Same(lambda)),
            Regularization::Weighted(lambda) => (
                Diagonal::ByRow(self.sums.weight.iter().map(|w| lambda * w).collect()),
                Diagonal::ByRow((0..data.n_samples()).map(|j| lambda * data.rows().weight(j)).collect()),
            ),
        };
        let mean =
            MeanRule { joint: pca.mean == MeanMode::Joint, kappa: pca.mean_prior.count, prior: self.prior };
        Problem { data, loadings, scores, mean, c: pca.n_components }
    }
}

fn iterations<T: Lane>(pca: &IncompletePca, method: Method, mean_square: f64) -> Box<dyn Iterate<T>> {
    match method {
        Method::Em | Method::Als => Box::new(Als),
        Method::Ccd => Box::new(Ccd { inner: pca.inner_iterations }),
        Method::Imputation | Method::Soft => Box::new(Imputation::new()),
        Method::Gradient => Box::new(Descent::new(Metric::Curvature(0.0), pca.step)),
        Method::Newton => Box::new(Descent::new(Metric::Curvature(pca.alpha), pca.step)),
        Method::Natural => Box::new(Descent::new(Metric::Natural, pca.step)),
        Method::Online => Box::new(Online::new(mean_square.sqrt())),
        Method::Ppca => Box::new(Full::new(Loadings::Point, mean_square)),
        Method::Map => Box::new(Map::new(mean_square)),
        Method::Vb => Box::new(Factorial::new(true, None, mean_square)),
        Method::VbFixed => Box::new(Factorial::new(false, pca.prior_variance, mean_square)),
        Method::VbFull => Box::new(Full::new(Loadings::Posterior, mean_square)),
        Method::Cg | Method::Ridge | Method::Auto => Box::new(Conjugate::new(pca.alpha)),
    }
}

/// The iterations from one start.
pub(crate) struct Run<T> {
    pub(crate) factors: Factors<T>,
    pub(crate) trace: Vec<TraceEntry>,
    pub(crate) stop: StopReason,
    pub(crate) cost: f64,
    pub(crate) squares: f64,
    pub(crate) held_out_rmse: Option<f64>,
    /// Of methods that have one.
    pub(crate) posterior: Option<Posterior<T>>,
    /// The penalties of loadings and scores at the end, which some methods learn.
    pub(crate) penalties: [Diagonal; 2],
    /// What the user should know.
    pub(crate) remark: Option<&'static str>,
}

impl<T> Run<T> {
    /// Lower is better.
    fn rank(&self) -> f64 {
        self.held_out_rmse.unwrap_or(self.cost)
    }
}

/// What a run is: the method, and which of the starts.
#[derive(Clone, Copy, Debug)]
struct Place {
    method: Method,
    number: usize,
    /// Seconds that the starts before it took.
    before: f64,
}

impl Place {
    fn report(
        self,
        pca: &IncompletePca,
        stopping: &Stopping,
        trace: &[TraceEntry],
        exec: &Exec<'_>,
    ) -> Result<()> {
        let Some(last) = trace.last() else { return Ok(()) };
        let starts_to_come = pca.n_starts - 1 - self.number;
        exec.report_iteration(Iteration {
            phase: "",
            start: self.number,
            n_starts: pca.n_starts,
            iteration: last.iteration,
            cost: last.cost,
            rmse: last.rmse,
            held_out_rmse: trace.iter().rev().find_map(|entry| entry.held_out_rmse),
            elapsed: Duration::from_secs_f64(self.before + last.seconds),
            remaining: remaining(seconds_left(stopping, trace), last.seconds, starts_to_come),
        })
    }
}

fn run<'a, T: Lane>(
    pca: &IncompletePca,
    place: Place,
    mut problem: Problem<'a, T>,
    mut factors: Factors<T>,
    held_out: Option<&'a Observed<T>>,
    prepared: &Prepared,
    exec: &Exec<'_>,
) -> Result<Run<T>> {
    let method = place.method;
    let began = Instant::now();
    let weight: f64 = prepared.sums.weight.iter().sum();
    let test = held_out.map(|data| Problem { data, ..problem.clone() });
    let quiet = exec.part(0.0, 0.0);
    let held_out_rmse = |factors: &Factors<T>| match &test {
        None => Ok(None),
        Some(test) => {
            let weight: f64 = (0..test.data.n_samples()).map(|j| test.data.rows().weight(j)).sum();
            Ok(Some((squares(test, factors, &quiet)? / weight).sqrt()))
        }
    };
    let found = squares(&problem, &factors, &quiet)?;
    let mut best = Run {
        cost: found + penalties(&problem, &factors, &quiet)?,
        squares: found,
        held_out_rmse: held_out_rmse(&factors)?,
        factors: factors.clone(),
        trace: Vec::new(),
        stop: StopReason::Iterations,
        posterior: None,
        penalties: [problem.loadings.clone(), problem.scores.clone()],
        remark: None,
    };
    // Before its first iteration a method that learns variances has no cost, and no model.
    let has_start = !method.learns_variances();
    if has_start {
        best.trace.push(TraceEntry {
            iteration: 0,
            cost: best.cost,
            rmse: (found / weight).sqrt(),
            held_out_rmse: best.held_out_rmse,
            step: None,
            seconds: began.elapsed().as_secs_f64(),
        });
    }
    let mut iterations = iterations::<T>(pca, method, prepared.spread.mean_square);
    let window = iterations.window();
    let check_every = if window == 1 { 1 } else { 5 };
    let mut stopping = Stopping {
        tol: pca.tol,
        max_iter: pca.max_iter,
        time_limit: pca.time_limit,
        window,
        floor: f64::EPSILON * f64::EPSILON * weight * prepared.spread.mean_square,
        began,
        costs: if has_start { vec![best.cost] } else { Vec::new() },
        best: best.held_out_rmse.map(|error| (if has_start { error } else { f64::INFINITY }, 0)),
    };
    let regularized = !problem.loadings.is_zero() || !problem.scores.is_zero();
    for iteration in 1.. {
        let at = |iteration: usize| iteration as f64 / pca.max_iter as f64;
        let part = exec.part(at(iteration - 1).min(1.0), at(iteration).min(1.0));
        let mut progress = iterations.iterate(&mut problem, &mut factors, &part)?;
        if regularized && progress.accepted && iteration % window == 0 {
            gauge(&problem, &mut factors, &quiet)?;
            iterations.restart();
            progress.cost = progress.squares + penalties(&problem, &factors, &quiet)?;
        }
        let checked = if iteration % check_every == 0 { held_out_rmse(&factors)? } else { None };
        best.trace.push(entry(iteration, &progress, checked, weight, began));
        let ready = iterations.ready();
        if ready && checked.is_some_and(|error| stopping.improves(error)) {
            best.factors = factors.clone();
            best.posterior = iterations.posterior(&factors);
            best.penalties = [problem.loadings.clone(), problem.scores.clone()];
            (best.cost, best.squares, best.held_out_rmse) = (progress.cost, progress.squares, checked);
        }
        let stop = stopping.check(iteration, &progress, ready);
        place.report(pca, &stopping, &best.trace, exec)?;
        if let Some(stop) = stop {
            best.stop = stop;
            best.remark = iterations.remark();
            if stopping.best.is_none_or(|(lowest, _)| lowest.is_infinite()) {
                best.held_out_rmse = held_out_rmse(&factors)?;
                best.posterior = iterations.posterior(&factors);
                best.factors = factors;
                best.penalties = [problem.loadings, problem.scores];
                (best.cost, best.squares) = (progress.cost, progress.squares);
            }
            break;
        }
    }
    Ok(best)
}

fn entry(
    iteration: usize,
    progress: &Progress,
    held_out_rmse: Option<f64>,
    weight: f64,
    began: Instant,
) -> TraceEntry {
    TraceEntry {
        iteration,
        cost: progress.cost,
        rmse: (progress.squares / weight).sqrt(),
        held_out_rmse,
        step: progress.step,
        seconds: began.elapsed().as_secs_f64(),
    }
}
