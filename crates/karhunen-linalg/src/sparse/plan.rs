//! Division of products with sparse matrices into pieces, by the shape and the number of entries alone.

use crate::scalar::Scalar;
use crate::{Major, Sparse};

/// Least number of entries of a piece for each row of its private sum, so that clearing and adding the sum costs
/// little.
const ENTRIES_PER_SUM: usize = 24;

/// Largest size of a private sum in bytes.
const PRIVATE_BYTES: usize = 8 << 20;

/// Bytes of a block of vectors that stays in the second-level cache with the entries.
const BLOCK_BYTES: usize = 256 << 10;

/// The shape of the lines of a sparse matrix.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Number of lines.
    pub lines: usize,
    /// Length of a line.
    pub minors: usize,
    /// Number of stored entries.
    pub stored: usize,
}

/// Division of the columns of the lines into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlan {
    /// Number of columns of a block.
    pub block: usize,
    /// Number of consecutive blocks of a piece.
    pub blocks_per_piece: usize,
}

impl Extent {
    /// The extent of the stored lines of `x`.
    pub fn of<T: Scalar>(x: &Sparse<'_, T>) -> Self {
        let (lines, minors) = match x.major() {
            Major::Rows => (x.n_rows(), x.n_cols()),
            Major::Columns => (x.n_cols(), x.n_rows()),
        };
        Self { lines, minors, stored: x.n_stored() }
    }

    /// The number of lines whose products are added to a private sum of `bytes` a column, at most 8,192 because of
    /// the rounding errors of f32; `None` if private sums would cost too much time or memory.
    pub fn private_piece(self, bytes: usize) -> Option<usize> {
        if self.minors * bytes > PRIVATE_BYTES || self.stored == 0 {
            return None;
        }
        let for_sum = self.lines_of_entries(ENTRIES_PER_SUM * self.minors);
        let for_threads = self.lines.div_ceil(16).min(2048);
        let piece = for_sum.max(for_threads);
        (piece <= self.lines.div_ceil(4).min(8192)).then_some(piece)
    }

    /// The plan for pieces that own the sums of their columns, of `bytes` each.
    pub fn owners(self, bytes: usize) -> BlockPlan {
        // A block should contain two entries or more of each line, or searching dominates.
        let met = self.minors.min(self.lines_of_entries(2 * self.minors));
        let for_threads = self.minors.div_ceil(16);
        let block = (BLOCK_BYTES / bytes).min(for_threads).max(met).max(1);
        BlockPlan { block, blocks_per_piece: self.minors.div_ceil(block).div_ceil(32).max(1) }
    }

    /// The plan for two chained products by blocks of columns, with private sums of `bytes` a line; `None` if
    /// these would cost too much.
    pub fn chained(self, bytes: usize) -> Option<BlockPlan> {
        if self.lines * bytes > PRIVATE_BYTES || self.stored == 0 {
            return None;
        }
        let per_line = self.stored / self.lines;
        let block = (BLOCK_BYTES / bytes).min(self.minors.div_ceil(16)).max(1);
        let n_blocks = self.minors.div_ceil(block);
        let n_pieces = n_blocks.min(per_line / ENTRIES_PER_SUM).min(32);
        if n_pieces < 4 || per_line / n_blocks < 4 {
            return None;
        }
        Some(BlockPlan { block, blocks_per_piece: n_blocks.div_ceil(n_pieces) })
    }

    /// The number of lines that hold `entries` entries on average.
    fn lines_of_entries(self, entries: usize) -> usize {
        let exact = entries as u128 * self.lines as u128 / self.stored.max(1) as u128;
        usize::try_from(exact).unwrap_or(usize::MAX)
    }

    /// The extent of the transposed matrix.
    #[cfg(test)]
    pub fn transposed(self) -> Self {
        Self { lines: self.minors, minors: self.lines, stored: self.stored }
    }
}
