//! Rows with missing values under a model: distances within it and to it, with their limits.

mod new_rows;

pub use new_rows::IncompleteNewRows;

use super::distributions::{chi2_quantile, chi2_upper};
use super::limits::{Rows, check_level, level_of, t2_limit_of, t2_tail, tail_of};
use super::samples::RowContributions;
use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
pub use crate::incomplete::SpeScale;
use crate::incomplete::{IncompleteModel, Method, Observed, Plane, Row, RowDistances, RowScores, dot};
use crate::linalg::Matrix;
use crate::scalar::{Scalar, compiled};

/// Rows with missing values under a model. Distances are of observed entries as the fit reads them: less their means,
/// scaled and weighted.
///
/// With observed entries `x`, the loadings `V` and the weights `W` of these entries, scores of covariance `S` and noise
/// of variance `v`, the squared distance `x' (V S V' + v W^-1)^-1 x` of a row is the sum of T² and `spe / v` (Nelson, Taylor
/// & MacGregor 1996, doi:10.1016/S0169-7439(96)00007-X; Tipping & Bishop 1999, doi:10.1111/1467-9868.00196). Both
/// are chi-squared for normal rows, whatever is missing. Complete rows have the T² and the squared prediction error of
/// principal component analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteSamples {
    /// Scores, shape (n_rows, n_components), and offsets, as [`IncompleteModel::row_scores`] returns them.
    pub scores: RowScores,
    /// Hotelling's T² of the scores that the observed entries determine, shape (n_rows,): `s' (S + v G^-1)^-1 s`, with
    /// least-squares scores `s` and `G = V' W V`.
    pub t2: Vec<f64>,
    /// Degrees of freedom of T², shape (n_rows,): the rank of `G`, at most the number of components with variance (and the
    /// offset).
    pub t2_degrees: Vec<usize>,
    /// Squared prediction error, or Q, shape (n_rows,): the weighted squared distance of the observed entries to the
    /// nearest point of the plane of the components.
    pub spe: Vec<f64>,
    /// Degrees of freedom of the squared prediction error, shape (n_rows,): the observed entries less the degrees of
    /// freedom of T².
    pub spe_degrees: Vec<usize>,
    /// Weighted squared distance of the observed entries to their means, shape (n_rows,).
    pub distance2: Vec<f64>,
}

