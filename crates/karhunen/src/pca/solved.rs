//! The last stage of a fit: the model of a spectrum.

use crate::affine::Affine;
use crate::error::Result;
use crate::exec::Exec;
use crate::moments::Columns;
use crate::pca::convergence::{Convergence, Input};
use crate::pca::evidence::most_probable_dimension;
use crate::pca::model::{ModelParts, PcaModel};
use crate::pca::{NComponents, Pca, signs};
use crate::scalar::Scalar;
use crate::solver::{Route, Spectrum};
use crate::weights::{Totals, Weighting};

/// A fit whose spectrum is known.
pub(super) struct Solved {
    pub(super) route: Route,
    pub(super) reason: String,
    pub(super) tol: f64,
    pub(super) n_passes: usize,
    pub(super) spectrum: Spectrum,
    /// The rounding error of centring, which is added to the residuals.
    pub(super) cancelled: f64,
    pub(super) input: Input,
    pub(super) affine: Affine,
    pub(super) totals: Totals,
    pub(super) n_samples: usize,
    pub(super) dtype: &'static str,
}

impl Solved {
    pub(super) fn model(
        self,
        pca: &Pca,
        feature_weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<PcaModel> {
        let Self { route, reason, tol, n_passes, mut spectrum, cancelled, input, .. } = self;
        let Self { affine, totals, n_samples, dtype, .. } = self;
        let shape = (n_samples, affine.mean.len());
        let k = match pca.n_components {
            NComponents::Count(k) => k,
            NComponents::All | NComponents::Mle => totals.all_components(pca.weighting, shape),
            NComponents::Variance(_) => spectrum.values.len().max(1),
        };
        let largest = spectrum.values.first().copied().unwrap_or(0.0);
        let side = shape.0.min(shape.1);
        complete(&mut spectrum, k, (route, side, dtype), exec)?;
        // The largest variance is at least the mean, even if rounding has cancelled it.
        let scale = largest.max(affine.total_variance / side as f64);
        let cancelled = if scale > 0.0 { cancelled / scale } else { 0.0 };
        add_rounding(&mut spectrum, cancelled);
        if pca.n_components == NComponents::Mle {
            let n_observations = totals.n_observations(pca.weighting);
            spectrum.truncate(most_probable_dimension(&spectrum.values, n_observations));
        }
        let residuals = std::mem::take(&mut spectrum.residuals);
        let convergence = Convergence::new((route, reason), n_passes, (residuals, tol), (input, cancelled));
        if pca.strict {
            convergence.require()?;
        }
        let exec = exec.phase("signs");
        let mut components = spectrum.components;
        signs::make_largest_positive(&mut components, &exec)?;
        let correction = totals.correction(pca.weighting)?;
        let population = Population { variances: &spectrum.values, total: affine.total_variance, correction };
        let rank = rank_limit(&totals, pca.weighting, shape, spectrum.values.len());
        PcaModel::try_from(ModelParts {
            components,
            explained_variance: population.reported(),
            explained_variance_ratio: population.ratios(),
            singular_values: population.singular_values(totals.root_observations(pca.weighting)),
            discarded_variance: population.discarded(spectrum.others.as_deref()),
            noise_variance: population.noise(rank),
            total_variance: population.total * correction,
            feature_variance: Some(affine.variance.iter().map(|v| v * correction).collect()),
            mean: affine.mean,
            scale: affine.scale,
            feature_weights: feature_weights.map(<[f64]>::to_vec),
            about_mean: None,
            n_samples,
            sum_of_weights: totals.sum,
            n_dimensions: None,
            new_rows: None,
            effective_samples: (pca.weighting == Weighting::Population).then(|| totals.effective()),
            options: pca.clone(),
            dtype: dtype.to_owned(),
            convergence,
        })
    }
}

/// Truncates or extends to `k` components, of a fit of rows whose shorter side is `side`.
fn complete(
    spectrum: &mut Spectrum,
    k: usize,
    (route, side, dtype): (Route, usize, &str),
    exec: &Exec<'_>,
) -> Result<()> {
    let largest = spectrum.values.first().copied().unwrap_or(0.0);
    let rank = spectrum.values.len().min(k);
    spectrum.complete(k, largest * route.rounding(side), &exec.phase("components"))?;
    // A variance may have been dropped with the rounding of products.
    let dropped = if largest > 0.0 && dtype == f32::NAME { rounding_of_products::<f32>(route) } else { 0.0 };
    spectrum.residuals[rank..].fill(dropped);
    Ok(())
}

/// The rounding of products with rows of type `T`, as a share of the largest variance.
fn rounding_of_products<T: Scalar>(route: Route) -> f64 {
    if route == Route::BlockKrylov { 0.5 * T::EPSILON } else { 0.0 }
}

/// The number of leading components that are not directions of rounding: of values to their type, or of products in it.
pub(super) fn n_above_rounding<T: Scalar>(
    spectrum: &Spectrum,
    route: Route,
    (columns, factor): (&Columns, &[f64]),
    totals: &Totals,
) -> usize {
    let rounding = (T::EPSILON * totals.rest_of_squares.sqrt(), totals.effective());
    let largest = spectrum.values.first().copied().unwrap_or(0.0);
    let of_products = rounding_of_products::<T>(route) * largest;
    let exceeds = |a: &usize| {
        let of_values = columns.rounding_along(spectrum.components.row(*a), factor, rounding);
        spectrum.values[*a] > of_values.max(of_products)
    };
    (0..spectrum.values.len()).take_while(exceeds).count()
}

/// Residuals refer to the products as computed; this adds the rounding error of the cancellation in them, relative to the
/// largest variance. Rounding errors of rows are independent, so it has shrunk with the effective number of rows.
fn add_rounding(spectrum: &mut Spectrum, rounding: f64) {
    spectrum.residuals.iter_mut().for_each(|residual| *residual = residual.hypot(rounding));
}

/// The largest number of components with variance, over which the noise is averaged: min(n, p), where n counts
/// repetitions if the weights are frequencies.
fn rank_limit(totals: &Totals, weighting: Weighting, shape: (usize, usize), k: usize) -> usize {
    let repeated = totals.all_components(weighting, shape);
    if repeated >= k { repeated } else { shape.0.min(shape.1) }
}

/// Population variances, and the only place that derives the reported ones.
struct Population<'a> {
    /// Eigenvalues of the population covariance of the mapped data.
    variances: &'a [f64],
    /// Its trace.
    total: f64,
    /// `f`, the correction of the divisor.
    correction: f64,
}

