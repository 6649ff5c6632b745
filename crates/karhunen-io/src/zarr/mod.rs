//! Zarr stores, version 2 and 3: groups, arrays and attributes in a folder or a zip archive.
//!
//! The metadata are read here and not by the crate zarrs, which would bring 52 packages more, with C and C++ builds.

mod array;
mod blosc;
mod codecs;
mod files;
mod metadata;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::input::Input;
use crate::mapped::Mapped;
use crate::store::kind::Kind;
use crate::{Cause, Error, Place, Result};

use files::Files;
use metadata::Layout;

pub(crate) use array::Array;

/// Most bytes of a file of metadata; the root may repeat all others.
const MOST_METADATA: u64 = 64 << 20;

/// An open store.
pub(crate) struct Zarr {
    path: PathBuf,
    files: Arc<Files>,
}

/// The metadata of a group or an array.
struct Node {
    kind: Kind,
    metadata: Value,
    attributes: Value,
}

impl Zarr {
    /// Opens the store in a folder.
    ///
    /// # Errors
    /// None.
    pub(crate) fn of_folder(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), files: Arc::new(Files::of_folder(path)) })
    }

    /// Opens the store in a zip archive.
    ///
    /// # Errors
    /// [`Cause::Format`] for a damaged archive.
    pub(crate) fn of_archive(input: Input) -> Result<Self> {
        Ok(Self { path: input.path.clone(), files: Arc::new(Files::of_archive(input)?) })
    }

    /// The path of the store.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The map of the archive, if it has one.
    pub(crate) fn mapped(&self) -> Option<Mapped> {
        self.files.mapped()
    }

    /// Bytes of the files of an object.
    pub(crate) fn n_bytes(&self, name: &str) -> u64 {
        self.files.n_bytes(name)
    }

    /// The names of the groups and of the arrays in a group; `""` is the root.
    ///
    /// # Errors
    /// [`Cause::Format`]; [`Cause::Io`].
    pub(crate) fn members(&self, group: &str) -> Result<(Vec<String>, Vec<String>)> {
        let (mut groups, mut arrays) = (Vec::new(), Vec::new());
        for name in self.files.names(group)? {
            let place = if group.is_empty() { name.clone() } else { format!("{group}/{name}") };
            match self.kind(&place)? {
                Some(Kind::Group) => groups.push(name),
                Some(Kind::Array) => arrays.push(name),
                None => {}
            }
        }
        Ok((groups, arrays))
    }

    /// The kind of an object; `None` if there is none of this name.
    ///
    /// # Errors
    /// [`Cause::Format`]; [`Cause::Io`].
    pub(crate) fn kind(&self, name: &str) -> Result<Option<Kind>> {
        Ok(self.node(name)?.map(|node| node.kind))
    }

    /// Opens an array.
    ///
    /// # Errors
    /// [`Cause::Format`], also if there is none of this name.
    pub(crate) fn array(&self, name: &str) -> Result<Array> {
        let node = self.node(name)?.filter(|node| node.kind == Kind::Array);
        let node =
            node.ok_or_else(|| self.refuse(name, "is missing from the store; the store is damaged"))?;
        let layout =
            check_coded(&node.attributes, &node.metadata).and_then(|()| Layout::read(&node.metadata));
        let layout = layout.map_err(|problem| self.refuse(name, &problem))?;
        Ok(Array::new(self.path.clone(), name, Arc::clone(&self.files), layout))
    }

    /// A text attribute of a group; `None` if there is none of this name or kind.
    ///
    /// # Errors
    /// [`Cause::Format`]; [`Cause::Io`].
    pub(crate) fn text(&self, group: &str, attribute: &str) -> Result<Option<String>> {
        let found =
            self.node(group)?.and_then(|node| Some(node.attributes.get(attribute)?.as_str()?.to_owned()));
        Ok(found)
    }

    /// An attribute of whole numbers of a group; `None` if there is none of this name or kind.
    ///
    /// # Errors
    /// [`Cause::Format`]; [`Cause::Io`].
    pub(crate) fn whole(&self, group: &str, attribute: &str) -> Result<Option<Vec<i64>>> {
        Ok(self
            .node(group)?
            .and_then(|node| node.attributes.get(attribute)?.as_array()?.iter().map(Value::as_i64).collect()))
    }

    /// The metadata of an object; `None` if there is none of this name.
    fn node(&self, name: &str) -> Result<Option<Node>> {
        if let Some(metadata) = self.json(name, "zarr.json")? {
            let kind = match metadata.get("node_type").and_then(Value::as_str) {
                Some("array") => Kind::Array,
                Some("group") => Kind::Group,
                _ => return Err(self.refuse(name, "has a zarr.json without node_type; the store is damaged")),
            };
            let attributes = metadata.get("attributes").cloned().unwrap_or(Value::Null);
            return Ok(Some(Node { kind, metadata, attributes }));
        }
        for (file, kind) in [(".zarray", Kind::Array), (".zgroup", Kind::Group)] {
            if let Some(metadata) = self.json(name, file)? {
                let attributes = self.json(name, ".zattrs")?.unwrap_or(Value::Null);
                return Ok(Some(Node { kind, metadata, attributes }));
            }
        }
        Ok(None)
    }

    /// The content of a file of metadata of an object.
    fn json(&self, name: &str, file: &str) -> Result<Option<Value>> {
        let place = if name.is_empty() { file.to_owned() } else { format!("{name}/{file}") };
        let Some(found) = self.files.open(&place, name)? else { return Ok(None) };
        if found.n_bytes() > MOST_METADATA {
            return Err(self.refuse(name, &format!("has a {file} of more than 64 MiB")));
        }
        let bytes = found.all()?;
        // Python writes NaN and infinity as words, which are not JSON.
        let json = serde_json::from_slice(&bytes).or_else(|_| serde_json::from_slice(&quoted(&bytes)));
        json.map(Some).map_err(|error| self.refuse(name, &format!("has a damaged {file} ({error})")))
    }

    fn refuse(&self, name: &str, problem: &str) -> Error {
        let name = (!name.is_empty()).then(|| name.to_owned());
        Error::at(&self.path, Place { name, ..Place::default() }, Cause::format(problem.to_owned()))
    }
}

