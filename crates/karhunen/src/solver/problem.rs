//! Size and storage of a fit, from which the route is chosen.

/// Size and storage of a fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem {
    /// Number of rows.
    pub(crate) n: usize,
    /// Number of columns.
    pub(crate) p: usize,
    /// Number of components wanted; `None` for a share of the variance.
    pub(crate) k: Option<usize>,
    /// Number of stored entries.
    pub(crate) n_stored: usize,
    /// True if the data are sparse: entries that are not stored are zero.
    pub(crate) sparse: bool,
    /// Bytes of a value.
    pub(crate) value_bytes: usize,
    /// The limit in bytes that was asked for, of the memory of the fit; `None` if none was.
    pub(crate) limit: Option<f64>,
    /// Bytes of the limit that are not for the work of a route.
    pub(crate) reserved: f64,
    /// Block size of block Krylov iteration that was asked for.
    pub(crate) block_size: Option<usize>,
    /// `None` if the rows are in memory.
    pub(crate) reading: Option<Reading>,
    /// True if block Krylov iteration may keep the values packed: of dense rows in memory, in one block.
    pub(crate) packs: bool,
    /// True if a log keeps the results of passes.
    pub(crate) is_logged: bool,
}

/// Rows that every pass reads again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Bytes that a pass reads.
    pub(crate) bytes: f64,
    /// True if products with many vectors take no longer than reading, so that wide blocks save passes.
    pub(crate) wide: bool,
    /// True if rows have weights of their own, which stay in memory.
    pub(crate) weighted: bool,
}

/// Blocks of block Krylov iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Columns of a block.
    pub(crate) width: usize,
    /// The most columns of the basis; `None` for the usual number, where the number of components is unknown.
    pub(crate) basis: Option<usize>,
}

impl Problem {
    /// Number of components wanted. For a share of the variance a guess, as it may need many.
    pub(super) fn k_or_guess(&self) -> usize {
        let smaller = self.smaller();
        self.k.unwrap_or((smaller / 8).max(8.min(smaller)))
    }

    /// The smaller of rows and columns.
    pub(super) fn smaller(&self) -> usize {
        self.n.min(self.p)
    }

    /// This problem with `k` components.
    pub(crate) fn with(&self, k: usize) -> Self {
        Self { k: Some(k.min(self.smaller())), ..*self }
    }

    /// This problem with `k` components of a share, for which the search keeps the blocks of the spectrum estimate.
    pub(crate) fn searching(&self, k: usize) -> Self {
        let width = self.blocks().map(|blocks| blocks.width);
        Self { block_size: self.block_size.or(width), ..self.with(k) }
    }
}
