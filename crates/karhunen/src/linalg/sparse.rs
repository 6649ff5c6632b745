//! Compressed sparse matrices, by rows (CSR) or by columns (CSC).

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::scalar::Scalar;

mod sealed {
    pub trait Sealed {}
}

/// An integer type of sparse indices. Sealed: `i32`, `u32`, `i64`, `u64` and `usize`.
pub trait IndexInt: sealed::Sealed + bytemuck::Pod + Send + Sync {
    /// The value, where negative ones are kept apart from large ones.
    fn widen(self) -> i128;
}

macro_rules! index_int {
    // A generic function cannot implement a trait for several concrete types.
    ($($t:ty),*) => { $(
        impl sealed::Sealed for $t {}
        impl IndexInt for $t {
            #[inline(always)]
            fn widen(self) -> i128 {
                self as i128
            }
        }
    )* };
}
index_int!(i32, u32, i64, u64, usize);

/// Which lines are stored one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    /// Rows: CSR.
    Rows,
    /// Columns: CSC.
    Columns,
}

/// Indices of 32 or 64 bits, checked to be in range.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Indices<'a> {
    U32(&'a [u32]),
    U64(&'a [u64]),
}

/// A borrowed sparse matrix in compressed form. Its indices are in range and increase strictly within each line:
/// the constructors check it once, in one pass over the indices.
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
    /// Compressed rows: row `i` has the columns `indices[indptr[i]..indptr[i + 1]]` and the values beside them.
    ///
    /// # Errors
    /// [`Error::SparsePointer`], [`Error::SparseIndex`], [`Error::Shape`] for arrays that do not describe a matrix;
    /// [`Error::SparseOrder`] for unsorted or repeated indices, which [`SparseMatrix::canonical`] puts in order.
    pub fn csr<P: IndexInt, I: IndexInt>(
        n_rows: usize,
        n_cols: usize,
        indptr: &'a [P],
        indices: &'a [I],
        values: &'a [T],
    ) -> Result<Self> {
        Self::new(Major::Rows, n_rows, n_cols, indptr, indices, values)
    }

    /// Compressed columns: column `j` has the rows `indices[indptr[j]..indptr[j + 1]]` and the values beside them.
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
        let bytes: &[u8] = bytemuck::cast_slice(indices);
        // Same width, and checked below to be neither negative nor too large: the bits can be read as unsigned.
        let indices_unsigned = match size_of::<I>() {
            4 => Indices::U32(bytemuck::cast_slice(bytes)),
            _ => Indices::U64(bytemuck::cast_slice(bytes)),
        };
        check_indices(major, n_minor, &pointers, indices, true)?;
        Ok(Self { n_rows, n_cols, major, pointers, indices: indices_unsigned, values })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Which lines are compressed.
    pub fn major(&self) -> Major {
        self.major
    }

    /// Number of stored entries, explicit zeros included.
    pub fn n_stored(&self) -> usize {
        self.values.len()
    }

    /// The same entries seen as the transposed matrix; nothing is copied but the pointers of a 32-bit matrix.
    pub fn t(&self) -> Self {
        let major = match self.major {
            Major::Rows => Major::Columns,
            Major::Columns => Major::Rows,
        };
        Self { n_rows: self.n_cols, n_cols: self.n_rows, major, ..self.clone() }
    }

    /// The same matrix, where the type of its elements is known.
    pub(crate) fn typed(&self) -> Typed<'_> {
        match size_of::<T>() {
            4 => Typed::F32(self.with_values(bytemuck::cast_slice(self.values))),
            _ => Typed::F64(self.with_values(bytemuck::cast_slice(self.values))),
        }
    }

    fn with_values<'b, U>(&'b self, values: &'b [U]) -> Sparse<'b, U> {
        let Self { n_rows, n_cols, major, indices, .. } = *self;
        Sparse { n_rows, n_cols, major, pointers: Cow::Borrowed(&self.pointers), indices, values }
    }

    pub(crate) fn pointers(&self) -> &[usize] {
        &self.pointers
    }

    pub(crate) fn indices(&self) -> Indices<'a> {
        self.indices
    }

    pub(crate) fn values(&self) -> &'a [T] {
        self.values
    }
}

