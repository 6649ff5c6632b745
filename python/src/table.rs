//! Tables in files, whose rows the engine reads itself.

use std::path::PathBuf;
use std::sync::Arc;

use karhunen::memory;
use karhunen_io::{Data, ReadOptions, Table, read_tables};
use pyo3::prelude::*;

use crate::errors::file_to_python;
use crate::observer::{Effort, run};

/// A table of files. Values beyond the memory limit stay in the files.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct FileTable {
    table: Arc<Table>,
}

#[pymethods]
impl FileTable {
    /// Opens files and folders as one table. Values that need more than half of `memory_limit` bytes, by default half of
    /// the machine's memory, stay in the files.
    #[new]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        memory_limit: Option<u64>,
        cache_dir: Option<PathBuf>,
        n_threads: Option<usize>,
    ) -> PyResult<Self> {
        /// Multiplications of a second: reading may take long, and is interrupted by signals.
        const LONG: f64 = 1e10;
        let most = memory::limit(memory_limit).bytes / 2.0;
        let options = ReadOptions { memory_limit: Some(most as u64), cache_dir, ..ReadOptions::default() };
        let table = run(py, Effort::new(LONG, n_threads), None, move |run| {
            let options = ReadOptions { n_threads: run.n_threads, ..options };
            Ok(read_tables(&paths, &options))
        })?;
        Ok(Self { table: Arc::new(table.map_err(file_to_python)?) })
    }

    /// (n_samples, n_features).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.table.data.shape()
    }

    /// `"f32"` or `"f64"`.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.table.data.dtype()
    }

    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.table.feature_names.clone()
    }

    /// Possible faults of the table, each with a remedy.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.table.warnings.iter().map(ToString::to_string).collect()
    }
}

impl FileTable {
    /// The values, kept alive by the result.
    pub(crate) fn share(&self) -> SharedTable {
        SharedTable(Arc::clone(&self.table))
    }
}

/// The values of a table, shared with Python.
pub(crate) struct SharedTable(Arc<Table>);

impl SharedTable {
    pub(crate) fn data(&self) -> &Data {
        &self.0.data
    }
}
