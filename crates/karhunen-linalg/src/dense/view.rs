//! A borrowed dense array in any memory order.

use crate::Matrix;
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// A borrowed dense array of any order and strides, never copied.
///
/// ```
/// use karhunen::Dense;
/// let buffer = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let by_rows = Dense::row_major(&buffer, 2, 3)?;
/// let by_columns = Dense::column_major(&buffer, 3, 2)?;
/// assert_eq!(by_rows.get(1, 0), 4.0);
/// assert_eq!(by_columns.get(0, 1), 4.0);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a, T> {
    data: &'a [T],
    n_rows: usize,
    n_cols: usize,
    offset: usize,
    row_stride: isize,
    col_stride: isize,
}

impl<'a, T: Scalar> Dense<'a, T> {
    /// Row-major values (C order), the default of numpy.
    ///
    /// # Errors
    /// [`Error::Strides`] if the buffer is shorter than `n_rows * n_cols`.
    pub fn row_major(data: &'a [T], n_rows: usize, n_cols: usize) -> Result<Self> {
        Self::strided(data, (n_rows, n_cols), (n_cols as isize, 1), 0)
    }

    /// Column-major values (Fortran order), as in R and MATLAB.
    ///
    /// # Errors
    /// [`Error::Strides`] if the buffer is shorter than `n_rows * n_cols`.
    pub fn column_major(data: &'a [T], n_rows: usize, n_cols: usize) -> Result<Self> {
        Self::strided(data, (n_rows, n_cols), (1, n_rows as isize), 0)
    }

    /// Entry `(i, j)` is `data[offset + i * strides.0 + j * strides.1]`; strides count values and may be negative.
    ///
    /// # Errors
    /// [`Error::Strides`] if an entry lies outside the buffer.
    pub fn strided(
        data: &'a [T],
        shape: (usize, usize),
        strides: (isize, isize),
        offset: usize,
    ) -> Result<Self> {
        let (n_rows, n_cols) = shape;
        let (row_stride, col_stride) = strides;
        let fits = n_rows == 0 || n_cols == 0 || {
            let rows = (n_rows as i128 - 1) * row_stride as i128;
            let cols = (n_cols as i128 - 1) * col_stride as i128;
            let first = offset as i128 + rows.min(0) + cols.min(0);
            let last = offset as i128 + rows.max(0) + cols.max(0);
            first >= 0 && last < data.len() as i128
        };
        if !fits {
            let len = data.len();
            return Err(Error::Strides { n_rows, n_cols, row_stride, col_stride, offset, len });
        }
        Ok(Self { data, n_rows, n_cols, offset, row_stride, col_stride })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Distance between rows in values.
    pub fn row_stride(&self) -> isize {
        self.row_stride
    }

    /// Distance between columns in values.
    pub fn col_stride(&self) -> isize {
        self.col_stride
    }

    /// The transposed view; nothing is copied.
    pub fn t(&self) -> Self {
        Self {
            n_rows: self.n_cols,
            n_cols: self.n_rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..*self
        }
    }

    /// A view of the rows `rows`; nothing is copied.
    ///
    /// # Panics
    /// If the range reaches past the last row.
    pub fn rows(&self, rows: std::ops::Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.n_rows, "rows {rows:?} of {}", self.n_rows);
        let offset = if rows.is_empty() { self.offset } else { self.position(rows.start, 0) };
        Self { n_rows: rows.len(), offset, ..*self }
    }

    /// A view of the columns `columns`; nothing is copied.
    ///
    /// # Panics
    /// If the range reaches past the last column.
    pub fn columns(&self, columns: std::ops::Range<usize>) -> Self {
        self.t().rows(columns).t()
    }

    /// Entry `(i, j)`.
    ///
    /// # Panics
    /// If it is outside the array.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> T {
        assert!(i < self.n_rows && j < self.n_cols, "entry ({i}, {j}) of ({}, {})", self.n_rows, self.n_cols);
        self.data[self.position(i, j)]
    }

    /// Row `i` as a slice if it is contiguous.
    #[inline]
    pub fn contiguous_row(&self, i: usize) -> Option<&'a [T]> {
        if self.n_cols == 0 {
            return Some(&[]);
        }
        if i >= self.n_rows || (self.col_stride != 1 && self.n_cols > 1) {
            return None;
        }
        let start = self.position(i, 0);
        Some(&self.data[start..start + self.n_cols])
    }

    /// Tests that the values of a column, and not of a row, are contiguous.
    pub fn is_column_major(&self) -> bool {
        self.row_stride == 1 && self.col_stride != 1
    }

    /// All values in the order of rows if they are contiguous, otherwise an empty slice.
    pub fn contiguous(&self) -> &'a [T] {
        if self.n_rows == 0
            || self.n_cols == 0
            || self.col_stride != 1
            || self.row_stride != self.n_cols as isize
        {
            return &[];
        }
        let start = self.position(0, 0);
        &self.data[start..start + self.n_rows * self.n_cols]
    }

    #[inline(always)]
    fn position(&self, i: usize, j: usize) -> usize {
        (self.offset as isize + i as isize * self.row_stride + j as isize * self.col_stride) as usize
    }
}

impl<'a, T: Scalar> From<&'a Matrix<T>> for Dense<'a, T> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        let (n_rows, n_cols) = matrix.shape();
        Self {
            data: matrix.as_slice(),
            n_rows,
            n_cols,
            offset: 0,
            row_stride: n_cols as isize,
            col_stride: 1,
        }
    }
}
