//! The block Krylov route: iterate with `B'B` or `B B'`, whichever is smaller, without forming either.

use crate::error::Result;
use crate::exec::Exec;
use crate::operator::{LinOp, Normal, NormalT};
use crate::solver::image::{image, longest};
use crate::solver::leading::leading;
use crate::solver::{Iteration, Spectrum, Wanted};

/// As many passes over the data as the tolerance takes.
pub(crate) fn solve(
    op: &dyn LinOp,
    wanted: Wanted,
    iteration: &Iteration,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    let (n, p) = op.shape();
    let exec = exec.phase("block Krylov");
    if p <= n {
        let pairs = leading(&Normal(op), wanted, iteration, |_| iteration.tol, &exec)?;
        return pairs.into_spectrum(&exec.phase("components"));
    }
    // Mapping back lengthens the residuals of small eigenvalues.
    let tightened = |values: &[f64]| iteration.tol / longest(values, op);
    let pairs = leading(&NormalT(op), wanted, iteration, tightened, &exec)?;
    image(op, pairs, iteration.seed, &exec.phase("components"))
}
