//! Consecutive rows, dense or sparse, that wait until they fill a piece.

use std::ops::Range;

use crate::error::Result;
use crate::linalg::{Dense, Major, Sparse};
use crate::scalar::Scalar;
use crate::source::Block;

/// The storage of rows that wait.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Storage {
    /// Row-major values.
    Dense,
    /// Compressed rows: `pointers` has one entry more than there are rows.
    Sparse {
        /// Row i has the entries `pointers[i]..pointers[i + 1]`.
        pointers: Vec<usize>,
        /// The columns of the entries.
        indices: Vec<u64>,
    },
}

/// Consecutive rows in f64, dense or sparse.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) n_features: usize,
    pub(super) n_rows: usize,
    pub(super) storage: Storage,
    pub(super) values: Vec<f64>,
    /// One for each row; all are one if `None`.
    pub(super) weights: Option<Vec<f64>>,
}

impl Held {
    /// No rows.
    pub(super) fn new(n_features: usize) -> Self {
        Self { n_features, n_rows: 0, storage: Storage::Dense, values: Vec::new(), weights: None }
    }

    /// The rows.
    pub(super) fn block(&self) -> Result<Block<'_, f64>> {
        Ok(match &self.storage {
            Storage::Dense => Block::Dense(self.dense()?.0),
            Storage::Sparse { pointers, indices } => {
                Block::Sparse(Sparse::csr(self.n_rows, self.n_features, pointers, indices, &self.values)?)
            }
        })
    }

    /// The rows, which are dense, and their weights.
    pub(super) fn dense(&self) -> Result<(Dense<'_, f64>, Option<&[f64]>)> {
        Ok((Dense::row_major(&self.values, self.n_rows, self.n_features)?, self.weights.as_deref()))
    }

    /// A copy of the rows `rows`.
    pub(super) fn rows(&self, rows: Range<usize>) -> Self {
        let (storage, values) = match &self.storage {
            Storage::Dense => (Storage::Dense, rows.start * self.n_features..rows.end * self.n_features),
            Storage::Sparse { pointers, indices } => {
                let (start, end) = (pointers[rows.start], pointers[rows.end]);
                let pointers = pointers[rows.start..=rows.end].iter().map(|at| at - start).collect();
                (Storage::Sparse { pointers, indices: indices[start..end].to_vec() }, start..end)
            }
        };
        Self {
            n_features: self.n_features,
            n_rows: rows.len(),
            storage,
            values: self.values[values].to_vec(),
            weights: self.weights.as_ref().map(|weights| weights[rows].to_vec()),
        }
    }

    /// A copy of the rows of a block.
    pub(super) fn of_block<T: Scalar>(block: &Block<'_, T>, weights: Option<&[f64]>) -> Self {
        let rows = match block {
            Block::Dense(x) => {
                let mut rows = Self::new(x.n_cols());
                rows.append(x, 0..x.n_rows(), None);
                rows
            }
            Block::Sparse(x) => by_rows(x),
        };
        Self { weights: weights.map(<[f64]>::to_vec), ..rows }
    }

    /// Copies the rows `rows` of a batch and their weights.
    pub(super) fn append<T: Scalar>(
        &mut self,
        x: &Dense<'_, T>,
        rows: Range<usize>,
        weights: Option<&[f64]>,
    ) {
        self.add_weights(weights, &rows);
        self.n_rows += rows.len();
        let rows = x.rows(rows);
        match rows.contiguous() {
            [] => {
                for i in 0..rows.n_rows() {
                    match rows.contiguous_row(i) {
                        Some(row) => self.values.extend(row.iter().map(|value| value.to_f64())),
                        None => {
                            self.values.extend((0..self.n_features).map(|j| rows.get(i, j).to_f64()));
                        }
                    }
                }
            }
            values => self.values.extend(values.iter().map(|value| value.to_f64())),
        }
    }

    /// Makes sparse rows dense.
    pub(super) fn make_dense(&mut self) {
        if let Storage::Sparse { pointers, indices } = &self.storage {
            let mut values = vec![0.0; self.n_rows * self.n_features];
            for (row, ends) in values.chunks_exact_mut(self.n_features).zip(pointers.windows(2)) {
                for entry in ends[0]..ends[1] {
                    row[indices[entry] as usize] += self.values[entry];
                }
            }
            (self.storage, self.values) = (Storage::Dense, values);
        }
    }

    /// Makes dense rows sparse.
    pub(super) fn make_sparse(&mut self) {
        if self.storage == Storage::Dense {
            let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in self.values.chunks_exact(self.n_features) {
                for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    indices.push(column as u64);
                    values.push(*value);
                }
                pointers.push(values.len());
            }
            (self.storage, self.values) = (Storage::Sparse { pointers, indices }, values);
        }
    }

    /// A copy of the rows with these numbers.
    pub(super) fn selected(&self, rows: &[usize]) -> Self {
        let mut values = Vec::new();
        let storage = match &self.storage {
            Storage::Sparse { pointers, indices } if !rows.is_empty() => {
                let (mut ends, mut columns) = (vec![0], Vec::new());
                for &row in rows {
                    let entries = pointers[row]..pointers[row + 1];
                    values.extend_from_slice(&self.values[entries.clone()]);
                    columns.extend_from_slice(&indices[entries]);
                    ends.push(columns.len());
                }
                Storage::Sparse { pointers: ends, indices: columns }
            }
            _ => {
                let p = self.n_features;
                rows.iter().for_each(|row| values.extend_from_slice(&self.values[row * p..(row + 1) * p]));
                Storage::Dense
            }
        };
        let weights = self.weights.as_ref().map(|weights| rows.iter().map(|&row| weights[row]).collect());
        Self { n_features: self.n_features, n_rows: rows.len(), storage, values, weights }
    }

    /// Adds the weights of the rows `rows` of a batch.
    pub(super) fn add_weights(&mut self, weights: Option<&[f64]>, rows: &Range<usize>) {
        if weights.is_none() && self.weights.is_none() {
            return;
        }
        // Rows without weights have weight one.
        let all = self.weights.get_or_insert_with(Vec::new);
        all.resize(self.n_rows, 1.0);
        match weights {
            Some(weights) => all.extend_from_slice(&weights[rows.clone()]),
            None => all.resize(self.n_rows + rows.len(), 1.0),
        }
    }

    /// Keeps the first `n_rows` rows.
    pub(super) fn truncate(&mut self, n_rows: usize, with_weights: bool) {
        self.n_rows = n_rows;
        self.weights = self.weights.take().filter(|_| with_weights);
        if let Some(weights) = &mut self.weights {
            weights.truncate(n_rows);
        }
        if n_rows == 0 {
            self.storage = Storage::Dense;
        }
        let n_values = match &mut self.storage {
            Storage::Dense => n_rows * self.n_features,
            Storage::Sparse { pointers, indices } => {
                pointers.truncate(n_rows + 1);
                indices.truncate(pointers[n_rows]);
                indices.len()
            }
        };
        self.values.truncate(n_values);
    }
}

