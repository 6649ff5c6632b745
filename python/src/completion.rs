//! Completion of tables with missing values by iterated PCA.

use karhunen::choice::Choice;
use karhunen::completion::{Completed, IterativePca, Shrinkage, choose_n_components};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{copy_matrix, give_matrix, lend_vector};
use crate::model::Model;
use crate::model_class::ModelClass;
use crate::observer::{Effort, run};

/// Options of iterated PCA, as a dict of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    n_components: usize,
    scale: bool,
    method: String,
    ridge: f64,
    tol: f64,
    max_iter: usize,
}

impl Options {
    fn engine(&self) -> PyResult<IterativePca> {
        let shrinkage = Shrinkage::of_name(&self.method)
            .ok_or_else(|| PyValueError::new_err(format!("there is no method {}", self.method)))?;
        let Self { n_components, scale, ridge, tol, max_iter, .. } = *self;
        Ok(IterativePca { n_components, scale, shrinkage, ridge, tol, max_iter, ..IterativePca::default() })
    }
}

/// The completed table, the fitted table, PCA of the completed one, the noise variance, the number of iterations, and true
/// if they converged; fills far outside the observed range.
type Found<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, Model>, f64, usize, bool, Option<Far>);

/// Count, row, column, value and deviations of far predictions.
type Far = (usize, usize, usize, f64, f64);

/// Completes `x`, shape (n_samples, n_features), whose missing entries are NaN.
#[pyfunction]
#[pyo3(signature = (x, options, sample_weight=None, n_threads=None, on_progress=None))]
pub(crate) fn complete<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    options: Options,
    sample_weight: Option<&Bound<'_, PyAny>>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Found<'py>> {
    let (x, engine) = (copy_matrix(x)?, options.engine()?);
    let weights = sample_weight.map(lend_vector).transpose()?;
    let effort = Effort::new(cost(&x, engine.max_iter), n_threads);
    let found = run(py, effort, on_progress, move |run| {
        engine.complete(&x, weights.as_ref().map(|weights| weights.as_slice()), run)
    })?;
    let Completed { completed, fitted, model, noise_variance, n_iter, converged, far, .. } = found;
    let far = far.map(|far| (far.count, far.row, far.column, far.value, far.deviations));
    let model = Bound::new(py, Model::wrap(model, None))?;
    Ok((give_matrix(py, completed)?, give_matrix(py, fitted)?, model, noise_variance, n_iter, converged, far))
}

/// The number of components between `least` and `most` by generalized cross-validation, and the criterion of each.
#[pyfunction]
#[pyo3(signature = (x, options, least, most, sample_weight=None, n_threads=None, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Python's function")]
pub(crate) fn choose_completion<'py>(
    py: Python<'py>,
    x: &Bound<'_, PyAny>,
    options: Options,
    least: usize,
    most: usize,
    sample_weight: Option<&Bound<'_, PyAny>>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(usize, Bound<'py, PyArray1<f64>>)> {
    let (x, engine) = (copy_matrix(x)?, options.engine()?);
    let weights = sample_weight.map(lend_vector).transpose()?;
    let effort = Effort::new(cost(&x, engine.max_iter), n_threads);
    let chosen = run(py, effort, on_progress, move |run| {
        let weights = weights.as_ref().map(|weights| weights.as_slice());
        choose_n_components(&engine, &x, weights, (least, most), run)
    })?;
    Ok((chosen.n_components, PyArray1::from_vec(py, chosen.criterion)))
}

/// Operations of the iterations, roughly.
fn cost(x: &karhunen::Matrix, max_iter: usize) -> f64 {
    let (n, p) = (x.n_rows() as f64, x.n_cols() as f64);
    max_iter as f64 * n * p * n.min(p)
}
