//! What a file that exists holds, as far as its first bytes tell: so that a command can see whether it wrote the file.

use std::path::Path;

use safetensors::SafeTensors;

use crate::input::Input;
use crate::read::{Format, sniff};
use crate::write::{Format as Written, format_of};
use crate::{Result, checkpoint_file, parquet};

/// Bytes of a text that its first line may have.
const FIRST_LINE: usize = 1 << 22;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// There is no such file, or it is empty, or it is a stream or a device: nothing that could be lost.
    Nothing,
    /// A model of karhunen, of a kind such as [`crate::SavedModel::KIND`].
    Model(String),
    /// The state of a fit.
    Checkpoint,
    /// A table, by the names of its columns: text with the delimiter that the extension asks for, or Parquet.
    Table(Vec<String>),
    /// Numbers without names: NPY.
    Array,
    /// Anything else.
    Other,
}

impl Existing {
    /// Looks at a file; of text at its first line, of others at what says how they are laid out.
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
        Ok(match sniff(bytes, path) {
            Format::Model => kind(bytes),
            Format::Npy => Existing::Array,
            Format::Text => first_line(bytes, path).map_or(Existing::Other, Existing::Table),
            Format::Parquet => parquet::column_names(input).map_or(Existing::Other, Existing::Table),
            _ => Existing::Other,
        })
    }
}

/// The kind of a model file, damaged or not, as long as its header can be read.
fn kind(bytes: &[u8]) -> Existing {
    let metadata = SafeTensors::read_metadata(bytes).ok().and_then(|(_, header)| header.metadata().clone());
    match metadata
        .filter(|entries| entries.contains_key("karhunen"))
        .and_then(|mut entries| entries.remove("kind"))
    {
        Some(kind) if kind == checkpoint_file::KIND => Existing::Checkpoint,
        Some(kind) => Existing::Model(kind),
        None => Existing::Other,
    }
}

fn first_line(bytes: &[u8], path: &Path) -> Option<Vec<String>> {
    let delimiter = match format_of(path) {
        Ok(Written::Text { delimiter }) => delimiter,
        _ => b',',
    };
    let begin = &bytes[..bytes.len().min(FIRST_LINE)];
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(begin);
    let names = reader.headers().ok()?;
    Some(names.iter().map(str::to_owned).collect())
}
