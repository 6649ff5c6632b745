//! Python classes of fitted models.

use std::path::PathBuf;
use std::sync::Arc;

use karhunen::moments::Moments;
use karhunen::pca::Transform;
use karhunen::source::Block;
use karhunen::{Matrix, Pca, PcaModel, Result, Source, Weights};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Fresh, LentVector, give_matrix, lend_vector};
use crate::dtype::{Data, Element, job};
use crate::errors::remedy;
use crate::model_class::{ModelClass, view, view_matrix};
use crate::observer::{Effort, run};
use crate::options::Options;
use crate::passes::{GivenLog, Passes};

/// A product of the components with themselves, on one thread.
fn of_square(model: &PcaModel) -> Effort {
    let p = model.n_features() as f64;
    Effort::new(p * p * model.n_components() as f64, Some(1))
}

/// Fits components to `x`; `checkpoint` keeps the passes. `device` holds folders of libraries for a fit on a GPU.
#[pyfunction]
#[pyo3(signature = (
    x, options, sample_weight=None, feature_weight=None, on_progress=None, checkpoint=None, device=None
))]
#[expect(clippy::too_many_arguments, reason = "all but two have defaults")]
pub(crate) fn fit(
    py: Python<'_>,
    x: Data,
    options: &Bound<'_, PyDict>,
    sample_weight: Option<&Bound<'_, PyAny>>,
    feature_weight: Option<&Bound<'_, PyAny>>,
    on_progress: Option<&Bound<'_, PyAny>>,
    checkpoint: Option<GivenLog<'_>>,
    device: Option<Vec<PathBuf>>,
) -> PyResult<Model> {
    let Options { engine: pca, n_threads } = Options::read(options)?;
    let effort = Effort::new(x.fit_cost(), n_threads);
    let passes = Passes::open(py, checkpoint.as_ref())?;
    let job = job! {
        pca: Pca,
        passes: Passes = passes.clone(),
        device: Option<Vec<PathBuf>>,
        samples: Option<LentVector<f64>> = sample_weight.map(lend_vector).transpose()?,
        features: Option<LentVector<f64>> = feature_weight.map(lend_vector).transpose()?,
        |x, run| -> PcaModel {
            let weights = Weights {
                samples: samples.as_ref().map(LentVector::as_slice),
                features: features.as_ref().map(LentVector::as_slice),
            };
            match (&device, passes.log()) {
                (Some(folders), _) => karhunen_device::fit(&pca, x, &weights, folders, run),
                (None, Some(log)) => pca.fit_logged(x, &weights, log, run),
                (None, None) => pca.fit_with(x, &weights, run),
            }
        }
    };
    let model = run(py, effort, on_progress, move |run| x.run(job, run));
    passes.warn(checkpoint.as_ref())?;
    Ok(Model { model: Arc::new(model?) })
}

type TwoVectors<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The mean and the variance (divisor n) of each column of `x`.
#[pyfunction]
#[pyo3(signature = (x, n_threads=None))]
pub(crate) fn column_moments(py: Python<'_>, x: Data, n_threads: Option<usize>) -> PyResult<TwoVectors<'_>> {
    let effort = Effort::new(x.product_cost(1), n_threads);
    let moments = run(py, effort, None, move |run| {
        x.run(
            job! {
                |x, run| -> Moments {
                    Moments::of(x, None, run)
                }
            },
            run,
        )
    })?;
    let variance: Vec<f64> = moments.sum_of_squares.iter().map(|s| s / moments.weight).collect();
    Ok((PyArray1::from_vec(py, moments.mean), PyArray1::from_vec(py, variance)))
}

/// A fitted model. Its arrays are read-only views of the engine's memory.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct Model {
    pub(crate) model: Arc<PcaModel>,
}

