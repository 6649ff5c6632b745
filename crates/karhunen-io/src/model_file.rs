//! The container of records: safetensors, so that numpy users can open models without karhunen.
//!
//! Eight bytes with the length of a JSON header, the header, and the numbers, little-endian.
//! The metadata of the header begins with a checksum of the file (`checksum`, which version 0.1.0 did not write) and says that
//! karhunen wrote it (`karhunen`: its version), what it is (`kind`) and in which layout (`format_version`); then come the
//! texts of the record.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use karhunen::record::{Array, Record};
use safetensors::{SafeTensorError, SafeTensors};
use serde_json::{Map, Value, json};

use crate::checksum;
use crate::input::Input;
use crate::model_numbers;
use crate::names::{cut, shortened};
use crate::pass_log::KIND as PASS_LOG;
use crate::{Cause, Error, Place, Result};

/// The layout that is written, and the newest that is read.
pub(crate) const FORMAT_VERSION: u32 = 1;
/// The entry of the metadata that marks karhunen's files.
const OWNER: &str = "karhunen";

/// The room that a record takes when it is written, and a little more.
pub(crate) fn about_n_bytes(record: &Record<'_>) -> usize {
    let texts = record.texts.iter().map(|(key, text)| key.len() + 2 * text.len());
    let arrays =
        record.arrays.iter().map(|array| 200 + array.name.len() + model_numbers::n_bytes(&array.numbers));
    1000 + texts.sum::<usize>() + arrays.sum::<usize>()
}

/// Writes a record: the same bytes for the same content.
///
/// # Errors
/// Errors of `sink`.
pub(crate) fn write(record: &Record<'_>, sink: &mut dyn Write) -> std::io::Result<()> {
    let (checksum, unknown) = checksum::placeholder();
    let mut metadata = Map::new();
    metadata.insert(checksum, unknown.into());
    metadata.insert(OWNER.to_owned(), record.version.as_str().into());
    metadata.insert("kind".to_owned(), record.kind.as_str().into());
    metadata.insert("format_version".to_owned(), FORMAT_VERSION.to_string().into());
    metadata.extend(record.texts.iter().map(|(key, text)| (key.clone(), text.as_str().into())));
    let mut header = Map::new();
    header.insert("__metadata__".to_owned(), Value::Object(metadata));
    let mut begin = 0;
    for Array { name, shape, numbers } in &record.arrays {
        let end = begin + model_numbers::n_bytes(numbers);
        header.insert(
            name.clone(),
            json!({"dtype": numbers.dtype(), "shape": shape, "data_offsets": [begin, end]}),
        );
        begin = end;
    }
    let mut header = Value::Object(header).to_string();
    // The numbers begin at a multiple of eight bytes.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    let mut head = (header.len() as u64).to_le_bytes().to_vec();
    head.extend(header.bytes());
    let write_numbers = |sink: &mut dyn Write| {
        record.arrays.iter().try_for_each(|array| model_numbers::write(&array.numbers, sink))
    };
    checksum::seal(&mut head, write_numbers)?;
    sink.write_all(&head)?;
    write_numbers(sink)
}

/// Reads a record.
///
/// # Errors
/// [`Cause::Format`] for a file that is damaged, of another program, or of a newer karhunen. A file with a checksum is
/// read only if every byte is as it was written.
pub(crate) fn read(input: &Input) -> Result<Record<'static>> {
    read_bytes(&input.path, input.as_slice())
}

/// As [`read`], for the content of a file; `path` is for messages.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_bytes(path: &Path, bytes: &[u8]) -> Result<Record<'static>> {
    let refuse = |message: String| Error::new(path, Cause::format(message));
    if is_pass_log(bytes) {
        return Err(refuse(PASSES.to_owned()));
    }
    let (_, header) =
        SafeTensors::read_metadata(bytes).map_err(|error| refuse(not_a_model(bytes, &error)))?;
    let mut metadata: BTreeMap<String, String> =
        header.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone())).collect();
    checksum::check(bytes, &mut metadata).map_err(refuse)?;
    let Some(version) = metadata.remove(OWNER) else {
        let message = "is a safetensors file of another program, not a karhunen model: its metadata has no \
                       `karhunen`; give a file that `karhunen fit -o` wrote";
        return Err(refuse(message.to_owned()));
    };
    let mut take = |key: &str| {
        let missing =
            || refuse(format!("the metadata has no `{key}`; the model file is damaged, fit it again"));
        metadata.remove(key).ok_or_else(missing)
    };
    let (layout, kind) = (take("format_version")?, take("kind")?);
    match layout.parse::<u32>() {
        Ok(1..=FORMAT_VERSION) => {}
        Ok(newer) if newer > FORMAT_VERSION => {
            return Err(refuse(format!(
                "was written by a newer karhunen (format {newer}; this one reads up to {FORMAT_VERSION}); upgrade"
            )));
        }
        _ => {
            let layout = shortened(&layout).escape_debug().to_string();
            return Err(refuse(format!(
                "has the format version `{layout}`, which there never was; fit it again"
            )));
        }
    }
    let file = SafeTensors::deserialize(bytes);
    let file = file.map_err(|error| refuse(not_a_model(bytes, &error)))?;
    let mut arrays = Vec::with_capacity(file.len());
    for name in header.offset_keys() {
        let view = file.tensor(&name).map_err(|error| {
            // The error repeats the name, which may have any length in a damaged file.
            refuse(format!("is damaged ({}); fit it again", cut(&error.to_string(), 200)))
        })?;
        let Some(numbers) = model_numbers::read(view.dtype(), view.data()) else {
            let message = format!("has dtype {}, which no model has; fit the model again", view.dtype());
            return Err(refused(path, karhunen::Error::Record { array: Some(name), problem: message }));
        };
        arrays.push(Array { name, shape: view.shape().to_vec(), numbers });
    }
    Ok(Record { kind, version, arrays, texts: metadata })
}

