//! Fitted models of categories as objects of Python.

use std::sync::Arc;

use karhunen::Matrix;
use karhunen::categorical::{
    self, CategoricalModel as CoreModel, CategoricalPca, CategoryResults, Column, ColumnValues, Correction,
};
use karhunen::pca::Transform;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{LentVector, copy_vector, give_matrix, lend_vector};
use crate::diagnostics::named;
use crate::errors::to_python;
use crate::model::Model;
use crate::model_class::{ModelClass, to_json, view};
use crate::observer::{Effort, run};
use crate::options::Options;

/// A column as the package passes it: its name, and the numbers of the rows; or their codes, -1 where a row lacks a value,
/// and the names of the categories.
type GivenColumn<'py> = (String, Bound<'py, PyAny>, Option<Vec<String>>);

/// A variable: its name, the categories unless it holds numbers, and whether the last is for missing values.
type VariableParts = (String, Option<Vec<String>>, bool);

type Array<'py> = Bound<'py, PyAny>;
type TwoVectors<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Copies columns.
fn columns_of(given: Vec<GivenColumn<'_>>) -> PyResult<Vec<Column>> {
    let column = |(name, values, names): GivenColumn<'_>| {
        let values = match names {
            None => ColumnValues::Numbers(copy_vector(&values)?),
            Some(names) => {
                let codes = lend_vector::<i64>(&values)?;
                let codes = codes.as_slice().iter().map(|code| code_of(*code)).collect::<PyResult<_>>()?;
                ColumnValues::Categories { names, codes }
            }
        };
        Ok(Column { name, values })
    };
    given.into_iter().map(column).collect()
}

fn code_of(code: i64) -> PyResult<Option<u32>> {
    if code == -1 {
        return Ok(None);
    }
    let code = u32::try_from(code);
    code.map(Some).map_err(|_| PyValueError::new_err("a column has more categories than 32 bits count"))
}

/// Approximate number of multiplications of a product of the matrix of the columns with `width` columns.
fn product_cost(columns: &[Column], width: usize) -> f64 {
    columns.iter().map(|column| column.n_rows() as f64).sum::<f64>() * width as f64
}

/// Approximate number of multiplications of a fit: a product with the transpose and its decomposition.
fn fit_cost(columns: &[Column]) -> f64 {
    let width = |column: &Column| match &column.values {
        ColumnValues::Numbers(_) => 1,
        ColumnValues::Categories { names, .. } => names.len(),
    };
    let small = columns.iter().map(width).sum::<usize>().min(columns.first().map_or(0, Column::n_rows));
    product_cost(columns, small) + (small as f64).powi(3)
}

/// Fits an MCA or FAMD to the columns of a table.
#[pyfunction]
#[pyo3(signature = (columns, options, sample_weight=None, on_progress=None))]
pub(crate) fn fit_categorical(
    py: Python<'_>,
    columns: Vec<GivenColumn<'_>>,
    options: &Bound<'_, PyDict>,
    sample_weight: Option<&Bound<'_, PyAny>>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<CategoricalModel> {
    let Options { engine, n_threads }: Options<CategoricalPca> = Options::read(options)?;
    let columns = columns_of(columns)?;
    let samples: Option<LentVector<f64>> = sample_weight.map(lend_vector).transpose()?;
    let effort = Effort::new(fit_cost(&columns), n_threads);
    let model = run(py, effort, on_progress, move |run| {
        engine.fit_with(&columns, samples.as_ref().map(LentVector::as_slice), run)
    })?;
    Ok(CategoricalModel { model: Arc::new(model) })
}

/// Returns true if a column has so many categories that it probably holds ids or measurements.
#[pyfunction]
pub(crate) fn are_many_categories(n_categories: usize, n_rows: usize) -> bool {
    categorical::are_many_categories(n_categories, n_rows)
}

/// A fitted MCA or FAMD.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct CategoricalModel {
    model: Arc<CoreModel>,
}

impl CategoricalModel {
    /// Computes a number for each row and component.
    fn of_rows<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<GivenColumn<'_>>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
        work: impl FnOnce(&CoreModel, &[Column], &karhunen::Run<'_>) -> karhunen::Result<Matrix> + Send + 'static,
    ) -> PyResult<Array<'py>> {
        let (columns, model) = (columns_of(columns)?, Arc::clone(&self.model));
        let effort = Effort::new(product_cost(&columns, model.n_components()), n_threads);
        give_matrix(py, run(py, effort, on_progress, move |run| work(&model, &columns, run))?)
    }
}

