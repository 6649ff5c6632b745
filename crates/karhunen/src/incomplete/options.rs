//! The options of a fit, and their rules.

use std::time::Duration;

use crate::choice::{Choice, Named, named, plain_names};
use crate::incomplete::factors::FactorSide;

/// Most components for which `auto` takes posteriors of full covariance.
const MOST_FULL: usize = 32;

/// The algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Chosen by the data; the fitted model says which and why.
    #[default]
    Auto,
    /// Imputation by a truncated singular value decomposition: holes are filled with the fit, which is fitted again.
    Imputation,
    /// The same with singular values shrunk by the ridge.
    Soft,
    /// Least squares by alternating exact solutions: the EM algorithm of Grung & Manne.
    Em,
    /// The same with a ridge.
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
    /// Learning from one row at a time; an iteration is a pass over all rows.
    Online,
    /// Ridge: three sweeps of alternating least squares, then conjugate gradients, with exact gauge steps.
    Ridge,
    /// The most probable loadings and scores, variances learned. It may end with no component at all where data are sparse.
    Map,
    /// Probabilistic PCA: expectation maximisation with a posterior of the scores and a value of the loadings.
    Ppca,
    /// Variational Bayes with factorial posteriors and learned variances, for many components: those that the data do not
    /// support are left out.
    Vb,
    /// The same with one variance of all scores, held.
    VbFixed,
    /// Variational Bayes with posteriors of full covariance and learned variances: components that the data do not support
    /// are left out.
    VbFull,
}

impl Choice for Method {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Auto, "auto", "By the data; the summary says which and why"),
        Named::new(Self::Imputation, "imputation", "Holes are filled by the fit, which is fitted again"),
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
            "Variational Bayes, factorial posteriors; drops components without support",
        ),
        Named::new(Self::VbFixed, "vb-fixed", "As vb, with one fixed variance of all scores"),
        Named::new(
            Self::VbFull,
            "vb-full",
            "Variational Bayes, posteriors of full covariance; drops components likewise",
        ),
        Named::new(Self::Online, "online", "One row at a time"),
    ];
}

plain_names!(Method);

impl Method {
    /// Whether the model is a posterior: the noise is learned, predictions have its error bars.
    pub(crate) fn has_posterior(self) -> bool {
        self == Method::Ppca || self.has_posterior_loadings()
    }

    /// Whether loadings have a posterior that the scores of new rows depend on.
    pub(crate) fn has_posterior_loadings(self) -> bool {
        matches!(self, Method::Vb | Method::VbFixed | Method::VbFull)
    }

    /// The factor that has the unit of the data, where the prior of the other has variance one whatever the unit.
    pub(crate) fn unit_side(self) -> Option<FactorSide> {
        match self {
            Method::Ppca | Method::VbFull => Some(FactorSide::Loadings),
            Method::Vb | Method::VbFixed => Some(FactorSide::Scores),
            _ => None,
        }
    }

    /// Whether the variances of the noise and of a prior take the place of penalties.
    pub(crate) fn learns_variances(self) -> bool {
        self.has_posterior() || self == Method::Map
    }

    pub(crate) fn uses_alpha(self) -> bool {
        matches!(self, Method::Auto | Method::Newton | Method::Cg | Method::Ridge)
    }

    /// Whether penalties may be given.
    pub(crate) fn uses_penalties(self) -> bool {
        !matches!(self, Method::Em | Method::Imputation | Method::Online) && !self.learns_variances()
    }

    /// Whether iterations go down the gradient of F under penalties that stay.
    pub(crate) fn minimises_f(self) -> bool {
        self != Method::Online && !self.learns_variances()
    }

    pub(crate) fn uses_step(self) -> bool {
        matches!(self, Method::Gradient | Method::Natural | Method::Newton)
    }
}

