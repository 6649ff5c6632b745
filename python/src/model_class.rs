//! Python classes of models: their views as numpy arrays, and values as JSON.

use std::borrow::Cow;
use std::sync::Arc;

use karhunen::Matrix;
use karhunen::record::Recorded;
use karhunen_io::Stored;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arrays::show_array;
use crate::errors::to_python;

/// A Python class that holds an immutable model of the engine.
pub(crate) trait ModelClass: PyClass<Frozen = True> + Into<PyClassInitializer<Self>> + Sync {
    /// The model of the engine.
    type Core: Stored<Extras: Send> + Clone + Send + Sync;

    fn core(&self) -> &Arc<Self::Core>;

    /// Wraps a model; `function` is the kernel function of models with the kernel `custom`.
    fn wrap(model: Self::Core, function: Option<&Bound<'_, PyAny>>) -> Self;

    /// The options of the fit as JSON, `null` if the model has none.
    fn options(model: &Self::Core) -> PyResult<String> {
        let record = model.to_record().map_err(to_python)?;
        Ok(record.texts.get("options").cloned().unwrap_or_else(|| "null".to_owned()))
    }
}

/// A view of a vector of the model.
pub(crate) fn view<'py, M: ModelClass>(
    slf: &Bound<'py, M>,
    vector: impl Fn(&M::Core) -> &[f64],
) -> PyResult<Bound<'py, PyAny>> {
    let values = vector(slf.get().core());
    to_numpy(&[values.len()], values.into(), slf.as_any())
}

/// A view of a matrix of the model.
pub(crate) fn view_matrix<'py, M: ModelClass>(
    slf: &Bound<'py, M>,
    matrix: impl Fn(&M::Core) -> &Matrix,
) -> PyResult<Bound<'py, PyAny>> {
    let matrix = matrix(slf.get().core());
    to_numpy(&[matrix.n_rows(), matrix.n_cols()], matrix.as_slice().into(), slf.as_any())
}

/// Returns a view of values that the owner's model holds, or an array of owned values.
#[allow(unsafe_code)]
pub(crate) fn to_numpy<'py, T: numpy::Element + Copy>(
    shape: &[usize],
    values: Cow<'_, [T]>,
    owner: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match values {
        // SAFETY: the values are borrowed from the model of the owner, whose class is frozen.
        Cow::Borrowed(values) => unsafe { show_array(shape, values, owner) },
        Cow::Owned(values) => Ok(PyArray1::from_vec(owner.py(), values).reshape(shape)?.into_any()),
    }
}

pub(crate) fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn of_json<V: DeserializeOwned>(text: &Bound<'_, PyAny>) -> PyResult<V> {
    serde_json::from_str(&text.extract::<String>()?)
        .map_err(|error| PyValueError::new_err(format!("the state of a model is damaged: {error}")))
}
