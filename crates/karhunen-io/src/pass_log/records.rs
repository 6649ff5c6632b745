//! Records one after another in a file: finds where one ends, reads one, writes one behind the others.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use karhunen::record::Record;

use crate::input::{Bytes, Input};
use crate::{Error, Result, model_file};

/// The kind of the first record.
pub(crate) const KIND: &str = "pass-log";
/// The kind of the other records.
pub(super) const PASS: &str = "pass";
/// Largest length of the header of a record.
const LONGEST_HEADER: u64 = 1 << 20;

/// Returns the kind and the end of the record at byte `begin`; `None` if the record is incomplete.
pub(super) fn find_record(
    file: &mut File,
    begin: u64,
    length: u64,
) -> std::io::Result<Option<(String, u64)>> {
    let mut word = [0; 8];
    if begin + 8 > length {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(begin))?;
    file.read_exact(&mut word)?;
    let header = u64::from_le_bytes(word);
    if header > LONGEST_HEADER || begin + 8 + header > length {
        return Ok(None);
    }
    let mut bytes = word.to_vec();
    bytes.resize(8 + header as usize, 0);
    file.read_exact(&mut bytes[8..])?;
    let found = model_file::first_record(&bytes);
    let found = found.and_then(|(kind, n_bytes)| Some((kind, begin.checked_add(n_bytes)?)));
    Ok(found.filter(|(_, end)| *end <= length))
}

/// Reads the record between two bytes.
pub(super) fn record_at(path: &Path, file: &mut File, begin: u64, end: u64) -> Result<Record<'static>> {
    let io = |error| Error::io(path, "reading", error);
    file.seek(SeekFrom::Start(begin)).map_err(io)?;
    let mut bytes = vec![0; (end - begin) as usize];
    file.read_exact(&mut bytes).map_err(io)?;
    model_file::read(&Input { path: path.to_owned(), bytes: Bytes::Owned(bytes) })
}

/// Writes a record at `begin`, the end of the last complete record, and returns its end.
pub(super) fn append(file: &mut File, begin: u64, record: &Record<'_>) -> std::io::Result<u64> {
    file.set_len(begin)?;
    file.seek(SeekFrom::Start(begin))?;
    let mut sink = std::io::BufWriter::with_capacity(1 << 20, &mut *file);
    let written = model_file::write(record, &mut sink).and_then(|()| sink.flush());
    drop(sink);
    if let Err(error) = written {
        // The incomplete record would be ignored anyway.
        let _ = file.set_len(begin);
        return Err(error);
    }
    file.sync_data()?;
    file.stream_position()
}
