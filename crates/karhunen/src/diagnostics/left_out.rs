//! Distances of the rows of a fit under fits without each of them.

use super::distributions::root_within;
use super::samples::{Distances, Samples, samples_with, subtract_plane};
use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::incomplete::is_rounding;
use crate::linalg::Matrix;
use crate::pca::lengths::each_mapped;
use crate::pca::{Centring, NComponents, Pca, PcaModel, Scaling};
use crate::scalar::{Scalar, compiled};
use crate::source::Source;
use crate::weights::{NormalizedWeights, Weighting, Weights};

/// Rows for each component and one, and for two columns, from which on leverage alone says how far the plane follows a row.
const MANY_ROWS: usize = 200;
/// Share of the errors by which a plane fitted to the rows may have smaller ones.
const SAME_PLANE: f64 = 1e-3;
/// Rows per piece of work.
const ROWS: usize = 64;
/// Leverage below which a row moves nothing.
const LEAST_LEVERAGE: f64 = 1e-12;
/// Least share of a squared length along an axis: equations without it have no root there.
const LEAST_SHARE: f64 = 1e-40;

/// Most multiplications of fits without each row, whose columns are divided by their own deviations.
const MOST_REFITTED: f64 = 1e9;
/// Fewest observations more than components for the mean of T² of rows left out: of fewer it is too uncertain.
pub(super) const MORE_ROWS: f64 = 20.0;

/// Distances of the rows of a fit under fits without each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// T² by the variances without the row, shape (n_rows,).
    pub t2: Vec<f64>,
    /// Squared prediction errors, shape (n_rows,).
    pub spe: Vec<f64>,
    /// Factor of the limit for T² of new rows ([`t2_limit`](super::t2_limit)): the mean of `t2` over the mean of normal
    /// rows along components that do not follow the rows of the fit, at most one. Variances along components near the
    /// discarded ones are estimated too large, and T² of new rows is small. One if nothing is discarded, with at most
    /// `k + 20` observations, and where errors are by leverage or as they are.
    ///
    /// Rows far from the others make it larger: the limit is then nearer the limit of the F distribution, and fewer
    /// rows exceed it.
    pub t2_factor: f64,
}

/// Returns the distances that each row of a fit has under the fit of the other rows. `x` holds all rows of the fit, `found` are
/// their distances, and `weights` the weights of the fit; of a row with a frequency weight one observation is left out.
///
/// Fewer than 200 rows for each of the `k` components and one, or fewer than 100 for each column: without a row the scatter
/// matrix differs by a matrix of rank one, so that its eigenvalues solve a secular equation, and the derivatives of that
/// equation give the projections of the row on its eigenvectors (Bunch, Nielsen & Sorensen 1978, doi:10.1007/BF01396012). The
/// equation holds the variances along the leading `2 k + 10` components, from another fit, and the mean of the others; it is
/// exact if there are no others. If the other fit has errors that are smaller by more than a thousandth, `x` was not fitted,
/// and its distances are returned as they are. If columns are divided by their deviations, tables of more than `k + 20` rows
/// for which `n^2 p min(n, p)` is at most 1e9 are fitted without each row. Else, and for rows without which a column hardly
/// varies, the errors are in units of the deviations without the row, with the axes as they are, and T² is in the units of
/// all rows.
///
/// With more rows the errors are divided by `(1 - h)^2` and T² by `1 - h`, `h` the leverage of the row: the limit for
/// components whose variances are far above the discarded ones.
///
/// # Errors
/// As [`Pca::fit_with`] and [`PcaModel::transform`]; [`Error::Shape`] for other numbers of distances than rows.
pub fn left_out<T: Scalar>(
    model: &PcaModel,
    found: Distances<'_>,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<LeftOut> {
    type Left<T> = fn(&PcaModel, Distances<'_>, &dyn Source<T>, Option<&[f64]>, &Run<'_>) -> Result<LeftOut>;
    let expected = x.shape().0;
    for found in [found.t2, found.spe, found.distance2].map(<[f64]>::len) {
        if found != expected {
            return Err(Error::Shape { what: "the distances", axis: "rows", found, expected });
        }
    }
    compiled!(T, of_rows::<T> => Left<T>)(model, found, x, weights, run)
}

