//! Packing of parts of a dense array into panels, centred and scaled.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::dense::square::{SIDE, Transposition};
use crate::prefetch::prefetch_at;
use crate::scalar::Scalar;
use crate::simd::dispatch;
use crate::{ColumnMap, Dense};

/// The axis of a view that its map belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Along rows.
    Rows,
    /// Along columns.
    Columns,
}

/// A dense view whose entries are read as `(x - shift - remainder) * factor * weight`. Shift, remainder and factor
/// belong to one axis, the weight to the other. Differences are taken in `f64`, so a common offset costs no
/// digits.
#[derive(Clone, Copy, Debug)]
pub struct Mapped<'a, T> {
    x: Dense<'a, T>,
    map: ColumnMap<'a>,
    axis: Axis,
    weights: Option<&'a [f64]>,
}

/// Layout of packed entries: entry `(i, j)` is at `(j / W) * strip_stride + i * row_stride + j % W`. Strides are
/// multiples of `W`.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Values from one row of a strip to the next.
    pub row_stride: usize,
    /// Values from one strip to the next.
    pub strip_stride: usize,
}

/// Number of columns that are mapped at a time: what belongs to them stays in the first-level cache.
const CHUNK: usize = 512;

impl<'a, T: Scalar> Mapped<'a, T> {
    /// `x` with its map along the columns; `row_weights` multiply the rows.
    pub fn new(x: Dense<'a, T>, map: ColumnMap<'a>, row_weights: Option<&'a [f64]>) -> Self {
        debug_assert!(map.shift.len() == x.n_cols() && map.factor.len() == x.n_cols());
        debug_assert!(row_weights.is_none_or(|w| w.len() == x.n_rows()));
        Self { x, map, axis: Axis::Columns, weights: row_weights }
    }

    /// The transposed view.
    pub fn t(&self) -> Self {
        let axis = if self.axis == Axis::Rows { Axis::Columns } else { Axis::Rows };
        Self { x: self.x.t(), axis, ..*self }
    }

    /// The rows `rows`; nothing is copied.
    pub fn rows(&self, rows: Range<usize>) -> Self {
        let x = self.x.rows(rows.clone());
        match self.axis {
            Axis::Columns => Self { x, weights: self.weights.map(|w| &w[rows]), ..*self },
            Axis::Rows => {
                let ColumnMap { shift, remainder, factor } = self.map;
                let remainder = remainder.get(rows.clone()).unwrap_or_default();
                let map = ColumnMap { shift: &shift[rows.clone()], remainder, factor: &factor[rows] };
                Self { x, map, ..*self }
            }
        }
    }

    /// The columns `columns`; nothing is copied.
    pub fn columns(&self, columns: Range<usize>) -> Self {
        self.t().rows(columns).t()
    }

    /// The values in the order of rows if they are contiguous, otherwise an empty slice.
    pub fn contiguous(&self) -> &'a [T] {
        self.x.contiguous()
    }

    /// The values of row `i` if they are contiguous.
    pub fn contiguous_row(&self, i: usize) -> Option<&'a [T]> {
        self.x.contiguous_row(i)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.x.n_rows()
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.x.n_cols()
    }

    /// True if columns are contiguous and rows are not.
    pub fn is_column_major(&self) -> bool {
        self.x.is_column_major()
    }

    /// Writes the entries of the rows `rows` to `dst`, laid out in strips of `W` columns and padded with zeros.
    pub fn pack<E: Scalar, const W: usize>(&self, rows: Range<usize>, dst: &mut [E], layout: Layout) {
        dispatch(Pack::<T, E, W> { from: *self, rows, dst, layout });
    }

    /// The (shift, remainder, factor) of row `i`.
    #[inline(always)]
    fn row_part(&self, i: usize) -> (f64, f64, f64) {
        let ColumnMap { shift, remainder, factor } = self.map;
        match self.axis {
            Axis::Rows => (shift[i], remainder.get(i).copied().unwrap_or(0.0), factor[i]),
            Axis::Columns => (0.0, 0.0, self.weights.map_or(1.0, |w| w[i])),
        }
    }

    /// The (shifts, remainders, factors) of the columns from `j` on, zero past the last column.
    #[inline(always)]
    fn column_part<const W: usize>(&self, j: usize) -> ([f64; W], [f64; W], [f64; W]) {
        let ColumnMap { shift, remainder, factor } = self.map;
        match (self.axis, self.weights) {
            (Axis::Columns, _) => (window(shift, j), window(remainder, j), window(factor, j)),
            (Axis::Rows, Some(weights)) => ([0.0; W], [0.0; W], window(weights, j)),
            (Axis::Rows, None) => {
                let n_cols = self.n_cols();
                let ones = std::array::from_fn(|c| if j + c < n_cols { 1.0 } else { 0.0 });
                ([0.0; W], [0.0; W], ones)
            }
        }
    }
}

