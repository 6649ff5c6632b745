//! The exact engine: the scatter matrix of all rows.

use crate::error::Result;
use crate::exec::Exec;
use crate::incremental::held::Held;
use crate::incremental::pieces::{PieceSize, Rows};
use crate::moments::{Cut, DenseRows, Scatter};
use crate::scalar::Scalar;

/// Rows of a dense piece: four panels of products.
pub(super) const PIECE_ROWS: usize = 992;
/// Most rows of a sparse piece.
const SPARSE_ROWS: usize = 1 << 16;
/// Entries of a sparse piece.
const SPARSE_ENTRIES: usize = 1 << 20;

/// The size of pieces of `p` columns. A sparse piece costs several p^2 operations, however few its entries.
pub(super) fn piece_size(p: usize) -> PieceSize {
    let sparse_entries = SPARSE_ENTRIES.max(p.saturating_mul(p) / 16);
    PieceSize { dense_rows: PIECE_ROWS, sparse_rows: SPARSE_ROWS, sparse_entries }
}

/// The sums of `rows` and of earlier rows, whose weights are first multiplied by `forget`. Only the upper
/// triangle of the matrix is valid.
///
/// # Errors
/// As [`Scatter::add_pieces`].
pub(super) fn added<T: Scalar>(
    mut total: Option<Scatter>,
    rows: Rows<'_, T>,
    (forget, half_life): (f64, Option<f64>),
    exec: &Exec<'_>,
) -> Result<Option<Scatter>> {
    if let Some(total) = &mut total {
        total.fade(forget);
    }
    let (cut, exec) = (Cut { piece_rows: PIECE_ROWS, half_life }, exec.phase("covariance"));
    match rows {
        Rows::Held(held) => {
            Scatter::add_pieces(&mut total, &held.block()?, held.weights.as_deref(), cut, &exec)?;
        }
        Rows::Run { first, rows, weights } => {
            let first = first.map(Held::dense).transpose()?;
            Scatter::add_dense(&mut total, &DenseRows { first, rows, weights }, cut, &exec)?;
        }
    }
    Ok(total)
}