fn of_rows<T: Scalar>(
    model: &PcaModel,
    found: Distances<'_>,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<LeftOut> {
    let (n, k) = (found.spe.len(), model.n_components());
    let as_it_is = || LeftOut { t2: found.t2.to_vec(), spe: found.spe.to_vec(), t2_factor: 1.0 };
    let NormalizedWeights { values, totals } = NormalizedWeights::new(weights, n)?;
    let share = |i: usize| values.as_ref().map_or(1.0 / totals.sum, |v| v[i]);
    let removed = |i: usize| match model.options().weighting {
        Weighting::Frequency => share(i).min(1.0 / totals.sum),
        Weighting::Importance | Weighting::Population => share(i),
    };
    let mean = |values: &[f64]| (0..n).map(|i| share(i) * values[i]).sum::<f64>();
    let n_wider = (2 * k + 10).min(n).min(model.n_features());
    if is_rounding(mean(found.spe), mean(found.distance2)) || n_wider < k {
        return Ok(as_it_is());
    }
    if n >= MANY_ROWS * (k + 1).max(model.n_features().div_ceil(2)) {
        let (t2, spe) = (0..n).map(|i| by_leverage(model, found, i, removed(i))).unzip();
        return Ok(LeftOut { t2, spe, t2_factor: 1.0 });
    }
    let wider = wider_fit(model, n_wider, x, weights, run)?;
    let of_wider = samples_with(&wider, x, run)?;
    let without = Without::of(model, &of_wider, share);
    if mean(found.spe) > (1.0 + SAME_PLANE) * without.discarded {
        return Ok(as_it_is());
    }
    let mut both = vec![0.0; 2 * n];
    Exec::run(run, |exec| {
        exec.phase("rows left out").fill(&mut both, 2 * ROWS, |piece, out| {
            for (i, out) in (piece * ROWS..).zip(out.chunks_exact_mut(2)) {
                out.copy_from_slice(&without.distances(i, removed(i), of_wider.spe[i]));
            }
            Ok(())
        })
    })?;
    if let Some(power) = power_of_scales(model) {
        let factors = of_scales(model, &wider, x, &removed, power, run)?;
        both.chunks_exact_mut(2).zip(factors).for_each(|(pair, factor)| pair[1] *= factor);
        if is_refitted(model, n) {
            by_refits((model, &removed), x, weights, &mut both, run)?;
        }
    }
    let (squares, spe): (Vec<f64>, Vec<f64>) = both.chunks_exact(2).map(|pair| (pair[0], pair[1])).unzip();
    let t2_factor = without.t2_factor(mean(&squares), model.n_observations());
    let t2 = squares.iter().map(|square| square * unit_without(model)).collect();
    Ok(LeftOut { t2, spe, t2_factor })
}

/// A fit with more components than the model has, in its units.
fn wider_fit<T: Scalar>(
    model: &PcaModel,
    n_components: usize,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    let wider = Pca {
        n_components: NComponents::Count(n_components),
        center: Centring::Given(model.mean().to_vec()),
        scale: Scaling::Given(model.scale().to_vec()),
        weighting: model.options().weighting,
        memory_limit: model.options().memory_limit,
        ..Pca::default()
    };
    wider.fit_with(x, &Weights { samples: weights, features: model.feature_weights() }, run)
}

/// The factor of T² by the variances of a fit without one observation, over T² by their mean squares.
fn unit_without(model: &PcaModel) -> f64 {
    let n = model.n_observations();
    1.0 - (n - model.divisor()) / (n - 1.0).max(1.0)
}

/// The power of the deviations that columns are divided by.
fn power_of_scales(model: &PcaModel) -> Option<f64> {
    match model.options().scale {
        Scaling::Deviation => Some(1.0),
        Scaling::Pareto => Some(0.5),
        Scaling::None | Scaling::Range | Scaling::Binomial | Scaling::Given(_) => None,
    }
}

/// True if fits without each row are quick and have enough rows, and the model knows which columns vary.
fn is_refitted(model: &PcaModel, n: usize) -> bool {
    let (n, p) = (n as f64, model.n_features() as f64);
    model.parts().feature_variance.is_some()
        && n * n * p * n.min(p) <= MOST_REFITTED
        && model.n_observations() > model.n_components() as f64 + MORE_ROWS
}

/// Writes T² by mean squares and the error of each row under a fit without it, unless a column varies in this row above all.
fn by_refits<T: Scalar>(
    (model, removed): (&PcaModel, &(dyn Fn(usize) -> f64 + Sync)),
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    pairs: &mut [f64],
    run: &Run<'_>,
) -> Result<()> {
    let options = model.options();
    let pca = Pca {
        n_components: NComponents::Count(model.n_components()),
        center: options.center.clone(),
        scale: options.scale.clone(),
        weighting: options.weighting,
        memory_limit: options.memory_limit,
        ..Pca::default()
    };
    let given = weights.map_or_else(|| vec![1.0; pairs.len() / 2], <[f64]>::to_vec);
    let alone = Run { n_threads: Some(1), ..Run::default() };
    let variance = |fit: &PcaModel| fit.parts().feature_variance.clone().unwrap_or_default();
    let of_all = variance(model);
    Exec::run(run, |exec| {
        exec.phase("fits without rows").fill(pairs, 2, |i, pair| {
            if given[i] == 0.0 {
                return Ok(());
            }
            let mut weights = given.clone();
            weights[i] = match options.weighting {
                Weighting::Frequency => (given[i] - 1.0).max(0.0),
                Weighting::Importance | Weighting::Population => 0.0,
            };
            let weights = Weights { samples: Some(&weights), features: model.feature_weights() };
            let fit = pca.fit_with(x, &weights, &alone)?;
            if variance(&fit).iter().zip(&of_all).all(|(left, all)| *left >= removed(i) * all) {
                let of_rows = samples_with(&fit, x, &alone)?;
                pair[0] = of_rows.t2[i] * fit.n_observations() / fit.divisor();
                pair[1] = of_rows.spe[i];
            }
            Ok(())
        })
    })
}

