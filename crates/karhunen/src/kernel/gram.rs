//! Products with the kernel matrix of the fitted rows, whose tiles are stored or recomputed for each product.
//!
//! Only tiles on and above the diagonal exist; each serves both triangles. Pieces of the work are runs of panels
//! with about equal numbers of tiles; each has a private sum, and the sums are added in order. The bits are the
//! same for every number of threads, stored or not.

use std::ops::Range;

use crate::error::{Error, Phrase, Result, options};
use crate::exec::{Accumulate, Exec};
use crate::kernel::rows::{PointPanel, lines};
use crate::kernel::tiles::Tiles;
use crate::linalg::Matrix;
use crate::linalg::tiles::exp::Exp;
use crate::linalg::tiles::pairs::width;
use crate::linalg::tiles::products::{Strips, add_tile_product, add_tile_t_product};
use crate::memory;
use crate::scalar::Scalar;
use crate::source::Source;

/// Number of rows of a panel, and of its square tile on the diagonal.
const PANEL: usize = 128;
/// Number of columns of the other tiles. A tile fits the cache of one core, and the part of a block of vectors that it
/// is multiplied with fits the innermost one.
const COLUMNS: usize = 256;
/// Largest number of pieces of the work.
const PIECES: usize = 48;

/// The kernel matrix, shape (n, n).
pub(super) struct Gram<'a, E> {
    n: usize,
    layout: TileLayout,
    values: Values<'a, E>,
}

/// Source of the tiles.
enum Values<'a, E> {
    Recomputed(&'a dyn Tiles<E>),
    /// The tiles of each panel, one after the other.
    Stored(Vec<Box<[E]>>),
}

/// Division of the matrix into panels and tiles.
#[derive(Clone, Debug)]
struct TileLayout {
    /// Number of rows, rounded up to whole strips.
    n: usize,
}

impl TileLayout {
    fn new<E>(n: usize) -> Self {
        Self { n: n.next_multiple_of(width::<E>()) }
    }

    fn n_panels(&self) -> usize {
        self.n.div_ceil(PANEL)
    }

    fn panel(&self, panel: usize) -> Range<usize> {
        panel * PANEL..self.n.min((panel + 1) * PANEL)
    }

    /// Number of entries of the tiles of a panel.
    fn len(&self, panel: usize) -> usize {
        let rows = self.panel(panel);
        rows.len() * (self.n - rows.start)
    }

    /// The columns of the tiles of a panel: the square on the diagonal first.
    fn tiles(&self, panel: usize) -> impl Iterator<Item = Range<usize>> {
        let square = self.panel(panel);
        let (first, n) = (square.end, self.n);
        std::iter::once(square)
            .chain((first..n).step_by(COLUMNS).map(move |start| start..n.min(start + COLUMNS)))
    }

    /// Memory for the tiles of every panel, zeroed and not yet mapped, so that the thread that fills a page maps
    /// it.
    fn allocate<E: Exp>(&self) -> Result<Vec<Box<[E]>>> {
        let bytes = stored_bytes::<E>(self.n);
        let what = format!("the stored triangle of a kernel matrix of {} rows", self.n);
        let advice = || {
            let tiles = Phrase::new("choose another ").option(options::SOLVER);
            vec![tiles.text(": tiles compute it again in every pass").into()]
        };
        memory::ask(&what, bytes, advice)?;
        let missing = |()| Error::Memory { what: what.clone(), bytes, available: None, advice: advice() };
        let panel = |panel| bytemuck::try_zeroed_slice_box(self.len(panel)).map_err(missing);
        (0..self.n_panels()).map(panel).collect()
    }

    /// Index of entry `(i, j)`, on or above the diagonal of panels, among the tiles of the panel of row `i`.
    fn place<E>(&self, i: usize, j: usize) -> usize {
        let w = width::<E>();
        let rows = self.panel(i / PANEL);
        let start = if j < rows.end { rows.start } else { rows.end + (j - rows.end) / COLUMNS * COLUMNS };
        (start - rows.start) * rows.len()
            + ((j - start) / w * rows.len() + i - rows.start) * w
            + (j - start) % w
    }

    /// Stores a row of a given matrix, averaging both triangles once both are known. `differ` records the
    /// asymmetry.
    fn take_row<E: Exp>(&self, i: usize, line: &[f64], stored: &mut [Box<[E]>], differ: &mut Asymmetry) {
        let first = self.panel(i / PANEL).start;
        for (j, value) in line.iter().enumerate().skip(first) {
            stored[i / PANEL][self.place::<E>(i, j)] = E::from_f64(*value);
            differ.largest = differ.largest.max(value.abs());
        }
        for (j, value) in line.iter().enumerate().take(i) {
            let above = &mut stored[j / PANEL][self.place::<E>(j, i)];
            let mirrored = above.to_f64();
            if *value == mirrored {
                continue;
            }
            differ.record(i, j, *value, mirrored);
            let mean = E::from_f64(0.5 * value + 0.5 * mirrored);
            *above = mean;
            if j >= first {
                stored[i / PANEL][self.place::<E>(i, j)] = mean;
            }
        }
    }

