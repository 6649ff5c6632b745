//! The fitted model.

pub(crate) mod conformal;
pub(crate) mod convergence;
pub(crate) mod dominant;
pub(crate) mod feature_noise;
pub(crate) mod likelihood;
pub(crate) mod new_rows;
pub(crate) mod plane;
pub(crate) mod predict;
pub(crate) mod row_errors;
pub(crate) mod transform;
pub(crate) mod validity;

use crate::error::{Error, Result};
use crate::incomplete::data::ColumnScales;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::covariances::Covariances;
use crate::incomplete::factors::prior::{NormalPrior, Prior};
use crate::incomplete::model::convergence::{
    FarPredictions, IncompleteConvergence, RunSummary, StartAgreement,
};
use crate::incomplete::model::row_errors::SpeScale;
use crate::incomplete::options::IncompletePca;
use crate::linalg::Matrix;
use crate::scalar::Scalar;

/// Scores and offsets of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowScores {
    /// Shape (n_rows, n_components).
    pub scores: Matrix,
    /// The offset of each row, shape (n_rows,), of fits with row offsets.
    pub offsets: Option<Vec<f64>>,
}

/// Sums over the rows of a fit, each times its multiplicity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowTotals {
    /// Number of rows with entries; of all rows where fewer than the components have any.
    pub samples: f64,
    /// Number of observed entries.
    pub entries: f64,
    /// Variance of the row offsets, divisor `samples` - 1; zero without row offsets.
    pub offset_variance: f64,
}

/// The content of a model, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteParts {
    /// Orthonormal rows, shape (n_components, n_features).
    pub components: Matrix,
    /// The mean of each feature, in the units of the data.
    pub mean: Vec<f64>,
    /// Scales and weights of the columns: components, scores and variances are of scaled and weighted entries.
    pub scales: ColumnScales,
    /// Variance along each component, descending: variance of the scores with divisor n - 1, n rows with entries, or for a
    /// posterior the expected moments `(1/n) sum_i E s_ik^2 sum_j E v_jk^2`.
    pub explained_variance: Vec<f64>,
    /// Explained variance over total variance; the sum is at most one.
    pub explained_variance_ratio: Vec<f64>,
    /// Norms of the columns of the scores.
    pub singular_values: Vec<f64>,
    /// Variance of complete rows under the fit, summed over features: of the components, of the row offsets,
    /// and the residual variance of the observed entries or the noise of a posterior. For complete data, the
    /// variance of the data.
    pub total_variance: f64,
    /// Variance of each feature without the variance along the components and of the row offsets, shape (n_features,),
    /// in the units of the components. `None` in models of earlier versions.
    pub residual_variance: Option<Vec<f64>>,
    /// Variance of an observation about its prediction, of all features together; an observation of weight w has this
    /// variance over w.
    pub noise_variance: f64,
    /// As `noise_variance`, of the observations of each feature, shape (n_features,), in the units of the components. `None`
    /// without error bars, without noise, and in models of earlier versions, whose features have the noise of all.
    pub feature_noise_variance: Option<Vec<f64>>,
    /// Errors of the entries that the fit has held out, over their standard deviations, absolute and ascending: of
    /// `conformal`.
    pub conformal_errors: Option<Vec<f64>>,
    /// The factor of the limit for T² of new rows, if it is kept
    /// ([`IncompleteNewRows`](crate::diagnostics::IncompleteNewRows)).
    pub t2_factor: Option<f64>,
    /// The scale of the squared prediction errors of new rows, from the rows of the fit; `None` where
    /// [`SpeScale::of_model`] takes the noise variance.
    pub spe_scale: Option<SpeScale>,
    /// Shape (n_samples, n_components).
    pub scores: Matrix,
    /// The offset of each sample, shape (n_samples,), with row offsets.
    pub row_offsets: Option<Vec<f64>>,
    /// Posterior covariances of the scores of each sample; with row offsets the last row and column belong to the
    /// offset.
    pub score_covariances: Option<Covariances>,
    /// Posterior covariances of the loadings of each feature.
    pub loading_covariances: Option<Covariances>,
    /// Posterior variance of the mean of each feature, in the units of the data.
    pub mean_variance: Vec<f64>,
    /// The prior of the means, if the fit learned it, in the units of the data.
    pub mean_prior: Option<NormalPrior>,
    /// Gaussian prior on the scores of new rows.
    pub prior: Prior,
    /// Number of observed entries of each feature.
    pub n_observed: Vec<usize>,
    /// The fitted rows, as their multiplicities count them. `None` in models of earlier versions.
    pub row_totals: Option<RowTotals>,
    /// The options of the fit.
    pub options: IncompletePca,
    /// `"f32"` or `"f64"`: the type of the data.
    pub dtype: String,
    /// Convergence of the fit.
    pub convergence: IncompleteConvergence,
}

