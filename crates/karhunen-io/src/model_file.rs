//! The container of model files: safetensors, so that numpy users can open them without karhunen.
//!
//! Eight bytes with the length of a JSON header, the header, and the numbers, little-endian.
//! The metadata of the header begins with a checksum of the file (`checksum`, which version 0.1.0 did not write) and says that
//! karhunen wrote it (`karhunen`: its version), what it is (`kind`) and in which layout (`format_version`); what else it
//! holds is up to the kind.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use safetensors::{SafeTensorError, SafeTensors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::checksum;
use crate::input::Input;
use crate::model_numbers::{Element, Numbers};
use crate::names::{cut, shortened};
use crate::{Cause, Error, Place, Result};

/// The layout that is written, and the newest that is read.
pub(crate) const FORMAT_VERSION: u32 = 1;
/// The entry of the metadata that tells karhunen's files from others.
const OWNER: &str = "karhunen";

/// A named array of a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    /// The values in C order.
    pub(crate) data: Numbers,
}

impl Tensor {
    /// A copy of `data`.
    pub(crate) fn new<T: Element>(name: &str, shape: &[usize], data: &[T]) -> Self {
        Self { name: name.to_owned(), shape: shape.to_vec(), data: T::numbers(data.to_vec()) }
    }
}

/// The content of a model file, of whatever kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelFile {
    /// The version of karhunen that wrote it.
    pub(crate) version: String,
    /// What kind of model it is: `"pca"`, `"incomplete-pca"`, `"kernel-pca"`.
    pub(crate) kind: String,
    /// The arrays, in the order of the file.
    pub(crate) tensors: Vec<Tensor>,
    /// All else, as text.
    pub(crate) metadata: BTreeMap<String, String>,
}

impl ModelFile {
    /// Writes the file: the same bytes for the same content.
    ///
    /// # Errors
    /// Those of `sink`.
    pub(crate) fn write(&self, sink: &mut dyn Write) -> std::io::Result<()> {
        let (checksum, unknown) = checksum::placeholder();
        let mut metadata = Map::new();
        metadata.insert(checksum, unknown.into());
        metadata.insert(OWNER.to_owned(), self.version.as_str().into());
        metadata.insert("kind".to_owned(), self.kind.as_str().into());
        metadata.insert("format_version".to_owned(), FORMAT_VERSION.to_string().into());
        metadata.extend(self.metadata.iter().map(|(key, text)| (key.clone(), text.as_str().into())));
        let mut header = Map::new();
        header.insert("__metadata__".to_owned(), Value::Object(metadata));
        let mut begin = 0;
        for Tensor { name, shape, data } in &self.tensors {
            let end = begin + data.n_bytes();
            let dtype = data.dtype().to_string();
            header
                .insert(name.clone(), json!({"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}));
            begin = end;
        }
        let mut header = Value::Object(header).to_string();
        // The numbers begin at a multiple of eight bytes.
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
        let mut head = (header.len() as u64).to_le_bytes().to_vec();
        head.extend(header.bytes());
        checksum::seal(&mut head, |sink| self.write_numbers(sink))?;
        sink.write_all(&head)?;
        self.write_numbers(sink)
    }

    fn write_numbers(&self, sink: &mut dyn Write) -> std::io::Result<()> {
        self.tensors.iter().try_for_each(|tensor| tensor.data.write(sink))
    }

    /// Reads a file of karhunen; `path` is for the messages.
    ///
    /// # Errors
    /// [`Cause::Format`] for a file that is damaged, of another program, or of a newer karhunen. A file with a checksum is
    /// read only if every byte is as it was written.
    pub(crate) fn read(input: &Input) -> Result<Self> {
        let path = &input.path;
        let refuse = |message: String| Error::new(path, Cause::Format(message));
        let (_, header) = SafeTensors::read_metadata(input.as_slice())
            .map_err(|error| refuse(not_a_model(input.as_slice(), &error)))?;
        let mut metadata: BTreeMap<String, String> =
            header.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone())).collect();
        checksum::check(input.as_slice(), &mut metadata).map_err(refuse)?;
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
        let file = SafeTensors::deserialize(input.as_slice());
        let file = file.map_err(|error| refuse(not_a_model(input.as_slice(), &error)))?;
        let mut tensors = Vec::with_capacity(file.len());
        for name in header.offset_keys() {
            let view = file
                .tensor(&name)
                .map_err(|error| refuse(format!("is damaged ({}); fit it again", reason(&error))))?;
            let Some(data) = Numbers::read(view.dtype(), view.data()) else {
                let message = format!("has dtype {}, which no model has; fit the model again", view.dtype());
                return Err(tensor_error(path, &name, message));
            };
            tensors.push(Tensor { name, shape: view.shape().to_vec(), data });
        }
        Ok(Self { version, kind, tensors, metadata })
    }

    /// Whether there is a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.iter().any(|tensor| tensor.name == name)
    }

