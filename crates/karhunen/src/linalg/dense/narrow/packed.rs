//! Rows of which panels are made: packed anew for every panel, or once for many products.

use std::ops::Range;

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::dense::narrow::{ROWS, padded};
use crate::linalg::dense::pack::{Layout, Mapped};
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

/// Number of values that a thread packs at a time.
const PIECE_VALUES: usize = 1 << 17;

/// Rows of which panels are made.
pub(crate) trait PanelRows<E>: Sync {
    /// (n, p).
    fn shape(&self) -> (usize, usize);
    /// True if panels have the heights of those of column-major data.
    fn is_column_major(&self) -> bool;
    /// Packs the columns `columns` of the rows `rows` into a panel, unless they are packed: its values, and the length of its
    /// rows. Columns past the last are zero.
    fn pack_into(&self, rows: Range<usize>, columns: Range<usize>, panel: (&mut [E], usize));
    /// The packed rows `rows` and those after them up to a multiple of 8: `panel`, unless they are packed elsewhere.
    fn packed<'a>(&'a self, rows: Range<usize>, panel: &'a [E]) -> &'a [E];
    /// The bytes of row `i` if they are contiguous.
    fn bytes(&self, i: usize) -> Option<&[u8]>;
}

impl<T: Scalar, E: Lane> PanelRows<E> for Mapped<'_, T> {
    fn shape(&self) -> (usize, usize) {
        (self.n_rows(), self.n_cols())
    }
    fn is_column_major(&self) -> bool {
        Mapped::is_column_major(self)
    }
    fn pack_into(&self, rows: Range<usize>, columns: Range<usize>, (x, row_stride): (&mut [E], usize)) {
        let last = self.n_cols();
        if columns.start >= last {
            return;
        }
        let part = self.columns(columns.start..columns.end.min(last));
        let dst = &mut x[columns.start..rows.len() * row_stride];
        if size_of::<E>() == 4 {
            Mapped::pack::<E, 16>(&part, rows, dst, Layout { row_stride, strip_stride: 16 });
        } else {
            Mapped::pack::<E, 8>(&part, rows, dst, Layout { row_stride, strip_stride: 8 });
        }
    }
    fn packed<'a>(&'a self, _: Range<usize>, panel: &'a [E]) -> &'a [E] {
        panel
    }
    fn bytes(&self, i: usize) -> Option<&[u8]> {
        self.contiguous_row(i).map(bytemuck::cast_slice)
    }
}

/// Mapped rows that were packed once.
pub(crate) struct Packed<E> {
    shape: (usize, usize),
    column_major: bool,
    /// Rows of `width` values, a multiple of 8 of them: those past the last are zero.
    values: Vec<E>,
    width: usize,
}

impl<E: Lane> Packed<E> {
    /// Memory in bytes of the packed rows of an array (n, p).
    pub(crate) fn need((n, p): (usize, usize)) -> f64 {
        n.next_multiple_of(ROWS) as f64 * padded::<E>(p) as f64 * size_of::<E>() as f64
    }

    /// Packs the rows of `m`.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub(crate) fn new<T: Scalar>(m: &Mapped<'_, T>, exec: &Exec<'_>) -> Result<Self> {
        let (n, p) = (m.n_rows(), m.n_cols());
        let width = padded::<E>(p);
        let mut values = vec![E::default(); n.next_multiple_of(ROWS) * width];
        let piece = (PIECE_VALUES / width).max(1).next_multiple_of(ROWS);
        exec.fill(&mut values, piece * width, |index, out| {
            let rows = index * piece..n.min((index + 1) * piece);
            m.pack_into(rows, 0..width, (out, width));
            Ok(())
        })?;
        Ok(Self { shape: (n, p), column_major: m.is_column_major(), values, width })
    }
}

impl<E: Lane> PanelRows<E> for Packed<E> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }
    fn is_column_major(&self) -> bool {
        self.column_major
    }
    fn pack_into(&self, _: Range<usize>, _: Range<usize>, _: (&mut [E], usize)) {}
    fn packed<'a>(&'a self, rows: Range<usize>, _: &'a [E]) -> &'a [E] {
        &self.values[rows.start * self.width..rows.end.next_multiple_of(ROWS) * self.width]
    }
    fn bytes(&self, i: usize) -> Option<&[u8]> {
        Some(bytemuck::cast_slice(&self.values[i * self.width..(i + 1) * self.width]))
    }
}
