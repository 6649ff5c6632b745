//! A matrix known by its products. Products of the standardised matrix follow from them; an operator that has
//! these at less cost, such as a device, overrides them.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::linalg::{Dense, Matrix};
use crate::moments::Moments;
use crate::scalar::Scalar as _;

/// The most unit vectors per product when a matrix is written out; fewer if so many columns exceed the memory
/// of a panel.
const UNITS: usize = 64;
const PANEL_BYTES: usize = 256 << 20;

pub(super) fn units_at_a_time((n, p): (usize, usize)) -> usize {
    (PANEL_BYTES / 8 / n.max(p).max(1)).clamp(1, UNITS)
}

/// A matrix `A`, shape (n_samples, n_features), given by its products: data that are computed, distributed,
/// on a device or stored in a private format. [`crate::Pca::fit_operator`] finds its principal components.
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
///
/// A fit calls `moments` once, then `normal` (of more columns than rows, `normal_t` and `standard_t`) or
/// `square`. Their defaults call `apply` and `apply_t`, and move n_samples x l values between the two; an
/// operator that holds the data elsewhere overrides them, so that only n_features x l values travel.
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

    /// Properties of the operator that the choice of a route needs. The default is for products alone, of f64 values.
    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// The means of the columns and their sums of squared deviations from them, where every row counts once.
    /// The default computes both from products with n_features unit vectors, 64 at a time.
    ///
    /// # Errors
    /// As [`LinOp::apply`]; [`Error::NonFinite`] for a product that is NaN or infinite.
    fn moments(&self, exec: &Exec<'_>) -> Result<Moments> {
        moments_by_units(self, None, exec)
    }

    /// As [`LinOp::moments`], with a weight for each row; the weights sum to one.
    ///
    /// # Errors
    /// As [`LinOp::moments`].
    fn weighted_moments(&self, shares: &[f64], exec: &Exec<'_>) -> Result<Moments> {
        moments_by_units(self, Some(shares), exec)
    }

    /// `B' U`, shape (n_features, l), with `B` of `by`. The default corrects the product of
    /// [`LinOp::apply_t`].
    ///
    /// # Errors
    /// As [`LinOp::apply`].
    fn standard_t(&self, by: Standard<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        by.apply_t(self, u, exec)
    }

    /// `B' (B Q)`, shape (n_features, l), for `q` of shape (n_features, l). The default multiplies by `A`,
    /// then by `A'`.
    ///
    /// # Errors
    /// As [`LinOp::apply`].
    fn normal(&self, by: Standard<'_>, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let image = by.apply(self, q, &exec.part(0.0, 0.5))?;
        by.apply_t(self, &image, &exec.part(0.5, 1.0))
    }

    /// `B (B' U)`, shape (n_samples, l), for `u` of shape (n_samples, l). The default multiplies by `A'`,
    /// then by `A`.
    ///
    /// # Errors
    /// As [`LinOp::apply`].
    fn normal_t(&self, by: Standard<'_>, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let image = by.apply_t(self, u, &exec.part(0.0, 0.5))?;
        by.apply(self, &image, &exec.part(0.5, 1.0))
    }

    /// `B'B`, shape (n_features, n_features), or `B B'`, shape (n_samples, n_samples), both triangles, if the
    /// operator forms it at less cost than by products with unit vectors. `None`, the default, leaves it to
    /// these.
    ///
    /// # Errors
    /// As [`LinOp::apply`].
    fn square(&self, _by: Standard<'_>, _side: Side, _exec: &Exec<'_>) -> Result<Option<Matrix>> {
        Ok(None)
    }
}

/// One side of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The rows: `B B'`, shape (n, n).
    Rows,
    /// The columns: `B' B`, shape (p, p).
    Columns,
}

/// What a fit should know of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// `"f32"` or `"f64"`: the type of the values, which the model names. It decides the default tolerance.
    pub dtype: &'static str,
    /// The most columns, or rows if there are fewer, for which a fit chooses [`LinOp::square`] by itself.
    pub squares_up_to: usize,
    /// True if [`LinOp::standard_t`], [`LinOp::normal`], [`LinOp::normal_t`] and [`LinOp::square`] subtract
    /// the centres from the values before they multiply them. Otherwise the residuals include the digits that
    /// centring costs.
    pub centers_first: bool,
    /// Where the products are computed, for the reason of the route; `None` leaves it out.
    pub place: Option<String>,
}

