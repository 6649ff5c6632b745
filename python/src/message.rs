//! Results of parts as bytes: arrays, which schedulers send without copying them.

use std::ops::Deref;

use karhunen::record::Recorded;
use karhunen_io::{from_bytes, to_bytes};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::arrays::{LentVector, lend_vector};
use crate::errors::file_to_python;

/// A result as it came from another process: `bytes`, or an array of `uint8`.
pub(crate) enum Message {
    Bytes(PyBackedBytes),
    Array(LentVector<u8>),
}

impl Message {
    /// Reads the content.
    pub(crate) fn read<M: Recorded>(&self) -> PyResult<M> {
        from_bytes(self).map_err(file_to_python)
    }
}

impl Deref for Message {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Array(values) => values.as_slice(),
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Message {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract() {
            Ok(bytes) => Ok(Self::Bytes(bytes)),
            Err(_) => lend_vector(&value).map(Self::Array),
        }
    }
}

/// The content as an array, which takes over the bytes.
pub(crate) fn to_array<'py, M: Recorded + Sync>(
    py: Python<'py>,
    content: &M,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let bytes = py.detach(|| to_bytes(content)).map_err(file_to_python)?;
    Ok(PyArray1::from_vec(py, bytes))
}
