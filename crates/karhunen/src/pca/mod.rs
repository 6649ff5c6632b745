//! Principal component analysis: options, fit, the fitted model, and what it does to new data.

mod evidence;
mod fit;
mod fit_operator;
mod likelihood;
mod model;
mod signs;
mod transform;

pub use model::{Convergence, ModelParts, PcaModel};
pub use transform::Transform;

use crate::error::{Error, Result};
use crate::exec::{Observer, Unobserved};
use crate::moments::Scatter;
use crate::operator::LinOp;
use crate::scalar::{Scalar, compiled};
use crate::solver::Route;
use crate::source::Source;
use crate::weights::{Weighting, Weights};

/// How many components to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum NComponents {
    /// All: min(n_samples, n_features).
    #[default]
    All,
    /// This many, at most min(n_samples, n_features). None (0) leaves the mean and one noise variance for all directions;
    /// [`Route::BlockKrylov`] needs at least 1.
    Count(usize),
    /// As few as explain more than this fraction of the total variance, 0 < fraction < 1, or all of it if 1. Shares equal to
    /// 12 digits are equal.
    Variance(f64),
    /// As many as the data have, by the evidence of probabilistic PCA (Minka 2000): needs at least as many rows as
    /// columns, and all components are computed.
    Mle,
}

/// Principal component analysis: options are plain data, [`Pca::fit`] is the only verb.
///
/// ```
/// use karhunen::{Dense, NComponents, Pca, Weights};
/// // The mean is (3, 4), the one direction of variance is the diagonal.
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let pca = Pca { n_components: NComponents::Count(1), ..Pca::default() };
/// let model = pca.fit(&Dense::row_major(&x, 3, 2)?, &Weights::of_samples(&[1.0, 2.0, 1.0]))?;
/// assert_eq!(model.mean(), [3.0, 4.0]);
/// assert!((model.explained_variance()[0] - 16.0 / 3.0).abs() < 1e-12);
/// assert!((model.components()[(0, 0)] - 0.5_f64.sqrt()).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pca {
    /// How many components to keep.
    pub n_components: NComponents,
    /// Subtract the mean of each column. Without it, this is a truncated singular value decomposition.
    pub center: bool,
    /// Divide each column by its standard deviation, taken with the divisor of the weighting: PCA of the correlation
    /// matrix, as R's `prcomp(scale. = TRUE)`.
    pub scale: bool,
    /// What sample weights mean.
    pub weighting: Weighting,
    /// The route to the components; chosen by predicted cost and memory if `None`.
    pub solver: Option<Route>,
    /// Block Krylov iteration stops when every residual `||S w - lambda w||` is below `tol * lambda_1`.
    /// If `None`, 1e-8 for f64 data and 1e-6 for f32 data.
    pub tol: Option<f64>,
    /// Passes over the data that block Krylov iteration may make before it gives up.
    pub max_iter: usize,
    /// Columns that block Krylov iteration applies at a time; chosen if `None`.
    pub block_size: Option<usize>,
    /// Seed of the starting block of block Krylov iteration.
    pub seed: u64,
    /// Threads; those of the current rayon pool if `None`. The result does not depend on them.
    pub n_threads: Option<usize>,
    /// Make [`Error::NotConverged`] of components that miss the tolerance, instead of reporting them.
    pub strict: bool,
}

impl Default for Pca {
    fn default() -> Self {
        Self {
            n_components: NComponents::All,
            center: true,
            scale: false,
            weighting: Weighting::Frequency,
            solver: None,
            tol: None,
            max_iter: 1000,
            block_size: None,
            seed: 0,
            n_threads: None,
            strict: false,
        }
    }
}

impl Pca {
    /// Keeps `n_components` components; everything else at its default.
    pub fn new(n_components: usize) -> Self {
        Self { n_components: NComponents::Count(n_components), ..Self::default() }
    }

    /// Fits principal components to `x`, shape (n_samples, n_features).
    ///
    /// Reads `x` once for the mean and the variances (sparse data twice), then as often as the route needs:
    /// [`Convergence::n_passes`]. Beside `x` it holds the route's own matrices.
    ///
    /// # Errors
    /// [`Error::NComponents`] unless 0 <= n_components <= min(n_samples, n_features); [`Error::NonFinite`] for NaN
    /// and infinite values; those of weights; [`Error::Option`]; [`Error::NotConverged`] if `strict`; any error `x`
    /// raises while read.
    pub fn fit<T: Scalar>(&self, x: &dyn Source<T>, weights: &Weights<'_>) -> Result<PcaModel> {
        self.fit_observed(x, weights, &Unobserved)
    }

