//! Products of a mapped dense array with narrow blocks of vectors, and the fused product `M' W M q` in one pass.
//!
//! Rows are packed in panels, centred and scaled, so an offset costs no digits. `f64` data are multiplied in
//! `f64`; `f32` data in `f32`, and the sums of each panel are added in `f64`. Blocks of rows have private sums
//! that are added in order: the shape alone determines the order of every sum.
//!
//! Notation: `x` (n, p) data, `M` its mapped values, `q` (p, l), `u` (n, l), `y = M q` of one panel, `g = M' y`.

use crate::error::Result;
use crate::exec::{Accumulate, Exec};
use crate::linalg::dense::narrow::{Narrow, NarrowPanel, PanelShape, padded};
use crate::linalg::dense::pack::Mapped;
use crate::linalg::simd::Lane;
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::scalar::Scalar;

/// Least number of multiply-adds of a piece.
const PIECE_WORK: usize = 1_000_000;
/// Bytes that all private sums together may take.
const PRIVATE_BYTES: usize = 32 << 20;

/// Writes `M q` into `out`, row-major (n, l), for `q` (p, l), in one pass over `x`.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub(crate) fn project<T: Scalar, U: Scalar>(
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
pub(crate) fn apply_t<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let m = Mapped::new(x, map, None);
    if m.n_cols() > 2 * m.n_rows() {
        // A private sum would be as large as its rows.
        let mut out = Matrix::zeros(m.n_cols(), u.n_cols());
        let values = out.as_mut_slice();
        if is_single::<T>() {
            forward::<T, f32, f64>(&m.t(), u, values, exec)?;
        } else {
            forward::<T, f64, f64>(&m.t(), u, values, exec)?;
        }
        return Ok(out);
    }
    if is_single::<T>() {
        backward::<T, f32>(&m, MiddleStep::Given(u), exec)
    } else {
        backward::<T, f64>(&m, MiddleStep::Given(u), exec)
    }
}

/// `M' W M q`, shape (p, l), for `q` (p, l) and the diagonal `W` of `row_weights` (default one), in one pass over
/// `x`.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub(crate) fn normal<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    q: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    fused(&Mapped::new(x, map, None), q, row_weights, exec)
}

/// `M M' u`, shape (n, l), for `u` (n, l), in one pass over `x`.
///
/// # Errors
/// [`crate::Error::Stopped`].
pub(crate) fn normal_t<T: Scalar>(
    x: Dense<'_, T>,
    map: ColumnMap<'_>,
    u: &Matrix,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    fused(&Mapped::new(x, map, None).t(), u, None, exec)
}

fn fused<T: Scalar>(
    m: &Mapped<'_, T>,
    q: &Matrix,
    weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    if is_single::<T>() {
        let q = Narrow::<f32>::transposed(q);
        backward::<T, f32>(m, MiddleStep::Product { q: &q, weights }, exec)
    } else {
        let q = Narrow::<f64>::transposed(q);
        backward::<T, f64>(m, MiddleStep::Product { q: &q, weights }, exec)
    }
}

/// True if products of data of type `T` are formed in `f32`.
fn is_single<T: Scalar>() -> bool {
    T::EPSILON > f64::EPSILON
}

/// Source of the vectors that the transposed panel multiplies.
#[derive(Clone, Copy)]
enum MiddleStep<'a, E> {
    /// The rows of a given block.
    Given(&'a Matrix),
    /// `W M q`.
    Product { q: &'a Narrow<E>, weights: Option<&'a [f64]> },
}

impl<E: Lane> MiddleStep<'_, E> {
    fn n_vectors(&self) -> usize {
        match self {
            MiddleStep::Given(u) => u.n_cols(),
            MiddleStep::Product { q, .. } => q.n_vectors(),
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
    let q = Narrow::<E>::transposed(q);
    let shape = PanelShape::new::<T, E>(m, l);
    let rows = (PIECE_WORK / (p * l)).clamp(1, n.max(1)).next_multiple_of(shape.n_rows);
    exec.fill(out, rows * l, |piece, out| {
        let mut panel = NarrowPanel::<E>::new(shape);
        for (k, out) in out.chunks_mut(shape.n_rows * l).enumerate() {
            let start = piece * rows + k * shape.n_rows;
            panel.load(m, start..start + out.len() / l);
            panel.multiply(&q);
            for (out, y) in out.iter_mut().zip(panel.products()) {
                *out = U::from_f64(y);
            }
        }
        Ok(())
    })
}

/// `M' y`, in blocks of rows with private sums.
fn backward<T: Scalar, E: Lane>(
    m: &Mapped<'_, T>,
    middle: MiddleStep<'_, E>,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let (n, p, l) = (m.n_rows(), m.n_cols(), middle.n_vectors());
    if l == 0 {
        return Ok(Matrix::zeros(p, 0));
    }
    let shape = PanelShape::new::<T, E>(m, l);
    let block = (PIECE_WORK / (p * l)).max(256).max(n / 64).min(n).next_multiple_of(shape.n_rows);
    let workers = PRIVATE_BYTES / (p * l * size_of::<f64>());
    let zero = || ProductPart { sum: Narrow::zeros(p, l, padded::<E>(p)), panel: None };
    let total = exec.at_most(workers).fold(n.div_ceil(block), zero, |piece, part: &mut ProductPart<E>| {
        let panel = part.panel.get_or_insert_with(|| NarrowPanel::new(shape));
        let last = n.min((piece + 1) * block);
        for start in (piece * block..last).step_by(shape.n_rows) {
            let rows = start..last.min(start + shape.n_rows);
            panel.load(m, rows.clone());
            match middle {
                MiddleStep::Given(u) => panel.set_products(&u.as_slice()[rows.start * l..rows.end * l]),
                MiddleStep::Product { q, weights } => {
                    panel.multiply(q);
                    if let Some(weights) = weights {
                        panel.weigh(&weights[rows]);
                    }
                }
            }
            panel.multiply_t(&mut part.sum);
        }
        Ok(())
    })?;
    Ok(total.sum.into_matrix())
}

/// A private sum and the panel whose products it adds.
struct ProductPart<E> {
    sum: Narrow<f64>,
    panel: Option<NarrowPanel<E>>,
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
