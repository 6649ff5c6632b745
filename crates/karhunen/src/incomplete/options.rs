//! Options of a fit.

use std::time::Duration;

use crate::choice::{Choice, Named, named, plain_names};
use crate::error::OptionValue;
use crate::growth::More;
use crate::incomplete::factors::FactorSide;
use crate::scaling::Scaling;

/// Most components for which `auto` chooses posteriors with full covariances.
const MOST_FULL: usize = 32;

/// The algorithm of a fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Chosen from the options; the fitted model reports the choice and its reason.
    #[default]
    Auto,
    /// Iterated imputation by a truncated singular value decomposition of the completed matrix.
    Imputation,
    /// As `Imputation`, with singular values shrunk by the ridge.
    Soft,
    /// Least squares by alternating exact solutions: the EM algorithm of Grung & Manne.
    Em,
    /// As `Em`, with a ridge.
    Als,
    /// Cyclic coordinate descent, one component at a time.
    Ccd,
    /// Gradient descent with an adaptive learning rate.
    Gradient,
    /// Natural gradient with an adaptive learning rate.
    Natural,
    /// Gradient divided by the second derivatives to the power `alpha`, with an adaptive learning rate.
    Newton,
    /// Conjugate gradients, preconditioned by the second derivatives to the power `alpha`, with an exact line search.
    Cg,
    /// Online learning from one row at a time; an iteration is a pass over all rows.
    Online,
    /// Ridge: four sweeps of alternating least squares, then conjugate gradients, with exact gauge steps.
    Ridge,
    /// Most probable loadings and scores with learned variances. Sparse data may leave no component.
    Map,
    /// Probabilistic PCA: expectation maximisation with posteriors of the scores and point estimates of the
    /// loadings.
    Ppca,
    /// Variational Bayes with factorial posteriors and learned variances, for many components; prunes components
    /// that the data do not support.
    Vb,
    /// As `Vb`, with one fixed variance of all scores.
    VbFixed,
    /// Variational Bayes with full covariances and learned variances; prunes components that the data do not
    /// support.
    VbFull,
}

impl Choice for Method {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Auto, "auto", "Chosen from the options; the summary gives the reason"),
        Named::new(
            Self::Imputation,
            "imputation",
            "Iterated imputation by a truncated singular value decomposition",
        ),
        Named::new(Self::Soft, "soft", "As imputation, with shrunken singular values"),
        Named::new(Self::Em, "em", "Alternating least squares without a penalty"),
        Named::new(Self::Als, "als", "Alternating least squares with a penalty"),
        Named::new(Self::Ccd, "ccd", "Cyclic coordinate descent, one component at a time"),
        Named::new(Self::Gradient, "gradient", "Gradient descent"),
        Named::new(Self::Natural, "natural", "Natural gradient descent"),
        Named::new(Self::Newton, "newton", "Gradient descent scaled by second derivatives"),
        Named::new(Self::Cg, "cg", "Preconditioned conjugate gradients"),
        Named::new(Self::Ridge, "ridge", "Sweeps of als, then conjugate gradients"),
        Named::new(Self::Map, "map", "Most probable loadings and scores, variances learned"),
        Named::new(Self::Ppca, "ppca", "Probabilistic PCA by expectation maximisation"),
        Named::new(
            Self::Vb,
            "vb",
            "Variational Bayes, factorial posteriors; prunes components without support",
        ),
        Named::new(Self::VbFixed, "vb-fixed", "As vb, with one fixed variance of all scores"),
        Named::new(
            Self::VbFull,
            "vb-full",
            "Variational Bayes, full covariances; prunes components without support",
        ),
        Named::new(Self::Online, "online", "One row at a time"),
    ];
}

plain_names!(Method);

impl Method {
    /// Returns true if the method returns a posterior, with learned noise and error bars.
    pub(crate) fn has_posterior(self) -> bool {
        self == Method::Ppca || self.has_posterior_loadings()
    }

    /// Returns true if the posterior of the loadings enters the scores of new rows.
    pub(crate) fn has_posterior_loadings(self) -> bool {
        matches!(self, Method::Vb | Method::VbFixed | Method::VbFull)
    }

    /// The factor with the unit of the data, if the prior of the other has variance one in any unit.
    pub(crate) fn unit_side(self) -> Option<FactorSide> {
        match self {
            Method::Ppca | Method::VbFull => Some(FactorSide::Loadings),
            Method::Vb | Method::VbFixed => Some(FactorSide::Scores),
            _ => None,
        }
    }

    /// Returns true if learned variances of noise and priors replace penalties.
    pub(crate) fn learns_variances(self) -> bool {
        self.has_posterior() || self == Method::Map
    }

