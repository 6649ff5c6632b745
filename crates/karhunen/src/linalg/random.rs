//! Gaussian matrices that depend on the seed alone.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::linalg::Matrix;

/// Independent standard normal entries. Another `stream` of the same seed is independent of the first.
pub(crate) fn gaussian(n_rows: usize, n_cols: usize, seed: u64, stream: u64) -> Matrix {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    Matrix::from_fn(n_rows, n_cols, |_, _| StandardNormal.sample(&mut rng))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_and_streams_differ() {
        let a = gaussian(50, 40, 7, 0);
        assert_eq!(a, gaussian(50, 40, 7, 0));
        assert_ne!(a, gaussian(50, 40, 8, 0));
        assert_ne!(a, gaussian(50, 40, 7, 1));
        let mean = a.as_slice().iter().sum::<f64>() / 2000.0;
        let square = a.as_slice().iter().map(|x| x * x).sum::<f64>() / 2000.0;
        assert!(mean.abs() < 0.1 && (square - 1.0).abs() < 0.15, "{mean} {square}");
    }
}
