//! Cuts dense blocks into pieces counted from the first row of the source, so that sums over pieces do not depend on
//! the blocks.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::linalg::Dense;
use crate::linalg::dense::pieces::RowPieces;
use crate::scalar::Scalar;
use crate::source::{Block, Source};

/// Largest number of values of short blocks that are copied together, unless [`LONG`] pieces hold more: enough work for
/// several threads.
const HELD_VALUES: usize = 1 << 20;
/// Least number of pieces of a block that is passed without a copy, unless threads share a piece.
const LONG: usize = 4;
/// Largest number of blocks of one row that are held before the memory layout of the rows is decided.
const UNDECIDED: usize = 8;

/// Receives the number of the first row, the rows, and their weights, if any.
pub(crate) type Receiver<'f, T> = dyn FnMut(usize, Block<'_, T>, Option<&[f64]>) -> Result<()> + 'f;
/// Returns the pieces of rows in the memory layout of the argument.
pub(crate) type PiecesOf<'f, T> = dyn Fn(&Dense<'_, T>) -> RowPieces + 'f;

/// Visits `x` as [`Source::visit`] does, but passes dense rows in runs of whole pieces, counted
/// from the first row of the source; the last piece may be shorter. Of long blocks only the pieces that extend over
/// two of them are copied; short blocks are copied together. A single block, and the blocks of a source with sparse
/// blocks, are passed unchanged. The [`Exec`] that `f` receives reports the rows' part of the progress.
///
/// # Errors
/// As [`Source::visit`]; [`Error::Shape`] for a source whose blocks have another shape than it states.
pub(crate) fn visit_pieces<T: Scalar>(
    x: &dyn Source<T>,
    pieces_of: &PiecesOf<'_, T>,
    exec: &Exec<'_>,
    mut f: impl FnMut(Range<usize>, &Block<'_, T>, &Exec<'_>) -> Result<()>,
) -> Result<()> {
    let n = x.shape().0 as f64;
    let mut f = |first: usize, block: Block<'_, T>| {
        let rows = first..first + block.n_rows();
        let part = exec.part(rows.start as f64 / n, rows.end as f64 / n);
        f(rows, &block, &part)
    };
    let mut stated = Stated::of(x);
    if x.is_sparse() || x.n_blocks() == Some(1) {
        x.visit(&mut |first, block| {
            stated.check(&block)?;
            f(first, block)
        })?;
        return stated.check_end();
    }
    let mut cut = Aligned::new();
    let mut receive = |first: usize, block: Block<'_, T>, _: Option<&[f64]>| f(first, block);
    x.visit(&mut |first, block| {
        stated.check(&block)?;
        cut.push(first, block, None, pieces_of, &mut receive)
    })?;
    stated.check_end()?;
    cut.finish(&mut receive)
}

/// The shape that a source states, and the number of its rows that were read.
pub(crate) struct Stated {
    shape: (usize, usize),
    n_read: usize,
}

impl Stated {
    /// Of a source that is about to be visited.
    pub(crate) fn of<T: Scalar>(x: &dyn Source<T>) -> Self {
        Self { shape: x.shape(), n_read: 0 }
    }

    /// Counts the rows of the next block.
    ///
    /// # Errors
    /// [`Error::Shape`] for more rows, or other columns, than the source states.
    pub(crate) fn check<T: Scalar>(&mut self, block: &Block<'_, T>) -> Result<()> {
        let (n, p) = self.shape;
        let found = block.n_cols();
        if found != p {
            return Err(Error::Shape { what: "a block of the source", axis: "columns", found, expected: p });
        }
        self.n_read += block.n_rows();
        if self.n_read > n { Err(self.error()) } else { Ok(()) }
    }

    /// # Errors
    /// [`Error::Shape`] for fewer rows than the source states.
    pub(crate) fn check_end(&self) -> Result<()> {
        if self.n_read < self.shape.0 { Err(self.error()) } else { Ok(()) }
    }

    fn error(&self) -> Error {
        Error::Shape { what: "the source", axis: "rows", found: self.n_read, expected: self.shape.0 }
    }
}

/// The pieces into which rows are cut.
#[derive(Clone, Copy, Default)]
struct PieceShape {
    /// Number of rows of a piece; zero before the memory layout of the rows is decided.
    n_rows: usize,
    /// The layout in which rows are collected.
    column_major: bool,
}

/// Rows that are collected until they fill whole pieces.
pub(crate) struct Aligned<T> {
    /// The pieces, when the memory layout of the rows is decided.
    pieces: PieceShape,
    /// Largest number of rows held; zero before the first block of known layout.
    capacity: usize,
    /// Least number of pieces of a block that is passed without a copy.
    long: usize,
    /// The rows held, in the memory layout of the blocks; in column-major order, columns are `capacity` apart.
    values: Vec<T>,
    weights: Option<Vec<f64>>,
    n_cols: usize,
    n_held: usize,
    /// Number of the first row held.
    first: usize,
}

