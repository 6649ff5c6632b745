//! The memory that a fit may take: its limit, and the check of each route before the data are read.

use crate::error::{Advice, Available, Error, Result};
use crate::memory::{self, PROGRAM, least_limit};
use crate::pca::Pca;
use crate::scalar::Scalar;
use crate::solver::{Problem, Route};
use crate::source::{Pass, Source};

/// The memory that a fit may take.
#[derive(Clone, Copy)]
pub(super) struct Allowance<'a> {
    /// `None` if the machine alone limits the fit.
    limit: Option<Available>,
    /// Bytes needed in addition to the work of the route.
    reserved: f64,
    /// Bytes that a visit holds, a part of `reserved`, if the limit is multiplied by a factor; `None` for rows in
    /// memory.
    held: Option<&'a (dyn Fn(f64) -> f64 + Sync)>,
}

impl<'a> Allowance<'a> {
    /// For sums or rows in memory: no limit but the one that was asked for, which counts the work of the route.
    pub(super) fn in_memory(pca: &Pca) -> Self {
        Self { limit: pca.memory_limit.map(|bytes| memory::limit(Some(bytes))), reserved: 0.0, held: None }
    }

    /// For a source whose visits cost `pass`. Rows that are read in every visit count with the bytes that a visit holds,
    /// within half of the memory of the machine unless a limit was asked for. `held` returns these bytes within a multiple of
    /// the limit ([`Source::memory_within`]).
    pub(super) fn of(pca: &Pca, pass: Pass, held: &'a (dyn Fn(f64) -> f64 + Sync)) -> Self {
        let reserved = reserved(pass);
        if pass == Pass::Memory {
            return Self::in_memory(pca);
        }
        Self { limit: Some(memory::limit(pca.memory_limit)), reserved, held: Some(held) }
    }

    /// Tests whether a copy of `bytes` that only saves time may exist in addition to the work of `route`: within the
    /// limit, or, without one, in a quarter of the memory left; never in more than there is.
    pub(super) fn spares(&self, bytes: f64, route: Route, problem: &Problem, n_threads: usize) -> bool {
        let need = problem.need(route, n_threads);
        match self.limit {
            Some(limit) => self.reserved + need + bytes <= limit.bytes && memory::spares(bytes, need, 1.0),
            None => memory::spares(bytes, need, 0.25),
        }
    }

    /// Permits `x` to keep rows in the memory that `route` leaves.
    pub(super) fn let_keep<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        problem: &Problem,
        route: Route,
        n_threads: usize,
    ) {
        let need = self.reserved + problem.need(route, n_threads);
        x.keep(self.limit.map_or(0.0, |limit| (limit.bytes - need).max(0.0)));
    }

    /// Refuses a route before it starts, if its memory estimate exceeds the limit or the available memory. `courses`
    /// returns the routes that may be taken under a limit, each with the size that its memory estimate counts.
    ///
    /// # Errors
    /// [`Error::Memory`], which under a limit states the need of a fit within the smallest limit that suffices.
    pub(super) fn ask(
        &self,
        route: Route,
        problem: &Problem,
        n_threads: usize,
        courses: impl Fn(&Problem) -> Vec<(Route, Problem)>,
    ) -> Result<()> {
        let need = problem.need(route, n_threads);
        let Some(limit) = self.exceeded(need) else {
            return memory::ask(&named(route), need, || problem.smaller_need(route, n_threads));
        };
        let within = |bytes| self.need_within(bytes, problem, n_threads, &courses);
        let least = least_limit(limit.bytes, |bytes| within(bytes).1);
        let fits = |bytes: f64| self.reserved + bytes <= limit.bytes;
        let mut advice = Vec::new();
        let (smallest, bytes) = problem.least(n_threads);
        // No other route makes a copy that was asked for.
        if smallest != route && fits(bytes) {
            advice.push(smallest.advice(self.reserved + bytes));
        }
        if n_threads > 1 && fits(problem.need(route, 1)) {
            advice.push(Advice::FewerThreads);
        }
        let one = problem.with(1);
        if problem.k.is_none_or(|k| k > 1) && fits(dearest(courses(&one), n_threads).1) {
            advice.push(Advice::FewerComponents);
        }
        advice.push(Advice::MemoryLimit { bytes: least });
        let (found, total) = Some(within(least))
            .filter(|found| found.1 > limit.bytes)
            .unwrap_or((route, self.reserved + need));
        Err(Error::Memory { what: named(found), bytes: total, available: Some(limit), advice })
    }

    /// Refuses work whose need of `bytes` does not depend on a limit. `advice` returns ways to need less.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn ask_for(&self, what: &str, bytes: f64, advice: impl FnOnce() -> Vec<Advice>) -> Result<()> {
        let Some(limit) = self.exceeded(bytes) else { return memory::ask(what, bytes, advice) };
        let mut advice = advice();
        // The limit of the fit is lower than the limit of the process.
        advice.retain(|way| *way != Advice::RaiseLimit);
        let least = least_limit(limit.bytes, |limit| self.reserved_within(limit) + bytes);
        advice.push(Advice::MemoryLimit { bytes: least });
        let bytes = self.reserved + bytes;
        Err(Error::Memory { what: what.to_owned(), bytes, available: Some(limit), advice })
    }

    /// The limit, if work of `bytes` exceeds it.
    fn exceeded(&self, bytes: f64) -> Option<Available> {
        self.limit.filter(|limit| self.reserved + bytes > limit.bytes)
    }

    /// Bytes needed in addition to the work of the route, if the limit were `bytes`.
    fn reserved_within(&self, bytes: f64) -> f64 {
        match (self.held, self.limit) {
            (Some(held), Some(limit)) => self.reserved - held(1.0) + held(bytes / limit.bytes),
            _ => self.reserved,
        }
    }

    /// The route that needs most of those that a limit of `bytes` leads to, and the bytes of its fit.
    fn need_within(
        &self,
        bytes: f64,
        problem: &Problem,
        n_threads: usize,
        courses: &impl Fn(&Problem) -> Vec<(Route, Problem)>,
    ) -> (Route, f64) {
        let reserved = self.reserved_within(bytes);
        let limited = Problem { limit: Some(bytes), reserved, ..*problem };
        let (route, work) = dearest(courses(&limited), n_threads);
        let need = reserved + work;
        // A larger limit may permit to read all values into memory.
        let all = (problem.n_stored * problem.value_bytes) as f64;
        if problem.reading.is_some() && bytes >= all {
            let in_memory = Problem { reading: None, reserved: 0.0, ..limited };
            let (other, need_in_memory) = dearest(courses(&in_memory), n_threads);
            if need_in_memory > need {
                return (other, need_in_memory);
            }
        }
        (route, need)
    }
}

/// Bytes of a fit in addition to the work of its route, for a source whose visits cost `pass`.
pub(super) fn reserved(pass: Pass) -> f64 {
    match pass {
        Pass::Memory => 0.0,
        Pass::Costly { held, .. } => held + PROGRAM,
    }
}

/// The courses of a fit that can only take `route`.
pub(super) fn only(route: Route) -> impl Fn(&Problem) -> Vec<(Route, Problem)> {
    move |limited| vec![(route, *limited)]
}

/// The route of the largest memory estimate, and the estimate in bytes.
fn dearest(courses: Vec<(Route, Problem)>, n_threads: usize) -> (Route, f64) {
    let needs = courses.into_iter().map(|(route, problem)| (route, problem.need(route, n_threads)));
    needs.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((Route::BlockKrylov, 0.0))
}

fn named(route: Route) -> String {
    format!("the {route} route")
}
