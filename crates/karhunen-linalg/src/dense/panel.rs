//! Register-tiled products of tall matrices, in panels of rows, with narrow ones.
//!
//! One source for AVX-512, AVX2, NEON and scalar code, with run-time dispatch.

use pulp::{Arch, Simd, WithSimd};

/// Consecutive rows of a row-major matrix: the first `n_cols` of every `stride` values.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// The values, row by row.
    pub data: &'a [f64],
    /// Values from one row to the next.
    pub stride: usize,
    /// Number of columns.
    pub n_cols: usize,
}

impl<'a> Panel<'a> {
    #[inline(always)]
    fn row(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.stride..][..self.n_cols]
    }
}

/// `C += V' W` for `V` of shape (n, m); `w` holds `W` of shape (n, l) and `c` holds `C` of shape (m, l), both
/// contiguous.
pub fn add_t_product(v: Panel<'_>, w: &[f64], l: usize, c: &mut [f64]) {
    if l > 0 && v.n_cols > 0 {
        debug_assert_eq!(c.len(), v.n_cols * l);
        Arch::new().dispatch(TProduct { v, w, l, c });
    }
}

/// `W += sign V C` for `V` of shape (n, m); `c` holds `C` of shape (m, l) and `w` holds `W` of shape (n, l), both
/// contiguous.
pub fn add_product(sign: f64, v: Panel<'_>, c: &[f64], l: usize, w: &mut [f64]) {
    if l > 0 && v.n_cols > 0 {
        debug_assert_eq!(c.len(), v.n_cols * l);
        Arch::new().dispatch(Product { sign, v, c, l, w });
    }
}

struct TProduct<'a> {
    v: Panel<'a>,
    w: &'a [f64],
    l: usize,
    c: &'a mut [f64],
}

impl WithSimd for TProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = S::F64_LANES;
        let mut j = 0;
        while j < self.l {
            let width = (2 * lanes).min(self.l - j);
            if width == 2 * lanes {
                self.columns::<S, 2, true>(simd, j, width);
            } else if width > lanes {
                self.columns::<S, 2, false>(simd, j, width);
            } else if width == lanes {
                self.columns::<S, 1, true>(simd, j, width);
            } else {
                self.columns::<S, 1, false>(simd, j, width);
            }
            j += width;
        }
    }
}

impl TProduct<'_> {
    /// Columns `j..j + width` of `C`, held in `N` registers.
    #[inline(always)]
    fn columns<S: Simd, const N: usize, const FULL: bool>(&mut self, simd: S, j: usize, width: usize) {
        let m = self.v.n_cols;
        let mut i = 0;
        while i + 8 <= m && S::F64_LANES >= 8 {
            self.tile::<S, 8, N, FULL>(simd, i, j, width);
            i += 8;
        }
        while i + 4 <= m {
            self.tile::<S, 4, N, FULL>(simd, i, j, width);
            i += 4;
        }
        while i < m {
            self.tile::<S, 1, N, FULL>(simd, i, j, width);
            i += 1;
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize, const FULL: bool>(
        &mut self,
        simd: S,
        i: usize,
        j: usize,
        width: usize,
    ) {
        let mut sums = [[simd.splat_f64s(0.0); N]; M];
        let rows_v = self.v.data.chunks(self.v.stride);
        for (row_v, row_w) in rows_v.zip(self.w.chunks_exact(self.l)) {
            let w: [S::f64s; N] = load::<S, N, FULL>(simd, &row_w[j..j + width]);
            let v: &[f64; M] = row_v[i..].first_chunk().expect("a tile lies within the row");
            for (sums, &v) in sums.iter_mut().zip(v) {
                let v = simd.splat_f64s(v);
                for (sum, &w) in sums.iter_mut().zip(&w) {
                    *sum = simd.mul_add_e_f64s(v, w, *sum);
                }
            }
        }
        for (k, sums) in sums.iter().enumerate() {
            add::<S, N>(simd, &mut self.c[(i + k) * self.l + j..][..width], 1.0, sums);
        }
    }
}

struct Product<'a> {
    sign: f64,
    v: Panel<'a>,
    c: &'a [f64],
    l: usize,
    w: &'a mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = S::F64_LANES;
        let mut j = 0;
        while j < self.l {
            let width = (2 * lanes).min(self.l - j);
            if width == 2 * lanes {
                self.columns::<S, 2, true>(simd, j, width);
            } else if width > lanes {
                self.columns::<S, 2, false>(simd, j, width);
            } else if width == lanes {
                self.columns::<S, 1, true>(simd, j, width);
            } else {
                self.columns::<S, 1, false>(simd, j, width);
            }
            j += width;
        }
    }
}