impl Default for Profile {
    fn default() -> Self {
        Self { dtype: f64::NAME, squares_up_to: 0, centers_first: false, place: None }
    }
}

/// The standardised matrix `B = R (A - 1 m') F` of a matrix `A`. `B'B` is the covariance matrix of the rows.
#[derive(Clone, Copy, Debug)]
pub struct Standard<'a> {
    /// `m`, subtracted from each column.
    pub center: &'a [f64],
    /// The diagonal of `F`, the factor of each column.
    pub factor: &'a [f64],
    /// Weights of the rows, which sum to one: `R` holds their square roots. All rows count the same if
    /// `None`.
    pub shares: Option<&'a [f64]>,
}

impl Standard<'_> {
    /// The factor of row `i` of `n`, an entry of `R`.
    pub fn row_factor(&self, i: usize, n: usize) -> f64 {
        self.shares.map_or_else(|| (n as f64).sqrt().recip(), |shares| shares[i].sqrt())
    }

    /// `B Q` by the product `A F Q`.
    fn apply<O: LinOp + ?Sized>(&self, op: &O, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let ((n, p), l) = (op.shape(), q.n_cols());
        let scaled = Matrix::from_fn(p, l, |j, c| self.factor[j] * q[(j, c)]);
        let mut product = checked(op.apply(&scaled, exec)?, (n, l))?;
        let means: Vec<f64> = (0..l).map(|c| (0..p).map(|j| self.center[j] * scaled[(j, c)]).sum()).collect();
        for i in 0..n {
            let root = self.row_factor(i, n);
            product.row_mut(i).iter_mut().zip(&means).for_each(|(x, mean)| *x = (*x - mean) * root);
        }
        Ok(product)
    }

    /// `B' U` by the product `A' R U`.
    fn apply_t<O: LinOp + ?Sized>(&self, op: &O, u: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let ((n, p), l) = (op.shape(), u.n_cols());
        let weighed = self.shares.map(|shares| Matrix::from_fn(n, l, |i, c| shares[i].sqrt() * u[(i, c)]));
        let (u, root) = match &weighed {
            Some(weighed) => (weighed, 1.0),
            None => (u, self.row_factor(0, n)),
        };
        let product = checked(op.apply_t(u, exec)?, (p, l))?;
        let sums: Vec<f64> = (0..l).map(|c| (0..n).map(|i| u[(i, c)]).sum()).collect();
        let Self { center, factor, .. } = self;
        Ok(Matrix::from_fn(p, l, |j, c| (product[(j, c)] - center[j] * sums[c]) * factor[j] * root))
    }
}

/// The moments of the columns by products with unit vectors.
fn moments_by_units<O: LinOp + ?Sized>(op: &O, shares: Option<&[f64]>, exec: &Exec<'_>) -> Result<Moments> {
    let (n, p) = op.shape();
    let mut all = Moments::of_weights(None, n);
    let most = units_at_a_time((n, p));
    for start in (0..p).step_by(most) {
        let width = most.min(p - start);
        let part = exec.part(start as f64 / p as f64, (start + width) as f64 / p as f64);
        let columns = op.apply(&units(p, start, width), &part.part(0.0, 0.5))?;
        check_shape(&columns, (n, width))?;
        let part = part.part(0.5, 1.0);
        part.report(1.0)?;
        let found = Moments::within(&Dense::from(&columns), shares, &part).map_err(|error| match error {
            Error::NonFinite { row, column, value } => {
                Error::NonFinite { row, column: start + column, value }
            }
            Error::NonFiniteUnweighted { row, column, value } => {
                Error::NonFiniteUnweighted { row, column: start + column, value }
            }
            Error::Overflow { statistic, column } => Error::Overflow { statistic, column: start + column },
            error => error,
        })?;
        all.mean.extend(&found.mean);
        all.mean_rest.extend(&found.mean_rest);
        all.sum_of_squares.extend(&found.sum_of_squares);
        if shares.is_some() {
            let Moments { mean, mean_rest, sum_of_squares, .. } = all;
            all = Moments { mean, mean_rest, sum_of_squares, ..found };
        }
    }
    Ok(all)
}

/// Columns `start..start + width` of the unit matrix.
pub(super) fn units(dim: usize, start: usize, width: usize) -> Matrix {
    Matrix::from_fn(dim, width, |i, c| f64::from(u8::from(i == start + c)))
}

/// Checks the shape and the values of a product.
pub(super) fn checked(product: Matrix, shape: (usize, usize)) -> Result<Matrix> {
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