    /// Runs of panels with about equal numbers of entries.
    fn pieces(&self) -> Vec<Range<usize>> {
        let area = |panel: usize| self.len(panel) as f64;
        let total: f64 = (0..self.n_panels()).map(area).sum();
        let n_pieces = PIECES.min(self.n_panels());
        let (mut pieces, mut start, mut sum) = (Vec::new(), 0, 0.0);
        for panel in 0..self.n_panels() {
            sum += area(panel);
            if sum >= total * (pieces.len() + 1) as f64 / n_pieces as f64 || panel + 1 == self.n_panels() {
                pieces.push(start..panel + 1);
                start = panel + 1;
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }
}

/// Asymmetry of a given matrix.
#[derive(Debug, Default)]
struct Asymmetry {
    /// The largest absolute value on or above the diagonal.
    largest: f64,
    /// The largest difference across the diagonal.
    apart: f64,
    /// Position of that difference: row, column, its value and the mirrored value.
    worst: (usize, usize, f64, f64),
}

impl Asymmetry {
    fn record(&mut self, row: usize, column: usize, value: f64, mirrored: f64) {
        let apart = (value - mirrored).abs();
        self.largest = self.largest.max(value.abs());
        if apart > self.apart {
            (self.apart, self.worst) = (apart, (row, column, value, mirrored));
        }
    }

    /// Refuses asymmetry beyond the rounding of products in single precision, summed in different orders.
    fn check(&self) -> Result<()> {
        /// Relative to the largest entry; also for f64 data, which are often computed from f32.
        const ROUNDING: f64 = 1e-5;
        if self.apart <= ROUNDING * self.largest {
            return Ok(());
        }
        let (row, column, value, mirrored) = self.worst;
        Err(Error::NotSymmetric { matrix: "the kernel matrix", row, column, value, mirrored })
    }
}

/// Bytes of the stored tiles of `n` rows.
pub(super) fn stored_bytes<E>(n: usize) -> f64 {
    0.5 * (n as f64) * (n + PANEL) as f64 * size_of::<E>() as f64
}

/// Buffers of a worker and its sum, shape (n, l) in strips of columns.
struct GramPart<E> {
    sum: Vec<f64>,
    stride: usize,
    /// Index of the first row that is not zero.
    first: usize,
    tile: Vec<E>,
    panel: PointPanel<E>,
}

impl<E: Exp> GramPart<E> {
    fn rows_from(&mut self, first: usize) -> impl Iterator<Item = &mut [f64]> {
        self.sum.chunks_exact_mut(self.stride).map(move |strip| &mut strip[first * width::<E>()..])
    }
}

impl<E: Exp> Accumulate for GramPart<E> {
    fn reset(&mut self) {
        let first = self.first;
        self.rows_from(first).for_each(|strip| strip.fill(0.0));
        self.first = self.stride / width::<E>();
    }
    fn merge(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        let from = other.first * width::<E>();
        for (sum, other) in self.rows_from(other.first).zip(other.sum.chunks_exact(other.stride)) {
            for (a, b) in sum.iter_mut().zip(&other[from..]) {
                *a += b;
            }
        }
    }
}

impl<'a, E: Exp> Gram<'a, E> {
    /// A matrix whose tiles are computed for every product.
    pub(super) fn recomputed(tiles: &'a dyn Tiles<E>) -> Self {
        let n = tiles.n();
        Self { n, layout: TileLayout::new::<E>(n), values: Values::Recomputed(tiles) }
    }

    /// Computes and stores all tiles.
    ///
    /// # Errors
    /// [`Error::Memory`]; errors of the tiles; [`Error::Stopped`].
    pub(super) fn stored(tiles: &dyn Tiles<E>, exec: &Exec<'_>) -> Result<Self> {
        let layout = TileLayout::new::<E>(tiles.n());
        let mut stored = layout.allocate()?;
        exec.each(stored.iter_mut(), |panel, values| {
            let rows = layout.panel(panel);
            let mut scratch = PointPanel::new();
            let mut rest = &mut values[..];
            for columns in layout.tiles(panel) {
                let (tile, later) = rest.split_at_mut(rows.len() * columns.len());
                tiles.tile(rows.clone(), columns, &mut scratch, tile)?;
                rest = later;
            }
            Ok(())
        })?;
        Ok(Self { n: tiles.n(), layout, values: Values::Stored(stored) })
    }

    /// Stores a given kernel matrix, averaging both triangles.
    ///
    /// # Errors
    /// [`Error::NotSymmetric`]; [`Error::Memory`]; errors of reading; [`Error::Stopped`].
    pub(super) fn given<T: Scalar>(x: &dyn Source<T>, exec: &Exec<'_>) -> Result<Self> {
        let n = x.shape().0;
        let layout = TileLayout::new::<E>(n);
        let mut stored = layout.allocate()?;
        let (mut line, mut differ) = (vec![0.0; n], Asymmetry::default());
        x.visit(&mut |first, block| {
            for i in 0..block.n_rows() {
                lines(&block, i..i + 1, &mut line)?;
                layout.take_row(first + i, &line, &mut stored, &mut differ);
            }
            exec.report((first + block.n_rows()) as f64 / n as f64)
        })?;
        differ.check()?;
        Ok(Self { n, layout, values: Values::Stored(stored) })
    }

    /// Number of rows.
    pub(super) fn n(&self) -> usize {
        self.n
    }

    /// `K Q`, shape (n, l), for `q` of shape (n, l).
    ///
    /// # Errors
    /// Errors of the tiles; [`Error::Stopped`].
    pub(super) fn multiply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let (w, n, l) = (width::<E>(), self.layout.n, q.n_cols());
        let n_strips = l.div_ceil(w);
        let mut packed = vec![E::default(); n_strips * n * w];
        exec.part(0.0, 0.0).fill(&mut packed, n * w, |s, strip| {
            for (i, to) in strip.chunks_exact_mut(w).enumerate().take(q.n_rows()) {
                for (to, value) in to.iter_mut().zip(&q.row(i)[s * w..]) {
                    *to = E::from_f64(*value);
                }
            }
            Ok(())
        })?;
        let pieces = self.layout.pieces();
        let zero = || GramPart {
            sum: vec![0.0; n_strips * n * w],
            stride: n * w,
            first: 0,
            tile: Vec::new(),
            panel: PointPanel::new(),
        };
        let total = exec.fold(pieces.len(), zero, |piece, part: &mut GramPart<E>| {
            part.first = self.layout.panel(pieces[piece].start).start;
            pieces[piece].clone().try_for_each(|panel| self.add_panel(panel, &packed, n_strips, part))
        })?;
        let mut out = Matrix::zeros(self.n(), l);
        let rows = 1024;
        exec.part(1.0, 1.0).fill(out.as_mut_slice(), rows * l.max(1), |piece, out| {
            for (i, out) in out.chunks_exact_mut(l).enumerate() {
                for (s, out) in out.chunks_mut(w).enumerate() {
                    let at = (s * n + piece * rows + i) * w;
                    out.copy_from_slice(&total.sum[at..at + out.len()]);
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Adds the contribution of the tiles of a panel.
    fn add_panel(&self, panel: usize, q: &[E], n_strips: usize, part: &mut GramPart<E>) -> Result<()> {
        let w = width::<E>();
        let rows = self.layout.panel(panel);
        let stride = self.layout.n * w;
        let from = |first: usize| Strips { values: &q[first * w..], stride, n_strips };
        let mut at = 0;
        for columns in self.layout.tiles(panel) {
            let len = rows.len() * columns.len();
            let GramPart { sum, tile, panel: scratch, .. } = &mut *part;
            let tile = match &self.values {
                Values::Stored(stored) => &stored[panel][at..at + len],
                Values::Recomputed(tiles) => {
                    tile.resize(len, E::default());
                    tiles.tile(rows.clone(), columns.clone(), scratch, tile)?;
                    &tile[..]
                }
            };
            at += len;
            add_tile_product(tile, rows.len(), from(columns.start), &mut sum[rows.start * w..], stride);
            if columns.start != rows.start {
                add_tile_t_product(tile, rows.len(), from(rows.start), &mut sum[columns.start * w..], stride);
            }
        }
        Ok(())
    }

    /// Calls `f` with the rows, the columns and the values of every tile, in order.
    pub(super) fn visit(&self, mut f: impl FnMut(Range<usize>, Range<usize>, &[E])) -> Result<()> {
        let (mut scratch, mut buffer) = (PointPanel::new(), Vec::new());
        for panel in 0..self.layout.n_panels() {
            let rows = self.layout.panel(panel);
            let mut at = 0;
            for columns in self.layout.tiles(panel) {
                let len = rows.len() * columns.len();
                match &self.values {
                    Values::Stored(stored) => f(rows.clone(), columns, &stored[panel][at..at + len]),
                    Values::Recomputed(tiles) => {
                        buffer.resize(len, E::default());
                        tiles.tile(rows.clone(), columns.clone(), &mut scratch, &mut buffer)?;
                        f(rows.clone(), columns, &buffer);
                    }
                }
                at += len;
            }
        }
        Ok(())
    }

    /// The kernel values of all rows with themselves.
    pub(super) fn diagonal(&self) -> Result<Vec<f64>> {
        let (w, n) = (width::<E>(), self.n());
        let (mut scratch, mut buffer, mut diagonal) = (PointPanel::new(), Vec::new(), Vec::with_capacity(n));
        for panel in 0..self.layout.n_panels() {
            let rows = self.layout.panel(panel);
            let len = rows.len() * rows.len();
            let square = match &self.values {
                Values::Stored(stored) => &stored[panel][..len],
                Values::Recomputed(tiles) => {
                    buffer.resize(len, E::default());
                    tiles.tile(rows.clone(), rows.clone(), &mut scratch, &mut buffer)?;
                    &buffer[..]
                }
            };
            let here = rows.start..rows.end.min(n);
            diagonal.extend((0..here.len()).map(|i| square[(i / w * rows.len() + i) * w + i % w].to_f64()));
        }
        Ok(diagonal)
    }
}
