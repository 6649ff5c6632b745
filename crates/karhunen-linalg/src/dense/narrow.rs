//! Inner loops of products with narrow blocks: one packed panel times a block, and its transpose times another.

pub mod forward;
pub mod packed;

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::Matrix;
use crate::exec::Accumulate;
use crate::prefetch::{LINE, prefetch_line};
use crate::scalar::{Scalar, largest_magnitude};
use crate::simd::{Lane, dispatch};

pub use forward::Factor;
use forward::Forward;
pub use packed::{Packed, PanelRows};

/// Bytes of a panel, which should stay in the cache of one core between the two products.
const PANEL_BYTES: usize = 512 << 10;
/// Number of rows that a panel of long rows has, up to this many bytes.
const TALL_PANEL_ROWS: usize = 32;
const TALL_PANEL_BYTES: usize = 2 << 20;
/// Bytes of a panel of column-major data.
const COLUMN_MAJOR_PANEL_BYTES: usize = 4 << 20;
/// Bytes of a row that are multiplied at a time.
const GROUP_BYTES: usize = 4 << 10;
/// The number of rows of a panel is a multiple of this.
const ROWS: usize = 8;
/// Rows of fewer bytes are not prefetched.
const PREFETCHED_BYTES: usize = 2 << 10;

/// Length of packed rows for `p` values of `E`: whole cache lines, as long as the widest vectors, an odd number if
/// many, because rows a power of two apart would compete for the same cache sets.
fn padded<E>(p: usize) -> usize {
    let lines = p.div_ceil(LINE / size_of::<E>());
    (if lines > 16 { lines | 1 } else { lines }) * (LINE / size_of::<E>())
}

/// Number of columns of a group, of which a few rows stay in the first-level cache.
const fn group<E>() -> usize {
    GROUP_BYTES / size_of::<E>()
}

/// Number of groups of `p` columns.
const fn n_groups<E>(p: usize) -> usize {
    p.div_ceil(group::<E>())
}

/// A sum `M' y`, shape (p, l), stored transposed: each vector is a row padded with zeros, and the number of rows is
/// even.
pub struct Narrow {
    values: Vec<f64>,
    len: usize,
    n_vectors: usize,
    width: usize,
}

impl Narrow {
    /// Zeros, in rows as long as the rows of a panel of `E`.
    pub fn zeros<E>(len: usize, n_vectors: usize) -> Self {
        let width = padded::<E>(len);
        Self { values: vec![0.0; width * n_vectors.next_multiple_of(2)], len, n_vectors, width }
    }

    /// Number of vectors.
    pub fn n_vectors(&self) -> usize {
        self.n_vectors
    }

    /// The vectors as the columns of a matrix.
    pub fn into_matrix(self) -> Matrix {
        Matrix::from_fn(self.len, self.n_vectors, |j, c| self.values[c * self.width + j])
    }
}

impl Accumulate for Narrow {
    fn reset(&mut self) {
        self.values.fill(0.0);
    }
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.values.iter_mut().zip(&other.values) {
            *a += b;
        }
    }
}

/// Numbers of rows and columns of a panel, and of vectors of the blocks that it multiplies.
#[derive(Clone, Copy)]
pub struct PanelShape {
    /// Number of rows.
    pub n_rows: usize,
    n_cols: usize,
    n_vectors: usize,
}

impl PanelShape {
    /// The shape for an array (n, p) and blocks of `l` vectors.
    pub fn new<E>((n, p): (usize, usize), column_major: bool, l: usize) -> Self {
        // A column is read in runs of the height of the panel: short runs load a page of memory each.
        let bytes = if column_major { COLUMN_MAJOR_PANEL_BYTES } else { PANEL_BYTES };
        let row = padded::<E>(p) * size_of::<E>();
        // Few long rows would read the block, and the sums of the transposed product, too often.
        let fitting = (bytes / row).max((TALL_PANEL_BYTES / row).min(TALL_PANEL_ROWS));
        // Short sums of f32 products: equal values added one by one round the same way each time.
        let longest = if size_of::<E>() == 4 { 64 } else { 256 };
        let n_rows = (fitting.clamp(16, longest) / ROWS * ROWS).min(n.next_multiple_of(ROWS));
        Self { n_rows, n_cols: p, n_vectors: l }
    }

    /// Of this many rows, which are a multiple of 8.
    pub fn of(n_rows: usize, n_cols: usize, n_vectors: usize) -> Self {
        debug_assert!(n_rows.is_multiple_of(ROWS));
        Self { n_rows, n_cols, n_vectors }
    }
}

