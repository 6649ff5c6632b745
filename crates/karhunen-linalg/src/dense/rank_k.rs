//! Rank-k updates: `A'A` for a tall matrix of mapped values.
//!
//! The mapped matrix is packed, panel by panel, into strips of [`STRIP`] columns that fit the inner caches; only
//! tiles on and above the diagonal are multiplied. Sums of narrow matrices are private to blocks of panels; wide
//! results are cut into bands of rows that share packed panels. In both cases the shape alone determines the order
//! of every sum.

pub mod bands;

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::dense::pack::{Layout, Mapped};
use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::prefetch::prefetch;
use crate::scalar::Scalar;
use crate::simd::{Lane, dispatch};
use crate::{ColumnMap, Dense, Matrix};

/// Number of columns of a strip.
pub const STRIP: usize = 8;
/// Number of rows of a panel: as many as fit the inner caches, and not a multiple of 64, so that the strips do not
/// compete for the same sets of the first-level cache.
pub const PANEL: usize = 248;
/// Number of strips multiplied by one strip at a time.
const GROUP: usize = 3;
/// Least number of rows of a block with a private sum.
const BLOCK: usize = 2048;
/// Bytes that all private sums together may take.
const PRIVATE_BYTES: usize = 48 << 20;
/// Largest width for which blocks of rows have private sums.
pub const PRIVATE_WIDTH: usize = 512;
/// Bytes prefetched for each row of a tile.
const AHEAD: usize = 16;

/// `sum_i w_i m_i m_i'`, shape (p, p), for the mapped rows `m_i` of `x` (n, p) and row weights `w` (default one).
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn scatter<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut sum = RankK::new(x.n_cols());
    sum.add(x, map, row_weights, exec)?;
    Ok(sum.finish().unwrap_or_else(|| Matrix::zeros(x.n_cols(), x.n_cols())))
}

/// `r_i r_j m_i.m_j`, shape (n, n), for the mapped rows `m_i` of `x` (n, p) and row factors `r` (default one).
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn gram<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    row_factors: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut sum = RankK::new(x.n_rows());
    sum.add_mapped(&Mapped::new(x, map, row_factors).t(), exec)?;
    Ok(sum.finish().unwrap_or_else(|| Matrix::zeros(x.n_rows(), x.n_rows())))
}

/// Memory estimate in bytes of the products of `dim` columns with `n_threads` threads: sums and packed panels.
pub fn need(dim: usize, n_threads: usize) -> f64 {
    let matrix = 8.0 * (dim as f64).powi(2);
    if dim > PRIVATE_WIDTH {
        return matrix + bands::need(n_threads);
    }
    let workers = n_threads.min((PRIVATE_BYTES as f64 / matrix.max(1.0)) as usize).max(1) as f64;
    (workers + 1.0) * matrix + workers * (8 * PANEL * dim.next_multiple_of(STRIP)) as f64
}

/// Packs the rows `rows` of `a`: entry `(i, j)` at `(j / STRIP * n_rows + i) * STRIP + j % STRIP`.
fn pack<T: Scalar>(a: &Mapped<'_, T>, rows: Range<usize>, panel: &mut [f64]) {
    let layout = Layout { row_stride: STRIP, strip_stride: rows.len() * STRIP };
    a.pack::<f64, STRIP>(rows, panel, layout);
}

/// `A'A` of rows passed in runs. The bits do not depend on the number of pieces in a run.
pub struct RankK {
    n_cols: usize,
    /// The sum for a narrow matrix.
    pieces: Option<RankKPart>,
    /// The sum for a wide matrix.
    bands: Option<Matrix>,
}

impl RankK {
    /// Begins a sum for rows of `n_cols` columns.
    pub fn new(n_cols: usize) -> Self {
        Self { n_cols, pieces: None, bands: None }
    }

    /// Number of rows of a piece. Every run but the last must hold whole pieces.
    pub fn piece_rows(&self) -> usize {
        let p = self.n_cols;
        // Narrow matrices get longer pieces: fewer than a million multiply-adds do not repay a thread.
        if p > PRIVATE_WIDTH {
            bands::piece_rows(p)
        } else {
            BLOCK.max((4_000_000 / (p * p)).next_multiple_of(PANEL))
        }
    }

