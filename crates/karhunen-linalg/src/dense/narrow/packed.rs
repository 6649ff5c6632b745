//! Rows of which panels are made: packed again for every panel, or once for many products.

use std::ops::Range;
use std::time::Instant;

use crate::dense::narrow::{ROWS, padded};
use crate::dense::pack::{Layout, Mapped};
use crate::error::Result;
use crate::exec::Exec;
use crate::memory;
use crate::scalar::Scalar;
use crate::simd::Lane;

/// Bytes that a thread packs at a time, and that all pack between two looks at the clock.
const PIECE_BYTES: usize = 1 << 20;
const ROUND_BYTES: usize = 2 << 20;
/// Number of rounds before the first look: a round is short compared with an interruption.
const BLIND_ROUNDS: usize = 2;
/// Largest ratio of the time of packing into new memory to the time of packing into memory in use. Measured: 2 or 3
/// where new memory is fast, 10 to 30 where it is slow. An iteration makes a dozen products or more, of which each
/// saves a third of a packing or more.
const WORTHWHILE: f64 = 6.0;

/// Rows of which panels are made.
pub trait PanelRows<E>: Sync {
    /// (n, p).
    fn shape(&self) -> (usize, usize);
    /// True if columns were contiguous before packing, and rows were not: panels then have more rows.
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
pub struct Packed<E> {
    shape: (usize, usize),
    column_major: bool,
    /// Rows of `width` values, a multiple of 8 of them: those past the last are zero.
    values: Vec<E>,
    width: usize,
}

impl<E: Lane> Packed<E> {
    /// Memory in bytes of the packed rows of an array (n, p).
    pub fn need((n, p): (usize, usize)) -> f64 {
        n.next_multiple_of(ROWS) as f64 * padded::<E>(p) as f64 * size_of::<E>() as f64
    }

    /// Packs the rows of `m`. `None` if the memory is refused, or so slow that products with packed rows would not make up for
    /// it, as on a virtual machine that gives its free memory back to the host.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn new<T: Scalar>(m: &Mapped<'_, T>, exec: &Exec<'_>) -> Result<Option<Self>> {
        let (n, p) = (m.n_rows(), m.n_cols());
        let width = padded::<E>(p);
        let rows_of = |bytes: usize| (bytes / (width * size_of::<E>())).max(1).next_multiple_of(ROWS);
        let (piece, round) = (rows_of(PIECE_BYTES), rows_of(ROUND_BYTES));
        // Packs rows from `first` on; returns the seconds that it took.
        let pack = |first: usize, values: &mut [E]| {
            let start = Instant::now();
            exec.fill(values, piece * width, |index, out| {
                let first = first + index * piece;
                m.pack_into(first..n.min(first + out.len() / width), 0..width, (out, width));
                Ok(())
            })?;
            Ok(start.elapsed().as_secs_f64())
        };
        if !memory::allocates(Self::need((n, p))) {
            return Ok(None);
        }
        let mut values = vec![E::default(); n.next_multiple_of(ROWS) * width];
        let is_timed = values.len() > BLIND_ROUNDS * round * width;
        let (mut spent, mut again) = (0.0, f64::INFINITY);
        for (index, values) in values.chunks_mut(round * width).enumerate() {
            spent += pack(index * round, values)?;
            if is_timed && index < BLIND_ROUNDS {
                again = again.min(pack(index * round, values)?);
            } else if spent > WORTHWHILE * again * (index + 1) as f64 {
                return Ok(None);
            }
        }
        Ok(Some(Self { shape: (n, p), column_major: m.is_column_major(), values, width }))
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
