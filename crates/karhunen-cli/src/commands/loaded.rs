//! Models that a command can use, or a message that says which it can.

use std::path::Path;

use karhunen_io::{AnyModel, SavedIncomplete};

use crate::error::{Failure, Result};
use crate::plan::input_name;

/// A model of incomplete data.
///
/// # Errors
/// [`Failure::Data`] for a model of complete data, which `command` has no use for; those of
/// [`karhunen_io::load_any_model`].
pub(crate) fn incomplete(path: &Path, command: &str) -> Result<SavedIncomplete> {
    match karhunen_io::load_any_model(path)? {
        AnyModel::Incomplete(saved) => Ok(*saved),
        AnyModel::Complete(_) => Err(Failure::Data(format!(
            "{}: the model is of complete data, and `karhunen {command}` needs one that was fitted with --missing",
            input_name(path)
        ))),
    }
}
