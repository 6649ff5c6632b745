//! Cholesky factorizations `G = U'U`: of many small systems ([`Upper`], in place, in vector registers) and of
//! matrices of any size ([`cholesky`], [`solve`]).

use faer::Par;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::prelude::default;
use pulp::{Simd, WithSimd};

use crate::Matrix;
use crate::decomp::triangular::inverse_upper;
use crate::dense::small::{binade, multiply, t_multiply, to_faer};
use crate::error::{Error, Result};
use crate::simd::{Lane, dispatch};

/// Number of values that rows are processed in; strides are multiples of it.
pub const BLOCK: usize = 8;
/// Relative pivot (divided by the diagonal entry) below which a pivot counts as zero.
pub const LEAST_PIVOT: f64 = 1e-13;

/// The upper triangle of a symmetric matrix of `m` rows, in rows of `stride` values; entries below it are ignored.
pub struct Upper<'a> {
    /// The values, row by row.
    pub values: &'a mut [f64],
    /// Number of rows and columns.
    pub m: usize,
    /// Values from one row to the next.
    pub stride: usize,
}

impl Upper<'_> {
    /// Sets row and column `k` to zero, except for `diagonal`.
    pub fn isolate(&mut self, k: usize, diagonal: f64) {
        (0..k).for_each(|l| self.values[l * self.stride + k] = 0.0);
        (k..self.m).for_each(|l| self.values[k * self.stride + l] = 0.0);
        self.values[k * self.stride + k] = diagonal;
    }

    /// Replaces `G` by `U`, `U'U = G`; returns false if `G` is singular to rounding.
    pub fn factorize(&mut self) -> bool {
        self.factorize_above(LEAST_PIVOT)
    }

    /// As [`Upper::factorize`], with `least` as the smallest relative pivot.
    fn factorize_above(&mut self, least: f64) -> bool {
        dispatch(Factorize { g: self, b: &mut [], least })
    }

    /// Replaces `G` by `U` and `b` by the solution of `G x = b`. Returns `b'x`, or `None` if `G` is singular to
    /// rounding, which leaves `G` and `b` undefined.
    pub fn factorize_and_solve(&mut self, b: &mut [f64]) -> Option<f64> {
        let m = self.m;
        if !dispatch(Factorize { g: self, b: &mut b[..m], least: LEAST_PIVOT }) {
            return None;
        }
        let explained = b[..m].iter().map(|z| z * z).sum();
        self.substitute_back(b);
        Some(explained)
    }

    /// Solves `U'U x = b` and overwrites `b`.
    pub fn solve(&self, b: &mut [f64]) {
        for k in 0..self.m {
            let row = &self.values[k * self.stride..][..self.m];
            let (done, rest) = b.split_at_mut(k + 1);
            done[k] /= row[k];
            for (b, u) in rest.iter_mut().zip(&row[k + 1..]) {
                *b -= done[k] * u;
            }
        }
        self.substitute_back(b);
    }

    /// The logarithm of the determinant of `G`, after its factorization.
    pub fn log_determinant(&self) -> f64 {
        // One logarithm for many factors: of their product, as long as it is in range.
        let (mut sum, mut product) = (0.0, 1.0f64);
        for k in 0..self.m {
            product *= self.values[k * self.stride + k];
            if !(1e-100..1e100).contains(&product) {
                sum += product.ln();
                product = 1.0;
            }
        }
        2.0 * (sum + product.ln())
    }

    /// Writes `G^-1` into the rows of `inverse`, after the factorization; the workspace `workspace` is as large.
    pub fn invert(&self, inverse: &mut [f64], workspace: &mut [f64]) {
        let (m, stride) = (self.m, self.stride);
        dispatch(Invert { u: self.values, m, stride, inverse, workspace });
    }

    /// Solves `U x = b` and overwrites `b`.
    fn substitute_back(&self, b: &mut [f64]) {
        for k in (0..self.m).rev() {
            let (before, x) = b.split_at_mut(k);
            x[0] /= self.values[k * self.stride + k];
            for (b, row) in before.iter_mut().zip(self.values.chunks_exact(self.stride)) {
                *b -= x[0] * row[k];
            }
        }
    }
}

struct Factorize<'a, 'b> {
    g: &'a mut Upper<'b>,
    /// Replaced by `U^-T b`, of length `m` or zero.
    b: &'a mut [f64],
    /// Relative pivots up to this count as zero.
    least: f64,
}

impl WithSimd for Factorize<'_, '_> {
    type Output = bool;
    /// Compiled for the vector instructions of this processor.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        match vectors::<S>(self.g.stride) {
            1 => self.narrow::<S, 1>(simd),
            2 => self.narrow::<S, 2>(simd),
            3 => self.narrow::<S, 3>(simd),
            4 => self.narrow::<S, 4>(simd),
            _ => self.wide(),
        }
    }
}