    /// Whether there is a tensor of this name and type.
    pub(crate) fn holds<T: Element>(&self, name: &str) -> bool {
        self.tensors.iter().any(|tensor| tensor.name == name && tensor.data.dtype() == T::DTYPE)
    }

    /// Takes a tensor out, with as many axes as the caller expects.
    ///
    /// # Errors
    /// [`Cause::Format`] if it is missing, is of another type, has other axes, or holds what is not finite.
    pub(crate) fn take<T: Element, const N: usize>(
        &mut self,
        path: &Path,
        name: &str,
    ) -> Result<([usize; N], Vec<T>)> {
        let (shape, data) = self.take_with_holes(path, name)?;
        // The sum of weights may be beyond f64 where shares are what counts, and with it these two.
        let may_overflow = ["sum_of_weights", "singular_values"].contains(&name);
        if let Some(value) = T::first_damage(&data, may_overflow) {
            let message = format!("holds {value}; the model file is damaged, fit it again");
            return Err(tensor_error(path, name, message));
        }
        Ok((shape, data))
    }

    /// As [`ModelFile::take`], where NaN stands for no value.
    ///
    /// # Errors
    /// As [`ModelFile::take`], but for values.
    pub(crate) fn take_with_holes<T: Element, const N: usize>(
        &mut self,
        path: &Path,
        name: &str,
    ) -> Result<([usize; N], Vec<T>)> {
        let Some(place) = self.tensors.iter().position(|tensor| tensor.name == name) else {
            return Err(tensor_error(
                path,
                name,
                "is missing; the model file is damaged, fit it again".to_owned(),
            ));
        };
        let Tensor { shape, data, .. } = self.tensors.swap_remove(place);
        let Ok(shape) = <[usize; N]>::try_from(shape.as_slice()) else {
            let message = format!("has shape {shape:?}, and {N} axes are expected; fit the model again");
            return Err(tensor_error(path, name, message));
        };
        match T::values(data) {
            Ok(data) => Ok((shape, data)),
            Err(found) => {
                let message = format!("has dtype {found}, and {} is expected; fit the model again", T::DTYPE);
                Err(tensor_error(path, name, message))
            }
        }
    }

    /// Takes a tensor of `expected` values on one axis.
    ///
    /// # Errors
    /// As [`ModelFile::take`], also for another number of values.
    pub(crate) fn take_row<T: Element>(
        &mut self,
        path: &Path,
        name: &str,
        expected: usize,
    ) -> Result<Vec<T>> {
        let ([found], values) = self.take(path, name)?;
        if found != expected {
            let message = format!(
                "has shape [{found}], expected [{expected}]; the model file is damaged, fit it again"
            );
            return Err(tensor_error(path, name, message));
        }
        Ok(values)
    }

    /// Refuses a file of another kind than `kind`.
    ///
    /// # Errors
    /// [`Cause::Format`].
    pub(crate) fn check_kind(&self, path: &Path, kind: &str) -> Result<()> {
        if self.kind == kind {
            return Ok(());
        }
        let found = shortened(&self.kind).escape_debug().to_string();
        let message = format!("holds a model of the kind `{found}`; `{kind}` is what can be read");
        Err(Error::new(path, Cause::Format(message)))
    }

    /// An entry of the metadata.
    ///
    /// # Errors
    /// [`Cause::Format`] if it is missing.
    pub(crate) fn text(&self, path: &Path, key: &str) -> Result<&str> {
        let missing = || format!("the metadata has no `{key}`; the model file is damaged, fit it again");
        let text = self.metadata.get(key).ok_or_else(|| Error::new(path, Cause::Format(missing())))?;
        Ok(text)
    }

    /// An entry of the metadata that is JSON.
    ///
    /// # Errors
    /// [`Cause::Format`] if it is missing or is not what it should be.
    pub(crate) fn json<V: DeserializeOwned>(&self, path: &Path, key: &str) -> Result<V> {
        serde_json::from_str(self.text(path, key)?).map_err(|error| bad_entry(path, key, &error))
    }

    /// The same where the entry need not be there.
    ///
    /// # Errors
    /// [`Cause::Format`] if it is not what it should be.
    pub(crate) fn optional_json<V: DeserializeOwned>(&self, path: &Path, key: &str) -> Result<Option<V>> {
        if self.metadata.contains_key(key) { self.json(path, key).map(Some) } else { Ok(None) }
    }

    /// The same where a list is written as arrays: there is nothing in it.
    ///
    /// # Errors
    /// As [`ModelFile::json`].
    pub(crate) fn json_with_no<V: DeserializeOwned>(&self, path: &Path, key: &str, list: &str) -> Result<V> {
        let mut value: Value = self.json(path, key)?;
        if let Value::Object(fields) = &mut value {
            fields.insert(list.to_owned(), json!([]));
        }
        serde_json::from_value(value).map_err(|error| bad_entry(path, key, &error))
    }
}