/// A predicted entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Predicted mean.
    pub value: f64,
    /// Variance of the value without noise; `None` if the fit kept no error bars.
    pub variance: Option<f64>,
    /// Noise variance of an observation of the feature.
    pub noise_variance: f64,
}

impl Prediction {
    /// Standard deviation of a new observation, including noise.
    pub fn std(&self) -> Option<f64> {
        self.variance.map(|variance| (variance + self.noise_variance).sqrt())
    }

    /// Standard deviation of the value without noise.
    pub fn noise_free_std(&self) -> Option<f64> {
        self.variance.map(f64::sqrt)
    }
}

/// A fitted principal component analysis of data with missing values, made by [`IncompletePca::fit`].
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteModel {
    parts: IncompleteParts,
}

impl TryFrom<IncompleteParts> for IncompleteModel {
    type Error = Error;

    /// Checks shapes, ranges of numbers, and options.
    fn try_from(parts: IncompleteParts) -> Result<Self> {
        let (c, p) = parts.components.shape();
        let n = parts.scores.n_rows();
        let all = c + usize::from(parts.row_offsets.is_some());
        let width = |c: usize| c * (c + 1) / 2;
        let packed = |covariances: &Option<Covariances>, expected: usize| {
            covariances.as_ref().map_or(expected, |x| x.packed.len())
        };
        let size = |covariances: &Option<Covariances>, c: usize| {
            covariances.as_ref().map_or(c, |covariances| covariances.n_components)
        };
        let lengths = [
            ("mean", parts.mean.len(), p),
            ("scale", parts.scales.scale.as_ref().map_or(p, Vec::len), p),
            ("feature_weights", parts.scales.weights.as_ref().map_or(p, Vec::len), p),
            ("explained_variance", parts.explained_variance.len(), c),
            ("explained_variance_ratio", parts.explained_variance_ratio.len(), c),
            ("singular_values", parts.singular_values.len(), c),
            ("scores", parts.scores.n_cols(), c),
            ("row_offsets", parts.row_offsets.as_ref().map_or(n, Vec::len), n),
            ("score_covariances", size(&parts.score_covariances, all), all),
            ("score_covariances", packed(&parts.score_covariances, n * width(all)), n * width(all)),
            ("loading_covariances", size(&parts.loading_covariances, c), c),
            ("loading_covariances", packed(&parts.loading_covariances, p * width(c)), p * width(c)),
            ("mean_variance", parts.mean_variance.len(), p),
            ("prior", parts.prior.precision.n_rows().max(parts.prior.precision.n_cols()), all),
            ("prior", parts.prior.precision.as_slice().len(), all * all),
            ("prior", parts.prior.mean.len(), all),
            ("n_observed", parts.n_observed.len(), p),
            ("residual_variance", parts.residual_variance.as_ref().map_or(p, Vec::len), p),
            ("feature_noise_variance", parts.feature_noise_variance.as_ref().map_or(p, Vec::len), p),
        ];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(Error::Shape { what, axis: "values", found, expected });
            }
        }
        parts.check_values()?;
        Ok(Self { parts })
    }
}

