//! The choice of a route by predicted cost and memory.
//!
//! The prediction depends on the shape, the storage and the number of components, not on the number of threads, so
//! that a fit takes the same route, with the same bits, on every machine.

use crate::error::Advice;
use crate::scalar::largest;
use crate::solver::cost::{estimate_seconds, passes, seconds};
use crate::solver::leading::ESTIMATE_STEPS;
use crate::solver::need;
use crate::solver::problem::Problem;
use crate::solver::route::Route;

impl Problem {
    /// Predicted number of passes of a fit by `route` over rows that every pass reads again.
    pub(crate) fn predicted_passes(&self, route: Route) -> usize {
        passes(route, self) as usize
    }

    /// Returns the remedies that need less memory than `route`.
    pub(crate) fn smaller_need(&self, route: Route, n_threads: usize) -> Vec<Advice> {
        /// Ratio to the need of `route` below which another route is worth a try where the memory left is unknown.
        const SMALLER: f64 = 0.8;
        let (least, bytes) = self.least(n_threads);
        let mut ways = Vec::new();
        if bytes < SMALLER * self.need(route, n_threads) {
            ways.push(least.advice(bytes));
        }
        if self.k.is_none_or(|k| k > 1) {
            ways.push(Advice::FewerComponents);
        }
        ways.push(Advice::RaiseLimit);
        ways
    }

    /// The routes that take such data.
    fn routes(&self) -> impl Iterator<Item = Route> {
        ROUTES.into_iter().filter(|&route| !self.sparse || route != Route::Svd)
    }

    /// The route of least memory estimate that takes such data, and the estimate in bytes.
    pub(crate) fn least(&self, n_threads: usize) -> (Route, f64) {
        let needs = self.routes().map(|route| (route, self.need(route, n_threads)));
        needs.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Route::BlockKrylov, f64::INFINITY))
    }

    /// Tests whether the choice may take `route`: the memory estimate of its work is below the fixed limit, the size of the
    /// data or the estimate of block Krylov iteration; if a limit was given, half of the limit replaces the size
    /// of the data, and the fit stays within it, or none does by any route and this one needs least. Estimates assume a
    /// fixed number of threads, because the choice must not depend on the number of threads.
    fn allows(&self, route: Route) -> bool {
        if !self.fits(route) {
            return !self.routes().any(|other| self.fits(other)) && route == self.least(1).0;
        }
        let data = (self.n_stored * self.value_bytes) as f64;
        let allowed = match self.limit {
            Some(limit) => BYTES_ALWAYS_ALLOWED.min(limit / 2.0),
            // Rows that are read in every pass are not in memory.
            None if self.reading.is_some() => BYTES_ALWAYS_ALLOWED,
            None => BYTES_ALWAYS_ALLOWED.max(data),
        };
        let work = |route| need::bytes(route, self, self.k_or_guess(), 1);
        work(route) <= allowed || work(route) <= work(Route::BlockKrylov) || !self.fits(Route::BlockKrylov)
    }

    /// Tests whether the SVD route follows a faster one that has lost digits of small variances.
    pub(crate) fn affords_svd(&self) -> bool {
        self.takes_svd_within(SECONDS_FOR_SMALL_VARIANCES)
    }

    /// Tests that the SVD route computes for at most `limit` seconds. Reading may take longer, so that a small file takes the
    /// route of its array.
    fn takes_svd_within(&self, limit: f64) -> bool {
        let all = self.with(self.smaller());
        let computed = Problem { reading: None, ..all };
        !self.sparse
            && seconds(Route::Svd, &computed) <= limit
            && seconds(Route::Svd, &all) <= SECONDS_FOR_SMALL_VARIANCES
    }

    /// The route that is taken, or the likeliest one before a spectrum estimate.
    pub(crate) fn likely(&self) -> Route {
        match choose(self) {
            RouteChoice::Route(route, _) => route,
            RouteChoice::Estimate(_) => self.searching(self.k_or_guess()).best(),
        }
    }

    /// The routes that a fit may take, each with the size that its memory estimate counts. A share of the variance takes at most
    /// `most` components.
    pub(crate) fn courses(&self, most: usize) -> Vec<(Route, Self)> {
        if let RouteChoice::Route(route, _) = choose(self) {
            return vec![(route, *self)];
        }
        // The estimate allocates as a search for one component does. A search continues where it fits ([`route_for`]).
        let of = |k| {
            let problem = self.searching(k);
            let searches = k == 1 || problem.fits(Route::BlockKrylov);
            let search = searches.then_some((Route::BlockKrylov, problem));
            search.into_iter().chain([(problem.best(), problem)])
        };
        numbers_to(most.min(self.smaller())).into_iter().flat_map(of).collect()
    }

    /// The cheapest allowed route for a known number of components; block Krylov iteration if none is allowed.
    pub(super) fn best(&self) -> Route {
        let allowed = ROUTES.into_iter().filter(|&route| self.allows(route));
        let cost = |route: &Route| seconds(*route, self);
        allowed.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(Route::BlockKrylov)
    }
}

