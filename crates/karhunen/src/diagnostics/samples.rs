//! Rows under a model: distances within it and to it, quality of representation, contributions.

use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::Matrix;
use crate::moments::check_finite;
use crate::operator::blocks;
use crate::pca::lengths::each_mapped;
use crate::pca::{Centring, PcaModel, Transform};
use crate::scalar::{Scalar, compiled};
use crate::source::Source;
use crate::weights::NormalizedWeights;

/// Rows per piece of work.
const ROWS: usize = 64;

/// Rows under a model. Distances are of rows as the model maps them: centred, scaled and weighted by feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples<T> {
    /// Scores, shape (n_rows, n_components).
    pub scores: Matrix<T>,
    /// Hotelling's T²: the sum of squared scores over their variances, shape (n_rows,). Components without variance do
    /// not count.
    pub t2: Vec<f64>,
    /// Squared prediction error, or Q: the squared distance of each row to the plane of the components, shape (n_rows,).
    pub spe: Vec<f64>,
    /// Squared distance of each row to the mean, shape (n_rows,); to zero for a model without centring.
    pub distance2: Vec<f64>,
    /// Leverage of each row if it is one of the fit, shape (n_rows,): the diagonal of the hat matrix of the scores and,
    /// with centring, a constant. `1 / n + T² / (n - 1)` with n observations ([`PcaModel::n_observations`]); the divisor is
    /// n for population weights.
    pub leverage: Vec<f64>,
}

/// Distances of rows, shape (n_rows,) each, as [`Samples`] holds them.
#[derive(Clone, Copy, Debug)]
pub struct Distances<'a> {
    /// Hotelling's T².
    pub t2: &'a [f64],
    /// Squared prediction error.
    pub spe: &'a [f64],
    /// Squared distance to the mean.
    pub distance2: &'a [f64],
}

impl<T> Samples<T> {
    /// The distances alone.
    pub fn distances(&self) -> Distances<'_> {
        Distances { t2: &self.t2, spe: &self.spe, distance2: &self.distance2 }
    }
}

/// Returns the diagnostics of rows, fitted or new. Two passes over `x`, and a third where rows lie very near the plane.
///
/// # Errors
/// As [`PcaModel::transform`].
pub fn samples<T: Scalar>(model: &PcaModel, x: &dyn Source<T>) -> Result<Samples<T>> {
    samples_with(model, x, &Run::default())
}