/// How one sample moves the loadings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnlineRule {
    /// Each loading by its own curvature, a decaying sum of squared scores.
    #[default]
    Diagonal,
    /// Recursive least squares: all loadings of a feature by all its curvatures, decaying sums of products of scores. As many
    /// times the cost and the memory of `Diagonal` as there are components.
    Rls,
    /// Along the gradient, with a learning rate that falls with the number of samples.
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
    /// None: least squares.
    None,
    /// `lambda (|A|^2 + |S|^2)`, in the units of the data: shrinks every singular value alike.
    Ridge(f64),
    /// `lambda` times the number of entries of each row and column.
    Weighted(f64),
    /// The best of a path of ridges by the error of entries set aside: from the largest that leaves anything down by 0.7,
    /// each fit begun where the last ended, until the error has risen twice. Needs `early_stopping`.
    Path,
}

impl Choice for Regularization {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::None, "none", "Least squares"),
        Named::new(Self::Path, "path", "The best by the error of entries set aside"),
        Named::new(Self::Ridge(1.0), "ridge", "A penalty on squared scores and loadings").with_number(),
        Named::new(Self::Weighted(1.0), "weighted", "So much of each entry").with_number(),
    ];
}

named!(Regularization);

impl Regularization {
    /// The number of a penalty that has one.
    pub fn size(self) -> Option<f64> {
        match self {
            Regularization::Ridge(lambda) | Regularization::Weighted(lambda) => Some(lambda),
            Regularization::None | Regularization::Path => None,
        }
    }

    /// The same kind of penalty with this number, if it has one.
    #[must_use]
    pub fn with_size(self, lambda: f64) -> Self {
        match self {
            Regularization::Ridge(_) => Regularization::Ridge(lambda),
            Regularization::Weighted(_) => Regularization::Weighted(lambda),
            Regularization::None | Regularization::Path => self,
        }
    }
}

impl std::fmt::Display for Regularization {
    /// As it is typed on the command line: `none`, `path`, `0.5`, `weighted:0.5`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Regularization::None => f.write_str("none"),
            Regularization::Path => f.write_str("path"),
            Regularization::Ridge(lambda) => write!(f, "{lambda}"),
            Regularization::Weighted(lambda) => write!(f, "weighted:{lambda}"),
        }
    }
}

/// What the mean of each feature is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeanMode {
    /// Zero.
    None,
    /// The mean of the observed entries, or that of the start. Biased where being observed depends on the value.
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

/// Pseudo-observations that every feature has beside its entries: a Dirichlet prior of its mean. Methods that learn the noise take
/// them for a normal prior about their value, whose variance is the mean square of the entries about it over their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MeanPrior {
    /// How many; zero for none.
    pub count: f64,
    /// Their value; the mean of all observed entries if `None`.
    pub value: Option<f64>,
}

