//! Small symmetric systems, one for each row: Cholesky where they are regular, the minimum-norm solution where not.

use pulp::{Simd, WithSimd};

use crate::error::Result;
use crate::linalg::Matrix;
use crate::linalg::eigh::eigh;
use crate::linalg::simd::dispatch;

/// Rows are processed in blocks of this many values: strides are multiples of it.
pub(crate) const BLOCK: usize = 8;
/// Pivots below this share of their diagonal entry count as zero.
const LEAST_PIVOT: f64 = 1e-13;

/// The upper triangle of a symmetric matrix of `m` rows, in rows of `stride` values; what is below it has no meaning.
pub(crate) struct Upper<'a> {
    pub(crate) values: &'a mut [f64],
    pub(crate) m: usize,
    pub(crate) stride: usize,
}

impl Upper<'_> {
    /// Replaces `G` by `U`, `U'U = G`; `false` where `G` is singular to rounding.
    pub(crate) fn factorize(&mut self) -> bool {
        dispatch(Factorize { values: self.values, m: self.m, stride: self.stride })
    }

    /// `U'U x = b`, in place of `b`.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        for k in 0..self.m {
            let row = &self.values[k * self.stride..][..self.m];
            let (done, rest) = b.split_at_mut(k + 1);
            done[k] /= row[k];
            for (b, u) in rest.iter_mut().zip(&row[k + 1..]) {
                *b -= done[k] * u;
            }
        }
        for k in (0..self.m).rev() {
            let row = &self.values[k * self.stride..][..self.m];
            let known: f64 = row[k + 1..].iter().zip(&b[k + 1..]).map(|(u, x)| u * x).sum();
            b[k] = (b[k] - known) / row[k];
        }
    }
}

struct Factorize<'a> {
    values: &'a mut [f64],
    m: usize,
    stride: usize,
}

impl WithSimd for Factorize<'_> {
    type Output = bool;
    /// Compiled for the vectors of this processor; the loops over whole blocks need no more than that.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { values, m, stride } = self;
        for k in 0..m {
            let pivot = values[k * stride + k];
            // The diagonal entry as it was: the pivot and what was subtracted from it.
            let removed: f64 = (0..k).map(|i| values[i * stride + k] * values[i * stride + k]).sum();
            if !(pivot > LEAST_PIVOT * (pivot + removed)) {
                return false;
            }
            let (above, below) = values.split_at_mut((k + 1) * stride);
            let row_k = &mut above[k * stride..];
            let scale = 1.0 / pivot.sqrt();
            row_k.iter_mut().for_each(|x| *x *= scale);
            for (i, row_i) in (k + 1..m).zip(below.chunks_exact_mut(stride)) {
                let (factor, from) = (row_k[i], i / BLOCK * BLOCK);
                let blocks = row_i[from..].chunks_exact_mut(BLOCK).zip(row_k[from..].chunks_exact(BLOCK));
                for (x, u) in blocks {
                    for (x, u) in x.iter_mut().zip(u) {
                        *x -= factor * u;
                    }
                }
            }
        }
        true
    }
}

/// The solution of `G x = b` of least norm, where `G` is singular or nearly so; directions below rounding are left out.
pub(crate) fn solve_singular(g: &Upper<'_>, b: &mut [f64]) -> Result<()> {
    let m = g.m;
    let full = Matrix::from_fn(m, m, |i, j| g.values[i.min(j) * g.stride + i.max(j)]);
    let decomposed = eigh(&full)?;
    let least = decomposed.values.first().map_or(0.0, |largest| largest * LEAST_PIVOT * m as f64);
    let mut x = vec![0.0; m];
    for (k, value) in decomposed.values.iter().enumerate() {
        if *value > least {
            let along: f64 = (0..m).map(|i| decomposed.vectors[(i, k)] * b[i]).sum();
            for (i, x) in x.iter_mut().enumerate() {
                *x += decomposed.vectors[(i, k)] * along / value;
            }
        }
    }
    b[..m].copy_from_slice(&x);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `B B'` for `B` of shape (m, r), in rows of `stride`.
    fn gram(m: usize, r: usize, stride: usize) -> Vec<f64> {
        let b = crate::linalg::random::gaussian(m, r, 5, 0);
        let mut g = vec![f64::NAN; m * stride];
        for i in 0..m {
            for j in i..m {
                g[i * stride + j] = (0..r).map(|k| b[(i, k)] * b[(j, k)]).sum();
            }
        }
        g
    }

    fn product(g: &[f64], m: usize, stride: usize, x: &[f64]) -> Vec<f64> {
        (0..m).map(|i| (0..m).map(|j| g[i.min(j) * stride + i.max(j)] * x[j]).sum()).collect()
    }

    #[test]
    fn solves_regular_systems() {
        for m in [1usize, 2, 7, 8, 9, 17, 40] {
            let stride = m.next_multiple_of(BLOCK);
            let original = gram(m, m + 5, stride);
            let expected: Vec<f64> = (0..m).map(|i| (i as f64 - 2.5).sin()).collect();
            let mut b = product(&original, m, stride, &expected);
            let mut g = original;
            let mut upper = Upper { values: &mut g, m, stride };
            assert!(upper.factorize());
            upper.solve(&mut b);
            assert!(b.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-9), "{m}");
        }
    }

    #[test]
    fn singular_systems_are_noticed_and_solved_with_least_norm() {
        let (m, stride) = (9, 16);
        let original = gram(m, 3, stride);
        let mut b = product(&original, m, stride, &[1.0; 9]);
        let image = b.clone();
        let mut g = original.clone();
        assert!(!Upper { values: &mut g, m, stride }.factorize());
        let mut g = original.clone();
        solve_singular(&Upper { values: &mut g, m, stride }, &mut b).unwrap();
        let again = product(&original, m, stride, &b);
        assert!(again.iter().zip(&image).all(|(x, y)| (x - y).abs() < 1e-10));
        assert!(b.iter().map(|x| x * x).sum::<f64>() < 9.0);
        let mut zero = vec![0.0; stride];
        let mut x = [1.0];
        solve_singular(&Upper { values: &mut zero, m: 1, stride }, &mut x).unwrap();
        assert_eq!(x, [0.0]);
    }
}
