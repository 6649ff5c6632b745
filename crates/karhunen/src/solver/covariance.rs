//! The covariance route: forms `B'B`, shape (p, p), and takes its leading eigenvectors.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::operator::{Products, Side};
use crate::solver::leading::leading_of_matrix;
use crate::solver::spectrum::{IterationOptions, Spectrum, Wanted};

/// Finds the leading right singular vectors by one pass over the data.
pub(crate) fn solve(
    op: &dyn Products,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    let covariance = op.product(Side::Columns, &exec.phase("covariance"))?;
    solve_matrix(&covariance, wanted, iteration, exec)
}

/// As [`solve`], for a given covariance matrix: no pass over the data.
pub(crate) fn solve_matrix(
    covariance: &Matrix,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    if matches!(wanted, Wanted::Count(0)) {
        return Ok(Spectrum::none(covariance.n_cols()));
    }
    let pairs =
        leading_of_matrix(covariance, wanted, iteration, |_| iteration.tol, &exec.phase("eigenvectors"))?;
    pairs.into_spectrum(&exec.phase("components"))
}
