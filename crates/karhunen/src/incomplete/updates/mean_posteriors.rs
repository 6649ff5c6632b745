//! The means in the cost of methods that learn the noise, and their learned prior.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::{LearnedPrior, MeanRule, Objective};
use crate::incomplete::factors::prior::NormalPrior;
use crate::incomplete::factors::state_arrays::{Arrays, finite, size};
use crate::incomplete::updates::learned_variances::Hyperprior;
use crate::linalg::simd::Lane;

/// Sums over the features whose means take part in the cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeanSums {
    /// Number of means with a posterior.
    pub(crate) count: f64,
    /// `sum (mu - m0)`.
    pub(crate) away: f64,
    /// `sum ((mu - m0)^2 + mu~)`.
    pub(crate) squares: f64,
    /// `sum ln mu~`.
    pub(crate) log_variances: f64,
}

impl MeanSums {
    /// The normal prior with the lowest cost, where `rule` says that it is learned, and the sums about its mean.
    pub(crate) fn learn(self, rule: MeanRule, hyperprior: Hyperprior) -> Option<(NormalPrior, Self)> {
        let Self { count, away, squares, log_variances } = self;
        if rule.learned == LearnedPrior::Nothing || count == 0.0 {
            return None;
        }
        let moved = if rule.learned == LearnedPrior::MeanAndVariance { away / count } else { 0.0 };
        let squares = squares - moved * (2.0 * away - count * moved);
        // Posterior variances are positive, and so is their sum.
        let variance = hyperprior.variance(squares / count, count).max(f64::MIN_POSITIVE);
        let about_new = Self { count, away: away - count * moved, squares, log_variances };
        Some((NormalPrior { mean: rule.prior + moved, variance }, about_new))
    }

    /// Terms of the means in the cost: `-ln p` of point estimates, or the divergence of posteriors from the prior, whose
    /// `precision` is zero for a flat prior.
    pub(crate) fn divergence(self, precision: f64, posterior: bool) -> f64 {
        let Self { count, squares, log_variances, .. } = self;
        let log_prior = if precision > 0.0 { -precision.ln() } else { 0.0 };
        let log_two_pi = std::f64::consts::TAU.ln();
        match (posterior, precision > 0.0) {
            (true, true) => 0.5 * (precision * squares + count * (log_prior - 1.0) - log_variances),
            (true, false) => -0.5 * (count * (log_two_pi + 1.0) + log_variances),
            (false, true) => 0.5 * (precision * squares + count * (log_prior + log_two_pi)),
            (false, false) => 0.0,
        }
    }
}

/// `sum (mu_j - m0)` and `sum (mu_j - m0)^2` over the features that take part in the cost.
pub(crate) fn moments_of_means<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    exec: &Exec<'_>,
) -> Result<[f64; 2]> {
    let MeanRule { prior, learned, .. } = problem.mean;
    let sums = factors.a.sum_rows(2, exec, |j, row, sums| {
        // Without a learned prior the sum has the features that do not count too, whose terms are zero.
        if learned == LearnedPrior::Nothing || problem.mean.counts(problem.data.columns().weight(j)) {
            let away = row[factors.c].to_f64() - prior;
            sums[0] += away;
            sums[1] += away.powi(2);
        }
    })?;
    Ok([sums[0], sums[1]])
}

/// Saves a learned prior of the means.
pub(crate) fn save_mean_prior(prior: Option<NormalPrior>, out: &mut Arrays) {
    if let Some(NormalPrior { mean, variance }) = prior {
        out.put("mean_prior", [mean, variance]);
    }
}

/// Reads the array of [`save_mean_prior`], if there is one.
pub(crate) fn restore_mean_prior(from: &mut Arrays) -> Result<Option<NormalPrior>> {
    if !from.has("mean_prior") {
        return Ok(None);
    }
    let [mean, variance] = from.take_array("mean_prior")?;
    Ok(Some(NormalPrior {
        mean: finite("mean_prior", mean)?,
        variance: size("mean_prior", variance)?.max(f64::MIN_POSITIVE),
    }))
}
