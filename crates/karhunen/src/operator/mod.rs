//! What a solver may know: matrices that can be applied to blocks of vectors.

mod dense_sym;

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;

/// A symmetric matrix that can be applied.
pub trait SymOp: Sync {
    /// Number of rows and of columns.
    fn dim(&self) -> usize;
    /// `A Q`, shape (dim, l) for `q` of shape (dim, l). Counts as one pass over the data.
    ///
    /// # Errors
    /// Whatever reading the data raises, or [`crate::Error::Stopped`].
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;
}
