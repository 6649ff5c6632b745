//! Systems of a symmetric positive definite matrix.

use faer::Side;
use faer::prelude::Solve;

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::dense::small::{binade, faer_view, to_faer};

/// `A^-1 B` for symmetric positive definite `a`, of which the lower triangle alone is read, on the calling thread.
///
/// # Errors
/// [`Error::Decomposition`] if `a` is not positive definite to rounding, or not finite.
pub(crate) fn solve(a: &Matrix, b: &Matrix) -> Result<Matrix> {
    let dim = a.n_rows();
    let failed =
        || Error::Decomposition { decomposition: "Cholesky decomposition", n_rows: dim, n_cols: dim };
    let unit = binade(a.as_slice()).filter(|unit| !unit.is_nan()).ok_or_else(failed)?;
    let factor = to_faer(a, unit).llt(Side::Lower).map_err(|_| failed())?;
    let x = factor.solve(faer_view(b));
    Ok(Matrix::from_fn(dim, b.n_cols(), |i, j| x[(i, j)] / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dense::small::{multiply, t_multiply};
    use crate::linalg::test_matrices::gaussian;
    use crate::linalg::test_matrices::max_difference;

    #[test]
    fn solutions_solve() {
        for (dim, scale) in [(1, 1.0), (5, 1e200), (120, 1e-200)] {
            let x = gaussian(dim + 20, dim, 1, 0);
            let mut a = t_multiply(&x, &x);
            let b = gaussian(dim, 3, 2, 0);
            let expected = solve(&a, &b).unwrap();
            assert!(max_difference(&multiply(&a, &expected), &b) < 1e-10);
            a.scale(scale);
            let mut found = solve(&a, &b).unwrap();
            found.scale(scale);
            assert!(max_difference(&found, &expected) < 1e-12);
        }
    }

    #[test]
    fn indefinite_matrices_are_refused() {
        let a = Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
        let error = solve(&a, &Matrix::zeros(2, 1)).unwrap_err();
        assert!(error.to_string().starts_with("the Cholesky decomposition of a 2 x 2 matrix"), "{error}");
    }
}
