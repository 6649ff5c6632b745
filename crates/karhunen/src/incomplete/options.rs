//! The options of a fit, and their rules.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::exec::{Observer, Unobserved};
use crate::incomplete::fit;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::observed::Observed;
use crate::incomplete::start::Start;
use crate::scalar::Scalar;

/// Most components for which `auto` takes posteriors of full covariance.
const MOST_FULL: usize = 32;

/// The algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
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

impl Method {
    /// All methods, in the order of the documentation.
    pub const ALL: [Method; 17] = [
        Method::Auto,
        Method::Imputation,
        Method::Soft,
        Method::Em,
        Method::Als,
        Method::Ccd,
        Method::Gradient,
        Method::Natural,
        Method::Newton,
        Method::Cg,
        Method::Ridge,
        Method::Map,
        Method::Ppca,
        Method::Vb,
        Method::VbFixed,
        Method::VbFull,
        Method::Online,
    ];

    /// The name, the same on the command line and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Imputation => "imputation",
            Method::Soft => "soft",
            Method::Em => "em",
            Method::Als => "als",
            Method::Ccd => "ccd",
            Method::Gradient => "gradient",
            Method::Natural => "natural",
            Method::Newton => "newton",
            Method::Cg => "cg",
            Method::Ridge => "ridge",
            Method::Ppca => "ppca",
            Method::Map => "map",
            Method::Vb => "vb",
            Method::VbFixed => "vb-fixed",
            Method::VbFull => "vb-full",
            Method::Online => "online",
        }
    }

    /// Whether the model is a posterior: the noise is learned, predictions have its error bars.
    pub(crate) fn has_posterior(self) -> bool {
        self == Method::Ppca || self.has_posterior_loadings()
    }

    /// Whether loadings have a posterior that the scores of new rows depend on.
    pub(crate) fn has_posterior_loadings(self) -> bool {
        matches!(self, Method::Vb | Method::VbFixed | Method::VbFull)
    }

    /// Whether the variances of the noise and of a prior take the place of penalties.
    pub(crate) fn learns_variances(self) -> bool {
        self.has_posterior() || self == Method::Map
    }

    fn uses_alpha(self) -> bool {
        matches!(self, Method::Auto | Method::Newton | Method::Cg | Method::Ridge)
    }

    fn uses_step(self) -> bool {
        matches!(self, Method::Gradient | Method::Natural | Method::Newton)
    }
}

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
}

/// What the mean of each feature is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum MeanMode {
    /// Zero.
    None,
    /// The mean of the observed entries, or that of the start. Biased where being observed depends on the value.
    Fixed,
    /// Fitted with the components.
    #[default]
    Joint,
}

/// Pseudo-observations that every feature has beside its entries: a Dirichlet prior of its mean.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// The first learning rate of `gradient`, `natural` and `newton`; found by a line search if `None`.
    pub step: Option<f64>,
    /// How often `ccd` fits scores and loadings of a component in turn before it goes on to the next.
    pub inner_iterations: usize,
    /// The fit stops when the cost falls by less than this share of itself in one iteration (on average over ten where
    /// iterations are cheap).
    pub tol: f64,
    /// Most iterations.
    pub max_iter: usize,
    /// The share of the entries that is set aside to stop when their error no longer falls, between 0 and 1; the best
    /// factors are kept. `None` for none.
    pub early_stopping: Option<f64>,
    /// Most time that iterations may take; the fit stops after the first that ends later.
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
            step: None,
            inner_iterations: 3,
            tol: 1e-6,
            max_iter: 1000,
            early_stopping: None,
            time_limit: None,
            n_starts: 1,
            seed: 0,
            error_bars: true,
            n_threads: None,
        }
    }
}

impl IncompletePca {
    /// Fits `n_components` components; everything else at its default.
    pub fn new(n_components: usize) -> Self {
        Self { n_components, ..Self::default() }
    }

    /// Fits the observed entries.
    ///
    /// # Errors
    /// [`Error::NComponents`]; [`Error::Option`] for an option outside its rule or without use for the method;
    /// [`Error::NothingObserved`]; [`Error::Threads`]; [`Error::Decomposition`] where values are beyond the range of
    /// their type.
    pub fn fit<T: Scalar>(&self, data: &Observed<T>) -> Result<IncompleteModel> {
        self.fit_observed(data, None, &Unobserved)
    }

