//! Loads models for a command, or reports which models it accepts.

use std::path::Path;

use karhunen::kernel::Kernel;
use karhunen_io::{AnyModel, Saved, SavedIncomplete, SavedRotatedIncomplete};

use crate::commands::update::model_of;
use crate::error::{Failure, Result};
use crate::paths::input_name;
use crate::row_model::RowModel;

/// A model by the data that it applies to.
pub(crate) enum Loaded {
    /// Complete rows.
    Rows(RowModel),
    /// Rows with missing values.
    Incomplete(Box<SavedIncomplete>),
    /// Rows with missing values; the components are rotated.
    RotatedIncomplete(Box<SavedRotatedIncomplete>),
}

/// Loads a model that maps rows to scores.
///
/// # Errors
/// [`Failure::Data`] if the kernel is a function of another program; those of [`karhunen_io::load_any_model`].
pub(crate) fn any(path: &Path) -> Result<Loaded> {
    match karhunen_io::load_any_model(path)? {
        AnyModel::Incomplete(saved) => Ok(Loaded::Incomplete(saved)),
        AnyModel::RotatedIncomplete(saved) => Ok(Loaded::RotatedIncomplete(saved)),
        AnyModel::Complete(saved) => Ok(Loaded::Rows(RowModel::Complete(saved))),
        AnyModel::Kernel(saved) if *saved.model.kernel() == Kernel::Custom => Err(Failure::Data(format!(
            "{}: the kernel is a function of the program that fitted the model, and no file holds it; transform there",
            input_name(path)
        ))),
        AnyModel::Kernel(saved) => Ok(Loaded::Rows(RowModel::Kernel(saved))),
        AnyModel::Rotated(saved) => Ok(Loaded::Rows(RowModel::Rotated(saved))),
        AnyModel::Incremental(saved) => {
            Ok(Loaded::Rows(RowModel::Complete(Box::new(model_of(path, *saved)?))))
        }
    }
}

/// Loads a model of incomplete data, as it was fitted: a rotation changes no prediction.
///
/// # Errors
/// [`Failure::Data`] for a model of complete data, which `command` cannot use; those of
/// [`karhunen_io::load_any_model`].
pub(crate) fn incomplete(path: &Path, command: &str) -> Result<SavedIncomplete> {
    match karhunen_io::load_any_model(path)? {
        AnyModel::Incomplete(saved) => Ok(*saved),
        AnyModel::RotatedIncomplete(saved) => {
            let Saved { model, beside } = *saved;
            Ok(Saved { model: model.into_model(), beside })
        }
        AnyModel::Complete(_) | AnyModel::Kernel(_) | AnyModel::Incremental(_) | AnyModel::Rotated(_) => {
            Err(Failure::Data(format!(
                "{}: the model is of complete data, and `karhunen {command}` needs one that was fitted with --missing",
                input_name(path)
            )))
        }
    }
}
