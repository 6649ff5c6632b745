//! Sources of the tiles of the kernel matrix of the fitted rows.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::kernel::function::{BlockKernel, Kernel};
use crate::kernel::rows::{PointPanel, Points};
use crate::linalg::Matrix;
use crate::linalg::tiles::exp::Exp;
use crate::linalg::tiles::pairs::width;

/// Computes the kernel values of any pairs of fitted rows.
pub(super) trait Tiles<E>: Sync {
    /// Number of rows.
    fn n(&self) -> usize;
    /// Writes the values of the pairs of `rows` and `columns` to `tile`; both are whole strips, and values of rows
    /// past the last are arbitrary but finite. `panel` is a buffer. `same` says that both begin with the same row.
    ///
    /// # Errors
    /// Errors of a user-defined kernel.
    fn tile(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        panel: &mut PointPanel<E>,
        tile: &mut [E],
    ) -> Result<()>;
}

/// Tiles computed from packed rows.
pub(super) struct Computed<'a, E> {
    pub(super) points: &'a Points<E>,
    pub(super) kernel: &'a Kernel,
}

impl<E: Exp> Tiles<E> for Computed<'_, E> {
    fn n(&self) -> usize {
        self.points.n()
    }

    fn tile(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        panel: &mut PointPanel<E>,
        tile: &mut [E],
    ) -> Result<()> {
        let same = rows.start == columns.start;
        let left = self.points.panel(rows, panel);
        self.points.tile(self.kernel, left, columns, same, tile);
        Ok(())
    }
}

/// Tiles computed by a user-defined kernel.
pub(super) struct Called<'a> {
    pub(super) function: &'a dyn BlockKernel,
    pub(super) rows: &'a Matrix,
}

impl<E: Exp> Tiles<E> for Called<'_> {
    fn n(&self) -> usize {
        self.rows.n_rows()
    }

    fn tile(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        _: &mut PointPanel<E>,
        tile: &mut [E],
    ) -> Result<()> {
        let n_left = rows.len();
        let x = self.rows.rows(rows.start..rows.end.min(self.rows.n_rows()));
        let y = self.rows.rows(columns.start..columns.end.min(self.rows.n_rows()));
        call(self.function, &x, &y, n_left, tile)
    }
}

/// Calls a user-defined kernel for a tile of `n_left` rows; rows past the last are missing.
pub(super) fn call<E: Exp>(
    function: &dyn BlockKernel,
    x: &Matrix,
    y: &Matrix,
    n_left: usize,
    tile: &mut [E],
) -> Result<()> {
    let values = function.evaluate(x, y)?;
    for (axis, found, expected) in
        [("rows", values.n_rows(), x.n_rows()), ("columns", values.n_cols(), y.n_rows())]
    {
        if found != expected {
            return Err(Error::Shape { what: "what the kernel function returns", axis, found, expected });
        }
    }
    let w = width::<E>();
    tile.fill(E::default());
    for i in 0..values.n_rows() {
        for (j, value) in values.row(i).iter().enumerate() {
            tile[(j / w * n_left + i) * w + j % w] = E::from_f64(*value);
        }
    }
    Ok(())
}
