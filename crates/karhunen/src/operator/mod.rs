//! What a solver may know: matrices that can be applied to blocks of vectors.

pub(crate) mod blocks;
mod mapped;
mod normal;
mod standardized;

pub use mapped::LinOp;
pub(crate) use mapped::MappedOp;
pub(crate) use normal::{Normal, NormalT};
pub(crate) use standardized::Standardized;
mod dense_sym;

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::tsqr::Triangle;

/// A symmetric matrix that can be applied.
pub(crate) trait SymOp: Sync {
    /// Number of rows and of columns.
    fn dim(&self) -> usize;
    /// `A Q`, shape (dim, l) for `q` of shape (dim, l). Counts as one pass over the data.
    ///
    /// # Errors
    /// Whatever reading the data raises, or [`crate::Error::Stopped`].
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
}

/// One side of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// That of the rows: `B B'`, shape (n, n).
    Rows,
    /// That of the columns: `B' B`, shape (p, p).
    Columns,
}

/// The standardized matrix `B`, shape (n, p), as a solver sees it: its products. Each product makes one pass over the data
/// unless stated otherwise.
pub(crate) trait Products: Sync {
    /// (n, p).
    fn shape(&self) -> (usize, usize);
    /// The size of what centring subtracts from products, zero where rows are centred before they are multiplied. Rounding
    /// errors are relative to it plus the eigenvalues, of which `largest` is the first.
    fn cancelled(&self, largest: f64) -> f64;
    /// `B'U`, shape (p, l), for `u` of shape (n, l).
    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// `B'(B Q)`, shape (p, l), for `q` of shape (p, l).
    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// `B (B'U)`, shape (n, l), for `u` of shape (n, l). Two passes where the rows come in several blocks.
    fn normal_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
    /// `B'B` or `B B'`, whole.
    fn product(&self, side: Side, exec: &Exec<'_>) -> Result<Matrix>;
    /// The triangle `R` of `B = Q R` (columns) or `B' = Q R` (rows): singular values without squaring.
    fn triangle(&self, side: Side, exec: &Exec<'_>) -> Result<Triangle>;
}