/// The entries of a sparse block in the order of its rows, without weights.
pub(super) fn by_rows<T: Scalar>(x: &Sparse<'_, T>) -> Held {
    let (n, places, n_stored) = (x.n_rows(), x.pointers(), x.n_stored());
    let (mut indices, mut values) = (vec![0; n_stored], vec![0.0; n_stored]);
    let pointers = if x.major() == Major::Rows {
        for (entry, value) in x.values().iter().enumerate() {
            indices[entry] = x.indices().at(entry) as u64;
            values[entry] = value.to_f64();
        }
        places.to_vec()
    } else {
        let mut ends = vec![0; n + 1];
        (0..n_stored).for_each(|entry| ends[x.indices().at(entry) + 1] += 1);
        for i in 0..n {
            ends[i + 1] += ends[i];
        }
        let mut next = ends.clone();
        for j in 0..x.n_cols() {
            for entry in places[j]..places[j + 1] {
                let place = &mut next[x.indices().at(entry)];
                indices[*place] = j as u64;
                values[*place] = x.values()[entry].to_f64();
                *place += 1;
            }
        }
        ends
    };
    let (n_features, storage) = (x.n_cols(), Storage::Sparse { pointers, indices });
    Held { n_features, n_rows: n, storage, values, weights: None }
}