impl<T: Scalar> Aligned<T> {
    /// Holds no rows.
    pub(crate) fn new() -> Self {
        Self {
            pieces: PieceShape::default(),
            capacity: 0,
            long: LONG,
            values: Vec::new(),
            weights: None,
            n_cols: 0,
            n_held: 0,
            first: 0,
        }
    }

    /// Takes the next block, whose first row is row `first` of all, and passes whole pieces to `f`, except those that
    /// it still collects. A sparse block is passed unchanged, after all rows before it.
    ///
    /// # Errors
    /// As returned by `f`.
    pub(crate) fn push(
        &mut self,
        first: usize,
        block: Block<'_, T>,
        weights: Option<&[f64]>,
        pieces_of: &PiecesOf<'_, T>,
        f: &mut Receiver<'_, T>,
    ) -> Result<()> {
        let Block::Dense(rows) = block else {
            self.finish(f)?;
            return f(first, block, weights);
        };
        if self.capacity == 0 {
            self.n_cols = rows.n_cols();
            if self.pieces.n_rows == 0 {
                // A single row does not show the memory layout.
                if rows.n_rows() == 1 && self.n_held < UNDECIDED {
                    self.hold(first, &rows, weights);
                    return Ok(());
                }
                let (n_rows, column_major) = (pieces_of(&rows).n_rows.max(1), rows.is_column_major());
                self.pieces = PieceShape { n_rows, column_major };
            }
            let n_rows = self.pieces.n_rows;
            let n_pieces = HELD_VALUES / (n_rows * rows.n_cols().max(1));
            self.long = if pieces_of(&rows).shared { 1 } else { LONG };
            self.capacity = n_rows * n_pieces.max(self.long);
            if self.n_held > 0 {
                let (values, weights) = (std::mem::take(&mut self.values), self.weights.take());
                let (n_held, first) = (std::mem::take(&mut self.n_held), self.first);
                let held = Block::Dense(Dense::row_major(&values, n_held, self.n_cols)?);
                self.push(first, held, weights.as_deref(), pieces_of, f)?;
            }
        }
        let (n, piece_rows) = (rows.n_rows(), self.pieces.n_rows);
        let mut done = 0;
        while done < n {
            let is_long = n - done >= self.long * piece_rows;
            if is_long && self.n_held == 0 {
                let end = done + (n - done) / piece_rows * piece_rows;
                f(first + done, Block::Dense(rows.rows(done..end)), weights.map(|w| &w[done..end]))?;
                done = end;
                continue;
            }
            let until = if is_long { self.n_held.next_multiple_of(piece_rows) } else { self.capacity };
            let end = n.min(done + until - self.n_held);
            self.hold(first + done, &rows.rows(done..end), weights.map(|w| &w[done..end]));
            done = end;
            if self.n_held == until {
                self.finish(f)?;
            }
        }
        Ok(())
    }

    fn hold(&mut self, first: usize, rows: &Dense<'_, T>, weights: Option<&[f64]>) {
        if self.n_held == 0 {
            self.first = first;
            self.values.clear();
            self.weights = None;
        }
        // Earlier rows without weights have weight one.
        if weights.is_some() || self.weights.is_some() {
            let all = self.weights.get_or_insert_with(Vec::new);
            all.resize(self.n_held, 1.0);
            match weights {
                Some(weights) => all.extend_from_slice(weights),
                None => all.resize(self.n_held + rows.n_rows(), 1.0),
            }
        }
        let row = |i: usize| (0..self.n_cols).map(move |j| rows.get(i, j));
        if self.pieces.column_major {
            self.values.resize(self.capacity * self.n_cols, T::default());
            let columns = rows.t();
            for (j, held) in self.values.chunks_exact_mut(self.capacity).enumerate() {
                let held = &mut held[self.n_held..self.n_held + rows.n_rows()];
                match columns.contiguous_row(j) {
                    Some(column) => held.copy_from_slice(column),
                    None => held.iter_mut().enumerate().for_each(|(i, held)| *held = rows.get(i, j)),
                }
            }
        } else {
            for i in 0..rows.n_rows() {
                match rows.contiguous_row(i) {
                    Some(row) => self.values.extend_from_slice(row),
                    None => self.values.extend(row(i)),
                }
            }
        }
        self.n_held += rows.n_rows();
    }

    /// Passes the rows that are held to `f`.
    ///
    /// # Errors
    /// As returned by `f`.
    pub(crate) fn finish(&mut self, f: &mut Receiver<'_, T>) -> Result<()> {
        if self.n_held == 0 {
            return Ok(());
        }
        let shape = (std::mem::take(&mut self.n_held), self.n_cols);
        let column_major = self.pieces.column_major;
        let strides = if column_major { (1, self.capacity as isize) } else { (self.n_cols as isize, 1) };
        let rows = Dense::strided(&self.values, shape, strides, 0)?;
        f(self.first, Block::Dense(rows), self.weights.as_deref())
    }
}