    pub(crate) fn uses_alpha(self) -> bool {
        matches!(self, Method::Auto | Method::Newton | Method::Cg | Method::Ridge)
    }

    /// Returns true if the method accepts penalties.
    pub(crate) fn uses_penalties(self) -> bool {
        !matches!(self, Method::Em | Method::Imputation | Method::Online) && !self.learns_variances()
    }

    /// Returns true if iterations descend along the gradient of F under fixed penalties.
    pub(crate) fn minimises_f(self) -> bool {
        self != Method::Online && !self.learns_variances()
    }

    pub(crate) fn uses_step(self) -> bool {
        matches!(self, Method::Gradient | Method::Natural | Method::Newton)
    }
}

/// Update of the loadings by one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnlineRule {
    /// Scales each loading by its own curvature, a decaying sum of squared scores.
    #[default]
    Diagonal,
    /// Recursive least squares: decaying sums of all products of scores per feature. Time and memory are as for
    /// `Diagonal`, times the number of components.
    Rls,
    /// Follows the gradient, with a learning rate that falls with the number of rows.
    Oja,
}

impl Choice for OnlineRule {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Diagonal, "diagonal", "Each loading by its own curvature"),
        Named::new(Self::Rls, "rls", "Recursive least squares"),
        Named::new(Self::Oja, "oja", "Along the gradient, with a learning rate that falls"),
    ];
}

plain_names!(OnlineRule);

/// Squared penalties on loadings and scores.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Regularization {
    /// No penalties: least squares.
    None,
    /// `lambda (|A|^2 + |S|^2)`, in the units of the data: shrinks all singular values by the same amount.
    Ridge(f64),
    /// `lambda` times the number of entries of each row and column.
    Weighted(f64),
    /// The best of a path of ridges by held-out error. Penalties fall by the factor 0.7 from the largest that
    /// leaves a component; each fit starts from the previous one, until the error has risen twice. Needs
    /// `early_stopping`.
    Path,
}

impl Choice for Regularization {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::None, "none", "Least squares"),
        Named::new(Self::Path, "path", "The best of a path of penalties by held-out error"),
        Named::new(Self::Ridge(1.0), "ridge", "A penalty on squared scores and loadings").with_number(),
        Named::new(
            Self::Weighted(1.0),
            "weighted",
            "A penalty times the number of entries of a row or column",
        )
        .with_number(),
    ];
}

named!(Regularization);

impl Regularization {
    /// The parameter `lambda`, if the penalty has one.
    pub fn size(self) -> Option<f64> {
        match self {
            Regularization::Ridge(lambda) | Regularization::Weighted(lambda) => Some(lambda),
            Regularization::None | Regularization::Path => None,
        }
    }

    /// Replaces the parameter `lambda`, if the penalty has one.
    #[must_use]
    pub fn with_size(self, lambda: f64) -> Self {
        match self {
            Regularization::Ridge(_) => Regularization::Ridge(lambda),
            Regularization::Weighted(_) => Regularization::Weighted(lambda),
            Regularization::None | Regularization::Path => self,
        }
    }
}

impl From<Regularization> for OptionValue {
    fn from(penalty: Regularization) -> Self {
        match penalty {
            Regularization::Ridge(lambda) => lambda.into(),
            Regularization::Weighted(lambda) => Self::Sized(penalty.name(), lambda),
            Regularization::None | Regularization::Path => penalty.value(),
        }
    }
}

impl std::fmt::Display for Regularization {
    /// Formats as on the command line: `none`, `path`, `0.5`, `weighted:0.5`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        OptionValue::from(*self).fmt(f)
    }
}

/// Treatment of the mean of each feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeanMode {
    /// Zero.
    None,
    /// The mean of the observed entries, or of the start. Biased if missingness depends on the value.
    Fixed,
    /// Fitted with the components.
    #[default]
    Joint,
}

impl Choice for MeanMode {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Joint, "joint", "Fitted with the components"),
        Named::new(Self::Fixed, "fixed", "The mean of the observed entries"),
        Named::new(Self::None, "none", "Zero"),
    ];
}

plain_names!(MeanMode);

/// Noise of the entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoiseModel {
    /// One variance for all features.
    #[default]
    Shared,
    /// A variance of each feature: factor analysis, for `ppca` and the variational methods
    /// (`docs/missing-values-variational.md`).
    Feature,
}

impl Choice for NoiseModel {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Shared, "shared", "One variance for all features"),
        Named::new(Self::Feature, "feature", "A variance of each feature: factor analysis"),
    ];
}

plain_names!(NoiseModel);

/// Pseudo-observations of every feature: a Dirichlet prior of its mean. Methods that learn the noise use a normal
/// prior about `value`, with variance the mean square of the entries about it over `count`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MeanPrior {
    /// Number of pseudo-observations; zero for none.
    pub count: f64,
    /// Value of the pseudo-observations; the mean of all observed entries if `None`.
    pub value: Option<f64>,
}

