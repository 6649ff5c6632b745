//! Interface of one iteration of a method, and its report.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::Arrays;
use crate::incomplete::updates::posterior::Posterior;
use crate::incomplete::updates::prepared::MeanSquares;
use crate::linalg::simd::Lane;

/// A method as a sequence of iterations.
pub(crate) trait Iterate<T> {
    /// Makes one iteration: updates `factors` and reports the result.
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport>;

    /// Number of iterations over which the test of convergence averages the decrease of the cost.
    fn window(&self) -> usize;

    /// Returns true if convergence may be tested by the cost; false while variances are fixed that are learned later.
    fn ready(&self) -> bool {
        true
    }

    /// The posterior of loadings and means, if the method has one.
    fn posterior(&self, _factors: &Factors<T>) -> Option<Posterior<T>> {
        None
    }

    /// Returns true if all components have vanished.
    fn collapsed(&self) -> bool {
        false
    }

    /// Part of the cost that depends on the unit of the data alone, such as logarithms of variances; relative
    /// changes of the cost exclude it.
    fn unit(&self, _problem: &Objective<'_, T>) -> f64 {
        0.0
    }

    /// Saves the state of the next iteration, except factors and penalties.
    fn save(&self, _out: &mut Arrays) {}

    /// Restores the state of [`Iterate::save`]; `factors` come from the saved iteration.
    fn restore(
        &mut self,
        _from: &mut Arrays,
        _problem: &Objective<'_, T>,
        _factors: &Factors<T>,
        _exec: &Exec<'_>,
    ) -> Result<()> {
        Ok(())
    }

    /// Discards state that depends on the factors, after a change from outside.
    fn restart(&mut self) {}
}

/// Increase of `-ln p` of entries and means when data and weights of mean squares one are scaled to these mean squares.
/// Posteriors of means under a flat prior add their entropy; point estimates under a prior add its density.
pub(super) fn unit_of_posteriors<T: Lane>(
    problem: &Objective<'_, T>,
    n_entries: f64,
    scale: MeanSquares,
    posterior: bool,
) -> f64 {
    let p = problem.data.n_features() as f64;
    let of_means = match (problem.mean.joint, problem.mean.kappa > 0.0, posterior) {
        (true, false, true) => -p,
        (true, true, false) => p,
        _ => 0.0,
    };
    0.5 * (n_entries * scale.of_noise.ln() + of_means * scale.of_entries.ln())
}

/// Result of an iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IterationReport {
    /// The cost: F unless the method documents another.
    pub(crate) cost: f64,
    /// `sum w e^2`.
    pub(crate) squares: f64,
    /// The next learning rate, if the method has one.
    pub(crate) step: Option<f64>,
    /// True if the factors changed.
    pub(crate) accepted: bool,
    /// True if no further iteration can lower the cost.
    pub(crate) exhausted: bool,
}
