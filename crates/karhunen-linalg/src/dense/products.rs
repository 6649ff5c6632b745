//! Products of a mapped dense array with narrow blocks of vectors, and the fused product `M' W M q` in one pass.
//!
//! Rows are packed in panels, centred and scaled, so an offset costs no digits. `f64` data are multiplied in
//! `f64`; `f32` data in `f32`, and the sums of each panel are added in `f64`. Pieces of rows have private sums
//! that are added in order, or threads share the columns of wide rows ([`wide`]): the shape alone determines the order of
//! every sum, also for rows passed in several runs ([`RowSum`]).
//!
//! Notation: `x` (n, p) data, `M` its mapped values, `q` (p, l), `u` (n, l), `y = M q` of one panel, `g = M' y`.

pub mod wide;

pub use wide::are_wide;

use crate::dense::narrow::{Factor, Narrow, NarrowPanel, Packed, PanelRows, PanelShape};
use crate::dense::pack::Mapped;
use crate::dense::pieces::RowPieces;
use crate::dense::products::wide::WideSum;
use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::scalar::{Scalar, is_single};
use crate::simd::Lane;
use crate::{ColumnMap, Dense, Matrix};

/// Least number of multiply-adds of a piece.
const PIECE_WORK: usize = 1_000_000;
/// Largest number of values in the rows of a piece, unless 256 rows or [`PIECE_WORK`] need more.
const PIECE_VALUES: usize = 1 << 17;
/// Bytes that all private sums together may take.
const PRIVATE_BYTES: usize = 32 << 20;

/// Writes `M q` into `out`, row-major (n, l), for `q` (p, l), in one pass over `x`.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn project<T: Scalar, U: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    q: &Matrix,
    out: &mut [U],
    exec: &Exec<'_>,
) -> Result<()> {
    let m = Mapped::new(x, map, None);
    if is_single::<T>() {
        forward::<T, f32, U>(&m, q, out, exec)
    } else {
        forward::<T, f64, U>(&m, q, out, exec)
    }
}

/// `M' u`, shape (p, l), for `u` (n, l), in one pass over `x`.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn apply_t<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    if x.n_cols() > 2 * x.n_rows() {
        // A private sum would be as large as its rows.
        let m = Mapped::new(x, map, None);
        let mut out = Matrix::zeros(m.n_cols(), u.n_cols());
        let values = out.as_mut_slice();
        if is_single::<T>() {
            forward::<T, f32, f64>(&m.t(), u, values, exec)?;
        } else {
            forward::<T, f64, f64>(&m.t(), u, values, exec)?;
        }
        return Ok(out);
    }
    let mut sum = RowSum::of_given::<T>(u);
    sum.add(0, x, map, exec)?;
    Ok(sum.finish().unwrap_or_else(|| Matrix::zeros(x.n_cols(), u.n_cols())))
}

/// `M M' u`, shape (n, l), for `u` (n, l), in one pass over `x`.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub fn normal_t<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let m = Mapped::new(x, map, None).t();
    let mut sum = RowSum::of_product::<T>(m.n_rows(), u, None);
    sum.add_mapped(0, &m, exec)?;
    Ok(sum.finish().unwrap_or_else(|| Matrix::zeros(x.n_rows(), u.n_cols())))
}

/// Mapped rows of a dense array, packed once for their products with many blocks.
pub enum PackedRows {
    /// Packed in `f32`.
    F32(Packed<f32>),
    /// Packed in `f64`.
    F64(Packed<f64>),
}

impl PackedRows {
    /// Memory in bytes of the packed rows of an array (n, p) whose values have `value_bytes`.
    pub fn need(shape: (usize, usize), value_bytes: usize) -> f64 {
        if value_bytes == 4 { Packed::<f32>::need(shape) } else { Packed::<f64>::need(shape) }
    }

    /// Packs the rows of `M` or of `M'`; `None` if that would save no time.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn new<T: Scalar>(
        x: Dense<'_, T>,
        map: ColumnMap<'_>,
        transposed: bool,
        exec: &Exec<'_>,
    ) -> Result<Option<Self>> {
        let m = Mapped::new(x, map, None);
        let m = if transposed { m.t() } else { m };
        Ok(if is_single::<T>() {
            Packed::new(&m, exec)?.map(Self::F32)
        } else {
            Packed::new(&m, exec)?.map(Self::F64)
        })
    }

    /// `M' W M q`, shape (p, l), as [`RowSum`] forms it, for `q` (p, l); `None` if the rows are wide for so many vectors.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn normal(&self, weights: Option<&[f64]>, q: &Matrix, exec: &Exec<'_>) -> Result<Option<Matrix>> {
        if wide::are_wide(q.n_rows(), q.n_cols()) {
            return Ok(None);
        }
        let product = match self {
            Self::F32(rows) => packed_normal(rows, weights, q, exec),
            Self::F64(rows) => packed_normal(rows, weights, q, exec),
        };
        product.map(Some)
    }
}

