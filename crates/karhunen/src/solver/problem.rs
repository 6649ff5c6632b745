//! Size and storage of a fit, from which the route is chosen.

use crate::solver::need::bytes_with;
use crate::solver::route::Route;

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
    pub(crate) beside: f64,
    /// Block size of block Krylov iteration that was asked for.
    pub(crate) block_size: Option<usize>,
    /// `None` if the rows are in memory.
    pub(crate) reading: Option<Reading>,
    /// True if block Krylov iteration may keep the values packed: of dense rows in memory, in one block.
    pub(crate) packs: bool,
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

/// Number of blocks of the basis, if a product reads the data again: fewer take many more products.
const BLOCKS_OF_BASIS: usize = 6;
/// Least number of columns of a block that a limit leaves.
const NARROWEST: usize = 8;

/// Number of threads for which a choice within a limit leaves memory. It is fixed, because the choice must not depend on
/// the number of threads.
const THREADS_WITHIN_LIMIT: usize = 4;

impl Problem {
    /// Tests whether `route` stays within the limit that was asked for.
    pub(super) fn fits(&self, route: Route) -> bool {
        self.limit.is_none_or(|limit| self.beside + self.need(route, THREADS_WITHIN_LIMIT) <= limit)
    }

    /// Number of components wanted. For a share of the variance a guess, as it may need many.
    pub(super) fn k_or_guess(&self) -> usize {
        let smaller = self.smaller();
        self.k.unwrap_or((smaller / 8).max(8.min(smaller)))
    }

    /// The smaller of rows and columns.
    pub(super) fn smaller(&self) -> usize {
        self.n.min(self.p)
    }

    /// Blocks of block Krylov iteration whose products read the data again; `None` for data in memory. A block has
    /// `max(2 k, 32)` columns, or `max(k, 16)` where products take longer than reading. Where the basis would need more
    /// than half of the limit that was asked for, or the route more than it leaves, the width is halved, but a basis always
    /// has room for `k` columns and two blocks.
    pub(crate) fn blocks(&self) -> Option<Blocks> {
        let reading = self.reading?;
        if let Some(width) = self.block_size {
            return Some(Blocks { width, basis: None });
        }
        let k = self.k.unwrap_or(1);
        let least = NARROWEST.max(k.div_ceil(BLOCKS_OF_BASIS - 2));
        let mut width = if reading.wide { (2 * k).max(32) } else { k.max(16) };
        let bytes = |width: usize| (size_of::<f64>() * self.smaller() * BLOCKS_OF_BASIS * width) as f64;
        let blocks = |width: usize| Blocks { width, basis: self.k.map(|_| BLOCKS_OF_BASIS * width) };
        let fits = |width: usize| {
            let need = bytes_with(
                Some(blocks(width)),
                Route::BlockKrylov,
                self,
                self.k_or_guess(),
                THREADS_WITHIN_LIMIT,
            );
            self.limit.is_none_or(|limit| bytes(width) <= limit / 2.0 && self.beside + need <= limit)
        };
        while width > least && !fits(width) {
            width = (width / 2).max(least);
        }
        Some(blocks(width))
    }

    /// This problem with `k` components.
    pub(crate) fn with(&self, k: usize) -> Self {
        Self { k: Some(k.min(self.smaller())), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(k: usize, wide: bool, limit: Option<f64>) -> Blocks {
        let reading = Some(Reading { bytes: 1e9, wide, weighted: false });
        let (n, p) = (100_000, 20_000);
        let size = Problem {
            n,
            p,
            k: Some(k),
            n_stored: n * p,
            sparse: !wide,
            value_bytes: 8,
            limit,
            beside: 0.0,
            block_size: None,
            reading,
            packs: false,
        };
        size.blocks().unwrap()
    }

    #[test]
    fn blocks_are_wide_where_a_product_reads_the_data() {
        let blocks = |width, blocks| Blocks { width, basis: Some(blocks * width) };
        assert_eq!(reading(40, true, None), blocks(80, 6));
        assert_eq!(reading(10, true, None), blocks(32, 6));
        assert_eq!(reading(40, false, None), blocks(40, 6));
        assert_eq!(reading(10, false, None), blocks(16, 6));
        // The basis of 480 columns takes 77 MB, and with it four threads take more than 150 MB.
        assert_eq!(reading(40, true, Some(1e9)), blocks(80, 6));
        assert!(reading(40, true, Some(150e6)).width < 80);
        // Never fewer than six blocks, which hold the components and two blocks.
        assert_eq!(reading(40, true, Some(1e6)), blocks(10, 6));
        assert_eq!(reading(10, true, Some(1e6)), blocks(8, 6));
    }
}
