//! Model files of kernel principal components and of Nyström feature maps.

use std::path::PathBuf;

use karhunen_io::{SavedKernel, SavedNystrom};
use pyo3::prelude::*;

use crate::errors::file_to_python;
use crate::kernel_model::KernelModel;
use crate::nystrom_map::NystromMap;
use crate::state::to_json;

/// Content of a model file besides the model, with the field names of [`SavedKernel`].
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct KernelBeside {
    feature_names: Option<Vec<String>>,
    set_aside: Vec<String>,
    id_column: Option<String>,
}

/// Writes a model file; a kernel function is not written.
#[pyfunction]
pub(crate) fn save_kernel(
    py: Python<'_>,
    path: PathBuf,
    model: &Bound<'_, KernelModel>,
    beside: KernelBeside,
) -> PyResult<()> {
    let model = model.get().model();
    py.detach(|| {
        let KernelBeside { feature_names, set_aside, id_column } = beside;
        let model = karhunen::KernelModel::clone(&model);
        karhunen_io::save_kernel(&path, &SavedKernel { model, feature_names, set_aside, id_column })
    })
    .map_err(file_to_python)
}

/// Reads a model file: the model, the other content, and its options as JSON. `function` is the kernel named
/// `custom`.
#[pyfunction]
#[pyo3(signature = (path, function=None))]
pub(crate) fn load_kernel(
    py: Python<'_>,
    path: PathBuf,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<(KernelModel, KernelBeside, String)> {
    let saved = py.detach(|| karhunen_io::load_kernel(&path)).map_err(file_to_python)?;
    let options = to_json(saved.model.options())?;
    let SavedKernel { model, feature_names, set_aside, id_column } = saved;
    Ok((KernelModel::new(model, function), KernelBeside { feature_names, set_aside, id_column }, options))
}

/// Writes the file of a feature map; a kernel function is not written.
#[pyfunction]
#[pyo3(signature = (path, map, feature_names=None))]
pub(crate) fn save_nystrom(
    py: Python<'_>,
    path: PathBuf,
    map: &Bound<'_, NystromMap>,
    feature_names: Option<Vec<String>>,
) -> PyResult<()> {
    let map = map.get().map();
    py.detach(|| {
        let map = karhunen::NystromMap::clone(&map);
        karhunen_io::save_nystrom(&path, &SavedNystrom { map, feature_names })
    })
    .map_err(file_to_python)
}

/// Reads the file of a feature map: the map, the column names, and its options as JSON. `function` is the kernel
/// named `custom`.
#[pyfunction]
#[pyo3(signature = (path, function=None))]
pub(crate) fn load_nystrom(
    py: Python<'_>,
    path: PathBuf,
    function: Option<&Bound<'_, PyAny>>,
) -> PyResult<(NystromMap, Option<Vec<String>>, String)> {
    let SavedNystrom { map, feature_names } =
        py.detach(|| karhunen_io::load_nystrom(&path)).map_err(file_to_python)?;
    let options = to_json(&map.parts().options)?;
    Ok((NystromMap::new(map, function), feature_names, options))
}