/// Returns the diagnostics of rows with missing values, fitted or new.
///
/// Scores of methods that learn their variances have the covariance of the prior; scores of the others have the
/// variances along the components, less the noise of a row with the mean share of observed entries.
///
/// # Errors
/// As [`IncompleteModel::transform_with`].
pub fn incomplete_samples<T: Scalar>(
    model: &IncompleteModel,
    rows: &Observed<T>,
    run: &Run<'_>,
) -> Result<IncompleteSamples> {
    let scores = model.row_scores_with(rows, run)?;
    let find = compiled!(T, distances::<T>
        => fn(&IncompleteModel, &Observed<T>, &Run<'_>) -> Result<RowDistances>);
    let RowDistances { t2, t2_degrees, spe, spe_degrees, distance2 } = find(model, rows, run)?;
    Ok(IncompleteSamples { scores, t2, t2_degrees, spe, spe_degrees, distance2 })
}

fn distances<T: Scalar>(model: &IncompleteModel, rows: &Observed<T>, run: &Run<'_>) -> Result<RowDistances> {
    let rows = &*model.parts().scales.of_entries(rows, model.n_features(), run)?;
    Exec::run(run, |exec| RowDistances::of(model, rows, &exec.phase("distances")))
}

/// Returns the terms of each feature in T² and in the squared prediction error of rows, shape (n_rows, n_features) each.
/// Missing entries have NaN; residuals are multiplied by the square roots of the entry weights.
///
/// # Errors
/// As [`incomplete_samples`]; [`Error::TooLarge`] for results beyond the address space.
pub fn incomplete_row_contributions<T: Scalar>(
    model: &IncompleteModel,
    rows: &Observed<T>,
    run: &Run<'_>,
) -> Result<RowContributions> {
    let all: Vec<usize> = (0..rows.n_samples()).collect();
    incomplete_row_contributions_of(model, rows, &all, run)
}

/// As [`incomplete_row_contributions`], of the rows `chosen` alone, in this order: shape (chosen.len(), n_features) each.
///
/// # Errors
/// As [`incomplete_row_contributions`], and [`Error::Shape`] for a row that `rows` does not have.
pub fn incomplete_row_contributions_of<T: Scalar>(
    model: &IncompleteModel,
    rows: &Observed<T>,
    chosen: &[usize],
    run: &Run<'_>,
) -> Result<RowContributions> {
    let (n, p) = (chosen.len(), model.n_features());
    if let Some(row) = chosen.iter().find(|row| **row >= rows.n_samples()) {
        let (what, axis) = ("a row to diagnose", "rows");
        return Err(Error::Shape { what, axis, found: row + 1, expected: rows.n_samples() });
    }
    let rows = &*model.parts().scales.of_entries(rows, p, run)?;
    let mut t2 = Matrix::try_zeros("contributions of features", n, p)?;
    let mut residuals = Matrix::try_zeros("residuals of rows", n, p)?;
    t2.as_mut_slice().fill(f64::NAN);
    residuals.as_mut_slice().fill(f64::NAN);
    let plane = Plane::of(model);
    let mut row = Row::new(&plane);
    for (at, index) in chosen.iter().enumerate() {
        row.set(rows, *index);
        row.solve(*index)?;
        let shares = row.shares();
        for (column, weight, left) in row.residuals() {
            residuals[(at, column)] = weight.sqrt() * left;
        }
        for (column, weight, away) in &row.entries {
            t2[(at, *column)] = weight * away * dot(plane.loadings.row(*column), &shares);
        }
    }
    Ok(RowContributions { t2, residuals })
}

impl IncompleteSamples {
    /// Returns the limit that T² of each row, if it is normal, exceeds with probability `1 - level`, shape (n_rows,):
    /// by [`t2_limit`](super::t2_limit) for its degrees of freedom and `n` fitted rows, as their multiplicities count
    /// them. Of new rows it is multiplied by the factor that the model keeps ([`IncompleteNewRows`]). Zero without degrees.
    ///
    /// # Errors
    /// As [`t2_limit`](super::t2_limit).
    pub fn t2_limits(&self, model: &IncompleteModel, level: f64, rows: Rows) -> Result<Vec<f64>> {
        let n = model.row_totals().samples;
        let factor = factor_of(model, rows);
        by_degrees(&self.t2_degrees, |k| Ok(factor * t2_limit_of(k as f64, n, level, rows)?))
    }

    /// Returns the probability that T² of each row, if it is normal, is larger than it is, shape (n_rows,). NaN without
    /// degrees of freedom.
    pub fn t2_p_values(&self, model: &IncompleteModel, rows: Rows) -> Vec<f64> {
        let (n, factor) = (model.row_totals().samples, factor_of(model, rows));
        self.t2.iter().zip(&self.t2_degrees).map(|(t2, k)| t2_tail(*k as f64, n, t2 / factor, rows)).collect()
    }
}

/// The factor of the limit for T² that a model keeps.
fn factor_of(model: &IncompleteModel, rows: Rows) -> f64 {
    match rows {
        Rows::New => model.parts().t2_factor.unwrap_or(1.0),
        Rows::Fitted => 1.0,
    }
}

impl SpeScale {
    /// The scale of new rows, which the fit has found from its own rows as [`SpeScale::of_left_out`] does.
    ///
    /// Large models (1,000 rows and 100,000 entries or more), fits of rows in parts or without error bars, and models of
    /// earlier versions have none. There noise has one variance for all features, the noise variance `v` of the model, and the
    /// scale is `v (1 + h)`, because a new row meets the errors of the means and loadings: `h` is their number for each feature
    /// over the mean number of entries of a feature. The largest likelihood and posterior know their scores and loadings, so
    /// that their noise variance is too small by `1 - h`.
    pub fn of_model(model: &IncompleteModel) -> Self {
        if let Some(scale) = model.parts().spe_scale {
            return scale;
        }
        let n_scores = model.explained_variance().iter().filter(|v| **v > 0.0).count()
            + usize::from(model.parts().row_offsets.is_some());
        let h = ((n_scores + 1) as f64 / model.entries_of_feature()).min(0.5);
        let share = match model.convergence().method {
            Method::Ppca | Method::Map => 1.0 - h,
            _ => 1.0,
        };
        Self { variance: model.noise_variance() * (1.0 + h) / share, ..Self::NOTHING }
    }

    /// The scale of the errors of rows, for the same rows, with their weights. Rows without degrees of freedom do not count.
    ///
    /// # Errors
    /// [`Error::WeightLength`], [`Error::WeightValue`] and [`Error::WeightsAllZero`] as a fit.
    pub fn of_rows(found: &IncompleteSamples, weights: Option<&[f64]>) -> Result<Self> {
        Self::of_errors(&found.spe, (&found.spe_degrees, &found.distance2), weights)
    }

    /// The scale of new rows by the rows of the fit: as [`SpeScale::of_rows`], of errors over `(1 - h)^2`, with the share `h` of
    /// a row in the means and loadings of a feature, `(1 + T²)` over the mean number of entries of a feature, with T² in units
    /// of its mean for each degree of freedom. For complete rows it is the leverage, and the errors are near the errors
    /// of rows left out if the variances of the components are far above the noise; [`IncompleteNewRows`] leaves rows
    /// out. Weights are multiplicities, of which one is left out.
    ///
    /// # Errors
    /// As [`SpeScale::of_rows`].
    pub fn of_left_out(
        model: &IncompleteModel,
        found: &IncompleteSamples,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let distances = [&found.t2[..], &found.spe, &found.distance2];
        Self::left_out(
            model.entries_of_feature(),
            distances,
            [&found.t2_degrees, &found.spe_degrees],
            weights,
        )
    }

    /// Returns the limit that the squared prediction error of each row, if it is normal, exceeds with probability
    /// `1 - level`, shape (n_rows,). Infinite if errors are rounding, and for a row without degrees of freedom. If the scale is
    /// estimated for other rows, the level is as in [`SpeDistribution::limit`](super::SpeDistribution::limit).
    ///
    /// # Errors
    /// [`Error::Option`] for a level outside (0, 1).
    pub fn limits(&self, found: &IncompleteSamples, level: f64) -> Result<Vec<f64>> {
        check_level(level)?;
        let Self { variance, dispersion, n_observations } = *self;
        by_degrees(&found.spe_degrees, |degrees| {
            let d = degrees as f64;
            Ok(if variance == 0.0 || degrees == 0 {
                f64::INFINITY
            } else if dispersion == 0.0 {
                d * variance
            } else {
                let level = level_of(level, dispersion / d, n_observations);
                variance * dispersion * chi2_quantile(d / dispersion, level)
            })
        })
    }

    /// Returns the probability that the squared prediction error of each row, if it is normal, is larger than it is, shape
    /// (n_rows,). NaN if errors are rounding, and for a row without degrees of freedom.
    pub fn p_values(&self, found: &IncompleteSamples) -> Vec<f64> {
        let scale = self.variance * self.dispersion;
        let tail = |spe: f64, degrees: usize| {
            if scale == 0.0 || degrees == 0 {
                return f64::NAN;
            }
            let degrees = degrees as f64 / self.dispersion;
            tail_of(chi2_upper(spe / scale, degrees), 1.0 / degrees, self.n_observations)
        };
        found.spe.iter().zip(&found.spe_degrees).map(|(spe, degrees)| tail(*spe, *degrees)).collect()
    }
}

/// One value for each row by a function of its degrees of freedom, which is called once for each number of them.
fn by_degrees(degrees: &[usize], of: impl Fn(usize) -> Result<f64>) -> Result<Vec<f64>> {
    let most = degrees.iter().copied().max().unwrap_or(0);
    let mut known: Vec<Option<f64>> = vec![None; most + 1];
    let mut value = |d: usize| -> Result<f64> {
        let found = match known[d] {
            Some(found) => found,
            None => of(d)?,
        };
        known[d] = Some(found);
        Ok(found)
    };
    degrees.iter().map(|d| value(*d)).collect()
}
