//! The back end for CUDA.

mod dense;
mod device;
mod gpu;
mod kernels;
mod libraries;
mod matrix;
mod products;
mod sparse;
mod sparse_rows;
mod standard;
mod upload;

pub use device::Device;
pub use matrix::DeviceMatrix;