impl Product<'_> {
    /// Columns `j..j + width` of `W`, held in `N` registers.
    #[inline(always)]
    fn columns<S: Simd, const N: usize, const FULL: bool>(&mut self, simd: S, j: usize, width: usize) {
        let n = self.w.len() / self.l;
        let mut i = 0;
        while i + 8 <= n && S::F64_LANES >= 8 {
            self.tile::<S, 8, N, FULL>(simd, i, j, width);
            i += 8;
        }
        while i + 4 <= n {
            self.tile::<S, 4, N, FULL>(simd, i, j, width);
            i += 4;
        }
        while i < n {
            self.tile::<S, 1, N, FULL>(simd, i, j, width);
            i += 1;
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const N: usize, const FULL: bool>(
        &mut self,
        simd: S,
        i: usize,
        j: usize,
        width: usize,
    ) {
        let mut sums = [[simd.splat_f64s(0.0); N]; M];
        // Rows as long as the loop, so that their bounds are checked once.
        let m = self.v.n_cols;
        let mut rows: [&[f64]; M] = [&[]; M];
        for (k, row) in rows.iter_mut().enumerate() {
            *row = &self.v.row(i + k)[..m];
        }
        for (r, row_c) in (0..m).zip(self.c.chunks_exact(self.l)) {
            let c: [S::f64s; N] = load::<S, N, FULL>(simd, &row_c[j..j + width]);
            for (sums, row) in sums.iter_mut().zip(rows) {
                let v = simd.splat_f64s(row[r]);
                for (sum, &c) in sums.iter_mut().zip(&c) {
                    *sum = simd.mul_add_e_f64s(v, c, *sum);
                }
            }
        }
        for (k, sums) in sums.iter().enumerate() {
            add::<S, N>(simd, &mut self.w[(i + k) * self.l + j..][..width], self.sign, sums);
        }
    }
}

/// Loads `N` registers from at most `N` registers' worth of values (exactly that many if `FULL`), padded with
/// zeros.
#[inline(always)]
fn load<S: Simd, const N: usize, const FULL: bool>(simd: S, values: &[f64]) -> [S::f64s; N] {
    if FULL {
        *S::as_simd_f64s(values).0.first_chunk().expect("full registers")
    } else {
        std::array::from_fn(|k| simd.partial_load_f64s(&values[(k * S::F64_LANES).min(values.len())..]))
    }
}

/// `target += factor * sums`, for the length of `target`.
#[inline(always)]
fn add<S: Simd, const N: usize>(simd: S, target: &mut [f64], factor: f64, sums: &[S::f64s; N]) {
    let factor = simd.splat_f64s(factor);
    for (target, &sum) in target.chunks_mut(S::F64_LANES).zip(sums) {
        let old = simd.partial_load_f64s(target);
        simd.partial_store_f64s(target, simd.mul_add_e_f64s(factor, sum, old));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::dense::small::{multiply, t_multiply};
    use crate::testing::test_matrices::gaussian;
    use crate::testing::test_matrices::max_difference;

    #[test]
    fn products_of_every_shape_agree_with_their_definition() {
        for n in [1, 3, 8, 29] {
            for m in [1, 4, 7, 8, 21] {
                for l in [1, 2, 7, 8, 9, 15, 16, 17, 31, 40] {
                    let wide = gaussian(n, m + 3, 1, 0);
                    let v = wide.columns(0..m);
                    let panel = Panel { data: wide.as_slice(), stride: m + 3, n_cols: m };
                    let (w, c) = (gaussian(n, l, 2, 0), gaussian(m, l, 3, 0));

                    let mut sum = Matrix::zeros(m, l);
                    add_t_product(panel, w.as_slice(), l, sum.as_mut_slice());
                    assert!(max_difference(&sum, &t_multiply(&v, &w)) < 1e-13);

                    let mut left = w.clone();
                    add_product(-1.0, panel, c.as_slice(), l, left.as_mut_slice());
                    add_product(1.0, panel, c.as_slice(), l, left.as_mut_slice());
                    assert!(max_difference(&left, &w) < 1e-13);
                    left.as_mut_slice().fill(0.0);
                    add_product(1.0, panel, c.as_slice(), l, left.as_mut_slice());
                    assert!(max_difference(&left, &multiply(&v, &c)) < 1e-13);
                }
            }
        }
    }
}
