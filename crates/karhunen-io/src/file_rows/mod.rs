//! The values of a table that stay in a file: every visit reads them again, block by block, and the next block is
//! read while one is used.

mod array;
mod columnar;
mod copy;
mod prefetch;

use std::sync::{Arc, Mutex, PoisonError};

use karhunen::source::{Block, Pass, PassKind};
use karhunen::{Dense, Scalar, Source};

use crate::mapped::Mapped;
use crate::{Error, Result};

pub(crate) use array::rows_of_array;
pub(crate) use columnar::rows_of_columns;
pub(crate) use copy::Copy;

/// Largest and least size of the values of a block in bytes.
const BLOCK_BYTES: (usize, usize) = (32 << 20, 1 << 20);
/// Share of the memory limit that a block takes at most.
const BLOCK_SHARE: u64 = 16;
/// Blocks in memory during a visit: one in use, one that waits, and one that is read.
const BLOCKS_HELD: f64 = 3.0;

/// The values of a table that stay in a file or in a temporary copy, a [`Source`] that holds three blocks of rows in
/// memory at a time, and those that [`Source::keep`] permits it to keep.
///
/// ```no_run
/// use karhunen::{Pca, Weights};
/// use karhunen_io::{Data, ReadOptions, read};
/// let options = ReadOptions { memory_limit: Some(1 << 30), ..ReadOptions::default() };
/// let table = read("large.npy".as_ref(), &options)?;
/// let pca = Pca { memory_limit: options.memory_limit, ..Pca::new(2) };
/// let model = match &table.data {
///     Data::F32(values) => pca.fit(&*values.source()?, &Weights::default())?,
///     Data::F64(values) => pca.fit(&*values.source()?, &Weights::default())?,
/// };
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FileRows<T> {
    blocks: Box<dyn Blocks<T>>,
    shape: (usize, usize),
    block_bytes: usize,
    /// Bytes of the file.
    n_bytes: u64,
    /// The mapped file, which must not change.
    mapped: Option<Mapped>,
    kept: Mutex<Kept<T>>,
}

/// Rows of either type.
pub(crate) enum AnyRows {
    F32(FileRows<f32>),
    F64(FileRows<f64>),
}

/// The first rows of a table, decoded.
struct Kept<T> {
    /// Bytes that may still be kept.
    budget: f64,
    blocks: Vec<Arc<Rows<T>>>,
    n_rows: usize,
}

/// The owned dense rows of a block.
pub(crate) struct Rows<T> {
    pub(crate) values: Vec<T>,
    pub(crate) n_rows: usize,
    pub(crate) column_major: bool,
}

/// A format whose rows can be visited in blocks.
pub(crate) trait Blocks<T>: Send + Sync {
    /// Calls `f` with every block from row `first` on, of at most `rows_at_once` rows, in order, until it returns
    /// false. `reached` is set to the first row that has not been read yet.
    ///
    /// # Errors
    /// Those of the file.
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(Rows<T>) -> bool,
    ) -> Result<()>;

    /// Bytes that reading takes beside the decoded blocks.
    fn held(&self, block_bytes: usize) -> f64;

    /// Checks that the file is unchanged since it was opened.
    ///
    /// # Errors
    /// [`crate::Cause::Changed`].
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }
}

impl<T> std::fmt::Debug for FileRows<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { shape, block_bytes, n_bytes, .. } = self;
        let mut debug = f.debug_struct("FileRows");
        debug.field("shape", shape).field("block_bytes", block_bytes).field("n_bytes", n_bytes);
        debug.finish_non_exhaustive()
    }
}

impl<T: Scalar> FileRows<T> {
    /// Rows of a file of `n_bytes` bytes, in blocks that suit a memory limit.
    pub(crate) fn new(
        blocks: Box<dyn Blocks<T>>,
        shape: (usize, usize),
        (n_bytes, mapped): (u64, Option<Mapped>),
        memory_limit: u64,
    ) -> Self {
        let (most, least) = BLOCK_BYTES;
        let block_bytes = usize::try_from(memory_limit / BLOCK_SHARE).unwrap_or(most).clamp(least, most);
        let kept = Mutex::new(Kept { budget: 0.0, blocks: Vec::new(), n_rows: 0 });
        Self { blocks, shape, block_bytes, n_bytes, mapped, kept }
    }

