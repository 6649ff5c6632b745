//! Principal component analysis: options, fit, fitted model, transform.

mod convergence;
pub(crate) mod evidence;
mod factors;
mod fit;
mod fit_operator;
mod fit_parts;
pub(crate) mod fit_scatter;
pub(crate) mod lengths;
mod likelihood;
mod limit;
mod logged;
mod model;
mod n_components;
mod oadp;
mod observed;
mod plan;
#[cfg(feature = "serde")]
mod record;
pub(crate) mod signs;
mod solved;
mod transform;

pub use convergence::Convergence;
pub use model::{AboutMean, ModelParts, NewRows, PcaModel};
pub use n_components::NComponents;
pub use transform::{ScoreReceiver, Transform};

pub(crate) use logged::Before;

use crate::choice::Choice;
use crate::cluster::Engine;
use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Fact, PassLog, Run};
use crate::growth::More;
use crate::moments::Scatter;
use crate::operator::{LinOp, describe_weights};
use crate::scalar::{Scalar, compiled};
pub use crate::scaling::{Centring, Scaling};
pub use crate::solver::Route;
use crate::source::{Source, Stream};
use crate::weights::{Weighting, Weights};

/// Principal component analysis: the options as plain data, and [`Pca::fit`].
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Pca {
    /// Number of components to keep.
    pub n_components: NComponents,
    /// What is subtracted from each column. Variances are second moments about it.
    pub center: Centring,
    /// What each column is divided by.
    pub scale: Scaling,
    /// Meaning of the sample weights.
    pub weighting: Weighting,
    /// The route to the components; chosen by predicted cost and memory if `None`.
    pub solver: Option<Route>,
    /// Block Krylov iteration stops when every residual `||S w - lambda w||` is below `tol * lambda_1`.
    /// If `None`, 1e-8 for f64 data and 1e-6 for f32 data.
    pub tol: Option<f64>,
    /// The most passes over the data by block Krylov iteration.
    pub max_iter: usize,
    /// Block size of block Krylov iteration; chosen if `None`.
    pub block_size: Option<usize>,
    /// Most bytes that a fit may hold: the rows that its source holds or keeps, and the work of the route. If `None`,
    /// half of the memory that the machine or the process may have, for sources that read their rows in every visit;
    /// rows in memory have no limit but the memory of the process. A limit may change the route, and with it the last
    /// bits.
    ///
    /// Block Krylov iteration may keep the values of dense rows in memory, if they come in one block, packed for all its
    /// products. They take as many bytes again: at most half of a limit, or a quarter of the memory left without one, and
    /// none where new memory is slow or the fit can be resumed. Time depends on it, no bit of the result does.
    pub memory_limit: Option<u64>,
    /// Seed of the random starting block of block Krylov iteration.
    pub seed: u64,
    /// Return [`Error::NotConverged`] if a component misses the tolerance, instead of reporting its residual.
    pub strict: bool,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for Pca {
    fn default() -> Self {
        Self {
            n_components: NComponents::All,
            center: Centring::Mean,
            scale: Scaling::None,
            weighting: Weighting::Frequency,
            solver: None,
            tol: None,
            max_iter: 1000,
            block_size: None,
            memory_limit: None,
            seed: 0,
            strict: false,
            more: More,
        }
    }
}

impl Pca {
    /// Keeps `n_components` components; all other options at their defaults.
    pub fn new(n_components: usize) -> Self {
        Self { n_components: NComponents::Count(n_components), ..Self::default() }
    }

    /// This estimator with another centring: `true`, `false`, a [`Centring`], or one number for each column.
    ///
    /// ```
    /// use karhunen::{Dense, Pca, Weights};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let x = Dense::row_major(&x, 3, 2)?;
    /// let model = Pca::default().center(vec![1.0, 2.0]).scale(vec![2.0, 1.0]).fit(&x, &Weights::default())?;
    /// // Squared deviations from (1, 2): (0 + 4 + 16) / 4 and 0 + 4 + 16, with the divisor n - 1.
    /// assert!((model.total_variance() - (5.0 + 20.0) / 2.0).abs() < 1e-13);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    #[must_use]
    pub fn center(self, center: impl Into<Centring>) -> Self {
        Self { center: center.into(), ..self }
    }

    /// This estimator with another scaling: `true`, `false`, a [`Scaling`], or one number for each column.
    #[must_use]
    pub fn scale(self, scale: impl Into<Scaling>) -> Self {
        Self { scale: scale.into(), ..self }
    }

    /// Fits principal components to `x`, shape (n_samples, n_features).
    ///
    /// Visits `x` once for the ranges of [`Scaling::Range`], once for the means and variances (each sparse block is read twice within the visit), then as
    /// often as the route needs: [`Convergence::n_passes`]. Memory in addition to `x`: the matrices of the route. A
    /// source of one pass ([`crate::source::Passes::Once`]) is fitted by the covariance route from its [`Scatter`], as
    /// [`Pca::fit_scatter`] does.
    ///
    /// # Errors
    /// [`Error::OnePass`] for another route over a source of one pass;
    /// [`Error::NComponents`] unless 0 <= n_components <= min(n_samples, n_features); [`Error::NoCount`] for a binomial scale of other
    /// values; [`Error::NonFinite`] for NaN
    /// and infinite values; [`Error::ColumnValue`] and [`Error::Shape`] for given centres and scales; errors of weights; [`Error::Option`]; [`Error::NotConverged`] if `strict`; any error
    /// `x` raises while read.
    pub fn fit<T: Scalar>(&self, x: &dyn Source<T>, weights: &Weights<'_>) -> Result<PcaModel> {
        self.fit_with(x, weights, &Run::default())
    }

    /// As [`Pca::fit`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Pca::fit`], and [`Error::Stopped`] if the observer cancels.
    pub fn fit_with<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        self.fit_after(x, weights, Before::default(), run)
    }

    /// As [`Pca::fit_with`]; `log` keeps the results of the passes, so that an interrupted fit, started again with the same
    /// data, weights and options, makes only those that are missing. The model has the same bits. The passes of the route
    /// svd are not kept.
    ///
    /// # Errors
    /// As [`Pca::fit_with`]; errors of `log`, such as [`Error::OtherFit`] if it holds passes of another fit;
    /// [`Error::OnePass`] for data that can be visited once.
    pub fn fit_logged<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        log: &dyn PassLog,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        self.fit_after(x, weights, Before { log: Some(log), ..Before::default() }, run)
    }

    /// As [`Pca::fit_with`], with results of earlier fits.
    pub(crate) fn fit_after<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        before: Before<'_>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        let fit = compiled!(T, fit::fit::<T>
            => fn(&Pca, &dyn Source<T>, &Weights<'_>, Before<'_>, &Run<'_>) -> Result<PcaModel>);
        fit(self, x, weights, before, run)
    }

    /// Memory estimate of a fit of `x` in bytes, an upper bound, without `x` and memory in use before. It grows
    /// with the number of threads of `run`.
    ///
    /// ```
    /// use karhunen::{Dense, Pca, Run};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// assert!(Pca::new(1).memory_need(&Dense::row_major(&x, 3, 2)?, &Run::default()) < 1e7);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    pub fn memory_need<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> f64 {
        compiled!(T, plan::memory_need::<T> => fn(&Pca, &dyn Source<T>, &Run<'_>) -> f64)(self, x, run)
    }

    /// Sums the rows of `x` for [`Pca::fit_scatter`]: as [`Scatter::of`], within the memory limit of the fit. `weights`
    /// holds one weight for each row; all are one if `None`. Of the other options only the solver matters.
    ///
    /// # Errors
    /// As [`Scatter::of`]; [`Error::OnePass`] for another solver than covariance; [`Error::Memory`] if the limit is too
    /// small.
    pub fn scatter_of<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<Scatter> {
        fit_scatter::scatter_of(self, x, weights, run)
    }

    /// Fits principal components to moments of data read before, in one part or in many: the covariance route
    /// without a pass over the data. `feature_weights` holds one finite weight >= 0 for each column.
    ///
    /// The result equals [`Pca::fit`] by [`Route::Covariance`] on all rows together, to rounding, with the
    /// dtype `"f64"`, with two differences: the residuals exclude the rounding error of sparse centring, and a
    /// column counts as constant if its squared deviations underflow or its standard deviation is within 4 units
    /// of rounding of its mean.
    ///
    /// # Errors
    /// [`Error::NComponents`]; [`Error::Option`], also for a solver other than covariance and for [`Scaling::Range`], since
    /// moments hold no ranges; errors of given centres and scales, and of weights;
    /// [`Error::Shape`] for a scatter whose fields disagree in shape; [`Error::NotConverged`] if `strict`.
    pub fn fit_scatter(&self, scatter: &Scatter, feature_weights: Option<&[f64]>) -> Result<PcaModel> {
        self.fit_scatter_with(scatter, feature_weights, &Run::default())
    }

    /// As [`Pca::fit_scatter`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Pca::fit_scatter`], and [`Error::Stopped`] if the observer cancels.
    pub fn fit_scatter_with(
        &self,
        scatter: &Scatter,
        feature_weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        fit_scatter::fit_scatter(self, scatter, feature_weights, run)
    }

    /// Fits principal components to a stream of rows and their weights, in one pass, by the covariance route from their
    /// [`Scatter`]. `feature_weights` holds one finite weight >= 0 for each column.
    ///
    /// The result equals [`Pca::fit`] by [`Route::Covariance`] to rounding; constant columns count as for
    /// [`Pca::fit_scatter`].
    ///
    /// # Errors
    /// [`Error::OnePass`] for another route; [`Error::Option`] for [`Scaling::Range`]; errors of options; [`Error::Empty`] and [`Error::NComponents`] (for fewer rows
    /// than components) after the last row; otherwise as [`Scatter::of_stream`] and [`Pca::fit_scatter`].
    pub fn fit_stream<T: Scalar>(
        &self,
        rows: &mut (dyn Stream<T> + Send),
        feature_weights: Option<&[f64]>,
    ) -> Result<PcaModel> {
        self.fit_stream_with(rows, feature_weights, &Run::default())
    }

    /// As [`Pca::fit_stream`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Pca::fit_stream`], and [`Error::Stopped`] if the observer cancels.
    pub fn fit_stream_with<T: Scalar>(
        &self,
        rows: &mut (dyn Stream<T> + Send),
        feature_weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        type Rows<'a, T> = &'a mut (dyn Stream<T> + Send);
        let fit = compiled!(T, fit_scatter::fit_stream::<T>
            => fn(&Pca, Rows<'_, T>, Option<&[f64]>, &Run<'_>) -> Result<PcaModel>);
        fit(self, rows, feature_weights, run)
    }

    /// Fits principal components to a matrix known only by its products. `feature_weights` holds one finite weight
    /// >= 0 for each column; every row has weight one.
    ///
    /// Calls `op` for the moments of its columns, then for products: with blocks of a few vectors in block Krylov
    /// iteration, or with the unit vectors of the shorter side if the iteration would multiply more vectors; an operator
    /// that squares its matrix ([`crate::Profile::squares_up_to`]) is asked for that instead. Means are subtracted after a
    /// product, unless the operator does it before, so columns far from zero lose about the digits of `|mean| / deviation`; the
    /// residuals include that error. [`Convergence::n_passes`] counts the products with the matrix and with its
    /// transpose, but not for the moments.
    ///
    /// # Errors
    /// As [`Pca::fit`], and [`Error::Option`] for the solver svd and for [`Scaling::Range`]; [`Error::Shape`] for products or moments of
    /// another shape; errors of the operator.
    pub fn fit_operator(&self, op: &dyn LinOp, feature_weights: Option<&[f64]>) -> Result<PcaModel> {
        self.fit_operator_with(op, feature_weights, &Run::default())
    }

    /// As [`Pca::fit_operator`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Pca::fit_operator`], and [`Error::Stopped`] if the observer cancels.
    pub fn fit_operator_with(
        &self,
        op: &dyn LinOp,
        feature_weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        self.fit_operator_weighted(op, &Weights { samples: None, features: feature_weights }, run)
    }

    /// As [`Pca::fit_operator_with`], with weights of the rows.
    ///
    /// # Errors
    /// As [`Pca::fit_operator_with`], and errors of weights.
    pub fn fit_operator_weighted(
        &self,
        op: &dyn LinOp,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        fit_operator::fit_operator(self, op, weights, run)
    }

    /// Fits principal components to data in parts, which `engine` visits, such as the partitions of a cluster.
    /// `feature_weights` holds one finite weight >= 0 for each column.
    ///
    /// One pass sums the scatter matrix of up to 2,048 columns, of any number of columns for the solver covariance or all
    /// components. Otherwise block Krylov iteration takes one pass for each product. The bits depend on the parts alone.
    ///
    /// # Errors
    /// As [`Pca::fit`], and [`Error::Option`] for the solvers svd and gram and for [`Scaling::Range`]; [`Error::Part`] with the number of the part
    /// for errors of its rows; [`Error::PartColumns`]; [`Error::PartChanged`] for a part that an earlier pass found
    /// otherwise; errors of the engine.
    pub fn fit_parts(&self, engine: &dyn Engine, feature_weights: Option<&[f64]>) -> Result<PcaModel> {
        self.fit_parts_with(engine, feature_weights, None, &Run::default())
    }

    /// As [`Pca::fit_parts`], with threads and observer of `run`; `log` keeps the result of every pass, from which an
    /// interrupted fit continues with the same bits.
    ///
    /// # Errors
    /// As [`Pca::fit_parts`] and [`Pca::fit_logged`].
    pub fn fit_parts_with(
        &self,
        engine: &dyn Engine,
        feature_weights: Option<&[f64]>,
        log: Option<&dyn PassLog>,
        run: &Run<'_>,
    ) -> Result<PcaModel> {
        fit_parts::fit_parts(self, engine, feature_weights, log, run)
    }

    /// The options on which the passes of a fit depend.
    fn facts(&self) -> Vec<Fact> {
        // All fields are listed, so that a new option is not forgotten. `strict` matters after the last pass.
        let Self { n_components, center, scale, weighting, solver, tol, max_iter, block_size, .. } = self;
        let Self { memory_limit, seed, strict: _, more: _, .. } = self;
        [
            (options::N_COMPONENTS, n_components.value()),
            (options::CENTER, center.value()),
            (options::SCALE, scale.value()),
            (options::WEIGHTING, weighting.value()),
            (options::SOLVER, solver.map(|route| route.value()).into()),
            (options::TOL, (*tol).into()),
            (options::MAX_ITER, (*max_iter).into()),
            (options::BLOCK_SIZE, (*block_size).into()),
            (options::MEMORY_LIMIT, (*memory_limit).into()),
            (options::SEED, (*seed).into()),
        ]
        .map(|(option, value)| Fact::Option(option, value))
        .into_iter()
        .chain(center.given().map(|centers| describe_weights("centres of columns", Some(centers))))
        .chain(scale.given().map(|scales| describe_weights("scales of columns", Some(scales))))
        .collect()
    }

    /// Refuses scaling by ranges, which takes a pass over the rows before the fit.
    ///
    /// # Errors
    /// [`Error::Option`] with `rule`.
    fn refuse_range(&self, rule: &'static str) -> Result<()> {
        if self.scale == Scaling::Range {
            return Err(Error::option(options::SCALE, self.scale.value(), rule));
        }
        Ok(())
    }

    /// Checks every rule of the options.
    fn check(&self, (n_samples, n_features): (usize, usize)) -> Result<()> {
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        self.center.check(n_features)?;
        self.scale.check(n_features)?;
        let max = n_samples.min(n_features);
        // Block Krylov iteration needs at least one component.
        let min = usize::from(self.solver == Some(Route::BlockKrylov));
        match self.n_components {
            NComponents::Count(requested) if !(min..=max).contains(&requested) => {
                return Err(Error::NComponents { requested, min, max, n_samples, n_features });
            }
            NComponents::Mle if n_samples < n_features => {
                return Err(Error::option(
                    options::N_COMPONENTS,
                    OptionValue::name("mle"),
                    "it needs at least as many rows as columns",
                ));
            }
            n_components => n_components.check_fraction()?,
        }
        let refuse = |option, value: OptionValue, rule: &'static str| Err(Error::option(option, value, rule));
        match (self.tol, self.max_iter, self.block_size) {
            (Some(tol), _, _) if !(tol > 0.0 && tol < 1.0) => {
                refuse(options::TOL, tol.into(), "a tolerance lies between 0 and 1, both excluded")
            }
            (_, 0, _) => refuse(options::MAX_ITER, 0usize.into(), "at least one iteration is needed"),
            (_, _, Some(0)) => refuse(options::BLOCK_SIZE, 0usize.into(), "at least one column is needed"),
            (_, _, Some(size)) if self.solver.is_some_and(|route| route != Route::BlockKrylov) => {
                refuse(options::BLOCK_SIZE, size.into(), "only the solver block-krylov works in blocks")
            }
            _ => Ok(()),
        }
    }
}