    /// Bytes that a fit of `x` will ask for, beside `x` and what is in use: an estimate from above.
    ///
    /// ```
    /// use karhunen::{Dense, Pca};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// assert!(Pca::new(1).memory_need(&Dense::row_major(&x, 3, 2)?) < 1e7);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    pub fn memory_need<T: Scalar>(&self, x: &dyn Source<T>) -> f64 {
        compiled!(T, fit::memory_need::<T> => fn(&Pca, &dyn Source<T>) -> f64)(self, x)
    }

    /// As [`Pca::fit`], telling `observer` how far it has come.
    ///
    /// # Errors
    /// As [`Pca::fit`], and [`Error::Stopped`] if the observer asks to stop.
    pub fn fit_observed<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        observer: &dyn Observer,
    ) -> Result<PcaModel> {
        let fit = compiled!(T, fit::fit::<T>
            => fn(&Pca, &dyn Source<T>, &Weights<'_>, &dyn Observer) -> Result<PcaModel>);
        fit(self, x, weights, observer)
    }

    /// Fits principal components to data that were read before, in one part or in many: the covariance route without
    /// a pass over the data. `feature_weights` holds one finite weight >= 0 for each column.
    ///
    /// The result is that of [`Pca::fit`] by [`Route::Covariance`] on all rows together, to rounding, with the dtype
    /// `"f64"`. Two things only the data could tell: rounding of sparse centring is not in the residuals, and a column
    /// counts as constant if its squared deviations underflow, or if its standard deviation is within 4 units of rounding
    /// of its mean.
    ///
    /// # Errors
    /// [`Error::NComponents`]; [`Error::Option`], also for another solver than covariance; those of weights;
    /// [`Error::Shape`] for a scatter whose fields do not fit together; [`Error::NotConverged`] if `strict`.
    pub fn fit_scatter(&self, scatter: &Scatter, feature_weights: Option<&[f64]>) -> Result<PcaModel> {
        fit::fit_scatter(self, scatter, feature_weights)
    }

    /// Fits principal components to a matrix that is known by its products alone. `feature_weights` holds one finite weight
    /// >= 0 for each column; every row counts the same.
    ///
    /// Asks `op` for the moments of its columns, then for products: with blocks of a few vectors by block Krylov iteration, or
    /// with the unit vectors of the shorter side where all components are wanted. Means are subtracted after a product, so
    /// that columns far from zero cost digits: about those of `|mean| / deviation`, which the residuals include.
    /// [`Convergence::n_passes`] counts the products with the matrix and with its transpose, without those of the moments.
    ///
    /// # Errors
    /// As [`Pca::fit`], and [`Error::Option`] for the solver svd; [`Error::Shape`] for products or moments of another shape; what
    /// the products raise; [`Error::Stopped`] if the observer asks to stop.
    pub fn fit_operator(
        &self,
        op: &dyn LinOp,
        feature_weights: Option<&[f64]>,
        observer: &dyn Observer,
    ) -> Result<PcaModel> {
        fit_operator::fit_operator(self, op, feature_weights, observer)
    }

    /// Every rule of the options, in one place.
    fn check(&self, (n_samples, n_features): (usize, usize)) -> Result<()> {
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        let max = n_samples.min(n_features);
        // An iteration looks for at least one.
        let min = usize::from(self.solver == Some(Route::BlockKrylov));
        match self.n_components {
            NComponents::Count(requested) if !(min..=max).contains(&requested) => {
                return Err(Error::NComponents { requested, min, max, n_samples, n_features });
            }
            NComponents::Variance(fraction) if !(fraction > 0.0 && fraction <= 1.0) => {
                return Err(Error::VarianceFraction { fraction });
            }
            NComponents::Mle if n_samples < n_features => {
                return Err(Error::Option {
                    option: "n_components",
                    value: "mle".to_owned(),
                    rule: "it needs at least as many rows as columns",
                });
            }
            _ => {}
        }
        let refuse = |option, value: String, rule| Err(Error::Option { option, value, rule });
        match (self.tol, self.max_iter, self.block_size) {
            (Some(tol), _, _) if !(tol > 0.0 && tol < 1.0) => {
                refuse("tol", tol.to_string(), "a tolerance lies between 0 and 1, both excluded")
            }
            (_, 0, _) => refuse("max_iter", "0".to_owned(), "at least one iteration is needed"),
            (_, _, Some(0)) => refuse("block_size", "0".to_owned(), "at least one column is needed"),
            (_, _, Some(size)) if self.solver.is_some_and(|route| route != Route::BlockKrylov) => {
                refuse("block_size", size.to_string(), "only the solver block-krylov works in blocks")
            }
            _ => Ok(()),
        }
    }
}
