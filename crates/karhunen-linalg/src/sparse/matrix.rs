//! Owned sparse matrices, from compressed arrays or triples in any order.

use crate::Major;
use crate::error::{Error, Result};
use crate::memory;
use crate::permutation::check_places;
use crate::scalar::{Scalar, compiled};
use crate::sparse::structure::{check_indices, check_pointers};
use crate::sparse::view::{IndexInt, Indices, Sparse};

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
    /// Copies a compressed matrix, sorts the indices of each line and sums repeated entries.
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
        // The indices are in range, hence not negative, and are read as unsigned numbers.
        Ok(match Indices::of(indices) {
            Indices::U32(indices) => {
                let order = compiled!(T, SparseMatrix::<T>::ordered::<u32>
                    => fn(Major, (usize, usize), Vec<usize>, &[u32], &[T]) -> SparseMatrix<T>);
                order(major, (n_rows, n_cols), old.into_owned(), indices, values)
            }
            Indices::U64(indices) => {
                let order = compiled!(T, SparseMatrix::<T>::ordered::<u64>
                    => fn(Major, (usize, usize), Vec<usize>, &[u64], &[T]) -> SparseMatrix<T>);
                order(major, (n_rows, n_cols), old.into_owned(), indices, values)
            }
        })
    }

    /// A matrix of valid compressed arrays whose indices may be unordered. Corrects the pointers in place.
    fn ordered<I: IndexInt>(
        major: Major,
        (n_rows, n_cols): (usize, usize),
        mut pointers: Vec<usize>,
        indices: &[I],
        values: &[T],
    ) -> Self {
        let n_minor = if major == Major::Rows { n_cols } else { n_rows };
        let mut new_indices: Vec<u64> = Vec::with_capacity(values.len());
        let mut new_values: Vec<T> = Vec::with_capacity(values.len());
        let mut line: Vec<(u64, T)> = Vec::new();
        let mut begin = 0;
        for pointer in &mut pointers[1..] {
            let range = begin..*pointer;
            begin = *pointer;
            if indices[range.clone()].is_sorted_by(|a, b| a.widen() < b.widen()) {
                new_indices.extend(indices[range.clone()].iter().map(|i| i.widen() as u64));
                new_values.extend_from_slice(&values[range]);
                *pointer = new_indices.len();
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
            *pointer = new_indices.len();
        }
        let indices = if u32::try_from(n_minor).is_ok() {
            OwnedIndices::U32(new_indices.iter().map(|&i| i as u32).collect())
        } else {
            OwnedIndices::U64(new_indices)
        };
        Self { n_rows, n_cols, major, pointers, indices, values: new_values }
    }

    /// Compresses triples by rows and sums repeated entries.
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
        // Sorting holds the entries twice.
        let bytes = 8.0 * (n_rows as f64 + 1.0) + (12.0 + 2.0 * size_of::<T>() as f64) * values.len() as f64;
        memory::ask(&format!("a sparse matrix of shape ({n_rows}, {n_cols})"), bytes, || {
            vec!["check the shape".into(), "leave out rows without entries".into()]
        })?;
        let mut pointers = vec![0usize; n_rows + 1];
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
        let mut by_row_indices = vec![0u32; values.len()];
        let mut by_row_values = vec![T::default(); values.len()];
        for ((&row, &column), &value) in rows.iter().zip(columns).zip(values) {
            // While rows are filled, each pointer is the next free position of its row; at the end it is the start
            // of the next row.
            let place = &mut pointers[row as usize];
            by_row_indices[*place] = column;
            by_row_values[*place] = value;
            *place += 1;
        }
        pointers.copy_within(..n_rows, 1);
        pointers[0] = 0;
        check_indices(Major::Rows, n_cols, &pointers, &by_row_indices, false)?;
        Ok(Self::ordered(Major::Rows, (n_rows, n_cols), pointers, &by_row_indices, &by_row_values))
    }

    /// Compressed rows with sorted, unique indices, without a copy: row `i` has the columns
    /// `indices[pointers[i]..pointers[i + 1]]` and the values at these positions.
    ///
    /// ```
    /// use karhunen::matrix::SparseMatrix;
    /// let matrix = SparseMatrix::from_csr(2, 3, vec![0, 1, 2], vec![2, 0], vec![1.0, 5.0])?;
    /// assert_eq!(matrix.into_csr(), Some((vec![0, 1, 2], vec![2, 0], vec![1.0, 5.0])));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Sparse::csr`].
    pub fn from_csr(
        n_rows: usize,
        n_cols: usize,
        pointers: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self> {
        Sparse::csr(n_rows, n_cols, &pointers, &indices, &values)?;
        Ok(Self { n_rows, n_cols, major: Major::Rows, pointers, indices: OwnedIndices::U32(indices), values })
    }

    /// The matrix whose column `places[j]` is column `j` of this one.
    ///
    /// ```
    /// use karhunen::matrix::SparseMatrix;
    /// let matrix = SparseMatrix::from_csr(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 5.0, 7.0])?;
    /// let moved = matrix.with_columns_at(&[2, 1, 0])?;
    /// assert_eq!(moved.into_csr(), Some((vec![0, 2, 3], vec![0, 2, 1], vec![5.0, 1.0, 7.0])));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] unless `places` holds every column once.
    pub fn with_columns_at(self, places: &[usize]) -> Result<Self> {
        check_places(places, self.n_cols)?;
        if self.major == Major::Rows {
            let shape = (self.n_rows, self.n_cols);
            let moved: Vec<u64> = match &self.indices {
                OwnedIndices::U32(old) => old.iter().map(|j| places[*j as usize] as u64).collect(),
                OwnedIndices::U64(old) => old.iter().map(|j| places[*j as usize] as u64).collect(),
            };
            return Ok(Self::ordered(self.major, shape, self.pointers, &moved, &self.values));
        }
        let mut order = vec![0; self.n_cols];
        places.iter().enumerate().for_each(|(j, place)| order[*place] = j);
        let columns: Vec<_> = order.iter().map(|&j| self.pointers[j]..self.pointers[j + 1]).collect();
        let mut pointers = vec![0];
        pointers.extend(columns.iter().scan(0, |end, column| {
            *end += column.len();
            Some(*end)
        }));
        let entries = || columns.iter().cloned().flatten();
        let values = entries().map(|e| self.values[e]).collect();
        let indices = match &self.indices {
            OwnedIndices::U32(old) => OwnedIndices::U32(entries().map(|e| old[e]).collect()),
            OwnedIndices::U64(old) => OwnedIndices::U64(entries().map(|e| old[e]).collect()),
        };
        Ok(Self { pointers, indices, values, ..self })
    }

    /// Pointers, column indices and values, borrowed; `None` as for [`SparseMatrix::into_csr`].
    pub fn as_csr(&self) -> Option<(&[usize], &[u32], &[T])> {
        match (self.major, &self.indices) {
            (Major::Rows, OwnedIndices::U32(indices)) => Some((&self.pointers, indices, &self.values)),
            _ => None,
        }
    }

    /// Pointers, column indices and values; `None` for compressed columns, and for more than 2^32 columns.
    pub fn into_csr(self) -> Option<(Vec<usize>, Vec<u32>, Vec<T>)> {
        match (self.major, self.indices) {
            (Major::Rows, OwnedIndices::U32(indices)) => Some((self.pointers, indices, self.values)),
            _ => None,
        }
    }

    /// A borrowed view.
    pub fn view(&self) -> Sparse<'_, T> {
        let indices = match &self.indices {
            OwnedIndices::U32(indices) => Indices::U32(indices),
            OwnedIndices::U64(indices) => Indices::U64(indices),
        };
        Sparse::of_parts((self.n_rows, self.n_cols), self.major, &self.pointers, indices, &self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_move() {
        let entries = ([0u32, 0, 1, 1, 1], [0u32, 3, 1, 2, 3], [1.0, 2.0, 3.0, 4.0, 5.0]);
        let by_rows = SparseMatrix::from_triples(2, 4, &entries.0, &entries.1, &entries.2).unwrap();
        let pointers = [0u64, 1, 2, 3, 5];
        let by_columns = SparseMatrix::canonical(
            Major::Columns,
            2,
            4,
            &pointers,
            &[0u64, 1, 1, 0, 1],
            &[1.0, 3.0, 4.0, 2.0, 5.0],
        )
        .unwrap();
        let places = [2, 0, 3, 1];
        let moved: Vec<u32> = entries.1.iter().map(|j| places[*j as usize] as u32).collect();
        let expected = SparseMatrix::from_triples(2, 4, &entries.0, &moved, &entries.2).unwrap();
        let found = by_rows.with_columns_at(&places).unwrap();
        assert_eq!(found.into_csr(), expected.into_csr());
        let found = by_columns.clone().with_columns_at(&places).unwrap();
        assert_eq!(found.pointers, [0, 1, 3, 4, 5]);
        assert_eq!(found.values, [3.0, 2.0, 5.0, 1.0, 4.0]);
        assert!(matches!(found.view().indices(), Indices::U32([1, 0, 1, 0, 1])));
        for wrong in [&[0, 1, 2][..], &[0, 1, 2, 2], &[0, 1, 2, 4]] {
            assert!(matches!(by_columns.clone().with_columns_at(wrong), Err(Error::Shape { .. })));
        }
    }

    #[test]
    fn canonical_sorts_indices_and_sums_repeated_entries() {
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
    fn triples_out_of_range_are_refused() {
        let triple = SparseMatrix::from_triples(2, 3, &[0, 2], &[0, 0], &[1.0, 1.0]).unwrap_err();
        assert_eq!(triple.to_string(), "sparse triple 1 holds the index 2, outside 0..2");
    }
}
