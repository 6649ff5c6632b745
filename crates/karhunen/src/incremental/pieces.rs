//! Division of batches into pieces: rows wait until they fill one, so that pieces do not depend on the batches.

use crate::error::Result;
use crate::incremental::held::{Held, Storage, by_rows};
use crate::linalg::Dense;
use crate::scalar::Scalar;
use crate::source::Block;

/// Most values that are copied together from a block whose rows are not contiguous, unless a piece holds
/// more.
const COPIED: usize = 1 << 20;

/// The size of a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PieceSize {
    /// Rows of a dense piece.
    pub(super) dense_rows: usize,
    /// Most rows of a sparse piece.
    pub(super) sparse_rows: usize,
    /// Number of stored entries of a sparse piece: the piece ends with the row that reaches it.
    pub(super) sparse_entries: usize,
}

/// Division of a batch into pieces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Division {
    /// Size of a piece.
    pub(super) size: PieceSize,
    /// Size of the first piece, if it differs: then dense and sparse rows wait together, and rows of weight zero do not
    /// wait.
    pub(super) first: Option<PieceSize>,
    /// If true, passes several whole pieces at once, without a copy if rows are contiguous.
    pub(super) runs: bool,
    /// If true, ends the last piece with the batch.
    pub(super) close: bool,
}

impl Division {
    /// Size of the present piece.
    fn size(&self) -> PieceSize {
        self.first.unwrap_or(self.size)
    }

    /// Tests whether dense and sparse rows wait together.
    fn mixes(&self) -> bool {
        self.first.is_some()
    }

    /// Tests whether they are dense, as many dense rows as sparse ones may wait; otherwise they are sparse.
    fn mixes_as_dense(&self) -> bool {
        self.first.is_some_and(|size| size.dense_rows >= size.sparse_rows)
    }
}

/// Consecutive rows that fill one or more pieces, or end the last one.
pub(super) enum Rows<'a, T> {
    /// Rows that waited or were copied.
    Held(&'a Held),
    /// Whole pieces of dense rows.
    Run {
        /// The first piece, if it holds rows that waited.
        first: Option<&'a Held>,
        /// The rows of the other pieces, as they came.
        rows: Dense<'a, T>,
        /// Their weights.
        weights: Option<&'a [f64]>,
    },
}

/// Receives rows in their order; `None` after the last, before the push takes effect.
pub(super) type Receiver<'f, T> = dyn FnMut(Option<Rows<'_, T>>) -> Result<()> + 'f;

impl Held {
    /// Number of rows held after a push of `n` dense rows in pieces of `piece` rows whose last is not closed.
    pub(super) fn n_waiting(&self, n: usize, piece: usize) -> usize {
        // Dense rows complete a sparse piece.
        let before = if self.storage == Storage::Dense { self.n_rows } else { 0 };
        (before + n) % piece
    }

    /// Adds the rows of a checked block, and passes every complete piece to `f`. An error leaves the rows held
    /// unchanged.
    ///
    /// # Errors
    /// As returned by `f`.
    pub(super) fn push<T: Scalar>(
        &mut self,
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        mut division: Division,
        f: &mut Receiver<'_, T>,
    ) -> Result<()> {
        if division.mixes() && weights.is_some_and(|weights| weights.contains(&0.0)) {
            return self.push_weighted(Self::of_block(block, weights), division, f);
        }
        let (n_before, had_weights) = (self.n_rows, self.weights.is_some());
        let is_dense = matches!(block, Block::Dense(_));
        // Rows that change their storage are needed again after an error.
        let converted = division.mixes() && self.n_rows > 0 && is_dense != (self.storage == Storage::Dense);
        let before = converted.then(|| self.clone());
        // The first complete piece begins with the rows held before; they are needed again after an error.
        let mut first = None;
        let outcome = match block {
            Block::Dense(x) => self.push_dense(x, weights, &mut division, &mut first, f),
            Block::Sparse(x) => self.push_sparse(&by_rows(x), weights, &mut division, &mut first, f),
        };
        let outcome = outcome
            .and_then(|()| if division.close { self.complete(&mut division, &mut first, f) } else { Ok(()) })
            .and_then(|()| f(None));
        if outcome.is_err() {
            *self = before.or(first).unwrap_or_else(|| std::mem::replace(self, Self::new(0)));
            self.truncate(n_before, had_weights);
        }
        outcome
    }