impl Factorize<'_, '_> {
    /// Factorizes row by row, each held in `N` registers.
    #[inline(always)]
    fn narrow<S: Simd, const N: usize>(self, simd: S) -> bool {
        let m = self.g.m;
        let rows = rows_mut::<S, N>(self.g.values);
        let mut b = [simd.splat_f64s(0.0); N];
        values_mut::<S, N>(&mut b)[..self.b.len()].copy_from_slice(self.b);
        for i in 0..m {
            let (done, rest) = rows.split_at_mut(i);
            let mut row = rest[0];
            let original = values::<S, N>(&row)[i];
            for before in done.iter() {
                let factor = -values::<S, N>(before)[i];
                add_row::<S, N>(simd, factor, before, &mut row);
            }
            let pivot = values::<S, N>(&row)[i];
            // NaN is not a valid pivot.
            if pivot.is_nan() || pivot <= self.least * original {
                return false;
            }
            let scale = 1.0 / pivot.sqrt();
            scale_row::<S, N>(simd, scale, &mut row);
            rest[0] = row;
            if let Some(to) = self.b.get_mut(i) {
                *to = values::<S, N>(&b)[i] * scale;
                add_row::<S, N>(simd, -*to, &row, &mut b);
            }
        }
        true
    }

    /// Factorizes rows of any length.
    #[inline(always)]
    fn wide(self) -> bool {
        let Upper { values, m, stride } = self.g;
        let (m, stride) = (*m, *stride);
        for k in 0..m {
            let pivot = values[k * stride + k];
            // The original diagonal entry: the pivot and all that was subtracted from it.
            let mut original = pivot;
            for i in 0..k {
                original += values[i * stride + k] * values[i * stride + k];
            }
            // NaN is not a valid pivot.
            if pivot.is_nan() || pivot <= self.least * original {
                return false;
            }
            let (above, below) = values.split_at_mut((k + 1) * stride);
            let row_k = &mut above[k * stride..];
            let scale = 1.0 / pivot.sqrt();
            for u in row_k.iter_mut() {
                *u *= scale;
            }
            for (i, row_i) in (k + 1..m).zip(below.chunks_exact_mut(stride)) {
                let (factor, from) = (row_k[i], i / BLOCK * BLOCK);
                let blocks = row_i[from..].chunks_exact_mut(BLOCK).zip(row_k[from..].chunks_exact(BLOCK));
                for (x, u) in blocks {
                    for (x, u) in x.iter_mut().zip(u) {
                        *x -= factor * u;
                    }
                }
            }
            if !self.b.is_empty() {
                let (done, rest) = self.b.split_at_mut(k + 1);
                done[k] *= scale;
                for (b, u) in rest.iter_mut().zip(&row_k[k + 1..]) {
                    *b -= done[k] * u;
                }
            }
        }
        true
    }
}

/// Number of vectors of a row.
fn vectors<S: Simd>(stride: usize) -> usize {
    stride / (size_of::<S::f64s>() / size_of::<f64>())
}

#[inline(always)]
fn rows<S: Simd, const N: usize>(values: &[f64]) -> &[[S::f64s; N]] {
    bytemuck::cast_slice(values).as_chunks().0
}

#[inline(always)]
fn rows_mut<S: Simd, const N: usize>(values: &mut [f64]) -> &mut [[S::f64s; N]] {
    bytemuck::cast_slice_mut(values).as_chunks_mut().0
}

#[inline(always)]
fn values<S: Simd, const N: usize>(row: &[S::f64s; N]) -> &[f64] {
    bytemuck::cast_slice(row)
}

#[inline(always)]
fn values_mut<S: Simd, const N: usize>(row: &mut [S::f64s; N]) -> &mut [f64] {
    bytemuck::cast_slice_mut(row)
}

/// `to += factor row`.
#[inline(always)]
fn add_row<S: Simd, const N: usize>(simd: S, factor: f64, row: &[S::f64s; N], to: &mut [S::f64s; N]) {
    let factor = simd.splat_f64s(factor);
    for v in 0..N {
        to[v] = <f64 as Lane>::mul_add(simd, factor, row[v], to[v]);
    }
}

#[inline(always)]
fn scale_row<S: Simd, const N: usize>(simd: S, factor: f64, row: &mut [S::f64s; N]) {
    let factor = simd.splat_f64s(factor);
    for values in row {
        *values = simd.mul_f64s(factor, *values);
    }
}

struct Invert<'a> {
    u: &'a [f64],
    m: usize,
    stride: usize,
    inverse: &'a mut [f64],
    workspace: &'a mut [f64],
}

