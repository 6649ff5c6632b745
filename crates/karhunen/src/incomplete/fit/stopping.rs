//! Stopping rules of a fit, and its trace.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::{
    Arrays, count, damaged, finite, optional, optional_size, seconds, size,
};
use crate::incomplete::fit::signals::{basis, largest_angle, relative_gradient};
use crate::incomplete::methods::iterate::IterationReport;
use crate::incomplete::model::convergence::{StopReason, TraceEntry};
use crate::incomplete::options::IncompletePca;
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Checks without improvement of the held-out error before early stopping.
const PATIENCE: usize = 5;
/// Least relative improvement of the held-out error that counts.
const LEAST_IMPROVEMENT: f64 = 1e-5;
/// Windows over which `rmse_tol` compares the error of the fitted entries.
const RMSE_WINDOWS: usize = 10;
/// Number of iterations over which [`Rules::least_gain`] compares costs.
const GAIN_ITERATIONS: usize = 10;

/// Parameters of the stopping rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) tol: f64,
    pub(crate) gradient_tol: Option<f64>,
    pub(crate) angle_tol: Option<f64>,
    pub(crate) rmse_tol: Option<f64>,
    pub(crate) max_iter: usize,
    /// Limit of the running time, seconds.
    pub(crate) time_limit: Option<f64>,
    /// Number of iterations over which costs are compared.
    pub(crate) window: usize,
    /// A cost that counts as zero.
    pub(crate) floor: f64,
    /// True if the held-out error stops the iterations.
    pub(crate) early: bool,
    /// Sum of squared errors that stops the iterations, because no noise is left; zero for most fits.
    pub(crate) no_noise: f64,
    /// Decrease of the cost per iteration below which a fit stops whose components fit noise; zero for most fits.
    pub(crate) least_gain: f64,
}

impl Rules {
    /// The rules of the options, `spent` seconds after the first iteration of the fit began.
    pub(crate) fn of(pca: &IncompletePca, prepared: &Prepared, spent: f64) -> Self {
        Self {
            tol: pca.tol,
            gradient_tol: pca.gradient_tol,
            angle_tol: pca.angle_tol,
            rmse_tol: pca.rmse_tol,
            max_iter: pca.max_iter,
            time_limit: pca.time_limit.map(|limit| limit.as_secs_f64() - spent),
            window: 1,
            floor: f64::EPSILON * f64::EPSILON * prepared.weight() * prepared.deviations.mean_square,
            early: false,
            no_noise: 0.0,
            least_gain: 0.0,
        }
    }
}

/// Result of an iteration, for the stopping rules.
pub(crate) struct Snapshot<'a, T> {
    pub(crate) problem: &'a Objective<'a, T>,
    pub(crate) factors: &'a Factors<T>,
    pub(crate) progress: &'a IterationReport,
    pub(crate) trace: &'a [TraceEntry],
    /// Part of the cost that depends on the unit of the data alone.
    pub(crate) unit: f64,
    /// True if the method permits a test of convergence.
    pub(crate) ready: bool,
}

/// Stopping rules and their history.
#[derive(Debug)]
pub(crate) struct Stopping {
    pub(crate) rules: Rules,
    /// Costs of accepted iterations.
    pub(crate) costs: Vec<f64>,
    /// Unit-dependent part of the last cost.
    unit: f64,
    /// Lowest held-out error, and number of checks since.
    pub(crate) best: Option<(f64, usize)>,
    /// An orthonormal basis of the previous loadings, if `angle_tol` is set.
    basis: Option<Matrix>,
}

