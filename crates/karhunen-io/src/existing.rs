//! Identifies the content of an existing file from its first bytes, so that commands recognise models and checkpoints.

use std::path::Path;

use karhunen::incomplete::Checkpoint;
use karhunen::record::Recorded;
use safetensors::SafeTensors;

use crate::format::{Format, sniff};
use crate::input::Input;
use crate::{Result, model_file, pass_log};

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The file does not exist, is empty, or is a stream or device: nothing can be lost.
    Nothing,
    /// A model of karhunen, with its kind, such as [`crate::SavedModel::KIND`].
    Model(String),
    /// The state of a fit.
    Checkpoint,
    /// Anything else.
    Other,
}

impl Existing {
    /// Reads the header of a model.
    ///
    /// # Errors
    /// [`crate::Cause::Io`] if it cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
        if path.as_os_str() == "-" || !is_file {
            return Ok(Existing::Nothing);
        }
        let input = Input::open(path)?;
        let bytes = input.as_slice();
        Ok(if sniff(bytes, path) == Format::Model { kind(bytes) } else { Existing::Other })
    }
}

/// The kind of a model file, damaged or not, if its header is readable.
fn kind(bytes: &[u8]) -> Existing {
    if model_file::is_pass_log(bytes) {
        return Existing::Checkpoint;
    }
    let metadata = SafeTensors::read_metadata(bytes).ok().and_then(|(_, header)| header.metadata().clone());
    match metadata
        .filter(|entries| entries.contains_key("karhunen"))
        .and_then(|mut entries| entries.remove("kind"))
    {
        Some(kind) if [Checkpoint::KIND, pass_log::KIND].contains(&kind.as_str()) => Existing::Checkpoint,
        Some(kind) => Existing::Model(kind),
        None => Existing::Other,
    }
}
