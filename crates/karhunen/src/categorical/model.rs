//! The fitted model.

use super::column::Column;
use super::encoding::{Encoding, Variable};
use super::fit::rows;
use super::options::{Analysis, CategoricalPca};
use crate::error::{Error, Result};
use crate::exec::Run;
use crate::linalg::{Matrix, SparseMatrix};
use crate::pca::{PcaModel, Transform};
use crate::weights::NormalizedWeights;

/// All fields of a model as plain data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CategoricalParts {
    /// The options of the fit.
    pub(super) options: CategoricalPca,
    /// The columns of the table, in their order.
    pub(super) variables: Vec<Variable>,
    /// The share of the weight of the rows of each category.
    pub(super) shares: Vec<f64>,
    /// The squared distance of each category from the mean, in the space of its coordinates; zero without weight.
    pub(super) distances: Vec<f64>,
    /// The PCA of the standardised numbers and indicators.
    pub(super) pca: PcaModel,
}

/// A fitted MCA or FAMD. Made by [`CategoricalPca::fit`].
#[derive(Clone, Debug, PartialEq)]
pub struct CategoricalModel {
    options: CategoricalPca,
    encoding: Encoding,
    shares: Vec<f64>,
    distances: Vec<f64>,
    pca: PcaModel,
}

impl TryFrom<CategoricalParts> for CategoricalModel {
    type Error = Error;

    /// Checks that the shapes agree, that shares are at most one and that deviations are positive.
    fn try_from(parts: CategoricalParts) -> Result<Self> {
        let CategoricalParts { options, variables, shares, distances, pca } = parts;
        let encoding = Encoding { variables };
        let n_categories = encoding.starts().last().copied().unwrap_or(0);
        let lengths = [
            ("the shares of categories", shares.len(), n_categories),
            ("the distances of categories", distances.len(), n_categories),
            ("the components", pca.n_features(), encoding.n_numbers() + n_categories),
        ];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(Error::Shape { what, axis: "values", found, expected });
            }
        }
        if encoding.of_categories().any(|(_, categories)| categories.is_empty()) {
            let rule = "a variable has one category at least";
            return Err(Error::ModelValue { name: "a number of categories", value: "0".to_owned(), rule });
        }
        // A sum of shares may exceed one by rounding.
        if let Some(share) = shares.iter().find(|share| !(0.0..1.0 + 1e-6).contains(*share)) {
            let rule = "a share lies between 0 and 1";
            return Err(Error::ModelValue { name: "a share", value: share.to_string(), rule });
        }
        let mut deviations = encoding.variables.iter().filter_map(|variable| match variable {
            Variable::Numbers { deviation, .. } => Some(*deviation),
            Variable::Categories { .. } => None,
        });
        if let Some(deviation) = deviations.find(|deviation| !(*deviation > 0.0 && deviation.is_finite())) {
            let rule = "columns are divided by it, so it is positive and finite";
            return Err(Error::ModelValue { name: "a deviation", value: deviation.to_string(), rule });
        }
        Ok(Self { options, encoding, shares, distances, pca })
    }
}

impl CategoricalModel {
    /// The options of the fit.
    pub fn options(&self) -> &CategoricalPca {
        &self.options
    }

    /// The columns of the table, in their order.
    pub fn variables(&self) -> &[Variable] {
        &self.encoding.variables
    }

    /// The PCA of the matrix whose columns are the standardised numbers and the indicators of the categories. Its options
    /// divide indicators by the shares of categories in these rows, so that a bootstrap with them is of another analysis: fit
    /// drawn rows of the table.
    pub fn pca(&self) -> &PcaModel {
        &self.pca
    }

    /// Number of rows fitted, including rows of weight zero.
    pub fn n_samples(&self) -> usize {
        self.pca.n_samples()
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.pca.n_components()
    }

    /// Variances of the coordinates of the rows, descending, with the divisor sum of weights.
    pub fn eigenvalues(&self) -> &[f64] {
        self.pca.explained_variance()
    }

    /// Eigenvalues as shares of the total inertia.
    pub fn ratio(&self) -> &[f64] {
        self.pca.explained_variance_ratio()
    }

    /// Names such as `sex=f`, in the order of the variables and of their categories.
    pub fn category_names(&self) -> Vec<String> {
        self.feature_names().split_off(self.encoding.n_numbers())
    }

    /// Names of the columns of [`CategoricalModel::pca`]: of the numbers, then of the categories.
    pub fn feature_names(&self) -> Vec<String> {
        self.encoding.feature_names()
    }

    /// The share of the weight of the rows with each category; zero if no row with weight has it.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Principal coordinates of rows, of the fit or supplementary, shape (n_rows, n_components). The weighted variances
    /// of rows of the fit are [`CategoricalModel::eigenvalues`].
    ///
    /// # Errors
    /// [`Error::Categories`] if the columns or their order differ from the fit, if a row has a category that no
    /// row of the fit had, or lacks a value where none of the fit did, and for numbers that are not finite;
    /// [`Error::Shape`] for another number of columns.
    pub fn transform(&self, columns: &[Column]) -> Result<Matrix> {
        self.transform_with(columns, Transform::default(), &Run::default())
    }

