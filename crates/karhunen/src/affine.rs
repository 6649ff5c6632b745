//! The map that centres and scales, built from moments: `x_j -> (x_j - mean_j) * sqrt(c_j) / d_j`.

use crate::error::{Error, Result};
use crate::exec::{Resumable, State};
use crate::linalg::ColumnMap;
use crate::moments::Columns;

/// Centring, scaling and feature weights of one fit.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    /// `mu`: zeros if the data are not centred.
    pub(crate) mean: Vec<f64>,
    /// The exact means less `mean`; empty if that is zero.
    remainder: Vec<f64>,
    /// `d`: standard deviations with the divisor of the weighting, so that scaled columns have the reported
    /// variance 1; ones if the data are not scaled, and one for a constant column.
    pub(crate) scale: Vec<f64>,
    /// `sqrt(c) / d`.
    pub(crate) factor: Vec<f64>,
    /// The population variance of each mapped column; about zero if the data are not centred.
    pub(crate) variance: Vec<f64>,
    /// Their sum: the trace of the population covariance of the mapped data.
    pub(crate) total_variance: f64,
}

/// The map by moments, whose means have no remainder.
impl Resumable for Affine {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        let Self { mean, remainder, scale, factor, variance, total_variance } = self;
        state.slice(mean)?;
        state.slice(remainder)?;
        state.slice(scale)?;
        state.slice(factor)?;
        state.slice(variance)?;
        state.number(total_variance)
    }
}

impl Affine {
    /// The map of `p` columns that changes nothing.
    pub(crate) fn identity(p: usize) -> Self {
        let (mean, ones) = (vec![0.0; p], vec![1.0; p]);
        Self {
            mean,
            remainder: Vec::new(),
            scale: ones.clone(),
            factor: ones.clone(),
            variance: ones,
            total_variance: p as f64,
        }
    }

    /// Builds the map from the mean and the population standard deviation of each column. `scale` holds the
    /// correction of the divisor if the data are scaled; `feature_weights` are checked by the caller.
    ///
    /// # Errors
    /// [`Error::Overflow`] for a column whose scale or variance is beyond f64.
    pub(crate) fn new(
        columns: &Columns,
        center: bool,
        scale: Option<f64>,
        feature_weights: Option<&[f64]>,
    ) -> Result<Self> {
        let scales: Vec<f64> = (0..columns.mean.len())
            .map(|j| match (scale, columns.spread(j, center)) {
                (Some(correction), d) if d > 0.0 => d * correction.sqrt(),
                _ => 1.0,
            })
            .collect();
        Self::of_scales(columns, center, scales, feature_weights)
    }

    /// As [`Affine::new`], for columns that are divided by `scale`, if it is given.
    ///
    /// # Errors
    /// As [`Affine::new`].
    pub(crate) fn with_scale(columns: &Columns, center: bool, scale: Option<&[f64]>) -> Result<Self> {
        let scales = scale.map_or_else(|| vec![1.0; columns.mean.len()], <[f64]>::to_vec);
        Self::of_scales(columns, center, scales, None)
    }

    fn of_scales(
        columns: &Columns,
        center: bool,
        scales: Vec<f64>,
        feature_weights: Option<&[f64]>,
    ) -> Result<Self> {
        let Columns { mean, remainder, .. } = columns;
        let p = mean.len();
        let weight = |j: usize| feature_weights.map_or(1.0, |c| c[j]);
        let factor: Vec<f64> = (0..p).map(|j| weight(j).sqrt() / scales[j]).collect();
        if let Some(column) = factor.iter().position(|f| !f.is_finite()) {
            return Err(Error::Overflow { statistic: "scale", column });
        }
        let variance: Vec<f64> =
            (0..p).map(|j| weight(j) * (columns.spread(j, center) / scales[j]).powi(2)).collect();
        let total_variance: f64 = variance.iter().sum();
        if !total_variance.is_finite() {
            let column = variance.iter().position(|v| !v.is_finite()).unwrap_or(0);
            return Err(Error::Overflow { statistic: "variance", column });
        }
        let (mean, remainder) =
            if center { (mean.clone(), remainder.clone()) } else { (vec![0.0; p], Vec::new()) };
        Ok(Self { mean, remainder, scale: scales, factor, variance, total_variance })
    }

    /// The map in the form that products take.
    pub(crate) fn map(&self) -> ColumnMap<'_> {
        ColumnMap { shift: &self.mean, remainder: &self.remainder, factor: &self.factor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Columns {
        Columns { mean: vec![3.0, 0.1, 0.0], remainder: Vec::new(), deviation: vec![4.0, 0.0, 0.0] }
    }

    #[test]
    fn a_constant_column_has_scale_one_and_no_variance() {
        let affine = Affine::new(&columns(), true, Some(1.0), None).unwrap();
        assert_eq!(affine.scale, [4.0, 1.0, 1.0]);
        assert_eq!(affine.factor, [0.25, 1.0, 1.0]);
        assert_eq!(affine.total_variance, 1.0);
    }

    #[test]
    fn without_centring_the_scale_is_taken_about_zero() {
        let affine = Affine::new(&columns(), false, Some(1.0), None).unwrap();
        assert_eq!(affine.mean, [0.0; 3]);
        assert_eq!(affine.scale, [5.0, 0.1, 1.0]);
        assert!((affine.total_variance - 2.0).abs() < 1e-15);
    }

    #[test]
    fn scaled_columns_have_the_reported_variance_one() {
        let affine = Affine::new(&columns(), true, Some(2.0), None).unwrap();
        assert_eq!(affine.scale[0], 32_f64.sqrt());
        assert!((affine.total_variance * 2.0 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn feature_weights_multiply_variances() {
        let affine = Affine::new(&columns(), true, None, Some(&[4.0, 1.0, 0.0])).unwrap();
        assert_eq!(affine.factor, [2.0, 1.0, 0.0]);
        assert_eq!(affine.total_variance, 64.0);
    }
}
