//! Rotated loadings and all that follows from them.

use crate::error::{Error, Result, options};
use crate::exec::{Flow, Run};
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::pca::signs;
use crate::scalar::{Scalar, largest, largest_magnitude};

/// Rotated loadings and all that follows from them, for loadings of shape (p, k).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rotation {
    /// Rotated loadings, shape (p, k): the coefficients of the components in each column of the data.
    pub pattern: Matrix,
    /// Covariances of the columns and the rotated components, shape (p, k); correlations for standardised columns. Equal
    /// to the pattern if the rotation is orthogonal.
    pub structure: Matrix,
    /// M with pattern = loadings M, shape (k, k).
    pub rotation: Matrix,
    /// M^-T, shape (k, k), which multiplies standardised scores.
    pub score_rotation: Matrix,
    /// Correlations of the rotated components, shape (k, k); the identity if the rotation is orthogonal.
    pub component_correlations: Matrix,
    /// Variance of each column that the k components explain, length p. No rotation changes it.
    pub communalities: Vec<f64>,
    /// Variance of each rotated component, length k, descending (in the order of the target for
    /// [`super::procrustes`]): the sums of squares of the pattern, for correlated components of pattern times
    /// structure. Their sum equals the sum of the communalities.
    pub variances: Vec<f64>,
    /// Number of iterations.
    pub n_iter: usize,
    /// True if the last iteration was within the tolerance.
    pub converged: bool,
}

impl Rotation {
    /// The variances as shares of `total_variance` of the model; the number of columns for standardised data.
    pub fn shares(&self, total_variance: f64) -> Vec<f64> {
        self.variances.iter().map(|variance| variance / total_variance).collect()
    }

    /// Scores of the rotated components, shape (n, k), of unit variance: `scores` (n, k) of the fitted model, divided
    /// by the square roots of `variances` (k), times [`Rotation::score_rotation`]. Scores of components without variance
    /// count as zero.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns or variances.
    pub fn scores<T: Scalar>(&self, scores: &Matrix<T>, variances: &[f64]) -> Result<Matrix<T>> {
        let expected = self.rotation.n_rows();
        for (what, axis, found) in
            [("scores", "columns", scores.n_cols()), ("variances of the scores", "values", variances.len())]
        {
            if found != expected {
                return Err(Error::Shape { what, axis, found, expected });
            }
        }
        Ok(self.of_leading(scores, variances))
    }

    /// The inverse of [`Rotation::scores`]: scores of the fitted model, shape (n, number of `variances`), from scores
    /// of the rotated components, shape (n, k). `variances` belong to all components of the model, of which the k
    /// leading ones are rotated; scores of the others are zero.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns, or fewer variances than k.
    pub fn to_scores<T: Scalar>(&self, scores: &Matrix<T>, variances: &[f64]) -> Result<Matrix<T>> {
        let k = self.rotation.n_rows();
        let counts =
            [("scores", "columns", scores.n_cols()), ("variances", "values", variances.len().min(k))];
        if let Some((what, axis, found)) = counts.into_iter().find(|(_, _, found)| *found != k) {
            return Err(Error::Shape { what, axis, found, expected: k });
        }
        let back = Matrix::from_fn(k, variances.len(), |c, l| {
            if l < k { self.rotation[(l, c)] * variances[l].sqrt() } else { 0.0 }
        });
        Ok(times(scores, &back))
    }

    /// As [`Rotation::scores`], of the leading columns of `scores`, whose variances are `variances`.
    pub(super) fn of_leading<T: Scalar>(&self, scores: &Matrix<T>, variances: &[f64]) -> Matrix<T> {
        let k = self.rotation.n_rows();
        let factor = |variance: f64| if variance > 0.0 { variance.sqrt().recip() } else { 0.0 };
        let of_score = Matrix::from_fn(k, k, |l, c| factor(variances[l]) * self.score_rotation[(l, c)]);
        times(scores, &of_score)
    }

