//! Rows of loadings brought to a common size before a rotation.

use crate::linalg::Matrix;

/// Divides every row by its length, if `kaiser`; rows of zeros stay. Then divides all entries by the root of the mean
/// squared row length, which changes no rotation, so that tolerances are relative.
pub(super) fn normalized(loadings: &Matrix, kaiser: bool) -> Matrix {
    let (p, k) = loadings.shape();
    let length = |j: usize| loadings.row(j).iter().map(|x| x * x).sum::<f64>().sqrt();
    let mean = ((0..p).map(|j| length(j).powi(2)).sum::<f64>() / p as f64).sqrt();
    let unit = |length: f64| if length > 0.0 { length } else { 1.0 };
    let divisors: Vec<f64> = (0..p).map(|j| unit(if kaiser { length(j) } else { mean })).collect();
    Matrix::from_fn(p, k, |j, c| loadings[(j, c)] / divisors[j])
}