    /// As [`CategoricalModel::transform`], with options, and with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`CategoricalModel::transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn transform_with(&self, columns: &[Column], how: Transform, run: &Run<'_>) -> Result<Matrix> {
        self.pca.transform_with(&self.encoding.matrix(columns)?.view(), how, run)
    }

    /// As [`CategoricalModel::transform_with`], of rows that may have categories that no row of the fit had, or lack values
    /// where none of the fit did: their indicators are zero, and the coordinates are those by the other columns.
    ///
    /// # Errors
    /// As [`CategoricalModel::transform_with`], except for such rows.
    pub fn transform_known_with(&self, columns: &[Column], how: Transform, run: &Run<'_>) -> Result<Matrix> {
        self.pca.transform_with(&self.encoding.matrix_of(columns, true)?.view(), how, run)
    }

    /// The share of each row of the fit in the variance of each component, shape (n_rows, n_components), given the rows
    /// and weights of the fit; the shares of a component sum to one.
    ///
    /// # Errors
    /// As [`CategoricalModel::transform`]; errors of weights.
    pub fn row_contributions(&self, columns: &[Column], weights: Option<&[f64]>) -> Result<Matrix> {
        self.row_contributions_with(columns, weights, &Run::default())
    }

    /// As [`CategoricalModel::row_contributions`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`CategoricalModel::row_contributions`], and [`Error::Stopped`] if the observer cancels.
    pub fn row_contributions_with(
        &self,
        columns: &[Column],
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<Matrix> {
        let mut found = self.transform_with(columns, Transform::default(), run)?;
        let (n, k) = found.shape();
        let shares = NormalizedWeights::new(weights, n)?.values;
        let share = |i: usize| shares.as_ref().map_or(1.0 / n as f64, |shares| shares[i]);
        for i in 0..n {
            for c in 0..k {
                found[(i, c)] = share(i) * found[(i, c)].powi(2) / self.eigenvalues()[c];
            }
        }
        Ok(found)
    }

    /// The share of the squared distance of each row from the mean along each component, shape (n_rows, n_components);
    /// NaN for a row at the mean.
    ///
    /// # Errors
    /// As [`CategoricalModel::transform`].
    pub fn row_cos2(&self, columns: &[Column]) -> Result<Matrix> {
        self.row_cos2_with(columns, &Run::default())
    }

    /// As [`CategoricalModel::row_cos2`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`CategoricalModel::row_cos2`], and [`Error::Stopped`] if the observer cancels.
    pub fn row_cos2_with(&self, columns: &[Column], run: &Run<'_>) -> Result<Matrix> {
        self.cos2_of(&self.encoding.matrix(columns)?, run)
    }

    /// As [`CategoricalModel::row_cos2_with`], of rows as [`CategoricalModel::transform_known_with`] takes them.
    ///
    /// # Errors
    /// As [`CategoricalModel::transform_known_with`].
    pub fn row_cos2_known_with(&self, columns: &[Column], run: &Run<'_>) -> Result<Matrix> {
        self.cos2_of(&self.encoding.matrix_of(columns, true)?, run)
    }

    fn cos2_of(&self, matrix: &SparseMatrix<f64>, run: &Run<'_>) -> Result<Matrix> {
        let mut found = self.pca.transform_with(&matrix.view(), Transform::default(), run)?;
        let (mean, scale) = (self.pca.mean(), self.pca.scale());
        let at_zero: Vec<f64> = mean.iter().zip(scale).map(|(mean, scale)| (mean / scale).powi(2)).collect();
        let of_zeros: f64 = at_zero.iter().sum();
        for (i, (indices, values)) in rows(matrix).enumerate() {
            let stored = indices.iter().map(|j| *j as usize).zip(values);
            let moved: f64 =
                stored.map(|(j, value)| ((value - mean[j]) / scale[j]).powi(2) - at_zero[j]).sum();
            let distance = (of_zeros + moved).max(0.0);
            for c in 0..self.n_components() {
                found[(i, c)] = found[(i, c)].powi(2) / distance;
            }
        }
        Ok(found)
    }

    /// Analysis, variables and their places, for the results.
    pub(super) fn encoding(&self) -> &Encoding {
        &self.encoding
    }

    /// Squared distances of the categories from the mean.
    pub(super) fn distances(&self) -> &[f64] {
        &self.distances
    }

    /// The number of variables by which MCA divides; one in FAMD.
    pub(super) fn weight_of_variables(&self) -> f64 {
        match self.options.analysis {
            Analysis::Mca => self.encoding.variables.len() as f64,
            Analysis::Famd => 1.0,
        }
    }
}
