//! The variances of a fit, as rules take them.

use crate::error::{Error, OptionName, Result};
use crate::pca::{Centring, PcaModel, Scaling};
use crate::weights::Weighting;

/// The variances of a fit, complete or its leading part, with the size of the data.
///
/// Rules use ratios of variances alone, so any common divisor will do.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    pub(super) variances: Vec<f64>,
    /// Number of variances that belong to components.
    pub(super) n_components: usize,
    pub(super) total: f64,
    pub(super) n_observations: f64,
    pub(super) n_features: usize,
    pub(super) centered: bool,
    pub(super) scaled: bool,
    /// Number of variances that can differ from zero.
    pub(super) rank: usize,
}

/// The number of observations in errors.
const N_OBSERVATIONS: OptionName = OptionName::new("n_observations");

/// Share of the total variance below which variances that were not computed count as zero.
const NEGLIGIBLE: f64 = 1e-10;

impl Spectrum {
    /// All variances of the covariance matrix of centred data, descending; variances of zero may be left out.
    /// `n_observations` is the number of rows, for weighted rows the number that they count as: the sum of frequency
    /// weights, the effective number $(\sum w)^2 / \sum w^2$ of others.
    ///
    /// # Errors
    /// [`Error::ModelValue`] unless the variances are finite, not negative and descending, and `n_observations` is at
    /// least 2; [`Error::Shape`] for more variances than columns.
    pub fn new(variances: &[f64], n_observations: f64, n_features: usize) -> Result<Self> {
        Self::truncated(variances, variances.iter().sum(), n_observations, n_features)
    }

    /// As [`Spectrum::new`], for the leading variances of data of total variance `total_variance`.
    ///
    /// # Errors
    /// As [`Spectrum::new`], and [`Error::ModelValue`] for a total that is not finite or less than the sum.
    pub fn truncated(
        variances: &[f64],
        total_variance: f64,
        n_observations: f64,
        n_features: usize,
    ) -> Result<Self> {
        let rank = n_features.min(whole(n_observations).saturating_sub(1));
        Self { centered: true, ..Self::checked(variances, total_variance, n_observations, n_features, rank)? }
            .without_rounding()
    }

    /// The variances of a fitted model.
    ///
    /// The number of observations, unless given, is [`PcaModel::n_observations`].
    ///
    /// # Errors
    /// [`Error::ModelValue`] if the weights count as fewer than 2 observations; [`Error::Option`] for fewer than 2 that are
    /// given.
    pub fn of_model(model: &PcaModel, n_observations: Option<f64>) -> Result<Self> {
        n_observations.map_or(Ok(()), check_given)?;
        let n_observations = n_observations.unwrap_or(model.n_observations());
        let options = model.options();
        let n = match options.weighting {
            Weighting::Frequency if model.parts().effective_samples.is_none() => {
                whole(model.n_observations())
            }
            _ => model.n_samples(),
        };
        let centered = options.center == Centring::Mean;
        // Columns that determine one another, as indicators do, have fewer variances than their number.
        let p = model.n_dimensions();
        let rank = p.min(n.saturating_sub(usize::from(centered)));
        let discarded = model.parts().discarded_variance.as_deref().unwrap_or(&[]);
        let mut variances = [model.explained_variance(), discarded].concat();
        // Beyond the dimensions, which are at most the columns, they are rounding errors.
        variances.truncate(p);
        let spectrum = Self::checked(&variances, model.total_variance(), n_observations, p, rank)?;
        let scaled = options.scale == Scaling::Deviation && model.feature_weights().is_none();
        Self { centered, scaled, n_components: model.n_components(), ..spectrum }.without_rounding()
    }

    /// Sets whether the columns were divided by their standard deviations: the variances then belong to a correlation
    /// matrix, and [`super::kaiser`] compares them with one.
    #[must_use]
    pub fn scaled(self, scaled: bool) -> Self {
        Self { scaled, ..self }
    }

