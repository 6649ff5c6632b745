//! Covariance and Gram matrices of sparse data.

use std::ops::Range;

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::rank_k::{Panel, Panels, rank_k};
use crate::linalg::{ColumnMap, Matrix, Sparse, sparse_moments};
use crate::scalar::Scalar;

/// `sum_i w_i m_i m_i'`, shape (p, p): `m_i` are the mapped rows of `x` (n, p), `w` weights of the rows, ones if absent.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub(crate) fn scatter<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let roots: Option<Vec<f64>> = row_weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
    rank_k(&Rows { x, map, row_factors: roots.as_deref() }, exec)
}

/// `r_i r_j m_i.m_j`, shape (n, n): `m_i` are the mapped rows of `x` (n, p), `r` factors of the rows, ones if absent.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub(crate) fn gram<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    row_factors: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    rank_k(&Columns { x: x.t(), map, row_factors }, exec)
}

/// Mapped rows, written out panel by panel.
struct Rows<'a, T> {
    x: &'a Sparse<'a, T>,
    map: &'a ColumnMap<'a>,
    row_factors: Option<&'a [f64]>,
}

impl<T: Scalar> Panels for Rows<'_, T> {
    fn n_rows(&self) -> usize {
        self.x.n_rows()
    }
    fn n_cols(&self) -> usize {
        self.x.n_cols()
    }
    fn pack(&self, rows: Range<usize>, panel: &mut Panel<'_>) -> Result<()> {
        let p = self.x.n_cols();
        let mut values = vec![0.0; rows.len() * p];
        sparse_moments::densify(self.x, rows.clone(), &mut values)?;
        for (i, line) in values.chunks_exact(p).enumerate() {
            let factor = self.row_factors.map_or(1.0, |r| r[rows.start + i]);
            for (j, value) in line.iter().enumerate() {
                *panel.entry(i, j) = (value - self.map.shift[j]) * self.map.factor[j] * factor;
            }
        }
        Ok(())
    }
}

/// Mapped columns as rows, written out panel by panel.
struct Columns<'a, T> {
    x: Sparse<'a, T>,
    map: &'a ColumnMap<'a>,
    row_factors: Option<&'a [f64]>,
}

impl<T: Scalar> Panels for Columns<'_, T> {
    fn n_rows(&self) -> usize {
        self.x.n_rows()
    }
    fn n_cols(&self) -> usize {
        self.x.n_cols()
    }
    fn pack(&self, columns: Range<usize>, panel: &mut Panel<'_>) -> Result<()> {
        let n = self.x.n_cols();
        let mut values = vec![0.0; columns.len() * n];
        sparse_moments::densify(&self.x, columns.clone(), &mut values)?;
        for (j, line) in values.chunks_exact(n).enumerate() {
            let (shift, factor) = (self.map.shift[columns.start + j], self.map.factor[columns.start + j]);
            for (i, value) in line.iter().enumerate() {
                *panel.entry(j, i) = (value - shift) * factor * self.row_factors.map_or(1.0, |r| r[i]);
            }
        }
        Ok(())
    }
}
