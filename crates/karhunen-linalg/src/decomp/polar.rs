//! The orthogonal factor of a small square matrix.

use crate::Matrix;
use crate::decomp::orthonormal::orthonormalize;
use crate::decomp::svd::svd;
use crate::dense::small::multiply;
use crate::error::Result;
use crate::exec::Exec;

/// Returns the orthogonal matrix nearest to a square matrix, `U V'` of its singular value decomposition `U S V'`: the
/// factor of its polar decomposition, and for `A' B` the rotation that takes A nearest to B (orthogonal Procrustes;
/// Schoenemann 1966, doi:10.1007/BF02289451). Directions of singular value zero are completed arbitrarily.
///
/// # Errors
/// [`crate::Error::Decomposition`] if an entry is not finite.
pub fn orthogonal_factor(a: &Matrix) -> Result<Matrix> {
    let v = svd(a)?.v;
    // Columns of A V are U times the singular values; columns of singular value zero are completed.
    let left = orthonormalize(multiply(a, &v), 0, &Exec::sequential())?;
    let k = v.n_cols();
    let sign = |c: usize| if left.r[(c, c)] < 0.0 { -1.0 } else { 1.0 };
    let u = Matrix::from_fn(k, k, |i, c| left.q[(i, c)] * sign(c));
    Ok(multiply(&u, &v.transposed()))
}
