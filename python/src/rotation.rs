//! Fitted models whose components are rotated.

use std::sync::Arc;

use karhunen::PcaModel;
use karhunen::choice::Choice;
use karhunen::rotation::{Components, Criterion, Method, RotatedModel as Rotated};
use numpy::PyArray1;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Fresh, copy_matrix, give_matrix};
use crate::dtype::{Data, job};
use crate::errors::to_python;
use crate::incomplete_model::IncompleteModel;
use crate::model::{Model, copy_dense};
use crate::model_class::{ModelClass, to_numpy};
use crate::observer::{Effort, run};

type Core = Rotated<PcaModel>;
type CoreIncomplete = Rotated<karhunen::IncompleteModel>;

/// A fitted model whose components are rotated. Its arrays are read-only views of the engine's memory.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct RotatedModel {
    pub(crate) model: Arc<Core>,
}

/// As [`RotatedModel`], of data with missing values.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct RotatedIncompleteModel {
    pub(crate) model: Arc<CoreIncomplete>,
}

/// A fitted model whose components can be rotated.
#[derive(FromPyObject)]
pub(crate) enum Fitted<'py> {
    Complete(Bound<'py, Model>),
    Incomplete(Bound<'py, IncompleteModel>),
}

/// Rotates the leading components of a model. `target` has the shape (n_features, n_components).
#[pyfunction]
#[pyo3(signature = (model, method, n_components=None, kaiser=None, power=None, gamma=None, target=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn rotate(
    py: Python<'_>,
    model: Fitted<'_>,
    method: &str,
    n_components: Option<usize>,
    kaiser: Option<bool>,
    power: Option<f64>,
    gamma: Option<f64>,
    target: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let method =
        Method::of_name(method).ok_or_else(|| PyValueError::new_err(format!("no rotation {method}")))?;
    let target = target.map(copy_matrix).transpose()?;
    let criterion = Criterion::of_method(method, kaiser, power, gamma)
        .or_else(|| target.map(|target| Criterion::Procrustes { target }))
        .ok_or_else(|| PyValueError::new_err(format!("{method} needs a target")))?;
    match model {
        Fitted::Complete(model) => {
            let model = Arc::new(rotated(py, &*model.get().model, n_components, criterion)?);
            RotatedModel { model }.into_py_any(py)
        }
        Fitted::Incomplete(model) => {
            let model = Arc::new(rotated(py, &*model.get().model, n_components, criterion)?);
            RotatedIncompleteModel { model }.into_py_any(py)
        }
    }
}

fn rotated<M: Components + Clone + Send + 'static>(
    py: Python<'_>,
    model: &M,
    n_components: Option<usize>,
    criterion: Criterion,
) -> PyResult<Rotated<M>> {
    let model = model.clone();
    let (p, k) = (model.n_features() as f64, n_components.unwrap_or(model.n_components()) as f64);
    // About a hundred sweeps over all pairs.
    let effort = Effort::new(100.0 * p * k * k, Some(1));
    run(py, effort, None, move |run| Rotated::new(model, n_components, criterion, run))
}

/// The rotation: views of its arrays, which `owner` holds, and values.
fn describe<'py, M: Components>(
    owner: &Bound<'py, PyAny>,
    model: &Rotated<M>,
) -> PyResult<Bound<'py, PyDict>> {
    let (rotation, found) = (model.rotation(), PyDict::new(owner.py()));
    for (name, matrix) in [
        ("pattern", &rotation.pattern),
        ("structure", &rotation.structure),
        ("rotation", &rotation.rotation),
        ("score_rotation", &rotation.score_rotation),
        ("component_correlations", &rotation.component_correlations),
    ] {
        let shape = [matrix.n_rows(), matrix.n_cols()];
        found.set_item(name, to_numpy(&shape, matrix.as_slice().into(), owner)?)?;
    }
    for (name, vector) in [("communalities", &rotation.communalities), ("variances", &rotation.variances)] {
        found.set_item(name, to_numpy(&[vector.len()], vector.into(), owner)?)?;
    }
    found.set_item("ratios", PyArray1::from_vec(owner.py(), model.explained_variance_ratio()))?;
    found.set_item("criterion", model.criterion().to_string())?;
    found.set_item("n_iter", rotation.n_iter)?;
    found.set_item("converged", rotation.converged)?;
    Ok(found)
}

#[pymethods]
impl RotatedIncompleteModel {
    /// The model as it was fitted.
    #[getter]
    fn fitted(&self) -> IncompleteModel {
        IncompleteModel { model: Arc::new(self.model.model().clone()) }
    }

    /// The rotation: arrays and values by name.
    fn describe<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        describe(slf.as_any(), &slf.get().model)
    }

    /// Scores of the rotated components from the model's scores.
    fn of_scores<'py>(&self, py: Python<'py>, scores: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.model.of_scores(&copy_matrix(scores)?).map_err(to_python)?)
    }

    /// Scores of the model from the scores of the rotated components.
    fn to_scores<'py>(&self, py: Python<'py>, scores: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.model.to_scores(&copy_matrix(scores)?).map_err(to_python)?)
    }
}

impl ModelClass for RotatedIncompleteModel {
    type Core = CoreIncomplete;

    fn core(&self) -> &Arc<CoreIncomplete> {
        &self.model
    }

    fn wrap(model: CoreIncomplete, _function: Option<&Bound<'_, PyAny>>) -> Self {
        Self { model: Arc::new(model) }
    }
}

#[pymethods]
impl RotatedModel {
    /// The model as it was fitted.
    #[getter]
    fn fitted(&self) -> Model {
        Model { model: Arc::new(self.model.model().clone()) }
    }

    /// The rotation: arrays and values by name.
    fn describe<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        describe(slf.as_any(), &slf.get().model)
    }

    /// Scores of rows, in the type of `x`.
    #[pyo3(signature = (x, n_threads=None, on_progress=None))]
    fn transform(
        &self,
        py: Python<'_>,
        x: Data,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let effort = Effort::new(x.product_cost(self.model.model().n_components()), n_threads);
        let out = x.room(py, self.model.n_components())?;
        let job = job! {
            model: Arc<Core> = Arc::clone(&self.model),
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let scores = model.transform_with(x, run)?;
                out.values::<T>().copy_from_slice(scores.as_slice());
                Ok(out.into_array())
            }
        };
        run(py, effort, on_progress, move |run| x.run(job, run))
    }

    /// Maps scores to rows, in the type of `scores`.
    #[pyo3(signature = (scores, n_threads=None, on_progress=None))]
    fn inverse_transform(
        &self,
        py: Python<'_>,
        scores: Data,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let n_features = self.model.model().n_features();
        let effort = Effort::new(scores.product_cost(n_features), n_threads);
        let out = scores.room(py, n_features)?;
        let job = job! {
            model: Arc<Core> = Arc::clone(&self.model),
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let rows = model.inverse_transform_with(&copy_dense(x)?, run)?;
                out.values::<T>().copy_from_slice(rows.as_slice());
                Ok(out.into_array())
            }
        };
        run(py, effort, on_progress, move |run| scores.run(job, run))
    }
}

impl ModelClass for RotatedModel {
    type Core = Core;

    fn core(&self) -> &Arc<Core> {
        &self.model
    }

    fn wrap(model: Core, _function: Option<&Bound<'_, PyAny>>) -> Self {
        Self { model: Arc::new(model) }
    }
}
