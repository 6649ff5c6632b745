//! The values of a table that stay in a file: every visit reads them again, block by block, and the next block is
//! read while one is used.

mod array;
mod copy;
mod positioned;
mod prefetch;
mod sparse_copy;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use karhunen::matrix::SparseMatrix;
use karhunen::source::{Block, Pass, PassKind, VisitMemory};
use karhunen::{Dense, Scalar, Source};

use crate::mapped::Mapped;
use crate::{Error, Result};

pub(crate) use array::{rows_of_array, rows_of_file};
pub(crate) use copy::Copy;
pub(crate) use sparse_copy::SparseCopy;

/// Largest and least size of the values of a block in bytes.
const BLOCK_BYTES: (usize, usize) = (32 << 20, 1 << 20);
/// Share of the memory limit that a block takes at most.
const BLOCK_SHARE: u64 = 16;
/// Blocks in memory during a visit: one in use, one that waits, and one that is read.
const BLOCKS_HELD: f64 = 3.0;

/// Rows that stay in a file, in a temporary copy, or with another [`BlockReader`]: a [`Source`] that holds three blocks of
/// rows in memory at a time, and those that [`Source::keep`] permits it to keep.
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
    blocks: Box<dyn BlockReader<T>>,
    shape: (usize, usize),
    block_bytes: usize,
    /// The memory limit that decided the size of blocks; `None` if it was given.
    memory_limit: Option<u64>,
    /// Number of stored entries of sparse rows.
    n_stored: Option<usize>,
    /// Bytes of the file.
    n_bytes: u64,
    /// The mapped file, which must not change.
    mapped: Option<Mapped>,
    kept: Mutex<Kept<T>>,
    reading: Counts,
}

/// Bytes and seconds of reading, in all visits so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Bytes that were read, in the form in which they are stored.
    pub bytes: f64,
    /// Seconds of reading and decoding, most of them during the use of earlier blocks.
    pub seconds: f64,
}

/// Counts of all visits.
#[derive(Default)]
struct Counts {
    n_rows: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Rows of a file, of either type.
pub(crate) enum AnyRows {
    F32(FileRows<f32>),
    F64(FileRows<f64>),
}

/// The first rows of a table, decoded.
struct Kept<T> {
    /// Bytes that may still be kept.
    budget: f64,
    blocks: Vec<Arc<OwnedBlock<T>>>,
    n_rows: usize,
}

/// Rows of a block, which own their values.
#[derive(Clone, Debug)]
pub enum OwnedBlock<T> {
    /// Every value.
    Dense {
        /// The values, shape (n_rows, n_features).
        values: Vec<T>,
        /// Number of rows.
        n_rows: usize,
        /// True if the values of a column are contiguous, false if the values of a row are.
        column_major: bool,
    },
    /// Stored entries.
    Sparse(SparseMatrix<T>),
}

impl<T: Scalar> OwnedBlock<T> {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense { n_rows, .. } => *n_rows,
            Self::Sparse(rows) => rows.view().n_rows(),
        }
    }

    fn n_bytes(&self) -> usize {
        match self {
            Self::Dense { values, .. } => values.len() * size_of::<T>(),
            Self::Sparse(rows) => entry_bytes::<T>(rows.view().n_stored()) + 8 * rows.view().n_rows(),
        }
    }

    fn block(&self, n_cols: usize) -> karhunen::Result<Block<'_, T>> {
        Ok(match self {
            Self::Dense { values, n_rows, column_major: true } => {
                Block::Dense(Dense::column_major(values, *n_rows, n_cols)?)
            }
            Self::Dense { values, n_rows, column_major: false } => {
                Block::Dense(Dense::row_major(values, *n_rows, n_cols)?)
            }
            Self::Sparse(rows) => Block::Sparse(rows.view()),
        })
    }
}

/// Bytes of a block that suits a memory limit.
fn block_bytes(memory_limit: u64) -> usize {
    let (most, least) = BLOCK_BYTES;
    usize::try_from(memory_limit / BLOCK_SHARE).unwrap_or(most).clamp(least, most)
}

/// Bytes of so many stored entries, with their indices.
fn entry_bytes<T>(n_stored: usize) -> usize {
    n_stored * (size_of::<T>() + size_of::<u32>())
}

/// Something whose rows can be visited in blocks, any number of times.
pub trait BlockReader<T>: Send + Sync {
    /// Calls `f` with every block from row `first` on, in order, until it returns false. A block has at most
    /// `rows_at_once` rows where the reader chooses the blocks. `reached` is set to the first row that has not been read
    /// yet.
    ///
    /// # Errors
    /// Errors of the file.
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()>;

