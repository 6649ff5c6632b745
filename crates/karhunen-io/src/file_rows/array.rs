//! Arrays: positioned reads of consecutive rows, or of the same rows of every column.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use karhunen::Scalar;

use super::positioned::Positioned;
use super::{AnyRows, BlockReader, FileRows, OwnedBlock};
use crate::input::Input;
use crate::mapped::Stamp;
use crate::npy_elements::{first_rounded, is_single, native, to_f64};
use crate::npy_header::{Header, Kind};
use crate::{Cause, Error, Place, Result};

/// An array in a file.
struct Array<T> {
    /// The file named in messages.
    path: PathBuf,
    file: Positioned,
    stamp: Stamp,
    header: Header,
    shape: (usize, usize),
    column_major: bool,
    /// The memory of a block that is not used any more: the system would clear new memory page by page.
    spare: Mutex<Option<Vec<T>>>,
}

/// The values of an NPY file, which stay there; `None` for a pipe, which can be read once, and for a packed array,
/// whose bytes differ from the bytes of the file.
///
/// # Errors
/// [`Cause::Io`].
pub(crate) fn rows_of_array(
    input: &Input,
    header: Header,
    shape: (usize, usize),
    column_major: bool,
    memory_limit: u64,
) -> Result<Option<AnyRows>> {
    let path = &input.path;
    let n_bytes = input.as_slice().len() as u64;
    // To open a pipe again would wait for another writer.
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == n_bytes) {
        return Ok(None);
    }
    let file = File::open(path).map_err(|source| Error::io(path, "opening", source))?;
    rows_of_file(path, file, header, (shape, column_major), memory_limit).map(Some)
}

/// The values of an open file.
///
/// # Errors
/// [`Cause::Io`].
pub(crate) fn rows_of_file(
    path: &Path,
    file: File,
    header: Header,
    (shape, column_major): ((usize, usize), bool),
    memory_limit: u64,
) -> Result<AnyRows> {
    let metadata = file.metadata().map_err(|source| Error::io(path, "reading", source))?;
    let stamp = Stamp::of(&metadata);
    let file = Positioned::new(file, metadata.len());
    let of_file = (metadata.len(), None);
    Ok(if is_single(&header) {
        let array = Array::<f32>::new(path, file, stamp, header, (shape, column_major));
        AnyRows::F32(FileRows::new(Box::new(array), shape, of_file, memory_limit))
    } else {
        let array = Array::<f64>::new(path, file, stamp, header, (shape, column_major));
        AnyRows::F64(FileRows::new(Box::new(array), shape, of_file, memory_limit))
    })
}

impl<T: Scalar> Array<T> {
    fn new(
        path: &Path,
        file: Positioned,
        stamp: Stamp,
        header: Header,
        (shape, column_major): ((usize, usize), bool),
    ) -> Self {
        Self { path: path.to_owned(), file, stamp, header, shape, column_major, spare: Mutex::default() }
    }

    /// Reads the bytes of elements, from number `element` on, into `bytes`.
    fn read(&self, element: usize, bytes: &mut [u8]) -> Result<()> {
        let begin = self.header.data_offset as u64 + element as u64 * self.header.dtype.size as u64;
        let read = self.file.read(begin, bytes);
        // A file that became shorter is reported as changed, not as a failed read.
        self.check()?;
        read.map_err(|source| Error::io(&self.path, "reading", source))
    }

    /// Reads the elements of the rows `first..first + n_rows` into `bytes`, in the order of the array.
    fn read_rows(&self, first: usize, n_rows: usize, bytes: &mut [u8]) -> Result<()> {
        let (n, p) = self.shape;
        if !self.column_major {
            return self.read(first * p, bytes);
        }
        for (j, column) in bytes.chunks_exact_mut((n_rows * self.header.dtype.size).max(1)).enumerate() {
            self.read(j * n + first, column)?;
        }
        Ok(())
    }

