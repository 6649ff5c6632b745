//! Test matrices of the decompositions, for the tests of `karhunen` too.

use karhunen_testkit::largest_difference;
use rand_distr::{Distribution, StandardNormal};

use karhunen_linalg::Matrix;
use karhunen_linalg::decomp::svd::svd;
use karhunen_linalg::dense::small::{multiply, t_multiply};
use karhunen_linalg::random::test_generator;

/// Independent standard normal entries.
pub(crate) fn gaussian(n_rows: usize, n_cols: usize, seed: u64, stream: u64) -> Matrix {
    let mut generator = test_generator(seed, stream);
    Matrix::from_fn(n_rows, n_cols, |_, _| StandardNormal.sample(&mut generator))
}

/// The largest absolute entry of `Q'Q - I`.
pub(crate) fn identity_error(q: &Matrix) -> f64 {
    let gram = t_multiply(q, q);
    max_difference(&gram, &Matrix::from_fn(q.n_cols(), q.n_cols(), |i, j| f64::from(u8::from(i == j))))
}

/// The largest absolute entry of `A - B`; NaN if an entry is.
pub(crate) fn max_difference(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!(a.shape(), b.shape());
    largest_difference(a.as_slice(), b.as_slice())
}

/// A matrix of shape (n_rows, n) with orthonormal columns.
pub(crate) fn orthonormal(n_rows: usize, n: usize, seed: u64) -> Matrix {
    svd(&gaussian(n, n_rows, seed, 0)).unwrap().v
}

/// A matrix of shape (n_rows, s.len()) with the singular values `s`.
pub(crate) fn with_singular_values(n_rows: usize, s: &[f64], seed: u64) -> Matrix {
    let u = orthonormal(n_rows, s.len(), seed);
    let v = orthonormal(s.len(), s.len(), seed + 1);
    let us = Matrix::from_fn(n_rows, s.len(), |i, j| u[(i, j)] * s[j]);
    multiply(&us, &v.transposed())
}

/// A symmetric matrix with the eigenvalues `values`.
pub(crate) fn with_eigenvalues(values: &[f64], seed: u64) -> Matrix {
    let q = orthonormal(values.len(), values.len(), seed);
    let scaled = Matrix::from_fn(values.len(), values.len(), |i, j| q[(i, j)] * values[j]);
    let a = multiply(&scaled, &q.transposed());
    Matrix::from_fn(values.len(), values.len(), |i, j| 0.5 * (a[(i, j)] + a[(j, i)]))
}

/// `B B'` for `B` of shape (m, r), in rows of `stride`.
pub(crate) fn triangle_of_squares(m: usize, r: usize, stride: usize) -> Vec<f64> {
    let b = gaussian(m, r, 5, 0);
    let mut g = vec![f64::NAN; m * stride];
    for i in 0..m {
        for j in i..m {
            g[i * stride + j] = (0..r).map(|k| b[(i, k)] * b[(j, k)]).sum();
        }
    }
    g
}

/// The product of a symmetric matrix, given by its upper triangle, and a vector.
pub(crate) fn triangle_product(g: &[f64], m: usize, stride: usize, x: &[f64]) -> Vec<f64> {
    (0..m).map(|i| (0..m).map(|j| g[i.min(j) * stride + i.max(j)] * x[j]).sum()).collect()
}
