//! The map that centres and scales, built from moments: `x_j -> (x_j - mean_j) * sqrt(c_j) / d_j`.

use crate::error::{Error, Result, options};
use crate::linalg::ColumnMap;
use crate::moments::Columns;
use crate::scaling::{Centring, Scales};

/// The options of the map, before the columns are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standardization<'a> {
    pub(crate) center: &'a Centring,
    pub(crate) scales: Scales<'a>,
    pub(crate) feature_weights: Option<&'a [f64]>,
}

/// Centring, scaling and feature weights of one fit.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    /// `mu`: the means, zeros if the data are not centred, or the given centres.
    pub(crate) mean: Vec<f64>,
    /// The exact means less `mean`; empty if that is zero.
    remainder: Vec<f64>,
    /// `d`: for standard deviations with the divisor of the weighting, so that scaled columns have the reported
    /// variance 1; ones if the data are not scaled, and one for a column without variance.
    pub(crate) scale: Vec<f64>,
    /// `sqrt(c) / d`.
    pub(crate) factor: Vec<f64>,
    /// The population variance of each mapped column, about `mean`.
    pub(crate) variance: Vec<f64>,
    /// Their sum: the trace of the population covariance of the mapped data.
    pub(crate) total_variance: f64,
}

impl Affine {
    /// Builds the map from the mean and the population standard deviation of each column. Given centres, scales and
    /// `feature_weights` are checked by the caller.
    ///
    /// # Errors
    /// [`Error::Overflow`] for a column whose scale or variance is beyond f64, or is lost in sums of squares that scale it;
    /// [`Error::Underflow`] if all variances are below f64;
    /// [`Error::ColumnValue`] for a binomial scale
    /// of a mean that no counts out of two have.
    pub(crate) fn new(
        columns: &Columns,
        Standardization { center, scales, feature_weights }: Standardization<'_>,
    ) -> Result<Self> {
        let p = columns.mean.len();
        let spread: Vec<f64> = (0..p).map(|j| columns.spread(j, center)).collect();
        let mean = |j: usize| center.given().map_or(columns.mean[j], |centers| centers[j]);
        let scale: Result<Vec<f64>> = (0..p).map(|j| scales.of_column(j, spread[j], mean(j))).collect();
        let scale = scale?;
        if let (Scales::Binomial, Some(j)) = (scales, columns.first_beyond_counts()) {
            let rule = "counts 0, 1, 2 deviate less from their mean; codes of missing genotypes must be missing values";
            let value = columns.deviation[j];
            return Err(Error::ColumnValue { option: options::SCALE, column: j, value, rule });
        }
        if let (Scales::Deviation(_) | Scales::Pareto(_), Some(column)) = (scales, columns.lost) {
            return Err(Error::Overflow { statistic: "variance", column });
        }
        let weight = |j: usize| feature_weights.map_or(1.0, |c| c[j]);
        let factor: Vec<f64> = (0..p).map(|j| weight(j).sqrt() / scale[j]).collect();
        let is_beyond = |j: &usize| !(factor[*j].is_finite() && scale[*j].is_finite());
        if let Some(column) = (0..p).find(is_beyond) {
            return Err(Error::Overflow { statistic: "scale", column });
        }
        let variance: Vec<f64> = (0..p).map(|j| weight(j) * (spread[j] / scale[j]).powi(2)).collect();
        let total_variance: f64 = variance.iter().sum();
        if !total_variance.is_finite() {
            let column = variance.iter().position(|v| !v.is_finite()).unwrap_or(0);
            return Err(Error::Overflow { statistic: "variance", column });
        }
        if total_variance < f64::MIN_POSITIVE
            && let Some(column) = (0..p)
                .filter(|j| weight(*j) * spread[*j] > 0.0)
                .max_by(|a, b| (spread[*a] * factor[*a]).total_cmp(&(spread[*b] * factor[*b])))
                .or(columns.lost)
        {
            return Err(Error::Underflow { column });
        }
        let (mean, remainder) = match center {
            Centring::None => (vec![0.0; p], Vec::new()),
            Centring::Mean => (columns.mean.clone(), columns.remainder.clone()),
            Centring::Given(values) => (values.clone(), Vec::new()),
        };
        Ok(Self { mean, remainder, scale, factor, variance, total_variance })
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
        Columns {
            mean: vec![3.0, 0.1, 0.0],
            remainder: Vec::new(),
            deviation: vec![4.0, 0.0, 0.0],
            lost: None,
        }
    }