/// A sparse matrix of a known element type.
pub(crate) enum Typed<'a> {
    F32(Sparse<'a, f32>),
    F64(Sparse<'a, f64>),
}

fn check_pointers<'a, P: IndexInt>(
    n_major: usize,
    indptr: &'a [P],
    n_indices: usize,
    n_values: usize,
) -> Result<Cow<'a, [usize]>> {
    if indptr.len() != n_major + 1 {
        return Err(Error::Shape {
            what: "the sparse pointer array",
            axis: "values",
            found: indptr.len(),
            expected: n_major + 1,
        });
    }
    if n_indices != n_values {
        return Err(Error::Shape {
            what: "the sparse index array",
            axis: "values",
            found: n_indices,
            expected: n_values,
        });
    }
    let mut previous = 0;
    for (index, pointer) in indptr.iter().enumerate() {
        let value = pointer.widen();
        let rule = if index == 0 && value != 0 {
            "but the first must be 0"
        } else if value < previous {
            "smaller than the one before"
        } else if value > n_values as i128 {
            "past the last stored entry"
        } else {
            previous = value;
            continue;
        };
        return Err(Error::SparsePointer { index, value, rule });
    }
    if previous != n_values as i128 {
        let rule = "but the last must be the number of stored entries";
        return Err(Error::SparsePointer { index: n_major, value: previous, rule });
    }
    let native = size_of::<P>() == size_of::<usize>();
    Ok(match bytemuck::try_cast_slice::<P, usize>(indptr) {
        Ok(pointers) if native => Cow::Borrowed(pointers),
        _ => Cow::Owned(indptr.iter().map(|p| p.widen() as usize).collect()),
    })
}

fn check_indices<I: IndexInt>(
    major: Major,
    n_minor: usize,
    pointers: &[usize],
    indices: &[I],
    ordered: bool,
) -> Result<()> {
    let axis = if major == Major::Rows { "row" } else { "column" };
    for (line, window) in pointers.windows(2).enumerate() {
        let mut previous = -1;
        for index in &indices[window[0]..window[1]] {
            let index = index.widen();
            if index < 0 || index >= n_minor as i128 {
                return Err(Error::SparseIndex { axis, major: line, index, bound: n_minor });
            }
            if ordered && index <= previous {
                let (previous, next) = (previous as usize, index as usize);
                return Err(Error::SparseOrder { axis, major: line, previous, next });
            }
            previous = index;
        }
    }
    Ok(())
}

/// An owned sparse matrix in compressed form with sorted, unique indices.
#[derive(Clone, Debug)]
pub struct SparseMatrix<T> {
    n_rows: usize,
    n_cols: usize,
    major: Major,
    pointers: Vec<usize>,
    indices: OwnedIndices,
    values: Vec<T>,
}

#[derive(Clone, Debug)]
enum OwnedIndices {
    U32(Vec<u32>),
    U64(Vec<u64>),
}

impl<T: Scalar> SparseMatrix<T> {
    /// Copies a compressed matrix, sorting the indices of each line and adding up repeated ones.
    ///
    /// # Errors
    /// As [`Sparse::csr`], but never [`Error::SparseOrder`].
    pub fn canonical<P: IndexInt, I: IndexInt>(
        major: Major,
        n_rows: usize,
        n_cols: usize,
        indptr: &[P],
        indices: &[I],
        values: &[T],
    ) -> Result<Self> {
        let (n_major, n_minor) = if major == Major::Rows { (n_rows, n_cols) } else { (n_cols, n_rows) };
        let old = check_pointers(n_major, indptr, indices.len(), values.len())?;
        check_indices(major, n_minor, &old, indices, false)?;
        let mut pointers = Vec::with_capacity(n_major + 1);
        pointers.push(0);
        let mut new_indices: Vec<u64> = Vec::with_capacity(values.len());
        let mut new_values: Vec<T> = Vec::with_capacity(values.len());
        let mut line: Vec<(u64, T)> = Vec::new();
        for window in old.windows(2) {
            let range = window[0]..window[1];
            if indices[range.clone()].is_sorted_by(|a, b| a.widen() < b.widen()) {
                new_indices.extend(indices[range.clone()].iter().map(|i| i.widen() as u64));
                new_values.extend_from_slice(&values[range]);
                pointers.push(new_indices.len());
                continue;
            }
            line.clear();
            line.extend(
                indices[range.clone()].iter().map(|i| i.widen() as u64).zip(values[range].iter().copied()),
            );
            line.sort_by_key(|entry| entry.0);
            let start = new_indices.len();
            for &(index, value) in &line {
                match new_values.last_mut() {
                    Some(last) if new_indices.len() > start && new_indices.last() == Some(&index) => {
                        *last = T::from_f64(last.to_f64() + value.to_f64());
                    }
                    _ => {
                        new_indices.push(index);
                        new_values.push(value);
                    }
                }
            }
            pointers.push(new_indices.len());
        }
        let indices = if u32::try_from(n_minor).is_ok() {
            OwnedIndices::U32(new_indices.iter().map(|&i| i as u32).collect())
        } else {
            OwnedIndices::U64(new_indices)
        };
        Ok(Self { n_rows, n_cols, major, pointers, indices, values: new_values })
    }

