//! The options of MCA and FAMD.

use crate::choice::{Choice, Named, plain_names};
use crate::error::{Error, OptionValue, Result, options};
use crate::growth::More;
use crate::pca::{NComponents, Pca, Route, Scaling};
use crate::weights::Weighting;

/// An analysis of categories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Analysis {
    /// Multiple correspondence analysis, of categories alone.
    #[default]
    Mca,
    /// Factor analysis of mixed data, of categories and numbers.
    Famd,
}

impl Choice for Analysis {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Mca, "mca", "Multiple correspondence analysis, of categories"),
        Named::new(Self::Famd, "famd", "Factor analysis of mixed data, of categories and numbers"),
    ];
}

plain_names!(Analysis);

/// MCA and FAMD: the options as plain data, and [`CategoricalPca::fit`].
///
/// ```
/// use karhunen::categorical::{Analysis, CategoricalPca, Column};
/// let sex = Column::of_texts("sex", ["m", "f", "f", "m", "m", "f"].map(Some));
/// let answer = [Some("yes"), Some("no"), Some("no"), Some("yes"), Some("no"), None];
/// let columns = [sex, Column::of_texts("answer", answer)];
/// let model = CategoricalPca::new(Analysis::Mca).fit(&columns, None)?;
/// assert_eq!(model.category_names(), ["sex=f", "sex=m", "answer=no", "answer=yes", "answer=missing"]);
/// assert!((model.eigenvalues()[0] - 0.873).abs() < 1e-3);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct CategoricalPca {
    /// The analysis.
    pub analysis: Analysis,
    /// Number of components to keep. [`NComponents::All`] keeps those with variance, at most the numbers and the
    /// categories less the variables of categories; [`NComponents::Mle`] is refused.
    pub n_components: NComponents,
    /// Meaning of the weights, from which v-tests, rules and limits take the number of observations: the sum of frequency
    /// weights (numbers of respondents), the effective number of other weights, such as survey weights. Nothing else depends
    /// on it: variances are divided by the sum.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_frequency"))]
    pub weighting: Weighting,
    /// As of [`Pca`], as are the following.
    pub solver: Option<Route>,
    /// Tolerance of block Krylov iteration.
    pub tol: Option<f64>,
    /// The most passes of block Krylov iteration.
    pub max_iter: usize,
    /// Block size of block Krylov iteration.
    pub block_size: Option<usize>,
    /// Most bytes that a fit may hold.
    pub memory_limit: Option<u64>,
    /// Seed of block Krylov iteration.
    pub seed: u64,
    /// Return [`Error::NotConverged`] if a component misses the tolerance.
    pub strict: bool,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

/// True for the meaning of models of version 0.2.0, which files need not name.
#[cfg(feature = "serde")]
fn is_frequency(weighting: &Weighting) -> bool {
    *weighting == Weighting::Frequency
}

impl Default for CategoricalPca {
    fn default() -> Self {
        let Pca { n_components, solver, tol, max_iter, block_size, memory_limit, seed, strict, .. } =
            Pca::default();
        Self {
            analysis: Analysis::default(),
            n_components,
            weighting: Weighting::Frequency,
            solver,
            tol,
            max_iter,
            block_size,
            memory_limit,
            seed,
            strict,
            more: More,
        }
    }
}

impl CategoricalPca {
    /// All components of an analysis; all other options at their defaults.
    pub fn new(analysis: Analysis) -> Self {
        Self { analysis, ..Self::default() }
    }

    /// The PCA of a matrix whose columns are divided by `scale`.
    pub(super) fn pca(&self, n_components: NComponents, scale: Vec<f64>) -> Pca {
        Pca {
            n_components,
            scale: Scaling::Given(scale),
            weighting: Weighting::Population,
            solver: self.solver,
            tol: self.tol,
            max_iter: self.max_iter,
            block_size: self.block_size,
            memory_limit: self.memory_limit,
            seed: self.seed,
            strict: self.strict,
            ..Pca::default()
        }
    }

    /// Checks the number of components.
    pub(super) fn check(&self) -> Result<()> {
        match self.n_components {
            NComponents::Count(0) => {
                Err(Error::option(options::N_COMPONENTS, 0usize, "at least one component is needed"))
            }
            NComponents::Mle => Err(Error::option(
                options::N_COMPONENTS,
                OptionValue::name("mle"),
                "Minka's estimate is for numbers; give a number, a fraction of the variance, or all",
            )),
            _ => Ok(()),
        }
    }
}
