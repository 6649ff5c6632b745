//! Compressed sparse matrices, by rows (CSR) or by columns (CSC).

use std::borrow::Cow;

use crate::error::Result;
use crate::scalar::Scalar;
use crate::sparse::structure::{check_indices, check_pointers};

mod sealed {
    pub trait Sealed {}
}

/// An integer type of sparse indices. Sealed: `i32`, `u32`, `i64`, `u64` and `usize`.
pub trait IndexInt: sealed::Sealed + bytemuck::Pod + Send + Sync {
    /// The largest value.
    const LARGEST: u64;
    /// The value; negative numbers stay negative.
    fn widen(self) -> i128;
}

macro_rules! index_int {
    // A generic function cannot implement a trait for several concrete types.
    ($($t:ty),*) => { $(
        impl sealed::Sealed for $t {}
        impl IndexInt for $t {
            const LARGEST: u64 = <$t>::MAX as u64;
            #[inline(always)]
            fn widen(self) -> i128 {
                self as i128
            }
        }
    )* };
}
index_int!(i32, u32, i64, u64, usize);

/// The axis whose lines are stored one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// Rows: CSR.
    Rows,
    /// Columns: CSC.
    Columns,
}

/// Indices of 32 or 64 bits, checked to be in range.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// Indices of 32 bits.
    U32(&'a [u32]),
    /// Indices of 64 bits.
    U64(&'a [u64]),
}

impl<'a> Indices<'a> {
    /// The bits of any indices as unsigned numbers of the same width, so that negative ones exceed every valid
    /// index.
    pub fn of<I: IndexInt>(indices: &'a [I]) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(indices);
        match size_of::<I>() {
            4 => Indices::U32(bytemuck::cast_slice(bytes)),
            _ => Indices::U64(bytemuck::cast_slice(bytes)),
        }
    }

    /// Number of indices.
    pub fn len(self) -> usize {
        match self {
            Indices::U32(indices) => indices.len(),
            Indices::U64(indices) => indices.len(),
        }
    }

    /// The index at a position.
    #[inline]
    pub fn at(self, position: usize) -> usize {
        match self {
            Indices::U32(indices) => indices[position] as usize,
            Indices::U64(indices) => indices[position] as usize,
        }
    }
}

/// A borrowed sparse matrix in compressed form. Its indices are in range and increase strictly within each line,
/// which the constructors check in one pass over the indices.
///
/// ```
/// use karhunen::Sparse;
/// // [[1, 0, 2], [0, 3, 0]]
/// let a = Sparse::csr(2, 3, &[0i32, 2, 3], &[0i32, 2, 1], &[1.0f64, 2.0, 3.0])?;
/// assert_eq!(a.n_stored(), 3);
/// let unsorted = Sparse::csr(2, 3, &[0i32, 2, 3], &[2i32, 0, 1], &[2.0f64, 1.0, 3.0]);
/// assert!(unsorted.unwrap_err().to_string().starts_with("sparse row 0: index 0 follows 2"));
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sparse<'a, T> {
    n_rows: usize,
    n_cols: usize,
    major: Major,
    /// Line `i` is stored at `pointers[i]..pointers[i + 1]`.
    pointers: Cow<'a, [usize]>,
    indices: Indices<'a>,
    values: &'a [T],
}

impl<'a, T: Scalar> Sparse<'a, T> {
    /// A matrix whose structure is known to be valid.
    pub fn of_parts(
        (n_rows, n_cols): (usize, usize),
        major: Major,
        pointers: &'a [usize],
        indices: Indices<'a>,
        values: &'a [T],
    ) -> Self {
        Self { n_rows, n_cols, major, pointers: Cow::Borrowed(pointers), indices, values }
    }

    /// Compressed rows: row `i` has the columns `indices[indptr[i]..indptr[i + 1]]` and the values at these
    /// positions.
    ///
    /// # Errors
    /// [`crate::Error::SparsePointer`], [`crate::Error::SparseIndex`], [`crate::Error::Shape`] for arrays that do
    /// not describe a matrix; [`crate::Error::SparseOrder`] for unsorted or repeated indices, which
    /// [`crate::SparseMatrix::canonical`] sorts and sums.
    pub fn csr<P: IndexInt, I: IndexInt>(
        n_rows: usize,
        n_cols: usize,
        indptr: &'a [P],
        indices: &'a [I],
        values: &'a [T],
    ) -> Result<Self> {
        Self::new(Major::Rows, n_rows, n_cols, indptr, indices, values)
    }

    /// Compressed columns: column `j` has the rows `indices[indptr[j]..indptr[j + 1]]` and the values at these
    /// positions.
    ///
    /// # Errors
    /// As [`Sparse::csr`].
    pub fn csc<P: IndexInt, I: IndexInt>(
        n_rows: usize,
        n_cols: usize,
        indptr: &'a [P],
        indices: &'a [I],
        values: &'a [T],
    ) -> Result<Self> {
        Self::new(Major::Columns, n_rows, n_cols, indptr, indices, values)
    }

