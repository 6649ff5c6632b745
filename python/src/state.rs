//! Fitted models as plain values, for pickles, and as the engine's files.

use std::path::PathBuf;

use karhunen::{Convergence, ModelParts, PcaModel};
use karhunen_io::{AboutMean, SavedModel, load_model, save_model};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{copy_matrix, copy_vector};
use crate::errors::{file_to_python, to_python};
use crate::model::Model;

/// Everything that a model consists of, as arrays, numbers and JSON.
#[pyfunction]
pub(crate) fn to_state<'py>(model: &Bound<'py, Model>) -> PyResult<Bound<'py, PyDict>> {
    let state = PyDict::new(model.py());
    for name in [
        "components",
        "explained_variance",
        "explained_variance_ratio",
        "singular_values",
        "noise_variance",
        "total_variance",
        "mean",
        "scale",
        "feature_weights",
        "n_samples",
        "sum_of_weights",
        "residuals",
        "dtype",
    ] {
        state.set_item(name, model.getattr(name)?)?;
    }
    let inner = model.get().model();
    let parts = inner.parts();
    state.set_item("options", to_json(&parts.options)?)?;
    state.set_item(
        "convergence",
        to_json(&Convergence { residuals: Vec::new(), ..parts.convergence.clone() })?,
    )?;
    Ok(state)
}

/// The model of a state.
#[pyfunction]
pub(crate) fn from_state(state: &Bound<'_, PyDict>) -> PyResult<Model> {
    let get = |name: &str| {
        state
            .get_item(name)?
            .ok_or_else(|| PyValueError::new_err(format!("the state of a model lacks {name}")))
    };
    let vector = |name: &str| copy_vector(&get(name)?);
    let convergence: Convergence = of_json(&get("convergence")?)?;
    let weights = get("feature_weights")?;
    let parts = ModelParts {
        components: copy_matrix(&get("components")?)?,
        explained_variance: vector("explained_variance")?,
        explained_variance_ratio: vector("explained_variance_ratio")?,
        singular_values: vector("singular_values")?,
        noise_variance: get("noise_variance")?.extract()?,
        total_variance: get("total_variance")?.extract()?,
        mean: vector("mean")?,
        scale: vector("scale")?,
        feature_weights: if weights.is_none() { None } else { Some(copy_vector(&weights)?) },
        n_samples: get("n_samples")?.extract()?,
        sum_of_weights: get("sum_of_weights")?.extract()?,
        options: of_json(&get("options")?)?,
        dtype: get("dtype")?.extract()?,
        convergence: Convergence { residuals: vector("residuals")?, ..convergence },
    };
    PcaModel::try_from(parts).map(Model::from).map_err(to_python)
}

/// What a model file holds beside the model, by the names of [`SavedModel`].
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Beside {
    feature_names: Option<Vec<String>>,
    set_aside: Vec<String>,
    id_column: Option<String>,
    /// Variances and their shares.
    about_mean: Option<(Vec<f64>, Vec<f64>)>,
}

/// Writes a model file.
#[pyfunction]
pub(crate) fn save(py: Python<'_>, path: PathBuf, model: &Bound<'_, Model>, beside: Beside) -> PyResult<()> {
    let model = model.get().model();
    py.detach(|| {
        let Beside { feature_names, set_aside, id_column, about_mean } = beside;
        let model = PcaModel::clone(&model);
        let about_mean = about_mean.map(|(variance, ratio)| AboutMean { variance, ratio });
        save_model(&path, &SavedModel { model, feature_names, set_aside, id_column, about_mean })
    })
    .map_err(file_to_python)
}

/// Reads a model file: the model, what it holds beside, and the options of the fit as JSON.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Model, Beside, String)> {
    let saved = py.detach(|| load_model(&path)).map_err(file_to_python)?;
    let options = to_json(saved.model.options())?;
    let SavedModel { model, feature_names, set_aside, id_column, about_mean } = saved;
    let about_mean = about_mean.map(|about| (about.variance, about.ratio));
    Ok((Model::from(model), Beside { feature_names, set_aside, id_column, about_mean }, options))
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn of_json<V: serde::de::DeserializeOwned>(text: &Bound<'_, PyAny>) -> PyResult<V> {
    serde_json::from_str(&text.extract::<String>()?)
        .map_err(|error| PyValueError::new_err(format!("the state of a model is damaged: {error}")))
}
