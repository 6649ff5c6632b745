//! Products of the tiles of [`crate::tiles::pairs`] with narrow blocks of vectors. Blocks are in strips of
//! columns too: entry `(j, c)` at `(c / W * n + j) * W + c % W`, with `W` the [`width`].

use pulp::{Simd, WithSimd};

use crate::simd::{Lane, dispatch};
use crate::tiles::pairs::{Product, n_vectors, strip_by_strips, width};

/// `Y += K Q`: `tile` holds `K` (n_left, n_right), `q` the strips of `Q` (n_right rows each), `out` the strips of `Y`
/// at distances of `stride` values, whose first `n_left` rows are added to.
pub fn add_tile_product<E: Lane>(
    tile: &[E],
    n_left: usize,
    q: Strips<'_, E>,
    out: &mut [f64],
    stride: usize,
) {
    dispatch(TileProduct::<E, false> { tile, n_left, q, out, stride });
}

/// `Y += K'Q`: as [`add_tile_product`], with `q` of n_left rows and `out` of n_right.
pub fn add_tile_t_product<E: Lane>(
    tile: &[E],
    n_left: usize,
    q: Strips<'_, E>,
    out: &mut [f64],
    stride: usize,
) {
    dispatch(TileProduct::<E, true> { tile, n_left, q, out, stride });
}

/// Some rows of a block of vectors in strips; strip `s` starts at `s * stride` values.
#[derive(Clone, Copy)]
pub struct Strips<'a, E> {
    /// The strips, one after the other.
    pub values: &'a [E],
    /// Values from one strip to the next.
    pub stride: usize,
    /// Number of strips.
    pub n_strips: usize,
}

/// A product with `K` or with its transpose.
struct TileProduct<'a, E, const TRANSPOSED: bool> {
    tile: &'a [E],
    n_left: usize,
    q: Strips<'a, E>,
    out: &'a mut [f64],
    stride: usize,
}

impl<E: Lane, const TRANSPOSED: bool> WithSimd for TileProduct<'_, E, TRANSPOSED> {
    type Output = ();

    /// Processes as many strips at a time as the registers hold.
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let n = self.q.n_strips;
        if const { n_vectors::<S, E>() == 1 } {
            let mut s = 0;
            while s + 3 <= n && n - s != 4 {
                self.strips::<S, 1, 3, 8>(simd, s);
                s += 3;
            }
            while s + 2 <= n {
                self.strips::<S, 1, 2, 8>(simd, s);
                s += 2;
            }
            if s < n {
                self.strips::<S, 1, 1, 8>(simd, s);
            }
        } else if const { n_vectors::<S, E>() == 2 } {
            (0..n).for_each(|s| self.strips::<S, 2, 1, 4>(simd, s));
        } else if const { n_vectors::<S, E>() == 4 && S::REGISTER_COUNT >= 32 } {
            (0..n).for_each(|s| self.strips::<S, 4, 1, 4>(simd, s));
        } else if const { n_vectors::<S, E>() == 4 } {
            (0..n).for_each(|s| self.strips::<S, 4, 1, 2>(simd, s));
        } else if const { n_vectors::<S, E>() == 8 } {
            (0..n).for_each(|s| self.strips::<S, 8, 1, 1>(simd, s));
        } else {
            (0..n).for_each(|s| self.strips::<S, 16, 1, 1>(simd, s));
        }
    }
}

