//! Variance explained by components, and the total variance: `docs/missing-values.md`.
//!
//! The total is the variance of complete rows under the fit: along the components over all rows, of the row offsets,
//! and the residual variance. Complete data have this variance. With missing values the variance of the observed
//! entries may be smaller than that along the components, with shares above one.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{Rows, Segment};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::linalg::simd::Lane;

/// Variance along the components and residual variance, summed over features.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    /// Variance along each component, descending.
    pub(crate) variances: Vec<f64>,
    /// Residual variance, or the noise.
    pub(crate) left: f64,
    /// Variance of each feature without the variance along the components, about the means.
    pub(crate) of_features: Vec<f64>,
}

impl Explained {
    /// The total variance, and the share of each component. `of_offsets` is the variance of the row offsets, which
    /// each of `p` columns has.
    pub(crate) fn shares(&self, of_offsets: Option<f64>, p: usize) -> (f64, Vec<f64>) {
        let explained: f64 = self.variances.iter().sum();
        let total = explained + self.left.max(0.0) + p as f64 * of_offsets.unwrap_or(0.0);
        let share = |v: &f64| if total > 0.0 { v / total } else { 0.0 };
        (total, self.variances.iter().map(share).collect())
    }
}

/// Variance of the scores of `n` samples along each component, with divisor n - 1.
pub(crate) fn of_scores(singular_values: &[f64], n: f64) -> Vec<f64> {
    let divisor = n.max(2.0) - 1.0;
    singular_values.iter().map(|d| d * d / divisor).collect()
}

/// Returns true if a component is inactive: the variance of its mean scores is negligible compared with the noise of an
/// entry of mean weight.
pub(crate) fn is_inactive(variance: f64, noise: f64) -> bool {
    /// Largest inactive variance, as a fraction of the noise.
    const INACTIVE: f64 = 1e-12;
    variance.is_nan() || variance <= INACTIVE * noise
}

/// Sums per feature: `w`, `w^2`, `w y`, `w f`, and of [`Left::product`], with `y` an entry less its mean and `f` its fit.
const SUMS: usize = 5;

/// The variance that a fit leaves to each feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Left {
    /// Variance of the observed entries less the variance of their fit. Penalised fits leave more than the variance of
    /// the residuals, because shrinkage is not explained variance.
    OfPoint,
    /// Mean product of residual and entry: the expected squared residual, because at the optimum the covariance of residual
    /// and posterior mean is the posterior variance of the fit.
    OfPosterior,
}

impl Left {
    /// The product of an entry and its fit, both less their means, or of their sums.
    fn product(self, y: f64, fit: f64) -> f64 {
        (y - fit)
            * match self {
                Left::OfPoint => y + fit,
                Left::OfPosterior => y,
            }
    }

    /// The variance that a fit leaves to a feature, from its sums.
    pub(crate) fn in_feature(
        self,
        [weight, squares, of_y, of_fit, products]: [f64; SUMS],
        centred: bool,
    ) -> f64 {
        let divisor = weight - squares / weight;
        let about_means = if centred { self.product(of_y, of_fit) / weight } else { 0.0 };
        if weight * weight > squares { (products - about_means) / divisor } else { 0.0 }
    }
}

/// Returns the variance that the fit leaves to all features together and to each, shape (n_features,); about the means if
/// `centred`.
pub(crate) fn left_by_fit<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    (left, centred): (Left, bool),
    exec: &Exec<'_>,
) -> Result<(f64, Vec<f64>)> {
    let c = problem.c;
    let multiplicity = problem.data.multiplicity().map(|multiplicity| &**multiplicity);
    let gather = |segment: Segment<'_, T>, acc: &mut [f64]| {
        let a = &factors.a.row(segment.line)[..=c];
        for (e, (index, value)) in segment.indices.iter().zip(segment.values).enumerate() {
            let s = factors.s.row(*index as usize);
            let fit: f64 = a[..c].iter().zip(s).map(|(a, s)| a.to_f64() * s.to_f64()).sum();
            let y = value.to_f64() - a[c].to_f64();
            let w = segment.weights.map_or(1.0, |w| w[e].to_f64());
            // The weight includes the multiplicity: `w^2 / repeated` sums the squares of all repetitions.
            let repeated = multiplicity.map_or(1.0, |multiplicity| multiplicity[*index as usize]);
            let terms = [w, w * w / repeated, w * y, w * fit, w * left.product(y, fit)];
            acc.iter_mut().zip(terms).for_each(|(acc, term)| *acc += term);
        }
    };
    let mut of_features = vec![0.0; problem.data.n_features()];
    let outs = [Rows { width: 1, data: &mut of_features }];
    let [sum] =
        problem.lines(FactorSide::Loadings).pass(exec, (SUMS, 0), outs, gather, |_, acc, [of_feature]| {
            let found = left.in_feature([acc[0], acc[1], acc[2], acc[3], acc[4]], centred);
            of_feature[0] = found;
            Ok([found])
        })?;
    Ok((sum, of_features))
}