impl WithSimd for Invert<'_> {
    type Output = ();
    /// `L = U^-T` row by row, then all of `L'L`; compiled for the vector instructions of this processor.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match vectors::<S>(self.stride) {
            1 => self.narrow::<S, 1>(simd),
            2 => self.narrow::<S, 2>(simd),
            3 => self.narrow::<S, 3>(simd),
            4 => self.narrow::<S, 4>(simd),
            _ => self.wide(),
        }
    }
}

impl Invert<'_> {
    #[inline(always)]
    fn narrow<S: Simd, const N: usize>(self, simd: S) {
        let (m, zero) = (self.m, [simd.splat_f64s(0.0); N]);
        let (u, l) = (&rows::<S, N>(self.u)[..m], &mut rows_mut::<S, N>(self.workspace)[..m]);
        for i in 0..m {
            let mut row = zero;
            values_mut::<S, N>(&mut row)[i] = 1.0;
            for (before, u) in l[..i].iter().zip(u) {
                add_row::<S, N>(simd, -values::<S, N>(u)[i], before, &mut row);
            }
            scale_row::<S, N>(simd, 1.0 / values::<S, N>(&u[i])[i], &mut row);
            l[i] = row;
        }
        for (r, inverse) in rows_mut::<S, N>(self.inverse)[..m].iter_mut().enumerate() {
            let mut sum = zero;
            for row in &l[r..] {
                add_row::<S, N>(simd, values::<S, N>(row)[r], row, &mut sum);
            }
            *inverse = sum;
        }
    }

    /// Inverts rows of any length.
    #[inline(always)]
    fn wide(self) {
        let Self { u, m, stride, inverse, workspace } = self;
        inverse[..m * stride].fill(0.0);
        for i in 0..m {
            // A row is zero beyond the diagonal.
            let used = (i / BLOCK + 1) * BLOCK;
            let (done, row) = workspace.split_at_mut(i * stride);
            let row = &mut row[..used];
            row.fill(0.0);
            row[i] = 1.0;
            for (k, before) in done.chunks_exact(stride).enumerate() {
                add_blocks(-u[k * stride + i], before, &mut row[..(k / BLOCK + 1) * BLOCK]);
            }
            let scale = 1.0 / u[i * stride + i];
            row.iter_mut().for_each(|x| *x *= scale);
            for (x, inverse) in row[..=i].iter().zip(inverse.chunks_exact_mut(stride)) {
                add_blocks(*x, row, &mut inverse[..used]);
            }
        }
    }
}

/// `to += factor x` for whole blocks.
#[inline(always)]
pub fn add_blocks(factor: f64, x: &[f64], to: &mut [f64]) {
    for (to, x) in to.as_chunks_mut::<BLOCK>().0.iter_mut().zip(x.as_chunks::<BLOCK>().0) {
        for k in 0..BLOCK {
            to[k] += factor * x[k];
        }
    }
}

/// Width up to which [`Upper`] is faster than a blocked factorization.
const NARROW: usize = 48;

/// Upper triangular `R` with `R'R = G`, and the smallest relative pivot; `None` if `G` is not positive definite to
/// rounding.
pub fn cholesky(gram: &Matrix) -> Option<(Matrix, f64)> {
    let l = gram.n_rows();
    let r = if l <= NARROW { cholesky_narrow(gram)? } else { cholesky_by_blocks(gram)? };
    let mut least = 1.0f64;
    for j in 0..l {
        let pivot = r[(j, j)] * r[(j, j)] / gram[(j, j)];
        if pivot.is_nan() || pivot <= f64::EPSILON {
            return None;
        }
        least = least.min(pivot);
    }
    Some((r, least))
}

fn cholesky_narrow(gram: &Matrix) -> Option<Matrix> {
    let l = gram.n_rows();
    let stride = l.next_multiple_of(BLOCK);
    let mut values = vec![0.0; l * stride];
    for (i, row) in values.chunks_exact_mut(stride.max(1)).enumerate() {
        row[i..l].copy_from_slice(&gram.row(i)[i..]);
    }
    let factorized = Upper { values: &mut values, m: l, stride }.factorize_above(f64::EPSILON);
    factorized.then(|| Matrix::from_fn(l, l, |i, j| if i <= j { values[i * stride + j] } else { 0.0 }))
}

fn cholesky_by_blocks(gram: &Matrix) -> Option<Matrix> {
    let l = gram.n_rows();
    let mut factor = to_faer(gram, 1.0);
    let scratch = cholesky_in_place_scratch::<f64>(l, Par::Seq, default());
    let mut buffer = MemBuffer::new(scratch);
    cholesky_in_place(factor.as_mut(), default(), Par::Seq, MemStack::new(&mut buffer), default()).ok()?;
    Some(Matrix::from_fn(l, l, |i, j| if i <= j { factor[(j, i)] } else { 0.0 }))
}

