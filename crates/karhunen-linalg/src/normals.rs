//! Gaussian matrices.

use rand_distr::{Distribution, StandardNormal};

use crate::Matrix;
use crate::random::Stream;

/// Independent standard normal entries, drawn row by row.
pub fn gaussian(n_rows: usize, n_cols: usize, stream: Stream) -> Matrix {
    let mut generator = stream.generator();
    Matrix::from_fn(n_rows, n_cols, |_, _| StandardNormal.sample(&mut generator))
}

/// As [`gaussian`], with row `i` from the stream of number `i`: a row does not depend on how many there are.
pub fn gaussian_rows(n_rows: usize, n_cols: usize, stream: Stream) -> Matrix {
    let mut out = Matrix::zeros(n_rows, n_cols);
    for (i, row) in out.as_mut_slice().chunks_exact_mut(n_cols.max(1)).enumerate() {
        let mut generator = stream.number(i as u64).generator();
        row.iter_mut().for_each(|value| *value = StandardNormal.sample(&mut generator));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn entries_are_normal_and_streams_differ() {
        let a = gaussian(50, 40, Purpose::Starts.of(7));
        assert_eq!(a, gaussian(50, 40, Purpose::Starts.of(7)));
        assert_ne!(a, gaussian(50, 40, Purpose::Starts.of(8)));
        assert_ne!(a, gaussian(50, 40, Purpose::Starts.of(7).number(1)));
        let mean = a.as_slice().iter().sum::<f64>() / 2000.0;
        let square = a.as_slice().iter().map(|x| x * x).sum::<f64>() / 2000.0;
        assert!(mean.abs() < 0.1 && (square - 1.0).abs() < 0.15, "{mean} {square}");
        let rows = gaussian_rows(3, 40, Purpose::Starts.of(7));
        assert_eq!(rows.row(0), a.row(0));
        assert_eq!(rows.rows(0..2), gaussian_rows(2, 40, Purpose::Starts.of(7)));
        assert_ne!(rows.row(1), a.row(1));
    }
}
