//! Memory estimate of each route, excluding the data, which a fit checks before it starts.
//!
//! The figures add up the largest allocations alive at a time, as each module makes them. A test of whole fits
//! under a counting allocator (`tests/memory.rs`) bounds each estimate by the memory taken and a small multiple of
//! it.

use crate::linalg::decomp::{svd, tridiagonal, tsqr};
use crate::linalg::dense::products::{PackedRows, are_wide};
use crate::linalg::dense::rank_k;
use crate::solver::block_krylov;
use crate::solver::leading::iterates;
use crate::solver::problem::{Blocks, Problem};
use crate::solver::route::Route;

/// Bytes of an f64.
const F64: f64 = 8.0;
/// Buffers of a thread: panels of rows and of products. Small data take smaller buffers.
const BUFFERS: f64 = (6u64 << 20) as f64;
/// Rows of the pieces that are copied together from short blocks, of wide rows and of others, and the least number of
/// values of them.
const HELD_WIDE_ROWS: f64 = 64.0;
const HELD_ROWS: f64 = 1024.0;
const HELD_VALUES: f64 = (1u64 << 20) as f64;
/// Blocks of vectors as long as the rows that a product of wide rows holds.
const WIDE_BLOCKS: f64 = 11.0;
/// Bytes of the columns of wide data that a thread works on.
pub(super) const PANEL: f64 = (16u64 << 20) as f64;
/// Bytes of a part of the components by columns, which exists along with the parts by rows.
pub(super) const PART: f64 = (64u64 << 20) as f64;

/// Number of blocks of the basis, if a product reads the data again: fewer take many more products.
const BLOCKS_OF_BASIS: usize = 6;
/// Least number of columns of a block that a limit leaves.
const NARROWEST: usize = 8;

/// Numbers for each column that the moments of rows have.
const MOMENTS: f64 = 4.0;

/// Number of threads for which a choice within a limit leaves memory. It is fixed, because the choice must not depend on
/// the number of threads.
const THREADS_WITHIN_LIMIT: usize = 4;

impl Problem {
    /// Memory estimate in bytes of a fit by `route`, excluding the data.
    pub(crate) fn need(&self, route: Route, n_threads: usize) -> f64 {
        self.need_with(self.blocks(), route, n_threads)
    }

    /// As [`Problem::need`], with these blocks of block Krylov iteration.
    fn need_with(&self, blocks: Option<Blocks>, route: Route, n_threads: usize) -> f64 {
        let work = bytes_with(blocks, route, self, self.k_or_guess(), n_threads);
        work + self.logged(route, blocks)
    }

    /// Memory estimate in bytes of the largest result of a pass, and of its values on the way to the log.
    fn logged(&self, route: Route, blocks: Option<Blocks>) -> f64 {
        if !self.is_logged {
            return 0.0;
        }
        let (n, p, k) = (self.n as f64, self.p as f64, self.k_or_guess() as f64);
        let values = match route {
            // A log keeps the upper triangle.
            Route::Covariance => p * p / 2.0,
            Route::Gram => n * n,
            Route::Svd => 0.0,
            Route::BlockKrylov => {
                let width = blocks.map(|blocks| blocks.width).or(self.block_size);
                p * width.unwrap_or(block_krylov::WIDE_BLOCK) as f64
            }
        };
        // Components are mapped back from the side of the rows part by part.
        let back = if n < p && route != Route::Covariance { (PART / F64).min(k * p) } else { 0.0 };
        2.0 * F64 * values.max(back).max(MOMENTS * p)
    }

    /// Tests whether `route` stays within the limit that was asked for.
    pub(super) fn fits(&self, route: Route) -> bool {
        self.limit.is_none_or(|limit| self.reserved + self.need(route, THREADS_WITHIN_LIMIT) <= limit)
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
            let need = self.need_with(Some(blocks(width)), Route::BlockKrylov, THREADS_WITHIN_LIMIT);
            self.limit.is_none_or(|limit| bytes(width) <= limit / 2.0 && self.reserved + need <= limit)
        };
        while width > least && !fits(width) {
            width = (width / 2).max(least);
        }
        Some(blocks(width))
    }
}

/// Memory estimate in bytes of the work of `route` for `k` components with `n_threads` threads.
pub(crate) fn bytes(route: Route, problem: &Problem, k: usize, n_threads: usize) -> f64 {
    bytes_with(problem.blocks(), route, problem, k, n_threads)
}

