//! Fits of rows in batches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karhunen::incremental::{IncrementalFit as CoreFit, IncrementalMethod, IncrementalModel};
use karhunen::{IncrementalPca, PcaModel, Result};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{LentVector, lend_vector};
use crate::dtype::{Data, job};
use crate::errors::to_python;
use crate::model::Model;
use crate::model_class::ModelClass;
use crate::observer::{Effort, run};
use crate::options::Options;

/// The state of a fit, which does not change: what pickles and files hold.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct IncrementalState {
    fit: Arc<CoreFit>,
}

#[pymethods]
impl IncrementalState {
    /// The scales of the columns that the options give.
    #[getter]
    fn column_scale(&self) -> Option<Vec<f64>> {
        self.fit.options().column_scale.clone()
    }
}

impl ModelClass for IncrementalState {
    type Core = CoreFit;

    fn core(&self) -> &Arc<CoreFit> {
        &self.fit
    }

    fn wrap(fit: CoreFit, _function: Option<&Bound<'_, PyAny>>) -> Self {
        Self { fit: Arc::new(fit) }
    }
}

/// A fit that takes rows. A call that raises leaves it as it was.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct IncrementalFit {
    fit: Arc<Shared>,
}

/// A fit that one call at a time changes. States that were handed out keep their own rows.
struct Shared(Mutex<Arc<CoreFit>>);

impl Shared {
    /// Waits for the call that is changing the fit, such as one that was interrupted and ends by itself.
    fn lock(&self) -> MutexGuard<'_, Arc<CoreFit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Arc<CoreFit> {
        Arc::clone(&self.lock())
    }

    fn change(&self, work: impl FnOnce(&mut CoreFit) -> Result<()>) -> Result<()> {
        work(Arc::make_mut(&mut self.lock()))
    }
}

impl IncrementalFit {
    fn now(&self, py: Python<'_>) -> Arc<CoreFit> {
        py.detach(|| self.fit.now())
    }
}

/// Multiplications of an eigendecomposition of the state.
fn model_cost(fit: &CoreFit) -> f64 {
    let directions = fit.n_directions() as f64;
    directions.powi(2) * fit.n_features() as f64
}

/// A model, the population variances of the columns, bounds of the residuals, and notes.
type Found<'py> = (Model, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Vec<String>);

#[pymethods]
impl IncrementalFit {
    /// Begins a fit of rows with `n_features` columns.
    #[new]
    fn new(options: &Bound<'_, PyDict>, n_features: usize) -> PyResult<Self> {
        let pca: IncrementalPca = Options::read(options)?.engine;
        let fit = pca.start(n_features).map_err(to_python)?;
        Ok(Self { fit: Arc::new(Shared(Mutex::new(Arc::new(fit)))) })
    }

    /// Continues from a state.
    #[staticmethod]
    fn resume(state: &Bound<'_, IncrementalState>) -> Self {
        Self { fit: Arc::new(Shared(Mutex::new(Arc::clone(&state.get().fit)))) }
    }

    /// The state now.
    fn state(&self, py: Python<'_>) -> IncrementalState {
        IncrementalState { fit: self.now(py) }
    }

    /// Number of columns.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> usize {
        self.now(py).n_features()
    }

    /// Number of rows so far.
    #[getter]
    fn n_samples_seen(&self, py: Python<'_>) -> usize {
        self.now(py).n_samples_seen()
    }

    /// `"scatter"` or `"sketch"`.
    #[getter]
    fn method(&self, py: Python<'_>) -> &'static str {
        self.now(py).method().name()
    }

    /// Rows of one update.
    #[getter]
    fn batch_size(&self, py: Python<'_>) -> usize {
        self.now(py).batch_size()
    }

    /// Adds the rows of `x` as one batch.
    #[pyo3(signature = (x, sample_weight=None, n_threads=None, on_progress=None))]
    fn push(
        &self,
        py: Python<'_>,
        x: Data,
        sample_weight: Option<&Bound<'_, PyAny>>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let fit = self.now(py);
        let cost = match fit.method() {
            IncrementalMethod::Sketch => x.product_cost(3 * fit.n_directions()),
            _ => x.scatter_cost(),
        };
        drop(fit);
        let effort = Effort::new(cost, n_threads);
        let weights = sample_weight.map(lend_vector).transpose()?;
        let job = job! {
            fit: Arc<Shared> = Arc::clone(&self.fit),
            weights: Option<LentVector<f64>>,
            |x, run| -> () {
                let weights = weights.as_ref().map(LentVector::as_slice);
                fit.change(|fit| fit.push_source(x, weights, run))
            }
        };
        run(py, effort, on_progress, move |run| x.run(job, run))
    }

    /// Adds the rows of another fit.
    #[pyo3(signature = (other, n_threads=None))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>, n_threads: Option<usize>) -> PyResult<()> {
        let other = other.get().now(py);
        let (fit, effort) = (Arc::clone(&self.fit), Effort::new(model_cost(&other), n_threads));
        run(py, effort, None, move |run| fit.change(|fit| fit.merge(&other, run)))
    }

    /// The components of the rows so far.
    #[pyo3(signature = (n_threads=None))]
    fn model<'py>(&self, py: Python<'py>, n_threads: Option<usize>) -> PyResult<Found<'py>> {
        let fit = self.now(py);
        let effort = Effort::new(model_cost(&fit), n_threads);
        let model: IncrementalModel = run(py, effort, None, move |run| fit.model(run))?;
        let variances = PyArray1::from_vec(py, model.variances());
        let bounds = PyArray1::from_slice(py, model.residual_bounds());
        let notes = model.notes().iter().map(ToString::to_string).collect();
        Ok((Model::wrap(model.into_pca(), None), variances, bounds, notes))
    }

    /// Fits `x` by block Krylov iteration from the directions of this fit.
    #[pyo3(signature = (x, sample_weight=None, tol=None, n_threads=None, on_progress=None))]
    fn refine(
        &self,
        py: Python<'_>,
        x: Data,
        sample_weight: Option<&Bound<'_, PyAny>>,
        tol: Option<f64>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Model> {
        let weights = sample_weight.map(lend_vector).transpose()?;
        let effort = Effort::new(x.fit_cost(), n_threads);
        let job = job! {
            fit: Arc<CoreFit> = self.now(py),
            weights: Option<LentVector<f64>>,
            tol: Option<f64>,
            |x, run| -> PcaModel {
                fit.refine(x, weights.as_ref().map(LentVector::as_slice), tol, run)
            }
        };
        run(py, effort, on_progress, move |run| x.run(job, run)).map(|model| Model::wrap(model, None))
    }
}
