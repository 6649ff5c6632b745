//! From eigenvectors of `B B'` to eigenvectors of `B'B`: `w = B'q / sqrt(lambda)`.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::orthonormal::polish_rows;
use crate::operator::Products;
use crate::solver::leading::Pairs;
use crate::solver::route::Route;
use crate::solver::spectrum::Spectrum;

/// Maps eigenvectors of `B B'` back. Drops pairs whose eigenvalue is at the rounding level of the route. The residuals of
/// routes that do not compute all eigenvectors become bounds: `B'B w - lambda w = B' r / sqrt(lambda)` is at most
/// `sqrt(lambda_1 / lambda)` times as long as `r = B B'q - lambda q`.
pub(crate) fn image(
    op: &dyn Products,
    pairs: Pairs,
    route: Route,
    seed: u64,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    let Pairs { mut values, vectors, mut residuals, others, .. } = pairs;
    let largest = values.first().copied().unwrap_or(0.0);
    let level = rounding_level(route, largest, op);
    let rank = values.iter().take_while(|&&value| value > level).count();
    let roots: Vec<f64> = values[..rank].iter().map(|value| value.sqrt()).collect();
    let scaled = Matrix::from_fn(vectors.n_rows(), rank, |i, j| vectors[(i, j)] / roots[j]);
    let image = op.image(&scaled, &exec.part(0.0, 0.8))?;
    values.truncate(rank);
    residuals.truncate(rank);
    if route != Route::Svd {
        for (residual, value) in residuals.iter_mut().zip(&values) {
            *residual *= (largest / value).sqrt();
        }
    }
    let components = polish_rows(image, seed, &exec.part(0.8, 1.0))?;
    Ok(Spectrum { values, components, residuals, others })
}

/// Largest growth of the residuals: `sqrt(lambda_1 / lambda)` for the smallest eigenvalue above rounding level.
pub(crate) fn longest(route: Route, values: &[f64], op: &dyn Products) -> f64 {
    let largest = values.first().copied().unwrap_or(0.0);
    let level = rounding_level(route, largest, op);
    values.iter().rfind(|&&value| value > level).map_or(1.0, |value| (largest / value).sqrt())
}

/// Eigenvalues up to this are rounding errors.
fn rounding_level(route: Route, largest: f64, op: &dyn Products) -> f64 {
    let (n, p) = op.shape();
    route.rounding(n.max(p)) * (largest + op.cancelled(largest))
}
