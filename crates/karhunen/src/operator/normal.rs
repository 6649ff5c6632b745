//! `B'B` and `B B'` as symmetric operators, never formed.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::operator::{Products, SymOp};

/// `B'B`, shape (p, p).
pub(crate) struct Normal<'a>(pub(crate) &'a dyn Products);

impl SymOp for Normal<'_> {
    fn dim(&self) -> usize {
        self.0.shape().1
    }
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.0.normal(q, exec)
    }
    fn start(&self) -> Option<&Matrix> {
        self.0.start()
    }
}

/// `B B'`, shape (n, n).
pub(crate) struct NormalT<'a>(pub(crate) &'a dyn Products);

impl SymOp for NormalT<'_> {
    fn dim(&self) -> usize {
        self.0.shape().0
    }
    fn apply(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.0.normal_t(u, exec)
    }
}
