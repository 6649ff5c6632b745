//! The fitted model.

use crate::error::{Error, Result, options};
use crate::linalg::{ColumnMap, Matrix};
use crate::pca::convergence::Convergence;
use crate::pca::{NComponents, Pca};
use crate::scaling::{Centring, Scaling};
use crate::weights::Weighting;

/// All fields of a model as plain data, for files and other languages.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelParts {
    /// Orthonormal rows, shape (n_components, n_features).
    pub components: Matrix,
    /// Variance along each component, descending, with the divisor of the weighting.
    pub explained_variance: Vec<f64>,
    /// Explained variance as a share of the total variance.
    pub explained_variance_ratio: Vec<f64>,
    /// Singular values of the centred (scaled, weighted) data.
    pub singular_values: Vec<f64>,
    /// The discarded variances, descending, where the fit found all of them: by an explicit matrix of at most 600 rows, or a
    /// full decomposition.
    pub discarded_variance: Option<Vec<f64>>,
    /// Mean of the discarded variances.
    pub noise_variance: f64,
    /// Trace of the covariance.
    pub total_variance: f64,
    /// Variance of each column after centring, scaling and weighting, with the divisor of the weighting; `None` in a
    /// model of a version that did not keep it.
    pub feature_variance: Option<Vec<f64>>,
    /// Number subtracted from each column: its mean, zero, or the given centre.
    pub mean: Vec<f64>,
    /// Scale that each column is divided by.
    pub scale: Vec<f64>,
    /// Weights of the columns, if given.
    pub feature_weights: Option<Vec<f64>>,
    /// For a model without centring, the variances of its scores about their mean, if they were computed.
    pub about_mean: Option<AboutMean>,
    /// Number of rows fitted, including rows of weight zero.
    pub n_samples: usize,
    /// Sum of the sample weights; `n_samples` without weights.
    pub sum_of_weights: f64,
    /// The effective number of rows $(\sum w)^2 / \sum w^2$ of weights of a population and of weights that decay; `None` where
    /// the number of observations follows from other fields, and in a model of a version that did not keep it.
    pub effective_samples: Option<f64>,
    /// The number of variances that can differ from zero, where columns determine one another, as the indicators of the
    /// categories of a variable do; `None` if only the numbers of rows and columns limit it.
    pub n_dimensions: Option<usize>,
    /// The numbers that give limits for new rows, if the model keeps them ([`NewRows::of`]).
    pub new_rows: Option<NewRows>,
    /// The options of the fit.
    pub options: Pca,
    /// Type of the data: `"f32"` or `"f64"`.
    pub dtype: String,
    /// Outcome of the fit.
    pub convergence: Convergence,
}

/// Variances of the scores about their mean, for a model whose explained variances are about zero. scikit-learn's
/// `TruncatedSVD` calls them explained variance.
#[derive(Clone, Debug, PartialEq)]
pub struct AboutMean {
    /// Variance of the scores along each component, with divisor n.
    pub variance: Vec<f64>,
    /// Share of the sum of the variances of the columns.
    pub ratio: Vec<f64>,
}

/// Numbers that give the limits for T² and for the squared prediction error of new rows. They are estimated from the rows of the
/// fit, each under a fit without it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewRows {
    /// Factor of the limit for T², above zero and at most one: [`LeftOut::t2_factor`](crate::diagnostics::LeftOut::t2_factor).
    pub t2_factor: f64,
    /// Mean of the squared prediction error; zero if nothing is discarded.
    pub spe: f64,
    /// Variance of the squared prediction error over twice its squared mean.
    pub spe_second: f64,
    /// Number of observations that mean and variance are estimated from; infinite if nothing is discarded.
    pub n_observations: f64,
}

impl NewRows {
    fn check(self) -> Result<()> {
        let Self { t2_factor, spe, spe_second, n_observations } = self;
        let are_sizes = [spe, spe_second].iter().all(|size| (0.0..f64::INFINITY).contains(size));
        if t2_factor > 0.0 && t2_factor <= 1.0 && are_sizes && n_observations > 0.0 {
            return Ok(());
        }
        let rule = "a factor above 0 and at most 1, a mean, a variance, and a number of observations above 0";
        let value = format!("{t2_factor}, {spe}, {spe_second}, {n_observations}");
        Err(Error::ModelValue { name: "new_rows", value, rule })
    }
}