    /// As [`IncompletePca::fit`], from a given start if there is one (no sweeps are made before the first iteration),
    /// telling `observer` how far it has come.
    ///
    /// # Errors
    /// As [`IncompletePca::fit`]; [`Error::Shape`] and [`Error::NonFinite`] for the start; [`Error::Stopped`] if the
    /// observer asks to stop.
    pub fn fit_observed<T: Scalar>(
        &self,
        data: &Observed<T>,
        start: Option<&Start>,
        observer: &dyn Observer,
    ) -> Result<IncompleteModel> {
        self.check_all(data, start)?;
        fit::fit(self, data, start, observer)
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

    /// Every rule of options, data and start.
    pub(crate) fn check_all<T: Scalar>(&self, data: &Observed<T>, start: Option<&Start>) -> Result<()> {
        self.check(data.shape(), start.is_some())?;
        if data.n_observed() == 0 {
            let (n_samples, n_features) = data.shape();
            return Err(Error::NothingObserved { n_samples, n_features });
        }
        start.map_or(Ok(()), |start| start.check(data.shape(), self.n_components))
    }

    /// Every rule of the options, in one place.
    fn check(&self, (n_samples, n_features): (usize, usize), has_start: bool) -> Result<()> {
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        let (requested, max) = (self.n_components, n_samples.min(n_features));
        if requested == 0 || requested > max {
            return Err(Error::NComponents { requested, max, n_samples, n_features });
        }
        let method = self.method;
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let lambda = match self.regularization {
            Some(Regularization::Ridge(lambda) | Regularization::Weighted(lambda)) => Some(lambda),
            _ => None,
        };
        let alpha_default = self.alpha == Self::default().alpha;
        let rules: [(bool, &'static str, String, &'static str); 17] = [
            (
                (0.0..=1.0).contains(&self.alpha),
                "alpha",
                self.alpha.to_string(),
                "the power lies between 0 and 1",
            ),
            (
                alpha_default || method.uses_alpha(),
                "alpha",
                self.alpha.to_string(),
                "only the methods newton, cg and ridge have this power",
            ),
            (
                lambda.is_none_or(positive),
                "regularization",
                format!("{lambda:?}"),
                "a penalty must be positive and finite",
            ),
            (
                lambda.is_none() || !matches!(method, Method::Em | Method::Imputation | Method::Online),
                "regularization",
                format!("{lambda:?}"),
                "the methods em, imputation and online have no penalties; use als or soft",
            ),
            (
                self.regularization.is_none() || !method.learns_variances(),
                "regularization",
                format!("{:?}", self.regularization),
                "the probabilistic and variational methods learn variances in place of penalties",
            ),
            (
                method != Method::Soft || !matches!(self.regularization, Some(Regularization::Weighted(_))),
                "regularization",
                format!("{lambda:?}"),
                "the method soft shrinks all rows alike; use als for weighted penalties",
            ),
            (
                self.prior_variance.is_none_or(|v| positive(v) && method == Method::VbFixed),
                "prior_variance",
                format!("{:?}", self.prior_variance),
                "a variance is positive and finite, and only the method vb-fixed has one that is given",
            ),
            (
                self.inner_iterations >= 1,
                "inner_iterations",
                self.inner_iterations.to_string(),
                "at least one is needed",
            ),
            (
                self.inner_iterations == Self::default().inner_iterations || method == Method::Ccd,
                "inner_iterations",
                self.inner_iterations.to_string(),
                "only the method ccd has inner iterations",
            ),
            (
                self.regularization != Some(Regularization::None)
                    || !matches!(method, Method::Als | Method::Ridge | Method::Soft),
                "regularization",
                "none".to_owned(),
                "the methods als, ridge and soft need a penalty; use em, cg or imputation for least squares",
            ),
            (
                self.mean_prior.count >= 0.0 && self.mean_prior.count.is_finite(),
                "mean_prior.count",
                self.mean_prior.count.to_string(),
                "the number of pseudo-observations is finite and not negative",
            ),
            (
                self.mean_prior.value.is_none_or(f64::is_finite),
                "mean_prior.value",
                format!("{:?}", self.mean_prior.value),
                "the value of pseudo-observations is finite",
            ),
            (
                self.mean != MeanMode::None || self.mean_prior == MeanPrior::default(),
                "mean_prior",
                self.mean_prior.count.to_string(),
                "without a mean there is no use for pseudo-observations",
            ),
            (
                self.step.is_none_or(|step| positive(step) && method.uses_step()),
                "step",
                format!("{:?}", self.step),
                "a first learning rate is positive, and only gradient, natural and newton have one",
            ),
            (
                self.tol >= 0.0 && self.tol < 1.0,
                "tol",
                self.tol.to_string(),
                "a tolerance lies between 0 and 1, one excluded",
            ),
            (
                self.early_stopping.is_none_or(|share| share > 0.0 && share < 1.0),
                "early_stopping",
                format!("{:?}", self.early_stopping),
                "the share set aside lies between 0 and 1, both excluded",
            ),
            (
                self.n_starts >= 1 && (self.n_starts == 1 || !has_start),
                "n_starts",
                self.n_starts.to_string(),
                "at least one start is needed, and just one where it is given",
            ),
        ];
        match rules.into_iter().find(|(obeyed, ..)| !obeyed) {
            Some((_, option, value, rule)) => Err(Error::Option { option, value, rule }),
            None if self.max_iter == 0 => Err(Error::Option {
                option: "max_iter",
                value: "0".to_owned(),
                rule: "at least one iteration is needed",
            }),
            None => Ok(()),
        }
    }
}
