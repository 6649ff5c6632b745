//! Rows under a model: distances within it and to it, quality of representation, contributions.

use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::Matrix;
use crate::moments::check_finite;
use crate::operator::blocks;
use crate::pca::{PcaModel, Transform};
use crate::scalar::{Scalar, compiled};
use crate::source::Source;
use crate::weights::Weighting;

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
    /// Squared distance of each row to the mean, shape (n_rows,).
    pub distance2: Vec<f64>,
}

/// The diagnostics of rows, fitted or new. Two passes over `x`, and a third where rows lie very near the plane.
///
/// # Errors
/// As [`PcaModel::transform`].
pub fn samples<T: Scalar>(model: &PcaModel, x: &dyn Source<T>) -> Result<Samples<T>> {
    samples_with(model, x, &Run::default())
}

/// As [`samples`], with threads and observer of `run`.
///
/// # Errors
/// As [`PcaModel::transform`], and [`Error::Stopped`] if the observer cancels.
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
    let near = |i: usize| spe[i] < least * distance2[i];
    if (0..spe.len()).any(near) {
        let near: Vec<bool> = (0..spe.len()).map(near).collect();
        residuals(model, x, &near, &mut spe, run)?;
    }
    Ok(Samples { scores, t2, spe, distance2 })
}

/// Writes the squared lengths of the residuals of some rows, computed from the residuals themselves.
fn residuals<T: Scalar>(
    model: &PcaModel,
    x: &dyn Source<T>,
    wanted: &[bool],
    spe: &mut [f64],
    run: &Run<'_>,
) -> Result<()> {
    let p = model.n_features();
    Exec::run(run, |exec| {
        let exec = exec.phase("residuals");
        x.visit(&mut |first, block| {
            exec.fill(&mut spe[first..first + block.n_rows()], ROWS, |piece, out| {
                let mut line = vec![0.0; p];
                for (i, spe) in out.iter_mut().enumerate() {
                    let row = piece * ROWS + i;
                    if wanted[first + row] {
                        blocks::mapped_rows(&block, model.map(), None, row..row + 1, &mut line)?;
                        subtract_plane(model.components(), &mut line);
                        *spe = line.iter().map(|r| r * r).sum();
                    }
                }
                Ok(())
            })
        })
    })
}

/// Subtracts the projection on the components from a mapped row; returns the scores.
fn subtract_plane(components: &Matrix, line: &mut [f64]) -> Vec<f64> {
    let scores: Vec<f64> = (0..components.n_rows())
        .map(|k| components.row(k).iter().zip(&*line).map(|(w, m)| w * m).sum())
        .collect();
    for (k, score) in scores.iter().enumerate() {
        line.iter_mut().zip(components.row(k)).for_each(|(m, w)| *m -= score * w);
    }
    scores
}

impl<T: Scalar> Samples<T> {
    /// Squared cosines: the share of the squared distance to the mean along each component, shape (n_rows,
    /// n_components). NaN for a row at the mean.
    pub fn cos2(&self) -> Matrix {
        Matrix::from_fn(self.scores.n_rows(), self.scores.n_cols(), |i, k| {
            (self.scores[(i, k)].to_f64().powi(2) / self.distance2[i]).min(1.0)
        })
    }

    /// Share of each fitted row in the variance of a component, shape (n_rows, n_components): its weight times its
    /// squared score, over the sum of these. `weights` are those of the fit. Columns sum to one over all rows of the
    /// fit. NaN for a component without variance.
    ///
    /// # Errors
    /// [`Error::WeightLength`] unless there is one weight for each row.
    pub fn contributions(&self, model: &PcaModel, weights: Option<&[f64]>) -> Result<Matrix> {
        let n = self.scores.n_rows();
        check_weights(weights, n)?;
        let total = model.sum_of_weights();
        let population = population_variances(model);
        Ok(Matrix::from_fn(n, self.scores.n_cols(), |i, k| {
            let weight = weights.map_or(1.0, |w| w[i]) / total;
            weight * self.scores[(i, k)].to_f64().powi(2) / population[k]
        }))
    }