    /// Bytes that reading takes in addition to the blocks, for blocks of `block_bytes` bytes.
    fn held(&self, block_bytes: usize) -> f64;

    /// As [`BlockReader::held`], if the memory limit of reading was `limit`: a larger one may hold values in memory that stay
    /// in their files now.
    fn held_within(&self, block_bytes: usize, _limit: Option<u64>) -> f64 {
        self.held(block_bytes)
    }

    /// Announces further visits, so that the system's page cache may keep the file.
    fn read_again(&self) {}

    /// Takes back a block that was used, whose memory the next block may have.
    fn reuse(&self, _rows: OwnedBlock<T>) {}

    /// A number that changes when the rows do, if it is known without reading them.
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// Checks that the rows are unchanged since they were first seen.
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
        blocks: Box<dyn BlockReader<T>>,
        shape: (usize, usize),
        (n_bytes, mapped): (u64, Option<Mapped>),
        memory_limit: u64,
    ) -> Self {
        let block_bytes = block_bytes(memory_limit);
        let kept = Mutex::new(Kept { budget: 0.0, blocks: Vec::new(), n_rows: 0 });
        let reading = Counts::default();
        let memory_limit = Some(memory_limit);
        Self { blocks, shape, block_bytes, memory_limit, n_stored: None, n_bytes, mapped, kept, reading }
    }

    /// Rows of any reader, dense, or sparse with `n_stored` stored entries.
    pub fn of_reader(
        reader: Box<dyn BlockReader<T>>,
        shape: (usize, usize),
        n_stored: Option<usize>,
    ) -> Self {
        let n_values = shape.0 as u64 * shape.1 as u64;
        let n_bytes = n_stored.map_or(n_values * size_of::<T>() as u64, |n| entry_bytes::<T>(n) as u64);
        Self { n_stored, ..Self::new(reader, shape, (n_bytes, None), u64::MAX) }
    }

    /// The rows of a reader that is made of these: in blocks of the same size, of the same shape and file.
    pub(crate) fn through(self, reader: impl FnOnce(Self) -> Box<dyn BlockReader<T>>) -> Self {
        let (shape, n_stored) = (self.shape, self.n_stored);
        let (block_bytes, memory_limit) = (self.block_bytes, self.memory_limit);
        let of_file = (self.n_bytes, self.mapped.clone());
        Self { block_bytes, memory_limit, n_stored, ..Self::new(reader(self), shape, of_file, u64::MAX) }
    }

    /// Replaces the reader by one that returns another number of columns or of stored entries of the same rows.
    pub(crate) fn with_columns(self, n_cols: usize, n_stored: Option<usize>) -> Self {
        Self { shape: (self.shape.0, n_cols), n_stored, ..self }
    }

    /// (n_samples, n_features).
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Sets the size of blocks to about `bytes` bytes of values. The default is 32 MiB, or less for a small memory
    /// limit.
    #[must_use]
    pub fn block_bytes(self, bytes: usize) -> Self {
        Self { block_bytes: bytes, memory_limit: None, ..self }
    }

    /// Sets the size of blocks to that which suits a memory limit.
    fn within(self, memory_limit: u64) -> Self {
        Self { block_bytes: block_bytes(memory_limit), memory_limit: Some(memory_limit), ..self }
    }

    /// Checks that the file is unchanged since it was opened. Every visit does so; rows that are kept are copies.
    ///
    /// # Errors
    /// [`crate::Cause::Changed`].
    pub fn check_unchanged(&self) -> Result<()> {
        self.mapped.as_ref().map_or(Ok(()), Mapped::check_unchanged)?;
        self.blocks.check_unchanged()
    }

    /// Returns the bytes and seconds of reading, in all visits so far.
    pub fn reading(&self) -> Reading {
        let share = self.reading.n_rows.load(Ordering::Relaxed) as f64 / self.shape.0.max(1) as f64;
        let seconds = self.reading.nanoseconds.load(Ordering::Relaxed) as f64 * 1e-9;
        Reading { bytes: self.n_bytes as f64 * share, seconds }
    }

    /// As [`BlockReader::each`], without reading ahead.
    ///
    /// # Errors
    /// Same errors as [`BlockReader::each`].
    pub(crate) fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        self.blocks.each(first, rows_at_once, reached, f)
    }

    /// As [`BlockReader::read_again`].
    pub(crate) fn read_again(&self) {
        self.blocks.read_again();
    }

    /// Bytes that reading takes in addition to the decoded blocks.
    pub(crate) fn held_to_read(&self, block_bytes: usize) -> f64 {
        self.blocks.held(block_bytes)
    }

    /// As [`FileRows::held_to_read`], if the memory limit of reading was `limit`.
    pub(crate) fn held_to_read_within(&self, block_bytes: usize, limit: Option<u64>) -> f64 {
        self.blocks.held_within(block_bytes, limit)
    }

    /// Rows of a block.
    pub(crate) fn rows_at_once(&self) -> usize {
        self.rows_of(self.block_bytes)
    }

    /// Rows of a block of about so many bytes.
    fn rows_of(&self, block_bytes: usize) -> usize {
        ((block_bytes as f64 / self.row_bytes()) as usize).max(1)
    }

    /// Bytes of a row of average length.
    fn row_bytes(&self) -> f64 {
        let (n, p) = self.shape;
        let dense = p.max(1) * size_of::<T>();
        self.n_stored
            .map_or(dense as f64, |n_stored| 8.0 + entry_bytes::<T>(n_stored) as f64 / n.max(1) as f64)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a block that begins behind the rows that are kept, if the budget allows. Returns it otherwise.
    fn keep_block(&self, first: usize, rows: OwnedBlock<T>) -> Option<OwnedBlock<T>> {
        let bytes = rows.n_bytes() as f64;
        let mut kept = self.kept();
        if kept.n_rows == first && bytes <= kept.budget {
            kept.budget -= bytes;
            kept.n_rows += rows.n_rows();
            kept.blocks.push(Arc::new(rows));
            return None;
        }
        if kept.n_rows == first {
            // A later, shorter block would not follow the rows that are kept.
            kept.budget = 0.0;
        }
        Some(rows)
    }
}

