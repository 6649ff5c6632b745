//! A matrix known by its products alone, centred and scaled: `B = n^(-1/2) (A - 1 mu') F`, never formed.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::Exec;
use crate::linalg::decomp::tsqr::Triangle;
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::moments::Moments;
use crate::operator::{Products, Side};

/// The most unit vectors per product when a matrix is written out; fewer if so many columns exceed the memory of a
/// panel.
const UNITS: usize = 64;
const PANEL_BYTES: usize = 256 << 20;

fn units_at_a_time((n, p): (usize, usize)) -> usize {
    (PANEL_BYTES / 8 / n.max(p).max(1)).clamp(1, UNITS)
}

/// A matrix `A`, shape (n_samples, n_features), given by its products: data that are computed, distributed or
/// stored in a private format. [`crate::Pca::fit_operator`] finds its principal components.
///
/// ```
/// use karhunen::exec::Exec;
/// use karhunen::{LinOp, Matrix, Pca, Result};
/// /// Ten rows: row i holds i times (1, 2, 3), and is never stored.
/// struct Multiples;
/// impl LinOp for Multiples {
///     fn shape(&self) -> (usize, usize) {
///         (10, 3)
///     }
///     fn apply(&self, v: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
///         let along = |c| (0..3).map(|j| (j + 1) as f64 * v[(j, c)]).sum::<f64>();
///         Ok(Matrix::from_fn(10, v.n_cols(), |i, c| i as f64 * along(c)))
///     }
///     fn apply_t(&self, u: &Matrix, _: &Exec<'_>) -> Result<Matrix> {
///         let along = |c| (0..10).map(|i| i as f64 * u[(i, c)]).sum::<f64>();
///         Ok(Matrix::from_fn(3, u.n_cols(), |j, c| (j + 1) as f64 * along(c)))
///     }
/// }
/// let model = Pca::new(1).fit_operator(&Multiples, None)?;
/// assert!((model.explained_variance_ratio()[0] - 1.0).abs() < 1e-12);
/// assert!((model.mean()[2] - 13.5).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
pub trait LinOp: Sync {
    /// (n_samples, n_features).
    fn shape(&self) -> (usize, usize);

    /// `A V`, shape (n_samples, l), for `v` of shape (n_features, l).
    ///
    /// # Errors
    /// [`Error::Read`] if the product fails.
    fn apply(&self, v: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;

    /// `A' U`, shape (n_features, l), for `u` of shape (n_samples, l).
    ///
    /// # Errors
    /// As [`LinOp::apply`].
    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix>;

    /// The means of the columns and their sums of squared deviations from them. The default computes both from
    /// products with n_features unit vectors, 64 at a time.
    ///
    /// # Errors
    /// As [`LinOp::apply`]; [`Error::NonFinite`] for a product that is NaN or infinite.
    fn moments(&self, exec: &Exec<'_>) -> Result<Moments> {
        let (n, p) = self.shape();
        let mut all =
            Moments { n_samples: n, weight: n as f64, weight_squared: n as f64, ..Moments::empty(0) };
        let most = units_at_a_time((n, p));
        for start in (0..p).step_by(most) {
            let width = most.min(p - start);
            let part = exec.part(start as f64 / p as f64, (start + width) as f64 / p as f64);
            let columns = self.apply(&units(p, start, width), &part.part(0.0, 0.5))?;
            check_shape(&columns, (n, width))?;
            let part = part.part(0.5, 1.0);
            part.report(1.0)?;
            let found =
                Moments::within(&Dense::from(&columns), None, &part).map_err(|error| match error {
                    Error::NonFinite { row, column, value } => {
                        Error::NonFinite { row, column: start + column, value }
                    }
                    Error::Overflow { statistic, column } => {
                        Error::Overflow { statistic, column: start + column }
                    }
                    error => error,
                })?;
            all.mean.extend(found.mean);
            all.sum_of_squares.extend(found.sum_of_squares);
        }
        Ok(all)
    }
}

/// `B = n^(-1/2) (A - 1 mu') F` with the means `mu` and the factors `F` of the map.
pub(crate) struct MappedOp<'a> {
    op: &'a dyn LinOp,
    map: ColumnMap<'a>,
    n_products: AtomicUsize,
}

impl<'a> MappedOp<'a> {
    pub(crate) fn new(op: &'a dyn LinOp, map: ColumnMap<'a>) -> Self {
        Self { op, map, n_products: AtomicUsize::new(0) }
    }