/// `A^-1 B` for symmetric positive definite `a`, one triangle of which is read, on the calling thread.
///
/// # Errors
/// [`Error::Decomposition`] if `a` is not positive definite to rounding, or not finite.
pub fn solve(a: &Matrix, b: &Matrix) -> Result<Matrix> {
    let dim = a.n_rows();
    let failed =
        || Error::Decomposition { decomposition: "Cholesky decomposition", n_rows: dim, n_cols: dim };
    let unit = binade(a.as_slice()).filter(|unit| !unit.is_nan()).ok_or_else(failed)?;
    let scaled = Matrix::from_fn(dim, dim, |i, j| a[(i, j)] / unit);
    let (r, _) = cholesky(&scaled).ok_or_else(failed)?;
    let inverse = inverse_upper(&r);
    let mut x = multiply(&inverse, &t_multiply(&inverse, b));
    x.scale(1.0 / unit);
    Ok(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decomp::eigh::eigh;
    use crate::testing::test_matrices::{gaussian, max_difference, triangle_of_squares, triangle_product};

    /// Widths of both algorithms: in registers or rows of vectors, and blocked.
    const WIDTHS: [usize; 5] = [1, 7, NARROW, NARROW + 1, 3 * NARROW];

    #[test]
    fn regular_systems_are_solved() {
        for m in [1usize, 2, 7, 8, 9, 17, 40] {
            let stride = m.next_multiple_of(BLOCK);
            let original = triangle_of_squares(m, m + 5, stride);
            let expected: Vec<f64> = (0..m).map(|i| (i as f64 - 2.5).sin()).collect();
            let mut b = triangle_product(&original, m, stride, &expected);
            let (mut g, mut again) = (original.clone(), b.clone());
            let mut upper = Upper { values: &mut g, m, stride };
            assert!(upper.factorize());
            upper.solve(&mut b);
            assert!(b.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9), "{m}");
            let product: f64 = again.iter().zip(&expected).map(|(b, x)| b * x).sum();
            let mut g = original;
            let explained = Upper { values: &mut g, m, stride }.factorize_and_solve(&mut again).unwrap();
            assert!((explained - product).abs() < 1e-9 * product.abs(), "{m}");
            assert!(again.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9), "{m}");
        }
    }

    #[test]
    fn inverses_and_determinants_agree_with_their_definition() {
        for m in [1usize, 2, 9] {
            let stride = m.next_multiple_of(BLOCK);
            let original = triangle_of_squares(m, m + 5, stride);
            let mut g = original.clone();
            let mut upper = Upper { values: &mut g, m, stride };
            assert!(upper.factorize());
            let (mut inverse, mut workspace) = (vec![0.0; m * stride], vec![0.0; m * stride]);
            upper.invert(&mut inverse, &mut workspace);
            for k in 0..m {
                let column: Vec<f64> = (0..m).map(|l| inverse[k.min(l) * stride + k.max(l)]).collect();
                let unit = triangle_product(&original, m, stride, &column);
                assert!((0..m).all(|l| (unit[l] - f64::from(u8::from(k == l))).abs() < 1e-9), "{m}");
            }
            let values =
                eigh(&Matrix::from_fn(m, m, |i, j| original[i.min(j) * stride + i.max(j)])).unwrap().values;
            let expected: f64 = values.iter().map(|x| x.ln()).sum();
            assert!((upper.log_determinant() - expected).abs() < 1e-9, "{m}");
        }
    }

    #[test]
    fn solutions_satisfy_their_systems() {
        for (dim, scale) in [(1, 1.0), (5, 1e200), (120, 1e-200)] {
            let x = gaussian(dim + 20, dim, 1, 0);
            let mut a = t_multiply(&x, &x);
            let b = gaussian(dim, 3, 2, 0);
            let expected = solve(&a, &b).unwrap();
            assert!(max_difference(&multiply(&a, &expected), &b) < 1e-10);
            a.scale(scale);
            let mut found = solve(&a, &b).unwrap();
            found.scale(scale);
            assert!(max_difference(&found, &expected) < 1e-12);
        }
    }

    #[test]
    fn indefinite_matrices_are_refused() {
        let a = Matrix::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
        let error = solve(&a, &Matrix::zeros(2, 1)).unwrap_err();
        assert!(error.to_string().starts_with("the Cholesky decomposition of a 2 x 2 matrix"), "{error}");
    }

    #[test]
    fn dependent_columns_have_no_factor() {
        for l in WIDTHS.into_iter().filter(|l| *l > 1) {
            let x = gaussian(2 * l, l - 1, 1, 0);
            let twice = Matrix::from_fn(2 * l, l, |i, j| x[(i, j.min(l - 2))]);
            assert!(cholesky(&t_multiply(&twice, &twice)).is_none(), "{l}");
        }
        assert!(cholesky(&Matrix::from_fn(60, 60, |_, _| f64::NAN)).is_none());
    }
}