    /// Adds `sum_i w_i m_i m_i'` of the rows of `x`.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn add<T: Scalar>(
        &mut self,
        x: Dense<'_, T>,
        map: ColumnMap<'_>,
        row_weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let roots: Option<Vec<f64>> = row_weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
        self.add_mapped(&Mapped::new(x, map, roots.as_deref()), exec)
    }

    fn add_mapped<T: Scalar>(&mut self, a: &Mapped<'_, T>, exec: &Exec<'_>) -> Result<()> {
        if self.n_cols <= PRIVATE_WIDTH {
            return self.by_pieces(a, exec);
        }
        let p = self.n_cols;
        bands::add(self.bands.get_or_insert_with(|| Matrix::zeros(p, p)), a, exec)
    }

    /// The sum, both triangles; `None` without rows.
    pub fn finish(self) -> Option<Matrix> {
        let mut sum = self.pieces.map(|part| part.sum).or(self.bands)?;
        sum.mirror_upper();
        Some(sum)
    }

    /// Pieces of rows with private sums, added in order.
    fn by_pieces<T: Scalar>(&mut self, a: &Mapped<'_, T>, exec: &Exec<'_>) -> Result<()> {
        let (n, p) = (a.n_rows(), a.n_cols());
        let block = self.piece_rows();
        let workers = (PRIVATE_BYTES / (p * p * size_of::<f64>())).max(1);
        let zero = || RankKPart::zeros(p);
        exec.at_most(workers).fold_into(
            &mut self.pieces,
            n.div_ceil(block),
            zero,
            |piece, part: &mut RankKPart| {
                let last = n.min((piece + 1) * block);
                let panel = |start: usize| a.rows(start.min(last)..last.min(start + PANEL));
                for start in (piece * block..last).step_by(PANEL) {
                    let ahead = panel(start + PANEL).contiguous();
                    add_products(&panel(start), ahead, &mut part.packed, &mut part.sum);
                }
                Ok(())
            },
        )
    }
}

/// Adds `A'A`, on and above the diagonal, for one panel of rows, and prefetches `ahead`. Returns the packed panel.
pub fn add_products<'p, T: Scalar>(
    panel: &Mapped<'_, T>,
    ahead: &[T],
    packed: &'p mut Vec<f64>,
    sum: &mut Matrix,
) -> &'p [f64] {
    let (n_rows, n_cols) = (panel.n_rows(), panel.n_cols());
    packed.resize(n_rows * n_cols.next_multiple_of(STRIP), 0.0);
    pack(panel, 0..n_rows, packed);
    let ahead = bytemuck::cast_slice(ahead);
    dispatch(Sweep { packed, n_rows, n_cols, first: 0, out: sum.as_mut_slice(), ahead });
    packed
}

/// A private sum and the panel whose products it adds.
struct RankKPart {
    sum: Matrix,
    packed: Vec<f64>,
}

impl RankKPart {
    fn zeros(p: usize) -> Self {
        Self { sum: Matrix::zeros(p, p), packed: Vec::new() }
    }
}

impl Accumulate for RankKPart {
    fn reset(&mut self) {
        self.sum.reset();
    }
    fn merge(&mut self, other: &Self) {
        self.sum.merge(&other.sum);
    }
}

/// Adds the products of one packed panel to rows of the result, from row `first` on (a multiple of [`STRIP`]),
/// on and above the diagonal.
struct Sweep<'a> {
    packed: &'a [f64],
    n_rows: usize,
    n_cols: usize,
    first: usize,
    out: &'a mut [f64],
    /// The memory needed next, prefetched in parts.
    ahead: &'a [u8],
}

impl WithSimd for Sweep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Number of vectors of a strip, strips and rows of a tile, by the number of registers. With constant conditions, one
        // call is compiled.
        if const { S::F64_LANES == 8 } {
            self.sweep::<S, 1, 3, 8>(simd);
        } else if const { S::F64_LANES == 4 } {
            self.sweep::<S, 2, 1, 4>(simd);
        } else if const { S::F64_LANES == 2 && S::REGISTER_COUNT >= 32 } {
            self.sweep::<S, 4, 1, 4>(simd);
        } else if const { S::F64_LANES == 2 } {
            self.sweep::<S, 4, 1, 2>(simd);
        } else {
            self.sweep::<S, 8, 1, 1>(simd);
        }
    }
}

