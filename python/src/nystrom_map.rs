//! Fitted Nyström feature maps as objects of Python.

use std::sync::Arc;

use karhunen::Weights;
use karhunen::kernel::{BlockKernel, Gamma, Nystrom, NystromMap as CoreMap};
use karhunen::pca::Transform;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Fresh, LentVector, lend_vector};
use crate::dtype::{Data, job};
use crate::kernel_function::{Called, cause};
use crate::kernel_model::show_rows;
use crate::model_class::{ModelClass, view_matrix};
use crate::observer::{Effort, run};
use crate::options::Options;

/// Chooses landmarks among the rows of `x`. `function` is the kernel of the name `custom`.
#[pyfunction]
#[pyo3(signature = (x, options, sample_weight=None, function=None))]
pub(crate) fn fit_nystrom(
    py: Python<'_>,
    x: Data,
    options: &Bound<'_, PyDict>,
    sample_weight: Option<&Bound<'_, PyAny>>,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<NystromMap> {
    let called = function.map(Called::new);
    let Options { engine: nystrom, n_threads } =
        Options::with_kernel(options, |nystrom: &mut Nystrom| &mut nystrom.kernel)?;
    let m = nystrom.n_landmarks.min(x.shape().0);
    // Kernel values of candidates and landmarks, and the decomposition of the landmarks' own.
    let cost = match called {
        Some(_) => f64::INFINITY,
        None => x.product_cost(1) * m as f64 + 10.0 * (m as f64).powi(3),
    };
    let samples = sample_weight.map(lend_vector).transpose()?;
    let job = job! {
        nystrom: Nystrom,
        samples: Option<LentVector<f64>>,
        called: Option<Arc<Called>> = called.clone(),
        |x, run| -> CoreMap {
            let weights = Weights { samples: samples.as_ref().map(LentVector::as_slice), features: None };
            match &called {
                Some(called) => nystrom.fit_function(x, &weights, Arc::<Called>::clone(called), run),
                None => nystrom.fit_with(x, &weights, run),
            }
        }
    };
    let map = run(py, Effort::new(cost, n_threads), None, move |run| x.run(job, run))
        .map_err(|error| cause(called.as_ref(), error))?;
    Ok(NystromMap { map: Arc::new(map), called })
}

fn with_function(map: CoreMap, called: Option<&Arc<Called>>) -> CoreMap {
    match called {
        Some(called) => map.with_function(Arc::<Called>::clone(called) as Arc<dyn BlockKernel>),
        None => map,
    }
}

/// A fitted map. Its arrays are read-only views of the engine's memory.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct NystromMap {
    map: Arc<CoreMap>,
    called: Option<Arc<Called>>,
}

#[pymethods]
impl NystromMap {
    /// The landmarks: an array, or data, indices and pointers of CSR.
    #[getter]
    fn landmarks<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        show_rows(&slf.get().map.parts().landmarks, slf.as_any())
    }

    /// Indices of the landmarks among the fitted rows.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.map.parts().indices.iter().map(|i| *i as i64))
    }

    /// Kernel values to features, shape (n_landmarks, n_landmarks).
    #[getter]
    fn normalization<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |map| &map.parts().normalization)
    }

    /// The coefficient of the kernel, if it has one.
    #[getter]
    fn gamma(&self) -> Option<f64> {
        match self.map.parts().kernel.gamma() {
            Some(Gamma::Value(gamma)) => Some(gamma),
            _ => None,
        }
    }

    /// `"f32"` or `"f64"`: the type of the data.
    #[getter]
    fn dtype(&self) -> &str {
        &self.map.parts().dtype
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.map.parts().landmarks.shape().1
    }

    /// Features of rows, in the type of `x`.
    #[pyo3(signature = (x, n_threads=None))]
    fn transform(&self, py: Python<'_>, x: Data, n_threads: Option<usize>) -> PyResult<Py<PyAny>> {
        let m = self.map.parts().indices.len();
        let cost = match self.called {
            Some(_) => f64::INFINITY,
            None => x.product_cost(m) + (x.shape().0 * m * m) as f64,
        };
        let out = x.room(py, m)?;
        let job = job! {
            map: Arc<CoreMap> = Arc::clone(&self.map),
            out: Fresh,
            |x, run| -> Py<PyAny> {
                let mut out = out;
                let features = map.transform_with(x, Transform::default(), run)?;
                out.values::<T>().copy_from_slice(features.as_slice());
                Ok(out.into_array())
            }
        };
        run(py, Effort::new(cost, n_threads), None, move |run| x.run(job, run))
            .map_err(|error| cause(self.called.as_ref(), error))
    }
}

impl ModelClass for NystromMap {
    type Core = CoreMap;

    fn core(&self) -> &Arc<CoreMap> {
        &self.map
    }

    fn wrap(map: CoreMap, function: Option<&Bound<'_, PyAny>>) -> Self {
        let called = function.map(Called::new);
        Self { map: Arc::new(with_function(map, called.as_ref())), called }
    }
}