    /// Memory estimate in bytes of a product: its argument and its result, each twice.
    pub(crate) fn need(shape: (usize, usize)) -> f64 {
        2.0 * 8.0 * units_at_a_time(shape) as f64 * (shape.0 + shape.1) as f64
    }

    /// Number of products with `A` and with `A'` so far.
    pub(crate) fn n_products(&self) -> usize {
        self.n_products.load(Ordering::Relaxed)
    }

    /// Counts a product and checks its shape and values.
    fn taken(&self, product: Matrix, shape: (usize, usize)) -> Result<Matrix> {
        self.n_products.fetch_add(1, Ordering::Relaxed);
        check_shape(&product, shape)?;
        match product.as_slice().iter().find(|x| !x.is_finite()) {
            None => Ok(product),
            Some(value) => Err(Error::Operator {
                what: "a product of the operator",
                value: *value,
                rule: "products are finite",
            }),
        }
    }

    fn root(&self) -> f64 {
        (self.op.shape().0 as f64).sqrt().recip()
    }

    /// `B Q`, shape (n, l).
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let ((n, p), l) = (self.op.shape(), q.n_cols());
        let scaled = Matrix::from_fn(p, l, |j, c| self.map.factor[j] * q[(j, c)]);
        let mut product = self.taken(self.op.apply(&scaled, exec)?, (n, l))?;
        let means: Vec<f64> =
            (0..l).map(|c| (0..p).map(|j| self.map.shift[j] * scaled[(j, c)]).sum()).collect();
        let root = self.root();
        for i in 0..n {
            product.row_mut(i).iter_mut().zip(&means).for_each(|(x, mean)| *x = (*x - mean) * root);
        }
        Ok(product)
    }

    /// `B'B` or `B B'`, from products with the columns of a unit matrix.
    fn square(
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
        let mean: f64 = self.map.shift.iter().zip(self.map.factor).map(|(m, f)| (m * f) * (m * f)).sum();
        2.0 * (mean * largest).sqrt()
    }

    fn apply_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let ((n, p), l) = (self.op.shape(), u.n_cols());
        let product = self.taken(self.op.apply_t(u, exec)?, (p, l))?;
        let sums: Vec<f64> = (0..l).map(|c| (0..n).map(|i| u[(i, c)]).sum()).collect();
        let (root, ColumnMap { shift, factor, .. }) = (self.root(), self.map);
        Ok(Matrix::from_fn(p, l, |j, c| (product[(j, c)] - shift[j] * sums[c]) * factor[j] * root))
    }

    fn normal(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let image = self.apply(q, &exec.part(0.0, 0.5))?;
        self.apply_t(&image, &exec.part(0.5, 1.0))
    }

    fn normal_t(&self, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let image = self.apply_t(u, &exec.part(0.0, 0.5))?;
        self.apply(&image, &exec.part(0.5, 1.0))
    }

    fn product(&self, side: Side, exec: &Exec<'_>) -> Result<Matrix> {
        let (n, p) = self.op.shape();
        match side {
            Side::Columns => self.square(p, exec, |q, exec| self.normal(q, exec)),
            Side::Rows => self.square(n, exec, |u, exec| self.normal_t(u, exec)),
        }
    }

    /// Refuses: products cannot give a triangle without the whole matrix.
    fn triangle(&self, _: Side, _: &Exec<'_>) -> Result<Triangle> {
        Err(needs_rows())
    }
}

/// The error for the route svd, which reads rows.
pub(crate) fn needs_rows() -> Error {
    let rule = "an operator has products, not rows: say covariance, gram or block-krylov";
    Error::option(options::SOLVER, OptionValue::name("svd"), rule)
}

/// Columns `start..start + width` of the unit matrix.
fn units(dim: usize, start: usize, width: usize) -> Matrix {
    Matrix::from_fn(dim, width, |i, c| f64::from(u8::from(i == start + c)))
}

/// Refuses a product of the wrong shape.
fn check_shape(product: &Matrix, (rows, columns): (usize, usize)) -> Result<()> {
    let what = "a product of the operator";
    for (axis, found, expected) in [("rows", product.n_rows(), rows), ("columns", product.n_cols(), columns)]
    {
        if found != expected {
            return Err(Error::Shape { what, axis, found, expected });
        }
    }
    Ok(())
}
