//! The options of a fit and their checks.

use crate::choice::{Choice, Named, named, plain_names};
use crate::error::{Error, OptionValue, Phrase, Result, options};
use crate::exec::Fact;
use crate::growth::More;
use crate::kernel::features::FREQUENCIES;
use crate::kernel::function::Kernel;
use crate::kernel::route::KernelRoute;
use crate::kernel::spectrum::fewest_passes;
use crate::pca::NComponents;

/// Squared and times eight bytes, this exceeds any address space.
const MOST_FEATURES: usize = 1 << 31;

/// The rule that chooses landmarks. Every rule draws at most `8 * n_landmarks` candidate rows (5,000 at least), in
/// proportion to their weights without replacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Landmarks {
    /// Uniformly at random; with weights, in proportion to them, as if rows were repeated.
    #[default]
    Uniform,
    /// One after the other, with probability proportional to the squared distance, in feature space, from the
    /// nearest landmark chosen before: the seeding of k-means++ (Arthur & Vassilvitskii 2007).
    KMeansPlusPlus,
    /// With probability proportional to approximate ridge leverage scores, from a uniform sample of as many rows
    /// (Musco & Musco 2017, one step).
    LeverageScores,
}

impl Choice for Landmarks {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Uniform, "uniform", "Any rows"),
        Named::new(Self::KMeansPlusPlus, "kmeans++", "Rows far from each other")
            .in_files("k-means-plus-plus"),
        Named::new(Self::LeverageScores, "leverage", "By approximate ridge leverage scores")
            .in_files("leverage-scores"),
    ];
}

plain_names!(Landmarks);

/// The method that computes rows from scores, for dense data.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PreImage {
    /// Kernel ridge regression of the fitted rows on their scores, with the same kernel and gamma: scikit-learn's
    /// `fit_inverse_transform`. Bakir, Weston & Schölkopf (2004). Solves a system of dimension n_samples (on the
    /// approximate routes, of the number of landmarks). For the kernels linear, polynomial, rbf, laplacian,
    /// sigmoid and cosine.
    Ridge {
        /// The ridge, finite and positive; scikit-learn's default is 1.
        alpha: f64,
    },
    /// The fixed-point iteration of Mika et al. (1998) for the kernel rbf on the exact routes: finds the row whose
    /// image is nearest to the point of feature space with the given scores. Starts from the fitted row of the
    /// nearest scores; every iterate is a weighted mean of fitted rows.
    FixedPoint,
    /// The fixed-point iteration for the kernel rbf on the exact routes, because it denoises better
    /// (`docs/kernel.md`); otherwise kernel ridge regression of the centred rows, which shrinks rows
    /// towards their mean and not, as [`PreImage::Ridge`], towards zero.
    Auto {
        /// The ridge of kernel ridge regression.
        alpha: f64,
    },
}

/// Default ridge of scikit-learn.
const RIDGE: f64 = 1.0;

impl Choice for PreImage {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(
            Self::Auto { alpha: RIDGE },
            "auto",
            "Fixed-point where it is defined, which is the better, otherwise ridge",
        ),
        Named::new(
            Self::Ridge { alpha: RIDGE },
            "ridge",
            "Kernel ridge regression of the rows on their scores",
        ),
        Named::new(Self::FixedPoint, "fixed-point", "Fixed-point iteration, for rbf on the exact solvers"),
    ];
}

named!(PreImage);

impl PreImage {
    /// This method with another ridge, if it has one.
    #[must_use]
    pub fn with_ridge(self, alpha: f64) -> Self {
        match self {
            Self::Auto { .. } => Self::Auto { alpha },
            Self::Ridge { .. } => Self::Ridge { alpha },
            Self::FixedPoint => self,
        }
    }

    /// The method that is used, never [`PreImage::Auto`].
    pub(super) fn resolved(self, kernel: &Kernel, approximates: bool) -> Self {
        match self {
            Self::Auto { .. } if matches!(kernel, Kernel::Rbf { .. }) && !approximates => Self::FixedPoint,
            Self::Auto { alpha } => Self::Ridge { alpha },
            way => way,
        }
    }

