//! Files for karhunen: readers of tables and sparse matrices, writers, and model files. One format per file.

mod arrow;
mod columns;
mod error;
#[cfg(test)]
mod fixtures;
mod input;
mod names;
mod npy;
mod npy_header;
mod npz;
mod npz_sparse;
mod options;
mod parquet;
mod roles;
mod table;

pub use error::{Cause, Error, ErrorKind, Place, Result};
pub use options::{IdColumn, ReadOptions};
pub use table::{Buffer, Data, Label, Table, Values};
