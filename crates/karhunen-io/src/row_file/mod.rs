//! Tables that stay in their files: every visit reads the rows again, block by block.

mod columnar;
mod npy;
mod text;

use std::path::Path;

use karhunen::source::Block;
use karhunen::{Dense, Scalar, Source};

use crate::input::{Input, decompressed};
use crate::mapped::Mapped;
use crate::read::{Format, sniff};
use crate::{Cause, Error, ReadOptions, Result};

/// Default size of the values of a block in bytes.
const BLOCK_BYTES: usize = 32 << 20;

/// A table that stays in its file, in the element type of the file.
///
/// ```no_run
/// use karhunen::{Pca, Weights};
/// use karhunen_io::{ReadOptions, RowFile};
/// let pca = Pca::new(2);
/// let model = match RowFile::open("large.npy".as_ref(), &ReadOptions::default())? {
///     RowFile::F32(rows) => pca.fit(&rows, &Weights::default())?,
///     RowFile::F64(rows) => pca.fit(&rows, &Weights::default())?,
/// };
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum RowFile {
    /// Single precision.
    F32(FileRows<f32>),
    /// Double precision, and other types, whose values must be exact in double precision.
    F64(FileRows<f64>),
}

/// The rows of a table in a file, a [`Source`] that holds one block in memory at a time.
pub struct FileRows<T> {
    blocks: Box<dyn Blocks<T>>,
    shape: (usize, usize),
    feature_names: Option<Vec<String>>,
    weights: Option<Vec<f64>>,
    format: &'static str,
    block_bytes: usize,
    /// The mapped file, which must not change.
    mapped: Option<Mapped>,
}

/// The owned dense rows of a block.
struct Rows<T> {
    values: Vec<T>,
    n_rows: usize,
    column_major: bool,
}

/// A format whose rows can be visited in blocks.
trait Blocks<T>: Send + Sync {
    /// Calls `f` with every block, of at most `rows_at_once` rows, in order. `reached` is set to the
    /// first row that has not been read yet.
    fn each(
        &self,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(Rows<T>) -> karhunen::Result<()>,
    ) -> std::result::Result<(), Stop>;
}

/// Why a visit ended early.
enum Stop {
    /// The file cannot be read.
    File(Error),
    /// The visitor's own error.
    Visitor(karhunen::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::File(error)
    }
}

impl From<karhunen::Error> for Stop {
    fn from(error: karhunen::Error) -> Self {
        Stop::Visitor(error)
    }
}

impl RowFile {
    /// Opens an NPY, Parquet, Arrow IPC or text file. Names of rows, labels and weights are left out of the rows,
    /// as [`crate::read`] sets them aside; the weights are kept. A text is parsed once, to count its rows.
    ///
    /// # Errors
    /// Those of [`crate::read`], except that values of formats other than text are checked only in a visit, and that
    /// repeated row names are not refused; [`Cause::Option`] for other formats, for files of names, and for a packed
    /// NPY file. A packed text is unpacked into memory.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self> {
        if options.feature_names.is_some() || options.sample_names.is_some() {
            let message =
                "rows that are read block by block take no names from other files; read the whole table";
            return Err(Error::new(path, Cause::option(message.to_owned())));
        }
        let input = decompressed(Input::open_within(path, options.most_unpacked())?, options)?;
        let mapped = input.mapped();
        let opened = input.through(|input| match sniff(input.as_slice(), path) {
            Format::Npy => npy::open(input, options),
            Format::Parquet => columnar::open_parquet(input, options),
            Format::Arrow => columnar::open_arrow(input, options),
            Format::Text => text::open(input, options),
            _ => {
                let message = "only NPY, Parquet, Arrow IPC and text files are read block by block; read the whole table";
                Err(Error::new(path, Cause::option(message)))
            }
        })?;
        Ok(match opened {
            RowFile::F32(rows) => RowFile::F32(FileRows { mapped, ..rows }),
            RowFile::F64(rows) => RowFile::F64(FileRows { mapped, ..rows }),
        })
    }

    /// Sets the size of blocks to about `bytes` bytes of values; the default is 32 MiB.
    #[must_use]
    pub fn block_bytes(self, bytes: usize) -> Self {
        match self {
            RowFile::F32(rows) => RowFile::F32(FileRows { block_bytes: bytes, ..rows }),
            RowFile::F64(rows) => RowFile::F64(FileRows { block_bytes: bytes, ..rows }),
        }
    }
}

impl<T> std::fmt::Debug for FileRows<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { shape, format, block_bytes, .. } = self;
        let mut debug = f.debug_struct("FileRows");
        debug.field("shape", shape).field("format", format).field("block_bytes", block_bytes);
        debug.finish_non_exhaustive()
    }
}

impl<T: Scalar> FileRows<T> {
    /// Rows of a format, in blocks of the usual size.
    fn new(
        blocks: Box<dyn Blocks<T>>,
        shape: (usize, usize),
        feature_names: Option<Vec<String>>,
        weights: Option<Vec<f64>>,
        format: &'static str,
    ) -> Self {
        Self { blocks, shape, feature_names, weights, format, block_bytes: BLOCK_BYTES, mapped: None }
    }

    /// One name for each column, if the file holds names.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// The column of weights that [`ReadOptions::weights_column`] names, one for each row.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The format, as [`crate::Table`] names it.
    pub fn format(&self) -> &'static str {
        self.format
    }

    fn check_unchanged(&self) -> Result<()> {
        self.mapped.as_ref().map_or(Ok(()), Mapped::check_unchanged)
    }

    fn rows_at_once(&self) -> usize {
        (self.block_bytes / size_of::<T>() / self.shape.1.max(1)).max(1)
    }
}

impl<T: Scalar> Source<T> for FileRows<T> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn n_stored(&self) -> usize {
        self.shape.0 * self.shape.1
    }

    fn is_sparse(&self) -> bool {
        false
    }

    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> karhunen::Result<()>) -> karhunen::Result<()> {
        let (mut reached, mut first) = (0, 0);
        let outcome = self.blocks.each(self.rows_at_once(), &mut reached, &mut |rows| {
            self.check_unchanged().map_err(|error| unreadable(first, error))?;
            let Rows { values, n_rows, column_major } = rows;
            let block = if column_major {
                Dense::column_major(&values, n_rows, self.shape.1)?
            } else {
                Dense::row_major(&values, n_rows, self.shape.1)?
            };
            let end = first + n_rows;
            f(std::mem::replace(&mut first, end), Block::Dense(block))
        });
        let Err(stop) = outcome else { return Ok(()) };
        // What a changed file gives explains any other error.
        self.check_unchanged().map_err(|error| unreadable(reached, error))?;
        Err(match stop {
            Stop::File(error) => unreadable(reached, error),
            Stop::Visitor(error) => error,
        })
    }
}

fn unreadable(row: usize, error: Error) -> karhunen::Error {
    karhunen::Error::Read { row: Some(row), source: Box::new(error) }
}
