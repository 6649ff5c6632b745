//! From moments to the map that centres and scales: `x_j -> (x_j - mean_j) * sqrt(c_j) / d_j`.

use crate::error::{Error, Result};
use crate::linalg::ColumnMap;
use crate::moments::Moments;

/// A standard deviation below this many units of rounding of the column's mean is that of a constant column.
const ROUNDING_UNITS: f64 = 4.0;

/// Centring, scaling and feature weights of one fit.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    /// `mu`: zeros where the data are not centred.
    pub(crate) mean: Vec<f64>,
    /// `d`: standard deviations with the divisor of the weighting, so that scaled columns have the reported variance 1;
    /// ones where the data are not scaled, one for a column without variance.
    pub(crate) scale: Vec<f64>,
    /// `sqrt(c) / d`.
    pub(crate) factor: Vec<f64>,
    /// The trace of the population covariance of the mapped data, from the column variances.
    pub(crate) total_variance: f64,
}

impl Affine {
    /// Builds the map. `scale` holds the correction of the divisor where the data are to be scaled; `feature_weights`
    /// were checked before.
    pub(crate) fn new(
        moments: &Moments,
        center: bool,
        scale: Option<f64>,
        feature_weights: Option<&[f64]>,
    ) -> Result<Self> {
        let p = moments.mean.len();
        let second_moment = |j: usize| {
            let mean = moments.mean[j];
            let variance = moments.variance(j);
            if !center {
                variance + mean * mean
            } else if variance.sqrt() <= ROUNDING_UNITS * f64::EPSILON * mean.abs() {
                0.0
            } else {
                variance
            }
        };
        let mean = if center { moments.mean.clone() } else { vec![0.0; p] };
        let scales: Vec<f64> = (0..p)
            .map(|j| match (scale, second_moment(j).sqrt()) {
                (Some(correction), d) if d > 0.0 => d * correction.sqrt(),
                _ => 1.0,
            })
            .collect();
        let weight = |j: usize| feature_weights.map_or(1.0, |c| c[j]);
        let factor: Vec<f64> = (0..p).map(|j| weight(j).sqrt() / scales[j]).collect();
        if let Some(column) = factor.iter().position(|f| !f.is_finite()) {
            return Err(Error::Overflow { statistic: "scale", column });
        }
        // Divided twice: the square of a subnormal scale would vanish.
        let total_variance = (0..p).map(|j| weight(j) * (second_moment(j) / scales[j] / scales[j])).sum();
        Ok(Self { mean, scale: scales, factor, total_variance })
    }

    /// The map as products see it.
    pub(crate) fn map(&self) -> ColumnMap<'_> {
        ColumnMap { shift: &self.mean, factor: &self.factor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments() -> Moments {
        Moments { weight: 2.0, mean: vec![3.0, 0.1, 0.0], sum_of_squares: vec![32.0, 1e-35, 0.0] }
    }

    #[test]
    fn a_constant_column_keeps_its_scale_and_counts_nothing() {
        let affine = Affine::new(&moments(), true, Some(1.0), None).unwrap();
        assert_eq!(affine.scale, [4.0, 1.0, 1.0]);
        assert_eq!(affine.factor, [0.25, 1.0, 1.0]);
        assert_eq!(affine.total_variance, 1.0);
    }

    #[test]
    fn without_centring_the_scale_is_taken_about_zero() {
        let affine = Affine::new(&moments(), false, Some(1.0), None).unwrap();
        assert_eq!(affine.mean, [0.0; 3]);
        assert_eq!(affine.scale, [5.0, 0.1, 1.0]);
        assert!((affine.total_variance - 2.0).abs() < 1e-15);
    }

    #[test]
    fn scaled_columns_have_the_reported_variance_one() {
        let affine = Affine::new(&moments(), true, Some(2.0), None).unwrap();
        assert_eq!(affine.scale[0], 32_f64.sqrt());
        assert!((affine.total_variance * 2.0 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn feature_weights_multiply_variances() {
        let affine = Affine::new(&moments(), true, None, Some(&[4.0, 1.0, 0.0])).unwrap();
        assert_eq!(affine.factor, [2.0, 1.0, 0.0]);
        assert_eq!(affine.total_variance, 64.0);
    }
}