    /// The variances, descending.
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// The number of rows, or the number that weighted rows count as.
    pub fn n_observations(&self) -> f64 {
        self.n_observations
    }

    /// Returns true if no variance was left out that could differ from zero.
    pub fn is_complete(&self) -> bool {
        self.variances.len() >= self.rank || self.rest(self.variances.len()) <= NEGLIGIBLE * self.total
    }

    fn checked(
        variances: &[f64],
        total: f64,
        n_observations: f64,
        n_features: usize,
        rank: usize,
    ) -> Result<Self> {
        check_observations(n_observations)?;
        if variances.len() > n_features {
            let (what, axis) = ("a spectrum", "variances");
            return Err(Error::Shape { what, axis, found: variances.len(), expected: n_features });
        }
        if let Some(value) = variances.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
            let rule = "a variance is finite and not negative";
            return Err(Error::ModelValue { name: "variances", value: value.to_string(), rule });
        }
        if let Some(pair) = variances.windows(2).find(|pair| pair[0] < pair[1]) {
            let value = format!("{} before {}", pair[0], pair[1]);
            return Err(Error::ModelValue { name: "variances", value, rule: "they descend" });
        }
        let sum: f64 = variances.iter().sum();
        if !(total.is_finite() && total >= sum * (1.0 - NEGLIGIBLE)) {
            let rule = "it is finite and at least the sum of the variances";
            return Err(Error::ModelValue { name: "total variance", value: total.to_string(), rule });
        }
        let (variances, total) = (variances.to_vec(), total.max(sum));
        let n_components = variances.len();
        let (centered, scaled) = (true, false);
        Ok(Self { variances, n_components, total, n_observations, n_features, centered, scaled, rank })
    }

    /// Without variances beyond the rank, which are rounding errors.
    fn without_rounding(mut self) -> Result<Self> {
        self.variances.truncate(self.rank);
        self.n_components = self.n_components.min(self.rank);
        Ok(self)
    }

    /// The number of rows less one if the data were centred, as a divisor of the variances would count them.
    pub(super) fn n_free(&self) -> f64 {
        self.n_observations - f64::from(u8::from(self.centered))
    }

    /// The sum of all variances after the leading `k`, for `k` of at most the number computed.
    pub(super) fn rest(&self, k: usize) -> f64 {
        let computed: f64 = self.variances.iter().sum();
        // Smallest first: the last sums are not the rounding errors of larger ones.
        let tail: f64 = self.variances[k..].iter().rev().sum();
        let left_out = self.total - computed;
        tail + if left_out > NEGLIGIBLE * self.total { left_out } else { 0.0 }
    }

    /// All variances that can differ from zero, `rank` of them.
    ///
    /// # Errors
    /// [`Error::Truncated`] if some were left out.
    pub(super) fn complete(&self, rule: &'static str) -> Result<Vec<f64>> {
        if !self.is_complete() {
            return Err(Error::Truncated { rule, kept: self.variances.len(), all: self.rank });
        }
        let mut variances = self.variances.clone();
        variances.resize(self.rank, 0.0);
        Ok(variances)
    }

    /// The reason why no rule applies, if there is one.
    pub(super) fn unusable(&self) -> Option<&'static str> {
        match self.rank {
            _ if self.total == 0.0 => Some("the data have no variance"),
            0 | 1 => Some("the data have one component, and nothing to compare it with"),
            _ => None,
        }
    }
}

fn are_enough(n: f64) -> bool {
    n.is_finite() && n >= 2.0
}

/// Checks a number of observations that is given.
pub(crate) fn check_given(n: f64) -> Result<()> {
    if are_enough(n) {
        return Ok(());
    }
    Err(Error::option(N_OBSERVATIONS, n, "at least 2 observations are needed"))
}

fn check_observations(n: f64) -> Result<()> {
    if are_enough(n) {
        return Ok(());
    }
    let rule = "rules need at least 2 observations; weights that sum to less need the number of observations";
    Err(Error::ModelValue { name: "number of observations", value: n.to_string(), rule })
}

