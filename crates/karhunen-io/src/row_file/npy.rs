//! NPY: positioned reads of consecutive rows, or of the same rows of every column.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use karhunen::Scalar;

use super::{Blocks, FileRows, RowFile, Rows, Stop};
use crate::input::Input;
use crate::mapped::Stamp;
use crate::npy::{elements, first_rounded, native, table_shape, to_f64};
use crate::npy_header::{self, Header, Kind};
use crate::option_names;
use crate::{Cause, Error, Place, ReadOptions, Result};

/// An array in a file.
struct Array {
    path: PathBuf,
    file: Mutex<File>,
    stamp: Stamp,
    header: Header,
    shape: (usize, usize),
    column_major: bool,
}

/// # Errors
/// Those of [`crate::read`] for the header.
pub(super) fn open(input: Input, options: &ReadOptions) -> Result<RowFile> {
    options.allow_only(&input.path, "NPY", &[option_names::TRANSPOSE])?;
    let refuse = |cause| Error::new(&input.path, cause);
    let header = npy_header::parse(input.as_slice()).map_err(refuse)?;
    elements(input.as_slice(), &header).map_err(refuse)?;
    let (shape, column_major) = table_shape(&header, options.transpose).map_err(refuse)?;
    if matches!(header.dtype.kind, Kind::Bytes | Kind::Unicode) {
        to_f64(&[], &header).map_err(refuse)?;
    }
    // To open a pipe again would wait for another writer; the bytes of a packed file are not those of the array.
    let n_bytes = input.as_slice().len() as u64;
    if !std::fs::metadata(&input.path).is_ok_and(|file| file.is_file() && file.len() == n_bytes) {
        let message = "a pipe, a device or a packed array cannot be read by its rows; read the whole table";
        return Err(refuse(Cause::option(message)));
    }
    let file = File::open(&input.path).map_err(|source| Error::io(&input.path, "opening", source))?;
    let metadata = file.metadata().map_err(|source| Error::io(&input.path, "reading", source))?;
    let single = header.dtype.kind == Kind::Float && header.dtype.size == 4 && native(&header);
    let stamp = Stamp::of(&metadata);
    let array = Array { path: input.path, file: Mutex::new(file), stamp, header, shape, column_major };
    Ok(if single { RowFile::F32(array.into_rows()) } else { RowFile::F64(array.into_rows()) })
}

impl Array {
    fn into_rows<T: Scalar>(self) -> FileRows<T>
    where
        Self: Blocks<T>,
    {
        let shape = self.shape;
        FileRows::new(Box::new(self), shape, None, None, "NPY")
    }

    /// Reads the bytes of elements, from number `element` on, into `bytes`.
    fn read(&self, element: usize, bytes: &mut [u8]) -> Result<()> {
        let begin = self.header.data_offset as u64 + element as u64 * self.header.dtype.size as u64;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let read = file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_exact(bytes));
        // A file that became shorter is reported as changed, not as a failed read.
        self.stamp.check(&self.path, &file)?;
        read.map_err(|source| Error::io(&self.path, "reading", source))
    }

    /// The bytes of the elements of the rows `first..first + n_rows`, in the order of the array.
    fn rows(&self, first: usize, n_rows: usize) -> Result<Vec<u8>> {
        let (n, p) = self.shape;
        let size = self.header.dtype.size;
        let mut bytes = vec![0; n_rows * p * size];
        if self.column_major {
            for (j, column) in bytes.chunks_exact_mut((n_rows * size).max(1)).enumerate() {
                self.read(j * n + first, column)?;
            }
        } else {
            self.read(first * p, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Visits all rows; `convert` converts bytes to values.
    fn visit<T: Scalar>(
        &self,
        rows_at_once: usize,
        reached: &mut usize,
        convert: impl Fn(&[u8]) -> std::result::Result<Vec<T>, Cause>,
        f: &mut dyn FnMut(Rows<T>) -> karhunen::Result<()>,
    ) -> std::result::Result<(), Stop> {
        let n = self.shape.0;
        for first in (0..n).step_by(rows_at_once) {
            let n_rows = rows_at_once.min(n - first);
            let bytes = self.rows(first, n_rows)?;
            self.refuse_rounded(first, n_rows, &bytes)?;
            let values = convert(&bytes).map_err(|cause| Error::new(&self.path, cause))?;
            *reached = first + n_rows;
            f(Rows { values, n_rows, column_major: self.column_major })?;
        }
        Ok(())
    }

    /// Refuses the first integer that `f64` does not represent. The reader of whole tables only warns; a file that is read
    /// in every visit is refused.
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
            format!("{text} is no number of double precision; convert the array, or read the whole table");
        Err(Error::at(&self.path, place, Cause::value(message)))
    }
}

impl Blocks<f32> for Array {
    fn each(
        &self,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(Rows<f32>) -> karhunen::Result<()>,
    ) -> std::result::Result<(), Stop> {
        self.visit(rows_at_once, reached, |bytes| Ok(bytemuck::pod_collect_to_vec(bytes)), f)
    }
}

impl Blocks<f64> for Array {
    fn each(
        &self,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(Rows<f64>) -> karhunen::Result<()>,
    ) -> std::result::Result<(), Stop> {
        self.visit(rows_at_once, reached, |bytes| to_f64(bytes, &self.header), f)
    }
}