impl Population<'_> {
    fn reported(&self) -> Vec<f64> {
        self.variances.iter().map(|v| v * self.correction).collect()
    }

    fn ratios(&self) -> Vec<f64> {
        self.variances.iter().map(|v| if self.total > 0.0 { v / self.total } else { 0.0 }).collect()
    }

    fn singular_values(&self, root_observations: f64) -> Vec<f64> {
        self.variances.iter().map(|v| v.sqrt() * root_observations).collect()
    }

    /// The variances of the other eigenvalues, if there are any and they are known, at most the least one kept.
    fn discarded(&self, others: Option<&[f64]>) -> Option<Vec<f64>> {
        let least = self.variances.last().copied().unwrap_or(f64::INFINITY);
        let others = others.filter(|others| !others.is_empty())?;
        Some(others.iter().map(|v| v.clamp(0.0, least) * self.correction).collect())
    }

    /// The mean of the discarded eigenvalues: Tipping & Bishop (1999), doi:10.1111/1467-9868.00196, equation 8.
    fn noise(&self, rank: usize) -> f64 {
        let discarded = rank.saturating_sub(self.variances.len());
        let rest = self.total - self.variances.iter().sum::<f64>();
        // If the discarded variance is within rounding of the total, it is zero.
        if discarded == 0 || rest <= self.total * f64::EPSILON * rank as f64 {
            return 0.0;
        }
        rest / discarded as f64 * self.correction
    }
}
