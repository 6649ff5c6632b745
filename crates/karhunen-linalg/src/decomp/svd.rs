//! The thin singular value decomposition of a small or medium matrix.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::svd::{ComputeSvdVectors, svd as faer_svd, svd_scratch};
use faer::prelude::default;
use faer::{Mat, Par};

use crate::Matrix;
use crate::dense::small::{binade, fewer_components, to_faer};
use crate::error::{Error, Result};
use crate::memory;

/// `A = U diag(s) v'` with r = min(m, n) for A of shape (m, n). `U` is not computed.
#[derive(Clone, Debug)]
pub struct Svd {
    /// Singular values, descending, r of them.
    pub s: Vec<f64>,
    /// Right singular vectors as columns, shape (n, r).
    pub v: Matrix,
}

/// Memory estimate of [`svd`] in bytes for a matrix of shape (m, n), excluding the matrix.
pub fn need(m: usize, n: usize) -> f64 {
    let r = m.min(n) as f64;
    let (none, thin) = (ComputeSvdVectors::No, ComputeSvdVectors::Thin);
    let scratch = svd_scratch::<f64>(m, n, none, thin, Par::Seq, default());
    let vectors = 8.0 * n as f64 * r;
    8.0 * m as f64 * n as f64 + vectors + (scratch.unaligned_bytes_required() as f64).max(vectors) + 16.0 * r
}

/// Decomposes on the calling thread, because the bits of faer's decomposition depend on the number of threads.
/// Accepts any scale: entries are first divided by a power of two. Backward stable.
///
/// # Errors
/// [`Error::Memory`]; [`Error::Decomposition`] if an entry is not finite or the iteration fails.
pub fn svd(a: &Matrix) -> Result<Svd> {
    let (m, n) = a.shape();
    let r = m.min(n);
    let failed =
        || Error::Decomposition { decomposition: "singular value decomposition", n_rows: m, n_cols: n };
    let Some(unit) = binade(a.as_slice()) else {
        let v = Matrix::from_fn(n, r, |i, j| f64::from(u8::from(i == j)));
        return Ok(Svd { s: vec![0.0; r], v });
    };
    if unit.is_nan() {
        return Err(failed());
    }
    let what = format!("the singular value decomposition of a {m} x {n} matrix");
    memory::ask(&what, need(m, n), fewer_components)?;
    let scaled = to_faer(a, unit);
    let mut s = Diag::<f64>::zeros(r);
    let mut v = Mat::<f64>::zeros(n, r);
    let (none, thin) = (ComputeSvdVectors::No, ComputeSvdVectors::Thin);
    let scratch = svd_scratch::<f64>(m, n, none, thin, Par::Seq, default());
    faer_svd(
        scaled.as_ref(),
        s.as_mut(),
        None,
        Some(v.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        default(),
    )
    .map_err(|_| failed())?;
    Ok(Svd { s: (0..r).map(|j| s[j] * unit).collect(), v: Matrix::from_fn(n, r, |i, j| v[(i, j)]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::small::multiply;
    use crate::testing::test_matrices::gaussian;
    use crate::testing::test_matrices::{identity_error, max_difference, with_singular_values};

    #[test]
    fn a_matrix_is_reconstructed_at_every_shape_and_scale() {
        for (m, n) in [(1, 1), (1, 5), (5, 1), (7, 7), (40, 9), (9, 40), (300, 140)] {
            for scale in [1.0, 1e-200, 1e200] {
                let mut a = gaussian(m, n, 3, 0);
                a.as_mut_slice().iter_mut().for_each(|x| *x *= scale);
                let Svd { s, v } = svd(&a).unwrap();
                assert!(s.windows(2).all(|w| w[0] >= w[1]));
                assert!(identity_error(&v) < 1e-12);
                // A V = U diag(s): orthogonal columns of norms s, which span the range of A.
                let av = multiply(&a, &v);
                let unit = Matrix::from_fn(m, s.len(), |i, j| av[(i, j)] / s[j]);
                assert!(identity_error(&unit) < 1e-12);
                assert!(max_difference(&multiply(&av, &v.transposed()), &a) < 1e-13 * s[0]);
            }
        }
    }

    #[test]
    fn singular_values_are_accurate_to_rounding_of_the_largest() {
        let planted: Vec<f64> = (0..12).map(|j| 10f64.powi(-j)).collect();
        let found = svd(&with_singular_values(80, &planted, 5)).unwrap().s;
        for (f, p) in found.iter().zip(&planted) {
            assert!((f - p).abs() < 3e-15, "{f:e} {p:e}");
        }
    }

    #[test]
    fn empty_and_zero_matrices_are_decomposed() {
        let e = svd(&Matrix::zeros(4, 0)).unwrap();
        assert_eq!((e.s.len(), e.v.shape()), (0, (0, 0)));
        let e = svd(&Matrix::zeros(3, 2)).unwrap();
        assert_eq!(e.s, [0.0, 0.0]);
        assert_eq!(identity_error(&e.v), 0.0);
        assert!(svd(&Matrix::from_fn(3, 2, |_, _| f64::INFINITY)).is_err());
    }
}