    /// Passes rows of weight zero to `f`, and pushes the others.
    fn push_weighted<T: Scalar>(
        &mut self,
        rows: Self,
        division: Division,
        f: &mut Receiver<'_, T>,
    ) -> Result<()> {
        let has_weight = |row: &usize| rows.weights.as_ref().is_none_or(|weights| weights[*row] > 0.0);
        let (kept, others): (Vec<usize>, Vec<usize>) = (0..rows.n_rows).partition(has_weight);
        f(Some(Rows::Held(&rows.selected(&others))))?;
        let kept = rows.selected(&kept);
        // Copies of rows are passed as rows that waited.
        let division = Division { runs: false, ..division };
        self.push(&kept.block()?, kept.weights.as_deref(), division, &mut |rows| match rows {
            Some(Rows::Held(rows)) => f(Some(Rows::Held(rows))),
            _ => f(None),
        })
    }

    fn push_dense<T: Scalar>(
        &mut self,
        x: &Dense<'_, T>,
        weights: Option<&[f64]>,
        division: &mut Division,
        first: &mut Option<Self>,
        f: &mut Receiver<'_, T>,
    ) -> Result<()> {
        let n = x.n_rows();
        let mut done = 0;
        if n > 0 && self.n_rows > 0 && self.storage != Storage::Dense {
            if division.mixes_as_dense() {
                self.make_dense();
            } else if !division.mixes() {
                self.complete(division, first, f)?;
            }
            while done < n && self.storage != Storage::Dense {
                let mut row = Self::new(self.n_features);
                row.append(x, done..done + 1, None);
                row.make_sparse();
                self.push_sparse(&row, weights.map(|weights| &weights[done..=done]), division, first, f)?;
                done += 1;
            }
        }
        let is_contiguous = n > 0 && x.contiguous_row(0).is_some();
        while done < n {
            let piece = division.size().dense_rows;
            if self.n_rows >= piece {
                self.complete(division, first, f)?;
                continue;
            }
            // Rows that fill the piece held, and rows of the whole pieces after them.
            let fill = if self.n_rows > 0 { (n - done).min(piece - self.n_rows) } else { 0 };
            let run = if division.runs { (n - done - fill) / piece * piece } else { 0 };
            if run > 0 && is_contiguous {
                self.append(x, done..done + fill, weights);
                let whole = done + fill..done + fill + run;
                let weights = weights.map(|weights| &weights[whole.clone()]);
                self.complete_with(Some((x.rows(whole.clone()), weights)), division, first, f)?;
                done = whole.end;
                continue;
            }
            let together = (COPIED / (piece * self.n_features).max(1)).max(1) * piece;
            let most = if self.n_rows == 0 && run > 0 { run.min(together) } else { piece - self.n_rows };
            let rows = done..n.min(done + most);
            done = rows.end;
            self.append(x, rows, weights);
            if self.n_rows >= piece {
                self.complete(division, first, f)?;
            }
        }
        Ok(())
    }

    fn push_sparse<T: Scalar>(
        &mut self,
        x: &Self,
        weights: Option<&[f64]>,
        division: &mut Division,
        first: &mut Option<Self>,
        f: &mut Receiver<'_, T>,
    ) -> Result<()> {
        let Storage::Sparse { pointers: ends, indices: columns } = &x.storage else { return Ok(()) };
        if x.n_rows > 0 && self.n_rows > 0 && self.storage == Storage::Dense {
            if !division.mixes() {
                self.complete(division, first, f)?;
            } else if !division.mixes_as_dense() {
                self.make_sparse();
            }
        }
        for i in 0..x.n_rows {
            if self.n_rows == 0 && self.storage == Storage::Dense {
                self.storage = Storage::Sparse { pointers: vec![0], indices: Vec::new() };
            }
            self.add_weights(weights, &(i..i + 1));
            let entries = ends[i]..ends[i + 1];
            match &mut self.storage {
                Storage::Dense => {
                    let start = self.values.len();
                    self.values.resize(start + self.n_features, 0.0);
                    for (column, value) in columns[entries.clone()].iter().zip(&x.values[entries]) {
                        self.values[start + *column as usize] += value;
                    }
                }
                Storage::Sparse { pointers, indices } => {
                    self.values.extend_from_slice(&x.values[entries.clone()]);
                    indices.extend_from_slice(&columns[entries]);
                    pointers.push(indices.len());
                }
            }
            self.n_rows += 1;
            if self.is_complete(division.size()) {
                self.complete(division, first, f)?;
            }
        }
        Ok(())
    }

