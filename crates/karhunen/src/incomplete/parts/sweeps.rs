//! Sweeps of alternating least squares, each one pass over the parts.

use std::cell::RefCell;
use std::rc::Rc;

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::methods::iterate::{Iterate, IterationReport};
use crate::incomplete::parts::stand_in::stand_in;
use crate::incomplete::parts::{EntryPasses, NormalSums, NormalTask, ScorePenalty};
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;
use crate::scalar::is_single;

/// The iterations of a fit in parts; the scores of its factors stand in for the scores of all rows.
pub(crate) struct Sweeps<'a> {
    pub(crate) passes: &'a dyn EntryPasses,
    pub(crate) penalty: ScorePenalty,
    pub(crate) last: Rc<RefCell<Option<Swept>>>,
}

/// The last sweep.
pub(crate) struct Swept {
    pub(crate) sums: NormalSums,
    /// Means that `sums` are about.
    pub(crate) about: Vec<f64>,
    /// The loadings that they gave, with the mean in the last column, before any gauge step.
    pub(crate) loadings: Matrix,
}

impl Swept {
    /// The sums for given loadings, which have no penalty.
    pub(crate) fn of<T: Lane>(
        passes: &dyn EntryPasses,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let loadings = factors.a.to_matrix(factors.c + 1);
        let (penalty, single) = (ScorePenalty::default(), is_single::<T>());
        let task = NormalTask { loadings: loadings.clone(), penalty, single, factors: None };
        let sums = passes.normal(task, exec)?;
        Ok(Self { sums, about: factors.mean(), loadings })
    }
}

impl<T: Lane> Iterate<T> for Sweeps<'_> {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let c = problem.c;
        let about = factors.mean();
        let (sums, [cost, of_loadings]) = sweep(self.passes, problem, &mut factors.a, self.penalty, exec)?;
        factors.s = stand_in(&sums, self.penalty.per_entry)?;
        *self.last.borrow_mut() = Some(Swept { sums, about, loadings: factors.a.to_matrix(c + 1) });
        Ok(IterationReport {
            cost: cost + problem.side_penalty(FactorSide::Scores, factors, exec)?,
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

/// One sweep: scores of all rows given the loadings, then the loadings. Returns F without the penalties of the scores,
/// and the penalty terms of the loadings.
pub(crate) fn sweep<T: Lane>(
    passes: &dyn EntryPasses,
    problem: &Objective<'_, T>,
    loadings: &mut Factor<T>,
    penalty: ScorePenalty,
    exec: &Exec<'_>,
) -> Result<(NormalSums, [f64; 2])> {
    let task = NormalTask {
        loadings: loadings.to_matrix(problem.c + 1),
        penalty,
        single: is_single::<T>(),
        factors: None,
    };
    let sums = passes.normal(task, exec)?;
    let cost = sums.solve_loadings(problem, loadings, &exec.part(1.0, 1.0))?;
    Ok((sums, cost))
}
