//! Operators whose products a log keeps.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::tsqr::Triangle;
use crate::operator::{Products, Side, SymOp};
use crate::scalar::Scalar;
use crate::source::Counted;

/// Products with a source that counts its visits: those of passes that the log holds count as made.
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

/// Returns the result of a pass that visits `x`: values of the given number.
///
/// # Errors
/// As [`Exec::pass`].
pub(crate) fn logged_pass<T: Scalar>(
    x: &Counted<'_, T>,
    (name, length): (&'static str, usize),
    exec: &Exec<'_>,
    make: impl FnOnce() -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    let before = x.n_visits();
    let mut values = exec.pass(name, length + 1, || {
        let mut values = make()?;
        values.push((x.n_visits() - before) as f64);
        Ok(values)
    })?;
    let n_visits = values.pop().map_or(0, |n| n as usize);
    x.count_up_to(before + n_visits);
    Ok(values)
}

impl<T: Scalar> Logged<'_, T> {
    fn product_of(
        &self,
        name: &'static str,
        (n_rows, n_cols): (usize, usize),
        exec: &Exec<'_>,
        make: impl FnOnce() -> Result<Matrix>,
    ) -> Result<Matrix> {
        if !exec.is_logged() {
            return make();
        }
        let values = logged_pass(self.x, (name, n_rows * n_cols), exec, || make().map(Matrix::into_vec))?;
        Matrix::from_vec(n_rows, n_cols, values)
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
        self.product_of("product with the transpose", shape, exec, || self.op.apply_t(u, exec))
    }
    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let shape = (self.shape().1, q.n_cols());
        self.product_of("product of columns", shape, exec, || self.op.normal(q, exec))
    }
    fn start(&self) -> Option<&Matrix> {
        self.op.start()
    }
    fn normal_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let shape = (self.shape().0, u.n_cols());
        self.product_of("product of rows", shape, exec, || self.op.normal_t(u, exec))
    }
    fn product(&self, side: Side, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, p) = self.shape();
        let dim = if side == Side::Rows { n } else { p };
        self.product_of("matrix of products", (dim, dim), exec, || self.op.product(side, exec))
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
        let make = || self.0.apply(q, exec).map(Matrix::into_vec);
        Matrix::from_vec(n_rows, n_cols, exec.pass("product", n_rows * n_cols, make)?)
    }
    fn start(&self) -> Option<&Matrix> {
        self.0.start()
    }
}
