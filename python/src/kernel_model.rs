//! Fitted kernel principal components as objects of Python.

use std::sync::Arc;

use karhunen::kernel::{Approximation, BlockKernel, Gamma, KernelBasis, KernelRows, PreImageParts};
use karhunen::pca::Transform;
use karhunen::{KernelModel as CoreModel, KernelPca, Matrix, Weights};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Fresh, LentVector, give_matrix, lend_vector, show_matrix};
use crate::dtype::{Data, job};
use crate::errors::remedy;
use crate::kernel_function::{Called, cause};
use crate::model::copy_dense;
use crate::model_class::{ModelClass, view, view_matrix};
use crate::observer::{Effort, run};
use crate::options::Options;
use crate::passes::{GivenLog, Passes};

/// Fits kernel principal components to `x`. `function` is the kernel of the name `custom`.
#[pyfunction]
#[pyo3(signature = (x, options, sample_weight=None, function=None, keep_zeros=true, on_progress=None, checkpoint=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Python")]
pub(crate) fn fit_kernel(
    py: Python<'_>,
    x: Data,
    options: &Bound<'_, PyDict>,
    sample_weight: Option<&Bound<'_, PyAny>>,
    function: Option<&Bound<'_, PyAny>>,
    keep_zeros: bool,
    on_progress: Option<&Bound<'_, PyAny>>,
    checkpoint: Option<GivenLog<'_>>,
) -> PyResult<KernelModel> {
    let called = function.map(Called::new);
    let cost = match called {
        // Nobody knows what a call takes.
        Some(_) => f64::INFINITY,
        None => x.kernel_cost(),
    };
    let Options { engine: pca, n_threads } =
        Options::with_kernel(options, |pca: &mut KernelPca| &mut pca.kernel)?;
    let effort = Effort::new(cost, n_threads);
    let passes = Passes::open(py, checkpoint.as_ref())?;
    let samples = sample_weight.map(lend_vector).transpose()?;
    let job = job! {
        pca: KernelPca,
        passes: Passes = passes.clone(),
        samples: Option<LentVector<f64>>,
        called: Option<Arc<Called>> = called.clone(),
        keep_zeros: bool,
        |x, run| -> CoreModel {
            let weights = Weights { samples: samples.as_ref().map(LentVector::as_slice), features: None };
            let model = match (&called, passes.log()) {
                // The package refuses a log here.
                (Some(called), _) => pca.fit_function(x, &weights, Arc::<Called>::clone(called), run)?,
                (None, Some(log)) => pca.fit_logged(x, &weights, log, run)?,
                (None, None) => pca.fit_with(x, &weights, run)?,
            };
            Ok(if keep_zeros { model } else { model.without_zeros() })
        }
    };
    let model = run(py, effort, on_progress, move |run| x.run(job, run));
    passes.warn(checkpoint.as_ref())?;
    let model = model.map_err(|error| cause(called.as_ref(), error))?;
    Ok(KernelModel { model: Arc::new(model), called })
}

fn with_function(model: CoreModel, called: Option<&Arc<Called>>) -> CoreModel {
    match called {
        Some(called) => model.with_function(Arc::<Called>::clone(called) as Arc<dyn BlockKernel>),
        None => model,
    }
}

/// A fitted model. Its arrays are read-only views of the engine's memory.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct KernelModel {
    pub(crate) model: Arc<CoreModel>,
    pub(crate) called: Option<Arc<Called>>,
}

