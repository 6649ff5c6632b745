//! Several in-memory blocks of rows, read as one matrix.

use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::source::{Block, Pass, Source};

/// Blocks of rows, stacked vertically; dense and sparse blocks may be mixed.
///
/// ```
/// use karhunen::source::Block;
/// use karhunen::{Dense, RowBlocks, Source};
/// let (top, bottom) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0]);
/// let blocks = RowBlocks::new(vec![
///     Block::Dense(Dense::row_major(&top, 2, 2)?),
///     Block::Dense(Dense::row_major(&bottom, 1, 2)?),
/// ])?;
/// assert_eq!(blocks.shape(), (3, 2));
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowBlocks<'a, T> {
    blocks: Vec<Block<'a, T>>,
    n_rows: usize,
    n_cols: usize,
}

impl<'a, T: Scalar> RowBlocks<'a, T> {
    /// Stacks the blocks vertically.
    ///
    /// # Errors
    /// [`Error::BlockColumns`] unless all blocks have the same number of columns; [`Error::Empty`] without blocks.
    pub fn new(blocks: Vec<Block<'a, T>>) -> Result<Self> {
        let Some(first) = blocks.first() else {
            return Err(Error::Empty { n_samples: 0, n_features: 0 });
        };
        let n_cols = first.n_cols();
        for (block, b) in blocks.iter().enumerate() {
            if b.n_cols() != n_cols {
                return Err(Error::BlockColumns { block, found: b.n_cols(), expected: n_cols });
            }
        }
        let n_rows = blocks.iter().map(Block::n_rows).sum();
        Ok(Self { blocks, n_rows, n_cols })
    }
}

impl<T: Scalar> Source<T> for RowBlocks<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows, self.n_cols)
    }
    fn n_blocks(&self) -> Option<usize> {
        Some(self.blocks.len())
    }
    fn pass(&self) -> Pass {
        Pass::Memory
    }
    fn n_stored(&self) -> usize {
        self.blocks.iter().map(Block::n_stored).sum()
    }
    fn is_sparse(&self) -> bool {
        self.blocks.iter().any(|b| matches!(b, Block::Sparse(_)))
    }
    fn visit(&self, f: &mut dyn FnMut(usize, Block<'_, T>) -> Result<()>) -> Result<()> {
        let mut first_row = 0;
        for block in &self.blocks {
            f(first_row, block.clone())?;
            first_row += block.n_rows();
        }
        Ok(())
    }
}