/// T² and the error of row `i` without its share `v` of the weights, by its leverage.
fn by_leverage(model: &PcaModel, found: Distances<'_>, i: usize, v: f64) -> (f64, f64) {
    let of_mean = if model.options().center == Centring::Mean { 1.0 } else { 0.0 };
    let squares = found.t2[i] * (model.n_observations() / model.divisor());
    let left = 1.0 - v * (of_mean + squares);
    let most = found.distance2[i] / (1.0 - of_mean * v).powi(2);
    let t2 = squares * (1.0 - v * (1.0 - of_mean)) / left * unit_without(model);
    (t2, (found.spe[i] / left.powi(2)).min(most))
}

/// The scatter matrix of a fit in the axes of its components.
struct Without {
    /// Number of components that are kept.
    k: usize,
    /// Shape (n_rows, n_components), with more components than are kept.
    scores: Matrix,
    /// Mean squares of the scores.
    variances: Vec<f64>,
    /// Mean variance of the other dimensions, if there are any.
    others: Option<f64>,
    /// Sum of the variances that are not kept.
    discarded: f64,
    is_centred: bool,
}

impl Without {
    /// Of rows with these shares of the weights, under a model of more components than `model` has.
    fn of<T: Scalar>(model: &PcaModel, wider: &Samples<T>, share: impl Fn(usize) -> f64) -> Self {
        let (n, k) = (wider.spe.len(), model.n_components());
        let is_centred = model.options().center == Centring::Mean;
        let scores = Matrix::from_fn(n, wider.scores.n_cols(), |i, l| wider.scores[(i, l)].to_f64());
        let mean = |square: &dyn Fn(usize) -> f64| (0..n).map(|i| share(i) * square(i)).sum::<f64>();
        let mut variances: Vec<f64> =
            (0..scores.n_cols()).map(|l| mean(&|i| scores[(i, l)].powi(2))).collect();
        let beyond = mean(&|i| wider.spe[i]);
        let discarded = beyond + variances[k..].iter().sum::<f64>();
        let least = (16.0 * T::EPSILON).powi(2) * variances[0];
        variances.truncate(variances.iter().take_while(|variance| **variance > least).count().max(k));
        let n_rows = (0..n).filter(|i| share(*i) > 0.0).count() - usize::from(is_centred);
        let n_others = n_rows.min(model.n_dimensions()).saturating_sub(variances.len());
        let others = (n_others > 0).then(|| beyond / n_others as f64);
        Self { k, scores, variances, others, discarded, is_centred }
    }

    /// T² by mean squares and the squared prediction error of row `i` without its share `v` of the weights; `beyond` is its
    /// squared distance from all components.
    fn distances(&self, i: usize, v: f64, beyond: f64) -> [f64; 2] {
        // Of a mean, the deviation grows without the row, and with it what the scatter loses.
        let rest = if self.is_centred { (1.0 - v).max(f64::EPSILON) } else { 1.0 };
        let lost = v / rest;
        let squares = self.scores.row(i).iter().map(|score| score * score);
        let mut poles: Vec<(f64, f64)> = self.variances.iter().copied().zip(squares).collect();
        if let Some(others) = self.others {
            // The variance along the residual includes the row itself.
            poles.push((others.max(lost * beyond), beyond));
        }
        poles.sort_by(|a, b| b.0.total_cmp(&a.0));
        let discarded: f64 = poles.iter().skip(self.k).map(|(_, square)| square).sum();
        let leverage: f64 = poles.iter().filter(|(d, _)| *d > 0.0).map(|(d, square)| lost * square / d).sum();
        let length: f64 = poles.iter().map(|(_, square)| square).sum();
        if leverage <= LEAST_LEVERAGE || length == 0.0 {
            let kept = poles.iter().take(self.k).filter(|(d, _)| *d > 0.0);
            let t2 = kept.map(|(d, square)| square / d).sum::<f64>();
            return [t2 * (1.0 - v) / (rest * rest), discarded / (rest * rest)];
        }
        // In units in which the matrix of rank one has the eigenvalue one.
        for (d, square) in &mut poles {
            *d /= lost * length;
            *square = (*square / length).max(LEAST_SHARE);
        }
        let discarded = (self.k..poles.len()).map(|a| projection(&poles, a).1).sum::<f64>();
        let of_kept = |a: usize| match projection(&poles, a) {
            (variance, square) if variance > 0.0 => square / variance,
            _ => 0.0,
        };
        let t2 = (0..self.k.min(poles.len())).map(of_kept).sum::<f64>();
        [t2 * (1.0 - v) / (lost * rest * rest), length * discarded / (rest * rest)]
    }

