//! Calls a kernel function written in Python with blocks of rows.

use std::sync::{Arc, Mutex, PoisonError};

use karhunen::kernel::BlockKernel;
use karhunen::{Error, Matrix, Result};
use pyo3::prelude::*;

use crate::arrays::{copy_matrix, give_matrix};
use crate::observer::in_function;

/// Calls a Python function with two float64 arrays of rows, (a, p) and (b, p); it returns a float64 array (a, b).
pub(crate) struct Called {
    function: Py<PyAny>,
    /// The exception that it raised, which an error of the engine cannot carry.
    raised: Mutex<Option<PyErr>>,
}

impl Called {
    pub(crate) fn new(function: &Bound<'_, PyAny>) -> Arc<Self> {
        Arc::new(Self { function: function.clone().unbind(), raised: Mutex::new(None) })
    }

    fn call(&self, py: Python<'_>, x: &Matrix, y: &Matrix) -> PyResult<Matrix> {
        let blocks = (give_matrix(py, x.clone())?, give_matrix(py, y.clone())?);
        copy_matrix(&self.function.bind(py).call1(blocks)?)
    }
}

impl BlockKernel for Called {
    fn evaluate(&self, x: &Matrix, y: &Matrix) -> Result<Matrix> {
        in_function(|| Python::attach(|py| self.call(py, x, y))).map_err(|exception| {
            self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(exception);
            Error::Stopped { phase: "kernel function" }
        })
    }
}

/// Returns the exception of the kernel function if it raised one, otherwise `error`.
pub(crate) fn cause(called: Option<&Arc<Called>>, error: PyErr) -> PyErr {
    let raised =
        called.and_then(|called| called.raised.lock().unwrap_or_else(PoisonError::into_inner).take());
    raised.unwrap_or(error)
}