    /// Leverage of each fitted row, shape (n_rows,): `1 / n + T² / (n - 1)`, the diagonal of the hat matrix of the scores
    /// and a constant, with `n` the number of observations ([`PcaModel::n_observations`]). Without the constant for a model
    /// without centring.
    pub fn leverage(&self, model: &PcaModel) -> Vec<f64> {
        let n = model.n_observations();
        let constant = if model.options().center { 1.0 / n } else { 0.0 };
        // T² has the divisor of the weighting, the hat matrix that of the population.
        let share = divisor_share(model);
        self.t2.iter().map(|t2| constant + t2 / (n * share)).collect()
    }
}

/// Refuses another number of weights than of rows.
pub(super) fn check_weights(weights: Option<&[f64]>, n: usize) -> Result<()> {
    match weights {
        Some(weights) if weights.len() != n => {
            Err(Error::WeightLength { of: crate::error::Weighed::Samples, found: weights.len(), expected: n })
        }
        _ => Ok(()),
    }
}

/// Population variance over the reported variance.
fn divisor_share(model: &PcaModel) -> f64 {
    match model.options().weighting {
        Weighting::Population => 1.0,
        Weighting::Frequency | Weighting::Importance => 1.0 - 1.0 / model.n_observations(),
    }
}

/// Variances along the components with the divisor of the population.
fn population_variances(model: &PcaModel) -> Vec<f64> {
    let share = divisor_share(model);
    model.explained_variance().iter().map(|v| v * share).collect()
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

/// What each feature adds to T² and to the squared prediction error of rows. Memory: two dense matrices of the shape of
/// `x`, so give the rows that stand out.
///
/// # Errors
/// As [`PcaModel::transform`]; [`Error::TooLarge`] for results beyond the address space.
pub fn row_contributions<T: Scalar>(
    model: &PcaModel,
    x: &dyn Source<T>,
    run: &Run<'_>,
) -> Result<RowContributions> {
    let (n, p) = x.shape();
    model.check_columns("rows to diagnose", p, model.n_features())?;
    let mut residuals = Matrix::try_zeros("residuals of rows", n, p)?;
    let mut t2 = Matrix::try_zeros("contributions of features", n, p)?;
    let (components, variances) = (model.components(), model.explained_variance());
    let map = model.map();
    Exec::run(run, |exec| {
        let exec = exec.phase("contributions");
        x.visit(&mut |first, block| {
            check_finite(&block, first)?;
            let places = first * p..(first + block.n_rows()) * p;
            let rows_of = |piece: usize, out: &[f64]| piece * ROWS..piece * ROWS + out.len() / p;
            exec.fill(&mut residuals.as_mut_slice()[places.clone()], ROWS * p, |piece, out| {
                blocks::mapped_rows(&block, map, None, rows_of(piece, out), out)?;
                out.chunks_exact_mut(p).for_each(|line| drop(subtract_plane(components, line)));
                Ok(())
            })?;
            exec.fill(&mut t2.as_mut_slice()[places], ROWS * p, |piece, out| {
                blocks::mapped_rows(&block, map, None, rows_of(piece, out), out)?;
                let mut shares = vec![0.0; p];
                for line in out.chunks_exact_mut(p) {
                    let mapped = line.to_vec();
                    let scores = subtract_plane(components, line);
                    shares.fill(0.0);
                    for (k, score) in scores.iter().enumerate().filter(|(k, _)| variances[*k] > 0.0) {
                        let scaled = score / variances[k];
                        shares.iter_mut().zip(components.row(k)).for_each(|(sum, w)| *sum += scaled * w);
                    }
                    line.iter_mut().zip(&mapped).zip(&shares).for_each(|((x, m), share)| *x = m * share);
                }
                Ok(())
            })
        })
    })?;
    Ok(RowContributions { t2, residuals })
}
