//! Products of the rows of a panel with a block of vectors.
//!
//! Most blocks are multiplied in strips: each lane of a register holds another vector, and no sum is taken across lanes.
//! A block of which more than a quarter of the lanes would be empty is multiplied by inner products with two vectors at a
//! time.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::Matrix;
use crate::dense::narrow::padded;
use crate::prefetch::{LINE, prefetch_line};
use crate::simd::Lane;

/// Number of products that are added one by one, a multiple of [`step`]: equal values round the same way each time.
const RUN: usize = 64;

/// A block (p, l) that panels are multiplied by.
pub struct Factor<E> {
    values: Vec<E>,
    len: usize,
    n_vectors: usize,
    order: Order,
}

/// The order of the values of a factor.
#[derive(Clone, Copy)]
enum Order {
    /// Strips of vectors, each row-major; vectors past the last, up to this number, are zero.
    Strips { n_padded: usize },
    /// Transposed: an even number of rows as long as a panel's, padded with zeros.
    Vectors,
}

/// Number of vectors of a whole strip, two of the widest registers; the last strip may have half as many.
const fn strip<E>() -> usize {
    2 * LINE / size_of::<E>()
}

/// Number of columns between two prefetches of each row: two lines of values.
const fn step<E>() -> usize {
    2 * LINE / size_of::<E>()
}

impl<E: Lane> Factor<E> {
    /// The rows `rows` of `block`.
    pub fn new(block: &Matrix, rows: Range<usize>) -> Self {
        let (len, n_vectors) = (rows.len(), block.n_cols());
        let n_padded = n_vectors.next_multiple_of(strip::<E>() / 2);
        // Lanes without work take longer than sums across lanes if they are more than a quarter.
        if 4 * n_vectors < 3 * n_padded {
            let width = padded::<E>(len);
            let mut values = vec![E::default(); width * n_vectors.next_multiple_of(2)];
            for (j, row) in rows.enumerate() {
                for (c, value) in block.row(row).iter().enumerate() {
                    values[c * width + j] = E::from_f64(*value);
                }
            }
            return Self { values, len, n_vectors, order: Order::Vectors };
        }
        let mut values = Vec::with_capacity(len * n_padded);
        for start in (0..n_padded).step_by(strip::<E>()) {
            let end = n_padded.min(start + strip::<E>());
            for row in rows.clone() {
                let row = &block.row(row)[start..end.min(n_vectors)];
                values.extend(row.iter().map(|value| E::from_f64(*value)));
                values.resize(values.len() + end - start - row.len(), E::default());
            }
        }
        Self { values, len, n_vectors, order: Order::Strips { n_padded } }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Number of vectors.
    pub fn n_vectors(&self) -> usize {
        self.n_vectors
    }
}

/// Adds the products of the columns `columns` of a panel to `y`.
pub(super) struct Forward<'a, E> {
    /// Rows of `width` values, a multiple of 8.
    pub(super) x: &'a [E],
    pub(super) width: usize,
    pub(super) columns: Range<usize>,
    pub(super) q: &'a Factor<E>,
    /// Rows of `y_width` values.
    pub(super) y: &'a mut [f64],
    pub(super) y_width: usize,
    /// Parts of rows that are prefetched.
    pub(super) ahead: &'a [&'a [u8]],
}

impl<E: Lane> WithSimd for Forward<'_, E> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (self.q.order, const { S::REGISTER_COUNT >= 32 }) {
            (Order::Strips { n_padded }, true) => self.strips::<S, 8>(simd, n_padded),
            (Order::Strips { n_padded }, false) => self.strips::<S, 4>(simd, n_padded),
            (Order::Vectors, true) => self.pairs::<S, 8>(simd),
            (Order::Vectors, false) => self.pairs::<S, 4>(simd),
        }
    }
}

