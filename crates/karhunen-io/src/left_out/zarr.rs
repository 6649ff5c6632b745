//! The errors for Zarr stores in a build without the feature `zarr`.

use std::path::Path;

use crate::input::Input;
use crate::store::absent::File;
use crate::{Cause, Error, Result};

pub(crate) use crate::store::absent::{Array, File as Zarr};

impl File {
    /// Fails.
    ///
    /// # Errors
    /// [`Cause::LeftOut`].
    pub(crate) fn of_folder(path: &Path) -> Result<Self> {
        Err(Error::new(path, Cause::LeftOut { what: "Zarr", feature: "zarr" }))
    }

    /// Fails.
    ///
    /// # Errors
    /// [`Cause::LeftOut`].
    pub(crate) fn of_archive(input: Input) -> Result<Self> {
        Self::of_folder(&input.path)
    }

    pub(crate) fn array(&self, _: &str) -> Result<Array> {
        match *self {}
    }
}

impl Array {
    pub(crate) fn keep(&mut self, _: u64) {
        match *self {}
    }

    pub(crate) fn held(&self) -> f64 {
        match *self {}
    }

    pub(crate) fn lacks_chunks(&self) -> bool {
        match *self {}
    }
}