/// A fitted principal component analysis. Made by [`Pca::fit`].
#[derive(Clone, Debug, PartialEq)]
pub struct PcaModel {
    parts: ModelParts,
    /// `sqrt(c) / d`.
    factor: Vec<f64>,
}

impl TryFrom<ModelParts> for PcaModel {
    type Error = Error;

    /// Checks that the shapes agree, that every scale is positive and finite, and that no weight is negative. Centres and
    /// scales that the options hold as given become `mean` and `scale`.
    fn try_from(mut parts: ModelParts) -> Result<Self> {
        let (k, p) = parts.components.shape();
        let about_mean =
            |of: fn(&AboutMean) -> &Vec<f64>| parts.about_mean.as_ref().map_or(k, |x| of(x).len());
        let lengths = [
            ("explained_variance", parts.explained_variance.len(), k),
            ("explained_variance_ratio", parts.explained_variance_ratio.len(), k),
            ("singular_values", parts.singular_values.len(), k),
            ("residuals", parts.convergence.residuals.len(), k),
            ("mean", parts.mean.len(), p),
            ("scale", parts.scale.len(), p),
            ("feature_weights", parts.feature_weights.as_ref().map_or(p, Vec::len), p),
            ("feature_variance", parts.feature_variance.as_ref().map_or(p, Vec::len), p),
            ("the variance about the mean", about_mean(|x| &x.variance), k),
            ("the share of the variance about the mean", about_mean(|x| &x.ratio), k),
        ];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(Error::Shape { what, axis: "values", found, expected });
            }
        }
        if let Some(scale) = parts.scale.iter().find(|scale| !(**scale > 0.0 && scale.is_finite())) {
            let rule = "columns are divided by it, so it is positive and finite";
            return Err(Error::ModelValue { name: "scale", value: scale.to_string(), rule });
        }
        if let Some(weight) = parts.feature_weights.iter().flatten().find(|weight| **weight < 0.0) {
            let rule = "a weight must not be negative";
            return Err(Error::ModelValue { name: "feature_weights", value: weight.to_string(), rule });
        }
        if let Some(found) = parts.effective_samples.filter(|found| !(*found > 0.0 && found.is_finite())) {
            let rule = "a number of observations is positive and finite";
            return Err(Error::ModelValue { name: "effective_samples", value: found.to_string(), rule });
        }
        let discarded = parts.discarded_variance.as_deref().unwrap_or(&[]);
        let all = || parts.explained_variance.last().into_iter().chain(discarded);
        if let Some(value) = all().zip(all().skip(1)).find(|(a, b)| !(a >= b && **b >= 0.0)).map(|(_, b)| b) {
            let rule = "variances descend and are not negative";
            return Err(Error::ModelValue { name: "discarded_variance", value: value.to_string(), rule });
        }
        if let Some(found) = parts.n_dimensions.filter(|found| !(k..=p).contains(found)) {
            let rule = "it is at least the components and at most the columns";
            return Err(Error::ModelValue { name: "n_dimensions", value: found.to_string(), rule });
        }
        parts.new_rows.map_or(Ok(()), NewRows::check)?;
        if let Centring::Given(centers) = &mut parts.options.center {
            centers.clone_from(&parts.mean);
        }
        if let Scaling::Given(scales) = &mut parts.options.scale {
            scales.clone_from(&parts.scale);
        }
        let factor = (0..p)
            .map(|j| parts.feature_weights.as_ref().map_or(1.0, |c| c[j].sqrt()) / parts.scale[j])
            .collect();
        Ok(Self { parts, factor })
    }
}