    /// Checks the rules that do not depend on the data.
    pub(super) fn check(&self, kernel: &Kernel, approximates: bool) -> Result<()> {
        let refuse = |value, rule: &'static str| {
            Err(Error::option(options::PRE_IMAGE, OptionValue::name(value), rule))
        };
        match self.resolved(kernel, approximates) {
            Self::Ridge { alpha } if !(alpha > 0.0 && alpha.is_finite()) => {
                let rule = "it must be finite and positive";
                Err(Error::option(options::ALPHA, alpha, rule))
            }
            Self::Ridge { .. }
                if matches!(
                    kernel,
                    Kernel::AdditiveChi2 | Kernel::Chi2 { .. } | Kernel::Precomputed | Kernel::Custom
                ) =>
            {
                refuse(
                    "ridge",
                    "the regression compares scores by the kernel, which must be one of numbers of either sign",
                )
            }
            Self::FixedPoint if !matches!(kernel, Kernel::Rbf { .. }) || approximates => {
                refuse("fixed-point", "the iteration is for the kernel rbf on the exact routes")
            }
            _ => Ok(()),
        }
    }
}

/// Kernel principal component analysis: the options as plain data, and [`KernelPca::fit`].
///
/// ```
/// use karhunen::kernel::{Gamma, Kernel};
/// use karhunen::{Dense, KernelPca, Weights};
/// // Two circles, which no line separates; the first component of a radial kernel does.
/// let x: Vec<f64> = (0..40)
///     .flat_map(|i| {
///         let (radius, angle) = (if i < 20 { 1.0 } else { 4.0 }, f64::from(i) * 0.7);
///         [radius * angle.cos(), radius * angle.sin()]
///     })
///     .collect();
/// let x = Dense::row_major(&x, 40, 2)?;
/// let pca = KernelPca { kernel: Kernel::Rbf { gamma: Gamma::Value(0.3) }, ..KernelPca::new(2) };
/// let model = pca.fit(&x, &Weights::default())?;
/// let scores = model.transform(&x)?;
/// let first: Vec<f64> = (0..40).map(|i| scores[(i, 0)]).collect();
/// let inner_sign = first[0].signum();
/// assert!(first[..20].iter().all(|z| z * inner_sign > 0.0));
/// assert!(first[20..].iter().all(|z| z * inner_sign < 0.0));
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct KernelPca {
    /// The kernel.
    pub kernel: Kernel,
    /// Number of components to keep. A fraction of the variance needs an exact solver and a positive semi-definite
    /// kernel, or the solver `full`.
    pub n_components: NComponents,
    /// Subtract the mean in feature space. Without it, components are eigenvectors of the kernel matrix as it is, about the origin of
    /// feature space: their variances are mean squares, and scores need only the kernel values of the new row. For the
    /// exact solvers.
    pub center: bool,
    /// The route to the components; chosen by the number of rows and components and by the memory limit if `None`.
    pub solver: Option<KernelRoute>,
    /// The rule that chooses the landmarks of the solver `nystrom`.
    pub landmarks: Landmarks,
    /// Number of landmarks of the solver `nystrom`, or of features of the solver `fourier` (rounded up to a
    /// multiple of 32). If `None`, the larger of 1,000 and four times the components, and no more landmarks than
    /// rows.
    pub n_features: Option<usize>,
    /// The method that computes rows from scores, if any.
    pub pre_image: Option<PreImage>,
    /// Iterations stop when every residual `||K u - lambda u||` is below `tol * lambda_1`. If `None`, 1e-8 for f64
    /// data and 1e-5 for f32 data, whose kernel values are computed in f32.
    pub tol: Option<f64>,
    /// Maximum number of passes of an iteration over the kernel matrix. At least the number for a basis of
    /// `n_components` columns with the given `block_size`, and two more for kernels that may not be positive
    /// semi-definite.
    pub max_iter: usize,
    /// Block size of the iteration; chosen if `None`.
    pub block_size: Option<usize>,
    /// Bytes that a fit may hold in addition to the data; half of the machine's memory if `None` (4 GB if the system
    /// does not report its memory).
    pub memory_limit: Option<u64>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Return [`Error::NotConverged`] if a component misses the tolerance, instead of reporting its residual.
    pub strict: bool,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for KernelPca {
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            n_components: NComponents::All,
            center: true,
            solver: None,
            landmarks: Landmarks::Uniform,
            n_features: None,
            pre_image: None,
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

impl KernelPca {
    /// The options on which the products of a fit with the kernel matrix depend.
    pub(super) fn facts(&self) -> Vec<Fact> {
        // All fields are listed, so that a new option is not forgotten.
        let Self {
            kernel, n_components, center, solver, tol, max_iter, block_size, memory_limit, seed, ..
        } = self;
        let Self { landmarks: _, n_features: _, pre_image: _, strict: _, more: _, .. } = self;
        let options = [
            (options::KERNEL, kernel.value()),
            (options::N_COMPONENTS, n_components.value()),
            (options::CENTER, (*center).into()),
            (options::SOLVER, solver.map(|route| route.value()).into()),
            (options::TOL, (*tol).into()),
            (options::MAX_ITER, (*max_iter).into()),
            (options::BLOCK_SIZE, (*block_size).into()),
            (options::MEMORY_LIMIT, (*memory_limit).into()),
            (options::SEED, (*seed).into()),
        ];
        let parameters = Fact::Data("parameters of the kernel", format!("{kernel:?}"));
        options.map(|(option, value)| Fact::Option(option, value)).into_iter().chain([parameters]).collect()
    }

    /// Keeps `n_components` components; all other options at their defaults.
    pub fn new(n_components: usize) -> Self {
        Self { n_components: NComponents::Count(n_components), ..Self::default() }
    }

    /// Checks every rule of the options.
    pub(super) fn check(&self, (n_samples, n_features): (usize, usize), has_function: bool) -> Result<()> {
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        let refuse = |option, value: OptionValue, rule: &'static str| Err(Error::option(option, value, rule));
        match self.n_components {
            NComponents::Count(requested) if !(1..=n_samples).contains(&requested) => {
                return Err(Error::NComponents { requested, min: 1, max: n_samples, n_samples, n_features });
            }
            NComponents::Mle => {
                let rule = "Minka's estimate is for PCA; give a number, a fraction of the variance, or all";
                return refuse(options::N_COMPONENTS, OptionValue::name("mle"), rule);
            }
            n_components => n_components.check_fraction()?,
        }
        self.kernel.check()?;
        if has_function != (self.kernel == Kernel::Custom) {
            let rule = "the kernel custom and a kernel function belong together";
            return refuse(options::KERNEL, self.kernel.value(), rule);
        }
        self.check_approximation()?;
        if let Some(pre_image) = &self.pre_image {
            pre_image.check(&self.kernel, self.solver.is_some_and(KernelRoute::approximates))?;
        }
        match (self.tol, self.max_iter, self.block_size) {
            (Some(tol), _, _) if !(tol > 0.0 && tol < 1.0) => {
                refuse(options::TOL, tol.into(), "a tolerance lies between 0 and 1, both excluded")
            }
            (_, 0, _) => refuse(options::MAX_ITER, 0usize.into(), "at least one iteration is needed"),
            (_, _, Some(0)) => refuse(options::BLOCK_SIZE, 0usize.into(), "at least one column is needed"),
            (_, _, Some(size)) if self.solver.is_some_and(|route| !route.iterates()) => {
                refuse(options::BLOCK_SIZE, size.into(), "only the solvers stored and tiles work in blocks")
            }
            _ => Ok(()),
        }
    }

    /// Checks a fraction of the variance on a route.
    pub(super) fn check_share(&self, route: KernelRoute) -> Result<()> {
        match self.n_components {
            NComponents::Variance(fraction) if route.iterates() && !self.kernel.is_positive() => {
                let rule = "for a share of the variance, iterations need a kernel that is positive semi-definite; use ";
                let rule = Phrase::new(rule).setting(options::SOLVER, OptionValue::name("full"));
                Err(Error::option(options::N_COMPONENTS, fraction, rule))
            }
            _ => Ok(()),
        }
    }

    /// Checks `max_iter` on a route.
    pub(super) fn check_passes(&self, route: KernelRoute, n: usize) -> Result<()> {
        let least = self.n_components.known(n).unwrap_or(1);
        let fewest = fewest_passes(&self.kernel, least, n, self.block_size);
        if !route.iterates() || self.max_iter >= fewest {
            return Ok(());
        }
        let rule = match self.block_size {
            Some(_) => {
                "blocks of block_size columns must make up the components (and two passes more for kernels that may \
                        not be positive semi-definite)"
            }
            None => "kernels that may not be positive semi-definite take three passes at least",
        };
        Err(Error::option(options::MAX_ITER, self.max_iter, rule))
    }

    /// Checks the options of the approximate routes.
    fn check_approximation(&self) -> Result<()> {
        let refuse = |option, value: OptionValue, rule: &'static str| Err(Error::option(option, value, rule));
        if let Some(m) = self.n_features {
            if m == 0 || self.n_components.given().is_some_and(|k| k > m) {
                return refuse(
                    options::N_FEATURES,
                    m.into(),
                    "at least as many features as components are needed",
                );
            }
            if m > MOST_FEATURES {
                return refuse(
                    options::N_FEATURES,
                    m.into(),
                    "no memory holds a matrix of more than 2^31 features",
                );
            }
            if !self.solver.is_some_and(KernelRoute::approximates) {
                return refuse(
                    options::N_FEATURES,
                    m.into(),
                    "only the solvers nystrom and fourier have features",
                );
            }
        }
        if self.landmarks != Landmarks::Uniform && self.solver != Some(KernelRoute::Nystrom) {
            return refuse(
                options::LANDMARKS,
                self.landmarks.value(),
                "only the solver nystrom has landmarks",
            );
        }
        let Some(route) = self.solver.filter(|route| route.approximates()) else { return Ok(()) };
        self.check_centre()?;
        let value = match self.n_components {
            NComponents::Variance(fraction) => Some(fraction.into()),
            NComponents::All => Some(OptionValue::All),
            _ => None,
        };
        if let Some(value) = value {
            let rule = "an approximation does not find all components; give their number";
            return refuse(options::N_COMPONENTS, value, rule);
        }
        if self.kernel == Kernel::Precomputed {
            let rule = "an approximation compares rows, which a precomputed kernel matrix does not hold";
            return refuse(options::SOLVER, route.value(), rule);
        }
        if route == KernelRoute::Nystrom && !self.kernel.may_have_landmarks() {
            let rule = "landmarks need a kernel that is positive semi-definite";
            return refuse(options::SOLVER, route.value(), rule);
        }
        if route == KernelRoute::Fourier
            && !matches!(self.kernel, Kernel::Rbf { .. } | Kernel::Laplacian { .. })
        {
            let rule = "random Fourier features are for kernels of differences: rbf and laplacian";
            return refuse(options::SOLVER, route.value(), rule);
        }
        Ok(())
    }

    /// Refuses an approximation without centring.
    fn check_centre(&self) -> Result<()> {
        let rule =
            "an approximation subtracts the mean of its features; leave the solver out, or use an exact one";
        if self.center { Ok(()) } else { Err(Error::option(options::CENTER, false, rule)) }
    }

    /// Number of landmarks or Fourier features.
    pub(super) fn features(&self, n_samples: usize, route: KernelRoute) -> usize {
        let m = self.n_features.unwrap_or_else(|| (4 * self.n_components.given().unwrap_or(0)).max(1000));
        if route == KernelRoute::Fourier { m.next_multiple_of(2 * FREQUENCIES) } else { m.min(n_samples) }
    }
}
