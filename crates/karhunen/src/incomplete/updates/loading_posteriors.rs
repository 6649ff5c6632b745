//! Posteriors of loadings with full covariances, or point estimates, given expected values of the scores.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factor;
use crate::incomplete::factors::objective::{LearnedPrior, MeanRule};
use crate::incomplete::passes::least_norm::solve_and_invert;
use crate::incomplete::passes::moments::Expected;
use crate::incomplete::passes::normal::fix_unknown;
use crate::incomplete::updates::mean_posteriors::MeanSums;
use crate::incomplete::updates::score_shift::ScoreShift;
use crate::linalg::decomp::cholesky::Upper;
use crate::linalg::simd::Lane;
use crate::scalar::largest;

/// Estimate of the loadings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadingModel {
    /// A posterior under a learned prior: variational Bayes.
    Posterior,
    /// A point estimate without prior: probabilistic PCA.
    Point,
}

/// Number of terms of a feature in the sums of [`OfLoadings`].
pub(crate) const N_TERMS: usize = 6;

/// Sums over the features from the update of the loadings.
pub(crate) struct OfLoadings {
    /// Expected `sum w e^2`.
    pub(crate) squares: f64,
    pub(crate) log_det: f64,
    pub(crate) means: MeanSums,
    /// `sum w e^2` of the point predictions, where it follows from the sums of the features.
    pub(crate) errors: Option<f64>,
}

impl OfLoadings {
    /// The sums of [`LoadingSolver::solve`].
    pub(crate) fn of([squares, log_det, of_means @ ..]: [f64; N_TERMS]) -> Self {
        let [count, away, of_squares, log_variances] = of_means;
        let means = MeanSums { count, away, squares: of_squares, log_variances };
        Self { squares, log_det, means, errors: None }
    }
}

/// Parameters of the posterior of one feature, other than its sums.
pub(crate) struct LoadingSolver<'a> {
    pub(crate) loadings: LoadingModel,
    pub(crate) layout: Expected,
    pub(crate) noise: f64,
    pub(crate) prior: &'a [f64],
    pub(crate) affine: &'a ScoreShift,
    pub(crate) mean: MeanRule,
    /// The component of the row offsets, whose loadings are fixed at one.
    pub(crate) fixed: Option<usize>,
}

