//! Model files of either kind.

use std::path::Path;

use crate::input::Input;
use crate::model_file::ModelFile;
use crate::{Result, SavedIncomplete, SavedModel, saved_incomplete, saved_model};

/// A fitted model of whichever kind.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyModel {
    /// Of complete data.
    Complete(Box<SavedModel>),
    /// Of incomplete data.
    Incomplete(Box<SavedIncomplete>),
}

/// Reads a model of whichever kind; `-` is the standard input.
///
/// # Errors
/// As [`crate::load_model`].
pub fn load_any_model(path: &Path) -> Result<AnyModel> {
    read_model(&Input::open(path)?).map(|(model, _)| model)
}

/// Reads a model, and the version of karhunen that wrote it, from the content of a file.
pub(crate) fn read_model(input: &Input) -> Result<(AnyModel, String)> {
    let file = ModelFile::read(input)?;
    let version = file.version.clone();
    let model = if file.kind == saved_incomplete::KIND {
        AnyModel::Incomplete(Box::new(saved_incomplete::from_file(&input.path, file)?))
    } else {
        AnyModel::Complete(Box::new(saved_model::from_file(&input.path, file)?))
    };
    Ok((model, version))
}