/// Principal component analysis of data with missing values: options are plain data, [`IncompletePca::fit`] is the verb.
///
/// ```
/// use karhunen::{Dense, IncompletePca, Observed};
/// // Rank one but for a hole: row 2 is twice row 0.
/// let x = [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 2.0, f64::NAN, 6.0, -2.0, -4.0, -6.0];
/// let observed = Observed::from_dense(&Dense::row_major(&x, 4, 3)?, None)?;
/// let pca = IncompletePca { method: karhunen::Method::Em, ..IncompletePca::new(1) };
/// let model = pca.fit(&observed)?;
/// assert!((model.predict(2, 1)?.value - 4.0).abs() < 1e-4);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct IncompletePca {
    /// How many components to fit, from 1 to min(n_samples, n_features).
    pub n_components: usize,
    /// The algorithm.
    pub method: Method,
    /// The power of the second derivatives in `newton`, `cg` and `ridge`, from 0 to 1.
    pub alpha: f64,
    /// Penalties; if `None`, none for the methods of least squares, and for `als`, `ridge` and `soft` a ridge of the standard
    /// deviation of the entries about their means.
    pub regularization: Option<Regularization>,
    /// The variance of the scores of `vb-fixed`, broad: a thousand mean squares of the data if `None`.
    pub prior_variance: Option<f64>,
    /// What the mean is.
    pub mean: MeanMode,
    /// Pseudo-observations of the mean.
    pub mean_prior: MeanPrior,
    /// Whether each row has an offset, `x_ij = mu_j + b_i + a_j . s_i`: a level of its own in all columns, as the mean is one
    /// of a column in all rows. Where scores have penalties or a prior, offsets are drawn to zero by a variance that the data
    /// tell; in least squares they are free.
    pub row_offsets: bool,
    /// The first learning rate of `gradient`, `natural` and `newton`; found by a line search if `None`.
    pub step: Option<f64>,
    /// How `online` learns from a row.
    pub online_rule: OnlineRule,
    /// How often `ccd` fits scores and loadings of a component in turn before it goes on to the next.
    pub inner_iterations: usize,
    /// The fit stops when the cost falls by less than this share of itself in one iteration (on average over ten where
    /// iterations are cheap). Zero for never.
    pub tol: f64,
    /// The fit also stops when `sqrt(g' H^-1 g / F)` falls below this: `g` is the gradient of the cost F and `H` the diagonal
    /// of its second derivatives, so this is the share of the cost that one step of the diagonal Newton method promises
    /// to gain (twice it), to the power one half. For methods that minimise F; two passes over the entries each time.
    pub gradient_tol: Option<f64>,
    /// The fit also stops when the largest principal angle between the loadings of two iterations, in radians, falls
    /// below this; below 1e-7 only in `f64`.
    pub angle_tol: Option<f64>,
    /// The fit also stops when the error of the entries fitted moved by less than this share of itself in ten iterations (in a
    /// hundred where iterations are cheap).
    pub rmse_tol: Option<f64>,
    /// Most iterations, of each start or penalty.
    pub max_iter: usize,
    /// The share of the entries that is set aside to stop when their error no longer falls, between 0 and 1, as
    /// [`Observed::split`](crate::Observed::split) does it with random numbers of its own; the best factors are kept. `None` for none;
    /// [`IncompletePca::held_out_of`] is a good share.
    pub early_stopping: Option<f64>,
    /// Whether the fit is made again with all entries once those set aside have told how far to go: as many iterations from
    /// the same start, or to its end with the best penalty of a path. Needs `early_stopping`.
    pub refit: bool,
    /// Most time that iterations may take, of all starts; the fit stops after the first that ends later.
    pub time_limit: Option<Duration>,
    /// Random starts; the best result is kept.
    pub n_starts: usize,
    /// Seed of the random starts and of the entries set aside.
    pub seed: u64,
    /// Keep the covariances of scores and loadings, for error bars: `4 c^2` bytes for each row and column.
    pub error_bars: bool,
    /// Threads; those of the current rayon pool if `None`. The result does not depend on them.
    pub n_threads: Option<usize>,
}

impl Default for IncompletePca {
    fn default() -> Self {
        Self {
            n_components: 2,
            method: Method::Auto,
            alpha: 2.0 / 3.0,
            regularization: None,
            prior_variance: None,
            mean: MeanMode::Joint,
            mean_prior: MeanPrior::default(),
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
            refit: false,
            time_limit: None,
            n_starts: 1,
            seed: 0,
            error_bars: true,
            n_threads: None,
        }
    }
}

impl IncompletePca {
    /// The share of the entries that early stopping sets aside where none is given, of large data.
    pub const HELD_OUT: f64 = 0.02;

    /// The share of `n_observed` entries that early stopping sets aside where none is given: 0.02, or what fifty entries are,
    /// up to 0.2. The error of fewer entries would be too uncertain to stop by: that of fifty has a standard error of a tenth.
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

    /// Fits `n_components` components; everything else at its default.
    pub fn new(n_components: usize) -> Self {
        Self { n_components, ..Self::default() }
    }

    /// Number of scores of a row: of its components, and its offset if it has one.
    pub(crate) fn n_scores(&self) -> usize {
        self.n_components + usize::from(self.row_offsets)
    }

    /// The method, and why.
    pub(crate) fn chosen(&self) -> (Method, String) {
        let (method, reason) = match self.method {
            Method::Auto if self.regularization == Some(Regularization::None) => {
                (Method::Cg, "least squares, as no penalty was asked for")
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
