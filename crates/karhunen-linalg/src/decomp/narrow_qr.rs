//! The triangular QR factor of many rows of few values, in the lanes of vector registers.
//!
//! Eight triangles, one for each lane, take every eighth row, so that no sum runs across lanes. A block of the next
//! rows is eliminated below them by Householder reflections, which stay in registers. At the end four triangles are
//! eliminated below the other four in the same way, then two, then one.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::dense::small::binade;
use crate::simd::{Lane, dispatch};

/// Number of triangles.
pub const LANES: usize = 8;
/// Number of rows of a block in each lane.
const DEPTH: usize = 8;
/// Number of rows of a block.
const ROWS: usize = LANES * DEPTH;
/// Squared norms below this, where the largest entry is between 1 and 2, count as zero: their inverse overflows.
const LEAST_SQUARE: f64 = 1e-290;

/// Replaces `rows`, row-major with `m` values each, by the rows of a triangle `R` with the same product `R'R`; returns true.
/// Backward stable in the norm of all rows. Rows of zeros, or with values that are not finite, are left as they are:
/// returns false.
pub fn reduce(rows: &mut Vec<f64>, m: usize) -> bool {
    let Some(unit) = binade(rows).filter(|unit| unit.is_finite()) else { return false };
    // The inverse of a power of two is exact.
    let per_unit = 1.0 / unit;
    let mut triangles = vec![0.0; m * m * LANES];
    let mut block = vec![0.0; m * ROWS];
    let mut padded = Vec::new();
    for rows in rows.chunks(m * ROWS) {
        let rows = if rows.len() < block.len() {
            padded.extend_from_slice(rows);
            padded.resize(block.len(), 0.0);
            &padded
        } else {
            rows
        };
        dispatch(Transpose { rows, per_unit, block: &mut block, m });
        dispatch(Eliminate { triangles: &mut triangles, block: &mut block, m, first: 0 });
    }
    let mut n_triangles = LANES;
    while n_triangles > 1 {
        n_triangles /= 2;
        for first in (0..m).step_by(DEPTH) {
            take_rows(&triangles, m, first, n_triangles, &mut block);
            dispatch(Eliminate { triangles: &mut triangles, block: &mut block, m, first });
        }
    }
    rows.clear();
    for i in 0..m {
        rows.extend((0..m).map(|j| if j < i { 0.0 } else { triangles[(i * m + j) * LANES] * unit }));
    }
    true
}

/// Sets `block` to the rows from `first` on of the triangles that come `n` lanes later, for `n` lanes. The other lanes are
/// zero.
fn take_rows(triangles: &[f64], m: usize, first: usize, n: usize, block: &mut [f64]) {
    block[first * ROWS..].fill(0.0);
    for i in first..m.min(first + DEPTH) {
        for j in i..m {
            let lanes = &triangles[(i * m + j) * LANES..][n..2 * n];
            block[j * ROWS + (i - first) * LANES..][..n].copy_from_slice(lanes);
        }
    }
}

/// Sets `block` to the transpose of `rows`, multiplied by `per_unit`.
struct Transpose<'a> {
    rows: &'a [f64],
    per_unit: f64,
    block: &'a mut [f64],
    m: usize,
}

impl WithSimd for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { rows, per_unit, block, m } = self;
        for (strip, rows) in rows.chunks_exact(LANES * m).enumerate() {
            let lines: [&[f64]; LANES] = std::array::from_fn(|lane| &rows[lane * m..][..m]);
            for j in 0..m {
                let out = &mut block[j * ROWS + strip * LANES..][..LANES];
                for (out, line) in out.iter_mut().zip(lines) {
                    *out = line[j] * per_unit;
                }
            }
        }
    }
}

/// Eliminates a block, whose columns before `first` are zero, below the triangles. Entry `(i, j)` of the triangle of a lane
/// is at `(i m + j) LANES + lane`; of the block, at `j ROWS + i LANES + lane`.
struct Eliminate<'a> {
    triangles: &'a mut [f64],
    block: &'a mut [f64],
    m: usize,
    first: usize,
}

impl WithSimd for Eliminate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Registers are at most as long as a row of lanes; shorter ones take a part of the lanes at a time.
        let parts = LANES / S::F64_LANES;
        let triangles = S::as_mut_simd_f64s(self.triangles).0;
        let block = S::as_mut_simd_f64s(self.block).0;
        for part in 0..parts {
            eliminate(simd, triangles, block, self.first..self.m, (part, parts));
        }
    }
}