/// The message for a file of passes given as a model or as data.
pub(crate) const PASSES: &str = "holds the passes of a fit, not a model; continue it with the command of the \
                                 fit and --resume (in Python resume=True), which gives the model";

/// The kind of the first record of a file, and its length in bytes, by its header.
pub(crate) fn first_record(bytes: &[u8]) -> Option<(String, u64)> {
    let length = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    let header = bytes.get(8..8 + usize::try_from(length).ok().filter(|length| *length <= bytes.len())?)?;
    let header: Map<String, Value> = serde_json::from_slice(header).ok()?;
    let kind = header.get("__metadata__")?.get("kind")?.as_str()?.to_owned();
    let end_of = |entry: &Value| entry.get("data_offsets")?.get(1)?.as_u64();
    let n_bytes = header.values().filter_map(end_of).max().unwrap_or(0);
    Some((kind, n_bytes.checked_add(8 + length)?))
}

/// Tests whether a file is a log of passes: records one after the other.
pub(crate) fn is_pass_log(bytes: &[u8]) -> bool {
    first_record(bytes).is_some_and(|(kind, end)| kind == PASS_LOG && end < bytes.len() as u64)
}

/// The error of a file whose record the library refuses.
pub(crate) fn refused(path: &Path, error: karhunen::Error) -> Error {
    match error {
        karhunen::Error::Record { array, problem } => {
            Error::at(path, Place { name: array, ..Place::default() }, Cause::format(problem))
        }
        error => Error::new(path, error.into()),
    }
}

/// The error of a file whose record does not make a model.
pub(crate) fn damaged(path: &Path, error: karhunen::Error) -> Error {
    match error {
        karhunen::Error::Shape { .. } => {
            Error::new(path, Cause::format(format!("{error}; the model file is damaged, fit it again")))
        }
        error => refused(path, error),
    }
}

fn not_a_model(bytes: &[u8], error: &SafeTensorError) -> String {
    let declared = bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length));
    let begins_well = bytes.get(8) == Some(&b'{') && declared.is_some_and(|length| length < 1 << 32);
    match error {
        SafeTensorError::InvalidHeaderLength if begins_well => {
            "is truncated: its header is longer than the file; copy it again or fit the model again"
                .to_owned()
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            "is truncated, or has bytes behind its end; copy it again or fit the model again".to_owned()
        }
        _ if begins_well => {
            let reason = error.to_string();
            format!("is a damaged model file ({}); copy it again or fit the model again", cut(&reason, 200))
        }
        _ => "is not a karhunen model file; give a file that `karhunen fit -o` wrote".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Bytes;

    fn record() -> Record<'static> {
        let mut record = Record::new("pca");
        record.put("components", &[1, 2], vec![0.6, -0.8]);
        record.put_scalar("total", f64::MIN_POSITIVE);
        record.put("single", &[3], vec![1.0_f32, f32::MAX, -0.0]);
        record.put("counts", &[1], vec![i64::MIN]);
        record.put("letters", &[2], b"\x00\xff".to_vec());
        record.put_text("feature_names", r#"["ä \"b\"", "c"]"#);
        record
    }

    fn written(record: &Record<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(record, &mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Record<'static>> {
        super::read(&Input { path: "m.safetensors".into(), bytes: Bytes::Owned(bytes.to_vec()) })
    }

    #[test]
    fn a_file_reads_back_and_is_always_the_same() {
        let bytes = written(&record());
        assert_eq!(read(&bytes).unwrap(), record());
        assert_eq!(bytes, written(&record()));
        let header = u64::from_le_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(header % 8, 0);
    }

    #[test]
    fn no_damaged_byte_passes_and_none_is_a_panic() {
        let whole = written(&record());
        for at in 0..whole.len() {
            for flip in (0..8).map(|bit| 1 << bit).chain([0xff]) {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                assert!(read(&bytes).is_err(), "byte {at} ^ {flip:#x}");
                let _ = read(&checksum::sealed_again(bytes));
            }
            assert!(read(&whole[..at]).is_err());
        }
        let mut longer = whole;
        longer.push(b' ');
        assert!(read(&longer).is_err());
    }

    #[test]
    fn the_checksum_that_was_expected_and_the_one_found_are_told() {
        let mut bytes = written(&record());
        let digits = String::from_utf8(bytes[46..78].to_vec()).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        let message = read(&bytes).unwrap_err().to_string();
        let begin = "m.safetensors: is damaged: the checksum of its content is ";
        let end = format!(", and {digits} is written in it; restore a copy, or fit it again");
        assert!(message.starts_with(begin) && message.ends_with(&end), "{message}");
        // Without its name it is not a file of version 0.1.0, which had none.
        let at = bytes.windows(8).position(|word| word == b"checksum").unwrap();
        bytes[at] = b'C';
        let message = read(&bytes).unwrap_err().to_string();
        assert!(message.contains("is damaged: its checksum has lost its name"), "{message}");
    }
}
