//! Fitted models of incomplete data as plain values, for pickles.

use karhunen::{Covariances, IncompleteModel as CoreModel, IncompleteParts, Prior};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{copy_matrix, copy_vector, give_matrix, lend_vector};
use crate::errors::to_python;
use crate::incomplete_model::IncompleteModel;
use crate::state::{of_json, to_json};

/// Everything that a model of incomplete data consists of, as arrays, numbers and JSON.
#[pyfunction]
pub(crate) fn to_incomplete_state<'py>(model: &Bound<'py, IncompleteModel>) -> PyResult<Bound<'py, PyDict>> {
    let py = model.py();
    let state = PyDict::new(py);
    for name in [
        "components",
        "mean",
        "explained_variance",
        "explained_variance_ratio",
        "singular_values",
        "total_variance",
        "noise_variance",
        "scores",
        "row_offsets",
        "mean_variance",
        "n_observed",
        "dtype",
    ] {
        state.set_item(name, model.getattr(name)?)?;
    }
    let parts = model.get().parts();
    let packed = |covariances: &Option<Covariances>| {
        covariances.as_ref().map(|covariances| PyArray1::from_slice(py, &covariances.packed))
    };
    state.set_item("score_covariances", packed(&parts.score_covariances))?;
    state.set_item("loading_covariances", packed(&parts.loading_covariances))?;
    state.set_item("prior_precision", give_matrix(py, parts.prior.precision.clone())?)?;
    state.set_item("prior_per_entry", parts.prior.per_entry)?;
    state.set_item("prior_mean", PyArray1::from_slice(py, &parts.prior.mean))?;
    state.set_item("options", to_json(&parts.options)?)?;
    state.set_item("convergence", to_json(&parts.convergence)?)?;
    Ok(state)
}

/// The model of a state.
#[pyfunction]
pub(crate) fn from_incomplete_state(state: &Bound<'_, PyDict>) -> PyResult<IncompleteModel> {
    let get = |name: &str| {
        state
            .get_item(name)?
            .ok_or_else(|| PyValueError::new_err(format!("the state of a model lacks {name}")))
    };
    let vector = |name: &str| copy_vector(&get(name)?);
    let components = copy_matrix(&get("components")?)?;
    let c = components.n_rows();
    // Models of versions before there were offsets have none.
    let offsets = state.get_item("row_offsets")?.filter(|offsets| !offsets.is_none());
    let row_offsets = offsets.map(|offsets| copy_vector(&offsets)).transpose()?;
    let all = c + usize::from(row_offsets.is_some());
    let covariances = |name: &str, n_components: usize| -> PyResult<Option<Covariances>> {
        let packed = get(name)?;
        if packed.is_none() {
            return Ok(None);
        }
        let packed = lend_vector::<f32>(&packed)?.as_slice().to_vec();
        Ok(Some(Covariances { n_components, packed }))
    };
    let parts = IncompleteParts {
        mean: vector("mean")?,
        explained_variance: vector("explained_variance")?,
        explained_variance_ratio: vector("explained_variance_ratio")?,
        singular_values: vector("singular_values")?,
        total_variance: get("total_variance")?.extract()?,
        noise_variance: get("noise_variance")?.extract()?,
        scores: copy_matrix(&get("scores")?)?,
        row_offsets,
        score_covariances: covariances("score_covariances", all)?,
        loading_covariances: covariances("loading_covariances", c)?,
        mean_variance: vector("mean_variance")?,
        prior: Prior {
            precision: copy_matrix(&get("prior_precision")?)?,
            per_entry: get("prior_per_entry")?.extract()?,
            mean: vector("prior_mean")?,
        },
        n_observed: lend_vector::<usize>(&get("n_observed")?)?.as_slice().to_vec(),
        options: of_json(&get("options")?)?,
        dtype: get("dtype")?.extract()?,
        convergence: of_json(&get("convergence")?)?,
        components,
    };
    CoreModel::try_from(parts).map(IncompleteModel::from).map_err(to_python)
}