    fn new<P: IndexInt, I: IndexInt>(
        major: Major,
        n_rows: usize,
        n_cols: usize,
        indptr: &'a [P],
        indices: &'a [I],
        values: &'a [T],
    ) -> Result<Self> {
        let (n_major, n_minor) = if major == Major::Rows { (n_rows, n_cols) } else { (n_cols, n_rows) };
        let pointers = check_pointers(n_major, indptr, indices.len(), values.len())?;
        check_indices(major, n_minor, &pointers, indices, true)?;
        Ok(Self { n_rows, n_cols, major, pointers, indices: Indices::of(indices), values })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The axis of the compressed lines.
    pub fn major(&self) -> Major {
        self.major
    }

    /// Number of stored entries, explicit zeros included.
    pub fn n_stored(&self) -> usize {
        self.values.len()
    }

    /// The transposed view; nothing is copied but the pointers of a 32-bit matrix.
    pub fn t(&self) -> Self {
        let major = match self.major {
            Major::Rows => Major::Columns,
            Major::Columns => Major::Rows,
        };
        Self { n_rows: self.n_cols, n_cols: self.n_rows, major, ..self.clone() }
    }

    /// This matrix with its element type resolved.
    pub fn typed(&self) -> Typed<'_> {
        match size_of::<T>() {
            4 => Typed::F32(self.with_values(bytemuck::cast_slice(self.values))),
            _ => Typed::F64(self.with_values(bytemuck::cast_slice(self.values))),
        }
    }

    fn with_values<'b, U>(&'b self, values: &'b [U]) -> Sparse<'b, U> {
        let Self { n_rows, n_cols, major, indices, .. } = *self;
        Sparse { n_rows, n_cols, major, pointers: Cow::Borrowed(&self.pointers), indices, values }
    }

    /// Where the lines are stored: line `i` at the positions `pointers[i]..pointers[i + 1]`.
    pub fn pointers(&self) -> &[usize] {
        &self.pointers
    }

    /// The column (CSR) or row (CSC) of the entry at a position.
    ///
    /// # Panics
    /// If `position` is not below [`Sparse::n_stored`].
    #[inline]
    pub fn index(&self, position: usize) -> usize {
        self.indices.at(position)
    }

    /// The index of each stored entry.
    pub fn indices(&self) -> Indices<'a> {
        self.indices
    }

    /// The values of the stored entries.
    pub fn values(&self) -> &'a [T] {
        self.values
    }
}

/// A sparse matrix of a known element type.
pub enum Typed<'a> {
    /// Of `f32`.
    F32(Sparse<'a, f32>),
    /// Of `f64`.
    F64(Sparse<'a, f64>),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message for a 2 x 3 matrix by rows.
    fn refusal<P: IndexInt, I: IndexInt>(indptr: &[P], indices: &[I], values: &[f64]) -> String {
        Sparse::csr(2, 3, indptr, indices, values).unwrap_err().to_string()
    }

    #[test]
    fn malformed_pointers_are_refused() {
        let (indices, values) = ([0u32, 1, 2], [1.0; 3]);
        assert_eq!(
            refusal(&[0i32, 3], &indices, &values),
            "the sparse pointer array: 2 values, but 3 are needed"
        );
        assert_eq!(
            refusal(&[1i32, 2, 3], &indices, &values),
            "sparse pointer array: entry 0 is 1, but the first must be 0"
        );
        assert_eq!(
            refusal(&[0i64, -1, 3], &indices, &values),
            "sparse pointer array: entry 1 is -1, smaller than the one before"
        );
        assert_eq!(
            refusal(&[0u64, u64::MAX, 3], &indices, &values),
            "sparse pointer array: entry 1 is 18446744073709551615, past the last stored entry"
        );
        assert_eq!(
            refusal(&[0usize, 1, 2], &indices, &values),
            "sparse pointer array: entry 2 is 2, but the last must be the number of stored entries"
        );
        assert_eq!(
            refusal(&[0u32, 1, 3], &indices, &[1.0; 2]),
            "the sparse index array: 3 values, but 2 are needed"
        );
    }

    #[test]
    fn malformed_indices_are_refused() {
        let values = [1.0; 3];
        assert_eq!(
            refusal(&[0i32, 1, 3], &[0i32, 2, 3], &values),
            "sparse row 1 holds the index 3, outside 0..3"
        );
        assert_eq!(
            refusal(&[0i32, 2, 3], &[0i64, -5, 1], &values),
            "sparse row 0 holds the index -5, outside 0..3"
        );
        assert_eq!(
            refusal(&[0i32, 0, 3], &[0u32, 2, 2], &values),
            "sparse row 1: index 2 follows 2, but indices must increase strictly; \
             `Sparse::canonical` sorts them and sums duplicates"
        );
        let by_columns = Sparse::csc(2, 3, &[0, 1, 2, 3], &[0, 1, 2], &values).unwrap_err();
        assert_eq!(by_columns.to_string(), "sparse column 2 holds the index 2, outside 0..2");
    }

    #[test]
    fn the_transposed_view_has_the_same_entries() {
        let x = Sparse::csr(2, 3, &[0u32, 2, 3], &[0u64, 2, 1], &[1.0f32, 2.0, 3.0]).unwrap();
        let t = x.t();
        assert_eq!((t.n_rows(), t.n_cols(), t.major(), t.n_stored()), (3, 2, Major::Columns, 3));
        assert_eq!((t.pointers(), t.values()), (x.pointers(), x.values()));
    }
}
