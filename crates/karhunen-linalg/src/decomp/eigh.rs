//! All eigenvalues and eigenvectors of a symmetric matrix.

use crate::Matrix;
pub use crate::decomp::tridiagonal::Eigh;
use crate::decomp::tridiagonal::Tridiagonal;
use crate::error::Result;

/// Decomposes a symmetric matrix, whose lower triangle alone is read. Runs on the calling thread.
///
/// Accepts any scale: entries are first divided by a power of two.
///
/// # Errors
/// As [`Tridiagonal::of`]; [`crate::Error::Decomposition`] if the iteration fails.
pub fn eigh(a: &Matrix) -> Result<Eigh> {
    if let Some(reduced) = Tridiagonal::of(a)? {
        return reduced.all();
    }
    // One row, or zeros.
    let dim = a.n_rows();
    let vectors = Matrix::from_fn(dim, dim, |i, j| f64::from(u8::from(i == j)));
    Ok(Eigh { values: (0..dim).map(|i| a[(i, i)]).collect(), vectors })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::small::{multiply, t_multiply};
    use crate::scalar::largest_magnitude;
    use crate::testing::test_matrices::gaussian;
    use crate::testing::test_matrices::{identity_error, max_difference};

    fn check(a: &Matrix) {
        let Eigh { values, vectors } = eigh(a).unwrap();
        assert!(values.windows(2).all(|w| w[0] >= w[1]), "descending");
        assert!(identity_error(&vectors) < 1e-13 * a.n_rows() as f64);
        let scaled = Matrix::from_fn(a.n_rows(), a.n_rows(), |i, j| vectors[(i, j)] * values[j]);
        let scale = largest_magnitude(a.as_slice());
        let error = max_difference(&multiply(&scaled, &vectors.transposed()), a);
        assert!(error <= 1e-13 * a.n_rows() as f64 * scale, "{error:e}");
    }

    #[test]
    fn a_matrix_is_reconstructed_at_every_scale() {
        for dim in [1, 2, 3, 17, 130, 200] {
            let x = gaussian(dim + 3, dim, 1, 0);
            let a = t_multiply(&x, &x);
            for scale in [1.0, 1e200, 1e-200] {
                check(&Matrix::from_fn(dim, dim, |i, j| a[(i, j)] * scale));
            }
        }
    }

    #[test]
    fn eigenvalues_agree_with_closed_forms() {
        let e = eigh(&Matrix::from_vec(2, 2, vec![2.0, 1.0, 1.0, 2.0]).unwrap()).unwrap();
        assert!((e.values[0] - 3.0).abs() < 1e-15 && (e.values[1] - 1.0).abs() < 1e-15);
        let e = eigh(&Matrix::from_fn(3, 3, |i, j| if i == j { [-1.0, 5.0, 2.0][i] } else { 0.0 })).unwrap();
        assert_eq!(e.values, [5.0, 2.0, -1.0]);
        assert!(eigh(&Matrix::zeros(0, 0)).unwrap().values.is_empty());
        assert_eq!(eigh(&Matrix::zeros(2, 2)).unwrap().values, [0.0, 0.0]);
        let tiny = Matrix::from_fn(2, 2, |i, j| if i == j { 5e-324 } else { 0.0 });
        assert_eq!(eigh(&tiny).unwrap().values, [5e-324, 5e-324]);
    }

    #[test]
    fn non_finite_entries_are_refused() {
        let error = eigh(&Matrix::from_fn(2, 2, |_, _| f64::NAN)).unwrap_err();
        assert!(error.to_string().starts_with("the eigendecomposition of a 2 x 2 matrix"));
    }
}
