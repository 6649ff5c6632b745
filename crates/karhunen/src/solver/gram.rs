//! The Gram route: forms `B B'`, shape (n, n), takes its leading eigenvectors, and maps them back by one more
//! pass.

use crate::error::Result;
use crate::exec::Exec;
use crate::operator::{Products, Side};
use crate::solver::image::{image, longest};
use crate::solver::leading::leading_of_matrix;
use crate::solver::route::Route;
use crate::solver::spectrum::{IterationOptions, Spectrum, Wanted};

/// Finds the leading right singular vectors by two passes over the data, or a few more for large components.
pub(crate) fn solve(
    op: &dyn Products,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    let gram = op.product(Side::Rows, &exec.phase("inner products"))?;
    let pairs = leading_of_matrix(
        &gram,
        wanted,
        iteration,
        |values| iteration.tol / longest(Route::Gram, values, op),
        &exec.phase("eigenvectors"),
    )?;
    drop(gram);
    image(op, pairs, Route::Gram, iteration.seed, &exec.phase("components"))
}
