//! Fitted models whose components are rotated.

use std::sync::Arc;

use karhunen::choice::Choice;
use karhunen::rotation::{Criterion, Method, RotatedModel as Core};
use karhunen::{PcaModel, Result, Run, Source};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Fresh, copy_matrix};
use crate::dtype::{Data, Element, Job};
use crate::model::{Model, copy_dense};
use crate::model_class::{ModelClass, view, view_matrix};
use crate::observer::{Effort, run};

/// A fitted model whose components are rotated. Its arrays are read-only views of the engine's memory.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct RotatedModel {
    pub(crate) model: Arc<Core>,
}

/// Rotates the leading components of a model. `target` has the shape (n_features, n_components).
#[pyfunction]
#[pyo3(signature = (model, method, n_components=None, kaiser=None, power=None, gamma=None, target=None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn rotate(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    method: &str,
    n_components: Option<usize>,
    kaiser: Option<bool>,
    power: Option<f64>,
    gamma: Option<f64>,
    target: Option<&Bound<'_, PyAny>>,
) -> PyResult<RotatedModel> {
    let method =
        Method::of_name(method).ok_or_else(|| PyValueError::new_err(format!("no rotation {method}")))?;
    let target = target.map(copy_matrix).transpose()?;
    let criterion = Criterion::of_method(method, kaiser, power, gamma)
        .or_else(|| target.map(|target| Criterion::Procrustes { target }))
        .ok_or_else(|| PyValueError::new_err(format!("{method} needs a target")))?;
    let model = PcaModel::clone(&model.get().model);
    let (p, k) = (model.n_features() as f64, n_components.unwrap_or(model.n_components()) as f64);
    // About a hundred sweeps over all pairs.
    let effort = Effort::new(100.0 * p * k * k, Some(1));
    let rotated = run(py, effort, None, move |run| Core::new(model, n_components, criterion, run))?;
    Ok(RotatedModel { model: Arc::new(rotated) })
}

#[pymethods]
impl RotatedModel {
    /// The model as it was fitted.
    #[getter]
    fn fitted(&self) -> Model {
        Model { model: Arc::new(self.model.model().clone()) }
    }

    /// Shape (n_features, n_components).
    #[getter]
    fn pattern<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| &model.rotation().pattern)
    }

    /// Shape (n_features, n_components).
    #[getter]
    fn structure<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| &model.rotation().structure)
    }

    #[getter]
    fn rotation<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| &model.rotation().rotation)
    }

    #[getter]
    fn score_rotation<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| &model.rotation().score_rotation)
    }

    #[getter]
    fn component_correlations<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| &model.rotation().component_correlations)
    }

    #[getter]
    fn communalities<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.rotation().communalities)
    }

    #[getter]
    fn variances<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.rotation().variances)
    }

    #[getter]
    fn ratios<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.model.explained_variance_ratio())
    }

    #[getter]
    fn criterion(&self) -> String {
        self.model.criterion().to_string()
    }

    #[getter]
    fn n_iter(&self) -> usize {
        self.model.rotation().n_iter
    }

    #[getter]
    fn converged(&self) -> bool {
        self.model.rotation().converged
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
        let job = Project { model: Arc::clone(&self.model), out };
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
        let job = Reconstruct { model: Arc::clone(&self.model), out };
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

struct Project {
    model: Arc<Core>,
    out: Fresh,
}

impl Job for Project {
    type Output = Py<PyAny>;
    fn run<T: Element>(mut self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Py<PyAny>> {
        let scores = self.model.transform_with(x, run)?;
        self.out.values::<T>().copy_from_slice(scores.as_slice());
        Ok(self.out.into_array())
    }
}

struct Reconstruct {
    model: Arc<Core>,
    out: Fresh,
}

impl Job for Reconstruct {
    type Output = Py<PyAny>;
    fn run<T: Element>(mut self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Py<PyAny>> {
        let rows = self.model.inverse_transform_with(&copy_dense(x)?, run)?;
        self.out.values::<T>().copy_from_slice(rows.as_slice());
        Ok(self.out.into_array())
    }
}
