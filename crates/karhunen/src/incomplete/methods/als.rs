//! Alternating least squares: scores, then loadings (and means), each the exact minimiser given the other. Without
//! penalties this is the EM algorithm of Grung & Manne (1998), doi:10.1016/S0169-7439(98)00031-8, with missing
//! values.

use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::passes::normal::solve_side;
use crate::linalg::simd::Lane;

/// Time O(N c^2 + (n + p) c^3) per sweep; no step size; monotone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Als;

impl<T: Lane> Iterate<T> for Als {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let [_, of_scores] = solve_side(problem, factors, FactorSide::Scores, &exec.part(0.0, 0.5))?;
        let [cost, of_loadings] = solve_side(problem, factors, FactorSide::Loadings, &exec.part(0.5, 1.0))?;
        Ok(IterationReport {
            cost: cost + of_scores,
            squares: (cost - of_loadings).max(0.0),
            step: None,
            accepted: true,
            exhausted: false,
        })
    }

    fn window(&self) -> usize {
        1
    }
}
