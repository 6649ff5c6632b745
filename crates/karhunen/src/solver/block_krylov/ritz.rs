//! Ritz pairs of a basis and their residuals.

use crate::error::Result;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::dense::small::multiply;
use crate::scalar::largest;
use crate::solver::block_krylov::BlockKrylov;

/// Ritz pairs of the current basis.
pub(super) struct Ritz {
    pub(super) values: Vec<f64>,
    /// Coefficients over the basis, as columns.
    pub(super) vectors: Matrix,
    /// Residual norms of the wanted pairs, relative to the largest value.
    pub(super) residuals: Vec<f64>,
}

impl Ritz {
    pub(super) fn worst(&self) -> f64 {
        largest(self.residuals.iter().copied())
    }
}

impl BlockKrylov<'_> {
    /// Ritz pairs of the basis, with the residuals of the first `k`.
    pub(super) fn ritz(&self, k: usize) -> Result<Ritz> {
        let len = self.basis.len();
        let symmetric = Matrix::from_fn(len, len, |i, j| 0.5 * (self.h[(i, j)] + self.h[(j, i)]));
        let pairs = eigh(&symmetric)?;
        let wanted = pairs.vectors.columns(0..k);
        let (inside, outside) = self.defects(&wanted, &pairs.values);
        let scale = pairs.values.first().copied().unwrap_or(0.0).max(0.0);
        let mut squares = vec![0.0; k];
        add_squares(&inside, |_| 1.0, &mut squares);
        add_squares(&outside, |_| 1.0, &mut squares);
        add_squares(&wanted, |i| self.slack[i], &mut squares);
        let residuals = squares.iter().map(|x| if *x == 0.0 { 0.0 } else { x.sqrt() / scale }).collect();
        Ok(Ritz { values: pairs.values, vectors: pairs.vectors, residuals })
    }

    /// `H S - S diag(theta)` and `T S`: the residuals' parts along the basis and along the next block.
    pub(super) fn defects(&self, s: &Matrix, values: &[f64]) -> (Matrix, Matrix) {
        let len = self.basis.len();
        let h = Matrix::from_fn(len, len, |i, j| self.h[(i, j)]);
        let mut inside = multiply(&h, s);
        for i in 0..len {
            for (j, x) in inside.row_mut(i).iter_mut().enumerate() {
                *x -= s[(i, j)] * values[j];
            }
        }
        (inside, multiply(&self.residual_block, &rows(s, self.residual_start..len)))
    }
}

/// Adds the squares of each column of `a`, with row i multiplied by `factor(i)`, to `sums`.
pub(super) fn add_squares(a: &Matrix, factor: impl Fn(usize) -> f64, sums: &mut [f64]) {
    for i in 0..a.n_rows() {
        let factor = factor(i);
        sums.iter_mut().zip(a.row(i)).for_each(|(sum, x)| *sum += (x * factor).powi(2));
    }
}

fn rows(a: &Matrix, range: std::ops::Range<usize>) -> Matrix {
    Matrix::from_fn(range.len(), a.n_cols(), |i, j| a[(range.start + i, j)])
}