impl IncompleteModel {
    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.parts.components.n_rows()
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        self.parts.components.n_cols()
    }

    /// Number of fitted rows. The model holds their scores, unless they were fitted in parts.
    pub fn n_samples(&self) -> usize {
        self.parts.convergence.n_samples_in_parts.unwrap_or(self.parts.scores.n_rows())
    }

    /// Sums over the fitted rows; of models of earlier versions, as if each had multiplicity one.
    pub fn row_totals(&self) -> RowTotals {
        let parts = &self.parts;
        parts.row_totals.unwrap_or_else(|| {
            let offsets = parts.row_offsets.as_deref().unwrap_or(&[]);
            RowTotals {
                samples: self.n_samples() as f64,
                entries: parts.n_observed.iter().map(|n| *n as f64).sum(),
                offset_variance: offsets.iter().map(|b| b * b).sum::<f64>()
                    / (offsets.len().max(2) as f64 - 1.0),
            }
        })
    }

    /// Principal axes as orthonormal rows, shape (n_components, n_features), in order of variance. The entry of
    /// largest absolute value in each row is positive.
    pub fn components(&self) -> &Matrix {
        &self.parts.components
    }

    /// The mean of each feature, in the units of the data.
    pub fn mean(&self) -> &[f64] {
        &self.parts.mean
    }

    /// Components times the standard deviations along them, shape (n_features, n_components).
    pub fn loadings(&self) -> Matrix {
        let deviations: Vec<f64> = self.explained_variance().iter().map(|variance| variance.sqrt()).collect();
        Matrix::from_fn(self.n_features(), self.n_components(), |j, k| {
            self.components()[(k, j)] * deviations[k]
        })
    }

    /// Variance of the scores along each component, descending; divisor n - 1, with n rows with entries. For a posterior the
    /// expected moments `(1/n) sum_i E s_ik^2 sum_j E v_jk^2`, because posterior means alone are shrunk; for
    /// `vb-fixed`, whose prior is fixed, the variance of the posterior means.
    pub fn explained_variance(&self) -> &[f64] {
        &self.parts.explained_variance
    }

    /// Explained variance over the total variance of complete rows under the fit: of the components, of the
    /// row offsets, and the residual variance. For complete data the total is the variance of the data.
    pub fn explained_variance_ratio(&self) -> &[f64] {
        &self.parts.explained_variance_ratio
    }

    /// Norms of the columns of the scores.
    pub fn singular_values(&self) -> &[f64] {
        &self.parts.singular_values
    }

    /// Variance of an observation about its prediction, of all features together, in the squared units of the components.
    pub fn noise_variance(&self) -> f64 {
        self.parts.noise_variance
    }

    /// Variance of the observations of each feature about their predictions, shape (n_features,), in the squared units of
    /// the data: from the residuals of its entries, as they would be if each entry were left out, shrunk towards
    /// [`IncompleteModel::noise_variance`] (`docs/missing-values-variational.md`). That of all features for fits without error
    /// bars and models of earlier versions.
    pub fn feature_noise_variance(&self) -> Vec<f64> {
        (0..self.n_features()).map(|j| self.noise_in(j) / self.parts.scales.factor(j).powi(2)).collect()
    }

    /// The noise variance of a feature in the units of the components.
    fn noise_in(&self, column: usize) -> f64 {
        self.parts.feature_noise_variance.as_ref().map_or(self.parts.noise_variance, |noise| noise[column])
    }

    /// Scores of the fitted rows, shape (n_samples, n_components).
    pub fn scores(&self) -> &Matrix {
        &self.parts.scores
    }

    /// The offset of each fitted row, with row offsets. Offsets sum to zero over rows with entries (if the mean is
    /// fitted), and components to zero over features: an offset is the common part of a row.
    pub fn row_offsets(&self) -> Option<&[f64]> {
        self.parts.row_offsets.as_deref()
    }

    /// Variance of each feature of complete rows under the fit, shape (n_features,), in the squared units of the data:
    /// along the components, of the row offsets, and the rest. For complete data the variance of the data. A model of
    /// an earlier version has the noise variance as the rest.
    pub fn feature_variance(&self) -> Vec<f64> {
        let parts = &self.parts;
        let of_offsets = self.row_totals().offset_variance;
        (0..self.n_features())
            .map(|j| {
                let rest = parts.residual_variance.as_ref().map_or(parts.noise_variance, |left| left[j]);
                let along = |(k, l): (usize, &f64)| l * parts.components[(k, j)].powi(2);
                let fitted: f64 = parts.explained_variance.iter().enumerate().map(along).sum();
                (fitted + rest + of_offsets) / parts.scales.factor(j).powi(2)
            })
            .collect()
    }

    /// Posterior covariances of the scores; with row offsets the last row and column belong to the offset.
    pub fn score_covariances(&self) -> Option<&Covariances> {
        self.parts.score_covariances.as_ref()
    }

    /// Convergence of the fit.
    pub fn convergence(&self) -> &IncompleteConvergence {
        &self.parts.convergence
    }

    /// Records all runs of the fit, and the agreement of its starts.
    pub(crate) fn record(&mut self, runs: Vec<RunSummary>, starts: Option<StartAgreement>, refitted: bool) {
        self.parts.convergence.runs = runs;
        self.parts.convergence.starts = starts;
        self.parts.convergence.refitted = refitted;
    }

    /// Records the error of the held-out entries.
    pub(crate) fn record_held_out(&mut self, rmse: f64) {
        self.parts.convergence.held_out_rmse = Some(rmse);
    }

    /// The loadings, means and scores, with the row offsets.
    pub(crate) fn factors<T: Scalar>(&self) -> Factors<T> {
        let IncompleteParts { components, scores, mean, row_offsets, .. } = &self.parts;
        Factors::with_offsets(&components.transposed(), scores, mean, row_offsets.as_deref())
    }

    /// Renumbers the row of the farthest prediction; drops the record if `name` returns `None`.
    pub(crate) fn rename_rows(&mut self, name: impl Fn(usize) -> Option<usize>) {
        let far = &mut self.parts.convergence.far;
        *far = far.and_then(|far| Some(FarPredictions { row: name(far.row)?, ..far }));
    }

    /// Replaces scores, offsets and score covariances.
    pub(crate) fn with_rows(self, rows: RowScores, score_covariances: Option<Covariances>) -> Self {
        let RowScores { scores, offsets } = rows;
        Self { parts: IncompleteParts { scores, row_offsets: offsets, score_covariances, ..self.parts } }
    }

    /// Changes the columns of all parts; `change` keeps them consistent.
    pub(crate) fn with_columns(mut self, change: impl FnOnce(&mut IncompleteParts)) -> Self {
        change(&mut self.parts);
        self
    }

    /// The model of the data whose entries, in the units of `scales`, it was fitted to.
    pub(crate) fn with_scales(mut self, scales: ColumnScales) -> Self {
        let parts = &mut self.parts;
        for (column, (mean, variance)) in parts.mean.iter_mut().zip(&mut parts.mean_variance).enumerate() {
            let factor = scales.factor(column);
            *mean /= factor;
            *variance /= factor * factor;
        }
        if let Some(far) = &mut parts.convergence.far {
            far.value /= scales.factor(far.column);
        }
        parts.scales = scales;
        self
    }

    /// The model with a mean and its variance, in the units of the data, for features without entries.
    pub(crate) fn with_unseen_means(mut self, (mean, variance): (f64, f64)) -> Self {
        let parts = &mut self.parts;
        for j in (0..parts.n_observed.len()).filter(|j| parts.n_observed[*j] == 0) {
            (parts.mean[j], parts.mean_variance[j]) = (mean, variance);
        }
        self
    }

    /// The mean of each feature in the units of the fit.
    pub(crate) fn mean_in_units(&self) -> Vec<f64> {
        let mut mean = self.parts.mean.clone();
        self.parts.scales.apply(&mut mean);
        mean
    }

    /// Standard deviations by which columns are divided, shape (n_features,), if they are.
    pub fn scale(&self) -> Option<&[f64]> {
        self.parts.scales.scale.as_deref()
    }

    /// Weights of the columns of the fit, shape (n_features,), if given.
    pub fn feature_weights(&self) -> Option<&[f64]> {
        self.parts.scales.weights.as_deref()
    }

    /// Number of scores per row: components, plus one with row offsets.
    pub(super) fn n_scores(&self) -> usize {
        self.n_components() + usize::from(self.parts.row_offsets.is_some())
    }

    /// The content of the model, as plain data.
    pub fn parts(&self) -> &IncompleteParts {
        &self.parts
    }
}
