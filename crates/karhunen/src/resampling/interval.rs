//! Intervals from the values of a statistic in resampled data.

use crate::diagnostics::distributions::{normal_lower, normal_quantile};
use crate::linalg::Matrix;

/// Statistics with their standard errors and confidence intervals; all matrices have the shape of the statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimates {
    /// The values of the fit to the data.
    pub estimate: Matrix,
    /// Standard deviation over the resampled data.
    pub standard_error: Matrix,
    /// Lower ends of the intervals.
    pub lower: Matrix,
    /// Upper ends of the intervals.
    pub upper: Matrix,
}

impl Estimates {
    /// From rows of (standard error, lower end, upper end), one for each value of `estimate` in row-major order.
    pub(super) fn of(estimate: Matrix, found: &[[f64; 3]]) -> Self {
        let columns = estimate.n_cols();
        let part =
            |which: usize| Matrix::from_fn(estimate.n_rows(), columns, |i, j| found[i * columns + j][which]);
        let [standard_error, lower, upper] = [part(0), part(1), part(2)];
        Self { estimate, standard_error, lower, upper }
    }
}

/// The standard error and the bias-corrected percentile interval of a statistic (Efron & Tibshirani 1993, An Introduction
/// to the Bootstrap, section 14.3, without acceleration): quantiles at `Phi(2 z0 -+ z)`, where `Phi(z0)` is the share of
/// values below the estimate. Ends are NaN unless the estimate lies within the central `level` of the values: the bias
/// then exceeds their spread, and no quantile of them corrects it. Values are reordered.
pub(super) fn bias_corrected(values: &mut [f64], estimate: f64, level: f64) -> [f64; 3] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let error = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    values.sort_unstable_by(f64::total_cmp);
    let below = values.partition_point(|x| *x < estimate) as f64;
    let equal = values.partition_point(|x| *x <= estimate) as f64 - below;
    let share = (below + 0.5 * equal) / n;
    let tail = 0.5 * (1.0 - level);
    if !(tail..=1.0 - tail).contains(&share) {
        return [error, f64::NAN, f64::NAN];
    }
    let (z0, z) = (normal_quantile(share), normal_quantile(0.5 * (1.0 + level)));
    [error, quantile(values, normal_lower(2.0 * z0 - z)), quantile(values, normal_lower(2.0 * z0 + z))]
}

/// A quantile of sorted values, by linear interpolation.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let position = level * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + (position - position.floor()) * (above - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_about_the_estimate_have_their_percentiles() {
        let mut values: Vec<f64> = (0..=1000).rev().map(|i| f64::from(i) / 1000.0).collect();
        let [error, lower, upper] = bias_corrected(&mut values, 0.5, 0.9);
        assert!((error - (1.0_f64 / 12.0).sqrt()).abs() < 1e-3);
        assert!((lower - 0.05).abs() < 1e-3 && (upper - 0.95).abs() < 1e-3, "{lower} {upper}");
        // Values that are too large on average: the interval moves down.
        let [_, lower, upper] = bias_corrected(&mut values, 0.3, 0.9);
        assert!(lower < 0.01 && (upper - 0.724).abs() < 2e-3, "{lower} {upper}");
        let [_, lower, upper] = bias_corrected(&mut [2.0; 50], 2.0, 0.9);
        assert_eq!((lower, upper), (2.0, 2.0));
        // All draws but a few on one side: no interval holds the estimate.
        for estimate in [-0.1, 0.04, 0.96, 1.5] {
            let [error, lower, upper] = bias_corrected(&mut values, estimate, 0.9);
            assert!(lower.is_nan() && upper.is_nan() && error > 0.28, "{estimate}: {lower} {upper}");
        }
    }
}