/// As [`samples`], with threads and observer of `run`.
///
/// # Errors
/// As [`PcaModel::transform`], and [`crate::Error::Stopped`] if the observer cancels.
pub fn samples_with<T: Scalar>(model: &PcaModel, x: &dyn Source<T>, run: &Run<'_>) -> Result<Samples<T>> {
    let of_rows = compiled!(T, of_rows::<T> => fn(&PcaModel, &dyn Source<T>, &Run<'_>) -> Result<Samples<T>>);
    of_rows(model, x, run)
}

fn of_rows<T: Scalar>(model: &PcaModel, x: &dyn Source<T>, run: &Run<'_>) -> Result<Samples<T>> {
    let scores = model.transform_with(x, Transform::default(), run)?;
    let distance2 = model.squared_lengths(x, run)?;
    let variances = model.explained_variance();
    let (mut t2, mut spe) = (Vec::new(), Vec::new());
    for (i, length) in distance2.iter().enumerate() {
        let (mut within, mut kept) = (0.0, 0.0);
        for (score, variance) in scores.row(i).iter().zip(variances) {
            let square = score.to_f64().powi(2);
            kept += square;
            within += if *variance > 0.0 { square / variance } else { 0.0 };
        }
        t2.push(within);
        spe.push(length - kept);
    }
    // Below this share of the length the difference has lost half its digits.
    let least = T::EPSILON.sqrt();
    let near: Vec<bool> = spe.iter().zip(&distance2).map(|(spe, length)| *spe < least * length).collect();
    if near.contains(&true) {
        Exec::run(run, |exec| {
            let exec = exec.phase("residuals");
            x.visit(&mut |first, block| {
                let spe = &mut spe[first..first + block.n_rows()];
                each_mapped(model, &block, &|row| near[first + row], spe, &exec, |_, line| {
                    subtract_plane(model.components(), line);
                    line.iter().map(|r| r * r).sum()
                })
            })
        })?;
    }
    let leverage = leverage(model, &t2);
    Ok(Samples { scores, t2, spe, distance2, leverage })
}

fn leverage(model: &PcaModel, t2: &[f64]) -> Vec<f64> {
    let n = model.n_observations();
    let divisor = model.divisor();
    let constant = if model.options().center == Centring::Mean { 1.0 / n } else { 0.0 };
    t2.iter().map(|t2| constant + t2 / divisor).collect()
}

/// Subtracts the projection on the components from a mapped row; returns the scores.
pub(super) fn subtract_plane(components: &Matrix, line: &mut [f64]) -> Vec<f64> {
    let scores: Vec<f64> = (0..components.n_rows())
        .map(|k| components.row(k).iter().zip(&*line).map(|(w, m)| w * m).sum())
        .collect();
    for (k, score) in scores.iter().enumerate() {
        line.iter_mut().zip(components.row(k)).for_each(|(m, w)| *m -= score * w);
    }
    scores
}

/// Returns squared cosines of rows with these scores, shape (n_rows, n_components), and squared distances to the mean,
/// shape (n_rows,): the share of the squared distance along each component, shape (n_rows, n_components). NaN for a row at
/// the mean.
pub fn cos2<T: Scalar>(scores: &Matrix<T>, distance2: &[f64]) -> Matrix {
    Matrix::from_fn(scores.n_rows(), scores.n_cols(), |i, k| {
        at_most_one(scores[(i, k)].to_f64().powi(2) / distance2[i])
    })
}

/// Returns the share of each row in the variance of a component, shape (n_rows, n_components): its weight times its
/// squared score, over the sum over all rows, so that columns sum to one. `scores`, shape (n_rows, n_components),
/// belong to all rows of the fit, `variances` to its components, and `weights` to its rows. NaN for a component without
/// variance.
///
/// # Errors
/// [`crate::Error::WeightLength`], [`crate::Error::WeightValue`] and [`crate::Error::WeightsAllZero`] as a fit.
pub fn contributions<T: Scalar>(
    scores: &Matrix<T>,
    variances: &[f64],
    weights: Option<&[f64]>,
) -> Result<Matrix> {
    let (n, k) = scores.shape();
    let normalized = NormalizedWeights::new(weights, n)?;
    let weight = |i: usize| normalized.values.as_ref().map_or(1.0, |v| v[i]);
    // In units of the standard deviation, so that squares neither overflow nor vanish.
    let square = |i: usize, c: usize| weight(i) * (scores[(i, c)].to_f64() / variances[c].sqrt()).powi(2);
    let totals: Vec<f64> = (0..k)
        .map(|c| if variances[c] > 0.0 { (0..n).map(|i| square(i, c)).sum() } else { f64::NAN })
        .collect();
    Ok(Matrix::from_fn(n, k, |i, c| if totals[c].is_nan() { f64::NAN } else { square(i, c) / totals[c] }))
}

/// Rounding may lift a share above one; NaN stays.
pub(super) fn at_most_one(share: f64) -> f64 {
    if share > 1.0 { 1.0 } else { share }
}

/// Shares of the features in the distances of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowContributions {
    /// Terms of T², which sum to it, shape (n_rows, n_features): `m_j sum_k t_k w_kj / l_k` with mapped values `m`,
    /// scores `t`, components `w` and variances `l` (the complete decomposition of Westerhuis, Gurden & Smilde 2000,
    /// doi:10.1016/S0169-7439(00)00062-9). Single terms may be negative.
    pub t2: Matrix,
    /// Residuals of the mapped values, shape (n_rows, n_features): their squares sum to the squared prediction error.
    pub residuals: Matrix,
}

/// Returns the terms of each feature in T² and in the squared prediction error of rows. Memory: two dense matrices of the
/// shape of `x`, so pass the rows that stand out.
///
/// # Errors
/// As [`PcaModel::transform`]; [`crate::Error::TooLarge`] for results beyond the address space.
pub fn row_contributions<T: Scalar>(
    model: &PcaModel,
    x: &dyn Source<T>,
    run: &Run<'_>,
) -> Result<RowContributions> {
    let (n, p) = x.shape();
    model.check_columns("rows to diagnose", p, model.n_features())?;
    let mut residuals = Matrix::try_zeros("residuals of rows", n, p)?;
    let mut t2 = Matrix::try_zeros("contributions of features", n, p)?;
    Exec::run(run, |exec| {
        let exec = exec.phase("contributions");
        x.visit(&mut |first, block| {
            check_finite(&block, first, None)?;
            let places = first * p..(first + block.n_rows()) * p;
            let pieces = residuals.as_mut_slice()[places.clone()]
                .chunks_mut(ROWS * p)
                .zip(t2.as_mut_slice()[places].chunks_mut(ROWS * p));
            exec.each(pieces, |piece, (residuals, t2)| {
                let rows = piece * ROWS..piece * ROWS + residuals.len() / p;
                blocks::mapped_rows(&block, model.map(), None, rows, residuals)?;
                terms_of_lines(model, residuals, t2);
                Ok(())
            })
        })
    })?;
    Ok(RowContributions { t2, residuals })
}

/// As [`row_contributions`], of the rows `rows` of `x` alone, in this order: shape (rows.len(), n_features) each.
///
/// # Errors
/// As [`row_contributions`], and [`crate::Error::Shape`] for a row that `x` does not have.
pub fn row_contributions_of<T: Scalar>(
    model: &PcaModel,
    x: &dyn Source<T>,
    rows: &[usize],
) -> Result<RowContributions> {
    let (n, p) = x.shape();
    model.check_columns("rows to diagnose", p, model.n_features())?;
    if let Some(row) = rows.iter().find(|row| **row >= n) {
        return Err(Error::Shape { what: "a row to diagnose", axis: "rows", found: row + 1, expected: n });
    }
    let mut residuals = Matrix::try_zeros("residuals of rows", rows.len(), p)?;
    let mut t2 = Matrix::try_zeros("contributions of features", rows.len(), p)?;
    x.visit(&mut |first, block| {
        let here = first..first + block.n_rows();
        for (line, row) in rows.iter().enumerate().filter(|(_, row)| here.contains(row)) {
            let place = row - first;
            blocks::mapped_rows(&block, model.map(), None, place..place + 1, residuals.row_mut(line))?;
            terms_of_lines(model, residuals.row_mut(line), t2.row_mut(line));
        }
        Ok(())
    })?;
    Ok(RowContributions { t2, residuals })
}

/// Replaces mapped rows in `residuals` by their residuals, and writes the terms of T² into `t2`.
fn terms_of_lines(model: &PcaModel, residuals: &mut [f64], t2: &mut [f64]) {
    let (components, variances, p) = (model.components(), model.explained_variance(), model.n_features());
    let mut shares = vec![0.0; p];
    for (line, terms) in residuals.chunks_exact_mut(p).zip(t2.chunks_exact_mut(p)) {
        terms.copy_from_slice(line);
        shares.fill(0.0);
        let scores = subtract_plane(components, line);
        for (k, score) in scores.iter().enumerate().filter(|(k, _)| variances[*k] > 0.0) {
            let scaled = score / variances[k];
            shares.iter_mut().zip(components.row(k)).for_each(|(sum, w)| *sum += scaled * w);
        }
        terms.iter_mut().zip(&shares).for_each(|(term, share)| *term *= share);
    }
}
