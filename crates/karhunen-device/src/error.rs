//! Why a device cannot be used.

use karhunen::error::size;

/// A device that is not there, is too small, or failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The program is linked statically.
    #[error(
        "no GPU can be used: this program is linked statically and loads no libraries; use the Python package, \
         or a program built by cargo install karhunen-cli, or leave the device out"
    )]
    Static,
    /// The feature `cuda` is off.
    #[error(
        "no GPU can be used: CUDA needs the feature cuda, which this build of karhunen leaves out; build it with \
         --features cuda, or leave the device out"
    )]
    LeftOut,
    /// A library was not found.
    #[error(
        "no GPU can be used: {library} was not found; looked for {names}{folders}; {way_out}, or leave the \
         device out"
    )]
    Library {
        /// What the library is.
        library: &'static str,
        /// The names that were tried.
        names: String,
        /// The folders that were searched in addition to the system's; empty, or ` in …`.
        folders: String,
        /// What to do.
        way_out: &'static str,
    },
    /// The driver knows no usable device.
    #[error(
        "no GPU can be used: the driver of CUDA says {status}; nvidia-smi lists the GPUs, CUDA_VISIBLE_DEVICES \
         may hide them; or leave the device out"
    )]
    Missing {
        /// The answer of the driver.
        status: String,
    },
    /// The memory of the device is too small.
    #[error(
        "{what} needs {} of the memory of the device, of which {} is free; fit fewer rows or components, in f32 \
         if the data are f64, or without the device", size(*.needed), size(*.free)
    )]
    Memory {
        /// What needs the memory.
        what: &'static str,
        /// Bytes needed.
        needed: f64,
        /// Bytes free.
        free: f64,
    },
    /// A dimension exceeds what the libraries count.
    #[error(
        "{found} {what} exceed the {} that the libraries of the device can count; fit without the device",
        i32::MAX
    )]
    TooLarge {
        /// What is counted.
        what: &'static str,
        /// Number found.
        found: usize,
    },
    /// A call failed.
    #[error(
        "the device failed in {call}: {status}; try again with a driver that is as new as the libraries, or \
         without the device"
    )]
    Failed {
        /// The function of CUDA.
        call: &'static str,
        /// Its answer.
        status: String,
    },
}

impl From<DeviceError> for karhunen::Error {
    fn from(error: DeviceError) -> Self {
        let is_memory = matches!(error, DeviceError::Memory { .. });
        Self::Device { is_memory, source: Box::new(error) }
    }
}
