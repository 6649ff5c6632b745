//! What one iteration of a method is, and what it reports.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::Arrays;
use crate::incomplete::updates::posterior::Posterior;
use crate::linalg::simd::Lane;

/// One algorithm.
pub(crate) trait Iterate<T> {
    /// One iteration: changes `factors` and says what it came to.
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport>;

    /// Iterations over which the cost must fall by less than the tolerance for the fit to have converged.
    fn window(&self) -> usize;

    /// Whether the cost may be trusted to tell when to stop; not while variances are held that will be learned.
    fn ready(&self) -> bool {
        true
    }

    /// The posterior of loadings and means, of methods that have one.
    fn posterior(&self, _factors: &Factors<T>) -> Option<Posterior<T>> {
        None
    }

    /// Whether nothing is left of the components.
    fn collapsed(&self) -> bool {
        false
    }

    /// The part of the cost that follows from the unit of the data alone, as the logarithms of variances do: relative
    /// changes are those of the rest.
    fn unit(&self, _problem: &Objective<'_, T>) -> f64 {
        0.0
    }

    /// Everything that the next iteration depends on, beside the factors and the penalties, as plain numbers.
    fn save(&self, _out: &mut Arrays) {}

    /// Goes on where [`Iterate::save`] was called, with the factors as they were.
    fn restore(
        &mut self,
        _from: &mut Arrays,
        _problem: &Objective<'_, T>,
        _factors: &Factors<T>,
        _exec: &Exec<'_>,
    ) -> Result<()> {
        Ok(())
    }

    /// Forgets what it knows about the factors, after something else changed them.
    fn restart(&mut self) {}
}

/// What `-ln p` of the entries and means of a problem grows by when data of mean square one get the mean square `scale`.
/// Means have a density where nothing is known of them beforehand, and are values where they have no posterior.
pub(super) fn unit_of_posteriors<T: Lane>(problem: &Objective<'_, T>, scale: f64, posterior: bool) -> f64 {
    let p = problem.data.n_features() as f64;
    let of_means = match (problem.mean.joint, problem.mean.kappa > 0.0, posterior) {
        (true, false, true) => -p,
        (true, true, false) => p,
        _ => 0.0,
    };
    0.5 * (problem.data.total_entries() + of_means) * scale.ln()
}

/// Where an iteration ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IterationReport {
    /// The cost, F unless the method says otherwise.
    pub(crate) cost: f64,
    /// `sum w e^2`.
    pub(crate) squares: f64,
    /// The learning rate that comes next, of methods that have one.
    pub(crate) step: Option<f64>,
    /// Whether the factors changed.
    pub(crate) accepted: bool,
    /// Whether no further iteration can lower the cost.
    pub(crate) exhausted: bool,
}