    /// Tests whether the rows fill a piece of this size.
    fn is_complete(&self, size: PieceSize) -> bool {
        match self.storage {
            Storage::Dense => self.n_rows >= size.dense_rows,
            Storage::Sparse { .. } => {
                self.n_rows >= size.sparse_rows || self.values.len() >= size.sparse_entries
            }
        }
    }

    /// Passes the rows held to `f`, and holds none. The first piece is moved to `first`.
    fn complete<T: Scalar>(
        &mut self,
        division: &mut Division,
        first: &mut Option<Self>,
        f: &mut Receiver<'_, T>,
    ) -> Result<()> {
        self.complete_with(None, division, first, f)
    }

    /// As [`Held::complete`], with the rows of the next whole pieces and their weights, if any.
    fn complete_with<T: Scalar>(
        &mut self,
        run: Option<(Dense<'_, T>, Option<&[f64]>)>,
        division: &mut Division,
        first: &mut Option<Self>,
        f: &mut Receiver<'_, T>,
    ) -> Result<()> {
        let has_rows = self.n_rows > 0;
        let rows = match run {
            Some((rows, weights)) => Rows::Run { first: has_rows.then_some(&*self), rows, weights },
            None if has_rows => Rows::Held(self),
            None => return Ok(()),
        };
        division.first = None;
        let outcome = f(Some(rows));
        if first.is_none() && has_rows {
            *first = Some(std::mem::replace(self, Self::new(self.n_features)));
        } else {
            self.truncate(0, false);
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::error::Error;
    use crate::linalg::Sparse;

    const SIZE: PieceSize = PieceSize { dense_rows: 3, sparse_rows: 4, sparse_entries: 5 };
    const DIVISION: Division = Division { size: SIZE, first: None, runs: true, close: false };

    /// Row i is (i, 10 i).
    fn values(rows: Range<usize>) -> Vec<f64> {
        rows.flat_map(|i| [i as f64, 10.0 * i as f64]).collect()
    }

    /// The pieces that pushes of the given sizes pass, by their number of rows and first value.
    fn pieces(sizes: &[usize]) -> (Vec<(usize, f64)>, Held) {
        let (mut held, mut found, mut n) = (Held::new(2), Vec::new(), 0);
        for &size in sizes {
            let batch = values(n..n + size);
            let block = Block::Dense(Dense::row_major(&batch, size, 2).unwrap());
            held.push(&block, None, DIVISION, &mut |rows| {
                match rows {
                    Some(Rows::Held(held)) => found.push((held.n_rows, held.values[0])),
                    Some(Rows::Run { first, rows, .. }) => {
                        found.extend(first.map(|held| (held.n_rows, held.values[0])));
                        found.push((rows.n_rows(), rows.get(0, 0)));
                    }
                    None => {}
                }
                Ok(())
            })
            .unwrap();
            n += size;
        }
        (found, held)
    }

    #[test]
    fn pieces_are_counted_from_the_first_row() {
        assert_eq!(pieces(&[7]).0, [(6, 0.0)]);
        assert_eq!(pieces(&[1, 1, 1, 4]).0, [(3, 0.0), (3, 3.0)]);
        assert_eq!(pieces(&[2, 8]).0, [(3, 0.0), (6, 3.0)]);
        for sizes in [&[7][..], &[1; 7], &[2, 5], &[4, 0, 3]] {
            assert_eq!(pieces(sizes).1, pieces(&[7]).1);
        }
        assert_eq!(pieces(&[7]).1.values, values(6..7));
    }

    #[test]
    fn sparse_rows_end_a_piece_by_number_and_by_entries() {
        // By columns: rows with 1, 0, 2, 2 and 1 entries.
        let (pointers, indices) = ([0, 3, 6], [0, 2, 3, 2, 3, 4]);
        let stored = [1.0f32, 2.0, 3.0, 20.0, 30.0, 40.0];
        let x = Sparse::csc(5, 2, &pointers, &indices, &stored).unwrap();
        let (mut held, mut found) = (Held::new(2), Vec::new());
        held.push(&Block::Sparse(x), Some(&[1.0, 2.0, 3.0, 4.0, 5.0]), DIVISION, &mut |rows| {
            match rows {
                Some(Rows::Held(piece)) => found.push(piece.clone()),
                Some(Rows::Run { .. }) => panic!("sparse rows are copied"),
                None => {}
            }
            Ok(())
        })
        .unwrap();
        assert_eq!((found.len(), found[0].n_rows), (1, 4));
        assert_eq!(found[0].values, [1.0, 2.0, 20.0, 3.0, 30.0]);
        let expected = Storage::Sparse { pointers: vec![0, 1, 1, 3, 5], indices: vec![0, 0, 1, 0, 1] };
        assert_eq!(found[0].storage, expected);
        assert_eq!((held.n_rows, held.weights.clone()), (1, Some(vec![5.0])));
        let part = found[0].rows(2..4);
        assert_eq!((part.values, part.weights), (vec![2.0, 20.0, 3.0, 30.0], Some(vec![3.0, 4.0])));
    }

    #[test]
    fn after_an_error_the_rows_before_are_held() {
        for n_before in [0, 2] {
            for runs in [false, true] {
                let (_, before) = pieces(&[n_before]);
                for n_passed in 0..3 {
                    let mut held = before.clone();
                    let batch = values(n_before..n_before + 12);
                    let block = Block::Dense(Dense::row_major(&batch, 12, 2).unwrap());
                    let mut calls = 0;
                    let outcome =
                        held.push(&block, Some(&[2.0; 12]), Division { runs, ..DIVISION }, &mut |_| {
                            calls += 1;
                            if calls > n_passed { Err(Error::Stopped { phase: "test" }) } else { Ok(()) }
                        });
                    if outcome.is_err() {
                        assert_eq!(held, before, "{n_before} {runs} {n_passed}");
                    }
                }
            }
        }
    }

    #[test]
    fn after_an_error_rows_of_both_storages_are_as_before() {
        let (pointers, columns) = (Vec::from_iter(0..=6), [0, 1, 0, 1, 0, 1].map(|column: u32| column));
        let stored = values(1..4);
        let weights = [0.0, 1.0, 0.0, 0.0, 1.0, 1.0];
        let batch = values(2..8);
        let dense = || Block::Dense(Dense::row_major(&batch, 6, 2).unwrap());
        let sparse = || Block::Sparse(Sparse::csr(6, 2, &pointers, &columns, &stored).unwrap());
        for dense_rows in [2, 4] {
            // Dense rows where four of them may wait, otherwise sparse ones.
            let first = Some(PieceSize { dense_rows, ..SIZE });
            let division = Division { first, runs: false, ..DIVISION };
            for (before, after) in [(dense(), sparse()), (sparse(), dense()), (dense(), dense())] {
                let mut held = Held::new(2);
                let none_weighs = Some(&[0.0, 0.0, 1.0, 0.0, 0.0, 0.0][..]);
                held.push(&before, none_weighs, division, &mut |_| Ok(())).unwrap();
                let before = held.clone();
                assert!(before.n_rows > 0);
                for n_passed in 0..4 {
                    held = before.clone();
                    let mut n_calls = 0;
                    let outcome = held.push(&after, Some(&weights), division, &mut |_| {
                        n_calls += 1;
                        if n_calls > n_passed { Err(Error::Stopped { phase: "test" }) } else { Ok(()) }
                    });
                    assert!(outcome.is_ok() || held == before, "{dense_rows} {n_passed}");
                }
            }
        }
    }
}
