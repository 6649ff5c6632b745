//! Linear operators, the view that solvers have of the data.

pub(crate) mod blocks;
mod first_pass;
mod identity;
mod lin_op;
mod logged;
mod mapped;
mod normal;
mod standardized;

pub(crate) use first_pass::{FirstPass, moments_and_start};
pub(crate) use identity::{describe, describe_weights};
pub use lin_op::{LinOp, Profile, Side, Standard};
pub(crate) use logged::{Logged, LoggedSym, logged_pass};
pub(crate) use mapped::{MappedOp, needs_rows};
pub(crate) use normal::{Normal, NormalT};
pub(crate) use standardized::{Standardized, cancelled_by_correction};
mod dense_sym;

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::tsqr::Triangle;

/// A symmetric linear operator.
pub(crate) trait SymOp: Sync {
    /// Number of rows and of columns.
    fn dim(&self) -> usize;
    /// `A Q`, shape (dim, l) for `q` of shape (dim, l). Counts as one pass over the data.
    ///
    /// # Errors
    /// Errors of reading the data; [`crate::Error::Stopped`].
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// Orthonormal columns near the leading eigenvectors, if they are known: a start for an iteration.
    fn start(&self) -> Option<&Matrix> {
        None
    }
}

/// The standardized matrix `B`, shape (n, p), as a linear operator. Each product makes one pass over the data
/// unless stated otherwise.
pub(crate) trait Products: Sync {
    /// (n, p).
    fn shape(&self) -> (usize, usize);
    /// Squared norm of the rank-one centring correction, zero if rows are centred before they are multiplied.
    /// Rounding errors are relative to this plus the eigenvalues; `largest` is the largest eigenvalue.
    fn cancelled(&self, largest: f64) -> f64;
    /// `B'U`, shape (p, l), for `u` of shape (n, l).
    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// `U'B`, shape (l, p), for `u` of shape (n, l). By default a pass for every [`PART_BYTES`] of the result.
    fn image(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        image_by_parts(self, u, exec)
    }
    /// `B'(B Q)`, shape (p, l), for `q` of shape (p, l).
    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// Orthonormal columns near the leading right singular vectors, shape (p, l), if an earlier pass found any.
    fn start(&self) -> Option<&Matrix> {
        None
    }
    /// `B (B'U)`, shape (n, l), for `u` of shape (n, l). Two passes if the rows come in several blocks.
    fn normal_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// `B'B` or `B B'`, both triangles.
    fn product(&self, side: Side, exec: &Exec<'_>) -> Result<Matrix>;
    /// The triangle `R` of `B = Q R` (columns) or `B' = Q R` (rows): singular values without squaring.
    fn triangle(&self, side: Side, exec: &Exec<'_>) -> Result<Triangle>;
}

/// Bytes of `B'U` that [`image_by_parts`] transposes at a time.
const PART_BYTES: usize = 64 << 20;

/// [`Products::image`] by products that are then transposed. They need memory in addition to the result, which parts
/// bound.
fn image_by_parts<P: Products + ?Sized>(op: &P, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
    let (l, p) = (u.n_cols(), op.shape().1);
    let n_parts = (l * p * size_of::<f64>()).div_ceil(PART_BYTES);
    let mut image = Matrix::zeros(l, p);
    for part in 0..n_parts {
        let columns = part * l / n_parts..(part + 1) * l / n_parts;
        let share = 1.0 / n_parts as f64;
        let exec = exec.part(part as f64 * share, (part + 1) as f64 * share);
        let part = op.apply_t(&u.columns(columns.clone()), &exec.part(0.0, 0.8))?;
        part.transpose_into(image.rows_mut(columns), &exec.part(0.8, 1.0))?;
    }
    Ok(image)
}
