//! Fitted models of every kind as plain values, for pickles, and as files.

use std::path::PathBuf;

use karhunen::record::{Array, Number, Numbers, Record, Recorded};
use karhunen_io::{
    AnyModel as SavedModel, Saved, SavedRotated, SavedRotatedIncomplete, load_any_model, load_model,
    save_model,
};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use pyo3::{IntoPyObjectExt, PyTypeInfo};

use crate::categorical_model::CategoricalModel;
use crate::errors::{file_to_python, to_python};
use crate::incomplete_model::IncompleteModel;
use crate::incremental::IncrementalState;
use crate::kernel_model::KernelModel;
use crate::model::Model;
use crate::model_class::{ModelClass, to_json, to_numpy};
use crate::nystrom_map::NystromMap;
use crate::rotation::{RotatedIncompleteModel, RotatedModel};
use crate::scatter::Scatter;

/// A model of any kind.
#[derive(FromPyObject)]
pub(crate) enum AnyModel<'py> {
    Complete(Bound<'py, Model>),
    Incomplete(Bound<'py, IncompleteModel>),
    Kernel(Bound<'py, KernelModel>),
    Categorical(Bound<'py, CategoricalModel>),
    Nystrom(Bound<'py, NystromMap>),
    Scatter(Bound<'py, Scatter>),
    Incremental(Bound<'py, IncrementalState>),
    Rotated(Bound<'py, RotatedModel>),
    RotatedIncomplete(Bound<'py, RotatedIncompleteModel>),
}

/// Calls a generic function with the class of a model. A macro, because a generic function cannot be an argument.
macro_rules! for_class {
    ($class:expr, $function:ident ( $($argument:expr),* )) => {{
        let (class, py) = ($class, $class.py());
        if class.is(Model::type_object(py)) {
            $function::<Model>($($argument),*)?.into_py_any(py)
        } else if class.is(IncompleteModel::type_object(py)) {
            $function::<IncompleteModel>($($argument),*)?.into_py_any(py)
        } else if class.is(KernelModel::type_object(py)) {
            $function::<KernelModel>($($argument),*)?.into_py_any(py)
        } else if class.is(CategoricalModel::type_object(py)) {
            $function::<CategoricalModel>($($argument),*)?.into_py_any(py)
        } else if class.is(NystromMap::type_object(py)) {
            $function::<NystromMap>($($argument),*)?.into_py_any(py)
        } else if class.is(Scatter::type_object(py)) {
            $function::<Scatter>($($argument),*)?.into_py_any(py)
        } else if class.is(IncrementalState::type_object(py)) {
            $function::<IncrementalState>($($argument),*)?.into_py_any(py)
        } else if class.is(RotatedModel::type_object(py)) {
            $function::<RotatedModel>($($argument),*)?.into_py_any(py)
        } else if class.is(RotatedIncompleteModel::type_object(py)) {
            $function::<RotatedIncompleteModel>($($argument),*)?.into_py_any(py)
        } else {
            Err(PyTypeError::new_err(format!("{class} is not a class of models")))
        }
    }};
}

/// Returns the record of a model, which excludes kernel functions: arrays, which are views of the model, and texts.
#[pyfunction]
pub(crate) fn to_state<'py>(model: AnyModel<'py>) -> PyResult<Bound<'py, PyDict>> {
    match &model {
        AnyModel::Complete(model) => state_of(model),
        AnyModel::Incomplete(model) => state_of(model),
        AnyModel::Kernel(model) => state_of(model),
        AnyModel::Categorical(model) => state_of(model),
        AnyModel::Nystrom(model) => state_of(model),
        AnyModel::Scatter(sums) => state_of(sums),
        AnyModel::Incremental(state) => state_of(state),
        AnyModel::Rotated(model) => state_of(model),
        AnyModel::RotatedIncomplete(model) => state_of(model),
    }
}

fn state_of<'py, M: ModelClass>(model: &Bound<'py, M>) -> PyResult<Bound<'py, PyDict>> {
    let record = model.get().core().to_record().map_err(to_python)?;
    let state = PyDict::new(model.py());
    state.set_item("kind", &record.kind)?;
    state.set_item("karhunen", &record.version)?;
    for (key, text) in &record.texts {
        state.set_item(key, text)?;
    }
    for Array { name, shape, numbers } in record.arrays {
        let owner = model.as_any();
        let array = match numbers {
            Numbers::F64(values) => to_numpy(&shape, values, owner),
            Numbers::F32(values) => to_numpy(&shape, values, owner),
            Numbers::I64(values) => to_numpy(&shape, values, owner),
            Numbers::U32(values) => to_numpy(&shape, values, owner),
            Numbers::U8(values) => to_numpy(&shape, values, owner),
        };
        state.set_item(name, array?)?;
    }
    Ok(state)
}

/// Restores a model from its state; `function` is the kernel function of models with the kernel `custom`.
#[pyfunction]
#[pyo3(signature = (kind, state, function=None))]
pub(crate) fn from_state(
    kind: &Bound<'_, PyType>,
    state: &Bound<'_, PyDict>,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    for_class!(kind, of_state(state, function))
}

fn of_state<M: ModelClass>(state: &Bound<'_, PyDict>, function: Option<&Bound<'_, PyAny>>) -> PyResult<M> {
    let mut record = Record::new(M::Core::KIND);
    for (name, value) in state {
        let name: String = name.extract()?;
        match (name.as_str(), value.cast::<PyString>()) {
            ("kind", Ok(kind)) => record.kind = kind.extract()?,
            ("karhunen", Ok(version)) => record.version = version.extract()?,
            (_, Ok(text)) => record.put_text(&name, &text.to_cow()?),
            // `None` marks an absent part.
            _ if value.is_none() => {}
            _ => put_array(&mut record, &name, &value)?,
        }
    }
    let model = M::Core::from_record(&mut record).map_err(to_python)?;
    Ok(M::wrap(model, function))
}

/// Adds a numpy array of any strides.
fn put_array(record: &mut Record<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    fn put<T: Number + numpy::Element>(
        record: &mut Record<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
    ) -> Option<()> {
        let array = value.cast::<PyArrayDyn<T>>().ok()?.readonly();
        let array = array.as_array();
        record.put(name, array.shape(), array.iter().copied().collect::<Vec<T>>());
        Some(())
    }
    put::<f64>(record, name, value)
        .or_else(|| put::<f32>(record, name, value))
        .or_else(|| put::<i64>(record, name, value))
        .or_else(|| put::<u32>(record, name, value))
        .or_else(|| put::<u8>(record, name, value))
        .ok_or_else(|| {
            PyValueError::new_err(format!(
                "the state of a model is damaged: {name} is not an array that models have"
            ))
        })
}

/// Writes a model file; `extras` is its content besides the model.
#[pyfunction]
pub(crate) fn save(
    py: Python<'_>,
    path: PathBuf,
    model: AnyModel<'_>,
    extras: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let extras: String = py.import("json")?.call_method1("dumps", (extras,))?.extract()?;
    match &model {
        AnyModel::Complete(model) => save_as(py, path, model.get(), &extras),
        AnyModel::Incomplete(model) => save_as(py, path, model.get(), &extras),
        AnyModel::Kernel(model) => save_as(py, path, model.get(), &extras),
        AnyModel::Categorical(model) => save_as(py, path, model.get(), &extras),
        AnyModel::Nystrom(model) => save_as(py, path, model.get(), &extras),
        AnyModel::Scatter(sums) => save_as(py, path, sums.get(), &extras),
        AnyModel::Incremental(state) => save_as(py, path, state.get(), &extras),
        AnyModel::Rotated(model) => save_as(py, path, model.get(), &extras),
        AnyModel::RotatedIncomplete(model) => save_as(py, path, model.get(), &extras),
    }
}

fn save_as<M: ModelClass>(py: Python<'_>, path: PathBuf, model: &M, extras: &str) -> PyResult<()> {
    let extras = serde_json::from_str(extras).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let model = M::Core::clone(model.core());
    py.detach(|| save_model(&path, &Saved { model, extras })).map_err(file_to_python)
}

/// Reads a model file: the model, the other content of the file, and the options of the fit, if it has any. `function` is the kernel
/// function of models with the kernel `custom`.
#[pyfunction]
#[pyo3(signature = (kind, path, function=None))]
pub(crate) fn load(
    kind: &Bound<'_, PyType>,
    path: PathBuf,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    for_class!(kind, load_as(kind.py(), path, function))
}

type Loaded<'py, M> = (Bound<'py, M>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn load_as<'py, M: ModelClass>(
    py: Python<'py>,
    path: PathBuf,
    function: Option<&Bound<'py, PyAny>>,
) -> PyResult<Loaded<'py, M>> {
    loaded(py, py.detach(|| load_model(&path)).map_err(file_to_python)?, function)
}

/// As [`load`], of a rotated model of complete data or of data with missing values.
#[pyfunction]
pub(crate) fn load_rotated(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    match py.detach(|| load_any_model(&path)).map_err(file_to_python)? {
        SavedModel::Rotated(saved) => loaded::<RotatedModel>(py, *saved, None)?.into_py_any(py),
        SavedModel::RotatedIncomplete(saved) => {
            loaded::<RotatedIncompleteModel>(py, *saved, None)?.into_py_any(py)
        }
        other => Err(PyValueError::new_err(format!(
            "{}: holds a model of the kind `{}`; `{}` and `{}` are what can be read",
            path.display(),
            other.kind(),
            SavedRotated::KIND,
            SavedRotatedIncomplete::KIND
        ))),
    }
}

/// The model of a file, the other content, and the options of the fit.
fn loaded<'py, M: ModelClass>(
    py: Python<'py>,
    Saved { model, extras }: Saved<M::Core>,
    function: Option<&Bound<'py, PyAny>>,
) -> PyResult<Loaded<'py, M>> {
    let options = M::options(&model)?;
    let loads = |text: String| py.import("json")?.call_method1("loads", (text,));
    let (extras, options) = (loads(to_json(&extras)?)?, loads(options)?);
    Ok((Bound::new(py, M::wrap(model, function))?, extras, options))
}