/// A value as JSON, for the metadata.
///
/// # Errors
/// [`Cause::Format`] for what JSON has no words for.
pub(crate) fn to_json<V: Serialize>(value: &V) -> std::result::Result<String, Cause> {
    serde_json::to_string(value).map_err(|error| unsaid(&error))
}

/// The same without a list that is written as arrays; [`ModelFile::json_with_no`] reads it.
///
/// # Errors
/// As [`to_json`].
pub(crate) fn json_without<V: Serialize>(value: &V, list: &str) -> std::result::Result<String, Cause> {
    let mut value = serde_json::to_value(value).map_err(|error| unsaid(&error))?;
    if let Value::Object(fields) = &mut value {
        fields.remove(list);
    }
    Ok(value.to_string())
}

fn unsaid(error: &serde_json::Error) -> Cause {
    Cause::Format(format!("cannot be written as JSON: {error}"))
}

/// The text of an error, cut after 200 characters: a damaged file may make it repeat as much as the file holds.
fn reason(error: &dyn std::fmt::Display) -> String {
    cut(&error.to_string(), 200).into_owned()
}

/// An entry of the metadata that is not what it should be.
fn bad_entry(path: &Path, key: &str, error: &serde_json::Error) -> Error {
    let message =
        format!("`{}` in the metadata is damaged ({}); fit the model again", shortened(key), reason(error));
    Error::new(path, Cause::Format(message))
}

/// An error of one array of a model file.
pub(crate) fn tensor_error(path: &Path, name: &str, message: String) -> Error {
    Error::at(path, Place { name: Some(name.to_owned()), ..Place::default() }, Cause::Format(message))
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
            format!("is a damaged model file ({error}); copy it again or fit the model again")
        }
        _ => "is not a karhunen model file; give a file that `karhunen fit -o` wrote".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Bytes;

    fn file() -> ModelFile {
        ModelFile {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            kind: "pca".to_owned(),
            tensors: vec![
                Tensor::new("components", &[1, 2], &[0.6, -0.8]),
                Tensor::new("total", &[], &[f64::MIN_POSITIVE]),
                Tensor::new("single", &[3], &[1.0_f32, f32::MAX, -0.0]),
                Tensor::new("counts", &[1], &[i64::MIN]),
                Tensor::new("letters", &[2], b"\x00\xff"),
            ],
            metadata: BTreeMap::from([("feature_names".to_owned(), r#"["ä \"b\"", "c"]"#.to_owned())]),
        }
    }

    fn written(file: &ModelFile) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8]) -> Result<ModelFile> {
        ModelFile::read(&Input { path: "m.safetensors".into(), bytes: Bytes::Owned(bytes.to_vec()) })
    }

    #[test]
    fn a_file_reads_back_and_is_always_the_same() {
        let bytes = written(&file());
        assert_eq!(read(&bytes).unwrap(), file());
        assert_eq!(bytes, written(&file()));
        let header = u64::from_le_bytes(*bytes.first_chunk().unwrap());
        assert_eq!(header % 8, 0);
    }

    #[test]
    fn tensors_are_taken_with_the_axes_expected() {
        let path = Path::new("m");
        let mut file = file();
        assert_eq!(file.take::<f64, 0>(path, "total").unwrap(), ([], vec![f64::MIN_POSITIVE]));
        assert_eq!(
            file.take::<f64, 1>(path, "components").unwrap_err().to_string(),
            "m: `components`: has shape [1, 2], and 1 axes are expected; fit the model again"
        );
        assert_eq!(
            file.take::<f64, 1>(path, "mean").unwrap_err().to_string(),
            "m: `mean`: is missing; the model file is damaged, fit it again"
        );
        assert_eq!(
            file.take::<f64, 1>(path, "single").unwrap_err().to_string(),
            "m: `single`: has dtype F32, and F64 is expected; fit the model again"
        );
        file.tensors = vec![Tensor::new("mean", &[1], &[f64::NAN])];
        assert_eq!(
            file.take::<f64, 1>(path, "mean").unwrap_err().to_string(),
            "m: `mean`: holds NaN; the model file is damaged, fit it again"
        );
    }

    #[test]
    fn no_damaged_byte_passes_and_none_is_a_panic() {
        let whole = written(&file());
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
        let mut bytes = written(&file());
        let digits = String::from_utf8(bytes[46..78].to_vec()).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        let message = read(&bytes).unwrap_err().to_string();
        let begin = "m.safetensors: is damaged: the checksum of its content is ";
        let end = format!(", and {digits} is written in it; restore a copy, or fit it again");
        assert!(message.starts_with(begin) && message.ends_with(&end), "{message}");
        // Without its name it is no file of version 0.1.0, which had none.
        let at = bytes.windows(8).position(|word| word == b"checksum").unwrap();
        bytes[at] = b'C';
        let message = read(&bytes).unwrap_err().to_string();
        assert!(message.contains("is damaged: its checksum has lost its name"), "{message}");
    }
}
