//! Columns that are probably no features.

use karhunen_io::{Suspect, suspects, symmetric_hint};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dtype::Data;
use crate::errors::to_python;

/// One hint for each column that is probably no feature, in which `remedy` is said, and one for a symmetric table.
#[pyfunction]
pub(crate) fn suspect_columns(x: Data, names: Vec<String>, remedy: &str) -> PyResult<Vec<String>> {
    if names.len() != x.shape().1 {
        return Err(PyValueError::new_err(format!("{} names for {} columns", names.len(), x.shape().1)));
    }
    let hints = x.look(|table| {
        let of_column =
            |suspect: Suspect| suspect.hint(&format!("column '{}'", names[suspect.column]), remedy);
        let columns = suspects(table, Some(&names)).into_iter().map(of_column);
        let matrix = symmetric_hint(table, "use PCA.from_covariance(table, n_samples=...)");
        columns.chain(matrix).collect()
    });
    Ok(hints.map_err(to_python)?.unwrap_or_default())
}