impl LoadingSolver<'_> {
    pub(crate) fn workspace(&self) -> usize {
        let m = self.layout.c + 1;
        (4 * m + 3) * self.affine.stride()
    }

    /// Writes `(a_j, mu_j)` and the expected values of a feature; returns its terms of [`OfLoadings`].
    pub(crate) fn solve<T: Lane>(
        &self,
        acc: &mut [f64],
        row: &mut [T],
        out: &mut [T],
    ) -> Result<[f64; N_TERMS]> {
        let (layout, c, stride) = (self.layout, self.layout.c, self.affine.stride());
        let (sums, workspace) = acc.split_at_mut(layout.n_sums());
        let (g, workspace) = workspace.split_at_mut((c + 1) * stride);
        let (kept, workspace) = workspace.split_at_mut((c + 1) * stride);
        let (inverse, workspace) = workspace.split_at_mut((c + 1) * stride);
        let (workspace, b) = workspace.split_at_mut((c + 1) * stride);
        let (b, a) = b.split_at_mut(stride);
        let delta = self.affine.change_of_mean(row);
        let mut squares = self.affine.moved_sums(layout, sums, delta, (g, inverse), b);
        if let Some(fixed) = self.fixed {
            squares = fix_unknown(&mut Upper { values: &mut *g, m: c + 1, stride }, b, squares, fixed);
        }
        let weight = g[c * stride + c];
        let mut mean = row[c].to_f64() + delta;
        kept.copy_from_slice(g);
        a[..c].copy_from_slice(&b[..c]);
        let posterior = self.loadings == LoadingModel::Posterior;
        let free = c - usize::from(self.fixed.is_some());
        let MeanRule { joint, kappa, prior, learned, .. } = self.mean;
        let has_mean = joint && weight + kappa > 0.0;
        let mut log_det = 0.0;
        if posterior {
            self.prior.iter().enumerate().for_each(|(k, v)| g[k * stride + k] += self.noise / v);
            if let Some(fixed) = self.fixed {
                // The fixed component has determinant one, in units of the noise.
                g[fixed * stride + fixed] = self.noise;
            }
            let mut phi = Upper { values: g, m: c, stride };
            log_det = c as f64 * self.noise.ln() - solve_and_invert(&mut phi, (a, free), inverse, workspace)?;
        } else {
            let m = c + usize::from(has_mean);
            if let Some(fixed) = self.fixed {
                let largest = largest((0..m).map(|k| g[k * stride + k]));
                g[fixed * stride + fixed] = if largest > 0.0 { largest } else { 1.0 };
            }
            g[c * stride + c] += kappa;
            a[c] = b[c] + kappa * (prior - mean);
            solve_and_invert(&mut Upper { values: g, m, stride }, (a, free), inverse, workspace)?;
            inverse.fill(0.0);
        }
        let along: f64 = (0..c).map(|k| a[k] * kept[k * stride + c]).sum();
        let moved = match (has_mean, posterior) {
            (false, _) => 0.0,
            (true, true) => (b[c] - along + kappa * (prior - mean)) / (weight + kappa),
            (true, false) => a[c],
        };
        mean += moved;
        let variance = if has_mean && posterior { self.noise / (weight + kappa) } else { 0.0 };
        let mut expected = squares - 2.0 * moved * b[c] + moved * moved * weight + weight * variance;
        for k in 0..c {
            row[k] = T::from_f64(a[k]);
            out[k] = row[k];
            expected -= 2.0 * a[k] * (b[k] - moved * kept[k * stride + c]);
            for l in 0..=k {
                let moment = a[k] * a[l] + self.noise * inverse[l * stride + k];
                out[layout.at(k, l)] = T::from_f64(moment);
                expected += if l < k { 2.0 } else { 1.0 } * moment * kept[l * stride + k];
            }
        }
        if let Some(fixed) = self.fixed {
            let one = T::from_f64(1.0);
            (row[fixed], out[fixed], out[layout.at(fixed, fixed)]) = (one, one, one);
            (0..fixed).for_each(|k| out[layout.at(fixed, k)] = row[k]);
        }
        row[c] = T::from_f64(mean);
        out[c] = row[c];
        let expected = expected.max(0.0);
        let counts = self.mean.counts(weight);
        if !joint || (learned != LearnedPrior::Nothing && !counts) {
            return Ok([expected, log_det, 0.0, 0.0, 0.0, 0.0]);
        }
        let away = mean - prior;
        let log_variance = if variance > 0.0 { variance.ln() } else { 0.0 };
        let count = f64::from(u8::from(counts));
        Ok([expected, log_det, count, away, away.powi(2) + variance, log_variance])
    }
}

/// `sum_j E a_jk^2` of the first `free` components of `c`.
pub(crate) fn moments_of_loadings<T: Lane>(
    table: &Factor<T>,
    (c, free): (usize, usize),
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let layout = Expected::new::<T>(c);
    table.sum_rows(free, exec, |_, row, sums| {
        (0..free).for_each(|k| sums[k] += row[layout.at(k, k)].to_f64());
    })
}

/// The table of expected values without one component.
pub(crate) fn drop_from_table<T: Lane>(
    table: &Factor<T>,
    c: usize,
    dropped: usize,
    exec: &Exec<'_>,
) -> Result<Factor<T>> {
    let (from, to) = (Expected::new::<T>(c), Expected::new::<T>(c - 1));
    let mut out = Factor::zeros(table.n_rows(), to.width);
    let old = |k: usize| k + usize::from(k >= dropped);
    out.map_rows(exec, |j, row| {
        let before = table.row(j);
        for k in 0..c - 1 {
            row[k] = before[old(k)];
            for l in 0..=k {
                row[to.at(k, l)] = before[from.at(old(k), old(l))];
            }
        }
        row[c - 1] = before[c];
    })?;
    Ok(out)
}
