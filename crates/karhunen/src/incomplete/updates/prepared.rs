//! Statistics of the data before the first iteration.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::objective::{Diagonal, LearnedPrior, MeanRule, Objective};
use crate::incomplete::options::{IncompletePca, MeanMode, MeanPrior, Method, Regularization};
use crate::incomplete::start::Start;
use crate::incomplete::updates::mean::{ColumnSums, Deviations, deviations_about};
use crate::incomplete::updates::offsets::OffsetVariance;
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

/// Variance of a prior that is learned later, as a multiple of the mean square of the data.
pub(crate) const BROAD_VARIANCE: f64 = 1e3;

/// Mean squares of the entries about their means, which are the units of the variances that a method learns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeanSquares {
    /// `sum w y^2 / sum w`, the unit of variances of scores and means.
    pub(crate) of_entries: f64,
    /// `sum w y^2 / n`, the unit of the noise variance, which refers to an entry of weight one.
    pub(crate) of_noise: f64,
}

impl MeanSquares {
    /// The same, but not zero, so that quotients exist.
    pub(crate) fn positive(self) -> Self {
        let Self { of_entries, of_noise } = self;
        Self { of_entries: of_entries.max(f64::MIN_POSITIVE), of_noise: of_noise.max(f64::MIN_POSITIVE) }
    }

    /// The noise variance of an entry of mean weight, from the variance of an entry of weight one.
    pub(crate) fn noise_of_entry(self, noise: f64) -> f64 {
        noise * (self.of_entries / self.of_noise)
    }
}

/// Sums, means and variances of the entries, and the rule of the mean.
pub(crate) struct Prepared {
    pub(crate) sums: ColumnSums,
    /// The initial mean, shape (n_features,).
    pub(crate) mean: Vec<f64>,
    /// The prior of the mean, if the mean is fitted.
    pub(crate) rule: MeanRule,
    pub(crate) deviations: Deviations,
    /// Variance of the row offsets, if any.
    pub(crate) offset_variance: Option<OffsetVariance>,
}

impl Prepared {
    pub(crate) fn new<T: Lane>(
        pca: &IncompletePca,
        data: &Observed<T>,
        start: Option<&Start>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let sums = ColumnSums::of(data, exec)?;
        let start = start.and_then(|start| start.mean.clone());
        let mut prepared = Self::of_sums::<T>(pca, sums, start, |mean| deviations_about(data, mean, exec))?;
        let Self { mean, deviations, .. } = &prepared;
        prepared.offset_variance =
            pca.row_offsets.then(|| OffsetVariance::of(data, mean, deviations.mean_square));
        Ok(prepared)
    }

    /// From sums over the entries, without row offsets. `deviations_about` returns the deviations about given means;
    /// `start` are the means of a given start.
    pub(crate) fn of_sums<T: Scalar>(
        pca: &IncompletePca,
        sums: ColumnSums,
        start: Option<Vec<f64>>,
        deviations_about: impl Fn(&[f64]) -> Result<Deviations>,
    ) -> Result<Self> {
        let n_features = sums.weight.len();
        let MeanPrior { count, value } = pca.mean_prior;
        let prior = value.unwrap_or_else(|| sums.grand_mean());
        let joint = pca.mean == MeanMode::Joint;
        // Methods that learn the noise also learn the weight of pseudo-observations.
        let of_posterior = joint && pca.chosen().0.learns_variances();
        let observed = sums.means(if of_posterior { 0.0 } else { count }, prior);
        let mean = match (pca.mean, start) {
            (MeanMode::None, _) => vec![0.0; n_features],
            (_, Some(mean)) => mean,
            (_, None) => observed.clone(),
        };
        let deviations = deviations_about(if joint { &observed } else { &mean })?;
        // Sums of squared residuals must fit the range of the type.
        let largest = if T::EPSILON > f64::EPSILON { 1e30 } else { 1e290 };
        if deviations.mean_square.is_nan() || deviations.mean_square > largest {
            return Err(Error::SpreadTooLarge {
                column: deviations.widest,
                deviation: deviations.mean_square.sqrt(),
                most: f64::sqrt(largest),
                dtype: T::NAME,
            });
        }
        let mut rule =
            MeanRule { joint, kappa: count, prior, precision: 0.0, learned: LearnedPrior::Nothing };
        if of_posterior && count > 0.0 {
            let about_prior = deviations_about(&vec![prior; n_features])?.mean_square;
            rule.precision = if about_prior > 0.0 { count / about_prior } else { 0.0 };
            // Before the fit all deviations count as noise.
            rule = rule.under(deviations.mean_square);
        }
        if of_posterior && pca.learn_mean_prior {
            let about_prior = deviations_about(&vec![prior; n_features])?.mean_square;
            rule.learned =
                if value.is_some() { LearnedPrior::Variance } else { LearnedPrior::MeanAndVariance };
            rule.precision = if about_prior > 0.0 { 1.0 / (BROAD_VARIANCE * about_prior) } else { 0.0 };
            rule = rule.under(deviations.mean_square);
        }
        Ok(Self { sums, mean, rule, deviations, offset_variance: None })
    }

