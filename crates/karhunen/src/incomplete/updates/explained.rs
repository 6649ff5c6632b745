//! Variance explained by components, and the total variance: `docs/missing-values/model.md`.
//!
//! The share is one of the variance that complete rows have by the fit: what components explain over all rows, what offsets
//! do, and what is left. With complete data this is the variance of the data; with holes the variance of the observed entries may
//! be smaller than what components explain over all rows, and would give shares beyond one.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Segment;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::linalg::simd::Lane;

/// Variance along components, and what is left beside them, summed over features.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    /// Along each component, descending.
    pub(crate) variances: Vec<f64>,
    /// Not along any: of the residuals, or of the noise.
    pub(crate) left: f64,
}

impl Explained {
    /// The variance of complete rows, and the share of each component. `of_offsets` is the variance of the offsets of rows,
    /// which have it in each of `p` columns.
    pub(crate) fn shares(&self, of_offsets: Option<f64>, p: usize) -> (f64, Vec<f64>) {
        let explained: f64 = self.variances.iter().sum();
        let total = explained + self.left.max(0.0) + p as f64 * of_offsets.unwrap_or(0.0);
        let share = |v: &f64| if total > 0.0 { v / total } else { 0.0 };
        (total, self.variances.iter().map(share).collect())
    }
}

/// Variance of the scores of `n` samples along each component, from their norms.
pub(crate) fn of_scores(singular_values: &[f64], n: f64) -> Vec<f64> {
    let divisor = n.max(2.0) - 1.0;
    singular_values.iter().map(|d| d * d / divisor).collect()
}

/// Whether a variance of mean scores vanishes beside that of the noise: such a component is none.
pub(crate) fn is_silent(variance: f64, noise: f64) -> bool {
    /// The largest share of the noise that is none.
    const SILENT: f64 = 1e-12;
    variance.is_nan() || variance <= SILENT * noise
}

/// Sums of one feature: `w`, `w^2`, `w y`, `w f`, `w (y^2 - f^2)`, where `y` is an entry less its mean and `f` is its fit.
const SUMS: usize = 5;

/// What of the variance of the observed entries the fit does not have there: the variance of the entries less that of
/// their fit, summed over features; about their means where these are fitted. Of penalised fits it is more than the variance of
/// the residuals: what was shrunk is not explained.
pub(crate) fn left_by_fit<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    centred: bool,
    exec: &Exec<'_>,
) -> Result<f64> {
    let c = problem.c;
    let times = problem.data.times().map(|times| &**times);
    let gather = |segment: Segment<'_, T>, acc: &mut [f64]| {
        let a = &factors.a.row(segment.line)[..=c];
        for (e, (index, value)) in segment.indices.iter().zip(segment.values).enumerate() {
            let s = factors.s.row(*index as usize);
            let fit: f64 = a[..c].iter().zip(s).map(|(a, s)| a.to_f64() * s.to_f64()).sum();
            let y = value.to_f64() - a[c].to_f64();
            let w = segment.weights.map_or(1.0, |w| w[e].to_f64());
            // A repeated entry is as many entries.
            let repeated = times.map_or(1.0, |times| times[*index as usize]);
            let terms = [w, w * w / repeated, w * y, w * fit, w * (y - fit) * (y + fit)];
            acc.iter_mut().zip(terms).for_each(|(acc, term)| *acc += term);
        }
    };
    let [left] = problem.lines(FactorSide::Loadings).pass(exec, (SUMS, 0), [], gather, |_, acc, _| {
        let [weight, squares, of_y, of_fit, both] = [acc[0], acc[1], acc[2], acc[3], acc[4]];
        let divisor = weight - squares / weight;
        let about_means = if centred { (of_y * of_y - of_fit * of_fit) / weight } else { 0.0 };
        Ok([if weight * weight > squares { (both - about_means) / divisor } else { 0.0 }])
    })?;
    Ok(left)
}