impl<E: Lane> Forward<'_, E> {
    #[inline(always)]
    fn strips<S: Simd, const TILE: usize>(self, simd: S, n_padded: usize) {
        let Factor { values, len, n_vectors, .. } = self.q;
        let lanes = size_of::<E::Vector<S>>() / size_of::<E>();
        let columns = self.columns.start..self.columns.end.min(*len);
        let tiles = self.x.chunks_exact(TILE * self.width).zip(self.y.chunks_exact_mut(TILE * self.y_width));
        for (t, (x, y)) in tiles.enumerate() {
            let mut x_rows: [&[E]; TILE] = [&[]; TILE];
            for (row, x) in x_rows.iter_mut().zip(x.chunks_exact(self.width)) {
                *row = &x[columns.clone()];
            }
            let mut first = 0;
            while first < *n_vectors {
                let in_strip = first % strip::<E>();
                let width = strip::<E>().min(n_padded - (first - in_strip));
                let q = &values[(first - in_strip) * len..][..width * len];
                let q = &q[columns.start * width..columns.end * width];
                let n_used = if width >= 2 * lanes { 2 * lanes } else { lanes };
                // Each group of lanes prefetches its share of the rows.
                let share = |first: usize| t * TILE + first.min(*n_vectors) * TILE / n_vectors;
                let ahead = share(first).min(self.ahead.len())..share(first + n_used).min(self.ahead.len());
                let ahead = &self.ahead[ahead];
                let to = first.min(self.y_width)..(first + n_used).min(self.y_width);
                let (q, to) = ((q, in_strip), (self.y_width, to));
                match (n_used == lanes, width == strip::<E>()) {
                    (true, _) => add_lanes::<S, E, TILE, 1, false>(simd, x_rows, q, y, to, ahead),
                    (false, true) => add_lanes::<S, E, TILE, 2, true>(simd, x_rows, q, y, to, ahead),
                    (false, false) => add_lanes::<S, E, TILE, 2, false>(simd, x_rows, q, y, to, ahead),
                }
                first += n_used;
            }
        }
    }

    /// Inner products with two vectors at a time.
    #[inline(always)]
    fn pairs<S: Simd, const TILE: usize>(self, simd: S) {
        let (width, columns) = (self.width, self.columns);
        let tiles = self.x.chunks_exact(TILE * width).zip(self.y.chunks_exact_mut(TILE * self.y_width));
        let n_pairs = self.y_width / 2;
        for (t, (x, y)) in tiles.enumerate() {
            let mut x_rows: [&[E::Vector<S>]; TILE] = [&[]; TILE];
            for (r, row) in x.chunks_exact(width).take(TILE).enumerate() {
                x_rows[r] = bytemuck::cast_slice(&row[columns.clone()]);
            }
            for (c, q) in self.q.values.chunks_exact(2 * width).enumerate() {
                let (q0, q1) = q.split_at(width);
                let q0: &[E::Vector<S>] = bytemuck::cast_slice(&q0[columns.clone()]);
                let q1: &[E::Vector<S>] = bytemuck::cast_slice(&q1[columns.clone()]);
                // Each pair of vectors prefetches its share of the rows, two at most.
                let (from, to) = (t * TILE + c * TILE / n_pairs, t * TILE + (c + 1) * TILE / n_pairs);
                let ahead = [from, from + 1]
                    .map(|row| self.ahead.get(row).filter(|_| row < to).copied().unwrap_or_default());
                let products = dots::<S, E, TILE>(simd, x_rows, q0, q1, ahead);
                for (r, products) in products.iter().enumerate() {
                    for (v, product) in products.iter().enumerate() {
                        y[r * self.y_width + 2 * c + v] += product.to_f64();
                    }
                }
            }
        }
    }
}

/// Adds the products of some rows with `N` registers of the vectors of a strip, from vector `first` on, to the values `to`
/// of each row of `y`. The strip is `WHOLE` or half. Prefetches a line of each row of `ahead` every
/// [`step`] columns.
#[inline(always)]
fn add_lanes<S: Simd, E: Lane, const TILE: usize, const N: usize, const WHOLE: bool>(
    simd: S,
    x: [&[E]; TILE],
    (q, first): (&[E], usize),
    y: &mut [f64],
    (y_width, to): (usize, Range<usize>),
    ahead: &[&[u8]],
) {
    let lanes = size_of::<E::Vector<S>>() / size_of::<E>();
    // Constants, so that rows are cut without a division.
    let width = if WHOLE { const { strip::<E>() } } else { const { strip::<E>() / 2 } };
    let n_columns = x[0].len();
    let step = const { step::<E>() };
    for start in (0..n_columns).step_by(RUN) {
        let mut sum = [[E::splat(simd, E::default()); N]; TILE];
        let columns = start..n_columns.min(start + RUN);
        let mut rows: [&[E]; TILE] = [&[]; TILE];
        for (row, x) in rows.iter_mut().zip(x) {
            *row = &x[columns.clone()];
        }
        let q_rows = q[columns.start * width..columns.end * width].chunks_exact(width);
        for (k, q_row) in (0..columns.len()).zip(q_rows) {
            if k.is_multiple_of(step) {
                for row in ahead {
                    prefetch_line(row, (start + k) / step);
                }
            }
            let vectors: &[E::Vector<S>] = bytemuck::cast_slice(&q_row[first..][..N * lanes]);
            let Some(vectors) = vectors.first_chunk::<N>() else { return };
            for r in 0..TILE {
                let x = E::splat(simd, rows[r][k]);
                for v in 0..N {
                    sum[r][v] = E::mul_add(simd, x, vectors[v], sum[r][v]);
                }
            }
        }
        for (sum, y) in sum.iter().zip(y.chunks_exact_mut(y_width)) {
            let values: &[E] = bytemuck::cast_slice(sum.as_slice());
            y[to.clone()].iter_mut().zip(values).for_each(|(y, value)| *y += value.to_f64());
        }
    }
}

/// All inner products of some rows with two vectors. Prefetches `ahead`, as far as it is as long as a row.
#[inline(always)]
fn dots<S: Simd, E: Lane, const TILE: usize>(
    simd: S,
    x: [&[E::Vector<S>]; TILE],
    q0: &[E::Vector<S>],
    q1: &[E::Vector<S>],
    ahead: [&[u8]; 2],
) -> [[E; 2]; TILE] {
    let mut sum = [[E::splat(simd, E::default()); 2]; TILE];
    let mut x = x;
    for row in &mut x {
        *row = &row[..q0.len()];
    }
    for (k, (q0, q1)) in q0.iter().zip(q1).enumerate() {
        let (q0, q1) = (*q0, *q1);
        prefetch_line(ahead[0], k);
        prefetch_line(ahead[1], k);
        for r in 0..TILE {
            let x = x[r][k];
            sum[r][0] = E::mul_add(simd, x, q0, sum[r][0]);
            sum[r][1] = E::mul_add(simd, x, q1, sum[r][1]);
        }
    }
    // Loops, because closures passed to array methods are not compiled for the vector extensions.
    let mut products = [[E::default(); 2]; TILE];
    for r in 0..TILE {
        for c in 0..2 {
            products[r][c] = E::sum(simd, sum[r][c]);
        }
    }
    products
}