/// The `W` values from `start` on, padded with zeros.
#[inline(always)]
fn window<U: Copy + Default, const W: usize>(values: &[U], start: usize) -> [U; W] {
    let values = values.get(start..).unwrap_or_default();
    match values.first_chunk() {
        Some(whole) => *whole,
        None => {
            let mut part = [U::default(); W];
            for (part, value) in part.iter_mut().zip(values) {
                *part = *value;
            }
            part
        }
    }
}

/// Maps `x`, one value for each of `W` columns. `REMAINDER` says whether shifts have a remainder.
#[inline(always)]
fn convert<T: Scalar, E: Scalar, const W: usize, const REMAINDER: bool>(
    x: &[T; W],
    (row_shift, row_remainder, row_factor): (f64, f64, f64),
    (shifts, remainders, factors): &([f64; W], [f64; W], [f64; W]),
    dst: &mut [E],
) {
    let Some(dst) = dst.first_chunk_mut::<W>() else { return };
    for c in 0..W {
        let mut difference = x[c].to_f64() - row_shift - shifts[c];
        if REMAINDER {
            difference = difference - row_remainder - remainders[c];
        }
        dst[c] = E::from_f64(difference * factors[c] * row_factor);
    }
}

struct Pack<'d, 'a, T, E, const W: usize> {
    from: Mapped<'a, T>,
    rows: Range<usize>,
    dst: &'d mut [E],
    layout: Layout,
}

impl<T: Scalar, E: Scalar, const W: usize> WithSimd for Pack<'_, '_, T, E, W> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Mapped { x, map, axis, weights } = self.from;
        let by_row = axis == Axis::Rows || weights.is_some();
        if x.col_stride() == 1 || x.n_cols() == 1 {
            match (by_row, map.remainder.is_empty()) {
                (false, true) => self.along_rows::<false, false>(),
                (true, true) => self.along_rows::<true, false>(),
                (_, false) => self.along_rows::<true, true>(),
            }
        } else if x.row_stride() == 1 || x.n_rows() == 1 {
            match map.remainder.is_empty() {
                true => self.along_columns::<S, false>(simd),
                false => self.along_columns::<S, true>(simd),
            }
        } else {
            self.strided();
        }
    }
}

impl<T: Scalar, E: Scalar, const W: usize> Pack<'_, '_, T, E, W> {
    /// Packs contiguous rows. `BY_ROW` says whether rows have weights or maps, `REMAINDER` whether shifts have a
    /// remainder.
    #[inline(always)]
    fn along_rows<const BY_ROW: bool, const REMAINDER: bool>(self) {
        let Layout { row_stride, strip_stride } = self.layout;
        let n_cols = self.from.n_cols();
        // The entries past the last column stay zero.
        let mut line = [E::default(); CHUNK];
        for start in (0..n_cols).step_by(CHUNK) {
            let columns = start..n_cols.min(start + CHUNK);
            let n_entries = columns.len().next_multiple_of(W);
            line[columns.len()..n_entries].fill(E::default());
            let (mut shifts, mut remainders, mut factors) = ([0.0; CHUNK], [0.0; CHUNK], [0.0; CHUNK]);
            for k in (0..n_entries).step_by(W) {
                let part = self.from.column_part::<W>(start + k);
                shifts[k..k + W].copy_from_slice(&part.0);
                remainders[k..k + W].copy_from_slice(&part.1);
                factors[k..k + W].copy_from_slice(&part.2);
            }
            for i in 0..self.rows.len() {
                let row = self.rows.start + i;
                let part = self.from.row_part(row);
                let values = &self.from.x.contiguous_row(row).unwrap_or_default()[columns.clone()];
                let to = i * row_stride + start / W * strip_stride;
                // Rows that lie together are written in place.
                let in_place = strip_stride == W;
                let entries =
                    if in_place { &mut self.dst[to..to + n_entries] } else { &mut line[..n_entries] };
                if in_place {
                    entries[columns.len()..].fill(E::default());
                }
                // Loops over strips of constant width are not vectorized where the type changes twice.
                let columns = shifts.iter().zip(&remainders).zip(&factors);
                for ((entry, x), ((shift, remainder), factor)) in entries.iter_mut().zip(values).zip(columns)
                {
                    let x = x.to_f64();
                    *entry = E::from_f64(if REMAINDER {
                        (x - part.0 - shift - part.1 - remainder) * factor * part.2
                    } else if BY_ROW {
                        (x - part.0 - shift) * factor * part.2
                    } else {
                        (x - shift) * factor
                    });
                }
                if !in_place {
                    for (k, strip) in line[..n_entries].as_chunks::<W>().0.iter().enumerate() {
                        self.dst[to + k * strip_stride..][..W].copy_from_slice(strip);
                    }
                }
            }
        }
    }

