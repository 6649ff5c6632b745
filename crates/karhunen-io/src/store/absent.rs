//! The files and arrays of a format that a build leaves out: types without values.

use std::ops::Range;
use std::path::Path;

use karhunen::Scalar;

use super::kind::Kind;
use crate::mapped::Mapped;
use crate::{Error, Result};

/// An open file or folder.
pub(crate) enum File {}

/// An array.
pub(crate) enum Array {}

impl File {
    pub(crate) fn path(&self) -> &Path {
        match *self {}
    }

    pub(crate) fn mapped(&self) -> Option<Mapped> {
        match *self {}
    }

    pub(crate) fn n_bytes(&self, _: &str) -> u64 {
        match *self {}
    }

    pub(crate) fn members(&self, _: &str) -> Result<(Vec<String>, Vec<String>)> {
        match *self {}
    }

    pub(crate) fn kind(&self, _: &str) -> Result<Option<Kind>> {
        match *self {}
    }

    pub(crate) fn text(&self, _: &str, _: &str) -> Result<Option<String>> {
        match *self {}
    }

    pub(crate) fn whole(&self, _: &str, _: &str) -> Result<Option<Vec<i64>>> {
        match *self {}
    }
}

impl Array {
    pub(crate) fn shape(&self) -> Result<Vec<usize>> {
        match *self {}
    }

    pub(crate) fn chunk_rows(&self) -> usize {
        match *self {}
    }

    pub(crate) fn is_single(&self) -> bool {
        match *self {}
    }

    pub(crate) fn refuse(&self, _: &str) -> Error {
        match *self {}
    }

    pub(crate) fn numbers<T: Scalar>(&self, _: &[Range<usize>]) -> Result<Vec<T>> {
        match *self {}
    }

    pub(crate) fn positions<P>(&self, _: Range<usize>) -> Result<Vec<P>> {
        match *self {}
    }

    pub(crate) fn texts(&self, _: Option<&str>) -> Result<Vec<String>> {
        match *self {}
    }

    pub(crate) fn flags(&self, _: Option<&str>) -> Result<Option<Vec<bool>>> {
        match *self {}
    }
}
