//! Sources of data: blocks of consecutive rows, visited any number of times or once.

mod aligned;
mod counted;
mod row_blocks;
mod stream;

pub(crate) use aligned::{Aligned, Stated, visit_pieces};
pub(crate) use counted::Counted;
pub use row_blocks::RowBlocks;
pub use stream::{Batch, Stream};

use crate::error::Result;
use crate::linalg::{Dense, Sparse};
use crate::scalar::Scalar;

/// A borrowed block of consecutive rows, valid only inside the callback of a visit.
#[derive(Clone, Debug)]
pub enum Block<'a, T> {
    /// Dense rows: all entries are stored.
    Dense(Dense<'a, T>),
    /// Sparse rows: entries that are not stored are zero.
    Sparse(Sparse<'a, T>),
}

impl<T: Scalar> Block<'_, T> {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Block::Dense(x) => x.n_rows(),
            Block::Sparse(x) => x.n_rows(),
        }
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        match self {
            Block::Dense(x) => x.n_cols(),
            Block::Sparse(x) => x.n_cols(),
        }
    }

    /// Number of stored entries: all of a dense block; of a sparse block including explicit zeros.
    pub fn n_stored(&self) -> usize {
        match self {
            Block::Dense(x) => x.n_rows() * x.n_cols(),
            Block::Sparse(x) => x.n_stored(),
        }
    }
}

/// Permitted number of visits of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// One visit: the rows cannot be read again.
    Once,
    /// Any number of times.
    Many,
}

/// The cost of a visit of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pass {
    /// The rows are in memory.
    Memory,
    /// Every visit reads or computes the rows again.
    Costly {
        /// Bytes that a visit reads, in the form in which they are stored.
        bytes: f64,
        /// The form of the rows.
        kind: PassKind,
        /// Bytes of memory that a visit holds at a time, excluding the rows that the source keeps.
        held: f64,
    },
}

/// The memory that a visit of a source takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisitMemory {
    /// Bytes that a visit holds at a time, as in [`Pass::Costly`].
    pub held: f64,
    /// Bytes of the values of the largest block.
    pub block: f64,
}

/// The form of rows that are read in every visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassKind {
    /// Every value.
    Dense,
    /// Stored entries.
    Sparse,
    /// Values of a few bits, which are decoded in every visit.
    Packed,
    /// Text, which is parsed in every visit.
    Text,
}

/// A source of rows. A visit passes every row once, in blocks; a fit makes a few visits and counts them
/// ([`crate::pca::Convergence::n_passes`]).
///
/// Implemented by [`Dense`] and [`Sparse`] (one borrowed block) and by [`RowBlocks`].
pub trait Source<T: Scalar>: Sync {
    /// (n_samples, n_features).
    fn shape(&self) -> (usize, usize);

    /// Returns the permitted number of visits. Work that takes several visits refuses a source of one pass.
    fn passes(&self) -> Passes {
        Passes::Many
    }

    /// Number of blocks of a visit; `None` if it is unknown before the first.
    fn n_blocks(&self) -> Option<usize> {
        None
    }

    /// Returns the cost of a visit. By default, a visit reads every value, or every stored entry, again.
    fn pass(&self) -> Pass {
        let kind = if self.is_sparse() { PassKind::Sparse } else { PassKind::Dense };
        Pass::Costly { bytes: self.n_stored() as f64 * size_of::<T>() as f64, kind, held: 0.0 }
    }

    /// Announces further visits, and permits the source to keep its first rows in memory, in up to `bytes` bytes, so that
    /// these need not read them again. A fit permits the remainder of its memory limit, which may be zero, and may permit less
    /// in a later call; rows beyond that are given back. By default, no rows are kept.
    fn keep(&self, _bytes: f64) {}

    /// Returns the memory that a visit would take if the source was opened with `factor` times the memory: blocks may grow
    /// with it. By default, as much as now.
    fn memory_within(&self, _factor: f64) -> VisitMemory {
        let held = if let Pass::Costly { held, .. } = self.pass() { held } else { 0.0 };
        VisitMemory { held, block: self.block_bytes() }
    }

    /// Bytes of the values of the largest block that a visit passes on. By default, all rows are one block.
    fn block_bytes(&self) -> f64 {
        self.n_stored() as f64 * size_of::<T>() as f64
    }

    /// Returns a number that changes when the values do, if it is known without a visit: of a file, its size and time.
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// Number of stored entries: `n_samples * n_features` of dense data.
    fn n_stored(&self) -> usize;

    /// Returns true if the blocks are sparse.
    fn is_sparse(&self) -> bool;

    /// Visits every block once, in the order of the rows; `f` receives the number of the block's first row.
    ///
    /// # Errors
    /// Errors of `f`; [`crate::Error::Read`] with the first row that could not be read.
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()>;
}

/// Implements all methods of [`Source`] but `visit` by calling the wrapped source `$inner`. Without it,
/// a wrapper that lacks one of them would silently have its default.
macro_rules! properties_of {
    (|$wrapper:ident| $inner:expr) => {
        fn shape(&self) -> (usize, usize) {
            let $wrapper = self;
            $inner.shape()
        }
        fn passes(&self) -> $crate::source::Passes {
            let $wrapper = self;
            $inner.passes()
        }
        fn n_blocks(&self) -> Option<usize> {
            let $wrapper = self;
            $inner.n_blocks()
        }
        fn pass(&self) -> $crate::source::Pass {
            let $wrapper = self;
            $inner.pass()
        }
        fn keep(&self, bytes: f64) {
            let $wrapper = self;
            $inner.keep(bytes);
        }
        fn memory_within(&self, factor: f64) -> $crate::source::VisitMemory {
            let $wrapper = self;
            $inner.memory_within(factor)
        }
        fn block_bytes(&self) -> f64 {
            let $wrapper = self;
            $inner.block_bytes()
        }
        fn fingerprint(&self) -> Option<u64> {
            let $wrapper = self;
            $inner.fingerprint()
        }
        fn n_stored(&self) -> usize {
            let $wrapper = self;
            $inner.n_stored()
        }
        fn is_sparse(&self) -> bool {
            let $wrapper = self;
            $inner.is_sparse()
        }
    };
}
pub(crate) use properties_of;

impl<T: Scalar, S: Source<T> + ?Sized> Source<T> for &S {
    properties_of!(|source| (**source));
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        (**self).visit(f)
    }
}

impl<T: Scalar> Source<T> for Dense<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_cols())
    }
    fn n_blocks(&self) -> Option<usize> {
        Some(1)
    }
    fn pass(&self) -> Pass {
        Pass::Memory
    }
    fn n_stored(&self) -> usize {
        self.n_rows() * self.n_cols()
    }
    fn is_sparse(&self) -> bool {
        false
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        f(0, Block::Dense(*self))
    }
}

impl<T: Scalar> Source<T> for Sparse<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_cols())
    }
    fn n_blocks(&self) -> Option<usize> {
        Some(1)
    }
    fn pass(&self) -> Pass {
        Pass::Memory
    }
    fn n_stored(&self) -> usize {
        Sparse::n_stored(self)
    }
    fn is_sparse(&self) -> bool {
        true
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        f(0, Block::Sparse(self.clone()))
    }
}
