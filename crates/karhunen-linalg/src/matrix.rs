//! An owned dense matrix, row-major.

use crate::error::{Advice, Error, Result};
use crate::exec::{Accumulate, Exec, Resumable, State};
use crate::memory;
use crate::scalar::Scalar;

/// An owned dense matrix in row-major order: entry `(i, j)` is `as_slice()[i * n_cols + j]`.
///
/// ```
/// use karhunen::Matrix;
/// let a = Matrix::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(a[(1, 2)], 6.0);
/// assert_eq!(a.row(0), [1.0, 2.0, 3.0]);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "Parts<T>", bound(deserialize = "T: Scalar + serde::Deserialize<'de>"))
)]
pub struct Matrix<T = f64> {
    n_rows: usize,
    n_cols: usize,
    data: Vec<T>,
}

/// A deserialized matrix, not yet checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Parts<T> {
    n_rows: usize,
    n_cols: usize,
    data: Vec<T>,
}

#[cfg(feature = "serde")]
impl<T: Scalar> TryFrom<Parts<T>> for Matrix<T> {
    type Error = Error;

    fn try_from(Parts { n_rows, n_cols, data }: Parts<T>) -> Result<Self> {
        Self::from_vec(n_rows, n_cols, data)
    }
}

impl<T: Scalar> Matrix<T> {
    /// A matrix of zeros, shape (n_rows, n_cols).
    pub fn zeros(n_rows: usize, n_cols: usize) -> Self {
        Self { n_rows, n_cols, data: vec![T::default(); n_rows * n_cols] }
    }

    /// A matrix of zeros, if memory suffices; `what` names it in the error.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn try_zeros(what: &str, n_rows: usize, n_cols: usize) -> Result<Self> {
        let bytes = n_rows as f64 * n_cols as f64 * size_of::<T>() as f64;
        memory::ask(&format!("{what} of shape ({n_rows}, {n_cols})"), bytes, || {
            vec!["take fewer rows at a time".into(), Advice::RaiseLimit]
        })?;
        Ok(Self::zeros(n_rows, n_cols))
    }

    /// Takes row-major values.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there are `n_rows * n_cols` values.
    pub fn from_vec(n_rows: usize, n_cols: usize, data: Vec<T>) -> Result<Self> {
        let expected = n_rows.saturating_mul(n_cols);
        if data.len() != expected {
            return Err(Error::Shape { what: "a matrix", axis: "values", found: data.len(), expected });
        }
        Ok(Self { n_rows, n_cols, data })
    }

    /// Computes entry `(i, j)` as `f(i, j)`.
    pub fn from_fn(n_rows: usize, n_cols: usize, mut f: impl FnMut(usize, usize) -> T) -> Self {
        let mut data = Vec::with_capacity(n_rows * n_cols);
        for i in 0..n_rows {
            data.extend((0..n_cols).map(|j| f(i, j)));
        }
        Self { n_rows, n_cols, data }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// (n_rows, n_cols).
    pub fn shape(&self) -> (usize, usize) {
        (self.n_rows, self.n_cols)
    }

    /// All values, row-major.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All values, row-major.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns the values, row-major.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If `i >= n_rows`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If `i >= n_rows`.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// A transposed copy.
    pub fn transposed(&self) -> Self {
        /// Side of the squares copied at a time, which stay in the cache.
        const SQUARE: usize = 16;
        let mut transposed = Self::zeros(self.n_cols, self.n_rows);
        for i0 in (0..self.n_rows).step_by(SQUARE) {
            for j0 in (0..self.n_cols).step_by(SQUARE) {
                for i in i0..self.n_rows.min(i0 + SQUARE) {
                    for j in j0..self.n_cols.min(j0 + SQUARE) {
                        transposed.data[j * self.n_rows + i] = self.data[i * self.n_cols + j];
                    }
                }
            }
        }
        transposed
    }

    /// As [`Matrix::transposed`], in parallel.
    pub fn transposed_by(&self, exec: &Exec<'_>) -> Result<Self> {
        let (n, p) = self.shape();
        let mut transposed = Self::zeros(p, n);
        self.transpose_into(transposed.as_mut_slice(), exec)?;
        Ok(transposed)
    }

    /// Writes the transposed matrix into `out`, row-major.
    pub fn transpose_into(&self, out: &mut [T], exec: &Exec<'_>) -> Result<()> {
        /// Number of rows of the result written at a time, which reads whole cache lines.
        const LINES: usize = 8;
        let (n, p) = self.shape();
        debug_assert_eq!(out.len(), n * p);
        exec.fill(out, LINES * n, |piece, rows| {
            let first = piece * LINES;
            let width = rows.len() / n;
            for (i, row) in self.data.chunks_exact(p).enumerate() {
                for (c, value) in row[first..first + width].iter().enumerate() {
                    rows[c * n + i] = *value;
                }
            }
            Ok(())
        })
    }

    /// The values of the rows `rows`.
    pub fn rows_mut(&mut self, rows: std::ops::Range<usize>) -> &mut [T] {
        &mut self.data[rows.start * self.n_cols..rows.end * self.n_cols]
    }

    /// A copy of the rows `rows`.
    pub fn rows(&self, rows: std::ops::Range<usize>) -> Self {
        let data = self.data[rows.start * self.n_cols..rows.end * self.n_cols].to_vec();
        Self { n_rows: rows.len(), n_cols: self.n_cols, data }
    }

    /// A copy of the columns `columns`.
    pub fn columns(&self, columns: std::ops::Range<usize>) -> Self {
        let mut data = Vec::with_capacity(self.n_rows * columns.len());
        for i in 0..self.n_rows {
            data.extend_from_slice(&self.row(i)[columns.clone()]);
        }
        Self { n_rows: self.n_rows, n_cols: columns.len(), data }
    }
}

impl<T: Scalar> std::ops::Index<(usize, usize)> for Matrix<T> {
    type Output = T;
    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.row(i)[j]
    }
}

impl<T: Scalar> std::ops::IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.row_mut(i)[j]
    }
}

impl Matrix<f64> {
    /// Copies the upper triangle of a square matrix to the lower one.
    pub fn mirror_upper(&mut self) {
        const SIDE: usize = 32;
        let n = self.n_rows;
        for i0 in (0..n).step_by(SIDE) {
            for j0 in (i0..n).step_by(SIDE) {
                for i in i0..n.min(i0 + SIDE) {
                    for j in j0.max(i + 1)..n.min(j0 + SIDE) {
                        self.data[j * n + i] = self.data[i * n + j];
                    }
                }
            }
        }
    }

    /// Multiplies every value by `factor`.
    pub fn scale(&mut self, factor: f64) {
        if factor != 1.0 {
            self.data.iter_mut().for_each(|value| *value *= factor);
        }
    }
}

impl Matrix<f64> {
    /// As [`Resumable::exchange`], for the upper triangle alone, row by row.
    pub fn exchange_upper(&mut self, state: &mut State) -> Result<()> {
        (0..self.n_rows).try_for_each(|i| state.slice(&mut self.row_mut(i)[i..]))
    }
}

impl Resumable for Matrix<f64> {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        state.slice(&mut self.data)
    }
}

impl Accumulate for Matrix<f64> {
    fn reset(&mut self) {
        self.as_mut_slice().fill(0.0);
    }
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.as_mut_slice().iter_mut().zip(other.as_slice()) {
            *a += b;
        }
    }
}
