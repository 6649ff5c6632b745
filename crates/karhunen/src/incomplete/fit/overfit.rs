//! Point estimates of loadings whose components fit noise.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::model::convergence::Overfit;
use crate::incomplete::updates::mean_posteriors::{MeanSums, moments_of_means};
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Compares the negative log-likelihood `cost` of probabilistic PCA with that of the means alone by Akaike's criterion
/// (1974), doi:10.1109/TAC.1974.1100705: each loading must lower it by one for new entries to be predicted better. Without
/// components the variance of the noise is the mean square of the entries about their means.
pub(crate) fn overfit<T: Lane>(
    problem: &Objective<'_, T>,
    prepared: &Prepared,
    cost: f64,
    exec: &Exec<'_>,
) -> Result<Option<Overfit>> {
    let (data, c) = (problem.data, problem.free());
    let entries = data.total_entries();
    let mean_square = prepared.deviations.mean_square * prepared.weight() / entries;
    if mean_square <= 0.0 {
        return Ok(None);
    }
    let seen = (0..data.n_features()).filter(|j| data.n_observed_in_column(*j) > 0).count();
    // A rotation of the components changes nothing.
    let n_parameters = (seen * c).saturating_sub(c * (c - 1) / 2);
    let nothing = |n_rows: usize| Matrix::zeros(n_rows, 0);
    let means = Factors::<T>::new(&nothing(data.n_features()), &nothing(0), &prepared.mean);
    let of_means = if problem.mean.joint {
        let [away, squares] = moments_of_means(problem, &means, exec)?;
        let count = (0..data.n_features()).filter(|j| problem.mean.counts(data.columns().weight(*j))).count();
        let sums = MeanSums { count: count as f64, away, squares, log_variances: 0.0 };
        sums.divergence(problem.mean.precision, false)
    } else {
        0.0
    };
    let without = 0.5 * entries * ((std::f64::consts::TAU * mean_square).ln() + 1.0) + of_means;
    let gain = without - cost;
    Ok((gain < n_parameters as f64).then_some(Overfit { gain, n_parameters }))
}
