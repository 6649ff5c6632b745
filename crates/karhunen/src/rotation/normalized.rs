//! Rows of loadings brought to a common size before a rotation.

use crate::linalg::Matrix;
use crate::scalar::largest;

/// Rows shorter than this share of the longest are rounding errors, such as in a constant column.
const ROUNDING: f64 = 1e-10;

/// Leaves out the rows without length, and divides every other by its length, if `kaiser`, or all entries by the root of
/// the mean squared row length, which changes no rotation, so that tolerances are relative. Shape (at most p, k).
pub(super) fn normalized(loadings: &Matrix, kaiser: bool) -> Matrix {
    let k = loadings.n_cols();
    let length = |j: usize| loadings.row(j).iter().map(|x| x * x).sum::<f64>().sqrt();
    let lengths: Vec<f64> = (0..loadings.n_rows()).map(length).collect();
    let shortest = ROUNDING * largest(lengths.iter().copied());
    let rows: Vec<usize> = (0..lengths.len()).filter(|j| lengths[*j] > shortest).collect();
    let mean = (rows.iter().map(|j| lengths[*j].powi(2)).sum::<f64>() / rows.len() as f64).sqrt();
    let divisor = |j: usize| if kaiser { lengths[j] } else { mean };
    Matrix::from_fn(rows.len(), k, |i, c| loadings[(rows[i], c)] / divisor(rows[i]))
}
