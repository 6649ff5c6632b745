//! Operators whose products a log keeps.

use crate::error::Result;
use crate::exec::{Exec, Resumable};
use crate::linalg::Matrix;
use crate::linalg::decomp::tsqr::Triangle;
use crate::operator::{Products, Side, SymOp, image_by_parts};
use crate::scalar::Scalar;
use crate::source::Counted;

/// Products with a source that counts its visits: passes that the log holds count as made.
pub(crate) struct Logged<'a, T> {
    op: &'a dyn Products,
    x: &'a Counted<'a, T>,
}

impl<'a, T: Scalar> Logged<'a, T> {
    /// Views `op`, which visits `x`.
    pub(crate) fn new(op: &'a dyn Products, x: &'a Counted<'a, T>) -> Self {
        Self { op, x }
    }
}

/// Returns the result of a pass that visits `x`, as [`Exec::pass`] does; the visits of a pass that the log holds count
/// as made.
///
/// # Errors
/// As [`Exec::pass`].
pub(crate) fn logged_pass<T: Scalar, A: Resumable>(
    x: &Counted<'_, T>,
    name: &'static str,
    exec: &Exec<'_>,
    empty: impl FnOnce() -> A,
    make: impl FnOnce(&Exec<'_>) -> Result<A>,
) -> Result<A> {
    let before = x.n_visits();
    let make_and_count = |exec: &Exec<'_>| {
        let result = make(exec)?;
        Ok((result, x.n_visits() - before))
    };
    let (result, n_visits) = exec.pass(name, || (empty(), 0), make_and_count)?;
    x.count_up_to(before + n_visits);
    Ok(result)
}

impl<T: Scalar> Logged<'_, T> {
    fn product_of(
        &self,
        name: &'static str,
        (n_rows, n_cols): (usize, usize),
        exec: &Exec<'_>,
        make: impl FnOnce(&Exec<'_>) -> Result<Matrix>,
    ) -> Result<Matrix> {
        logged_pass(self.x, name, exec, || Matrix::zeros(n_rows, n_cols), make)
    }
}

impl<T: Scalar> Products for Logged<'_, T> {
    fn shape(&self) -> (usize, usize) {
        self.op.shape()
    }
    fn cancelled(&self, largest: f64) -> f64 {
        self.op.cancelled(largest)
    }
    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let shape = (self.shape().1, u.n_cols());
        self.product_of("product with the transpose", shape, exec, |exec| self.op.apply_t(u, exec))
    }
    fn image(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        // A log keeps it part by part.
        if exec.is_logged() { image_by_parts(self, u, exec) } else { self.op.image(u, exec) }
    }
    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let shape = (self.shape().1, q.n_cols());
        self.product_of("product of columns", shape, exec, |exec| self.op.normal(q, exec))
    }
    fn start(&self) -> Option<&Matrix> {
        self.op.start()
    }
    fn normal_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let shape = (self.shape().0, u.n_cols());
        self.product_of("product of rows", shape, exec, |exec| self.op.normal_t(u, exec))
    }
    fn product(&self, side: Side, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, p) = self.shape();
        let dim = if side == Side::Rows { n } else { p };
        self.product_of("matrix of products", (dim, dim), exec, |exec| self.op.product(side, exec))
    }
    // Its result is as large as the data.
    fn triangle(&self, side: Side, exec: &Exec<'_>) -> Result<Triangle> {
        self.op.triangle(side, exec)
    }
}

/// A symmetric operator.
pub(crate) struct LoggedSym<'a>(pub(crate) &'a dyn SymOp);

impl SymOp for LoggedSym<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let (n_rows, n_cols) = (self.dim(), q.n_cols());
        exec.pass("product", || Matrix::zeros(n_rows, n_cols), |exec| self.0.apply(q, exec))
    }
    fn start(&self) -> Option<&Matrix> {
        self.0.start()
    }
}
