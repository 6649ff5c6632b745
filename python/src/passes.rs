//! The file that keeps the passes of a fit.

use std::path::PathBuf;
use std::sync::Arc;

use karhunen::exec::PassLog;
use karhunen_io::{CheckpointNews, PassLogFile};
use pyo3::prelude::*;

use crate::errors::file_to_python;

/// A checkpoint, as passed from Python: its file, whether the fit continues from it, and a callable that receives a
/// message if a pass was not written.
pub(crate) type GivenLog<'py> = (PathBuf, bool, Bound<'py, PyAny>);

/// The log of the passes of a fit, if there is one.
#[derive(Clone)]
pub(crate) struct Passes(Option<Arc<PassLogFile>>);

impl Passes {
    /// Opens the file.
    ///
    /// # Errors
    /// As [`PassLogFile::new`].
    pub(crate) fn open(py: Python<'_>, given: Option<&GivenLog<'_>>) -> PyResult<Self> {
        let Some((path, resume, _)) = given else { return Ok(Self::none()) };
        let log = py.detach(|| PassLogFile::new(path, *resume)).map_err(file_to_python)?;
        Ok(Self(Some(Arc::new(log))))
    }

    /// No log.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// The log for a fit.
    pub(crate) fn log(&self) -> Option<&dyn PassLog> {
        self.0.as_deref().map(|log| log as &dyn PassLog)
    }

    /// Warns of a pass that was not written.
    ///
    /// # Errors
    /// Exceptions of the callable.
    pub(crate) fn warn(&self, given: Option<&GivenLog<'_>>) -> PyResult<()> {
        match (self.0.as_ref().and_then(|log| log.news()), given) {
            (Some(CheckpointNews::Lost(message) | CheckpointNews::Again(message)), Some((.., warn))) => {
                warn.call1((message,)).map(drop)
            }
            _ => Ok(()),
        }
    }
}