/// Options of principal component analysis of data with missing values, and its entry point
/// [`IncompletePca::fit`].
///
/// ```
/// use karhunen::{Dense, IncompletePca, Observed};
/// // Rank one with a missing entry: row 2 is twice row 0.
/// let x = [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 2.0, f64::NAN, 6.0, -2.0, -4.0, -6.0];
/// let observed = Observed::from_dense(&Dense::row_major(&x, 4, 3)?)?;
/// let pca = IncompletePca { method: karhunen::incomplete::Method::Em, ..IncompletePca::new(1) };
/// let model = pca.fit(&observed)?;
/// assert!((model.predict(2, 1)?.value - 4.0).abs() < 1e-4);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct IncompletePca {
    /// Number of components, from 1 to min(n_samples, n_features).
    pub n_components: usize,
    /// The algorithm.
    pub method: Method,
    /// Divides each column by a measure of the spread of its observed entries, or by given numbers. Standard deviations
    /// have a divisor of one less than the number of entries, and are about zero for `mean: MeanMode::None`. A constant
    /// column keeps its units.
    pub scale: Scaling,
    /// The noise: one variance, or one of each feature, which then is the scale of the columns, learned with the components
    /// by `ppca`, `vb`, `vb-fixed` and `vb-full`.
    pub noise: NoiseModel,
    /// The power of the second derivatives in `newton`, `cg` and `ridge`, from 0 to 1.
    pub alpha: f64,
    /// Penalties. If `None`, none for least squares, for `als` and `soft` a ridge equal to the standard deviation of
    /// the entries about their means, and for `ridge` half of `v (sqrt(N / n) + sqrt(N / p))`, with `N` entries of n rows
    /// and p columns, and `v` the deviation of the noise that the first sweeps leave.
    pub regularization: Option<Regularization>,
    /// The broad variance of the scores of `vb-fixed`; a thousand mean squares of the data if `None`.
    pub prior_variance: Option<f64>,
    /// Treatment of the mean.
    pub mean: MeanMode,
    /// Pseudo-observations of the mean.
    pub mean_prior: MeanPrior,
    /// If true, the means have a normal prior whose variance is learned from the posteriors of all features (empirical
    /// Bayes), and its mean too unless `mean_prior.value` is given: features with few entries shrink towards the others.
    /// For the variational methods, `docs/missing-values-variational.md`.
    pub learn_mean_prior: bool,
    /// Strength `b` of the hyperprior on every learned variance `v`, inverse-gamma(b, b) in units of the mean squared
    /// deviation of an entry: as if `2 b` values of that size had been seen. Zero for none. For the variational methods.
    pub hyperprior: f64,
    /// If true, adds an offset of each row in all columns, `x_ij = mu_j + b_i + a_j . s_i`. If scores have penalties
    /// or a prior, so have offsets, with a variance estimated from the data; in least squares offsets are free.
    pub row_offsets: bool,
    /// The first learning rate of `gradient`, `natural` and `newton`; a line search if `None`.
    pub step: Option<f64>,
    /// Learning rule of `online`.
    pub online_rule: OnlineRule,
    /// Alternations of scores and loadings of a component in each sweep of `ccd`.
    pub inner_iterations: usize,
    /// Stops the fit when the relative decrease of the cost per iteration is below `tol` (on average over ten
    /// iterations where these are cheap). Zero disables the rule.
    pub tol: f64,
    /// Also stops the fit when `sqrt(g' H^-1 g / F)` is below this, with `g` the gradient of the cost F and `H`
    /// the diagonal of its second derivatives: the square root of twice the relative gain that a diagonal Newton
    /// step predicts. For methods that minimise F; each check takes two passes over the entries.
    pub gradient_tol: Option<f64>,
    /// Also stops the fit when the largest principal angle between the loadings of two iterations, in radians, is
    /// below this; values below 1e-7 only in `f64`.
    pub angle_tol: Option<f64>,
    /// Also stops the fit when the relative change of the error of the fitted entries over ten iterations (a
    /// hundred where these are cheap) is below this.
    pub rmse_tol: Option<f64>,
    /// Most iterations per start or penalty.
    pub max_iter: usize,
    /// Fraction of the entries held out for early stopping, between 0 and 1: the fit stops when their error stops
    /// falling, and keeps the best factors. Split as by [`Observed::split`](crate::Observed::split), with other
    /// random numbers. `None` for none; [`IncompletePca::held_out_of`] is a good fraction.
    pub early_stopping: Option<f64>,
    /// Fraction of the entries that are held out, between 0 and 1: their errors calibrate the intervals of new observations
    /// ([`IncompleteModel::interval_factor`](crate::IncompleteModel::interval_factor)). `None` for none. Needs error bars.
    pub conformal: Option<f64>,
    /// If true, refits to all entries after early stopping: with as many iterations from the same start, or to
    /// convergence with the best penalty of a path. Needs `early_stopping`.
    pub refit: bool,
    /// Time limit of the iterations; the fit stops after the first iteration that exceeds it. Short starts come before.
    pub time_limit: Option<Duration>,
    /// Number of random starts that are fitted to the end; the best result is kept. If `None`, short starts are compared until
    /// two agree, at most six, and the best is fitted to the end; tables of fewer than 100,000 observed entries are also fitted
    /// from random starts until two have the lowest cost, at most four fits (`docs/missing-values-methods.md`). A given start, a
    /// path of penalties and `online` have one start.
    pub n_starts: Option<usize>,
    /// Seed of the random starts and of the held-out entries.
    pub seed: u64,
    /// If true, keeps covariances of scores and loadings, for error bars: `4 c^2` bytes per row and column.
    pub error_bars: bool,
    /// Most memory that the entries and their fit may take together, in bytes; the memory of the machine if `None`.
    /// [`IncompletePca::observe`] reads the entries of a source within it. The model does not depend on it.
    pub memory_limit: Option<u64>,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for IncompletePca {
    fn default() -> Self {
        Self {
            n_components: 2,
            method: Method::Auto,
            scale: Scaling::None,
            noise: NoiseModel::Shared,
            alpha: 2.0 / 3.0,
            regularization: None,
            prior_variance: None,
            mean: MeanMode::Joint,
            mean_prior: MeanPrior::default(),
            learn_mean_prior: false,
            hyperprior: 0.0,
            row_offsets: false,
            step: None,
            online_rule: OnlineRule::Diagonal,
            inner_iterations: 3,
            tol: 1e-6,
            gradient_tol: None,
            angle_tol: None,
            rmse_tol: None,
            max_iter: 1000,
            early_stopping: None,
            conformal: None,
            refit: false,
            time_limit: None,
            n_starts: None,
            seed: 0,
            error_bars: true,
            memory_limit: None,
            more: More,
        }
    }
}