    /// The factor of the limit for T², by the mean of T² of rows left out by mean squares. That of normal rows is of the
    /// distribution of [`t2_limit`](super::t2_limit) for one observation less, `k n / (n - k - 3)` of centred rows.
    fn t2_factor(&self, mean: f64, n: f64) -> f64 {
        let k = self.variances.iter().take(self.k).filter(|variance| **variance > 0.0).count() as f64;
        if k == 0.0 || n <= k + MORE_ROWS {
            return 1.0;
        }
        let expected = if self.is_centred { k * n / (n - k - 3.0) } else { k * (n - 1.0) / (n - k - 2.0) };
        if mean > 0.0 { (mean / expected).min(1.0) } else { 1.0 }
    }
}

/// Eigenvalue `a` of `D - z z'` and the squared projection of `z` on its eigenvector, with the pairs (d, z^2) in descending
/// order of d, and the squares of sum one: of `1 = sum z^2 / (d - m)` one root `m` lies below each d, and the projection is
/// `1 / sum z^2 / (d - m)^2`.
fn projection(poles: &[(f64, f64)], a: usize) -> (f64, f64) {
    let (pole, square) = poles[a];
    let (width, next) = poles.get(a + 1).map_or((1.0, 0.0), |(d, next)| (pole - d, *next));
    if width <= 0.0 {
        return (pole, 0.0);
    }
    // Distances from the pole keep their digits.
    let sum = |below: f64, power: i32| -> f64 {
        poles.iter().map(|(d, square)| square / ((d - pole) + below).powi(power)).sum()
    };
    // The root if the terms of all but the two nearest poles were constant.
    let half = 0.5 * width;
    let constant = 1.0 - sum(half, 1) + (square - next) / half;
    let b = constant * width + square + next;
    let root = (b * b - 4.0 * constant * square * width).max(0.0).sqrt();
    let start = (2.0 * square * width / (b + root)).clamp(f64::MIN_POSITIVE, width * (1.0 - f64::EPSILON));
    let below = root_within((0.0, width), start, |below| 1.0 - sum(below, 1), |below| sum(below, 2));
    (pole - below, 1.0 / sum(below, 2))
}

/// The ratio of the squared residual of each row in units of the deviations of columns without it to that in units of all
/// rows.
fn of_scales<T: Scalar>(
    model: &PcaModel,
    wider: &PcaModel,
    x: &dyn Source<T>,
    removed: &(dyn Fn(usize) -> f64 + Sync),
    power: f64,
    run: &Run<'_>,
) -> Result<Vec<f64>> {
    let population = wider.divisor() / wider.n_observations();
    let variances: Vec<f64> =
        wider.parts().feature_variance.iter().flatten().map(|v| v * population).collect();
    let is_centred = model.options().center == Centring::Mean;
    let mut factors = vec![1.0; x.shape().0];
    Exec::run(run, |exec| {
        let exec = exec.phase("scales without rows");
        x.visit(&mut |first, block| {
            let out = &mut factors[first..first + block.n_rows()];
            each_mapped(model, &block, &|_| true, out, &exec, |row, line| {
                let v = removed(first + row);
                let rest = if is_centred { (1.0 - v).max(f64::EPSILON) } else { 1.0 };
                // A column that varies in this row alone keeps a share of its variance.
                let left = |of_all: f64, m: f64| (of_all - v / rest * m * m).max(v * of_all);
                let ratios: Vec<f64> = line
                    .iter()
                    .zip(&variances)
                    .map(|(m, of_all)| if *of_all > 0.0 { rest * of_all / left(*of_all, *m) } else { 1.0 })
                    .collect();
                subtract_plane(model.components(), line);
                let all: f64 = line.iter().map(|r| r * r).sum();
                let scaled: f64 = line.iter().zip(ratios).map(|(r, ratio)| r * r * ratio.powf(power)).sum();
                if all > 0.0 { scaled / all } else { 1.0 }
            })
        })
    })?;
    Ok(factors)
}
