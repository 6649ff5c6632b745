//! Borrows scipy's compressed sparse matrices and arrays.

use karhunen::matrix::{Major, SparseMatrix};
use karhunen::{Result, Scalar, Source, Sparse};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{LentVector, lend_vector};
use crate::dtype::Element;

/// Indices of 32 or 64 bits; scipy uses both.
enum LentIndices {
    I32(LentVector<i32>),
    I64(LentVector<i64>),
}

impl LentIndices {
    fn new(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        match lend_vector::<i32>(array) {
            Ok(indices) => Ok(Self::I32(indices)),
            Err(_) => lend_vector::<i64>(array).map(Self::I64),
        }
    }
}

/// A CSR or CSC matrix in scipy's memory.
pub(crate) struct LentSparse<T> {
    major: Major,
    shape: (usize, usize),
    pointers: LentIndices,
    indices: LentIndices,
    values: LentVector<T>,
}

impl<T: Element> LentSparse<T> {
    /// Borrows the three arrays of `x`.
    pub(crate) fn new(x: &Bound<'_, PyAny>) -> PyResult<Self> {
        let format: String = x.getattr("format")?.extract()?;
        let major = match format.as_str() {
            "csr" => Major::Rows,
            "csc" => Major::Columns,
            _ => return Err(PyValueError::new_err(format!("expected the format csr or csc, got {format}"))),
        };
        Ok(Self {
            major,
            shape: x.getattr("shape")?.extract()?,
            pointers: LentIndices::new(&x.getattr("indptr")?)?,
            indices: LentIndices::new(&x.getattr("indices")?)?,
            values: lend_vector(&x.getattr("data")?)?,
        })
    }

    pub(crate) fn shape(&self) -> (usize, usize) {
        self.shape
    }

    pub(crate) fn n_stored(&self) -> usize {
        self.values.as_slice().len()
    }

    /// Calls `f` with the matrix: borrowed if its indices are sorted and unique, otherwise as a sorted copy with
    /// repeated entries summed.
    pub(crate) fn with_source<R>(&self, f: impl FnOnce(&dyn Source<T>) -> Result<R>) -> Result<R> {
        self.with_view(true, |x| f(x))
    }

    /// A copy with sorted indices and repeated entries summed.
    pub(crate) fn owned<U: Scalar>(&self) -> Result<SparseMatrix<U>> {
        use LentIndices::{I32, I64};
        let values: Vec<U> = self.values.as_slice().iter().map(|value| U::from_f64(value.to_f64())).collect();
        let (major, (n, p)) = (self.major, self.shape);
        match (&self.pointers, &self.indices) {
            (I32(pointers), I32(indices)) => {
                SparseMatrix::canonical(major, n, p, pointers.as_slice(), indices.as_slice(), &values)
            }
            (I32(pointers), I64(indices)) => {
                SparseMatrix::canonical(major, n, p, pointers.as_slice(), indices.as_slice(), &values)
            }
            (I64(pointers), I32(indices)) => {
                SparseMatrix::canonical(major, n, p, pointers.as_slice(), indices.as_slice(), &values)
            }
            (I64(pointers), I64(indices)) => {
                SparseMatrix::canonical(major, n, p, pointers.as_slice(), indices.as_slice(), &values)
            }
        }
    }

    /// Calls `f` with the matrix as stored.
    pub(crate) fn with_stored<R>(&self, f: impl FnOnce(&Sparse<'_, T>) -> Result<R>) -> Result<R> {
        self.with_view(false, f)
    }

    fn with_view<R>(&self, sorted: bool, f: impl FnOnce(&Sparse<'_, T>) -> Result<R>) -> Result<R> {
        use LentIndices::{I32, I64};
        match (&self.pointers, &self.indices) {
            (I32(pointers), I32(indices)) => {
                self.with_parts(pointers.as_slice(), indices.as_slice(), sorted, f)
            }
            (I32(pointers), I64(indices)) => {
                self.with_parts(pointers.as_slice(), indices.as_slice(), sorted, f)
            }
            (I64(pointers), I32(indices)) => {
                self.with_parts(pointers.as_slice(), indices.as_slice(), sorted, f)
            }
            (I64(pointers), I64(indices)) => {
                self.with_parts(pointers.as_slice(), indices.as_slice(), sorted, f)
            }
        }
    }

    fn with_parts<P: karhunen::matrix::IndexInt, I: karhunen::matrix::IndexInt, R>(
        &self,
        pointers: &[P],
        indices: &[I],
        sorted: bool,
        f: impl FnOnce(&Sparse<'_, T>) -> Result<R>,
    ) -> Result<R> {
        let (n_rows, n_cols) = self.shape;
        let values = self.values.as_slice();
        let borrowed = match self.major {
            Major::Rows => Sparse::csr(n_rows, n_cols, pointers, indices, values),
            Major::Columns => Sparse::csc(n_rows, n_cols, pointers, indices, values),
        };
        match borrowed {
            Ok(x) => f(&x),
            Err(karhunen::Error::SparseOrder { .. }) if sorted => {
                let sorted = SparseMatrix::canonical(self.major, n_rows, n_cols, pointers, indices, values)?;
                f(&sorted.view())
            }
            Err(error) => Err(error),
        }
    }
}