/// The whole observations among `n`, where rounding of a sum may have left a little less.
pub(super) fn whole(n: f64) -> usize {
    (n * (1.0 + 1e-9)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::pca::{Pca, Route};
    use crate::weights::Weights;

    #[test]
    fn invalid_spectra_are_refused() {
        let message = |variances: &[f64], n, p| Spectrum::new(variances, n, p).unwrap_err().to_string();
        assert!(message(&[1.0, f64::NAN], 5.0, 2).contains("finite and not negative"));
        assert!(message(&[1.0, 2.0], 5.0, 2).contains("they descend"));
        assert!(message(&[1.0, 0.5], 1.0, 2).contains("at least 2 observations"));
        assert!(message(&[1.0, 0.5, 0.1], 5.0, 2).contains("spectrum"));
        assert!(Spectrum::truncated(&[2.0], 1.0, 5.0, 2).is_err());
    }

    #[test]
    fn a_truncated_fit_is_distinguished_from_a_complete_one() {
        let x = [1.0, 0.0, 2.0, 0.0, 3.0, 1.0, 4.0, 1.0, 1.0, 2.0, 2.0, 7.0];
        let x = Dense::row_major(&x, 4, 3).unwrap();
        let by = |k, solver| {
            let model = Pca { solver, ..Pca::new(k) }.fit(&x, &Weights::default()).unwrap();
            Spectrum::of_model(&model, None).unwrap()
        };
        let (found, fit) = (|k| by(k, Some(Route::BlockKrylov)), |k| by(k, None));
        assert!(!found(1).is_complete() && !found(2).is_complete() && found(3).is_complete());
        // The covariance matrix has all variances.
        let all = fit(3);
        assert!(fit(1).is_complete() && (fit(1).rest(1) - all.rest(1)).abs() < 1e-14 * all.total);
        assert!((found(1).rest(1) - all.rest(1)).abs() < 1e-14 * all.total);
        assert_eq!((all.rank, all.n_free(), all.n_observations()), (3, 3.0, 4.0));
    }

    #[test]
    fn frequency_weights_count_as_repeated_rows() {
        let x = [1.0, 0.0, 2.0, 5.0, 3.0, 1.0, 2.5, 1.0];
        let repeated = [1.0, 0.0, 1.0, 0.0, 2.0, 5.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 2.5, 1.0];
        let weights = [2.0, 1.0, 3.0, 1.0];
        let weighted = Dense::row_major(&x, 4, 2).unwrap();
        let weighted = Pca::new(2).fit(&weighted, &Weights::of_samples(&weights)).unwrap();
        let plain =
            Pca::new(2).fit(&Dense::row_major(&repeated, 7, 2).unwrap(), &Weights::default()).unwrap();
        let (a, b) =
            (Spectrum::of_model(&weighted, None).unwrap(), Spectrum::of_model(&plain, None).unwrap());
        assert_eq!((a.n_observations, a.rank), (b.n_observations, b.rank));
        assert!(a.variances.iter().zip(&b.variances).all(|(a, b)| (a - b).abs() < 1e-14 * b));
    }

    #[test]
    fn importance_weights_count_as_their_effective_number() {
        let x = [1.0, 0.0, 2.0, 5.0, 3.0, 1.0, 2.5, 1.0];
        let x = Dense::row_major(&x, 4, 2).unwrap();
        let pca = Pca { weighting: Weighting::Importance, ..Pca::new(2) };
        let model = pca.fit(&x, &Weights::of_samples(&[0.2, 0.1, 0.3, 0.1])).unwrap();
        let spectrum = Spectrum::of_model(&model, None).unwrap();
        assert!((spectrum.n_observations - 0.49 / 0.15).abs() < 1e-12, "{}", spectrum.n_observations);
        assert_eq!(Spectrum::of_model(&model, Some(30.0)).unwrap().n_observations, 30.0);
        let error = Spectrum::of_model(&model, Some(f64::NAN)).unwrap_err().to_string();
        assert!(error.contains("n_observations"), "{error}");
    }
}
