//! How rows are cut into pieces.

/// The pieces into which rows are cut, counted from the first row of all, so that sums over pieces do not depend on the
/// blocks in which rows are passed.
#[derive(Clone, Copy, Debug)]
pub struct RowPieces {
    /// Number of rows of a piece.
    pub n_rows: usize,
    /// True if all threads share one piece; otherwise each takes a piece of its own.
    pub shared: bool,
}

impl From<usize> for RowPieces {
    /// Pieces of `n_rows` rows, of which each thread takes one.
    fn from(n_rows: usize) -> Self {
        Self { n_rows, shared: false }
    }
}