/// A panel of mapped rows, and their products with a block.
pub struct NarrowPanel<E> {
    shape: PanelShape,
    /// Rows of `width` values.
    x: Vec<E>,
    width: usize,
    /// Number of rows in use.
    n_rows: usize,
    /// `M q`, row-major, in rows of an even number of values.
    y: Vec<f64>,
    y_width: usize,
    /// The products of one group of columns, where rows have several: sums of sums lose fewer digits.
    of_group: Vec<f64>,
}

impl<E: Lane> NarrowPanel<E> {
    /// A panel of this shape.
    pub fn new(shape: PanelShape) -> Self {
        let (width, y_width) = (padded::<E>(shape.n_cols), shape.n_vectors.next_multiple_of(2));
        Self {
            shape,
            x: vec![E::default(); shape.n_rows * width],
            width,
            n_rows: 0,
            y: vec![0.0; shape.n_rows * y_width],
            y_width,
            of_group: vec![0.0; if n_groups::<E>(shape.n_cols) > 1 { shape.n_rows * y_width } else { 0 }],
        }
    }

    /// Packs the rows `rows` of `m`.
    pub fn load(&mut self, m: &impl PanelRows<E>, rows: Range<usize>) {
        self.set_rows(rows.len());
        m.pack_into(rows, 0..self.width, (&mut self.x, self.width));
    }

    /// Packs the rows `rows` of `m`, and sets `y = M q`, by groups of columns: their products prefetch parts of the
    /// second halves of the rows.
    pub fn load_and_multiply(&mut self, m: &impl PanelRows<E>, rows: Range<usize>, q: &Factor<E>) {
        debug_assert!(q.len() == self.shape.n_cols && q.n_vectors() == self.shape.n_vectors);
        self.set_rows(rows.len());
        let n_rows = rows.len().next_multiple_of(ROWS);
        let n_products = n_rows * self.y_width;
        self.y[..n_products].fill(0.0);
        let n_groups = n_groups::<E>(self.shape.n_cols);
        for k in 0..n_groups {
            let is_last = k + 1 == n_groups;
            let columns = k * group::<E>()..if is_last { self.width } else { (k + 1) * group::<E>() };
            m.pack_into(rows.clone(), columns.clone(), (&mut self.x, self.width));
            // The last group is packed already.
            let rows_ahead = if is_last { 0..0 } else { rows.clone() };
            let ahead = parts_of_rows(m, rows_ahead, (n_groups + k, 2 * n_groups));
            let several = n_groups > 1;
            let y = &mut (if several { &mut self.of_group } else { &mut self.y })[..n_products];
            if several {
                y.fill(0.0);
            }
            dispatch(Forward {
                x: m.packed(rows.clone(), &self.x[..n_rows * self.width]),
                width: self.width,
                columns,
                q,
                y,
                y_width: self.y_width,
                ahead: &ahead,
            });
            if several {
                self.y.iter_mut().zip(&self.of_group[..n_products]).for_each(|(y, part)| *y += part);
            }
        }
    }

    /// Sets the number of rows, and those after them that are multiplied too to zero.
    fn set_rows(&mut self, n_rows: usize) {
        self.n_rows = n_rows;
        let padded_rows = n_rows.next_multiple_of(ROWS);
        self.x[n_rows * self.width..padded_rows * self.width].fill(E::default());
    }

    /// Sets `y` to `given`, row-major `(n_rows, n_vectors)`.
    pub fn set_products(&mut self, given: &[f64]) {
        for (y, given) in self.y.chunks_exact_mut(self.y_width).zip(given.chunks_exact(self.shape.n_vectors))
        {
            y[..given.len()].copy_from_slice(given);
        }
    }

    /// Writes `y` to `out`, row after row.
    pub fn write_products<U: Scalar>(&self, out: &mut [U]) {
        let rows = self.y.chunks_exact(self.y_width).take(self.n_rows);
        // Row by row, so that values are converted in vectors.
        for (out, row) in out.chunks_exact_mut(self.shape.n_vectors).zip(rows) {
            out.iter_mut().zip(row).for_each(|(out, y)| *out = U::from_f64(*y));
        }
    }

    /// Multiplies the rows of `y` by `weights`.
    pub fn weigh(&mut self, weights: &[f64]) {
        for (y, weight) in self.y.chunks_exact_mut(self.y_width).zip(weights) {
            y.iter_mut().for_each(|y| *y *= weight);
        }
    }

    /// `g += M' y` for the rows `rows` of `m`, which were loaded last. Prefetches the first halves of as many rows after them,
    /// up to row `last`.
    pub fn multiply_t(&self, g: &mut Narrow, m: &impl PanelRows<E>, rows: Range<usize>, last: usize) {
        let y = &self.y[..self.n_rows * self.y_width];
        // `y` is scaled to near one by a power of two, so that f32 products neither overflow nor underflow.
        let largest = largest_magnitude(y);
        let unit = power_of_two_near(largest);
        let y: Vec<E> = y.iter().map(|y| E::from_f64(y / unit)).collect();
        let x = &m.packed(rows.clone(), &self.x)[..self.n_rows * self.width];
        let ahead = &parts_of_rows(m, rows.end..last.min(rows.end + self.shape.n_rows), (0, 2));
        dispatch(Backward {
            x,
            width: self.width,
            y: &y,
            y_width: self.y_width,
            unit,
            g: &mut g.values,
            ahead,
        });
    }
}

