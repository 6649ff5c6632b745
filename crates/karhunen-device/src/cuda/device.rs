//! The device that users open.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use karhunen::{Scalar, Source};

use crate::DeviceError;
use crate::cuda::gpu::Gpu;
use crate::cuda::libraries;
use crate::cuda::matrix::DeviceMatrix;

/// The first GPU that CUDA finds, with the libraries that multiply on it. A process opens it once.
#[derive(Clone, Debug)]
pub struct Device(Arc<Gpu>);

/// The GPU of this process. Opening it takes a few tenths of a second.
static OPENED: OnceLock<Device> = OnceLock::new();

impl Device {
    /// Loads the libraries and opens the GPU. `folders` are searched for libraries that the system does not
    /// find, before the folders of `CUDA_HOME`, `CUDA_PATH` and `/usr/local/cuda`.
    ///
    /// # Errors
    /// [`DeviceError::Library`], [`DeviceError::Missing`], [`DeviceError::Failed`].
    pub fn open(folders: &[PathBuf]) -> Result<Self, DeviceError> {
        if let Some(opened) = OPENED.get() {
            return Ok(opened.clone());
        }
        libraries::load_dense(folders)?;
        let opened = Self(Arc::new(Gpu::open(folders)?));
        Ok(OPENED.get_or_init(|| opened).clone())
    }

    /// The name of the GPU.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Copies `x` to the memory of the GPU, in one visit: `n_samples * n_features` values of its type if it
    /// is dense; 24 bytes for each stored entry if it is sparse, because values are kept in f64 with their
    /// index, by rows and by columns.
    ///
    /// # Errors
    /// Errors of `x` while it is read; [`karhunen::Error::Device`] with a [`DeviceError`]: `Memory`,
    /// `TooLarge`, `Library` for sparse data without cuSPARSE, `Failed`.
    pub fn copy<T: Scalar>(&self, x: &dyn Source<T>) -> karhunen::Result<DeviceMatrix> {
        DeviceMatrix::copy_of(Arc::clone(&self.0), x)
    }
}
