//! Rotations of loadings.

use karhunen::rotation::{Oblimin, Orthomax, Promax, Rotation, procrustes};
use karhunen::{Matrix, Result, Run};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{copy_matrix, give_matrix};
use crate::observer::{Effort, run};

/// Rotated loadings and all that follows from them.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct RotatedLoadings {
    rotation: Rotation,
}

/// An orthomax rotation of loadings, shape (n_features, n_components).
#[pyfunction]
pub(crate) fn rotate_orthomax(
    py: Python<'_>,
    loadings: &Bound<'_, PyAny>,
    gamma: f64,
    kaiser: bool,
) -> PyResult<RotatedLoadings> {
    let orthomax = Orthomax { gamma, kaiser, ..Orthomax::default() };
    rotated(py, copy_matrix(loadings)?, move |loadings, run| orthomax.rotate_with(loadings, run))
}

/// A promax rotation of loadings, shape (n_features, n_components).
#[pyfunction]
pub(crate) fn rotate_promax(
    py: Python<'_>,
    loadings: &Bound<'_, PyAny>,
    power: f64,
    kaiser: bool,
) -> PyResult<RotatedLoadings> {
    let promax = Promax { power, orthomax: Orthomax { kaiser, ..Orthomax::default() } };
    rotated(py, copy_matrix(loadings)?, move |loadings, run| promax.rotate_with(loadings, run))
}

/// An oblimin rotation of loadings, shape (n_features, n_components).
#[pyfunction]
pub(crate) fn rotate_oblimin(
    py: Python<'_>,
    loadings: &Bound<'_, PyAny>,
    gamma: f64,
    kaiser: bool,
) -> PyResult<RotatedLoadings> {
    let oblimin = Oblimin { gamma, kaiser, ..Oblimin::default() };
    rotated(py, copy_matrix(loadings)?, move |loadings, run| oblimin.rotate_with(loadings, run))
}

/// The rotation of loadings, shape (n_features, n_components), to a target of that shape.
#[pyfunction]
pub(crate) fn rotate_to_target(
    py: Python<'_>,
    loadings: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
) -> PyResult<RotatedLoadings> {
    let target = copy_matrix(target)?;
    rotated(py, copy_matrix(loadings)?, move |loadings, _| procrustes(loadings, &target))
}

/// Rotates without the interpreter, which is asked for signals.
fn rotated(
    py: Python<'_>,
    loadings: Matrix,
    rotate: impl FnOnce(&Matrix, &Run<'_>) -> Result<Rotation> + Send + 'static,
) -> PyResult<RotatedLoadings> {
    let (p, k) = (loadings.n_rows() as f64, loadings.n_cols() as f64);
    // About a hundred sweeps over all pairs.
    let effort = Effort::new(100.0 * p * k * k, Some(1));
    Ok(RotatedLoadings { rotation: run(py, effort, None, move |run| rotate(&loadings, run))? })
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
    fn score_rotation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        give_matrix(py, self.rotation.score_rotation.clone())
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
}
