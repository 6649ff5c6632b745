//! Point estimates of loadings whose components fit noise.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::fit::error_bars::count_parameters;
use crate::incomplete::model::convergence::Overfit;
use crate::incomplete::options::{IncompletePca, MeanMode};
use crate::incomplete::updates::mean_posteriors::{MeanSums, moments_of_means};
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Mean squared error that counts as none, as a fraction of the mean square of the entries about their means.
pub(crate) const NO_NOISE: f64 = 1e-4;
/// Decrease of the negative log-likelihood by entry and iteration below which a fit stops whose scores and loadings outnumber
/// the entries.
pub(crate) const LEAST_GAIN: f64 = 1e-3;

/// Returns true if scores and loadings outnumber the entries: probabilistic PCA can fit every entry exactly, and its likelihood
/// grows without bound as the noise vanishes.
pub(crate) fn outnumbered<T: Lane>(pca: &IncompletePca, data: &Observed<T>) -> bool {
    let counted = count_parameters(data, (pca.n_scores(), pca.n_components), pca.mean == MeanMode::Joint);
    counted >= data.total_entries()
}

/// Compares the negative log-likelihood `cost` of probabilistic PCA with the cost of the means alone, whose noise is
/// the mean square of the entries about them, by Akaike's criterion with the correction of Hurvich & Tsai (1989),
/// doi:10.1093/biomet/76.2.297.
pub(crate) fn overfit<T: Lane>(
    (pca, prepared): (&IncompletePca, &Prepared),
    problem: &Objective<'_, T>,
    cost: f64,
    exec: &Exec<'_>,
) -> Result<Option<Overfit>> {
    let (data, c) = (problem.data, problem.free());
    let entries = data.total_entries();
    let mean_square = prepared.mean_squares(entries).of_noise;
    if mean_square <= 0.0 {
        return Ok(None);
    }
    let seen = (0..data.n_features()).filter(|j| data.n_observed_in_column(*j) > 0).count();
    // A rotation of the components changes nothing.
    let n_parameters = (seen * c).saturating_sub(c * (c - 1) / 2);
    let none = |n_rows: usize| Matrix::zeros(n_rows, 0);
    let means = Factors::<T>::new(&none(data.n_features()), &none(0), &prepared.mean);
    let of_means = if problem.mean.joint {
        let [away, squares] = moments_of_means(problem, &means, exec)?;
        let count = (0..data.n_features()).filter(|j| problem.mean.counts(data.columns().weight(*j))).count();
        let sums = MeanSums { count: count as f64, away, squares, log_variances: 0.0 };
        sums.divergence(problem.mean.precision, false)
    } else {
        0.0
    };
    let gain = 0.5 * entries * ((std::f64::consts::TAU * mean_square).ln() + 1.0) + of_means - cost;
    // The means and the noise are parameters of both.
    let price = |parameters: usize| {
        let left = entries - parameters as f64 - 1.0;
        if left > 0.0 { parameters as f64 * entries / left } else { f64::INFINITY }
    };
    let needed = price(seen + 1 + n_parameters) - price(seen + 1);
    let outnumbered = outnumbered(pca, data);
    // Not a number, where the means alone outnumber the entries, is not a gain.
    let pays = gain >= needed && !outnumbered;
    Ok((!pays).then_some(Overfit { gain, n_parameters, outnumbered }))
}
