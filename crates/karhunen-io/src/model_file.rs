//! The container of model files: safetensors, so that numpy users can open them without karhunen.
//!
//! Eight bytes with the length of a JSON header, the header, and the numbers as little-endian `float64`.
//! The metadata of the header says that karhunen wrote it (`karhunen`: its version), what it is (`kind`) and in which
//! layout (`format_version`); what else it holds is up to the kind.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde_json::{Map, Value, json};

use crate::input::Input;
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
    pub(crate) data: Vec<f64>,
}

/// The content of a model file, of whatever kind.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelFile {
    /// The version of karhunen that wrote it.
    pub(crate) version: String,
    /// What kind of model it is: `"pca"`.
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
        let mut metadata = Map::new();
        metadata.insert(OWNER.to_owned(), self.version.as_str().into());
        metadata.insert("kind".to_owned(), self.kind.as_str().into());
        metadata.insert("format_version".to_owned(), FORMAT_VERSION.to_string().into());
        metadata.extend(self.metadata.iter().map(|(key, text)| (key.clone(), text.as_str().into())));
        let mut header = Map::new();
        header.insert("__metadata__".to_owned(), Value::Object(metadata));
        let mut begin = 0;
        for Tensor { name, shape, data } in &self.tensors {
            let end = begin + size_of_val(data.as_slice());
            header
                .insert(name.clone(), json!({"dtype": "F64", "shape": shape, "data_offsets": [begin, end]}));
            begin = end;
        }
        let mut header = Value::Object(header).to_string();
        // The numbers begin at a multiple of eight bytes.
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
        sink.write_all(&(header.len() as u64).to_le_bytes())?;
        sink.write_all(header.as_bytes())?;
        for tensor in &self.tensors {
            for value in &tensor.data {
                sink.write_all(&value.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Reads a file of karhunen; `path` is for the messages.
    ///
    /// # Errors
    /// [`Cause::Format`] for a file that is damaged, of another program, or of a newer karhunen.
    pub(crate) fn read(input: &Input) -> Result<Self> {
        let path = &input.path;
        let refuse = |message: String| Error::new(path, Cause::Format(message));
        let (_, header) = SafeTensors::read_metadata(input.as_slice())
            .map_err(|error| refuse(not_a_model(input.as_slice(), &error)))?;
        let mut metadata: BTreeMap<String, String> =
            header.metadata().iter().flatten().map(|(key, text)| (key.clone(), text.clone())).collect();
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
                let layout = layout.escape_debug();
                return Err(refuse(format!(
                    "has the format version `{layout}`, which there never was; fit it again"
                )));
            }
        }
        let file = SafeTensors::deserialize(input.as_slice());
        let file = file.map_err(|error| refuse(not_a_model(input.as_slice(), &error)))?;
        let mut tensors = Vec::with_capacity(file.len());
        for name in header.offset_keys() {
            let view =
                file.tensor(&name).map_err(|error| refuse(format!("is damaged ({error}); fit it again")))?;
            if view.dtype() != Dtype::F64 {
                let message =
                    format!("has dtype {}; in a model file all are F64: fit the model again", view.dtype());
                return Err(tensor_error(path, &name, message));
            }
            let data =
                view.data().as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
            tensors.push(Tensor { name, shape: view.shape().to_vec(), data });
        }
        Ok(Self { version, kind, tensors, metadata })
    }

    /// Takes a tensor out, with as many axes as the caller expects.
    ///
    /// # Errors
    /// [`Cause::Format`] if it is missing, has other axes, or holds what is not finite.
    pub(crate) fn take<const N: usize>(&mut self, path: &Path, name: &str) -> Result<([usize; N], Vec<f64>)> {
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
        // The sum of weights may be beyond f64 where shares are what counts, and with it these two.
        let may_overflow = ["sum_of_weights", "singular_values"].contains(&name);
        let is_damage = |value: &&f64| !(value.is_finite() || (may_overflow && **value == f64::INFINITY));
        if let Some(value) = data.iter().find(is_damage) {
            return Err(tensor_error(
                path,
                name,
                format!("holds {value}; the model file is damaged, fit it again"),
            ));
        }
        Ok((shape, data))
    }
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
                Tensor { name: "components".to_owned(), shape: vec![1, 2], data: vec![0.6, -0.8] },
                Tensor { name: "total".to_owned(), shape: vec![], data: vec![f64::MIN_POSITIVE] },
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
        assert_eq!(bytes.len() % 8, 0);
    }

    #[test]
    fn tensors_are_taken_with_the_axes_expected() {
        let path = Path::new("m");
        let mut file = file();
        assert_eq!(file.take::<0>(path, "total").unwrap(), ([], vec![f64::MIN_POSITIVE]));
        assert_eq!(
            file.take::<1>(path, "components").unwrap_err().to_string(),
            "m: `components`: has shape [1, 2], and 1 axes are expected; fit the model again"
        );
        assert_eq!(
            file.take::<1>(path, "mean").unwrap_err().to_string(),
            "m: `mean`: is missing; the model file is damaged, fit it again"
        );
        file.tensors = vec![Tensor { name: "mean".to_owned(), shape: vec![1], data: vec![f64::NAN] }];
        assert_eq!(
            file.take::<1>(path, "mean").unwrap_err().to_string(),
            "m: `mean`: holds NaN; the model file is damaged, fit it again"
        );
    }

    #[test]
    fn damaged_files_never_panic() {
        let whole = written(&file());
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                let _ = read(&bytes);
            }
            assert!(read(&whole[..at]).is_err());
        }
    }
}
