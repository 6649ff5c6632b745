//! Model files of incomplete data.

use std::path::PathBuf;

use karhunen_io::{Ids, SavedIncomplete};
use pyo3::prelude::*;

use crate::errors::file_to_python;
use crate::incomplete_model::IncompleteModel;
use crate::state::to_json;

/// Ids of rows or columns, as Python lists.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum IdList {
    /// Integers.
    Integers(Vec<i64>),
    /// Names.
    Texts(Vec<String>),
}

impl From<IdList> for Ids {
    fn from(ids: IdList) -> Self {
        match ids {
            IdList::Integers(ids) => Ids::Integers(ids),
            IdList::Texts(ids) => Ids::Texts(ids),
        }
    }
}

impl From<Ids> for IdList {
    fn from(ids: Ids) -> Self {
        match ids {
            Ids::Integers(ids) => IdList::Integers(ids),
            Ids::Texts(ids) => IdList::Texts(ids),
        }
    }
}

/// Writes a model file.
#[pyfunction]
pub(crate) fn save_incomplete(
    py: Python<'_>,
    path: PathBuf,
    model: &Bound<'_, IncompleteModel>,
    row_ids: Option<IdList>,
    column_ids: Option<IdList>,
) -> PyResult<()> {
    let model = model.get().model();
    py.detach(|| {
        let saved = SavedIncomplete {
            model: karhunen::IncompleteModel::clone(&model),
            row_ids: row_ids.map(Ids::from),
            column_ids: column_ids.map(Ids::from),
            // The fit did not read a file.
            triples: None,
            set_aside: Vec::new(),
            id_column: None,
        };
        karhunen_io::save_incomplete(&path, &saved)
    })
    .map_err(file_to_python)
}

type Loaded = (IncompleteModel, Option<IdList>, Option<IdList>, String);

/// Reads a model file: the model, the ids of its rows and columns if stored, and its options as JSON.
#[pyfunction]
pub(crate) fn load_incomplete(py: Python<'_>, path: PathBuf) -> PyResult<Loaded> {
    let saved = py.detach(|| karhunen_io::load_incomplete(&path)).map_err(file_to_python)?;
    let options = to_json(&saved.model.parts().options)?;
    let (rows, columns) = (saved.row_ids.map(IdList::from), saved.column_ids.map(IdList::from));
    Ok((IncompleteModel::from(saved.model), rows, columns, options))
}
