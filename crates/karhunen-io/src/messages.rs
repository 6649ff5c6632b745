//! Tasks and results as bytes, in the format of model files, to be sent between processes.

use std::path::Path;

use karhunen::record::Recorded;

use crate::{Result, model_file};

/// The name of a message in errors.
const MESSAGE: &str = "message";

/// Returns a task or a result as bytes, with a checksum and the version of their layout.
///
/// # Errors
/// [`crate::Cause::Library`] for content that a record does not hold.
pub fn to_bytes<M: Recorded>(content: &M) -> Result<Vec<u8>> {
    let path = Path::new(MESSAGE);
    let record = content.to_record().map_err(|error| crate::Error::new(path, error.into()))?;
    let mut bytes = Vec::with_capacity(model_file::about_n_bytes(&record));
    model_file::write(&record, &mut bytes).map_err(|source| crate::Error::io(path, "writing", source))?;
    Ok(bytes)
}

/// Reads the bytes that [`to_bytes`] returned.
///
/// # Errors
/// [`crate::Cause::Format`] for bytes that are damaged, of another kind, or of a newer karhunen.
pub fn from_bytes<M: Recorded>(bytes: &[u8]) -> Result<M> {
    let path = Path::new(MESSAGE);
    let mut record = model_file::read_bytes(path, bytes)?;
    M::from_record(&mut record).map_err(|error| model_file::damaged(path, error))
}