#[pymethods]
impl Model {
    /// Shape (n_components, n_features).
    #[getter]
    fn components<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| model.components())
    }

    #[getter]
    fn explained_variance<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().explained_variance)
    }

    #[getter]
    fn explained_variance_ratio<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().explained_variance_ratio)
    }

    #[getter]
    fn singular_values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().singular_values)
    }

    #[getter]
    fn mean<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().mean)
    }

    #[getter]
    fn scale<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().scale)
    }

    #[getter]
    fn residuals<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().convergence.residuals)
    }

    #[getter]
    fn feature_weights<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let there = slf.get().model.feature_weights();
        there.map(|_| view(slf, |model| model.feature_weights().unwrap_or_default())).transpose()
    }

    /// Variances of the scores about their mean, and their shares, where the model has them.
    #[getter]
    fn about_mean(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        let about_mean = self.model.parts().about_mean.clone()?;
        Some((about_mean.variance, about_mean.ratio))
    }

    #[getter]
    fn noise_variance(&self) -> f64 {
        self.model.noise_variance()
    }

    #[getter]
    fn total_variance(&self) -> f64 {
        self.model.total_variance()
    }

    #[getter]
    fn sum_of_weights(&self) -> f64 {
        self.model.sum_of_weights()
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

    /// The algorithm that computed the components.
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

    /// The remedy for components that missed the tolerance of this fit.
    #[getter]
    fn advice(&self) -> Option<String> {
        self.model.convergence().advice.as_ref().map(remedy)
    }

    #[getter]
    fn n_converged(&self) -> usize {
        self.model.convergence().n_converged
    }

    /// Components times the square root of their variance, shape (n_features, n_components).
    fn loadings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.model.loadings())
    }

    /// The covariance of the features under the model.
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let model = Arc::clone(&self.model);
        give_matrix(py, run(py, of_square(&self.model), None, move |_| model.covariance())?)
    }

    /// The inverse of the covariance.
    fn precision<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let model = Arc::clone(&self.model);
        give_matrix(py, run(py, of_square(&self.model), None, move |_| model.precision())?)
    }

    /// Scores of rows, in the type of `x`.
    #[pyo3(signature = (x, whiten=false, n_threads=None, on_progress=None))]
    fn transform(
        &self,
        py: Python<'_>,
        x: Data,
        whiten: bool,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let effort = Effort::new(x.product_cost(self.model.n_components()), n_threads);
        let out = x.room(py, self.model.n_components())?;
        let job = job! {
            model: Arc<PcaModel> = Arc::clone(&self.model),
            whiten: bool,
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let how = Transform { whiten, ..Transform::default() };
                model.transform_into(x, how, out.values::<T>(), run)?;
                Ok(out.into_array())
            }
        };
        run(py, effort, on_progress, move |run| x.run(job, run))
    }

    /// Scores of rows that were not fitted, without the shrinkage of projections, in the type of `x`.
    #[pyo3(signature = (x, n_threads=None, on_progress=None))]
    fn transform_oadp(
        &self,
        py: Python<'_>,
        x: Data,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let effort = Effort::new(2.0 * x.product_cost(self.model.n_components()), n_threads);
        let out = x.room(py, self.model.n_components())?;
        let job = job! {
            model: Arc<PcaModel> = Arc::clone(&self.model),
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let scores = model.transform_oadp(x, run)?;
                out.values::<T>().copy_from_slice(scores.as_slice());
                Ok(out.into_array())
            }
        };
        run(py, effort, on_progress, move |run| x.run(job, run))
    }

    /// Maps scores to rows, in the dtype of `scores`.
    #[pyo3(signature = (scores, whiten=false, n_threads=None, on_progress=None))]
    fn inverse_transform(
        &self,
        py: Python<'_>,
        scores: Data,
        whiten: bool,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let effort = Effort::new(scores.product_cost(self.model.n_features()), n_threads);
        let out = scores.room(py, self.model.n_features())?;
        let job = job! {
            model: Arc<PcaModel> = Arc::clone(&self.model),
            whiten: bool,
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let scores = copy_dense(x)?;
                let how = Transform { whiten, ..Transform::default() };
                model.inverse_transform_into(&scores, how, out.values::<T>(), run)?;
                Ok(out.into_array())
            }
        };
        run(py, effort, on_progress, move |run| scores.run(job, run))
    }

    /// The log-likelihood of each row.
    #[pyo3(signature = (x, n_threads=None))]
    fn score_samples<'py>(
        &self,
        py: Python<'py>,
        x: Data,
        n_threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let effort = Effort::new(x.product_cost(self.model.n_components()), n_threads);
        let job = job! {
            model: Arc<PcaModel> = Arc::clone(&self.model),
            |x, run| -> Vec<f64> {
                model.score_samples_with(x, run)
            }
        };
        let scores = run(py, effort, None, move |run| x.run(job, run))?;
        Ok(PyArray1::from_vec(py, scores))
    }
}

impl ModelClass for Model {
    type Core = PcaModel;

    fn core(&self) -> &Arc<PcaModel> {
        &self.model
    }

    fn wrap(model: PcaModel, _function: Option<&Bound<'_, PyAny>>) -> Self {
        Self { model: Arc::new(model) }
    }
}

/// A copy of dense data. The package passes dense scores only.
pub(crate) fn copy_dense<T: Element>(x: &dyn Source<T>) -> Result<Matrix<T>> {
    let (n, k) = x.shape();
    let mut values = Vec::with_capacity(n * k);
    x.visit(&mut |_, block| {
        if let Block::Dense(rows) = block {
            for i in 0..rows.n_rows() {
                values.extend((0..k).map(|j| rows.get(i, j)));
            }
        }
        Ok(())
    })?;
    Matrix::from_vec(n, k, values)
}