impl IncompletePca {
    /// Default fraction held out for early stopping, for large data.
    pub const HELD_OUT: f64 = 0.02;

    /// Default fraction of `n_observed` entries held out for early stopping: 0.02, or fifty entries up to 0.2. The
    /// error of fifty entries has a standard error of a tenth; with fewer it is too uncertain.
    ///
    /// ```
    /// use karhunen::IncompletePca;
    /// let shares = [100, 1000, 1_000_000].map(IncompletePca::held_out_of);
    /// assert_eq!(shares, [0.2, 0.05, 0.02]);
    /// ```
    pub fn held_out_of(n_observed: usize) -> f64 {
        const LEAST: f64 = 50.0;
        const MOST: f64 = 0.2;
        (LEAST / n_observed.max(1) as f64).clamp(Self::HELD_OUT, MOST)
    }

    /// Options for `n_components` components, with defaults for the rest.
    pub fn new(n_components: usize) -> Self {
        Self { n_components, ..Self::default() }
    }

    /// Returns true if short starts are compared where no start is given: there is a cost, and no path of penalties leads to
    /// it.
    pub(crate) fn compares_starts(&self) -> bool {
        let path = self.regularization == Some(Regularization::Path);
        self.n_starts.is_none() && self.method != Method::Online && !path
    }

    /// Number of starts that are continued to the end.
    pub(crate) fn n_runs(&self) -> usize {
        self.n_starts.unwrap_or(1)
    }

    /// Number of scores per row: components, plus one with row offsets.
    pub(crate) fn n_scores(&self) -> usize {
        self.n_components + usize::from(self.row_offsets)
    }

    /// The method and the reason for it.
    pub(crate) fn chosen(&self) -> (Method, String) {
        let (method, reason) = match self.method {
            Method::Auto if self.regularization == Some(Regularization::None) => {
                (Method::Cg, "least squares, because penalties are ruled out")
            }
            Method::Auto if self.regularization.is_some() => (Method::Ridge, "a penalty was given"),
            Method::Auto if self.alpha != Self::default().alpha => {
                (Method::Ridge, "a power of the second derivatives was given")
            }
            Method::Auto if self.n_components <= MOST_FULL => (
                Method::VbFull,
                "variances are learned, and with 32 components at most posteriors can be full",
            ),
            Method::Auto => (
                Method::Vb,
                "variances are learned, and with more than 32 components posteriors are factorial",
            ),
            method => (method, "asked for"),
        };
        (method, reason.to_owned())
    }
}
