//! Covariance matrices of scores or loadings, packed.

use crate::scalar::Scalar;

/// Symmetric matrices of equal size, one for each sample or feature.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Covariances {
    /// Number of components `c`.
    pub n_components: usize,
    /// The lower triangles, row after row, `c (c + 1) / 2` values for each matrix.
    pub packed: Vec<f32>,
}

impl Covariances {
    /// Packed matrices times a factor.
    pub(crate) fn scaled<T: Scalar>(n_components: usize, packed: &[T], factor: f64) -> Self {
        Self { n_components, packed: packed.iter().map(|x| (x.to_f64() * factor) as f32).collect() }
    }

    /// Entry `(k, l)` of matrix `i`.
    ///
    /// # Panics
    /// If `i`, `k` or `l` is out of range.
    pub fn get(&self, i: usize, k: usize, l: usize) -> f64 {
        let c = self.n_components;
        assert!(k < c && l < c, "entry ({k}, {l}) of a {c} x {c} matrix");
        let (k, l) = (k.max(l), k.min(l));
        f64::from(self.packed[i * (c * (c + 1) / 2) + k * (k + 1) / 2 + l])
    }

    /// Makes row and column `k` of all matrices zero.
    pub(crate) fn remove(&mut self, k: usize) {
        let c = self.n_components;
        for matrix in self.packed.chunks_exact_mut(c * (c + 1) / 2) {
            for l in 0..c {
                let (row, column) = (k.max(l), k.min(l));
                matrix[row * (row + 1) / 2 + column] = 0.0;
            }
        }
    }

    /// `tr C_i D_j`, over the leading rows that both matrices have.
    pub(crate) fn trace_of_product(&self, i: usize, other: &Self, j: usize) -> f64 {
        let width = |of: &Self| of.n_components * (of.n_components + 1) / 2;
        let (x, y) = (&self.packed[i * width(self)..][..width(self)], &other.packed[j * width(other)..]);
        let all: f64 = x.iter().zip(y).map(|(x, y)| 2.0 * f64::from(*x) * f64::from(*y)).sum();
        let diagonal: f64 = (0..self.n_components).map(|k| self.get(i, k, k) * other.get(j, k, k)).sum();
        all - diagonal
    }

    /// `x' C_i x`.
    pub(crate) fn quadratic(&self, i: usize, x: impl Fn(usize) -> f64) -> f64 {
        let mut sum = 0.0;
        for k in 0..self.n_components {
            for l in 0..k {
                sum += 2.0 * self.get(i, k, l) * x(k) * x(l);
            }
            sum += self.get(i, k, k) * x(k) * x(k);
        }
        sum
    }
}
