//! The errors for HDF5 in a build without the feature `hdf5`.

use crate::input::Input;
use crate::store::absent::File;
use crate::{Cause, Error, Result};

pub(crate) use crate::store::absent::{Array as Dataset, File as Hdf5};

impl File {
    /// Fails.
    ///
    /// # Errors
    /// [`Cause::LeftOut`].
    pub(crate) fn open(input: Input) -> Result<Self> {
        Err(Error::new(&input.path, Cause::LeftOut { what: "HDF5", feature: "hdf5" }))
    }

    pub(crate) fn dataset(&self, _: &str) -> Result<Dataset> {
        match *self {}
    }
}

impl Dataset {
    pub(crate) fn field_names(&self) -> Vec<String> {
        match *self {}
    }
}
