//! Standard errors, bias and intervals from the values of a statistic in resampled data.

use crate::linalg::Matrix;

/// Statistics with their standard errors, bias and confidence intervals; all matrices have the shape of the statistics.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Estimates {
    /// The values of the fit to the data.
    pub estimate: Matrix,
    /// Standard errors, in the units of the statistics.
    pub standard_error: Matrix,
    /// Estimated bias of the values of the fit: of a bootstrap the mean of the draws less the value, of a jackknife
    /// n - 1 times the mean of the fits less the value.
    pub bias: Matrix,
    /// Lower ends of the intervals.
    pub lower: Matrix,
    /// Upper ends of the intervals.
    pub upper: Matrix,
}

impl Estimates {
    /// From rows of (standard error, bias, lower end, upper end), one for each value of `estimate` in row-major order.
    pub(super) fn of(estimate: Matrix, found: &[[f64; 4]]) -> Self {
        let columns = estimate.n_cols();
        let part =
            |which: usize| Matrix::from_fn(estimate.n_rows(), columns, |i, j| found[i * columns + j][which]);
        let [standard_error, bias, lower, upper] = [part(0), part(1), part(2), part(3)];
        Self { estimate, standard_error, bias, lower, upper }
    }

    /// The values of the fit less their estimated bias.
    pub fn corrected(&self) -> Matrix {
        let (rows, columns) = self.estimate.shape();
        Matrix::from_fn(rows, columns, |i, j| self.estimate[(i, j)] - self.bias[(i, j)])
    }
}

/// A scale on which the distribution of a statistic is nearly normal, with a spread that hardly depends on its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Logarithm: of variances.
    Log,
    /// Logarithm of the odds: of shares.
    Logit,
    /// Inverse hyperbolic tangent (Fisher's z): of correlations.
    Fisher,
    /// The statistic itself.
    Linear,
}

impl Scale {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::Log => x.ln(),
            Self::Logit => x.ln() - (-x).ln_1p(),
            Self::Fisher => x.atanh(),
            Self::Linear => x,
        }
    }

    fn back(self, y: f64) -> f64 {
        match self {
            Self::Log => y.exp(),
            Self::Logit => 1.0 / (1.0 + (-y).exp()),
            Self::Fisher => y.tanh(),
            Self::Linear => y,
        }
    }
}

/// Standard error and bias of an estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) error: f64,
    pub(super) bias: f64,
}

/// Relative difference of values that are equal to rounding: such as the share of a single component.
const ROUNDING: f64 = 1e-14;

/// The way from the values of a statistic in resampled data to its interval.
#[derive(Clone, Copy)]
pub(super) struct Summary<'a> {
    /// Standard error and bias by the values in resampled data and the estimate.
    pub(super) spread: &'a (dyn Fn(&[f64], f64) -> Spread + Sync),
    /// Half the width of an interval in root mean squared errors.
    pub(super) half_width: f64,
}

impl Summary<'_> {
    /// The standard error, the bias and the interval of a statistic: the estimate and multiples of the root mean squared
    /// error on `scale`, the root of the squared standard error and the squared bias, mapped back. Ends are NaN where
    /// the bias exceeds that multiple of the standard error, and where a value has no place on the scale, such as a
    /// variance of zero. Values are overwritten.
    pub(super) fn of(&self, values: &mut [f64], estimate: f64, scale: Scale) -> [f64; 4] {
        // A jackknife would multiply their rounding errors by the number of rows.
        if values.iter().all(|x| (x - estimate).abs() <= ROUNDING * estimate.abs()) {
            return [0.0, 0.0, estimate, estimate];
        }
        let Spread { error, bias } = (self.spread)(values, estimate);
        let at = scale.of(estimate);
        values.iter_mut().for_each(|x| *x = scale.of(*x));
        let on_scale = (self.spread)(values, at);
        let half = self.half_width * on_scale.error.hypot(on_scale.bias);
        // No comparison holds for NaN.
        let ends = if on_scale.bias.abs() <= self.half_width * on_scale.error {
            [at - half, at + half].map(|end| scale.back(end))
        } else {
            [f64::NAN; 2]
        };
        [error, bias, ends[0], ends[1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(values: &[f64], estimate: f64) -> Spread {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        Spread { error: (squares / (n - 1.0)).sqrt(), bias: mean - estimate }
    }

    #[test]
    fn intervals_are_normal_on_their_scale() {
        let summary = Summary { spread: &plain, half_width: 2.0 };
        for scale in [Scale::Log, Scale::Logit, Scale::Fisher, Scale::Linear] {
            let middle = scale.of(0.3);
            let mut values = [-0.2, -0.1, 0.0, 0.1, 0.2].map(|step| scale.back(middle + step));
            let [error, bias, lower, upper] = summary.of(&mut values, 0.3, scale);
            let half = 2.0 * 0.025_f64.sqrt();
            for (end, sign) in [(lower, -1.0), (upper, 1.0)] {
                assert!((scale.of(end) - middle - sign * half).abs() < 1e-12, "{scale:?}: {end}");
            }
            assert!(error > 0.0 && bias.abs() < 0.1 * error, "{scale:?}: {error} {bias}");
        }
    }

    #[test]
    fn ends_are_undefined_beyond_the_scale_and_beyond_the_bias() {
        let summary = Summary { spread: &plain, half_width: 2.0 };
        let [error, _, lower, upper] = summary.of(&mut [0.0, 0.1, 0.2], 0.1, Scale::Log);
        assert!((error - 0.1).abs() < 1e-15 && lower.is_nan() && upper.is_nan());
        let [error, bias, lower, upper] = summary.of(&mut [4.0, 5.0, 6.0], 2.0, Scale::Linear);
        assert!((error - 1.0).abs() < 1e-15 && (bias - 3.0).abs() < 1e-15);
        assert!(lower.is_nan() && upper.is_nan());
        assert_eq!(summary.of(&mut [1.0; 5], 1.0, Scale::Logit), [0.0, 0.0, 1.0, 1.0]);
    }

    /// Such as the share of a single component, which is one in every fit.
    #[test]
    fn values_that_are_equal_to_rounding_have_no_error() {
        let jackknife = |values: &[f64], estimate: f64| {
            let Spread { error, bias } = plain(values, estimate);
            Spread { error: 1e3 * error, bias: 1e3 * bias }
        };
        let summary = Summary { spread: &jackknife, half_width: 2.0 };
        let estimate = 1.0 + f64::EPSILON;
        for scale in [Scale::Logit, Scale::Linear] {
            let mut values = [1.0, 1.0 + 4.0 * f64::EPSILON, 1.0 - f64::EPSILON];
            assert_eq!(summary.of(&mut values, estimate, scale), [0.0, 0.0, estimate, estimate]);
        }
        let mut values = [1.0, 1.0 + 1e-12, 1.0];
        assert!(summary.of(&mut values, 1.0, Scale::Linear)[0] > 0.0);
    }
}
