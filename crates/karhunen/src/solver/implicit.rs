//! The block Krylov route: iterates with `B'B` or `B B'`, whichever is smaller, without forming it.

use crate::error::Result;
use crate::exec::Exec;
use crate::operator::{Normal, NormalT, Products};
use crate::solver::image::{image, longest};
use crate::solver::leading::{Seek, Sought, seek_leading};
use crate::solver::route::Route;
use crate::solver::spectrum::{IterationOptions, Spectrum, Wanted};

/// Makes as many passes over the data as the tolerance takes.
pub(crate) fn solve(
    op: &dyn Products,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    match seek(op, wanted, iteration, &Seek::to_the_end(), exec)? {
        Sought::Found(spectrum) => Ok(spectrum),
        Sought::Left { .. } => unreachable!("there is no other way to leave for"),
    }
}

/// As [`solve`], but may leave for another route if a share takes many components.
pub(super) fn seek(
    op: &dyn Products,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    seek: &Seek<'_>,
    exec: &Exec<'_>,
) -> Result<Sought<Spectrum>> {
    let (n, p) = op.shape();
    let exec = exec.phase("block Krylov");
    if p <= n || iteration.start.is_some() {
        let tightened = |values: &[f64]| tolerance_left_by_rounding(iteration, values, op);
        let sought = seek_leading(&Normal(op), wanted, iteration, tightened, seek, &exec)?;
        return sought.and_then(|pairs| pairs.into_spectrum(&exec.phase("components")));
    }
    // Mapping back amplifies the residuals of small eigenvalues.
    let tightened = |values: &[f64]| {
        tolerance_left_by_rounding(iteration, values, op) / longest(Route::BlockKrylov, values, op)
    };
    let sought = seek_leading(&NormalT(op), wanted, iteration, tightened, seek, &exec)?;
    sought.and_then(|pairs| image(op, pairs, Route::BlockKrylov, iteration.seed, &exec.phase("components")))
}

/// The tolerance of the iteration that leaves room for the rounding of centring. The whole tolerance where that rounding
/// exceeds it: such pairs do not converge.
fn tolerance_left_by_rounding(iteration: &IterationOptions<'_>, values: &[f64], op: &dyn Products) -> f64 {
    const LEAST: f64 = 0.1;
    let tol = iteration.tol;
    let largest = values.first().copied().unwrap_or(0.0);
    let rounding = iteration.centring * op.cancelled(largest) / largest;
    if rounding < tol { (tol * tol - rounding * rounding).sqrt().max(LEAST * tol) } else { tol }
}
