//! One number for every pair of rows of two matrices: inner products, L1 and chi-squared distances, in register
//! tiles.
//!
//! Rows are packed in *strips*: [`width`] rows side by side (one cache line), feature after feature. A *tile*
//! holds the values of `n_left` by `n_right` pairs, in strips of columns: entry `(i, j)` at
//! `(j / W * n_left + i) * W + j % W`.

use pulp::{Simd, WithSimd};

use crate::simd::{Lane, dispatch};

/// Number of rows of a strip, and of columns of a strip of a tile: the values of a cache line.
pub const fn width<E>() -> usize {
    64 / size_of::<E>()
}

/// Number of vectors of a strip.
pub const fn n_vectors<S: Simd, E: Lane>() -> usize {
    width::<E>() * size_of::<E>() / size_of::<E::Vector<S>>()
}

/// Number of features summed in registers before they are added to a tile, so that the strips stay in the inner
/// caches.
const DEPTH: usize = 512;

/// The term summed over the features of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// `x y`.
    Product,
    /// `|x - y|`.
    Difference,
    /// `(x - y)^2 / (x + y)`, zero if both are zero.
    ChiSquared,
}

/// Writes the sums of `pairing` for all pairs of rows of `left` and `right` (strips of `n_features` values each)
/// to `tile`.
pub fn pair_sums<E: Lane>(pairing: Pairing, left: &[E], right: &[E], n_features: usize, tile: &mut [E]) {
    if n_features == 0 {
        tile.fill(E::default());
        return;
    }
    dispatch(PairSums { pairing, left, right, n_features, tile, add: false });
}

/// As [`pair_sums`], added to `tile`.
pub fn add_pair_sums<E: Lane>(pairing: Pairing, left: &[E], right: &[E], n_features: usize, tile: &mut [E]) {
    if n_features > 0 {
        dispatch(PairSums { pairing, left, right, n_features, tile, add: true });
    }
}

struct PairSums<'a, E> {
    pairing: Pairing,
    left: &'a [E],
    right: &'a [E],
    n_features: usize,
    tile: &'a mut [E],
    add: bool,
}

impl<E: Lane> WithSimd for PairSums<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Numbers of vectors of a strip, and of strips and rows of a register tile, by the number of registers. With constant
        // conditions, one call is compiled.
        if const { n_vectors::<S, E>() == 1 } {
            self.by_pairing::<S, 1, 3, 8>(simd);
        } else if const { n_vectors::<S, E>() == 2 } {
            self.by_pairing::<S, 2, 1, 4>(simd);
        } else if const { n_vectors::<S, E>() == 4 && S::REGISTER_COUNT >= 32 } {
            self.by_pairing::<S, 4, 1, 4>(simd);
        } else if const { n_vectors::<S, E>() == 4 } {
            self.by_pairing::<S, 4, 1, 2>(simd);
        } else if const { n_vectors::<S, E>() == 8 } {
            self.by_pairing::<S, 8, 1, 1>(simd);
        } else {
            self.by_pairing::<S, 16, 1, 1>(simd);
        }
    }
}

/// The term for a pair of values.
pub trait Term {
    /// `sum` with the term of `a` and `b` added, lane by lane.
    fn add<S: Simd, E: Lane>(simd: S, a: E::Vector<S>, b: E::Vector<S>, sum: E::Vector<S>) -> E::Vector<S>;
}

/// The product of a pair.
pub struct Product;
impl Term for Product {
    #[inline(always)]
    fn add<S: Simd, E: Lane>(simd: S, a: E::Vector<S>, b: E::Vector<S>, sum: E::Vector<S>) -> E::Vector<S> {
        E::mul_add(simd, a, b, sum)
    }
}

struct Difference;
impl Term for Difference {
    #[inline(always)]
    fn add<S: Simd, E: Lane>(simd: S, a: E::Vector<S>, b: E::Vector<S>, sum: E::Vector<S>) -> E::Vector<S> {
        E::add(simd, sum, E::abs(simd, E::sub(simd, a, b)))
    }
}

struct ChiSquared;
impl Term for ChiSquared {
    #[inline(always)]
    fn add<S: Simd, E: Lane>(simd: S, a: E::Vector<S>, b: E::Vector<S>, sum: E::Vector<S>) -> E::Vector<S> {
        let difference = E::sub(simd, a, b);
        // Zero divided by the smallest normal number is zero.
        let whole = E::max(simd, E::add(simd, a, b), E::splat(simd, E::LEAST_NORMAL));
        E::mul_add(simd, difference, E::div(simd, difference, whole), sum)
    }
}

