//! Loads models for a command, or reports which models it accepts.

use std::path::Path;

use karhunen::kernel::Kernel;
use karhunen_io::{AnyModel, Saved, SavedIncomplete, SavedRotatedIncomplete};

use crate::commands::update::model_of;
use crate::error::{Failure, Result};
use crate::files::paths::input_name;
use crate::pca::row_model::RowModel;

/// A model by the data that it applies to.
pub(crate) enum Loaded {
    /// Complete rows.
    Rows(RowModel),
    /// Rows with missing values.
    Incomplete(Box<SavedIncomplete>),
    /// Rows with missing values; the components are rotated.
    RotatedIncomplete(Box<SavedRotatedIncomplete>),
}

/// Loads a model that maps rows of numbers to scores, for `command`.
///
/// # Errors
/// Same errors as [`of`] and [`karhunen_io::load_any_model`].
pub(crate) fn any(path: &Path, command: &str) -> Result<Loaded> {
    of(path, karhunen_io::load_any_model(path)?, command)
}

/// The model of a file by the data that it applies to.
///
/// # Errors
/// [`Failure::Data`] if the kernel is a function of another program, and for a model of categories.
pub(crate) fn of(path: &Path, model: AnyModel, command: &str) -> Result<Loaded> {
    match model {
        AnyModel::Incomplete(saved) => Ok(Loaded::Incomplete(saved)),
        AnyModel::RotatedIncomplete(saved) => Ok(Loaded::RotatedIncomplete(saved)),
        AnyModel::Categorical(_) => Err(no_categories(path, command)),
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

/// The refusal of a model of categories by a command that has no use for it.
pub(crate) fn no_categories(path: &Path, command: &str) -> Failure {
    Failure::Data(format!(
        "{}: is a model of categories (fit --mca or --famd), which `karhunen {command}` does not take; \
         `karhunen transform` and `inspect` do",
        input_name(path)
    ))
}

/// Loads a model of incomplete data, as it was fitted: a rotation changes no prediction.
///
/// # Errors
/// [`Failure::Data`] for a model of complete data, which `command` cannot use; same errors as
/// [`karhunen_io::load_any_model`].
pub(crate) fn incomplete(path: &Path, command: &str) -> Result<SavedIncomplete> {
    match karhunen_io::load_any_model(path)? {
        AnyModel::Incomplete(saved) => Ok(*saved),
        AnyModel::RotatedIncomplete(saved) => {
            let Saved { model, extras } = *saved;
            Ok(Saved { model: model.into_model(), extras })
        }
        AnyModel::Categorical(_) => Err(no_categories(path, command)),
        AnyModel::Complete(_) | AnyModel::Kernel(_) | AnyModel::Incremental(_) | AnyModel::Rotated(_) => {
            Err(Failure::Data(format!(
                "{}: the model is of complete data, and `karhunen {command}` needs one that was fitted with --missing",
                input_name(path)
            )))
        }
    }
}
