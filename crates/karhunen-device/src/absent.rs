//! The types of a device in a program that has none: a static one, or one without the feature `cuda`.

use std::path::PathBuf;

use karhunen::exec::Exec;
use karhunen::{LinOp, Matrix, Result, Scalar, Source};

use crate::DeviceError;

/// A GPU. There is none for this program.
#[derive(Debug)]
pub enum Device {}

/// Data on a device.
#[derive(Debug)]
pub enum DeviceMatrix {}

impl Device {
    /// Fails.
    ///
    /// # Errors
    /// [`DeviceError::Static`], [`DeviceError::LeftOut`].
    pub fn open(_: &[PathBuf]) -> std::result::Result<Self, DeviceError> {
        Err(if cfg!(target_feature = "crt-static") { DeviceError::Static } else { DeviceError::LeftOut })
    }

    /// The name of the GPU.
    pub fn name(&self) -> &str {
        match *self {}
    }

    /// Copies `x`.
    ///
    /// # Errors
    /// None: there is no device.
    pub fn copy<T: Scalar>(&self, _: &dyn Source<T>) -> Result<DeviceMatrix> {
        match *self {}
    }
}

impl LinOp for DeviceMatrix {
    fn shape(&self) -> (usize, usize) {
        match *self {}
    }
    fn apply(&self, _: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        match *self {}
    }
    fn apply_t(&self, _: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
        match *self {}
    }
}
