//! Matrices and weights with known properties, determined by a seed on every machine.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::jacobi::dot;
use crate::rows::Rows;

/// A matrix with a known decomposition.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The matrix.
    pub rows: Rows,
    /// Its mean.
    pub mean: Vec<f64>,
    /// Its population variances, as given.
    pub variances: Vec<f64>,
    /// The directions of those variances: orthonormal rows.
    pub components: Rows,
}

/// `1 mean' + U S V'` of shape (n, p) with random orthonormal `U` (orthogonal to ones) and `V`, whose unweighted
/// population covariance has exactly the given variances, and zero otherwise.
///
/// Fewer variances than columns give a low rank; equal ones give repeated eigenvalues.
///
/// # Panics
/// If more than `min(n - 1, p)` variances are given.
pub fn planted(n: usize, p: usize, variances: &[f64], mean: f64, seed: u64) -> Planted {
    let k = variances.len();
    assert!(k < n && k <= p, "at most min(n - 1, p) variances fit");
    let mut left = vec![vec![1.0 / (n as f64).sqrt(); n]];
    left.extend(gaussian(k, n, seed));
    let left = orthonormal_rows(left);
    let components = orthonormal_rows(gaussian(k, p, seed + 1));
    let mean: Vec<f64> = gaussian(1, p, seed + 2)[0].iter().map(|x| mean * (1.0 + 0.1 * x)).collect();
    let entry = |i: usize, j: usize| {
        let spread = |r: usize| left[r + 1][i] * (n as f64 * variances[r]).sqrt() * components[r][j];
        mean[j] + (0..k).map(spread).sum::<f64>()
    };
    let rows = (0..n).map(|i| (0..p).map(|j| entry(i, j)).collect()).collect();
    Planted { rows, mean, variances: variances.to_vec(), components }
}

/// The variances `1, 2^-exponent, 3^-exponent, …`.
pub fn power_law(k: usize, exponent: f64) -> Vec<f64> {
    (1..=k).map(|i| (i as f64).powf(-exponent)).collect()
}

/// Independent standard normal values, shape (n, p).
pub fn gaussian(n: usize, p: usize, seed: u64) -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| (0..p).map(|_| rng.sample(StandardNormal)).collect()).collect()
}

/// The matrix with column `j` made constant.
pub fn with_constant_column(mut rows: Rows, j: usize, value: f64) -> Rows {
    rows.iter_mut().for_each(|row| row[j] = value);
    rows
}

/// Weights uniform in 0.1 to 3.
pub fn uniform_weights(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| rng.random_range(0.1..3.0)).collect()
}

/// Integer weights from 0 to `max`, the first of them positive.
pub fn integer_weights(n: usize, max: u32, seed: u64) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|i| rng.random_range(u32::from(i == 0)..=max)).collect()
}

/// Weights `10^x`, with `x` evenly spaced from `-exponent` to `exponent` over the rows, in random order.
pub fn extreme_weights(n: usize, exponent: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut weights: Vec<f64> =
        (0..n).map(|i| 10_f64.powf(exponent * (2.0 * i as f64 / (n - 1).max(1) as f64 - 1.0))).collect();
    for i in (1..n).rev() {
        weights.swap(i, rng.random_range(0..=i));
    }
    weights
}

/// The rows, repeated by their weights.
pub fn repeat_rows(rows: &[Vec<f64>], weights: &[u32]) -> Rows {
    rows.iter().zip(weights).flat_map(|(row, &w)| std::iter::repeat_n(row.clone(), w as usize)).collect()
}

/// The values, row-major.
pub fn row_major(rows: &[Vec<f64>]) -> Vec<f64> {
    rows.concat()
}

/// The values, column-major.
pub fn column_major(rows: &[Vec<f64>]) -> Vec<f64> {
    (0..rows[0].len()).flat_map(|j| rows.iter().map(move |row| row[j])).collect()
}

/// The values rounded to single precision.
pub fn to_f32(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

/// Orthonormalizes rows by Gram-Schmidt, each twice, to rounding.
fn orthonormal_rows(mut rows: Rows) -> Rows {
    for i in 0..rows.len() {
        let (done, rest) = rows.split_at_mut(i);
        let row = &mut rest[0];
        for _ in 0..2 {
            for other in &*done {
                let c = dot(row, other);
                row.iter_mut().zip(other).for_each(|(x, y)| *x -= c * y);
            }
            let norm = dot(row, row).sqrt();
            row.iter_mut().for_each(|x| *x /= norm);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tolerance, assert_close};

    const ROUNDING: Tolerance = Tolerance { multiple: 20.0, epsilon: f64::EPSILON, norm: 10.0 };

    #[test]
    fn a_planted_matrix_has_the_given_mean_and_covariance() {
        let Planted { rows, mean, variances, components } = planted(30, 5, &[4.0, 1.0, 1.0], 7.0, 1);
        let average = |f: &dyn Fn(&Vec<f64>) -> f64| rows.iter().map(f).sum::<f64>() / 30.0;
        let found: Vec<f64> = (0..5).map(|j| average(&|row| row[j])).collect();
        assert_close("mean", &found, &mean, ROUNDING);
        for a in 0..5 {
            let found: Vec<f64> =
                (0..5).map(|b| average(&|row| (row[a] - mean[a]) * (row[b] - mean[b]))).collect();
            let planted: Vec<f64> = (0..5)
                .map(|b| (0..3).map(|r| variances[r] * components[r][a] * components[r][b]).sum())
                .collect();
            assert_close("covariance", &found, &planted, ROUNDING);
        }
    }

    #[test]
    fn seeds_determine_the_values() {
        assert_eq!(gaussian(3, 2, 5), gaussian(3, 2, 5));
        assert_ne!(gaussian(3, 2, 5), gaussian(3, 2, 6));
    }

    #[test]
    fn layouts_and_repetitions_hold_the_same_values() {
        let rows = vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]];
        assert_eq!(row_major(&rows), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(column_major(&rows), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        assert_eq!(repeat_rows(&rows, &[2, 0, 1]), [[1.0, 2.0], [1.0, 2.0], [5.0, 6.0]]);
        assert_eq!(with_constant_column(rows, 1, 9.0), [[1.0, 9.0], [3.0, 9.0], [5.0, 9.0]]);
    }

    #[test]
    fn extreme_weights_reach_both_limits() {
        let weights = extreme_weights(21, 300.0, 4);
        let ends = weights.iter().fold((f64::MAX, 0.0_f64), |(a, b), &w| (a.min(w), b.max(w)));
        assert!((ends.0 / 1e-300 - 1.0).abs() < 1e-12 && (ends.1 / 1e300 - 1.0).abs() < 1e-12);
        assert!(!weights.is_sorted());
    }

    #[test]
    fn a_power_law_has_its_exponent() {
        assert_eq!(power_law(4, 2.0), [1.0, 0.25, 1.0 / 9.0, 0.0625]);
    }
}