/// The routes in order of preference.
const ROUTES: [Route; 4] = [Route::Covariance, Route::Gram, Route::BlockKrylov, Route::Svd];

/// Predicted time of the SVD route, the most accurate one, up to which it is always taken.
const SECONDS_NOT_WORTH_SAVING: f64 = 0.0005;
/// Predicted time of the SVD route, with reading, up to which it may be taken, or follow a faster route that has lost small
/// variances.
const SECONDS_FOR_SMALL_VARIANCES: f64 = 0.005;
/// Number of columns up to which rows that every pass reads again are read in one pass, whatever the prediction: the
/// covariance matrix is exact, and a slow device makes every further pass expensive.
const ONE_PASS_COLUMNS: usize = 5_000;
/// Memory that every route may use.
const BYTES_ALWAYS_ALLOWED: f64 = (2u64 << 30) as f64;
/// Ratio to the time of the best route up to which a route, for every number of components, needs no spectrum
/// estimate.
const NEAR_ENOUGH: f64 = 1.15;
/// Time of the spectrum estimate as a fraction of the time of the best other route.
const PRICE_OF_ESTIMATE: f64 = 0.08;

/// Choice of a route: made, or left to a spectrum estimate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RouteChoice {
    /// The route and the reason for it.
    Route(Route, String),
    /// A spectrum estimate with this number of products, which are also the first ones of block Krylov iteration.
    Estimate(usize),
}

impl RouteChoice {
    /// The reason for the route; empty before a spectrum estimate.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Route(_, reason) => reason,
            Self::Estimate(_) => "",
        }
    }
}

/// Chooses a route, or a spectrum estimate.
pub(crate) fn choose(problem: &Problem) -> RouteChoice {
    if problem.takes_svd_within(SECONDS_NOT_WORTH_SAVING) && problem.fits(Route::Svd) {
        return RouteChoice::Route(Route::Svd, "small enough for the most accurate route".to_owned());
    }
    let one_pass = problem.reading.is_some() && problem.p <= ONE_PASS_COLUMNS && problem.p <= problem.n;
    if one_pass && problem.allows(Route::Covariance) {
        return RouteChoice::Route(Route::Covariance, reason(Route::Covariance, problem));
    }
    if problem.k.is_some() {
        let best = problem.best();
        return RouteChoice::Route(best, reason(best, problem));
    }
    let numbers = numbers_to(problem.smaller());
    // The largest ratio, over all numbers of components, of the given time to the time of the best route.
    let most = |of: &dyn Fn(&Problem) -> f64| {
        largest(numbers.iter().map(|&k| {
            let problem = problem.searching(k);
            of(&problem) / seconds(problem.best(), &problem)
        }))
    };
    let regret = |route: Route| {
        most(&|problem| if problem.allows(route) { seconds(route, problem) } else { f64::INFINITY })
    };
    let regrets = ROUTES.map(|route| (route, regret(route)));
    let (steady, worst) =
        regrets.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Route::BlockKrylov, f64::INFINITY));
    let n_steps = estimate_steps(problem);
    let estimated = most(&|problem| {
        let best = problem.best();
        seconds(best, problem)
            + if best == Route::BlockKrylov { 0.0 } else { estimate_seconds(problem, n_steps) }
    });
    if worst <= NEAR_ENOUGH.max(estimated) {
        return RouteChoice::Route(
            steady,
            "the best, or near it, for every share of the variance".to_owned(),
        );
    }
    RouteChoice::Estimate(n_steps)
}