impl<E: Lane, const TRANSPOSED: bool> TileProduct<'_, E, TRANSPOSED> {
    /// Processes the strips from `first` on.
    #[inline(always)]
    fn strips<S: Simd, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(
        &mut self,
        simd: S,
        first: usize,
    ) {
        if const { TRANSPOSED } {
            self.columns::<S, VECTORS, STRIPS, ROWS>(simd, first);
        } else {
            self.rows::<S, VECTORS, STRIPS, ROWS>(simd, first);
        }
    }

    #[inline(always)]
    fn rows<S: Simd, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(
        &mut self,
        simd: S,
        first: usize,
    ) {
        let w = width::<E>();
        for i in (0..self.n_left).step_by(ROWS) {
            let sum = self.sums::<S, VECTORS, STRIPS, ROWS>(simd, first, i);
            for (r, sums) in sum.iter().enumerate() {
                for (s, sum) in sums.iter().enumerate() {
                    add_values::<E, _, VECTORS>(*sum, self.out, (first + s) * self.stride + (i + r) * w);
                }
            }
        }
    }

    #[inline(always)]
    fn columns<S: Simd, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(
        &mut self,
        simd: S,
        first: usize,
    ) {
        let w = width::<E>();
        let mut q: [&[[E::Vector<S>; VECTORS]]; STRIPS] = [&[]; STRIPS];
        for (s, q) in q.iter_mut().enumerate() {
            let values = &self.q.values[(first + s) * self.q.stride..][..self.n_left * w];
            *q = bytemuck::cast_slice::<E, E::Vector<S>>(values).as_chunks().0;
        }
        for (strip, tile) in self.tile.chunks_exact(self.n_left * w).enumerate() {
            for row in (0..w).step_by(ROWS) {
                let sum = strip_by_strips::<S, E, Product, VECTORS, STRIPS, ROWS>(simd, tile, row, q);
                for (r, sums) in sum.iter().enumerate() {
                    for (s, sum) in sums.iter().enumerate() {
                        let at = (first + s) * self.stride + (strip * w + row + r) * w;
                        add_values::<E, _, VECTORS>(*sum, self.out, at);
                    }
                }
            }
        }
    }

    /// Computes `ROWS` rows of the product from row `i` on.
    #[inline(always)]
    fn sums<S: Simd, const VECTORS: usize, const STRIPS: usize, const ROWS: usize>(
        &self,
        simd: S,
        first: usize,
        i: usize,
    ) -> [[[E::Vector<S>; VECTORS]; STRIPS]; ROWS] {
        let w = width::<E>();
        let mut sum = [[[E::splat(simd, E::default()); VECTORS]; STRIPS]; ROWS];
        for (strip, tile) in self.tile.chunks_exact(self.n_left * w).enumerate() {
            let rows = &tile[i * w..][..ROWS * w];
            let mut q: [&[[E::Vector<S>; VECTORS]]; STRIPS] = [&[]; STRIPS];
            for (s, q) in q.iter_mut().enumerate() {
                let values = &self.q.values[(first + s) * self.q.stride + strip * w * w..][..w * w];
                *q = bytemuck::cast_slice::<E, E::Vector<S>>(values).as_chunks().0;
            }
            for c in 0..w {
                for r in 0..ROWS {
                    let k = E::splat(simd, rows[r * w + c]);
                    for s in 0..STRIPS {
                        for v in 0..VECTORS {
                            sum[r][s][v] = E::mul_add(simd, k, q[s][c][v], sum[r][s][v]);
                        }
                    }
                }
            }
        }
        sum
    }
}

/// Adds a strip of sums to the values from `at` on. Takes the sums by value, because sums whose address is taken
/// would not stay in registers.
#[inline(always)]
fn add_values<E: Lane, V: bytemuck::Pod, const VECTORS: usize>(
    sums: [V; VECTORS],
    out: &mut [f64],
    at: usize,
) {
    let sums: &[E] = bytemuck::cast_slice(&sums);
    for (out, sum) in out[at..at + width::<E>()].iter_mut().zip(sums) {
        *out += sum.to_f64();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::test_matrices::gaussian;

    fn rows(n: usize, p: usize, seed: u64) -> Vec<Vec<f64>> {
        // Multiples of 1/64: sums of products are exact in f32.
        let x = gaussian(n, p, seed, 0);
        (0..n).map(|i| x.row(i).iter().map(|v| (v * 8.0).round() / 8.0).collect()).collect()
    }

    fn check_products<E: Lane>(n_left: usize, n_right: usize, l: usize) {
        let w = width::<E>();
        let k = rows(n_left, n_right, 3);
        let mut tile = vec![E::default(); n_left * n_right];
        for i in 0..n_left {
            for j in 0..n_right {
                tile[(j / w * n_left + i) * w + j % w] = E::from_f64(k[i][j]);
            }
        }
        let n_strips = l.div_ceil(w);
        for transposed in [false, true] {
            let (from, to) = if transposed { (n_left, n_right) } else { (n_right, n_left) };
            let q = rows(from, l, 4);
            let stride = from * w + 3 * w;
            let mut values = vec![E::default(); n_strips * stride];
            for (j, row) in q.iter().enumerate() {
                for (c, x) in row.iter().enumerate() {
                    values[c / w * stride + j * w + c % w] = E::from_f64(*x);
                }
            }
            let q_strips = Strips { values: &values, stride, n_strips };
            let out_stride = to * w + w;
            let mut out = vec![1.0; n_strips * out_stride];
            if transposed {
                add_tile_t_product(&tile, n_left, q_strips, &mut out, out_stride);
            } else {
                add_tile_product(&tile, n_left, q_strips, &mut out, out_stride);
            }
            for i in 0..to {
                for c in 0..l {
                    let entry = |j: usize| if transposed { k[j][i] } else { k[i][j] };
                    let expected = 1.0 + (0..from).map(|j| entry(j) * q[j][c]).sum::<f64>();
                    let found = out[c / w * out_stride + i * w + c % w];
                    assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
                }
            }
        }
    }

    #[test]
    fn products_of_tiles_agree_with_their_definition() {
        for (n_left, n_right) in [(16, 16), (32, 48), (128, 16)] {
            for l in [1, 8, 9, 16, 17, 25, 40, 64, 100] {
                check_products::<f64>(n_left, n_right, l);
                check_products::<f32>(n_left, n_right, l);
            }
        }
    }
}
