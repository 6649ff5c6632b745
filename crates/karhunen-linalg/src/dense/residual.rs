//! Residuals of eigenpairs.

use crate::Matrix;

/// `||A v - lambda v|| / lambda_1` of each column `v` of `vectors`, given `product = A V` and the eigenvalues,
/// descending. Zero if the largest eigenvalue is zero.
pub fn relative_residuals(product: &Matrix, vectors: &Matrix, values: &[f64]) -> Vec<f64> {
    let largest = values.first().copied().unwrap_or(0.0);
    let mut squares = vec![0.0; values.len()];
    if largest > 0.0 || largest.is_nan() {
        for i in 0..vectors.n_rows() {
            let (a, v) = (product.row(i), vectors.row(i));
            for (j, square) in squares.iter_mut().enumerate() {
                // Divided before squaring: the square of a small difference may underflow.
                let difference = (a[j] - values[j] * v[j]) / largest;
                *square += difference * difference;
            }
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_eigenvector_has_no_residual() {
        // diag(4, 2) applied to (1, 0) and (0.6, 0.8).
        let vectors = Matrix::from_vec(2, 2, vec![1.0, 0.6, 0.0, 0.8]).unwrap();
        let product = Matrix::from_vec(2, 2, vec![4.0, 2.4, 0.0, 1.6]).unwrap();
        let residuals = relative_residuals(&product, &vectors, &[4.0, 2.0]);
        assert_eq!(residuals[0], 0.0);
        assert!((residuals[1] - 0.3).abs() < 1e-15);
        assert_eq!(relative_residuals(&product, &vectors, &[0.0, 0.0]), [0.0, 0.0]);
        assert!(relative_residuals(&product, &vectors, &[f64::NAN; 2]).iter().all(|r| r.is_nan()));
    }
}
