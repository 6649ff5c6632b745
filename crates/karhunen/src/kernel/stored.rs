//! Stored entries of sparse rows, copied row by row without the zeros between them.

use crate::linalg::{Major, Sparse};
use crate::scalar::Scalar;
use crate::source::Block;

/// Compressed rows under construction, without zeros.
pub(super) struct StoredRows {
    pub(super) pointers: Vec<u64>,
    pub(super) indices: Vec<u32>,
    pub(super) values: Vec<f64>,
}

impl StoredRows {
    pub(super) fn new() -> Self {
        Self { pointers: vec![0], indices: Vec::new(), values: Vec::new() }
    }

    /// Adds the rows `rows`, ascending, of a block. Columns fit 32 bits.
    pub(super) fn extend<T: Scalar>(&mut self, block: &Block<'_, T>, rows: &[usize]) {
        match block {
            Block::Dense(x) => {
                for &i in rows {
                    (0..x.n_cols()).for_each(|j| self.push(j, x.get(i, j).to_f64()));
                    self.end_row();
                }
            }
            Block::Sparse(x) if x.major() == Major::Rows => {
                for &i in rows {
                    for entry in x.pointers()[i]..x.pointers()[i + 1] {
                        self.push(x.indices().at(entry), x.values()[entry].to_f64());
                    }
                    self.end_row();
                }
            }
            Block::Sparse(x) => self.extend_by_columns(x, rows),
        }
    }

    fn push(&mut self, column: usize, value: f64) {
        if value != 0.0 {
            self.indices.push(column as u32);
            self.values.push(value);
        }
    }

    fn end_row(&mut self) {
        self.pointers.push(self.values.len() as u64);
    }

    /// Adds rows of a matrix stored by columns: counts the entries of each row, then writes them.
    fn extend_by_columns<T: Scalar>(&mut self, x: &Sparse<'_, T>, rows: &[usize]) {
        // The positions in `rows` of row i are `places[i]..places[i + 1]`: a row may be requested more than once.
        let mut places = vec![0; x.n_rows() + 1];
        rows.iter().for_each(|&i| places[i + 1] += 1);
        (0..x.n_rows()).for_each(|i| places[i + 1] += places[i]);
        let mut next = vec![0; rows.len() + 1];
        for_each_stored(x, |i, _, value| {
            (places[i]..places[i + 1]).for_each(|row| next[row + 1] += usize::from(value != 0.0));
        });
        let before = self.values.len();
        next[0] = before;
        (0..rows.len()).for_each(|row| next[row + 1] += next[row]);
        self.pointers.extend(next[1..].iter().map(|&end| end as u64));
        self.indices.resize(next[rows.len()], 0);
        self.values.resize(next[rows.len()], 0.0);
        for_each_stored(x, |i, j, value| {
            for row in (places[i]..places[i + 1]).filter(|_| value != 0.0) {
                self.indices[next[row]] = j as u32;
                self.values[next[row]] = value;
                next[row] += 1;
            }
        });
    }
}

/// Calls `f` with the row, the column and the value of every stored entry, in the order in which they are stored.
pub(super) fn for_each_stored<T: Scalar>(x: &Sparse<'_, T>, mut f: impl FnMut(usize, usize, f64)) {
    for (line, ends) in x.pointers().windows(2).enumerate() {
        for entry in ends[0]..ends[1] {
            let (other, value) = (x.indices().at(entry), x.values()[entry].to_f64());
            match x.major() {
                Major::Rows => f(line, other, value),
                Major::Columns => f(other, line, value),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;

    #[test]
    fn every_storage_gives_the_same_rows_without_zeros() {
        // Row 1 stores an explicit zero, row 2 nothing.
        let dense = [0.0, 1.5, -2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 5.0];
        let csr = Sparse::csr(
            4,
            3,
            &[0_u32, 2, 4, 4, 6],
            &[1_u32, 2, 0, 2, 0, 2],
            &[1.5, -2.0, 3.0, 0.0, 4.0, 5.0],
        )
        .unwrap();
        let csc =
            Sparse::csc(4, 3, &[0_u64, 2, 3, 6], &[1_u64, 3, 0, 0, 1, 3], &[3.0, 4.0, 1.5, -2.0, 0.0, 5.0])
                .unwrap();
        let dense = Dense::row_major(&dense, 4, 3).unwrap();
        for block in [Block::Dense(dense), Block::Sparse(csr), Block::Sparse(csc)] {
            let mut all = StoredRows::new();
            all.extend(&block, &[0, 1, 2, 3]);
            assert_eq!(all.pointers, [0, 2, 3, 3, 5]);
            assert_eq!((all.indices, all.values), (vec![1, 2, 0, 0, 2], vec![1.5, -2.0, 3.0, 4.0, 5.0]));
            // A second block: some of its rows, one of them twice.
            let mut some = StoredRows::new();
            some.extend(&block, &[3]);
            some.extend(&block, &[0, 2, 3, 3]);
            assert_eq!(some.pointers, [0, 2, 4, 4, 6, 8]);
            assert_eq!(some.indices, [0, 2, 1, 2, 0, 2, 0, 2]);
            assert_eq!(some.values, [4.0, 5.0, 1.5, -2.0, 4.0, 5.0, 4.0, 5.0]);
        }
    }
}
