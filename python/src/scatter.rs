//! Moments of rows that merge, and fits from them.

use std::sync::Arc;

use karhunen::Pca;
use karhunen::moments::Scatter as Sums;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{LentVector, lend_vector};
use crate::dtype::{Data, job};
use crate::errors::to_python;
use crate::model::Model;
use crate::model_class::{ModelClass, view, view_matrix};
use crate::observer::{Effort, run};
use crate::options::Options;

/// The weights, means and products of columns of the rows of `x`.
#[pyfunction]
#[pyo3(signature = (x, sample_weight=None, memory_limit=None, n_threads=None, on_progress=None))]
pub(crate) fn sum_rows(
    py: Python<'_>,
    x: Data,
    sample_weight: Option<&Bound<'_, PyAny>>,
    memory_limit: Option<u64>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Scatter> {
    let effort = Effort::new(x.product_cost(x.shape().1), n_threads);
    let pca = Pca { memory_limit, ..Pca::default() };
    let job = job! {
        pca: Pca,
        weights: Option<LentVector<f64>> = sample_weight.map(lend_vector).transpose()?,
        |x, run| -> Sums {
            pca.scatter_of(x, weights.as_ref().map(LentVector::as_slice), run)
        }
    };
    let sums = run(py, effort, on_progress, move |run| x.run(job, run))?;
    Ok(Scatter { sums: Arc::new(sums) })
}

/// The sums of `n_samples` rows with this covariance matrix, divisor n - 1.
#[pyfunction]
pub(crate) fn sums_of_covariance(
    py: Python<'_>,
    x: Data,
    mean: &Bound<'_, PyAny>,
    n_samples: usize,
) -> PyResult<Scatter> {
    let effort = Effort::new((x.shape().1 as f64).powi(3), None);
    let job = job! {
        mean: LentVector<f64> = lend_vector(mean)?,
        n_samples: usize,
        |x, _| -> Sums {
            Sums::of_covariance(x, mean.as_slice(), n_samples)
        }
    };
    let sums = run(py, effort, None, move |run| x.run(job, run))?;
    Ok(Scatter { sums: Arc::new(sums) })
}

/// Fits components to the rows that were summed.
#[pyfunction]
#[pyo3(signature = (scatter, options, feature_weight=None, on_progress=None))]
pub(crate) fn fit_scatter(
    py: Python<'_>,
    scatter: &Bound<'_, Scatter>,
    options: &Bound<'_, PyDict>,
    feature_weight: Option<&Bound<'_, PyAny>>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let Options { engine: pca, n_threads }: Options<Pca> = Options::read(options)?;
    let sums = Arc::clone(&scatter.get().sums);
    let weights = feature_weight.map(lend_vector).transpose()?;
    let effort = Effort::new((sums.moments.mean.len() as f64).powi(3), n_threads);
    let model = run(py, effort, on_progress, move |run| {
        pca.fit_scatter_with(&sums, weights.as_ref().map(LentVector::as_slice), run)
    })?;
    Ok(Model::wrap(model, None))
}

/// Weights, means and products of columns of rows. Its arrays are read-only views of the engine's memory.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct Scatter {
    sums: Arc<Sums>,
}

#[pymethods]
impl Scatter {
    /// Number of rows.
    #[getter]
    fn n_samples(&self) -> usize {
        self.sums.moments.n_samples
    }

    #[getter]
    fn sum_of_weights(&self) -> f64 {
        self.sums.moments.weight
    }

    #[getter]
    fn mean<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |sums| &sums.moments.mean)
    }

    /// Sums of products of deviations from the mean, shape (n_features, n_features).
    #[getter]
    fn matrix<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |sums| &sums.matrix)
    }

    /// The sums of these and the `other` rows, whose column `j` is column `places[j]` of these.
    #[pyo3(signature = (other, places=None))]
    fn merged(&self, py: Python<'_>, other: &Bound<'_, Self>, places: Option<Vec<usize>>) -> PyResult<Self> {
        let (sums, other) = (Arc::clone(&self.sums), Arc::clone(&other.get().sums));
        let merged = py.detach(move || {
            let mut total = Sums::clone(&sums);
            match places {
                None => total.merge(&other)?,
                Some(places) => total.merge(&other.with_columns_at(&places)?)?,
            }
            Ok(total)
        });
        Ok(Self { sums: Arc::new(merged.map_err(to_python)?) })
    }
}

impl ModelClass for Scatter {
    type Core = Sums;

    fn core(&self) -> &Arc<Sums> {
        &self.sums
    }

    fn wrap(sums: Sums, _function: Option<&Bound<'_, PyAny>>) -> Self {
        Self { sums: Arc::new(sums) }
    }
}