    /// The map with these centres and scales.
    fn affine(center: &Centring, scales: Scales<'_>, feature_weights: Option<&[f64]>) -> Affine {
        Affine::new(&columns(), Standardization { center, scales, feature_weights }).unwrap()
    }

    #[test]
    fn a_constant_column_has_scale_one_and_no_variance() {
        let affine = affine(&Centring::Mean, Scales::Deviation(1.0), None);
        assert_eq!(affine.scale, [4.0, 1.0, 1.0]);
        assert_eq!(affine.factor, [0.25, 1.0, 1.0]);
        assert_eq!(affine.total_variance, 1.0);
    }

    #[test]
    fn without_centring_the_scale_is_taken_about_zero() {
        let affine = affine(&Centring::None, Scales::Deviation(1.0), None);
        assert_eq!(affine.mean, [0.0; 3]);
        assert_eq!(affine.scale, [5.0, 0.1, 1.0]);
        assert!((affine.total_variance - 2.0).abs() < 1e-15);
    }

    #[test]
    fn about_given_centres_variances_are_second_moments() {
        let given = affine(&Centring::Given(vec![0.0, 0.1, 2.0]), Scales::Deviation(1.0), None);
        assert_eq!(given.mean, [0.0, 0.1, 2.0]);
        assert_eq!(given.scale, [5.0, 1.0, 2.0]);
        assert_eq!(given.variance, [1.0, 0.0, 1.0]);
        let scaled = affine(&Centring::Mean, Scales::Given(&[2.0, 5.0, 5.0]), None);
        assert_eq!((scaled.scale[1], scaled.total_variance), (5.0, 4.0));
    }

    #[test]
    fn pareto_scales_are_roots_of_deviations() {
        let affine = affine(&Centring::Mean, Scales::Pareto(4.0), None);
        assert_eq!(affine.scale, [8_f64.sqrt(), 1.0, 1.0]);
        assert!((affine.total_variance - 2.0).abs() < 1e-15);
    }

    #[test]
    fn binomial_scales_depend_on_the_mean_alone() {
        fn rule(center: &Centring) -> Standardization<'_> {
            Standardization { center, scales: Scales::Binomial, feature_weights: None }
        }
        let counts = Columns {
            mean: vec![0.5, 2.0, 0.0],
            remainder: Vec::new(),
            deviation: vec![0.7, 0.0, 0.0],
            lost: None,
        };
        let scale = Affine::new(&counts, rule(&Centring::Mean)).unwrap().scale;
        // f = 1/4: 2 * 1/4 * 3/4.
        assert_eq!(scale, [0.375_f64.sqrt(), 1.0, 1.0]);
        let given = Affine::new(&counts, rule(&Centring::Given(vec![1.0; 3]))).unwrap();
        assert_eq!(given.scale, [0.5_f64.sqrt(); 3]);
        let error = Affine::new(&columns(), rule(&Centring::Mean)).unwrap_err();
        assert!(matches!(error, Error::ColumnValue { column: 0, value: 3.0, .. }), "{error}");
    }

    #[test]
    fn a_scale_beyond_f64_is_an_error() {
        let rule = Standardization {
            center: &Centring::Mean,
            scales: Scales::Given(&[1.0, f64::INFINITY, 1.0]),
            feature_weights: None,
        };
        let error = Affine::new(&columns(), rule).unwrap_err();
        assert!(matches!(error, Error::Overflow { statistic: "scale", column: 1 }), "{error}");
    }

    #[test]
    fn scaled_columns_have_the_reported_variance_one() {
        let affine = affine(&Centring::Mean, Scales::Deviation(2.0), None);
        assert_eq!(affine.scale[0], 32_f64.sqrt());
        assert!((affine.total_variance * 2.0 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn feature_weights_multiply_variances() {
        let affine = affine(&Centring::Mean, Scales::Unit, Some(&[4.0, 1.0, 0.0]));
        assert_eq!(affine.factor, [2.0, 1.0, 0.0]);
        assert_eq!(affine.total_variance, 64.0);
    }
}
