//! Random sparse matrices as plain arrays.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::rows::Rows;

/// Distribution of the entries of a sparse matrix over its columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Columns {
    /// Uniform.
    Uniform,
    /// In proportion to `1 / (1 + column)`, as words in a text.
    Zipf,
}

/// Compressed rows (or, of [`SparseArrays::by_columns`], columns) with sorted, unique indices.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseArrays {
    /// Number of rows.
    pub n_rows: usize,
    /// Number of columns.
    pub n_cols: usize,
    /// Line `i` is stored at `indptr[i]..indptr[i + 1]`.
    pub indptr: Vec<usize>,
    /// Positions within the lines.
    pub indices: Vec<usize>,
    /// The stored values.
    pub values: Vec<f64>,
}

/// A random matrix with about `density * n * p` stored entries: values `1 + |normal|` times a factor of the row
/// and one of the column, so that all variances differ.
pub fn sparse(n: usize, p: usize, density: f64, columns: Columns, seed: u64) -> SparseArrays {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let harmonic: f64 = (1..=p).map(|j| 1.0 / j as f64).sum();
    let probability = |j: usize| match columns {
        Columns::Uniform => density,
        Columns::Zipf => (density * p as f64 / harmonic / (j + 1) as f64).min(1.0),
    };
    let mut rows = vec![vec![0.0; p]; n];
    for row in &mut rows {
        let row_factor = rng.random_range(0.5..2.0);
        for (j, x) in row.iter_mut().enumerate() {
            if rng.random_range(0.0..1.0) < probability(j) {
                let normal: f64 = rng.sample(StandardNormal);
                *x = (1.0 + normal.abs()) * row_factor * (1.0 + (j % 7) as f64);
            }
        }
    }
    SparseArrays::of_rows(&rows)
}

impl SparseArrays {
    /// The entries of `rows` that are not zero.
    pub fn of_rows(rows: &[Vec<f64>]) -> Self {
        let n_cols = rows.first().map_or(0, Vec::len);
        let mut arrays =
            Self { n_rows: rows.len(), n_cols, indptr: vec![0], indices: Vec::new(), values: Vec::new() };
        for row in rows {
            for (j, &x) in row.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                arrays.indices.push(j);
                arrays.values.push(x);
            }
            arrays.indptr.push(arrays.indices.len());
        }
        arrays
    }

    /// The dense matrix.
    pub fn to_rows(&self) -> Rows {
        let mut rows = vec![vec![0.0; self.n_cols]; self.n_rows];
        for (row, ends) in rows.iter_mut().zip(self.indptr.windows(2)) {
            for entry in ends[0]..ends[1] {
                row[self.indices[entry]] += self.values[entry];
            }
        }
        rows
    }

    /// This matrix compressed by columns: `indptr` runs over columns, `indices` are rows. The shape is unchanged.
    pub fn by_columns(&self) -> Self {
        let rows = self.to_rows();
        let transposed: Rows = (0..self.n_cols).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
        Self { n_rows: self.n_rows, n_cols: self.n_cols, ..Self::of_rows(&transposed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_hold_the_same_matrix() {
        let rows = vec![vec![1.0, 0.0, 2.0], vec![0.0, 0.0, 3.0]];
        let by_rows = SparseArrays::of_rows(&rows);
        assert_eq!((by_rows.indptr.as_slice(), by_rows.indices.as_slice()), (&[0, 2, 3][..], &[0, 2, 2][..]));
        assert_eq!(by_rows.to_rows(), rows);
        let by_columns = by_rows.by_columns();
        assert_eq!((by_columns.n_rows, by_columns.n_cols), (2, 3));
        assert_eq!(by_columns.indptr, [0, 1, 1, 3]);
        assert_eq!((by_columns.indices, by_columns.values), (vec![0, 0, 1], vec![1.0, 2.0, 3.0]));
    }

    #[test]
    fn density_and_columns_are_as_requested() {
        let uniform = sparse(400, 50, 0.1, Columns::Uniform, 3);
        assert!((uniform.values.len() as f64 / 2000.0 - 1.0).abs() < 0.1);
        let zipf = sparse(400, 50, 0.1, Columns::Zipf, 3);
        let in_column = |j| zipf.indices.iter().filter(|&&c| c == j).count();
        assert_eq!(in_column(0), 400);
        assert!(in_column(40) < 40 && zipf.values.iter().all(|&x| x > 0.0));
    }
}
