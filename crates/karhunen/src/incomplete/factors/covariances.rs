//! Covariance matrices of scores or loadings, packed.

use std::borrow::Cow;

use crate::scalar::Scalar;

/// Symmetric matrices of equal size, one for each sample or feature.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Covariances {
    /// Number of components `c`.
    pub n_components: usize,
    /// The lower triangles, row after row, `c (c + 1) / 2` values for each matrix, divided by the unit.
    pub packed: Vec<f32>,
    /// A power of two: one, unless the variances might leave the range of single precision.
    pub unit: f64,
}

/// Variances from the inverse of this number to this number are stored with the unit one.
const USUAL: f64 = 1e20;

impl Covariances {
    /// No matrices.
    pub(crate) fn none(n_components: usize) -> Self {
        Self { n_components, packed: Vec::new(), unit: 1.0 }
    }

    /// Packed matrices times a factor, of variances of about `size`.
    pub(crate) fn scaled<T: Scalar>(n_components: usize, packed: &[T], factor: f64, size: f64) -> Self {
        let unit = Self::unit_of(size);
        let factor = factor / unit;
        let packed = packed.iter().map(|x| (x.to_f64() * factor) as f32).collect();
        Self { n_components, packed, unit }
    }

    /// The unit for variances of about `size`.
    pub(crate) fn unit_of(size: f64) -> f64 {
        let usual = size.is_nan() || size <= 0.0 || (1.0 / USUAL..=USUAL).contains(&size);
        if usual { 1.0 } else { size.log2().floor().exp2() }
    }

    /// The packed values divided by another unit.
    pub(crate) fn packed_in(&self, unit: f64) -> Cow<'_, [f32]> {
        if unit == self.unit {
            return Cow::Borrowed(&self.packed);
        }
        let factor = self.unit / unit;
        self.packed.iter().map(|x| (f64::from(*x) * factor) as f32).collect()
    }

    /// Entry `(k, l)` of matrix `i`.
    ///
    /// # Panics
    /// If `i`, `k` or `l` is out of range.
    pub fn get(&self, i: usize, k: usize, l: usize) -> f64 {
        let c = self.n_components;
        assert!(k < c && l < c, "entry ({k}, {l}) of a {c} x {c} matrix");
        let (k, l) = (k.max(l), k.min(l));
        self.unit * f64::from(self.packed[i * (c * (c + 1) / 2) + k * (k + 1) / 2 + l])
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
        let products: f64 = x.iter().zip(y).map(|(x, y)| 2.0 * f64::from(*x) * f64::from(*y)).sum();
        let all = products * self.unit * other.unit;
        let diagonal: f64 = (0..self.n_components).map(|k| self.get(i, k, k) * other.get(j, k, k)).sum();
        all - diagonal
    }

    /// `x' C_i x`.
    pub(crate) fn quadratic(&self, i: usize, x: impl Fn(usize) -> f64) -> f64 {
        let width = self.n_components * (self.n_components + 1) / 2;
        self.unit * quadratic(&self.packed[i * width..][..width], self.n_components, x)
    }

    /// As [`Covariances::quadratic`], of a vector with given [`products`].
    pub(crate) fn along(&self, i: usize, products: &[f64]) -> f64 {
        let mut sums = [0.0; LANES];
        let packed = &self.packed[i * products.len()..][..products.len()];
        for (values, products) in packed.chunks(LANES).zip(products.chunks(LANES)) {
            for (sum, (value, product)) in sums.iter_mut().zip(values.iter().zip(products)) {
                *sum += f64::from(*value) * product;
            }
        }
        self.unit * sums.iter().sum::<f64>()
    }
}

/// Sums that do not wait for one another.
const LANES: usize = 8;

/// The coefficients of the values of a packed matrix in `x' C x`.
pub(crate) fn products(x: &[f64]) -> Vec<f64> {
    let of_pair = |k: usize, l: usize| if k == l { x[k] * x[k] } else { 2.0 * x[k] * x[l] };
    (0..x.len()).flat_map(|k| (0..=k).map(move |l| of_pair(k, l))).collect()
}

/// `x' C x` of a packed matrix of `c` rows.
pub(crate) fn quadratic<T: Scalar>(packed: &[T], c: usize, x: impl Fn(usize) -> f64) -> f64 {
    let mut sum = 0.0;
    for k in 0..c {
        let row = &packed[k * (k + 1) / 2..][..=k];
        for (l, value) in row[..k].iter().enumerate() {
            sum += 2.0 * value.to_f64() * x(k) * x(l);
        }
        sum += row[k].to_f64() * x(k) * x(k);
    }
    sum
}
