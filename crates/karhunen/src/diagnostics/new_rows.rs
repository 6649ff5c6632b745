//! Limits of T² and of the squared prediction error for new rows, by the rows of the fit.

use super::left_out::left_out;
use super::limits::{Rows, SpeDistribution, SpeLimit, t2_limit_by};
use super::samples::{Distances, samples_with};
use crate::error::Result;
use crate::exec::Run;
use crate::pca::{NewRows, PcaModel};
use crate::scalar::Scalar;
use crate::source::Source;

impl NewRows {
    /// From all rows `x` of a fit and their weights, by their distances under fits without them ([`left_out`]).
    ///
    /// # Errors
    /// As [`left_out`] and [`SpeDistribution::of_left_out`].
    pub fn of<T: Scalar>(
        model: &PcaModel,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<Self> {
        Self::of_distances(model, samples_with(model, x, run)?.distances(), x, weights, run)
    }

    /// As [`NewRows::of`], of rows that have these distances.
    ///
    /// # Errors
    /// As [`NewRows::of`].
    pub fn of_distances<T: Scalar>(
        model: &PcaModel,
        found: Distances<'_>,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let left = left_out(model, found, x, weights, run)?;
        let of_fit = (weights, model.options().weighting);
        let spe = SpeDistribution::of_left_out(&left.spe, found.distance2, of_fit)?;
        let n = if spe.mean > 0.0 { spe.n_observations } else { model.n_observations() };
        Ok(Self { t2_factor: left.t2_factor, spe: spe.mean, spe_second: spe.second, n_observations: n })
    }

    /// The distribution of the squared prediction error of new normal rows.
    pub fn spe_distribution(&self) -> SpeDistribution {
        let Self { spe: mean, spe_second: second, n_observations, .. } = *self;
        SpeDistribution { mean, second, third: second * second, n_observations }
    }

    /// The limits of T² and of the squared prediction error that new normal rows exceed with probability `1 - level`, if the
    /// rows of the fit are worth `n` independent ones in the limit of T². The second is infinite if nothing is
    /// discarded.
    ///
    /// # Errors
    /// As [`t2_limit_by`](super::t2_limit_by).
    pub fn limits(&self, model: &PcaModel, n: f64, (level, method): (f64, SpeLimit)) -> Result<[f64; 2]> {
        let t2 = t2_limit_by(model, n, level, Rows::New)? * self.t2_factor;
        Ok([t2, self.spe_distribution().limit(level, method)?])
    }
}
