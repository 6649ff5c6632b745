//! Columns that are probably no features.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dtype::Data;
use crate::errors::to_python;

/// One hint for each column that is probably no feature; `remedy` is said in each.
#[pyfunction]
pub(crate) fn suspect_columns(x: Data, names: Vec<String>, remedy: &str) -> PyResult<Vec<String>> {
    if names.len() != x.shape().1 {
        return Err(PyValueError::new_err(format!("{} names for {} columns", names.len(), x.shape().1)));
    }
    let found = x.suspects(&names).map_err(to_python)?;
    Ok(found
        .iter()
        .map(|suspect| suspect.hint(&format!("column '{}'", names[suspect.column]), remedy))
        .collect())
}
