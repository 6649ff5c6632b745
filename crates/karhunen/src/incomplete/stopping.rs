//! When a fit stops, and the record of how it got there.

use std::time::{Duration, Instant};

use crate::incomplete::methods::Progress;
use crate::incomplete::options::Method;

/// Checks without improvement after which the held-out error has had its best.
const PATIENCE: usize = 5;
/// A smaller relative improvement of the held-out error counts as none.
const LEAST_IMPROVEMENT: f64 = 1e-5;

/// Why a fit stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum StopReason {
    /// The cost fell by less than the tolerance.
    Tolerance,
    /// No step lowers the cost any more.
    Exhausted,
    /// The error of the entries set aside no longer fell.
    HeldOut,
    /// The largest number of iterations.
    Iterations,
    /// The time limit.
    TimeLimit,
}

/// Where one iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TraceEntry {
    /// Its number; zero is the start, which methods that learn variances leave out: it has no cost yet.
    pub iteration: usize,
    /// The cost that the method minimises: F, twice the negative logarithm of the posterior (`map`) or the negative
    /// evidence bound (`ppca`, `vb`, `vb-fixed`, `vb-full`).
    pub cost: f64,
    /// Root mean squared error of the entries fitted.
    pub rmse: f64,
    /// Root mean squared error of the entries set aside, where it was computed.
    pub held_out_rmse: Option<f64>,
    /// The learning rate of the next iteration, of methods that have one.
    pub step: Option<f64>,
    /// Seconds since the first iteration began.
    pub seconds: f64,
}

/// How a fit went.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IncompleteConvergence {
    /// The method that was used.
    pub method: Method,
    /// Why: chosen, or asked for.
    pub reason: String,
    /// Why it stopped.
    pub stop: StopReason,
    /// The cost of the model.
    pub cost: f64,
    /// Root mean squared error of the entries fitted, of the model.
    pub rmse: f64,
    /// Root mean squared error of the entries set aside, of the model.
    pub held_out_rmse: Option<f64>,
    /// Every iteration of the start that was kept.
    pub trace: Vec<TraceEntry>,
}

impl IncompleteConvergence {
    /// Whether the fit ended by itself, rather than at a limit.
    pub fn converged(&self) -> bool {
        !matches!(self.stop, StopReason::Iterations | StopReason::TimeLimit)
    }
}

/// Limits, and what was seen so far.
#[derive(Debug)]
pub(crate) struct Stopping {
    pub(crate) tol: f64,
    pub(crate) max_iter: usize,
    pub(crate) time_limit: Option<Duration>,
    /// Iterations over which the cost is compared.
    pub(crate) window: usize,
    /// A cost that counts as zero.
    pub(crate) floor: f64,
    pub(crate) began: Instant,
    /// Costs of accepted iterations.
    pub(crate) costs: Vec<f64>,
    /// Lowest held-out error, and checks since.
    pub(crate) best: Option<(f64, usize)>,
}

impl Stopping {
    /// Whether this held-out error is the lowest so far.
    pub(crate) fn improves(&mut self, held_out: f64) -> bool {
        match self.best {
            Some((lowest, _)) if held_out < lowest * (1.0 - LEAST_IMPROVEMENT) => {
                self.best = Some((held_out, 0));
                true
            }
            None => {
                self.best = Some((held_out, 0));
                true
            }
            Some((lowest, since)) => {
                self.best = Some((lowest, since + 1));
                false
            }
        }
    }

    /// Whether to stop after iteration number `iteration`; only at a limit unless the method is `ready` to.
    pub(crate) fn check(&mut self, iteration: usize, progress: &Progress, ready: bool) -> Option<StopReason> {
        if !ready {
            self.costs.clear();
        } else if progress.accepted {
            self.costs.push(progress.cost);
        }
        let (last, n) = (progress.cost, self.costs.len());
        let settled = ready && progress.accepted && n > self.window && {
            let fall = (self.costs[n - 1 - self.window] - last) / self.window as f64;
            fall < self.tol * last.abs()
        };
        if settled || last.abs() <= self.floor {
            Some(StopReason::Tolerance)
        } else if progress.exhausted {
            Some(StopReason::Exhausted)
        } else if self.best.is_some_and(|(_, since)| since >= PATIENCE) {
            Some(StopReason::HeldOut)
        } else if iteration >= self.max_iter {
            Some(StopReason::Iterations)
        } else if self.time_limit.is_some_and(|limit| self.began.elapsed() >= limit) {
            Some(StopReason::TimeLimit)
        } else {
            None
        }
    }
}
