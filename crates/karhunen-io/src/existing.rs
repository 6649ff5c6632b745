//! Identifies the content of an existing file from its first bytes, so that commands recognise files of karhunen.

use std::path::Path;

use karhunen::incomplete::Checkpoint;
use karhunen::record::Recorded;
use safetensors::SafeTensors;

use crate::columnar::parquet;
use crate::format::{Format, sniff};
use crate::input::Input;
use crate::write::{Format as Written, format_of};
use crate::{Result, model_file, pass_log};

/// Maximum number of bytes of the first line of a text.
const FIRST_LINE: usize = 1 << 22;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The file does not exist, is empty, or is a stream or device: nothing can be lost.
    Nothing,
    /// A model of karhunen, with its kind, such as [`crate::SavedModel::KIND`].
    Model(String),
    /// The state of a fit.
    Checkpoint,
    /// A table, with its column names: Parquet, or text with the delimiter of the extension.
    Table(Vec<String>),
    /// A page of HTML, with its first line.
    Page(String),
    /// Numbers without names: NPY.
    Array,
    /// Anything else.
    Other,
}

impl Existing {
    /// Reads the first line of a text, or the header of another format.
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
            Format::Foreign(_) if bytes.starts_with(b"<!") => {
                let line = bytes[..bytes.len().min(FIRST_LINE)].split(|byte| *byte == b'\n').next();
                Existing::Page(String::from_utf8_lossy(line.unwrap_or_default()).trim_end().to_owned())
            }
            _ => Existing::Other,
        })
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