/// As [`bytes`], with these blocks of block Krylov iteration.
pub(super) fn bytes_with(
    blocks: Option<Blocks>,
    route: Route,
    problem: &Problem,
    k: usize,
    n_threads: usize,
) -> f64 {
    let Problem { n, p, sparse, n_stored, value_bytes, .. } = *problem;
    let (rows, columns, wanted) = (n as f64, p as f64, k as f64);
    let threads = n_threads as f64;
    let data = n_stored as f64 * value_bytes as f64;
    let vectors = F64 * (row_vectors(route, problem) * rows + (12.0 + 2.0 * threads) * columns);
    let buffers = threads * BUFFERS.min(4.0 * data + F64 * columns);
    let components = F64 * 2.0 * wanted * columns;
    let image = F64 * 2.0 * wanted * rows + PART.min(F64 * wanted * columns) * (2.0 + threads);
    let matrix = |dim: usize| rank_k::need(dim, n_threads) + eigenvectors(dim, problem.k, k, n_threads);
    let own = match route {
        Route::Svd => {
            let m = n.min(p);
            let panel = PANEL.min(data / value_bytes as f64 * F64);
            let triangles =
                if n >= p { tsqr::need(m, n, n_threads) } else { tsqr::need(m, p, 1) + 2.0 * panel };
            let vectors = svd::need(m, m) + F64 * m as f64 * (m as f64 + 2.0 * wanted);
            let back = if n < p { image } else { 0.0 };
            triangles.max(vectors).max(back)
        }
        Route::Covariance => {
            // Sparse rows that every pass reads again are summed block by block.
            let block = if sparse && problem.reading.is_some() { F64 * columns * columns } else { 0.0 };
            matrix(p) + block
        }
        Route::Gram => {
            let by_panels = if sparse { 0.0 } else { 2.0 * PANEL.min(F64 * rows * columns) };
            (matrix(n) + by_panels).max(image + F64 * wanted * rows)
        }
        Route::BlockKrylov => {
            let dim = n.min(p);
            let back = if n < p { image } else { 0.0 };
            let width = problem.block_size.or(blocks.map(|b| b.width));
            block_krylov::need(dim, k, (width, blocks.and_then(|b| b.basis)), n_threads) + back
        }
    };
    let sums = if sparse { F64 * 16.0 * (columns.max(rows)) * threads } else { 0.0 };
    // Short blocks of rows are copied together.
    let width = problem.block_size.or(blocks.map(|blocks| blocks.width));
    let are_wide = route == Route::BlockKrylov && width.is_some_and(|width| are_wide(p, width));
    let held_rows = if are_wide { HELD_WIDE_ROWS } else { HELD_ROWS };
    let copied = if problem.reading.is_some() && !sparse {
        (held_rows * columns).max(HELD_VALUES).min(rows * columns)
    } else {
        0.0
    };
    // Products of fewer rows than columns that are read again: vectors, their tiles, sums, results, and what orthonormalises
    // them.
    let blocks = match (route, width) {
        (Route::BlockKrylov, Some(width)) if n < p && problem.reading.is_some() => {
            WIDE_BLOCKS * F64 * columns * width as f64
        }
        _ => 0.0,
    };
    vectors + buffers + own + components + sums + blocks + copied * value_bytes as f64
}

/// Memory in bytes of the packed values that block Krylov iteration may keep; `None` if it keeps none: of data that cannot be
/// packed ([`Problem::packs`]), of narrow rows, which padding would make much longer, for blocks of very many vectors, and
/// beyond half of a limit that was given.
pub(crate) fn packed(problem: &Problem) -> Option<f64> {
    /// Largest ratio to the bytes of the data.
    const LONGEST: f64 = 1.25;
    let Problem { n, p, value_bytes, .. } = *problem;
    let bytes = PackedRows::need((n.max(p), n.min(p)), value_bytes);
    let within = problem.limit.is_none_or(|limit| bytes <= limit / 2.0);
    let is_close = bytes <= LONGEST * n as f64 * p as f64 * value_bytes as f64;
    let is_wide = are_wide(n.min(p), problem.block_size.unwrap_or(1));
    (problem.packs && is_close && !is_wide && within).then_some(bytes)
}

/// Number of values for each row that a fit holds, excluding the rows.
fn row_vectors(route: Route, problem: &Problem) -> f64 {
    match (route, problem.reading) {
        // Sums over blocks of rows: the weights, as they were given, normalised, and their square roots.
        (Route::Covariance | Route::BlockKrylov, Some(reading)) if problem.n >= problem.p => {
            if reading.weighted { 3.0 } else { 0.0 }
        }
        _ => 6.0,
    }
}

/// Memory estimate in bytes of the eigenvectors of an explicit matrix: a few by iteration, or all.
fn eigenvectors(dim: usize, wanted: Option<usize>, k: usize, n_threads: usize) -> f64 {
    // A share may take all eigenvectors.
    if wanted.is_none() || !iterates(dim, wanted) {
        return tridiagonal::need(dim) + F64 * 3.0 * dim as f64 * k as f64;
    }
    block_krylov::need(dim, k, (None, None), n_threads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::problem::Reading;

    fn problem(k: usize, wide: bool, limit: Option<f64>) -> Problem {
        let reading = Some(Reading { bytes: 1e9, wide, weighted: false });
        let (n, p) = (100_000, 20_000);
        Problem {
            n,
            p,
            k: Some(k),
            n_stored: n * p,
            sparse: !wide,
            value_bytes: 8,
            limit,
            reserved: 0.0,
            block_size: None,
            reading,
            packs: false,
            is_logged: false,
        }
    }

    fn reading(k: usize, wide: bool, limit: Option<f64>) -> Blocks {
        problem(k, wide, limit).blocks().unwrap()
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
        // A search for a share has the blocks of its estimate.
        let share = Problem { k: None, ..problem(40, true, Some(150e6)) };
        let width = share.blocks().unwrap().width;
        assert!(width < 32);
        assert_eq!(share.searching(40).blocks(), Some(Blocks { width, basis: None }));
        // Never fewer than six blocks, which hold the components and two blocks.
        assert_eq!(reading(40, true, Some(1e6)), blocks(10, 6));
        assert_eq!(reading(10, true, Some(1e6)), blocks(8, 6));
    }
}