    /// Compresses triples by rows; entries given more than once are added up.
    ///
    /// # Errors
    /// [`Error::SparseIndex`] for a row or column out of range; [`Error::Shape`] for arrays of different length.
    pub fn from_triples(
        n_rows: usize,
        n_cols: usize,
        rows: &[u32],
        columns: &[u32],
        values: &[T],
    ) -> Result<Self> {
        if rows.len() != values.len() || columns.len() != values.len() {
            let found = if rows.len() != values.len() { rows.len() } else { columns.len() };
            let expected = values.len();
            return Err(Error::Shape { what: "an index array of triples", axis: "values", found, expected });
        }
        let mut pointers = Vec::new();
        if pointers.try_reserve_exact(n_rows.saturating_add(1).saturating_mul(2)).is_err() {
            return Err(Error::TooLarge { n_samples: n_rows, n_features: n_cols });
        }
        pointers.resize(n_rows + 1, 0usize);
        for (entry, &row) in rows.iter().enumerate() {
            if row as usize >= n_rows {
                return Err(Error::SparseIndex {
                    axis: "triple",
                    major: entry,
                    index: i128::from(row),
                    bound: n_rows,
                });
            }
            pointers[row as usize + 1] += 1;
        }
        for i in 0..n_rows {
            pointers[i + 1] += pointers[i];
        }
        let mut next = pointers.clone();
        let mut by_row_indices = vec![0u32; values.len()];
        let mut by_row_values = vec![T::default(); values.len()];
        for ((&row, &column), &value) in rows.iter().zip(columns).zip(values) {
            let place = &mut next[row as usize];
            by_row_indices[*place] = column;
            by_row_values[*place] = value;
            *place += 1;
        }
        Self::canonical(Major::Rows, n_rows, n_cols, &pointers, &by_row_indices, &by_row_values)
    }

    /// Borrows it.
    pub fn view(&self) -> Sparse<'_, T> {
        Sparse {
            n_rows: self.n_rows,
            n_cols: self.n_cols,
            major: self.major,
            pointers: Cow::Borrowed(&self.pointers),
            indices: match &self.indices {
                OwnedIndices::U32(indices) => Indices::U32(indices),
                OwnedIndices::U64(indices) => Indices::U64(indices),
            },
            values: &self.values,
        }
    }
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
            "the sparse pointer array has 2 values, but 3 are needed"
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
            "the sparse index array has 3 values, but 2 are needed"
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
        let triple = SparseMatrix::from_triples(2, 3, &[0, 2], &[0, 0], &[1.0, 1.0]).unwrap_err();
        assert_eq!(triple.to_string(), "sparse triple 1 holds the index 2, outside 0..2");
    }

    #[test]
    fn canonical_sorts_and_adds_up() {
        let (indptr, indices) = ([0i32, 4, 6], [2i64, 0, 2, 0, 0, 1]);
        let values = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let x = SparseMatrix::canonical(Major::Rows, 2, 3, &indptr, &indices, &values).unwrap();
        let x = x.view();
        assert_eq!((x.pointers(), x.values()), ([0, 2, 4].as_slice(), [10.0, 5.0, 16.0, 32.0].as_slice()));
        assert!(matches!(x.indices(), Indices::U32([0, 2, 0, 1])));
        let unsorted = Sparse::csr(2, 3, &indptr, &indices, &values).unwrap_err();
        assert!(matches!(unsorted, Error::SparseOrder { major: 0, previous: 2, next: 0, .. }));
    }

    #[test]
    fn the_transposed_view_has_the_same_entries() {
        let x = Sparse::csr(2, 3, &[0u32, 2, 3], &[0u64, 2, 1], &[1.0f32, 2.0, 3.0]).unwrap();
        let t = x.t();
        assert_eq!((t.n_rows(), t.n_cols(), t.major(), t.n_stored()), (3, 2, Major::Columns, 3));
        assert_eq!((t.pointers(), t.values()), (x.pointers(), x.values()));
    }
}
