//! Rotations of loadings.

use karhunen::rotation::{Oblimin, Orthomax, Promax, Rotation, procrustes};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{copy_matrix, copy_vector, give_matrix};
use crate::errors::to_python;

/// Rotated loadings and all that follows from them.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct RotatedLoadings {
    rotation: Rotation,
}

/// Rotates loadings, shape (n_features, n_components). `parameter` is gamma of an orthomax or oblimin rotation, and the
/// power of promax.
#[pyfunction]
#[pyo3(signature = (loadings, method, parameter, kaiser, target=None))]
pub(crate) fn rotate(
    py: Python<'_>,
    loadings: &Bound<'_, PyAny>,
    method: &str,
    parameter: f64,
    kaiser: bool,
    target: Option<&Bound<'_, PyAny>>,
) -> PyResult<RotatedLoadings> {
    let loadings = copy_matrix(loadings)?;
    let target = target.map(copy_matrix).transpose()?;
    let found = match (method, target) {
        ("orthomax", _) => {
            let orthomax = Orthomax { gamma: parameter, kaiser, ..Orthomax::default() };
            py.detach(|| orthomax.rotate(&loadings))
        }
        ("promax", _) => {
            let promax = Promax { power: parameter, orthomax: Orthomax { kaiser, ..Orthomax::default() } };
            py.detach(|| promax.rotate(&loadings))
        }
        ("oblimin", _) => {
            let oblimin = Oblimin { gamma: parameter, kaiser, ..Oblimin::default() };
            py.detach(|| oblimin.rotate(&loadings))
        }
        ("procrustes", Some(target)) => py.detach(|| procrustes(&loadings, &target)),
        _ => return Err(PyValueError::new_err(format!("rotation {method:?} is unknown"))),
    };
    Ok(RotatedLoadings { rotation: found.map_err(to_python)? })
}

#[pymethods]
impl RotatedLoadings {
    #[getter]
    fn pattern<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.rotation.pattern.clone())
    }

    #[getter]
    fn structure<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.rotation.structure.clone())
    }

    #[getter]
    fn rotation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.rotation.rotation.clone())
    }

    #[getter]
    fn component_correlations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.rotation.component_correlations.clone())
    }

    #[getter]
    fn communalities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.rotation.communalities)
    }

    #[getter]
    fn variances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.rotation.variances)
    }

    #[getter]
    fn n_iter(&self) -> usize {
        self.rotation.n_iter
    }

    #[getter]
    fn converged(&self) -> bool {
        self.rotation.converged
    }

    /// Scores of the rotated components, from those of the model and their variances.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        scores: &Bound<'_, PyAny>,
        variances: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let found = self.rotation.scores(&copy_matrix(scores)?, &copy_vector(variances)?);
        give_matrix(py, found.map_err(to_python)?)
    }
}
