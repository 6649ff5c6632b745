//! Rows that Python yields in blocks in every visit.

use std::sync::Arc;

use karhunen_io::{BlockReader, Data, FileRows, OwnedBlock, Values};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::dtype::{Data as Given, Element, LentMatrix};
use crate::errors::{to_python, while_reading};
use crate::observer::in_function;
use crate::table::SharedData;

/// Rows of a function of Python, read ahead by one thread.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct RowSource {
    data: SharedData,
}

#[pymethods]
impl RowSource {
    /// `open(first)` returns an iterator over blocks of rows from row `first` on, arrays or CSR matrices of the type
    /// `single` selects. Sparse rows have about `n_stored` stored entries. A block takes about `block_bytes` bytes.
    #[new]
    fn new(
        open: Py<PyAny>,
        shape: (usize, usize),
        single: bool,
        n_stored: Option<usize>,
        block_bytes: usize,
    ) -> Self {
        fn rows<T: Element>(
            open: Py<PyAny>,
            shape: (usize, usize),
            n_stored: Option<usize>,
            block_bytes: usize,
        ) -> Values<T> {
            let factory = Box::new(Factory { open, block_bytes });
            Values::InFile(FileRows::of_reader(factory, shape, n_stored).block_bytes(block_bytes))
        }
        let data = if single {
            Data::F32(rows(open, shape, n_stored, block_bytes))
        } else {
            Data::F64(rows(open, shape, n_stored, block_bytes))
        };
        Self { data: SharedData(Arc::new(data)) }
    }

    /// (n_samples, n_features).
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.data.data().shape()
    }
}

impl RowSource {
    pub(crate) fn share(&self) -> SharedData {
        self.data.clone()
    }
}

/// The function that opens the blocks.
struct Factory {
    open: Py<PyAny>,
    block_bytes: usize,
}

impl<T: Element> BlockReader<T> for Factory {
    fn each(
        &self,
        first: usize,
        _: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> karhunen_io::Result<()> {
        let failed = |error| while_reading("RowBlocks", error);
        let blocks = in_function(|| Python::attach(|py| self.open.call1(py, (first,)))).map_err(failed)?;
        let next = || in_function(|| Python::attach(|py| next_block(blocks.bind(py))));
        // The interpreter lock is free while `f` waits.
        while let Some(rows) = next().map_err(failed)? {
            *reached += rows.n_rows();
            if !f(rows) {
                break;
            }
        }
        // The clauses of the generator that end it run on the thread that read from it.
        in_function(|| Python::attach(|py| blocks.bind(py).call_method0("close").map(drop))).map_err(failed)
    }

    fn held(&self, _: usize) -> f64 {
        // The block that Python yielded, and the form that it was converted from.
        2.0 * self.block_bytes as f64
    }
}

/// A copy of the next block, which the function may overwrite.
fn next_block<T: Element>(blocks: &Bound<'_, PyAny>) -> PyResult<Option<OwnedBlock<T>>> {
    let Some(block) = blocks.try_iter()?.next().transpose()? else { return Ok(None) };
    let block: Given = block.extract()?;
    Ok(Some(match block {
        Given::F32(rows) => copied(&rows)?,
        Given::F64(rows) => copied(&rows)?,
        Given::Shared(_) => return Err(PyTypeError::new_err("a block is an array or a matrix")),
    }))
}

fn copied<T: Element, U: Element>(rows: &LentMatrix<T>) -> PyResult<OwnedBlock<U>> {
    rows.owned().map_err(to_python)
}