    /// Derives everything from the rotation M of loadings.
    pub(super) fn of(
        loadings: &Matrix,
        rotation: Matrix,
        (n_iter, converged): (usize, bool),
    ) -> Result<Self> {
        let k = rotation.n_rows();
        let identity = Matrix::from_fn(k, k, |i, j| f64::from(u8::from(i == j)));
        let pattern = multiply(loadings, &rotation);
        let component_correlations = cholesky::solve(&t_multiply(&rotation, &rotation), &identity)?;
        let score_rotation = multiply(&rotation, &component_correlations);
        let structure = multiply(&pattern, &component_correlations);
        let variances = (0..k)
            .map(|c| (0..pattern.n_rows()).map(|j| pattern[(j, c)] * structure[(j, c)]).sum())
            .collect();
        let communalities =
            (0..loadings.n_rows()).map(|j| loadings.row(j).iter().map(|x| x * x).sum()).collect();
        Ok(Self {
            pattern,
            structure,
            rotation,
            score_rotation,
            component_correlations,
            communalities,
            variances,
            n_iter,
            converged,
        })
    }

    /// As [`Rotation::of`], in the order of the variances and with the signs of a fitted model.
    pub(super) fn in_order(loadings: &Matrix, rotation: &Matrix, outcome: (usize, bool)) -> Result<Self> {
        let found = Self::of(loadings, rotation.clone(), outcome)?;
        let k = rotation.n_rows();
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by(|&a, &b| found.variances[b].total_cmp(&found.variances[a]));
        let columns = found.pattern.transposed();
        let sign = |c: usize| if signs::largest_is_negative(columns.row(c)) { -1.0 } else { 1.0 };
        let ordered = Matrix::from_fn(k, k, |i, c| rotation[(i, order[c])] * sign(order[c]));
        Self::of(loadings, ordered, outcome)
    }
}

/// The product of the leading columns of `rows` and `by`, with sums in f64.
pub(super) fn times<T: Scalar>(rows: &Matrix<T>, by: &Matrix) -> Matrix<T> {
    Matrix::from_fn(rows.n_rows(), by.n_cols(), |i, c| {
        let row = &rows.row(i)[..by.n_rows()];
        T::from_f64(row.iter().enumerate().map(|(l, x)| x.to_f64() * by[(l, c)]).sum())
    })
}

/// Refuses loadings that no rotation is defined for.
pub(super) fn check_loadings(loadings: &Matrix) -> Result<()> {
    let (p, k) = loadings.shape();
    if k == 0 || p == 0 {
        return Err(Error::option(
            options::N_COMPONENTS,
            k,
            "a rotation needs at least one component and one column",
        ));
    }
    match loadings.as_slice().iter().position(|x| !x.is_finite()) {
        Some(e) => Err(Error::NonFinite { row: e / k, column: e % k, value: loadings.as_slice()[e] }),
        None => Ok(()),
    }
}

/// Variance of a component, as a share of the largest, below which it is rounding.
pub(super) const WITHOUT_VARIANCE: f64 = 1e-14;

/// Refuses components without variance, which have no direction, unless none has variance.
pub(super) fn check_variances(loadings: &Matrix) -> Result<()> {
    let (p, k) = loadings.shape();
    let size = largest_magnitude(loadings.as_slice());
    let variances: Vec<f64> =
        (0..k).map(|c| (0..p).map(|j| (loadings[(j, c)] / size).powi(2)).sum()).collect();
    let least = WITHOUT_VARIANCE * largest(variances.iter().copied());
    match variances.iter().position(|variance| *variance <= least) {
        Some(c) if c > 0 => {
            let rule = format!("component {} has no variance; rotate those that have", c + 1);
            Err(Error::option(options::N_COMPONENTS, k, rule))
        }
        _ => Ok(()),
    }
}

/// Asks the observer whether to continue.
pub(super) fn ask(run: &Run<'_>) -> Result<()> {
    const PHASE: &str = "rotation";
    match run.observer.update(PHASE, 0.0) {
        Flow::Continue => Ok(()),
        Flow::Stop => Err(Error::Stopped { phase: PHASE }),
    }
}

/// Refuses a tolerance outside (0, 1) and no iteration.
pub(super) fn check_iteration(tol: f64, max_iter: usize) -> Result<()> {
    if !(tol > 0.0 && tol < 1.0) {
        return Err(Error::option(options::TOL, tol, "a tolerance lies between 0 and 1, both excluded"));
    }
    if max_iter == 0 {
        return Err(Error::option(options::MAX_ITER, 0usize, "at least one iteration is needed"));
    }
    Ok(())
}