#[pymethods]
impl CategoricalModel {
    /// `"mca"` or `"famd"`.
    #[getter]
    fn analysis(&self) -> &'static str {
        self.model.options().analysis.name()
    }

    /// The columns of the table.
    #[getter]
    fn variables(&self) -> Vec<VariableParts> {
        let parts = |variable: &categorical::Variable| {
            let has_missing = matches!(variable, categorical::Variable::Categories { has_missing: true, .. });
            (variable.name().to_owned(), variable.categories().map(<[String]>::to_vec), has_missing)
        };
        self.model.variables().iter().map(parts).collect()
    }

    /// The PCA of the standardised numbers and the indicators.
    #[getter]
    fn pca(&self) -> Model {
        Model { model: Arc::new(self.model.pca().clone()) }
    }

    /// Names such as `sex=f`.
    #[getter]
    fn category_names(&self) -> Vec<String> {
        self.model.category_names()
    }

    /// The names of the columns of the PCA.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.model.feature_names()
    }

    #[getter]
    fn shares<'py>(slf: &Bound<'py, Self>) -> PyResult<Array<'py>> {
        view(slf, CoreModel::shares)
    }

    #[getter]
    fn has_v_tests(&self) -> bool {
        self.model.has_v_tests()
    }

    /// Coordinates, contributions, squared cosines and v-tests, shape (n_categories, n_components) each.
    fn categories<'py>(&self, py: Python<'py>) -> PyResult<[Array<'py>; 4]> {
        let CategoryResults { coordinates, contributions, cos2, v_tests } = self.model.categories();
        Ok([
            give_matrix(py, coordinates)?,
            give_matrix(py, contributions)?,
            give_matrix(py, cos2)?,
            give_matrix(py, v_tests)?,
        ])
    }

    /// Correlation ratios, shape (n_variables_of_categories, n_components).
    fn eta2<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        give_matrix(py, self.model.eta2())
    }

    /// Correlations and contributions of the columns of numbers, shape (n_numbers, n_components) each.
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<[Array<'py>; 2]> {
        let (correlations, contributions) =
            (self.model.number_correlations(), self.model.number_contributions());
        Ok([give_matrix(py, correlations)?, give_matrix(py, contributions)?])
    }

    /// Corrected eigenvalues, and their shares.
    fn corrected_eigenvalues<'py>(&self, py: Python<'py>, correction: &str) -> PyResult<TwoVectors<'py>> {
        let correction: Correction = named("correction", correction)?;
        let found = self.model.corrected_eigenvalues(correction).map_err(to_python)?;
        Ok((PyArray1::from_vec(py, found.eigenvalues), PyArray1::from_vec(py, found.ratio)))
    }

    /// Principal coordinates of rows, shape (n_rows, n_components).
    #[pyo3(signature = (columns, ignore_unknown=false, n_threads=None, on_progress=None))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<GivenColumn<'_>>,
        ignore_unknown: bool,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let how = Transform::default();
        self.of_rows(py, columns, n_threads, on_progress, move |model, columns, run| match ignore_unknown {
            true => model.transform_known_with(columns, how, run),
            false => model.transform_with(columns, how, run),
        })
    }

    /// Shares of the rows of the fit in the variance of each component, shape (n_rows, n_components).
    #[pyo3(signature = (columns, sample_weight=None, n_threads=None, on_progress=None))]
    fn row_contributions<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<GivenColumn<'_>>,
        sample_weight: Option<&Bound<'_, PyAny>>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let samples: Option<LentVector<f64>> = sample_weight.map(lend_vector).transpose()?;
        self.of_rows(py, columns, n_threads, on_progress, move |model, columns, run| {
            model.row_contributions_with(columns, samples.as_ref().map(LentVector::as_slice), run)
        })
    }

    /// Squared cosines of rows, shape (n_rows, n_components).
    #[pyo3(signature = (columns, ignore_unknown=false, n_threads=None, on_progress=None))]
    fn row_cos2<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<GivenColumn<'_>>,
        ignore_unknown: bool,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Array<'py>> {
        let work = if ignore_unknown { CoreModel::row_cos2_known_with } else { CoreModel::row_cos2_with };
        self.of_rows(py, columns, n_threads, on_progress, work)
    }
}

impl ModelClass for CategoricalModel {
    type Core = CoreModel;

    fn core(&self) -> &Arc<CoreModel> {
        &self.model
    }

    fn wrap(model: CoreModel, _function: Option<&Bound<'_, PyAny>>) -> Self {
        Self { model: Arc::new(model) }
    }

    fn options(model: &CoreModel) -> PyResult<String> {
        to_json(model.options())
    }
}