    /// Visits the rows from `first` on; `read` returns the values of some of them.
    fn visit(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        read: impl Fn(usize, usize) -> Result<Vec<T>>,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        let n = self.shape.0;
        for first in (first..n).step_by(rows_at_once) {
            let n_rows = rows_at_once.min(n - first);
            let values = read(first, n_rows)?;
            *reached = first + n_rows;
            if !f(OwnedBlock::Dense { values, n_rows, column_major: self.column_major }) {
                break;
            }
        }
        Ok(())
    }

    /// Values in the type and byte order of the machine.
    fn in_place(&self, first: usize, n_rows: usize) -> Result<Vec<T>> {
        let n_values = n_rows * self.shape.1;
        // The last block, which is shorter, has memory of its own: it may be kept.
        let spare = self.spare().take().filter(|values| values.len() == n_values);
        let mut values = spare.unwrap_or_else(|| bytemuck::zeroed_vec(n_values));
        self.read_rows(first, n_rows, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// Values of another type.
    fn converted(&self, first: usize, n_rows: usize) -> Result<Vec<f64>> {
        let mut bytes = vec![0; n_rows * self.shape.1 * self.header.dtype.size];
        self.read_rows(first, n_rows, &mut bytes)?;
        self.refuse_rounded(first, n_rows, &bytes)?;
        to_f64(&bytes, &self.header).map_err(|cause| Error::new(&self.path, cause))
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Option<Vec<T>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the memory of a block for the next.
    fn keep_memory(&self, rows: OwnedBlock<T>) {
        if let OwnedBlock::Dense { values, .. } = rows
            && self.is_native()
        {
            *self.spare() = Some(values);
        }
    }

    fn is_native(&self) -> bool {
        self.header.dtype.kind == Kind::Float && self.header.dtype.size >= 4 && native(&self.header)
    }

    /// Refuses the first integer that `f64` does not represent. The reader of whole tables only warns; a file that is
    /// read in every visit is refused.
    fn refuse_rounded(&self, first: usize, n_rows: usize, bytes: &[u8]) -> Result<()> {
        let Some((element, text)) = first_rounded(bytes, &self.header) else { return Ok(()) };
        let (row, column) = match self.column_major {
            true => (element % n_rows, element / n_rows),
            false => (element / self.shape.1, element % self.shape.1),
        };
        let place = Place {
            row: Some((first + row) as u64 + 1),
            column: Some(column as u64 + 1),
            ..Place::default()
        };
        let message =
            format!("{text} is not a number of double precision; convert the array, or read the whole table");
        Err(Error::at(&self.path, place, Cause::value(message)))
    }

    fn bytes_of_reading(&self, block_bytes: usize) -> f64 {
        self.file.held() + if self.is_native() { 0.0 } else { block_bytes as f64 }
    }

    fn check(&self) -> Result<()> {
        self.stamp.check(&self.path, &self.file.file())
    }
}

impl BlockReader<f32> for Array<f32> {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<f32>) -> bool,
    ) -> Result<()> {
        self.visit(first, rows_at_once, reached, |first, n_rows| self.in_place(first, n_rows), f)
    }

    fn held(&self, block_bytes: usize) -> f64 {
        self.bytes_of_reading(block_bytes)
    }

    fn read_again(&self) {
        self.file.read_again();
    }

    fn reuse(&self, rows: OwnedBlock<f32>) {
        self.keep_memory(rows);
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.stamp.fingerprint())
    }

    fn check_unchanged(&self) -> Result<()> {
        self.check()
    }
}

impl BlockReader<f64> for Array<f64> {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<f64>) -> bool,
    ) -> Result<()> {
        let read = |first, n_rows| {
            if self.is_native() { self.in_place(first, n_rows) } else { self.converted(first, n_rows) }
        };
        self.visit(first, rows_at_once, reached, read, f)
    }

    fn held(&self, block_bytes: usize) -> f64 {
        self.bytes_of_reading(block_bytes)
    }

    fn read_again(&self) {
        self.file.read_again();
    }

    fn reuse(&self, rows: OwnedBlock<f64>) {
        self.keep_memory(rows);
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.stamp.fingerprint())
    }

    fn check_unchanged(&self) -> Result<()> {
        self.check()
    }
}
