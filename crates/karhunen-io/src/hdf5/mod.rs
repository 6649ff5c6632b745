//! HDF5: groups, data sets and attributes. This module alone names the crate that decodes them.

mod dataset;
mod element;
mod filters;
mod lzf;

use std::path::{Path, PathBuf};

use hdf5_reader::group::Group;
use hdf5_reader::{Hdf5File, OpenOptions};

use crate::input::{Bytes, Input};
use crate::mapped::Mapped;
use crate::store::kind::Kind;
use crate::{Error, Place, Result, decoder};

pub(crate) use dataset::Dataset;

/// An open file.
pub(crate) struct Hdf5 {
    path: PathBuf,
    file: Hdf5File,
    n_bytes: u64,
    mapped: Option<Mapped>,
}

impl Hdf5 {
    /// Opens the content of a file, which stays mapped if it is.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn open(input: Input) -> Result<Self> {
        let (n_bytes, mapped) = (input.as_slice().len() as u64, input.mapped());
        let path = input.path;
        // Every visit decodes its chunks again; chunks in memory would be beyond the memory limit.
        let options =
            || OpenOptions::default().with_chunk_cache_bytes(0).with_filter_registry(filters::registry());
        let file = decoder::run(&path, || match input.bytes {
            Bytes::Mapped(map) => Hdf5File::from_owner(map, options()),
            Bytes::Owned(bytes) => Hdf5File::from_vec_with_options(bytes, options()),
        })?;
        Ok(Self { path, file, n_bytes, mapped })
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the file, whichever object of it is read.
    pub(crate) fn n_bytes(&self, _: &str) -> u64 {
        self.n_bytes
    }

    /// The map of the file, if it has one.
    pub(crate) fn mapped(&self) -> Option<Mapped> {
        self.mapped.clone()
    }

    /// The names of the groups and of the data sets in a group, each in the order of the file; `""` is the root.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn members(&self, group: &str) -> Result<(Vec<String>, Vec<String>)> {
        self.decode(group, |file| find(file, group)?.member_names())
    }

    /// The kind of an object; `None` if there is none of this name.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn kind(&self, name: &str) -> Result<Option<Kind>> {
        let (parent, own) = name.rsplit_once('/').unwrap_or(("", name));
        if !parent.is_empty() && self.kind(parent)? != Some(Kind::Group) {
            return Ok(None);
        }
        let (groups, datasets) = self.members(parent)?;
        let holds = |names: &[String]| names.iter().any(|name| name == own);
        Ok(match (holds(&groups), holds(&datasets)) {
            (true, _) => Some(Kind::Group),
            (_, true) => Some(Kind::Array),
            _ => None,
        })
    }

    /// Opens a data set.
    ///
    /// # Errors
    /// [`crate::Cause::Format`], also if there is none of this name.
    pub(crate) fn dataset(&self, name: &str) -> Result<Dataset> {
        Ok(Dataset::new(&self.path, name, self.decode(name, |file| file.dataset(name))?))
    }

    /// A text attribute of a group; `None` if there is none of this name or kind.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn text(&self, group: &str, attribute: &str) -> Result<Option<String>> {
        let attributes = self.decode(group, |file| find(file, group)?.attributes())?;
        let found = attributes.iter().find(|found| found.name == attribute);
        Ok(found.and_then(|found| found.read_string().ok()))
    }

    /// An attribute of whole numbers of a group; `None` if there is none of this name or kind.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn whole(&self, group: &str, attribute: &str) -> Result<Option<Vec<i64>>> {
        let attributes = self.decode(group, |file| find(file, group)?.attributes())?;
        let found = attributes.iter().find(|found| found.name == attribute);
        Ok(found.and_then(|found| {
            found.read_1d::<i64>().ok().or_else(|| {
                found.read_1d::<i32>().ok().map(|short| short.into_iter().map(i64::from).collect())
            })
        }))
    }

    fn decode<R>(
        &self,
        name: &str,
        work: impl FnOnce(&Hdf5File) -> hdf5_reader::error::Result<R>,
    ) -> Result<R> {
        decoder::run(&self.path, || work(&self.file)).map_err(|error| at(error, name))
    }
}

fn find(file: &Hdf5File, group: &str) -> hdf5_reader::error::Result<Group> {
    if group.is_empty() { file.root_group() } else { file.group(group) }
}

/// The error with the name of an object.
fn at(error: Error, name: &str) -> Error {
    let name = (!name.is_empty()).then(|| name.to_owned());
    Error { place: Place { name, ..Place::default() }, ..error }
}