    /// Packs contiguous columns, transposed in squares. The columns of the next squares are prefetched: the hardware does
    /// not predict where they begin.
    #[inline(always)]
    fn along_columns<S: Simd, const REMAINDER: bool>(self, simd: S) {
        let Layout { row_stride, strip_stride } = self.layout;
        let (n_cols, x) = (self.from.n_cols(), self.from.x.t());
        let transposition = Transposition::new(simd);
        let side = |j: usize| match j < n_cols {
            true => &x.contiguous_row(j).unwrap_or_default()[self.rows.clone()],
            false => &[],
        };
        for j in (0..n_cols.next_multiple_of(W)).step_by(SIDE) {
            let columns = self.from.column_part::<SIDE>(j);
            let (mut sides, mut next): ([&[T]; SIDE], [&[T]; SIDE]) = ([&[]; SIDE], [&[]; SIDE]);
            for c in 0..SIDE {
                (sides[c], next[c]) = (side(j + c), side(j + SIDE + c));
            }
            let base = (j / W) * strip_stride + j % W;
            for i in (0..self.rows.len()).step_by(SIDE) {
                let mut square = [[0.0; SIDE]; SIDE];
                for c in 0..SIDE {
                    prefetch_at(next[c], i);
                    let values: [T; SIDE] = window(sides[c], i);
                    for (value, x) in square[c].iter_mut().zip(values) {
                        *value = x.to_f64();
                    }
                }
                let square = transposition.transpose(&square);
                for (r, row) in square.iter().enumerate().take(self.rows.len() - i) {
                    let to = base + (i + r) * row_stride;
                    let part = self.from.row_part(self.rows.start + i + r);
                    let dst = &mut self.dst[to..to + SIDE];
                    convert::<f64, E, SIDE, REMAINDER>(row, part, &columns, dst);
                }
            }
        }
    }

    /// Packs arrays with neither contiguous rows nor contiguous columns.
    #[inline(always)]
    fn strided(self) {
        let Layout { row_stride, strip_stride } = self.layout;
        let n_cols = self.from.n_cols();
        for i in 0..self.rows.len() {
            let part = self.from.row_part(self.rows.start + i);
            for j in (0..n_cols).step_by(W) {
                let mut x = [T::default(); W];
                for (c, x) in x.iter_mut().enumerate().take(n_cols - j) {
                    *x = self.from.x.get(self.rows.start + i, j + c);
                }
                let to = (j / W) * strip_stride + i * row_stride;
                let columns = self.from.column_part::<W>(j);
                convert::<T, E, W, true>(&x, part, &columns, &mut self.dst[to..to + W]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::testing::test_matrices::gaussian;

    #[test]
    fn strips_and_rows_hold_the_same_values() {
        let x: Matrix = gaussian(7, 1050, 2, 0);
        let (shift, factor) = (vec![0.25; 1050], vec![2.0; 1050]);
        let m =
            Mapped::new(Dense::from(&x), ColumnMap { shift: &shift, remainder: &[], factor: &factor }, None);
        let (width, mut rows, mut strips) = (1056, vec![0.0f64; 7 * 1056], vec![0.0f64; 7 * 1056]);
        m.pack::<f64, 8>(0..7, &mut rows, Layout { row_stride: width, strip_stride: 8 });
        m.pack::<f64, 8>(0..7, &mut strips, Layout { row_stride: 8, strip_stride: 56 });
        for i in 0..7 {
            for j in 0..width {
                assert_eq!(rows[i * width + j], strips[j / 8 * 56 + i * 8 + j % 8], "{i} {j}");
            }
        }
    }
}
