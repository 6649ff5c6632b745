//! Sums over the rows of sources and of streams, block by block.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec};
use crate::linalg::Dense;
use crate::moments::{check_finite, check_size};
use crate::scalar::Scalar;
use crate::source::{Aligned, Block, Source, Stream, visit_pieces};
use crate::weights::check_weights;

/// Sums over rows that include the moments of the rows.
pub(super) trait RowSums {
    /// Tests that all sums are finite.
    fn is_finite(&self) -> bool;
    /// Number of dense rows of a piece.
    fn piece_rows(n_cols: usize) -> usize;
    /// Adds the rows of a block. The first row of a dense block begins a piece.
    fn add_rows<T: Scalar>(
        &mut self,
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()>;
}

/// Adds `part` to `total`.
pub(super) fn add<A: Accumulate>(total: &mut Option<A>, part: A) {
    match total {
        Some(total) => total.merge(&part),
        none => *none = Some(part),
    }
}

/// Adds all rows of `x`, in one visit.
pub(super) fn add_source<T: Scalar, A: RowSums>(
    total: &mut A,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<()> {
    let (n_samples, n_features) = x.shape();
    if n_samples == 0 || n_features == 0 {
        return Err(Error::Empty { n_samples, n_features });
    }
    check_size((n_samples, n_features))?;
    check_weights(weights, n_samples)?;
    let pieces = |rows: &Dense<'_, T>| A::piece_rows(rows.n_cols()).into();
    visit_pieces(x, &pieces, exec, |rows, block, exec| {
        add_checked(total, rows.start, block, weights.map(|w| &w[rows]), exec)
    })
}

/// Adds all rows of a stream.
pub(super) fn add_stream<T: Scalar, A: RowSums>(
    total: &mut A,
    stream: &mut dyn Stream<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    let n_features = stream.n_features();
    let mut cut = Aligned::new();
    let (mut n_batches, mut n_samples) = (0, 0);
    // The number of rows, and so the fraction done, is unknown before the end.
    let exec = &exec.part(0.0, 0.0);
    let mut add = |first: usize, block: Block<'_, T>, weights: Option<&[f64]>| {
        add_checked(total, first, &block, weights, exec)
    };
    while let Some(batch) = stream.next()? {
        batch.check(n_features, n_batches, n_samples)?;
        let n_rows = batch.rows.n_rows();
        cut.push(
            n_samples,
            batch.rows,
            batch.weights,
            &|rows| A::piece_rows(rows.n_cols()).into(),
            &mut add,
        )?;
        (n_batches, n_samples) = (n_batches + 1, n_samples + n_rows);
    }
    cut.finish(&mut add)?;
    if n_samples == 0 || n_features == 0 {
        return Err(Error::Empty { n_samples, n_features });
    }
    Ok(())
}

/// Adds a block. If a sum is then not finite, looks for a NaN or infinite value in the block, which is valid only now.
pub(super) fn add_checked<T: Scalar, A: RowSums>(
    total: &mut A,
    first: usize,
    block: &Block<'_, T>,
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<()> {
    if block.n_rows() == 0 {
        return Ok(());
    }
    total.add_rows(block, weights, exec)?;
    if total.is_finite() { Ok(()) } else { check_finite(block, first, weights) }
}