impl PcaModel {
    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.parts.components.n_rows()
    }

    /// Number of columns of the data.
    pub fn n_features(&self) -> usize {
        self.parts.components.n_cols()
    }

    /// Number of rows fitted, including rows of weight zero.
    pub fn n_samples(&self) -> usize {
        self.parts.n_samples
    }

    /// Principal axes as orthonormal rows, shape (n_components, n_features). In each row the entry of largest
    /// absolute value is positive.
    pub fn components(&self) -> &Matrix {
        &self.parts.components
    }

    /// Variance along each component, descending, about what was subtracted ([`Centring`]); the weighting determines
    /// the divisor (n - 1 without weights).
    pub fn explained_variance(&self) -> &[f64] {
        &self.parts.explained_variance
    }

    /// Explained variance as a share of the total variance, which every route computes exactly.
    pub fn explained_variance_ratio(&self) -> &[f64] {
        &self.parts.explained_variance_ratio
    }

    /// Singular values of the mapped data. Their squares are the population variance times the number of
    /// observations: the sum of the weights, or for importance weights the effective number `1 / sum(v^2)`.
    pub fn singular_values(&self) -> &[f64] {
        &self.parts.singular_values
    }

    /// The number subtracted from each column: its mean, zero if the fit did not centre, or the given centre.
    pub fn mean(&self) -> &[f64] {
        &self.parts.mean
    }

    /// The number that divides each column: with [`Scaling::Deviation`] its standard deviation, with the divisor of the
    /// weighting (n - 1 without weights, as R's `prcomp`). Ones if the fit did not scale, one for a constant column unless
    /// scales were given.
    pub fn scale(&self) -> &[f64] {
        &self.parts.scale
    }

    /// The weights of the columns, if given.
    pub fn feature_weights(&self) -> Option<&[f64]> {
        self.parts.feature_weights.as_deref()
    }

    /// The sum of all variances, kept and discarded.
    pub fn total_variance(&self) -> f64 {
        self.parts.total_variance
    }

    /// The mean of the discarded variances, as in probabilistic PCA (Tipping & Bishop 1999); zero if all are kept.
    pub fn noise_variance(&self) -> f64 {
        self.parts.noise_variance
    }

    /// Sum of the sample weights; the number of rows without weights.
    pub fn sum_of_weights(&self) -> f64 {
        self.parts.sum_of_weights
    }

    /// The number of observations that the rows count as: the sum of frequency weights; the effective number
    /// $(\sum w)^2 / \sum w^2$ of importance and population weights, and of weights that decay in a stream (Kish 1965).
    /// Limits, tests and rules take it from here. In a model of version 0.2.0, which did not keep the effective number of
    /// population weights, their sum.
    pub fn n_observations(&self) -> f64 {
        if let Some(effective) = self.parts.effective_samples {
            return effective;
        }
        let (variance, value) = (self.explained_variance().first(), self.singular_values().first());
        match (self.options().weighting, variance.zip(value)) {
            // The reported variance has the divisor n - 1, the squared singular value none.
            (Weighting::Importance, Some((variance, value))) if *variance > 0.0 => {
                (value / variance.sqrt()).powi(2) + 1.0
            }
            (Weighting::Importance, _) => self.n_samples() as f64,
            (Weighting::Frequency | Weighting::Population, _) => self.sum_of_weights(),
        }
    }

    /// The divisor of the reported variances: times this they are sums of squares over [`PcaModel::n_observations`] rows.
    pub(crate) fn divisor(&self) -> f64 {
        let (n, sum) = (self.n_observations(), self.sum_of_weights());
        match self.options().weighting {
            Weighting::Population => n,
            // Weights that decay have the divisor of counts.
            Weighting::Frequency if n != sum => (sum - 1.0) * (n / sum),
            Weighting::Frequency | Weighting::Importance => n - 1.0,
        }
    }

    /// The number of dimensions that the columns can have: fewer than the columns if these determine one another.
    pub fn n_dimensions(&self) -> usize {
        self.parts.n_dimensions.unwrap_or(self.n_features())
    }

    /// The model of columns that have so many dimensions.
    pub(crate) fn with_dimensions(mut self, n_dimensions: usize) -> Self {
        self.parts.n_dimensions = Some(n_dimensions);
        self
    }

    /// The model with an effective number of rows of its own, or with the sum of the weights.
    pub(crate) fn with_effective_samples(mut self, effective: Option<f64>) -> Self {
        self.parts.effective_samples = effective;
        self
    }

    /// The numbers that give limits for new rows, if the model keeps them.
    pub fn new_rows(&self) -> Option<NewRows> {
        self.parts.new_rows
    }

    /// The model that keeps the numbers for limits of new rows ([`NewRows::of`]).
    #[must_use]
    pub fn with_new_rows(mut self, new_rows: NewRows) -> Self {
        self.parts.new_rows = Some(new_rows);
        self
    }

    /// The options of the fit.
    pub fn options(&self) -> &Pca {
        &self.parts.options
    }

    /// Outcome of the fit: route, reason, passes, residuals.
    pub fn convergence(&self) -> &Convergence {
        &self.parts.convergence
    }

    /// All fields, as plain data.
    pub fn parts(&self) -> &ModelParts {
        &self.parts
    }

    /// Components times the square root of their variance, shape (n_features, n_components): with
    /// [`Scaling::Deviation`], the correlations of features and components.
    pub fn loadings(&self) -> Matrix {
        let deviations: Vec<f64> = self.explained_variance().iter().map(|v| v.sqrt()).collect();
        Matrix::from_fn(self.n_features(), self.n_components(), |j, c| {
            self.components()[(c, j)] * deviations[c]
        })
    }

    /// The model of the `k` leading components, as a fit gives that keeps `k`. The discarded variances are counted again, from
    /// the ones that this model keeps and the mean of the others. Limits for new rows are not kept for fewer components.
    ///
    /// # Errors
    /// [`Error::Option`] for no component, or more than this model has.
    pub fn leading(&self, k: usize) -> Result<Self> {
        let variances = self.explained_variance();
        if k == 0 || k > variances.len() {
            let rule = format!("the model has {} components", variances.len());
            return Err(Error::option(options::N_COMPONENTS, k, rule));
        }
        let others = (self.total_variance() - variances.iter().sum::<f64>()).max(0.0);
        let n_others =
            if self.noise_variance() > 0.0 { (others / self.noise_variance()).round() } else { 0.0 };
        let dropped = &variances[k..];
        let mut parts = self.parts.clone();
        if !dropped.is_empty() {
            let sum = others + dropped.iter().sum::<f64>();
            let n = n_others + dropped.len() as f64;
            // As in a fit: a sum within rounding of the total is zero.
            let negligible = sum <= self.total_variance() * f64::EPSILON * (k as f64 + n);
            parts.noise_variance = if negligible { 0.0 } else { sum / n };
        }
        parts.options.n_components = NComponents::Count(k);
        if !dropped.is_empty() && (parts.discarded_variance.is_some() || n_others == 0.0) {
            let discarded = parts.discarded_variance.take().unwrap_or_default();
            parts.discarded_variance = Some([dropped, &discarded].concat());
        }
        parts.new_rows = parts.new_rows.filter(|_| dropped.is_empty());
        parts.truncate(k);
        Self::try_from(parts)
    }

    /// This model without components of variance zero.
    #[must_use]
    pub(crate) fn with_variance(mut self) -> Self {
        let k = self.explained_variance().iter().take_while(|&&variance| variance > 0.0).count();
        if k < self.n_components() {
            self.parts.truncate(k);
        }
        self
    }

    /// The map that the fit applied to every row.
    pub(crate) fn map(&self) -> ColumnMap<'_> {
        ColumnMap { shift: self.mean(), remainder: &[], factor: &self.factor }
    }
}

impl ModelParts {
    /// Drops the components behind the first `k`.
    fn truncate(&mut self, k: usize) {
        self.components = self.components.rows(0..k);
        let rows =
            [&mut self.explained_variance, &mut self.explained_variance_ratio, &mut self.singular_values];
        rows.into_iter().for_each(|row| row.truncate(k));
        if let Some(AboutMean { variance, ratio }) = &mut self.about_mean {
            [variance, ratio].into_iter().for_each(|row| row.truncate(k));
        }
        self.convergence.truncate(k);
    }
}