    /// (n_samples, n_features).
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Sets the size of blocks to about `bytes` bytes of values. The default is 32 MiB, or less for a small memory
    /// limit.
    #[must_use]
    pub fn block_bytes(self, bytes: usize) -> Self {
        Self { block_bytes: bytes, ..self }
    }

    /// Checks that the file is unchanged since it was opened. Every visit does so; rows that are kept are copies.
    ///
    /// # Errors
    /// [`crate::Cause::Changed`].
    pub fn check_unchanged(&self) -> Result<()> {
        self.mapped.as_ref().map_or(Ok(()), Mapped::check_unchanged)?;
        self.blocks.check_unchanged()
    }

    /// As [`Blocks::each`], without reading ahead.
    ///
    /// # Errors
    /// Those of [`Blocks::each`].
    pub(crate) fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(Rows<T>) -> bool,
    ) -> Result<()> {
        self.blocks.each(first, rows_at_once, reached, f)
    }

    /// Bytes that reading takes beside the decoded blocks.
    pub(crate) fn held_beside(&self, block_bytes: usize) -> f64 {
        self.blocks.held(block_bytes)
    }

    fn rows_at_once(&self) -> usize {
        (self.block_bytes / size_of::<T>() / self.shape.1.max(1)).max(1)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a block that begins behind the rows that are kept, if the budget allows.
    fn keep_block(&self, first: usize, rows: Rows<T>) {
        let bytes = (rows.values.len() * size_of::<T>()) as f64;
        let mut kept = self.kept();
        if kept.n_rows == first && bytes <= kept.budget {
            kept.budget -= bytes;
            kept.n_rows += rows.n_rows;
            kept.blocks.push(Arc::new(rows));
        } else if kept.n_rows == first {
            // A later, shorter block would not follow the rows that are kept.
            kept.budget = 0.0;
        }
    }

    fn block<'r>(&self, rows: &'r Rows<T>) -> karhunen::Result<Block<'r, T>> {
        let Rows { values, n_rows, column_major } = rows;
        Ok(Block::Dense(if *column_major {
            Dense::column_major(values, *n_rows, self.shape.1)?
        } else {
            Dense::row_major(values, *n_rows, self.shape.1)?
        }))
    }
}

impl<T: Scalar> Source<T> for FileRows<T> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn pass(&self) -> Pass {
        let kept = self.kept().n_rows;
        let unread = 1.0 - kept as f64 / self.shape.0.max(1) as f64;
        let block = self.rows_at_once().min(self.shape.0) * self.shape.1 * size_of::<T>();
        let held = BLOCKS_HELD * block as f64 + self.blocks.held(block);
        Pass::Costly { bytes: self.n_bytes as f64 * unread, kind: PassKind::Dense, held }
    }

    fn keep(&self, bytes: f64) {
        let mut kept = self.kept();
        let used: usize = kept.blocks.iter().map(|rows| rows.values.len() * size_of::<T>()).sum();
        kept.budget = (bytes - used as f64).max(0.0);
    }

    fn n_stored(&self) -> usize {
        self.shape.0 * self.shape.1
    }

    fn is_sparse(&self) -> bool {
        false
    }

    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> karhunen::Result<()>) -> karhunen::Result<()> {
        let check = |row| self.check_unchanged().map_err(|error| unreadable(row, error));
        let kept = self.kept().blocks.clone();
        let mut first = 0;
        check(first)?;
        for rows in kept {
            f(first, self.block(&rows)?)?;
            first += rows.n_rows;
        }
        if first == self.shape.0 {
            return Ok(());
        }
        let (mut reached, begin) = (first, first);
        let mut visitors = Ok(());
        let read = prefetch::each(&*self.blocks, begin, self.rows_at_once(), &mut reached, &mut |rows| {
            visitors = check(first).and_then(|()| f(first, self.block(&rows)?));
            if visitors.is_ok() {
                let end = first + rows.n_rows;
                let begin = std::mem::replace(&mut first, end);
                self.keep_block(begin, rows);
            }
            visitors.is_ok()
        });
        // A change of the file explains any other error.
        check(reached)?;
        visitors?;
        read.map_err(|error| unreadable(reached, error))
    }
}

fn unreadable(row: usize, error: Error) -> karhunen::Error {
    karhunen::Error::Read { row: Some(row), source: Box::new(error) }
}