/// Eliminates the given columns of the lanes of one register of every `parts`.
#[inline(always)]
fn eliminate<S: Simd>(
    simd: S,
    triangles: &mut [S::f64s],
    block: &mut [S::f64s],
    columns: Range<usize>,
    (part, parts): (usize, usize),
) {
    let (zero, m) = (simd.splat_f64s(0.0), columns.end);
    for j in columns {
        let (own, later) = block[j * DEPTH * parts..].split_at_mut(DEPTH * parts);
        let v: [S::f64s; DEPTH] = std::array::from_fn(|i| own[i * parts + part]);
        let row = &mut triangles[j * m * parts..][..m * parts];
        let x = row[j * parts + part];
        // H = I - t (v0, v)(v0, v)' maps (x, v) to (alpha, 0).
        let square = dot(simd, &v, &v, simd.mul_f64s(x, x));
        let norm = simd.sqrt_f64s(square);
        let below = simd.less_than_f64s(x, zero);
        let alpha = simd.select_f64s(below, norm, simd.neg_f64s(norm));
        let v0 = simd.sub_f64s(x, alpha);
        let divisor = <f64 as Lane>::mul_add(simd, norm, simd.abs_f64s(x), square);
        let counts = simd.less_than_f64s(simd.splat_f64s(LEAST_SQUARE), square);
        let divisor = simd.select_f64s(counts, divisor, simd.splat_f64s(1.0));
        let t = simd.select_f64s(counts, simd.div_f64s(simd.splat_f64s(1.0), divisor), zero);
        row[j * parts + part] = simd.select_f64s(counts, alpha, x);
        let columns = later.chunks_exact_mut(DEPTH * parts).take(m - j - 1);
        for (r, column) in row[(j + 1) * parts..].chunks_exact_mut(parts).zip(columns) {
            let y: [S::f64s; DEPTH] = std::array::from_fn(|i| column[i * parts + part]);
            let product = simd.mul_f64s(t, dot(simd, &v, &y, simd.mul_f64s(v0, r[part])));
            let minus = simd.neg_f64s(product);
            r[part] = <f64 as Lane>::mul_add(simd, minus, v0, r[part]);
            for i in 0..DEPTH {
                column[i * parts + part] = <f64 as Lane>::mul_add(simd, minus, v[i], y[i]);
            }
        }
    }
}

/// `first + v'y` of each lane, in two sums, so that additions overlap.
#[inline(always)]
fn dot<S: Simd>(simd: S, v: &[S::f64s; DEPTH], y: &[S::f64s; DEPTH], first: S::f64s) -> S::f64s {
    let mut sums = [first, simd.splat_f64s(0.0)];
    for i in 0..DEPTH {
        sums[i % 2] = <f64 as Lane>::mul_add(simd, v[i], y[i], sums[i % 2]);
    }
    simd.add_f64s(sums[0], sums[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
    use crate::decomp::svd::svd;
    use crate::dense::small::t_multiply;
    use crate::testing::test_matrices::{gaussian, max_difference, with_singular_values};

    fn reduced(a: &Matrix) -> Matrix {
        let m = a.n_cols();
        let mut rows = a.as_slice().to_vec();
        assert!(reduce(&mut rows, m));
        assert_eq!(rows.len(), m * m);
        for (i, row) in rows.chunks_exact(m).enumerate() {
            assert!(row[..i].iter().all(|x| *x == 0.0));
        }
        Matrix::from_vec(m, m, rows).unwrap()
    }

    #[test]
    fn squares_are_kept_for_every_shape_and_scale() {
        for (n, m) in [(1, 1), (7, 3), (64, 8), (65, 8), (1000, 20), (300, 33)] {
            let a = gaussian(n, m, 1, 0);
            let expected = t_multiply(&a, &a);
            for scale in [1.0, 1e-160, 1e150] {
                let mut scaled = a.clone();
                scaled.as_mut_slice().iter_mut().for_each(|x| *x *= scale);
                let mut r = reduced(&scaled);
                r.as_mut_slice().iter_mut().for_each(|x| *x /= scale);
                assert!(
                    max_difference(&t_multiply(&r, &r), &expected) < 1e-14 * n as f64,
                    "{n} {m} {scale:e}"
                );
            }
        }
    }

    #[test]
    fn singular_values_that_a_gram_matrix_loses_are_kept() {
        let planted: Vec<f64> = (0..20).map(|j| 10f64.powf(-12.0 * f64::from(j) / 19.0)).collect();
        let r = reduced(&with_singular_values(2000, &planted, 1));
        for (found, planted) in svd(&r).unwrap().s.iter().zip(&planted) {
            assert!((found - planted).abs() < 1e-14, "{found:e} {planted:e}");
        }
    }

    #[test]
    fn columns_of_zeros_and_values_that_are_not_finite() {
        let a = Matrix::from_fn(200, 3, |i, j| if j == 1 { 0.0 } else { (i + j) as f64 });
        let r = reduced(&a);
        assert!((0..r.n_rows()).all(|i| r[(i, 1)] == 0.0));
        assert!(max_difference(&t_multiply(&r, &r), &t_multiply(&a, &a)) < 1e-14 * 200.0 * 4e4);
        let mut none = vec![0.0; 300];
        assert!(!reduce(&mut none, 3));
        assert_eq!(none, vec![0.0; 300]);
        let mut rows = vec![1.0, f64::NAN];
        assert!(!reduce(&mut rows, 2));
        assert!(rows[0] == 1.0 && rows[1].is_nan());
    }
}
