//! Small matrices: products on the calling thread, and conversion to and from faer's layout.
//!
//! faer's products and decompositions run with [`Par::Seq`] throughout, because the bits of its decompositions
//! depend on the number of threads.

use crate::error::Advice;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use crate::Matrix;

/// A borrowed view in faer's type.
pub fn faer_view(a: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(a.as_slice(), a.n_rows(), a.n_cols())
}

/// A copy of `a / unit`, column-major for faer's decompositions.
pub fn to_faer(a: &Matrix, unit: f64) -> Mat<f64> {
    Mat::from_fn(a.n_rows(), a.n_cols(), |i, j| a[(i, j)] / unit)
}

/// Advice for a decomposition that finds too little memory.
pub fn fewer_components() -> Vec<Advice> {
    vec![Advice::FewerComponents, Advice::AnotherSolver, Advice::RaiseLimit]
}

/// `A B` of shapes (m, n) and (n, l), on the calling thread.
pub fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    product(faer_view(a), faer_view(b))
}

/// Writes `A B` into `out`, for the rows `a` of `b.n_rows()` values each, on the calling thread.
pub fn multiply_into(a: &[f64], b: &Matrix, out: &mut [f64]) {
    let (n, l) = b.shape();
    let m = out.len() / l;
    let target = faer::MatMut::from_row_major_slice_mut(out, m, l);
    matmul(target, Accum::Replace, MatRef::from_row_major_slice(a, m, n), faer_view(b), 1.0, Par::Seq);
}

/// `A' B` of shapes (m, n) and (m, l), on the calling thread.
pub fn t_multiply(a: &Matrix, b: &Matrix) -> Matrix {
    product(faer_view(a).transpose(), faer_view(b))
}

fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Matrix {
    let mut c = Matrix::zeros(a.nrows(), b.ncols());
    let (n_rows, n_cols) = c.shape();
    let target = faer::MatMut::from_row_major_slice_mut(c.as_mut_slice(), n_rows, n_cols);
    matmul(target, Accum::Replace, a, b, 1.0, Par::Seq);
    c
}

/// The power of two at or below the largest absolute value, by which entries divide without rounding; `None` for a
/// matrix of zeros, NaN if an entry is not finite.
pub fn binade(values: &[f64]) -> Option<f64> {
    // Without branches, in several lanes: a product with zero is zero of finite values alone.
    const WIDTH: usize = 8;
    let (mut largest, mut zeros) = ([0.0f64; WIDTH], [0.0f64; WIDTH]);
    let mut add = |values: &[f64; WIDTH]| {
        for ((largest, zero), x) in largest.iter_mut().zip(&mut zeros).zip(values) {
            *largest = if x.abs() > *largest { x.abs() } else { *largest };
            *zero += x * 0.0;
        }
    };
    let (whole, rest) = values.as_chunks::<WIDTH>();
    whole.iter().for_each(&mut add);
    let mut last = [0.0; WIDTH];
    last[..rest.len()].copy_from_slice(rest);
    add(&last);
    if zeros.iter().any(|zero| zero.is_nan()) {
        return Some(f64::NAN);
    }
    let largest = crate::scalar::largest(largest);
    let exponent_only = f64::from_bits(largest.to_bits() & f64::INFINITY.to_bits());
    (largest > 0.0).then_some(exponent_only.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_their_definition() {
        let a = Matrix::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let b = Matrix::from_vec(3, 1, vec![1.0, 0.0, -1.0]).unwrap();
        assert_eq!(multiply(&a, &b).as_slice(), [-2.0, -2.0]);
        assert_eq!(t_multiply(&b, &b).as_slice(), [2.0]);
        assert_eq!(multiply(&Matrix::zeros(2, 0), &Matrix::zeros(0, 3)), Matrix::zeros(2, 3));
    }

    #[test]
    fn binades_are_powers_of_two() {
        assert_eq!(binade(&[0.0, -0.0]), None);
        assert_eq!(binade(&[0.5, -5.0]), Some(4.0));
        assert_eq!(binade(&[1e-310]), Some(f64::MIN_POSITIVE));
        for n in [1, 8, 11, 19] {
            for at in 0..n {
                let with = |x: f64| (0..n).map(|i| if i == at { x } else { 0.25 }).collect::<Vec<f64>>();
                assert_eq!(binade(&with(-3.0)), Some(2.0));
                for bad in [f64::NEG_INFINITY, f64::INFINITY, f64::NAN] {
                    assert!(binade(&with(bad)).unwrap().is_nan());
                }
            }
        }
    }
}
