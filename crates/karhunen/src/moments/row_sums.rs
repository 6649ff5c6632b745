//! Sums over the rows of sources and of streams, block by block.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec};
use crate::moments::{Moments, check_finite, check_size};
use crate::scalar::Scalar;
use crate::source::{Aligned, Block, Source, Stream, visit_pieces};
use crate::weights::check_weights;

/// Sums over rows that include the moments of the rows.
pub(super) trait RowSums: Accumulate + Sized {
    /// The sums of no rows.
    fn of_none(n_features: usize) -> Self;
    fn moments(&self) -> &Moments;
    /// Number of dense rows of a piece.
    fn piece_rows(n_cols: usize) -> usize;
    /// Adds the rows of a block. The first row of a dense block begins a piece.
    fn add_rows<T: Scalar>(
        total: &mut Option<Self>,
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

/// The sums over all rows of `x`, in one visit.
pub(super) fn of_source<T: Scalar, A: RowSums>(
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<A> {
    let (n_samples, n_features) = x.shape();
    if n_samples == 0 || n_features == 0 {
        return Err(Error::Empty { n_samples, n_features });
    }
    check_size((n_samples, n_features))?;
    check_weights(weights, n_samples)?;
    let mut total = None;
    visit_pieces(x, &|rows| A::piece_rows(rows.n_cols()), &mut |first, block| {
        let end = first + block.n_rows();
        let part = exec.part(first as f64 / n_samples as f64, end as f64 / n_samples as f64);
        add_checked(&mut total, first, &block, weights.map(|w| &w[first..end]), &part)
    })?;
    Ok(total.unwrap_or_else(|| A::of_none(n_features)))
}

/// The sums over all rows of a stream.
pub(super) fn of_stream<T: Scalar, A: RowSums>(stream: &mut dyn Stream<T>, exec: &Exec<'_>) -> Result<A> {
    let n_features = stream.n_features();
    let (mut total, mut cut) = (None, Aligned::new());
    let (mut n_batches, mut n_samples) = (0, 0);
    // The number of rows, and so the fraction done, is unknown before the end.
    let exec = &exec.part(0.0, 0.0);
    let mut add = |first: usize, block: Block<'_, T>, weights: Option<&[f64]>| {
        add_checked(&mut total, first, &block, weights, exec)
    };
    while let Some(batch) = stream.next()? {
        batch.check(n_features, n_batches, n_samples)?;
        let n_rows = batch.rows.n_rows();
        cut.push(n_samples, batch.rows, batch.weights, &|rows| A::piece_rows(rows.n_cols()), &mut add)?;
        (n_batches, n_samples) = (n_batches + 1, n_samples + n_rows);
    }
    cut.finish(&mut add)?;
    match total {
        Some(total) if n_features > 0 => Ok(total),
        _ => Err(Error::Empty { n_samples, n_features }),
    }
}

/// Adds a block. If a sum is then not finite, looks for a NaN or infinite value in the block, which is valid only now.
fn add_checked<T: Scalar, A: RowSums>(
    total: &mut Option<A>,
    first: usize,
    block: &Block<'_, T>,
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<()> {
    if block.n_rows() == 0 {
        return Ok(());
    }
    A::add_rows(total, block, weights, exec)?;
    match total {
        Some(total) if total.moments().first_overflow().is_some() => check_finite(block, first),
        _ => Ok(()),
    }
}