impl<T: Scalar> Source<T> for FileRows<T> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn pass(&self) -> Pass {
        let kept = self.kept().n_rows;
        let unread = 1.0 - kept as f64 / self.shape.0.max(1) as f64;
        let VisitMemory { held, .. } = self.memory_within(1.0);
        let kind = if self.n_stored.is_some() { PassKind::Sparse } else { PassKind::Dense };
        Pass::Costly { bytes: self.n_bytes as f64 * unread, kind, held }
    }

    fn keep(&self, bytes: f64) {
        let mut kept = self.kept();
        let mut used: usize = kept.blocks.iter().map(|rows| rows.n_bytes()).sum();
        while used as f64 > bytes
            && let Some(rows) = kept.blocks.pop()
        {
            used -= rows.n_bytes();
            kept.n_rows -= rows.n_rows();
        }
        kept.budget = (bytes - used as f64).max(0.0);
        self.blocks.read_again();
    }

    fn memory_within(&self, factor: f64) -> VisitMemory {
        // A conversion beyond the range of the integer saturates.
        let limit = self.memory_limit.map(|limit| (limit as f64 * factor) as u64);
        let bytes = limit.map_or(self.block_bytes, block_bytes);
        let block = self.rows_of(bytes).min(self.shape.0) as f64 * self.row_bytes();
        VisitMemory { held: BLOCKS_HELD * block + self.blocks.held_within(block as usize, limit), block }
    }

    fn block_bytes(&self) -> f64 {
        self.memory_within(1.0).block
    }

    fn fingerprint(&self) -> Option<u64> {
        self.mapped.as_ref().map(Mapped::fingerprint).or_else(|| self.blocks.fingerprint())
    }

    fn n_stored(&self) -> usize {
        self.n_stored.unwrap_or(self.shape.0 * self.shape.1)
    }

    fn is_sparse(&self) -> bool {
        self.n_stored.is_some()
    }

    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> karhunen::Result<()>) -> karhunen::Result<()> {
        let check = |row| self.check_unchanged().map_err(|error| unreadable(row, error));
        let kept = self.kept().blocks.clone();
        let mut first = 0;
        check(first)?;
        for rows in kept {
            f(first, rows.block(self.shape.1)?)?;
            first += rows.n_rows();
        }
        if first >= self.shape.0 {
            return Ok(());
        }
        let (mut reached, begin) = (first, first);
        let mut visitors = Ok(());
        let (from, nanoseconds) = ((begin, self.rows_at_once()), &self.reading.nanoseconds);
        let read = prefetch::each(&*self.blocks, from, &mut reached, nanoseconds, &mut |rows| {
            self.reading.n_rows.fetch_add(rows.n_rows() as u64, Ordering::Relaxed);
            visitors = check(first).and_then(|()| f(first, rows.block(self.shape.1)?));
            if visitors.is_ok() {
                let end = first + rows.n_rows();
                let begin = std::mem::replace(&mut first, end);
                self.keep_block(begin, rows).into_iter().for_each(|rows| self.blocks.reuse(rows));
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