impl Stopping {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, costs: Vec::new(), unit: 0.0, best: None, basis: None }
    }

    /// Records a held-out error; returns true if it is the lowest so far.
    pub(crate) fn improves(&mut self, held_out: f64) -> bool {
        // NaN is the worst error.
        let held_out = if held_out.is_nan() { f64::INFINITY } else { held_out };
        match self.best {
            Some((lowest, since)) if held_out >= lowest * (1.0 - LEAST_IMPROVEMENT) => {
                self.best = Some((lowest, since + 1));
                false
            }
            _ => {
                self.best = Some((held_out, 0));
                true
            }
        }
    }

    /// Returns the reason to stop after the last iteration of the trace, if any; only limits apply until the method
    /// is ready.
    pub(crate) fn check<T: Lane>(
        &mut self,
        snapshot: &Snapshot<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<Option<StopReason>> {
        let Some(entry) = snapshot.trace.last() else { return Ok(None) };
        let (rules, progress) = (self.rules, snapshot.progress);
        if !snapshot.ready {
            self.costs.clear();
        } else if progress.accepted {
            self.costs.push(progress.cost);
        }
        self.unit = snapshot.unit;
        let settled = snapshot.ready && progress.accepted;
        let reason = if settled && self.cost_settled(progress.cost) || progress.squares <= rules.floor {
            Some(StopReason::Tolerance)
        } else if settled && self.gradient_vanished(snapshot, entry.iteration, exec)? {
            Some(StopReason::Gradient)
        } else if progress.accepted && self.loadings_settled(snapshot, exec)? && settled {
            Some(StopReason::Angle)
        } else if settled && self.error_settled(snapshot.trace) {
            Some(StopReason::Rmse)
        } else if progress.exhausted {
            Some(StopReason::Exhausted)
        } else if rules.early && self.best.is_some_and(|(_, since)| since >= PATIENCE) {
            Some(StopReason::HeldOut)
        } else if progress.squares < rules.no_noise {
            Some(StopReason::NoNoise)
        } else if settled && self.gains_little(progress.cost) {
            Some(StopReason::Overfit)
        } else if entry.iteration >= rules.max_iter {
            Some(StopReason::Iterations)
        } else if rules.time_limit.is_some_and(|limit| entry.seconds >= limit) {
            Some(StopReason::TimeLimit)
        } else {
            None
        };
        Ok(reason)
    }

    fn cost_settled(&self, last: f64) -> bool {
        let (n, Rules { window, tol, .. }) = (self.costs.len(), self.rules);
        tol > 0.0
            && n > window
            && (self.costs[n - 1 - window] - last) / (window as f64) < tol * self.size(last)
    }

    fn gains_little(&self, last: f64) -> bool {
        let (n, least) = (self.costs.len(), self.rules.least_gain);
        least > 0.0
            && n > GAIN_ITERATIONS
            && self.costs[n - 1 - GAIN_ITERATIONS] - last < least * GAIN_ITERATIONS as f64
    }

    /// Reference for relative changes of a cost.
    pub(crate) fn size(&self, cost: f64) -> f64 {
        (cost - self.unit).abs()
    }

    fn gradient_vanished<T: Lane>(
        &self,
        snapshot: &Snapshot<'_, T>,
        iteration: usize,
        exec: &Exec<'_>,
    ) -> Result<bool> {
        let Some(tol) = self.rules.gradient_tol else { return Ok(false) };
        Ok(iteration.is_multiple_of(self.rules.window)
            && relative_gradient(snapshot.problem, snapshot.factors, snapshot.progress.cost, exec)? < tol)
    }

    /// Compares the loadings with the previous ones and stores them.
    fn loadings_settled<T: Lane>(&mut self, snapshot: &Snapshot<'_, T>, exec: &Exec<'_>) -> Result<bool> {
        let Some(tol) = self.rules.angle_tol else { return Ok(false) };
        let now = basis(snapshot.factors, exec)?;
        let before = self.basis.replace(now.clone());
        match before {
            Some(before) if before.n_cols() == now.n_cols() => Ok(largest_angle(&before, &now)? < tol),
            _ => Ok(false),
        }
    }

    fn error_settled(&self, trace: &[TraceEntry]) -> bool {
        let Some(tol) = self.rules.rmse_tol else { return false };
        let (apart, n) = (RMSE_WINDOWS * self.rules.window, trace.len());
        // Costs exist for ready iterations only.
        self.costs.len() > apart && n > apart && {
            let (before, now) = (trace[n - 1 - apart].rmse, trace[n - 1].rmse);
            (before - now).abs() < tol * now
        }
    }

    /// Stores the loadings of a start or of a checkpoint.
    pub(crate) fn begin_from<T: Lane>(&mut self, factors: &Factors<T>, exec: &Exec<'_>) -> Result<()> {
        if self.rules.angle_tol.is_some() {
            self.basis = Some(basis(factors, exec)?);
        }
        Ok(())
    }

    pub(crate) fn save(&self) -> Arrays {
        let mut out = Arrays::default();
        out.put("costs", self.costs.as_slice());
        if let Some((lowest, since)) = self.best {
            out.put("best", [lowest, since as f64]);
        }
        out
    }

    pub(crate) fn restore(&mut self, from: &mut Arrays) -> Result<()> {
        self.costs = from.take("costs")?;
        self.costs.iter().try_for_each(|cost| finite("costs", *cost).map(|_| ()))?;
        self.best = if from.has("best") {
            let [lowest, since] = from.take_array("best")?;
            // Infinite before the first check.
            if lowest != f64::INFINITY {
                size("best", lowest)?;
            }
            Some((lowest, count("best", since)?))
        } else {
            None
        };
        Ok(())
    }
}

/// Number of values per saved trace entry.
const ENTRY: usize = 6;

/// Converts a trace to numbers; NaN represents `None`.
pub(crate) fn save_trace(trace: &[TraceEntry]) -> Vec<f64> {
    let or_nan = |x: Option<f64>| x.unwrap_or(f64::NAN);
    let numbers = |e: &TraceEntry| {
        [e.iteration as f64, e.cost, e.rmse, or_nan(e.held_out_rmse), or_nan(e.step), e.seconds]
    };
    trace.iter().flat_map(numbers).collect()
}

/// Reads the numbers of [`save_trace`].
pub(crate) fn restore_trace(numbers: &[f64]) -> Result<Vec<TraceEntry>> {
    let (entries, []) = numbers.as_chunks::<ENTRY>() else {
        return Err(damaged("trace", "has another length"));
    };
    let entry = |e: &[f64; ENTRY]| {
        Ok(TraceEntry {
            iteration: count("trace", e[0])?,
            cost: finite("trace", e[1])?,
            rmse: size("trace", e[2])?,
            held_out_rmse: optional_size("trace", e[3])?,
            step: optional("trace", e[4])?,
            seconds: seconds("trace", e[5])?,
        })
    };
    let trace: Vec<TraceEntry> = entries.iter().map(entry).collect::<Result<_>>()?;
    if trace.windows(2).any(|pair| pair[0].iteration >= pair[1].iteration) {
        return Err(damaged("trace", "holds iterations in another order"));
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_is_not_a_number_is_not_an_improvement() {
        let rules = Rules {
            tol: 0.0,
            gradient_tol: None,
            angle_tol: None,
            rmse_tol: None,
            max_iter: 1,
            time_limit: None,
            window: 1,
            floor: 0.0,
            early: true,
            no_noise: 0.0,
            least_gain: 0.0,
        };
        let mut stopping = Stopping::new(rules);
        assert!(stopping.improves(2.0) && !stopping.improves(f64::NAN) && !stopping.improves(3.0));
        assert_eq!(stopping.best, Some((2.0, 2)));
        assert!(stopping.improves(1.0));
    }
}
