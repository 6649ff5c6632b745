//! Fitted Nyström feature maps as objects of Python.

use std::sync::Arc;

use karhunen::{
    BlockKernel, Gamma, Nystrom, NystromMap as CoreMap, NystromParts, Observer, Result, Source, Transform,
    Weights,
};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Fresh, Lent, copy_matrix, copy_vector, lend_vector, show_matrix};
use crate::dtype::{Data, Element, Job};
use crate::errors::to_python;
use crate::kernel_function::{Called, cause};
use crate::kernel_model::show_rows;
use crate::kernel_options::NystromOptions;
use crate::kernel_state::{copy_rows, item};
use crate::observer::{run, threads_for};
use crate::state::{of_json, to_json};

/// Chooses landmarks among the rows of `x`. `function` is the kernel of the name `custom`.
#[pyfunction]
#[pyo3(signature = (x, options, sample_weight=None, function=None))]
pub(crate) fn fit_nystrom(
    py: Python<'_>,
    x: Data,
    options: NystromOptions,
    sample_weight: Option<&Bound<'_, PyAny>>,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<NystromMap> {
    let called = function.map(Called::new);
    let nystrom = options.into_nystrom()?;
    let m = nystrom.n_landmarks.min(x.shape().0);
    // Kernel values of candidates and landmarks, and the decomposition of those of the landmarks.
    let cost = match called {
        Some(_) => f64::INFINITY,
        None => x.product_cost(1) * m as f64 + 10.0 * (m as f64).powi(3),
    };
    let samples = sample_weight.map(lend_vector).transpose()?;
    let job = Fit { nystrom, cost, samples, called: called.clone() };
    let map = run(py, cost, None, move |observer| x.run(job, observer))
        .map_err(|error| cause(called.as_ref(), error))?;
    Ok(NystromMap { map: Arc::new(map), called })
}

struct Fit {
    nystrom: Nystrom,
    cost: f64,
    samples: Option<Lent<f64>>,
    called: Option<Arc<Called>>,
}

impl Job for Fit {
    type Output = CoreMap;
    fn run<T: Element>(self, x: &dyn Source<T>, observer: &dyn Observer) -> Result<CoreMap> {
        let n_threads = threads_for(self.cost, self.nystrom.n_threads);
        let nystrom = Nystrom { n_threads, ..self.nystrom.clone() };
        let weights = Weights { samples: self.samples.as_ref().map(Lent::as_slice), features: None };
        let map = match &self.called {
            Some(called) => nystrom.fit_function(x, &weights, Arc::<Called>::clone(called), observer)?,
            None => nystrom.fit_observed(x, &weights, observer)?,
        };
        // The map remembers what was asked for.
        let map = CoreMap::try_from(NystromParts { options: self.nystrom, ..map.parts().clone() })?;
        Ok(with_function(map, self.called.as_ref()))
    }
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

    /// Which of the rows fitted they were.
    #[getter]
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.map.parts().indices.iter().map(|i| *i as i64))
    }

    /// Kernel values to features, shape (n_landmarks, n_landmarks).
    #[getter]
    #[allow(unsafe_code)]
    fn normalization<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the class is frozen, and the array holds the map.
        unsafe { show_matrix(&slf.get().map.parts().normalization, slf.as_any()) }
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
        let job = Project { map: Arc::clone(&self.map), n_threads: threads_for(cost, n_threads), out };
        run(py, cost, None, move |observer| x.run(job, observer))
            .map_err(|error| cause(self.called.as_ref(), error))
    }

    /// Everything that it consists of, but for a kernel function, as arrays, numbers and JSON.
    fn state<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let parts = slf.get().map.parts();
        let state = PyDict::new(slf.py());
        for name in ["landmarks", "indices", "normalization", "n_features"] {
            state.set_item(name, slf.getattr(name)?)?;
        }
        state.set_item("shift", PyArray1::from_slice(slf.py(), &parts.shift))?;
        state.set_item("dtype", &parts.dtype)?;
        state.set_item("kernel", to_json(&parts.kernel)?)?;
        state.set_item("options", to_json(&parts.options)?)?;
        Ok(state)
    }

    /// The map of a state; `function` is the kernel of the name `custom`.
    #[staticmethod]
    #[pyo3(signature = (state, function=None))]
    fn from_state(state: &Bound<'_, PyDict>, function: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let get = |name: &str| item(state, name);
        let indices = get("indices")?;
        let indices = lend_vector::<i64>(&indices)?;
        let parts = NystromParts {
            kernel: of_json(&get("kernel")?)?,
            landmarks: copy_rows(&get("landmarks")?, get("n_features")?.extract()?)?,
            indices: indices.as_slice().iter().map(|i| *i as usize).collect(),
            shift: copy_vector(&get("shift")?)?,
            normalization: copy_matrix(&get("normalization")?)?,
            options: of_json(&get("options")?)?,
            dtype: get("dtype")?.extract()?,
        };
        let map = CoreMap::try_from(parts).map_err(to_python)?;
        Ok(Self::new(map, function))
    }
}

impl NystromMap {
    pub(crate) fn map(&self) -> Arc<CoreMap> {
        Arc::clone(&self.map)
    }

    /// With the caller's kernel function, which plain data do not hold.
    pub(crate) fn new(map: CoreMap, function: Option<&Bound<'_, PyAny>>) -> Self {
        let called = function.map(Called::new);
        Self { map: Arc::new(with_function(map, called.as_ref())), called }
    }
}

struct Project {
    map: Arc<CoreMap>,
    n_threads: Option<usize>,
    out: Fresh,
}

impl Job for Project {
    type Output = Py<PyAny>;
    fn run<T: Element>(mut self, x: &dyn Source<T>, observer: &dyn Observer) -> Result<Py<PyAny>> {
        let how = Transform { whiten: false, n_threads: self.n_threads, observer };
        let features = self.map.transform_with(x, &how)?;
        self.out.values::<T>().copy_from_slice(features.as_slice());
        Ok(self.out.into_array())
    }
}