    /// Mean squares of so many entries.
    pub(crate) fn mean_squares(&self, n_entries: f64) -> MeanSquares {
        let of_entries = self.deviations.mean_square;
        MeanSquares { of_entries, of_noise: of_entries * (self.weight() / n_entries.max(1.0)) }
    }

    /// The sum of the weights of all entries; their number without weights.
    pub(crate) fn weight(&self) -> f64 {
        self.sums.weight.iter().sum()
    }

    /// The regularization that the options or the method's default choose, for entries of this mean weight.
    pub(crate) fn regularization(
        &self,
        pca: &IncompletePca,
        method: Method,
        mean_weight: f64,
    ) -> Regularization {
        pca.regularization.unwrap_or(match method {
            // Of `ridge` in memory the fit chooses by the noise.
            Method::Als | Method::Ridge | Method::Soft => {
                Regularization::Ridge(mean_weight * self.deviations.mean_square.sqrt())
            }
            _ => Regularization::None,
        })
    }

    /// The objective without penalties.
    pub(crate) fn problem<'a, T: Scalar>(
        &self,
        pca: &IncompletePca,
        data: &'a Observed<T>,
    ) -> Objective<'a, T> {
        Objective {
            data,
            loadings: Diagonal::Same(0.0),
            scores: Diagonal::Same(0.0),
            mean: self.rule,
            offsets: self.offset_variance.map(|_| Diagonal::Same(0.0)),
            c: pca.n_scores(),
        }
    }

    /// The objective with penalties.
    pub(crate) fn penalized<'a, T: Scalar>(
        &self,
        pca: &IncompletePca,
        data: &'a Observed<T>,
        regularization: Regularization,
    ) -> Objective<'a, T> {
        // Penalised scores imply penalised offsets. A component `b 1'` has the singular value `|b| sqrt(p)`; its
        // penalty `2 lambda |b| sqrt(p)` has the slope of `lambda sqrt(p) / |b|` times `|b|^2`.
        let (n, p) = (data.total_samples(), data.n_features() as f64);
        let penalty = |ridge: f64| self.offset_variance.map(|offset_variance| offset_variance.penalty(ridge));
        let of_rows = |lambda: f64| {
            Diagonal::ByRow((0..data.n_samples()).map(|i| lambda * data.rows().weight(i)).collect())
        };
        let (loadings, scores, offsets) = match regularization {
            // A path sets the penalties of each step.
            Regularization::None | Regularization::Path => {
                (Diagonal::Same(0.0), Diagonal::Same(0.0), self.offset_variance.map(|_| Diagonal::Same(0.0)))
            }
            Regularization::Ridge(lambda) => {
                let penalty = penalty(lambda * (p / n).sqrt());
                (Diagonal::Same(lambda), Diagonal::Same(lambda), penalty.map(Diagonal::Same))
            }
            Regularization::Weighted(lambda) => (
                Diagonal::ByRow(self.sums.weight.iter().map(|w| lambda * w).collect()),
                of_rows(lambda),
                penalty(lambda * data.total_weight() / n)
                    .map(|penalty| of_rows(penalty * n / data.total_weight())),
            ),
        };
        Objective { loadings, scores, offsets, ..self.problem(pca, data) }
    }
}
