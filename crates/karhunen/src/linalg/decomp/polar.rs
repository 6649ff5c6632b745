//! The orthogonal factor of a small square matrix.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::decomp::svd::svd;
use crate::linalg::dense::small::multiply;

/// Returns the orthogonal matrix nearest to a square matrix, `U V'` of its singular value decomposition `U S V'`: the
/// factor of its polar decomposition, and for `A' B` the rotation that takes A nearest to B (orthogonal Procrustes;
/// Schoenemann 1966, doi:10.1007/BF02289451). Directions of singular value zero are completed arbitrarily.
///
/// # Errors
/// [`crate::Error::Decomposition`] if an entry is not finite.
pub(crate) fn orthogonal_factor(a: &Matrix) -> Result<Matrix> {
    let v = svd(a)?.v;
    // Columns of A V are U times the singular values; those of zero are completed.
    let left = orthonormalize(multiply(a, &v), 0, &Exec::sequential())?;
    let k = v.n_cols();
    let sign = |c: usize| if left.r[(c, c)] < 0.0 { -1.0 } else { 1.0 };
    let u = Matrix::from_fn(k, k, |i, c| left.q[(i, c)] * sign(c));
    Ok(multiply(&u, &v.transposed()))
}
