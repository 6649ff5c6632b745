//! The sign of a component, which the data leave open.

use crate::linalg::Matrix;

/// Entries that differ by no more than this share count as equally large: rounding must not decide a sign.
const TIE: f64 = 1e-10;

/// Makes the entry of largest absolute value in each column of `vectors` positive, the first of them where several are
/// equally large: the rule of scikit-learn's `svd_flip` on components.
pub(crate) fn make_largest_positive(vectors: &mut Matrix) {
    for j in 0..vectors.n_cols() {
        let largest = (0..vectors.n_rows()).map(|i| vectors[(i, j)].abs()).fold(0.0, f64::max);
        let decisive = (0..vectors.n_rows()).find(|&i| vectors[(i, j)].abs() >= largest * (1.0 - TIE));
        if decisive.is_some_and(|i| vectors[(i, j)] < 0.0) {
            (0..vectors.n_rows()).for_each(|i| vectors[(i, j)] = -vectors[(i, j)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_largest_entries_decides() {
        let mut a =
            Matrix::from_vec(3, 3, vec![1.0, 0.5, -0.5, -2.0, -0.5, 0.5, 1.0, 0.1, 0.5 + 1e-16]).unwrap();
        make_largest_positive(&mut a);
        assert_eq!(a.as_slice(), [-1.0, 0.5, 0.5, 2.0, -0.5, -0.5, -1.0, 0.1, -0.5 - 1e-16]);
    }
}
