//! One file for each algorithm: what one iteration does. Everything around the iterations is in `fit.rs`.

pub(crate) mod als;
pub(crate) mod ccd;
pub(crate) mod conjugate;
pub(crate) mod descent;
pub(crate) mod factorial;
pub(crate) mod full;
pub(crate) mod imputation;
pub(crate) mod map;
pub(crate) mod online;

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::posterior::Posterior;
use crate::incomplete::problem::Problem;

/// One algorithm.
pub(crate) trait Iterate<T> {
    /// One iteration: changes `factors` and says what it came to.
    fn iterate(
        &mut self,
        problem: &mut Problem<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<Progress>;

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

    /// What the user should know about how the fit went.
    fn remark(&self) -> Option<&'static str> {
        None
    }

    /// Forgets what it knows about the factors, after something else changed them.
    fn restart(&mut self) {}
}

/// Where an iteration ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
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
