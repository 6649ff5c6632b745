//! A temporary copy of values that were decoded once, such as the values of a text.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::AnyRows;
use super::array::rows_of_file;
use crate::disk_space;
use crate::input::copying_failed;
use crate::npy_header::{Dtype, Header, Kind};
use crate::{ReadOptions, Result};

/// A file without a name, which the system removes when it is closed, that receives rows of `f64`.
pub(crate) struct Copy {
    /// The file whose values are copied, for messages.
    path: PathBuf,
    folder: PathBuf,
    file: File,
    n_cols: usize,
    n_rows: usize,
}

impl Copy {
    /// An empty copy of the values of `path`, about `n_rows` rows.
    ///
    /// # Errors
    /// [`crate::Cause::Io`], also if the disk has no space for them.
    pub(crate) fn new(path: &Path, (n_rows, n_cols): (usize, usize), options: &ReadOptions) -> Result<Self> {
        let folder = options.copies();
        disk_space::ask(path, &folder, n_rows as f64 * n_cols as f64 * size_of::<f64>() as f64)?;
        let file = tempfile::tempfile_in(&folder).map_err(|source| copying_failed(path, &folder, source))?;
        Ok(Self { path: path.to_owned(), folder, file, n_cols, n_rows: 0 })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// [`crate::Cause::Io`], if the disk is full.
    pub(crate) fn push(&mut self, rows: &karhunen::Matrix) -> Result<()> {
        let written = self.file.write_all(bytemuck::cast_slice(rows.as_slice()));
        written.map_err(|source| copying_failed(&self.path, &self.folder, source))?;
        self.n_rows += rows.n_rows();
        Ok(())
    }

    /// The copied values, which stay in the copy.
    ///
    /// # Errors
    /// [`crate::Cause::Io`].
    pub(crate) fn finish(self, memory_limit: u64) -> Result<AnyRows> {
        let dtype = Dtype { kind: Kind::Float, size: 8, big_endian: cfg!(target_endian = "big") };
        let shape = (self.n_rows, self.n_cols);
        let header = Header { dtype, shape: vec![shape.0, shape.1], fortran_order: false, data_offset: 0 };
        rows_of_file(&self.path, self.file, header, (shape, false), memory_limit)
    }
}