impl<E: Lane> PairSums<'_, E> {
    #[inline(always)]
    fn by_pairing<S: Simd, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(self, simd: S) {
        match self.pairing {
            Pairing::Product => self.run::<S, Product, VECTORS, STRIPS, ROWS>(simd),
            Pairing::Difference => self.run::<S, Difference, VECTORS, STRIPS, ROWS>(simd),
            Pairing::ChiSquared => self.run::<S, ChiSquared, VECTORS, STRIPS, ROWS>(simd),
        }
    }

    #[inline(always)]
    fn run<S: Simd, T: Term, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(
        mut self,
        simd: S,
    ) {
        let w = width::<E>();
        let (n_left, n_right) =
            (self.left.len() / (self.n_features * w), self.right.len() / (self.n_features * w));
        for start in (0..self.n_features).step_by(DEPTH) {
            let depth = start..self.n_features.min(start + DEPTH);
            for j in (0..n_right).step_by(STRIPS) {
                let strips = STRIPS.min(n_right - j);
                for i in 0..n_left {
                    let left = &self.left[(i * self.n_features + depth.start) * w..][..depth.len() * w];
                    for row in (0..w).step_by(ROWS) {
                        if strips == STRIPS {
                            self.register_tile::<S, T, VECTORS, STRIPS, ROWS>(
                                simd,
                                left,
                                i * w + row,
                                row,
                                j,
                                &depth,
                                n_left * w,
                            );
                        } else {
                            for j in j..n_right {
                                self.register_tile::<S, T, VECTORS, 1, ROWS>(
                                    simd,
                                    left,
                                    i * w + row,
                                    row,
                                    j,
                                    &depth,
                                    n_left * w,
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "an inner kernel")]
    fn register_tile<S: Simd, T: Term, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(
        &mut self,
        simd: S,
        left: &[E],
        i: usize,
        row: usize,
        j: usize,
        depth: &std::ops::Range<usize>,
        n_left: usize,
    ) {
        let w = width::<E>();
        let mut right: [&[[E::Vector<S>; VECTORS]]; STRIPS] = [&[]; STRIPS];
        for (s, strip) in right.iter_mut().enumerate() {
            let values = &self.right[((j + s) * self.n_features + depth.start) * w..][..depth.len() * w];
            *strip = bytemuck::cast_slice::<E, E::Vector<S>>(values).as_chunks().0;
        }
        let sum = strip_by_strips::<S, E, T, VECTORS, STRIPS, ROWS>(simd, left, row, right);
        for (r, sums) in sum.iter().enumerate() {
            for (s, sum) in sums.iter().enumerate() {
                let out = &mut self.tile[((j + s) * n_left + i + r) * w..][..w];
                let out: &mut [E::Vector<S>] = bytemuck::cast_slice_mut(out);
                for (out, sum) in out.iter_mut().zip(sum) {
                    *out = if depth.start == 0 && !self.add { *sum } else { E::add(simd, *out, *sum) };
                }
            }
        }
    }
}

/// The sums over all features for `ROWS` values of the strip `left`, from `row` on, and all values of other
/// strips.
#[inline(always)]
pub fn strip_by_strips<
    S: Simd,
    E: Lane,
    T: Term,
    const VECTORS: usize,
    const STRIPS: usize,
    const ROWS: usize,
>(
    simd: S,
    left: &[E],
    row: usize,
    right: [&[[E::Vector<S>; VECTORS]]; STRIPS],
) -> [[[E::Vector<S>; VECTORS]; STRIPS]; ROWS] {
    let mut sum = [[[E::splat(simd, E::default()); VECTORS]; STRIPS]; ROWS];
    for (k, left) in left.chunks_exact(width::<E>()).take(right[0].len()).enumerate() {
        let Some(left) = left[row..].first_chunk::<ROWS>() else { return sum };
        for (sums, left) in sum.iter_mut().zip(left) {
            let left = E::splat(simd, *left);
            for (sums, right) in sums.iter_mut().zip(&right) {
                for (sum, right) in sums.iter_mut().zip(&right[k]) {
                    *sum = T::add::<S, E>(simd, left, *right, *sum);
                }
            }
        }
    }
    sum
}

/// Turns inner products into squared distances, `max(0, |x|^2 + |y|^2 - 2 x.y)`; `left` and `right` hold the
/// squared norms (`right` in whole strips).
pub fn squared_distances<E: Lane>(left: &[E], right: &[E], tile: &mut [E]) {
    dispatch(SquaredDistances { left, right, tile });
}

struct SquaredDistances<'a, E> {
    left: &'a [E],
    right: &'a [E],
    tile: &'a mut [E],
}

impl<E: Lane> WithSimd for SquaredDistances<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let w = width::<E>();
        let (zero, minus_two) = (E::splat(simd, E::default()), E::splat(simd, E::from_f64(-2.0)));
        let strips = self.tile.chunks_exact_mut(self.left.len() * w);
        for (tile, right) in strips.zip(self.right.chunks_exact(w)) {
            let right: &[E::Vector<S>] = bytemuck::cast_slice(right);
            for (row, left) in tile.chunks_exact_mut(w).zip(self.left) {
                let left = E::splat(simd, *left);
                let row: &mut [E::Vector<S>] = bytemuck::cast_slice_mut(row);
                for (value, right) in row.iter_mut().zip(right) {
                    let norms = E::add(simd, left, *right);
                    *value = E::max(simd, E::mul_add(simd, minus_two, *value, norms), zero);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices::gaussian;

    /// Rows (n, p) in strips; n is padded with zeros.
    fn strips<E: Lane>(rows: &[Vec<f64>], p: usize) -> Vec<E> {
        let w = width::<E>();
        let mut packed = vec![E::default(); rows.len().div_ceil(w) * w * p];
        for (i, row) in rows.iter().enumerate() {
            for (j, x) in row.iter().enumerate() {
                packed[(i / w * p + j) * w + i % w] = E::from_f64(*x);
            }
        }
        packed
    }

    fn rows(n: usize, p: usize, seed: u64) -> Vec<Vec<f64>> {
        // Multiples of 1/64: sums of products are exact in f32.
        let x = gaussian(n, p, seed, 0);
        (0..n).map(|i| x.row(i).iter().map(|v| ((v * 8.0).round() / 8.0).abs()).collect()).collect()
    }

    fn definition(pairing: Pairing, x: &[f64], y: &[f64]) -> f64 {
        let term = |(x, y): (&f64, &f64)| match pairing {
            Pairing::Product => x * y,
            Pairing::Difference => (x - y).abs(),
            Pairing::ChiSquared if x + y == 0.0 => 0.0,
            Pairing::ChiSquared => (x - y).powi(2) / (x + y),
        };
        x.iter().zip(y).map(term).sum()
    }

    fn check<E: Lane>(n_left: usize, n_right: usize, p: usize) {
        let w = width::<E>();
        let (x, y) = (rows(n_left, p, 1), rows(n_right, p, 2));
        let padded = n_left.next_multiple_of(w);
        for pairing in [Pairing::Product, Pairing::Difference, Pairing::ChiSquared] {
            let mut tile = vec![E::from_f64(7.0); padded * n_right.next_multiple_of(w)];
            pair_sums(pairing, &strips::<E>(&x, p), &strips::<E>(&y, p), p, &mut tile);
            for i in 0..n_left {
                for j in 0..n_right {
                    let expected = definition(pairing, &x[i], &y[j]);
                    let found = tile[(j / w * padded + i) * w + j % w].to_f64();
                    let error = (found - expected).abs();
                    // Terms of one sign are added one by one: rounding errors grow with the root of their number.
                    let allowed = (8.0 + 2.0 * (p as f64).sqrt()) * E::EPSILON * (1.0 + expected);
                    assert!(error <= allowed, "{pairing:?} {found} for {expected}");
                }
            }
        }
    }

    #[test]
    fn sums_of_all_pairs_agree_with_their_definition() {
        for (n_left, n_right, p) in [(1, 1, 1), (5, 40, 3), (33, 17, 50), (16, 100, 1200), (8, 8, 0)] {
            check::<f64>(n_left, n_right, p);
            check::<f32>(n_left, n_right, p);
        }
    }

    #[test]
    fn distances_from_inner_products_agree_with_their_definition() {
        let mut tile = vec![1.0f64; 2 * 8];
        tile[8] = 100.0;
        squared_distances(&[2.0, 3.0], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut tile);
        assert_eq!(tile[..8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(tile[8..10], [0.0, 3.0]);
    }
}
