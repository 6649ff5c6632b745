//! A matrix known by its products, standardised: `B = R (A - 1 m') F`, never formed here.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::tsqr::Triangle;
use crate::operator::lin_op::{LinOp, Standard, checked, units, units_at_a_time};
use crate::operator::{Products, Side};

/// The standardised matrix of an operator. Counts its products.
pub(crate) struct MappedOp<'a> {
    op: &'a dyn LinOp,
    by: Standard<'a>,
    centers_first: bool,
    n_products: AtomicUsize,
}

impl<'a> MappedOp<'a> {
    pub(crate) fn new(op: &'a dyn LinOp, by: Standard<'a>) -> Self {
        Self { op, by, centers_first: op.profile().centers_first, n_products: AtomicUsize::new(0) }
    }

    /// Memory estimate in bytes of a product: its argument and its result, each twice.
    pub(crate) fn need(shape: (usize, usize)) -> f64 {
        2.0 * 8.0 * units_at_a_time(shape) as f64 * (shape.0 + shape.1) as f64
    }

    /// Number of products with `A` and with `A'` so far. A matrix that the operator squares counts as one.
    pub(crate) fn n_products(&self) -> usize {
        self.n_products.load(Ordering::Relaxed)
    }

    /// Counts `n` products and checks the shape and the values of their result.
    fn taken(&self, n: usize, result: Matrix, shape: (usize, usize)) -> Result<Matrix> {
        self.n_products.fetch_add(n, Ordering::Relaxed);
        checked(result, shape)
    }

    /// `B'B` or `B B'`, from products with the columns of a unit matrix.
    fn by_units(
        &self,
        dim: usize,
        exec: &Exec<'_>,
        product: impl Fn(&Matrix, &Exec<'_>) -> Result<Matrix>,
    ) -> Result<Matrix> {
        let mut square = Matrix::zeros(dim, dim);
        let most = units_at_a_time(self.op.shape());
        for start in (0..dim).step_by(most) {
            let width = most.min(dim - start);
            let part = exec.part(start as f64 / dim as f64, (start + width) as f64 / dim as f64);
            let columns = product(&units(dim, start, width), &part)?;
            part.report(1.0)?;
            for i in 0..dim {
                square.row_mut(i)[start..start + width].copy_from_slice(columns.row(i));
            }
        }
        Ok(square)
    }
}

impl Products for MappedOp<'_> {
    fn shape(&self) -> (usize, usize) {
        self.op.shape()
    }

    /// Both products of `B' (B Q)` are centred: each loses the digits that the mean takes.
    fn cancelled(&self, largest: f64) -> f64 {
        if self.centers_first {
            return 0.0;
        }
        let mean: f64 = self.by.center.iter().zip(self.by.factor).map(|(m, f)| (m * f) * (m * f)).sum();
        2.0 * (mean * largest).sqrt()
    }

    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.taken(1, self.op.standard_t(self.by, u, exec)?, (self.shape().1, u.n_cols()))
    }

    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.taken(2, self.op.normal(self.by, q, exec)?, q.shape())
    }

    fn normal_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        self.taken(2, self.op.normal_t(self.by, u, exec)?, u.shape())
    }

    fn product(&self, side: Side, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, p) = self.op.shape();
        let dim = if side == Side::Columns { p } else { n };
        if let Some(square) = self.op.square(self.by, side, exec)? {
            return self.taken(1, square, (dim, dim));
        }
        match side {
            Side::Columns => self.by_units(dim, exec, |q, exec| self.normal(q, exec)),
            Side::Rows => self.by_units(dim, exec, |u, exec| self.normal_t(u, exec)),
        }
    }

    /// Refuses: products cannot give a triangle without the whole matrix.
    fn triangle(&self, _: Side, _: &Exec<'_>) -> Result<Triangle> {
        Err(needs_rows())
    }
}

/// The error for the route svd, which reads rows.
pub(crate) fn needs_rows() -> Error {
    let rule = "an operator has products, not rows: use covariance, gram or block-krylov";
    Error::option(options::SOLVER, OptionValue::name("svd"), rule)
}