fn packed_normal<E: Lane>(
    rows: &Packed<E>,
    weights: Option<&[f64]>,
    q: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let mut sum = Backward::new(rows.shape().0, MiddleStep::Product { q: tiled(q), weights });
    sum.add_panels(0, rows, exec)?;
    Ok(sum.finish().unwrap_or_else(|| Matrix::zeros(q.n_rows(), q.n_cols())))
}

/// `M' W M q` or `M' u`, shape (p, l), over rows passed in runs. The bits do not depend on the number of
/// pieces in a run.
pub enum RowSum<'a> {
    /// Of rows packed in `f32`.
    F32(Backward<'a, f32>),
    /// Of rows packed in `f64`.
    F64(Backward<'a, f64>),
}

impl<'a> RowSum<'a> {
    /// Begins the sum `M' W M q` for `q` (p, l) and `n` rows of type `T` in all; `W` is the diagonal of `row_weights`,
    /// ones if absent.
    pub fn of_product<T: Scalar>(n: usize, q: &Matrix, row_weights: Option<&'a [f64]>) -> Self {
        if is_single::<T>() {
            RowSum::F32(Backward::new(n, MiddleStep::Product { q: tiled(q), weights: row_weights }))
        } else {
            RowSum::F64(Backward::new(n, MiddleStep::Product { q: tiled(q), weights: row_weights }))
        }
    }

    /// Begins the sum `M' u` for `u` (n, l).
    pub fn of_given<T: Scalar>(u: &'a Matrix) -> Self {
        let n = u.n_rows();
        if is_single::<T>() {
            RowSum::F32(Backward::new(n, MiddleStep::Given(u)))
        } else {
            RowSum::F64(Backward::new(n, MiddleStep::Given(u)))
        }
    }

    /// Adds the rows of `x`, mapped by `map`; its first row is row `first` of all.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub fn add<T: Scalar>(
        &mut self,
        first: usize,
        x: Dense<'_, T>,
        map: ColumnMap<'_>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        self.add_mapped(first, &Mapped::new(x, map, None), exec)
    }

    fn add_mapped<T: Scalar>(&mut self, first: usize, m: &Mapped<'_, T>, exec: &Exec<'_>) -> Result<()> {
        match self {
            RowSum::F32(sum) => sum.add(first, m, exec),
            RowSum::F64(sum) => sum.add(first, m, exec),
        }
    }

    /// The sum, shape (p, l); `None` without rows or vectors.
    pub fn finish(self) -> Option<Matrix> {
        match self {
            RowSum::F32(sum) => sum.finish(),
            RowSum::F64(sum) => sum.finish(),
        }
    }
}

/// Source of the vectors that the transposed panel multiplies.
enum MiddleStep<'a, E> {
    /// The rows of a given block.
    Given(&'a Matrix),
    /// `W M q`, with `q` in the tiles of the columns.
    Product { q: Vec<Factor<E>>, weights: Option<&'a [f64]> },
}

/// A block in the tiles of its rows, of which there is one unless they are wide.
fn tiled<E: Lane>(block: &Matrix) -> Vec<Factor<E>> {
    wide::tiles(block.n_rows(), block.n_cols()).map(|rows| Factor::new(block, rows)).collect()
}

impl<E: Lane> MiddleStep<'_, E> {
    fn n_vectors(&self) -> usize {
        match self {
            MiddleStep::Given(u) => u.n_cols(),
            MiddleStep::Product { q, .. } => q.first().map_or(0, Factor::n_vectors),
        }
    }
}

/// `M q`, in pieces of rows.
fn forward<T: Scalar, E: Lane, U: Scalar>(
    m: &Mapped<'_, T>,
    q: &Matrix,
    out: &mut [U],
    exec: &Exec<'_>,
) -> Result<()> {
    let (n, p, l) = (m.n_rows(), m.n_cols(), q.n_cols());
    if l == 0 {
        return Ok(());
    }
    let q = Factor::<E>::new(q, 0..p);
    let shape = PanelShape::new::<E>((n, p), m.is_column_major(), l);
    let rows = (PIECE_WORK / (p * l)).clamp(1, n.max(1)).next_multiple_of(shape.n_rows);
    exec.fill(out, rows * l, |piece, out| {
        let mut panel = NarrowPanel::<E>::new(shape);
        for (k, out) in out.chunks_mut(shape.n_rows * l).enumerate() {
            let start = piece * rows + k * shape.n_rows;
            panel.load_and_multiply(m, start..start + out.len() / l, &q);
            panel.write_products(out);
        }
        Ok(())
    })
}