impl<'a> Sweep<'a> {
    #[inline(always)]
    fn sweep<S: Simd, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(mut self, simd: S) {
        let n_strips = self.n_cols.div_ceil(STRIP);
        let strips = self.first / STRIP..(self.first + self.out.len() / self.n_cols).div_ceil(STRIP);
        for group in (strips.start..n_strips).step_by(GROUP) {
            let end = n_strips.min(group + GROUP);
            for i in strips.start..strips.end.min(end) {
                let mut j = group.max(i);
                while j < end {
                    if end - j >= STRIPS {
                        self.strip_by_strips::<S, VECTORS, STRIPS, ROWS>(simd, i, j);
                        j += STRIPS;
                    } else if STRIPS > 2 && end - j == 2 {
                        self.strip_by_strips::<S, VECTORS, 2, ROWS>(simd, i, j);
                        j += 2;
                    } else {
                        self.strip_by_strips::<S, VECTORS, 1, ROWS>(simd, i, j);
                        j += 1;
                    }
                }
            }
        }
    }

    /// Multiplies strip `i` by the strips from `j` on.
    #[inline(always)]
    fn strip_by_strips<S: Simd, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(
        &mut self,
        simd: S,
        i: usize,
        j: usize,
    ) {
        let left = self.strip(i).as_chunks::<STRIP>().0;
        let mut right: [&[[S::f64s; VECTORS]]; STRIPS] = [&[]; STRIPS];
        for (s, strip) in right.iter_mut().enumerate() {
            *strip = bytemuck::cast_slice::<f64, S::f64s>(self.strip(j + s)).as_chunks().0;
        }
        for row in (0..STRIP).step_by(ROWS) {
            let (now, later) = self.ahead.split_at(self.ahead.len().min(AHEAD * left.len()));
            self.ahead = later;
            let tile = tile::<S, f64, VECTORS, STRIPS, ROWS, STRIP>(simd, left, row, right, now);
            for (r, tile_row) in tile.iter().enumerate() {
                let start = (i * STRIP + row + r - self.first) * self.n_cols;
                let Some(out_row) = self.out.get_mut(start..start + self.n_cols) else { return };
                let values = tile_row.as_flattened();
                let out = &mut out_row[j * STRIP..];
                if let Some(out) = out.get_mut(..STRIPS * STRIP) {
                    let out: &mut [S::f64s] = bytemuck::cast_slice_mut(out);
                    for (out, value) in out.iter_mut().zip(values) {
                        *out = simd.add_f64s(*out, *value);
                    }
                } else {
                    let values: &[f64] = bytemuck::cast_slice(values);
                    for (out, value) in out.iter_mut().zip(values) {
                        *out += value;
                    }
                }
            }
        }
    }

    fn strip(&self, s: usize) -> &'a [f64] {
        let len = self.n_rows * STRIP;
        &self.packed[s * len..(s + 1) * len]
    }
}

/// The products of `ROWS` columns of one strip with all columns of other strips, summed over the rows of the
/// panel.
#[inline(always)]
fn tile<
    S: Simd,
    E: Lane,
    const VECTORS: usize,
    const STRIPS: usize,
    const ROWS: usize,
    const WIDTH: usize,
>(
    simd: S,
    left: &[[E; WIDTH]],
    first: usize,
    right: [&[[E::Vector<S>; VECTORS]]; STRIPS],
    ahead: &[u8],
) -> [[[E::Vector<S>; VECTORS]; STRIPS]; ROWS] {
    let mut sum = [[[E::splat(simd, E::default()); VECTORS]; STRIPS]; ROWS];
    let right = right.map(|strip| &strip[..left.len()]);
    for (k, left) in left.iter().enumerate() {
        if let Some(byte) = ahead.get(k * AHEAD) {
            prefetch(std::slice::from_ref(byte));
        }
        let right: [[E::Vector<S>; VECTORS]; STRIPS] = std::array::from_fn(|s| right[s][k]);
        for r in 0..ROWS {
            let factor = E::splat(simd, left[first + r]);
            for s in 0..STRIPS {
                for v in 0..VECTORS {
                    sum[r][s][v] = E::mul_add(simd, factor, right[s][v], sum[r][s][v]);
                }
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests;