/// Powers of two below `most`, and `most`.
fn numbers_to(most: usize) -> Vec<usize> {
    (0..).map(|i| 1 << i).take_while(|k| *k < most).chain([most]).collect()
}

/// Finished work that only block Krylov iteration can use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spent {
    /// A spectrum estimate of so many products.
    Estimate(usize),
    /// A search for so many pairs.
    Search(usize),
}

/// The route for a share that takes about `k` components, after the work `spent`.
pub(crate) fn route_for(problem: &Problem, k: usize, spent: Spent) -> Route {
    let problem = problem.searching(k);
    let best = problem.best();
    let spent = match spent {
        Spent::Estimate(n_steps) => estimate_seconds(&problem, n_steps),
        Spent::Search(k) => seconds(Route::BlockKrylov, &problem.with(k)),
    };
    let go_on = seconds(Route::BlockKrylov, &problem) - spent;
    let fits = problem.fits(Route::BlockKrylov) || !problem.fits(best);
    if fits && go_on <= seconds(best, &problem) { Route::BlockKrylov } else { best }
}

/// The reason for `route` for a share that takes about `k` components.
pub(crate) fn reason_for(route: Route, problem: &Problem, k: usize) -> String {
    format!("for about {k} components {}", reason(route, &problem.searching(k)))
}

/// Number of products of the spectrum estimate: fewer if they would take long compared with the best other route, or if
/// each reads the data.
fn estimate_steps(problem: &Problem) -> usize {
    /// Four products distinguish a small number from a large one.
    const LEAST: usize = 4;
    if problem.reading.is_some() {
        return LEAST;
    }
    // Few components suit block Krylov iteration, for which the estimate costs nothing extra.
    let many = problem.searching(problem.k_or_guess());
    let others = ROUTES.into_iter().filter(|&route| route != Route::BlockKrylov && many.allows(route));
    let least = others.map(|route| seconds(route, &many)).fold(f64::INFINITY, f64::min);
    let affordable = PRICE_OF_ESTIMATE * least / estimate_seconds(problem, 1);
    if affordable < ESTIMATE_STEPS as f64 { (affordable as usize).max(LEAST) } else { ESTIMATE_STEPS }
}

fn reason(best: Route, problem: &Problem) -> String {
    let others: Vec<String> = ROUTES
        .into_iter()
        .filter(|&route| route != best)
        .map(|route| {
            if problem.allows(route) {
                format!("{route} {}", prediction(route, problem))
            } else {
                format!("{route} needs too much memory")
            }
        })
        .collect();
    format!("predicted {} on one core; {}", prediction(best, problem), others.join(", "))
}

/// The predicted time, and the passes over rows that every pass reads again.
fn prediction(route: Route, problem: &Problem) -> String {
    let time = figure(seconds(route, problem));
    match problem.reading.map(|_| passes(route, problem)) {
        Some(1.0) => format!("{time} and 1 pass"),
        Some(passes) => format!("{time} and {passes:.0} passes"),
        None => time,
    }
}