#[pymethods]
impl KernelModel {
    #[getter]
    fn eigenvalues<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().eigenvalues)
    }

    /// Shape (n_samples, n_components); no rows on the approximate routes.
    #[getter]
    fn eigenvectors<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| model.eigenvectors())
    }

    #[getter]
    fn explained_variance_ratio<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let ratio = PyArray1::from_vec(py, self.model.explained_variance_ratio());
        ratio.readwrite().make_nonwriteable();
        ratio
    }

    #[getter]
    fn residuals<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().convergence.residuals)
    }

    /// The coefficient of the kernel, if it has one.
    #[getter]
    fn gamma(&self) -> Option<f64> {
        match self.model.kernel().gamma() {
            Some(Gamma::Value(gamma)) => Some(gamma),
            _ => None,
        }
    }

    /// Rows that new ones are compared with: an array, or data, indices and pointers of CSR; `None` if there are none.
    #[getter]
    fn rows<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &slf.get().model.parts().basis {
            KernelBasis::Rows(rows) | KernelBasis::Landmarks(rows) => show_rows(rows, slf.as_any()).map(Some),
            _ => Ok(None),
        }
    }

    /// Random frequencies, shape (n_frequencies, n_features), of the route `fourier`.
    #[getter]
    #[allow(unsafe_code)]
    fn frequencies<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &slf.get().model.parts().basis {
            // SAFETY: the class is frozen, and the array holds the model.
            KernelBasis::Frequencies(rows) => unsafe { show_matrix(rows, slf.as_any()) }.map(Some),
            _ => Ok(None),
        }
    }

    /// Scores and coefficients of kernel ridge regression, if pre-images are found by it.
    #[getter]
    #[allow(unsafe_code)]
    fn ridge<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        match &slf.get().model.parts().pre_image {
            Some(PreImageParts::Ridge { scores, coefficients, .. }) => {
                // SAFETY: the class is frozen, and the arrays hold the model.
                let show = |matrix| unsafe { show_matrix(matrix, slf.as_any()) };
                Ok(Some((show(scores)?, show(coefficients)?)))
            }
            _ => Ok(None),
        }
    }

    #[getter]
    fn has_pre_image(&self) -> bool {
        self.model.parts().pre_image.is_some()
    }

    #[getter]
    fn n_components(&self) -> usize {
        self.model.n_components()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.model.n_features()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.model.n_samples()
    }

    /// `"f32"` or `"f64"`: the type of the data.
    #[getter]
    fn dtype(&self) -> &str {
        &self.model.parts().dtype
    }

    /// The route that was taken.
    #[getter]
    fn solver(&self) -> &'static str {
        self.model.convergence().solver.name()
    }

    #[getter]
    fn reason(&self) -> &str {
        &self.model.convergence().reason
    }

    #[getter]
    fn n_passes(&self) -> usize {
        self.model.convergence().n_passes
    }

    #[getter]
    fn tol(&self) -> f64 {
        self.model.convergence().tol
    }

    #[getter]
    fn n_converged(&self) -> usize {
        self.model.convergence().n_converged
    }

    /// The remedy for components that missed the tolerance.
    #[getter]
    fn advice(&self) -> Option<String> {
        self.model.convergence().advice().as_ref().map(remedy)
    }

    /// The smallest eigenvalue, where it is known.
    #[getter]
    fn smallest_eigenvalue(&self) -> Option<f64> {
        self.model.convergence().smallest_eigenvalue
    }

    /// Features, bound and estimate of an approximation.
    #[getter]
    fn approximation(&self) -> Option<(usize, Option<f64>, f64)> {
        let approximation = self.model.convergence().approximation;
        approximation.map(|Approximation { n_features, bound, estimate }| (n_features, bound, estimate))
    }

    /// Scores of the fitted rows, shape (n_samples, n_components), in float32 if `single`.
    fn fitted_scores<'py>(&self, py: Python<'py>, single: bool) -> PyResult<Bound<'py, PyAny>> {
        let scores = py.detach(|| self.model.fitted_scores());
        if !single {
            return give_matrix(py, scores);
        }
        let (n, k) = scores.shape();
        give_matrix(py, Matrix::<f32>::from_fn(n, k, |i, c| scores[(i, c)] as f32))
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
        let cost = match self.called {
            Some(_) => f64::INFINITY,
            None => x.product_cost(self.model.parts().basis.len()),
        };
        let effort = Effort::new(cost, n_threads);
        let out = x.room(py, self.model.n_components())?;
        let job = job! {
            model: Arc<CoreModel> = Arc::clone(&self.model),
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let scores = model.transform_with(x, Transform::default(), run)?;
                out.values::<T>().copy_from_slice(scores.as_slice());
                Ok(out.into_array())
            }
        };
        run(py, effort, on_progress, move |run| x.run(job, run))
            .map_err(|error| cause(self.called.as_ref(), error))
    }

    /// Rows from scores, in the type of `scores`.
    #[pyo3(signature = (scores, n_threads=None, on_progress=None))]
    fn inverse_transform(
        &self,
        py: Python<'_>,
        scores: Data,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (n, p) = (self.model.parts().basis.len(), self.model.n_features());
        let cost = scores.product_cost(n) + (scores.shape().0 * n * p) as f64;
        let effort = Effort::new(cost, n_threads);
        let out = scores.room(py, p)?;
        let job = job! {
            model: Arc<CoreModel> = Arc::clone(&self.model),
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let rows = model.inverse_transform_with(&copy_dense(x)?, Transform::default(), run)?;
                out.values::<T>().copy_from_slice(rows.as_slice());
                Ok(out.into_array())
            }
        };
        run(py, effort, on_progress, move |run| scores.run(job, run))
    }
}

impl ModelClass for KernelModel {
    type Core = CoreModel;

    fn core(&self) -> &Arc<CoreModel> {
        &self.model
    }

    fn wrap(model: CoreModel, function: Option<&Bound<'_, PyAny>>) -> Self {
        let called = function.map(Called::new);
        Self { model: Arc::new(with_function(model, called.as_ref())), called }
    }
}

/// Rows that `owner`, of a frozen class, holds: a view if they are dense, copies of data, indices and pointers of CSR otherwise.
#[allow(unsafe_code)]
pub(crate) fn show_rows<'py>(rows: &KernelRows, owner: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match rows {
        // SAFETY: the owner's class is frozen, and the array holds the owner.
        KernelRows::Dense(rows) => unsafe { show_matrix(rows, owner) },
        KernelRows::Sparse { pointers, indices, values, .. } => {
            let py = owner.py();
            let arrays = (
                PyArray1::from_slice(py, values),
                PyArray1::from_iter(py, indices.iter().map(|j| i64::from(*j))),
                PyArray1::from_iter(py, pointers.iter().map(|at| *at as i64)),
            );
            Ok(arrays.into_pyobject(py)?.into_any())
        }
    }
}