/// The bytes of part `part` of `n_parts` of each of the rows `rows`, in whole cache lines; none if rows are short
/// or not contiguous.
fn parts_of_rows<E>(
    m: &impl PanelRows<E>,
    rows: Range<usize>,
    (part, n_parts): (usize, usize),
) -> Vec<&[u8]> {
    let bytes = if rows.is_empty() { 0 } else { m.bytes(rows.start).map_or(0, <[u8]>::len) };
    if bytes < PREFETCHED_BYTES {
        return Vec::new();
    }
    let cut = |part: usize| bytes / LINE * part / n_parts * LINE;
    let bytes = cut(part)..cut(part + 1);
    rows.filter_map(|i| m.bytes(i)).map(|row| &row[bytes.clone()]).collect()
}

/// A power of two near `value`; one for zero and non-finite values.
fn power_of_two_near(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 1.0;
    }
    value.log2().round().clamp(-1000.0, 1000.0).exp2()
}

struct Backward<'a, E> {
    x: &'a [E],
    width: usize,
    y: &'a [E],
    y_width: usize,
    unit: f64,
    g: &'a mut [f64],
    /// Parts of rows that are prefetched.
    ahead: &'a [&'a [u8]],
}

impl<E: Lane> WithSimd for Backward<'_, E> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if const { S::REGISTER_COUNT >= 32 } { self.run::<S, 3, 8>(simd) } else { self.run::<S, 2, 4>(simd) }
    }
}

impl<E: Lane> Backward<'_, E> {
    #[inline(always)]
    fn run<S: Simd, const VECTORS: usize, const COLUMNS: usize>(&mut self, simd: S) {
        let lanes = size_of::<E::Vector<S>>() / size_of::<E>();
        let mut j = 0;
        while j + VECTORS * lanes <= self.width {
            self.tiles::<S, VECTORS, COLUMNS>(simd, j);
            j += VECTORS * lanes;
        }
        while j < self.width {
            self.tiles::<S, 1, COLUMNS>(simd, j);
            j += lanes;
        }
    }

    #[inline(always)]
    fn tiles<S: Simd, const VECTORS: usize, const COLUMNS: usize>(&mut self, simd: S, j: usize) {
        let mut c = 0;
        while c + COLUMNS <= self.y_width {
            self.tile::<S, VECTORS, COLUMNS>(simd, j, c);
            c += COLUMNS;
        }
        while c < self.y_width {
            self.tile::<S, VECTORS, 2>(simd, j, c);
            c += 2;
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const VECTORS: usize, const COLUMNS: usize>(&mut self, simd: S, j: usize, c: usize) {
        let lanes = size_of::<E::Vector<S>>() / size_of::<E>();
        let mut sum = [[E::splat(simd, E::default()); VECTORS]; COLUMNS];
        // Each tile prefetches its share of the lines of every row, one line at most.
        let (place, n_places) = (j / lanes * self.y_width + VECTORS * c, self.width / lanes * self.y_width);
        let n_lines = self.ahead.first().map_or(0, |row| row.len() / LINE);
        let line = place * n_lines / n_places;
        let rows = if line < (place + VECTORS * COLUMNS) * n_lines / n_places { self.ahead } else { &[] };
        let mut rows = rows.iter();
        for (x, y) in self.x.chunks_exact(self.width).zip(self.y.chunks_exact(self.y_width)) {
            if let Some(row) = rows.next() {
                prefetch_line(row, line);
            }
            let x: &[E::Vector<S>] = bytemuck::cast_slice(&x[j..j + VECTORS * lanes]);
            let (Some(x), Some(y)) = (x.first_chunk::<VECTORS>(), y[c..].first_chunk::<COLUMNS>()) else {
                return;
            };
            for (sum, y) in sum.iter_mut().zip(y) {
                let y = E::splat(simd, *y);
                for (sum, x) in sum.iter_mut().zip(x) {
                    *sum = E::mul_add(simd, *x, y, *sum);
                }
            }
        }
        for (i, sum) in sum.iter().enumerate() {
            let values: &[E] = bytemuck::cast_slice(sum.as_slice());
            let g = &mut self.g[(c + i) * self.width + j..][..VECTORS * lanes];
            for (g, value) in g.iter_mut().zip(values) {
                *g += value.to_f64() * self.unit;
            }
        }
    }
}
