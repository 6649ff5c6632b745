//! Data whose entries all equal their means: the best components and the noise are zero under any prior.

use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::options::{IncompletePca, MeanMode};
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::simd::Lane;

/// A single iteration, for methods that learn variances: variances of zero would make their cost unbounded.
#[derive(Debug)]
pub(crate) struct Constant {
    /// The mean, if it is fitted.
    mean: Option<Vec<f64>>,
}

impl Constant {
    pub(crate) fn new(pca: &IncompletePca, prepared: &Prepared) -> Self {
        let means = || prepared.sums.means(0.0, prepared.rule.prior);
        Self { mean: (pca.mean == MeanMode::Joint).then(means) }
    }
}

impl<T: Lane> Iterate<T> for Constant {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let (c, free) = (problem.c, problem.free());
        factors.s.map_rows(exec, |_, row| row[..c].fill(T::default()))?;
        factors.a.map_rows(exec, |j, row| {
            row[..free].fill(T::default());
            if let Some(mean) = &self.mean {
                row[c] = T::from_f64(mean[j]);
            }
        })?;
        Ok(IterationReport { cost: 0.0, squares: 0.0, step: None, accepted: true, exhausted: true })
    }

    fn window(&self) -> usize {
        1
    }

    fn collapsed(&self) -> bool {
        true
    }
}
