//! Files that hold groups, arrays and attributes: HDF5 and Zarr, under one set of names.

#[cfg(not(all(feature = "hdf5", feature = "zarr")))]
pub(crate) mod absent;
pub(crate) mod kind;

use std::ops::Range;
use std::path::Path;

use karhunen::Scalar;

use crate::hdf5::{Dataset, Hdf5};
use crate::mapped::Mapped;
use crate::zarr::{self, Zarr};
use crate::{Error, Result};

use kind::Kind;

/// An open file or folder.
pub(crate) enum Store {
    Hdf5(Hdf5),
    Zarr(Zarr),
}

/// An array, whose values are converted while they are read.
pub(crate) enum Array {
    Hdf5(Dataset),
    Zarr(Box<zarr::Array>),
}

/// Calls a method of either format.
macro_rules! of_both {
    ($kind:ident, $given:expr, $found:ident => $call:expr) => {
        match $given {
            $kind::Hdf5($found) => $call,
            $kind::Zarr($found) => $call,
        }
    };
}

impl Store {
    /// The path of the file.
    pub(crate) fn path(&self) -> &Path {
        of_both!(Store, self, file => file.path())
    }

    /// The map of the file, if it has one.
    pub(crate) fn mapped(&self) -> Option<Mapped> {
        of_both!(Store, self, file => file.mapped())
    }

    /// Bytes of the file, or of the files of the object `name`, if each has its own.
    pub(crate) fn n_bytes(&self, name: &str) -> u64 {
        of_both!(Store, self, file => file.n_bytes(name))
    }

    /// The names of the groups and of the arrays in a group; `""` is the root.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn members(&self, group: &str) -> Result<(Vec<String>, Vec<String>)> {
        of_both!(Store, self, file => file.members(group))
    }

    /// The kind of an object; `None` if there is none of this name.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn kind(&self, name: &str) -> Result<Option<Kind>> {
        of_both!(Store, self, file => file.kind(name))
    }

    /// Opens an array.
    ///
    /// # Errors
    /// [`crate::Cause::Format`], also if there is none of this name.
    pub(crate) fn array(&self, name: &str) -> Result<Array> {
        Ok(match self {
            Self::Hdf5(file) => Array::Hdf5(file.dataset(name)?),
            Self::Zarr(store) => Array::Zarr(Box::new(store.array(name)?)),
        })
    }

    /// A text attribute of a group; `None` if there is none of this name or kind.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn text(&self, group: &str, attribute: &str) -> Result<Option<String>> {
        of_both!(Store, self, file => file.text(group, attribute))
    }

    /// An attribute of whole numbers of a group; `None` if there is none of this name or kind.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn whole(&self, group: &str, attribute: &str) -> Result<Option<Vec<i64>>> {
        of_both!(Store, self, file => file.whole(group, attribute))
    }
}

impl Array {
    /// The lengths of its axes.
    ///
    /// # Errors
    /// [`crate::Cause::Format`] for a length beyond the address space.
    pub(crate) fn shape(&self) -> Result<Vec<usize>> {
        of_both!(Array, self, array => array.shape())
    }

    /// Number of entries of a vector.
    ///
    /// # Errors
    /// [`crate::Cause::Format`] for another number of axes.
    pub(crate) fn len(&self) -> Result<usize> {
        match self.shape()?[..] {
            [n] => Ok(n),
            ref shape => Err(self.refuse(&format!("has {} axes, expected one", shape.len()))),
        }
    }

    /// Rows of a chunk; 1 if the array is in one piece.
    pub(crate) fn chunk_rows(&self) -> usize {
        of_both!(Array, self, array => array.chunk_rows())
    }

    /// Keeps at most `bytes` bytes of decoded chunks between reads.
    pub(crate) fn keep(&mut self, bytes: u64) {
        if let Self::Zarr(array) = self {
            array.keep(bytes);
        }
    }

    /// Bytes of memory that reading takes in addition to the values.
    pub(crate) fn held(&self) -> f64 {
        match self {
            Self::Hdf5(_) => 0.0,
            Self::Zarr(array) => array.held(),
        }
    }

    /// True if a chunk that was read is absent, so that its elements have the fill value.
    pub(crate) fn lacks_chunks(&self) -> bool {
        match self {
            Self::Hdf5(_) => false,
            Self::Zarr(array) => array.lacks_chunks(),
        }
    }

    /// True for single precision.
    pub(crate) fn is_single(&self) -> bool {
        of_both!(Array, self, array => array.is_single())
    }

    /// An error of this array.
    pub(crate) fn refuse(&self, problem: &str) -> Error {
        of_both!(Array, self, array => array.refuse(problem))
    }

    /// The numbers in a part, one range for each axis.
    ///
    /// # Errors
    /// [`crate::Cause::Format`] for damage, text, and integers that `f64` does not represent.
    pub(crate) fn numbers<T: Scalar>(&self, part: &[Range<usize>]) -> Result<Vec<T>> {
        of_both!(Array, self, array => array.numbers(part))
    }

    /// The numbers in a part of a vector.
    ///
    /// # Errors
    /// As [`Array::numbers`].
    pub(crate) fn entries<T: Scalar>(&self, part: Range<usize>) -> Result<Vec<T>> {
        self.numbers(&[part])
    }

    /// The positions in a part of a vector: whole numbers that are not negative.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn positions<P: TryFrom<i128>>(&self, part: Range<usize>) -> Result<Vec<P>> {
        of_both!(Array, self, array => array.positions(part))
    }

    /// The texts of a vector, or of a field of its records.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn texts(&self, field: Option<&str>) -> Result<Vec<String>> {
        of_both!(Array, self, array => array.texts(field))
    }

    /// The truth values of a vector, or of a field of its records; `None` for other values.
    ///
    /// # Errors
    /// [`crate::Cause::Format`].
    pub(crate) fn flags(&self, field: Option<&str>) -> Result<Option<Vec<bool>>> {
        of_both!(Array, self, array => array.flags(field))
    }

    /// The names of the fields of records.
    pub(crate) fn field_names(&self) -> Vec<String> {
        match self {
            Self::Hdf5(array) => array.field_names(),
            Self::Zarr(_) => Vec::new(),
        }
    }
}