fn figure(seconds: f64) -> String {
    match seconds {
        s if s < 0.0995 => format!("{:.0} ms", (s * 1e3).max(1.0)),
        s if s < 9.95 => format!("{s:.1} s"),
        s => format!("{s:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::problem::Reading;

    fn dense(n: usize, p: usize, k: Option<usize>, value_bytes: usize) -> Problem {
        Problem {
            n,
            p,
            k,
            n_stored: n * p,
            sparse: false,
            value_bytes,
            limit: None,
            reserved: 0.0,
            block_size: None,
            reading: None,
            packs: true,
            is_logged: false,
        }
    }

    fn sparse(n: usize, p: usize, k: Option<usize>, n_stored: usize) -> Problem {
        Problem {
            n,
            p,
            k,
            n_stored,
            sparse: true,
            value_bytes: 4,
            limit: None,
            reserved: 0.0,
            block_size: None,
            reading: None,
            packs: false,
            is_logged: false,
        }
    }

    #[test]
    fn the_expected_routes_are_chosen_for_counts() {
        let table = [
            // Small tables: the most accurate route.
            (dense(150, 4, Some(4), 8), Route::Svd),
            (dense(1_000, 20, Some(20), 8), Route::Svd),
            (dense(20_000, 5, Some(2), 8), Route::Svd),
            (dense(1, 1, Some(1), 8), Route::Svd),
            (dense(150, 4, None, 8), Route::Svd),
            // Beyond half a millisecond: the fastest.
            (dense(1_797, 64, Some(64), 8), Route::Covariance),
            (dense(1_797, 64, None, 8), Route::Covariance),
            (dense(500, 50, Some(2), 8), Route::Covariance),
            (dense(38, 5_000, Some(10), 8), Route::Gram),
            // Tall: the covariance matrix.
            (dense(100_000, 500, Some(50), 8), Route::Covariance),
            (dense(1_000_000, 100, Some(50), 4), Route::Covariance),
            (dense(1_000_000, 100, None, 4), Route::Covariance),
            (dense(100_000, 500, Some(500), 8), Route::Covariance),
            // Wide: inner products.
            (dense(500, 100_000, Some(50), 8), Route::Gram),
            (dense(500, 100_000, Some(500), 8), Route::Gram),
            // Large both ways, few components.
            (dense(5_000, 5_000, Some(50), 8), Route::BlockKrylov),
            (dense(5_000, 20_000, Some(50), 4), Route::BlockKrylov),
            (dense(2_000, 12_000, Some(5), 8), Route::BlockKrylov),
            (dense(60_000, 2_000, Some(50), 4), Route::BlockKrylov),
            (sparse(100_000, 30_000, Some(50), 20_000_000), Route::BlockKrylov),
            (sparse(20_000, 300_000, Some(50), 11_000_000), Route::BlockKrylov),
            // Large both ways, all components (Minka's estimate takes them too).
            (dense(3_000, 2_500, Some(2_500), 8), Route::Covariance),
            (dense(5_000, 5_000, Some(5_000), 8), Route::Covariance),
            (dense(2_500, 3_000, Some(2_500), 8), Route::Gram),
            (sparse(2_246, 10_473, Some(2_246), 235_000), Route::Gram),
            (sparse(20_000, 9_000, Some(9_000), 1_800_000), Route::Covariance),
            // Too large for any matrix but a Krylov basis.
            (sparse(1_000_000, 1_000_000, Some(200), 20_000_000), Route::BlockKrylov),
            // Few columns: the covariance matrix of sparse data is cheap.
            (sparse(1_000_000, 100, Some(10), 10_000_000), Route::Covariance),
        ];
        for (problem, route) in table {
            match choose(&problem) {
                RouteChoice::Route(chosen, reason) => assert_eq!(chosen, route, "{problem:?}: {reason}"),
                RouteChoice::Estimate(_) => panic!("{problem:?} needs no spectrum estimate"),
            }
        }
    }

    #[test]
    fn the_expected_routes_are_chosen_for_shares() {
        // Number of components that a share takes, and the best route for it.
        let table = [
            (dense(3_000, 2_500, None, 8), 5, Route::BlockKrylov),
            (dense(3_000, 2_500, None, 8), 40, Route::BlockKrylov),
            // Nine tenths of the variance of noise.
            (dense(3_000, 2_500, None, 8), 1_388, Route::Covariance),
            (dense(1_000, 1_000, None, 8), 20, Route::BlockKrylov),
            (dense(10_000, 1_000, None, 8), 1, Route::BlockKrylov),
            (dense(10_000, 1_000, None, 8), 22, Route::Covariance),
            (sparse(20_000, 1_000, None, 2_000_000), 50, Route::BlockKrylov),
            (dense(1_000, 1_000, None, 8), 288, Route::Covariance),
            (dense(1_000, 10_000, None, 8), 5, Route::BlockKrylov),
            (dense(1_000, 10_000, None, 8), 200, Route::Gram),
            (sparse(2_246, 10_473, None, 235_000), 5, Route::BlockKrylov),
            (sparse(2_246, 10_473, None, 235_000), 1_570, Route::Gram),
            (sparse(1_000_000, 1_000_000, None, 20_000_000), 200, Route::BlockKrylov),
        ];
        for (problem, k, route) in table {
            let choice = choose(&problem);
            let RouteChoice::Estimate(n_steps) = choice else { panic!("{problem:?}: {choice:?}") };
            assert!((4..=ESTIMATE_STEPS).contains(&n_steps), "{problem:?}: {n_steps}");
            let chosen = route_for(&problem, k, Spent::Estimate(n_steps));
            assert_eq!(chosen, route, "{}", reason_for(route, &problem, k));
        }
    }

    #[test]
    fn wide_rows_of_a_file_are_held_a_few_at_a_time() {
        let data = dense(4_000, 200_000, Some(10), 4);
        let bytes = (data.n_stored * data.value_bytes) as f64;
        let reading = Some(Reading { bytes, wide: true, weighted: false });
        let need = need::bytes(Route::BlockKrylov, &Problem { reading, ..data }, 10, 2);
        assert!(need < 0.4 * bytes, "{need:e} for rows of {bytes:e} bytes");
    }

    #[test]
    fn one_pass_is_chosen_for_rows_that_every_pass_reads() {
        let read = |problem: Problem| {
            let bytes = (problem.n_stored * problem.value_bytes) as f64;
            let reading = Some(Reading { bytes, wide: !problem.sparse, weighted: false });
            Problem { reading, packs: false, ..problem }
        };
        let table = [
            (read(dense(150, 4, Some(4), 8)), Route::Svd),
            (read(dense(1_000_000, 100, Some(10), 4)), Route::Covariance),
            // Block Krylov iteration if they were in memory.
            (read(dense(60_000, 2_000, Some(50), 4)), Route::Covariance),
            (read(dense(60_000, 5_000, Some(10), 4)), Route::Covariance),
            (read(dense(60_000, 2_000, None, 4)), Route::Covariance),
            (read(dense(1_000_000, 20_000, Some(10), 4)), Route::BlockKrylov),
            (read(sparse(1_000_000, 20_000, Some(50), 1_500_000_000)), Route::BlockKrylov),
            // Half of a limit of 100 MB does not hold the covariance matrix.
            (Problem { limit: Some(1e8), ..read(dense(60_000, 4_000, Some(10), 4)) }, Route::BlockKrylov),
        ];
        for (problem, route) in table {
            let RouteChoice::Route(chosen, reason) = choose(&problem) else { panic!("{problem:?}") };
            assert_eq!(chosen, route, "{problem:?}: {reason}");
            assert!(reason.starts_with("small") || reason.contains(" pass"), "{reason}");
        }
        let RouteChoice::Route(_, reason) = choose(&table[2].0) else { panic!("a route is chosen") };
        assert!(reason.contains("and 1 pass on one core; ") && reason.contains("and 14 passes"), "{reason}");
    }

    #[test]
    fn a_nearly_finished_search_is_continued() {
        let problem = dense(1_000, 1_000, None, 8);
        assert_eq!(route_for(&problem, 200, Spent::Estimate(8)), Route::Covariance);
        assert_eq!(route_for(&problem, 200, Spent::Search(190)), Route::BlockKrylov);
        assert_eq!(route_for(&problem, 600, Spent::Search(150)), Route::Covariance);
    }

    #[test]
    fn routes_beyond_the_memory_limit_are_not_chosen() {
        // An iteration for a hundred components or a covariance matrix of 12.8 GB, for data of 0.2 GB.
        let problem = sparse(200_000, 40_000, Some(100), 50_000_000);
        assert!(!problem.allows(Route::Covariance) && problem.allows(Route::BlockKrylov));
        // Half of a limit that was asked for.
        let limited = |limit| Problem { limit, ..dense(60_000, 2_000, Some(10), 4) };
        let allows = [None, Some(1e8), Some(1e9)].map(|limit| limited(limit).allows(Route::Covariance));
        assert_eq!(allows, [true, false, true]);
        // An iteration for all components needs more than the covariance matrix.
        let all = problem.with(40_000);
        assert!(all.need(Route::BlockKrylov, 1) > all.need(Route::Covariance, 1));
        assert_eq!(all.best(), Route::Covariance);
    }

    #[test]
    fn costs_grow_with_the_problem() {
        let small = dense(2_000, 300, Some(10), 8);
        let tall = Problem { n: 20_000, n_stored: 6_000_000, ..small };
        for route in [Route::Svd, Route::Covariance, Route::Gram, Route::BlockKrylov] {
            let (a, b) = (seconds(route, &small), seconds(route, &tall));
            assert!(b > a, "{route}: {a} {b}");
            let (a, b) = (small.need(route, 1), tall.need(route, 1));
            assert!(b >= a, "{route}: {a} {b}");
        }
    }
}
