//! From eigenvectors of `B B'` to those of `B'B`: `w = B'q / sqrt(lambda)`.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::basis::Basis;
use crate::linalg::orthonormal::{Fresh, orthonormalize_against, polish};
use crate::operator::LinOp;
use crate::solver::Spectrum;
use crate::solver::leading::Pairs;

/// Maps eigenvectors of `B B'` back by one pass. Eigenvalues at the level of rounding have no image: there the basis
/// is completed by orthonormal vectors of zero variance. The residuals become bounds: `B'B w - lambda w` is
/// `B' r / sqrt(lambda)`, at most `sqrt(lambda_1 / lambda)` times as long as `r = B B'q - lambda q`.
pub(crate) fn image(op: &dyn LinOp, pairs: Pairs, seed: u64, exec: &Exec<'_>) -> Result<Spectrum> {
    let Pairs { mut values, vectors, mut residuals, n_products } = pairs;
    let largest = values.first().copied().unwrap_or(0.0);
    let level = rounding_level(largest, op);
    let rank = values.iter().take_while(|&&value| value > level).count();
    let roots: Vec<f64> = values[..rank].iter().map(|value| value.sqrt()).collect();
    let scaled = Matrix::from_fn(vectors.n_rows(), rank, |i, j| vectors[(i, j)] / roots[j]);
    let image = op.apply_t(&scaled, exec)?;
    for (residual, value) in residuals.iter_mut().zip(&mut values) {
        if *value > level {
            *residual *= (largest / *value).sqrt();
        } else {
            (*residual, *value) = (0.0, 0.0);
        }
    }
    let vectors = completed(image, values.len(), seed, exec)?;
    Ok(Spectrum { values, vectors, residuals, n_passes: n_products + 1 })
}

/// How many times longer residuals may become: `sqrt(lambda_1 / lambda)` for the smallest eigenvalue with an image.
pub(crate) fn longest(values: &[f64], op: &dyn LinOp) -> f64 {
    let largest = values.first().copied().unwrap_or(0.0);
    let level = rounding_level(largest, op);
    values.iter().rfind(|&&value| value > level).map_or(1.0, |value| (largest / value).sqrt())
}

/// Eigenvalues up to this are rounding.
fn rounding_level(largest: f64, op: &dyn LinOp) -> f64 {
    let (n, p) = op.shape();
    f64::EPSILON * n.max(p) as f64 * (largest + op.cancelled())
}

/// Orthonormal columns, `k` of them: those of `w`, which are so to rounding, and random ones beside them.
fn completed(w: Matrix, k: usize, seed: u64, exec: &Exec<'_>) -> Result<Matrix> {
    let (p, rank) = w.shape();
    let known = polish(w, seed, exec)?;
    if rank == k {
        return Ok(known);
    }
    let mut basis = Basis::new(p, k);
    basis.append(&known, exec)?;
    let mut fresh = Fresh::new(seed);
    let mut rest = fresh.columns(p, k - rank);
    let gram = basis.project_out(&mut rest, exec)?;
    let rest = orthonormalize_against(&basis, rest, &gram, f64::MIN_POSITIVE, &mut fresh, exec)?.q;
    let all = Matrix::from_fn(p, k, |i, j| if j < rank { known[(i, j)] } else { rest[(i, j - rank)] });
    polish(all, seed, exec)
}
