//! Fitted kernel principal components as plain values, for pickles.

use karhunen::{
    KernelBasis, KernelConvergence, KernelModel as CoreModel, KernelParts, KernelRows, PreImageParts,
};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{copy_matrix, copy_vector, give_matrix, lend_vector};
use crate::errors::to_python;
use crate::kernel_model::KernelModel;
use crate::state::{of_json, to_json};

/// Everything that a model consists of, but for a kernel function, as arrays, numbers and JSON.
#[pyfunction]
pub(crate) fn to_kernel_state<'py>(model: &Bound<'py, KernelModel>) -> PyResult<Bound<'py, PyDict>> {
    let py = model.py();
    let state = PyDict::new(py);
    for name in ["eigenvalues", "eigenvectors", "residuals", "frequencies", "ridge", "n_samples", "dtype"] {
        state.set_item(name, model.getattr(name)?)?;
    }
    let parts = model.get().parts();
    let basis = match &parts.basis {
        KernelBasis::Rows(_) => "rows",
        KernelBasis::Landmarks(_) => "landmarks",
        KernelBasis::Frequencies(_) => "frequencies",
        KernelBasis::Precomputed { .. } => "precomputed",
    };
    state.set_item("basis", basis)?;
    state.set_item("rows", model.getattr("rows")?)?;
    state.set_item("n_features", parts.basis.n_features())?;
    let shares = match &parts.pre_image {
        Some(PreImageParts::FixedPoint { shares }) => Some(PyArray1::from_slice(py, shares)),
        _ => None,
    };
    state.set_item("shares", shares)?;
    let centre = match &parts.pre_image {
        Some(PreImageParts::Ridge { centre, .. }) => Some(PyArray1::from_slice(py, centre)),
        _ => None,
    };
    state.set_item("ridge_centre", centre)?;
    state.set_item("coefficients", give_matrix(py, parts.coefficients.clone())?)?;
    state.set_item("offsets", PyArray1::from_slice(py, &parts.offsets))?;
    state.set_item("shift", PyArray1::from_slice(py, &parts.shift))?;
    state.set_item("total", parts.total)?;
    state.set_item("sum_of_weights", parts.sum_of_weights)?;
    state.set_item("kernel", to_json(&parts.kernel)?)?;
    state.set_item("options", to_json(&parts.options)?)?;
    let convergence = KernelConvergence { residuals: Vec::new(), ..parts.convergence.clone() };
    state.set_item("convergence", to_json(&convergence)?)?;
    Ok(state)
}

/// The model of a state; `function` is the kernel of the name `custom`.
#[pyfunction]
#[pyo3(signature = (state, function=None))]
pub(crate) fn from_kernel_state(
    state: &Bound<'_, PyDict>,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<KernelModel> {
    let get = |name: &str| item(state, name);
    let vector = |name: &str| copy_vector(&get(name)?);
    let ridge: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = get("ridge")?.extract()?;
    let shares = get("shares")?;
    let pre_image = match ridge {
        Some((scores, coefficients)) => Some(PreImageParts::Ridge {
            scores: copy_matrix(&scores)?,
            coefficients: copy_matrix(&coefficients)?,
            centre: match state.get_item("ridge_centre")? {
                Some(centre) if !centre.is_none() => copy_vector(&centre)?,
                // Of a version that knew no centre.
                _ => Vec::new(),
            },
        }),
        None if shares.is_none() => None,
        None => Some(PreImageParts::FixedPoint { shares: copy_vector(&shares)? }),
    };
    let convergence: KernelConvergence = of_json(&get("convergence")?)?;
    let parts = KernelParts {
        kernel: of_json(&get("kernel")?)?,
        basis: basis(state)?,
        shift: vector("shift")?,
        coefficients: copy_matrix(&get("coefficients")?)?,
        offsets: vector("offsets")?,
        eigenvalues: vector("eigenvalues")?,
        total: get("total")?.extract()?,
        n_samples: get("n_samples")?.extract()?,
        eigenvectors: copy_matrix(&get("eigenvectors")?)?,
        pre_image,
        sum_of_weights: get("sum_of_weights")?.extract()?,
        options: of_json(&get("options")?)?,
        dtype: get("dtype")?.extract()?,
        convergence: KernelConvergence { residuals: vector("residuals")?, ..convergence },
    };
    let model = CoreModel::try_from(parts).map_err(to_python)?;
    Ok(KernelModel::new(model, function))
}

/// An entry of a state.
pub(crate) fn item<'py>(state: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    state.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("the state of a model lacks {name}")))
}

fn basis(state: &Bound<'_, PyDict>) -> PyResult<KernelBasis> {
    let n_features: usize = item(state, "n_features")?.extract()?;
    let name: String = item(state, "basis")?.extract()?;
    Ok(match name.as_str() {
        "precomputed" => KernelBasis::Precomputed { n_samples: n_features },
        "frequencies" => KernelBasis::Frequencies(copy_matrix(&item(state, "frequencies")?)?),
        "rows" => KernelBasis::Rows(copy_rows(&item(state, "rows")?, n_features)?),
        "landmarks" => KernelBasis::Landmarks(copy_rows(&item(state, "rows")?, n_features)?),
        _ => return Err(damaged(&format!("there is no basis {name}"))),
    })
}

fn damaged(what: &str) -> PyErr {
    PyValueError::new_err(format!("the state of a model is damaged: {what}"))
}

/// The rows that `show_rows` gave.
pub(crate) fn copy_rows(rows: &Bound<'_, PyAny>, n_features: usize) -> PyResult<KernelRows> {
    let Ok((values, indices, pointers)) =
        rows.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>)>()
    else {
        return Ok(KernelRows::Dense(copy_matrix(rows)?));
    };
    let integers = |array: &Bound<'_, PyAny>| -> PyResult<Vec<i64>> {
        Ok(lend_vector::<i64>(array)?.as_slice().to_vec())
    };
    let pointers: Result<Vec<u64>, _> = integers(&pointers)?.into_iter().map(u64::try_from).collect();
    let indices: Result<Vec<u32>, _> = integers(&indices)?.into_iter().map(u32::try_from).collect();
    let (Ok(pointers), Ok(indices)) = (pointers, indices) else {
        return Err(damaged("rows have negative indices"));
    };
    Ok(KernelRows::Sparse { n_features, pointers, indices, values: copy_vector(&values)? })
}
