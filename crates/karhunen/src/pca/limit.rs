//! The memory that a fit may take: its limit, and the check of each route before the data are read.

use crate::error::{Advice, Available, Error, Result};
use crate::memory::{self, PROGRAM};
use crate::pca::Pca;
use crate::scalar::Scalar;
use crate::solver::{Problem, Route};
use crate::source::{Pass, Source};

/// The memory that a fit may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// `None` if the machine alone limits the fit.
    limit: Option<Available>,
    /// Bytes beside the work of the route.
    beside: f64,
}

impl Allowance {
    /// For sums or rows in memory: no limit but the one that was asked for, which counts the work of the route.
    pub(super) fn in_memory(pca: &Pca) -> Self {
        Self { limit: pca.memory_limit.map(|bytes| memory::limit(Some(bytes))), beside: 0.0 }
    }

    /// For a source whose visits cost `pass`. Rows that are read in every visit count with the bytes that a visit holds,
    /// within half of the memory of the machine unless a limit was asked for.
    pub(super) fn of(pca: &Pca, pass: Pass) -> Self {
        match pass {
            Pass::Memory => Self::in_memory(pca),
            Pass::Costly { held, .. } => {
                Self { limit: Some(memory::limit(pca.memory_limit)), beside: held + PROGRAM }
            }
        }
    }

    /// This allowance without `bytes` of it, which rows take.
    pub(super) fn without(self, bytes: f64) -> Self {
        Self { beside: self.beside + bytes, ..self }
    }

    /// Tests whether a copy of `bytes` that only saves time may exist beside the work of `route`: within the limit, or, without
    /// one, in a quarter of the memory left; never in more than there is.
    pub(super) fn spares(&self, bytes: f64, route: Route, problem: &Problem, n_threads: usize) -> bool {
        let need = problem.need(route, n_threads);
        match self.limit {
            Some(limit) => self.beside + need + bytes <= limit.bytes && memory::spares(bytes, need, 1.0),
            None => memory::spares(bytes, need, 0.25),
        }
    }

    /// Permits `x` to keep rows in the memory that `route` leaves, and returns the bytes of that.
    pub(super) fn let_keep<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        problem: &Problem,
        route: Route,
        n_threads: usize,
    ) -> f64 {
        let need = self.beside + problem.need(route, n_threads);
        let left = self.limit.map_or(0.0, |limit| (limit.bytes - need).max(0.0));
        x.keep(left);
        left
    }

    /// Refuses a route before it starts, if its memory estimate exceeds the limit or the available memory. `chosen`
    /// returns the route that would be taken under a limit.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn ask(
        &self,
        route: Route,
        problem: &Problem,
        n_threads: usize,
        chosen: impl Fn(&Problem) -> Route,
    ) -> Result<()> {
        let (what, need) = (format!("the {route} route"), problem.need(route, n_threads));
        let smaller = || problem.smaller_need(route, n_threads);
        self.within(&what, need, smaller, || {
            self.least(|limit| {
                let limited = Problem { limit: Some(limit), ..*problem };
                limited.need(chosen(&limited), n_threads)
            })
        })
    }

    /// Refuses work whose need of `bytes` does not depend on a limit. `advice` returns ways to need less.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn ask_for(&self, what: &str, bytes: f64, advice: impl FnOnce() -> Vec<Advice>) -> Result<()> {
        self.within(what, bytes, advice, || self.beside + bytes)
    }

    fn within(
        &self,
        what: &str,
        bytes: f64,
        advice: impl FnOnce() -> Vec<Advice>,
        least: impl FnOnce() -> f64,
    ) -> Result<()> {
        match self.limit.filter(|limit| self.beside + bytes > limit.bytes) {
            Some(limit) => {
                let mut advice = advice();
                // The limit of the fit is lower than that of the process.
                advice.retain(|way| *way != Advice::RaiseLimit);
                advice.push(Advice::MemoryLimit { bytes: least() });
                let (what, bytes) = (what.to_owned(), self.beside + bytes);
                Err(Error::Memory { what, bytes, available: Some(limit), advice })
            }
            None => memory::ask(what, bytes, advice),
        }
    }

    /// The smallest limit that leaves as much as `need`, which depends on the limit because a larger one may allow a
    /// faster route.
    fn least(&self, need: impl Fn(f64) -> f64) -> f64 {
        let mut limit = self.beside;
        // Every round raises the limit to the need of another route.
        for _ in 0..16 {
            let enough = self.beside + need(limit);
            if enough <= limit {
                break;
            }
            limit = enough;
        }
        limit
    }
}
