//! Model files of all kinds.

use std::path::Path;

use crate::input::Input;
use crate::model_file::ModelFile;
use crate::{
    Cause, Error, Result, SavedIncomplete, SavedKernel, SavedModel, checkpoint_file, saved_incomplete,
    saved_kernel, saved_model, saved_nystrom,
};

/// A fitted model of whichever kind.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyModel {
    /// Of complete data.
    Complete(Box<SavedModel>),
    /// Of incomplete data.
    Incomplete(Box<SavedIncomplete>),
    /// In the feature space of a kernel.
    Kernel(Box<SavedKernel>),
}

/// Reads a model of whichever kind; `-` is the standard input.
///
/// # Errors
/// As [`crate::load_model`].
pub fn load_any_model(path: &Path) -> Result<AnyModel> {
    read_model(&Input::load(path)?).map(|(model, _)| model)
}

/// Reads a model, and the version of karhunen that wrote it, from the content of a file.
pub(crate) fn read_model(input: &Input) -> Result<(AnyModel, String)> {
    from_file(&input.path, ModelFile::read(input)?)
}

/// The model of a file, and the version of karhunen that wrote it.
pub(crate) fn from_file(path: &Path, file: ModelFile) -> Result<(AnyModel, String)> {
    let version = file.version.clone();
    let model = match file.kind.as_str() {
        saved_incomplete::KIND => AnyModel::Incomplete(Box::new(saved_incomplete::from_file(path, file)?)),
        saved_kernel::KIND => AnyModel::Kernel(Box::new(saved_kernel::from_file(path, file)?)),
        saved_nystrom::KIND => {
            let message = "holds a Nyström feature map, which has no components; karhunen.Nystroem.load in Python and \
                           load_nystrom in Rust read it";
            return Err(Error::new(path, Cause::Format(message.to_owned())));
        }
        checkpoint_file::KIND => {
            let message = "holds the checkpoint of a fit, not a model; go on from it with the command of the fit and --resume \
                           (in Python resume=True), which gives the model";
            return Err(Error::new(path, Cause::Format(message.to_owned())));
        }
        _ => AnyModel::Complete(Box::new(saved_model::from_file(path, file)?)),
    };
    Ok((model, version))
}