/// The pieces of a [`RowSum`] with `l` vectors over `n` rows in all, in the memory layout of `x`. Every run but the last
/// must hold whole pieces.
pub fn row_pieces<T: Scalar>(x: &Dense<'_, T>, n: usize, l: usize) -> RowPieces {
    let shape = (n, x.n_cols());
    if wide::are_wide(shape.1, l) {
        return RowPieces { n_rows: wide::group_rows(shape.1), shared: true };
    }
    let n_rows = if is_single::<T>() {
        cut::<f32>(shape, x.is_column_major(), l).1
    } else {
        cut::<f64>(shape, x.is_column_major(), l).1
    };
    n_rows.into()
}

/// The shape of a panel, and the rows of a piece, which has whole panels.
fn cut<E>((n, p): (usize, usize), column_major: bool, l: usize) -> (PanelShape, usize) {
    let shape = PanelShape::new::<E>((n, p), column_major, l);
    // Long data get longer pieces, of limited memory, because a piece may be copied together from several blocks.
    let long = (n / 64).min(PIECE_VALUES / p);
    let piece = (PIECE_WORK / (p * l.max(1))).max(256).max(long).min(n).next_multiple_of(shape.n_rows);
    (shape, piece)
}

/// `M' y` by pieces of rows with private sums, or by tiles of wide rows.
pub struct Backward<'a, E> {
    /// Number of rows of all runs.
    n: usize,
    middle: MiddleStep<'a, E>,
    total: Option<ProductPart<E>>,
    /// The sum of wide rows.
    wide: Option<WideSum>,
}

impl<'a, E: Lane> Backward<'a, E> {
    fn new(n: usize, middle: MiddleStep<'a, E>) -> Self {
        Self { n, middle, total: None, wide: None }
    }

    fn finish(self) -> Option<Matrix> {
        let total = self.total.map(|total| total.sum.into_matrix());
        total.or_else(|| self.wide.map(WideSum::into_matrix))
    }

    fn add<T: Scalar>(&mut self, first: usize, m: &Mapped<'_, T>, exec: &Exec<'_>) -> Result<()> {
        let (p, l) = (m.n_cols(), self.middle.n_vectors());
        if l == 0 {
            return Ok(());
        }
        if wide::are_wide(p, l) {
            let sum = self.wide.get_or_insert_with(|| WideSum::zeros::<E>(p, l));
            return sum.add(first, m, &self.middle, exec);
        }
        self.add_panels(first, m, exec)
    }

    /// Adds rows that are not wide.
    fn add_panels(&mut self, first: usize, m: &impl PanelRows<E>, exec: &Exec<'_>) -> Result<()> {
        let ((n, p), l) = (m.shape(), self.middle.n_vectors());
        let (shape, piece_rows) = cut::<E>((self.n, p), m.is_column_major(), l);
        let workers = PRIVATE_BYTES / (p * l * size_of::<f64>());
        let zero = || ProductPart::zeros(p, l);
        let (middle, total) = (&self.middle, &mut self.total);
        exec.at_most(workers).fold_into(
            total,
            n.div_ceil(piece_rows),
            zero,
            |piece, part: &mut ProductPart<E>| {
                let panel = part.panel.get_or_insert_with(|| NarrowPanel::new(shape));
                let last = n.min((piece + 1) * piece_rows);
                for start in (piece * piece_rows..last).step_by(shape.n_rows) {
                    let rows = start..last.min(start + shape.n_rows);
                    let of_all = first + rows.start..first + rows.end;
                    match middle {
                        MiddleStep::Given(u) => {
                            panel.load(m, rows.clone());
                            panel.set_products(&u.as_slice()[of_all.start * l..of_all.end * l]);
                        }
                        MiddleStep::Product { q, weights } => {
                            panel.load_and_multiply(m, rows.clone(), &q[0]);
                            if let Some(weights) = weights {
                                panel.weigh(&weights[of_all]);
                            }
                        }
                    }
                    panel.multiply_t(&mut part.sum, m, rows, last);
                }
                Ok(())
            },
        )
    }
}

/// A private sum and the panel whose products it adds.
pub struct ProductPart<E> {
    sum: Narrow,
    panel: Option<NarrowPanel<E>>,
}

impl<E> ProductPart<E> {
    fn zeros(p: usize, l: usize) -> Self {
        Self { sum: Narrow::zeros::<E>(p, l), panel: None }
    }
}

impl<E: Lane> Accumulate for ProductPart<E> {
    fn reset(&mut self) {
        self.sum.reset();
    }
    fn merge(&mut self, other: &Self) {
        self.sum.merge(&other.sum);
    }
}

#[cfg(test)]
mod tests;