/// JSON with the words NaN, Infinity and -Infinity as texts.
fn quoted(json: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(json.len());
    let (mut at, mut in_text) = (0, false);
    while let Some(&byte) = json.get(at) {
        let words: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
        match words.iter().find(|word| !in_text && json[at..].starts_with(word)) {
            Some(word) => {
                quoted.extend([b"\"", *word, b"\""].concat());
                at += word.len();
            }
            None => {
                let n = if in_text && byte == b'\\' { 2 } else { 1 };
                quoted.extend(json[at..].iter().take(n));
                in_text ^= byte == b'"';
                at += n;
            }
        }
    }
    quoted
}

/// Refuses arrays whose values are encoded by the conventions of NetCDF.
///
/// # Errors
/// The attribute, and the way out.
fn check_coded(attributes: &Value, metadata: &Value) -> std::result::Result<(), String> {
    // xarray writes NaN of f64 as its bytes in base64.
    let is_nan = |fill: &Value| matches!(fill.as_str(), Some("NaN" | "AAAAAAAA+H8="));
    let decides = |(name, value): (&str, &Value)| match name {
        _ if value.is_null() => false,
        "_Unsigned" => value.as_bool().unwrap_or(value.as_str() == Some("true")),
        "scale_factor" => value.as_f64() != Some(1.0),
        "add_offset" => value.as_f64() != Some(0.0),
        _ => !is_nan(value),
    };
    let names = ["scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned"];
    let mut given = names.into_iter().filter_map(|name| Some((name, attributes.get(name)?)));
    match given.find(|given| decides(*given)) {
        // In version 2 xarray takes the fill value to denote missing values.
        None => match metadata.get("fill_value").and_then(Value::as_f64).filter(|fill| *fill != 0.0) {
            Some(fill) if attributes.get("_ARRAY_DIMENSIONS").is_some() => Err(format!(
                "has the fill value {fill}, which denotes missing values in data of xarray; read it in \
                 Python with xarray.open_zarr, and fit with karhunen.xarray"
            )),
            _ => Ok(()),
        },
        Some((name, value)) => Err(format!(
            "has the attribute {name} ({value}), so its values are encoded; read it in Python with \
             xarray.open_zarr, which decodes them, and fit with karhunen.xarray"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{check_coded, quoted};

    #[test]
    fn words_that_are_not_json_become_texts() {
        let json = quoted(br#"{"a": NaN, "NaN \" -Infinity": [-Infinity, Infinity, 1], "b": "\\"}"#);
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let expected = json!({"a": "NaN", "NaN \" -Infinity": ["-Infinity", "Infinity", 1], "b": "\\"});
        assert_eq!(json, expected);
    }

    #[test]
    fn encoded_values_are_refused() {
        let (zero, fill) = (json!({"fill_value": 0}), json!({"fill_value": -999}));
        for plain in [
            json!({}),
            json!({"units": "K"}),
            json!({"_FillValue": "NaN"}),
            json!({"_FillValue": null}),
            json!({"scale_factor": 1.0}),
            json!({"_Unsigned": "false"}),
            json!({"_ARRAY_DIMENSIONS": ["y", "x"]}),
        ] {
            assert_eq!(check_coded(&plain, &zero), Ok(()), "{plain}");
        }
        for coded in [
            json!({"scale_factor": 0.1}),
            json!({"add_offset": 273.15}),
            json!({"_FillValue": -999}),
            json!({"_Unsigned": "true"}),
        ] {
            let problem = check_coded(&coded, &zero).unwrap_err();
            assert!(
                problem.contains("its values are encoded; read it in Python with xarray.open_zarr"),
                "{problem}"
            );
        }
        assert_eq!(check_coded(&json!({}), &fill), Ok(()));
        let problem = check_coded(&json!({"_ARRAY_DIMENSIONS": ["y", "x"]}), &fill).unwrap_err();
        assert!(problem.starts_with("has the fill value -999, which denotes missing values"), "{problem}");
    }
}
