//! The fitted model.

use std::sync::Arc;

use crate::error::{Advice, Error, OptionValue, Result, options};
use crate::kernel::features::FREQUENCIES;
use crate::kernel::function::{BlockKernel, Gamma, Kernel};
use crate::kernel::options::KernelPca;
use crate::kernel::route::KernelRoute;
use crate::kernel::rows::KernelRows;
use crate::linalg::Matrix;
use crate::scalar::largest;

/// Outcome of a fit: route, passes over the kernel matrix, residuals and approximation error.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KernelConvergence {
    /// The route that was taken.
    pub solver: KernelRoute,
    /// Reason for the route.
    pub reason: String,
    /// Number of products with the kernel matrix.
    pub n_passes: usize,
    /// `||K u - lambda u|| / lambda_1` of each component, for the centred kernel matrix.
    pub residuals: Vec<f64>,
    /// Tolerance of the residuals.
    pub tol: f64,
    /// Number of residuals within the tolerance.
    pub n_converged: usize,
    /// The smallest eigenvalue of the centred kernel matrix, if known: exact on the route `full`, within a
    /// thousandth of the largest for kernels that need not be positive semi-definite. If it is negative beyond
    /// rounding, the components belong to the positive part alone.
    pub smallest_eigenvalue: Option<f64>,
    /// Error of an approximate kernel matrix; `None` on the exact routes.
    pub approximation: Option<Approximation>,
}

impl KernelConvergence {
    /// The remedy for components that missed the tolerance: the options of the route that limit it. `None` if none missed it.
    pub fn advice(&self) -> Option<Advice> {
        (self.n_converged < self.residuals.len()).then(|| self.solver.advice())
    }
}

/// Error of an approximate kernel matrix. Both figures are norms of the difference of the centred, weighted
/// matrices, relative to the largest eigenvalue (of random features, less the estimate), and bound the error of every eigenvalue. Both include an
/// allowance for rounding: four times `eps` of the type of the data times the trace of the kernel matrix, and with
/// landmarks four times `eps` of f64 times the condition number of their kernel matrix (on the directions kept: at
/// most 6e-8).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Approximation {
    /// Number of landmarks or random features.
    pub n_features: usize,
    /// Rigorous bound, Nyström only: the trace of the difference, the sum of its eigenvalues, none of which is
    /// negative. Useless if it is 1 or more, which is common if many small eigenvalues add up to more than the
    /// largest: [`Approximation::useful_bound`].
    pub bound: Option<f64>,
    /// Estimate of the spectral norm: the norm of the difference on at most 500 rows, drawn by the seed in proportion
    /// to their weights, each representing others. Not rigorous, but close even if the bound is not; an
    /// overestimate if the difference has no leading directions; at most the bound.
    pub estimate: f64,
}

impl Approximation {
    /// The bound if it is below 1, the size of the largest eigenvalue.
    pub fn useful_bound(&self) -> Option<f64> {
        self.bound.filter(|bound| *bound < 1.0)
    }
}

impl KernelConvergence {
    /// The largest residual: NaN if any is NaN, zero if there are none.
    pub fn worst_residual(&self) -> f64 {
        largest(self.residuals.iter().copied())
    }

    /// Tests that every component is within the tolerance.
    pub fn converged(&self) -> bool {
        self.n_converged == self.residuals.len()
    }
}

/// The basis that new rows are compared with.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum KernelBasis {
    /// The fitted rows.
    Rows(KernelRows),
    /// Some of the fitted rows, as landmarks of a Nyström approximation.
    Landmarks(KernelRows),
    /// Random frequencies as rows, shape (n_frequencies, n_features). The features of a row are the cosines, then
    /// the sines, of its inner products with them, divided by the square root of their number.
    Frequencies(Matrix),
    /// A precomputed kernel: new data hold the kernel values with the fitted rows.
    Precomputed {
        /// Number of fitted rows.
        n_samples: usize,
    },
}

impl KernelBasis {
    /// Number of features of a new row.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(rows) | Self::Landmarks(rows) => rows.shape().0,
            Self::Frequencies(frequencies) => 2 * frequencies.n_rows(),
            Self::Precomputed { n_samples } => *n_samples,
        }
    }

    /// Tests whether there are no features.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns of new data.
    pub fn n_features(&self) -> usize {
        match self {
            Self::Rows(rows) | Self::Landmarks(rows) => rows.shape().1,
            Self::Frequencies(frequencies) => frequencies.n_cols(),
            Self::Precomputed { n_samples } => *n_samples,
        }
    }
}

/// The data that pre-images are computed from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum PreImageParts {
    /// `centre + sum_i k(z, scores_i) coefficients_i`.
    Ridge {
        /// Shape (m, n_components).
        scores: Matrix,
        /// Shape (m, n_features).
        coefficients: Matrix,
        /// The weighted mean of the rows, if they were centred; empty otherwise.
        #[cfg_attr(feature = "serde", serde(default))]
        centre: Vec<f64>,
    },
    /// The fixed-point iteration.
    FixedPoint {
        /// The normalised weights of the fitted rows.
        shares: Vec<f64>,
    },
}

/// All fields of a model as plain data, for files and other languages. A new row with kernel values `k` has the
/// scores `coefficients' k - offsets`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KernelParts {
    /// The kernel, with a number for gamma.
    pub kernel: Kernel,
    /// The basis that new rows are compared with.
    pub basis: KernelBasis,
    /// Subtracted from rows before the kernel is evaluated, if it is a function of differences; empty otherwise.
    pub shift: Vec<f64>,
    /// Shape (basis.len(), n_components); zeros for components without variance.
    pub coefficients: Matrix,
    /// Subtracted from the scores, one for each component.
    pub offsets: Vec<f64>,
    /// Eigenvalues of the kernel matrix, centred unless the fit was without, descending; with weights, of the matrix of
    /// repeated rows.
    pub eigenvalues: Vec<f64>,
    /// The sum of all positive eigenvalues, kept or not. `None` if it is unknown: an iteration with a kernel that may have
    /// negative eigenvalues finds no more than the trace, which includes them.
    pub total: Option<f64>,
    /// Number of rows fitted, including rows of weight zero.
    pub n_samples: usize,
    /// Orthonormal eigenvectors as columns, shape (n_samples, n_components), scores divided by the square roots of
    /// the eigenvalues. With weights, columns are orthonormal when rows are repeated; rows of weight zero are
    /// zero. Without rows on the approximate routes, whose memory does not grow with n_samples.
    pub eigenvectors: Matrix,
    /// The data that pre-images are computed from, if the option `pre_image` was set.
    pub pre_image: Option<PreImageParts>,
    /// Sum of the sample weights; `n_samples` without weights.
    pub sum_of_weights: f64,
    /// The options of the fit.
    pub options: KernelPca,
    /// Type of the data: `"f32"` or `"f64"`.
    pub dtype: String,
    /// Outcome of the fit.
    pub convergence: KernelConvergence,
}

/// A fitted kernel principal component analysis. Made by [`KernelPca::fit`].
#[derive(Clone)]
pub struct KernelModel {
    parts: KernelParts,
    function: Option<Arc<dyn BlockKernel>>,
}

/// User-defined kernel functions are equal if they are the same object.
impl PartialEq for KernelModel {
    fn eq(&self, other: &Self) -> bool {
        let same_function = match (&self.function, &other.function) {
            (None, None) => true,
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            _ => false,
        };
        same_function && self.parts == other.parts
    }
}

impl std::fmt::Debug for KernelModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelModel").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl TryFrom<KernelParts> for KernelModel {
    type Error = Error;

    /// Checks that the shapes agree. A model of the kernel `custom` needs [`KernelModel::with_function`] before it
    /// can transform.
    fn try_from(parts: KernelParts) -> Result<Self> {
        parts.kernel.check()?;
        if !matches!(parts.kernel.gamma(), None | Some(Gamma::Value(_))) {
            let rule = "a fitted kernel has a number for gamma";
            return Err(Error::option(options::GAMMA, OptionValue::Given, rule));
        }
        let (n_samples, n_features) = (parts.basis.len(), parts.basis.n_features());
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        let (m, k) = parts.coefficients.shape();
        let lengths = [
            ("coefficients", m, parts.basis.len()),
            ("offsets", parts.offsets.len(), k),
            ("eigenvalues", parts.eigenvalues.len(), k),
            ("residuals", parts.convergence.residuals.len(), k),
            ("eigenvectors", parts.eigenvectors.n_cols(), k),
        ];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(Error::Shape { what, axis: "values", found, expected });
            }
        }
        if !parts.shift.is_empty() && parts.shift.len() != parts.basis.n_features() {
            let (found, expected) = (parts.shift.len(), parts.basis.n_features());
            return Err(Error::Shape { what: "shift", axis: "values", found, expected });
        }
        check_pre_image(&parts)?;
        match &parts.basis {
            KernelBasis::Rows(rows) | KernelBasis::Landmarks(rows) => rows.with_block(|_| Ok(()))?,
            KernelBasis::Frequencies(frequencies) if frequencies.n_rows() % FREQUENCIES != 0 => {
                let found = frequencies.n_rows();
                let expected = found.next_multiple_of(FREQUENCIES);
                return Err(Error::Shape { what: "frequencies", axis: "rows", found, expected });
            }
            KernelBasis::Frequencies(_) | KernelBasis::Precomputed { .. } => {}
        }
        Ok(Self { parts, function: None })
    }
}

/// Checks the shapes of the data for pre-images.
fn check_pre_image(parts: &KernelParts) -> Result<()> {
    let (k, p) = (parts.eigenvalues.len(), parts.basis.n_features());
    let lengths = match &parts.pre_image {
        None => return Ok(()),
        Some(PreImageParts::Ridge { scores, coefficients, centre }) => [
            ("scores of pre-images", scores.n_cols(), k),
            ("coefficients of pre-images", coefficients.n_cols(), p),
            ("coefficients of pre-images", coefficients.n_rows(), scores.n_rows()),
            ("centre of pre-images", centre.len(), if centre.is_empty() { 0 } else { p }),
        ],
        Some(PreImageParts::FixedPoint { shares }) => [
            ("shares", shares.len(), parts.basis.len()),
            ("eigenvectors", parts.eigenvectors.n_rows(), parts.basis.len()),
            ("shift", parts.shift.len(), p),
            ("n_samples", parts.n_samples, parts.basis.len()),
        ],
    };
    for (what, found, expected) in lengths {
        if found != expected {
            return Err(Error::Shape { what, axis: "values", found, expected });
        }
    }
    Ok(())
}

impl KernelModel {
    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.parts.eigenvalues.len()
    }

    /// Number of columns of the data.
    pub fn n_features(&self) -> usize {
        self.parts.basis.n_features()
    }

    /// Number of rows fitted, including rows of weight zero.
    pub fn n_samples(&self) -> usize {
        self.parts.n_samples
    }

    /// Eigenvalues of the kernel matrix, centred unless the fit was without, descending, as scikit-learn's `KernelPCA.eigenvalues_`: sums of
    /// squared scores. With weights, they refer to the matrix of repeated rows.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.parts.eigenvalues
    }

    /// Eigenvalues as shares of the sum of all positive eigenvalues, which are the variances in feature space; NaN if that
    /// sum is unknown ([`KernelParts::total`]).
    pub fn explained_variance_ratio(&self) -> Vec<f64> {
        let share = |value: &f64| match self.parts.total {
            Some(0.0) => 0.0,
            total => value / total.unwrap_or(f64::NAN),
        };
        self.eigenvalues().iter().map(share).collect()
    }

    /// Eigenvectors as columns, shape (n_samples, n_components), as scikit-learn's `KernelPCA.eigenvectors_`. The
    /// entry of largest absolute value in each is positive. Without rows on the approximate routes.
    pub fn eigenvectors(&self) -> &Matrix {
        &self.parts.eigenvectors
    }

    /// Scores of the fitted rows, shape (n_samples, n_components): eigenvectors times the square roots of the
    /// eigenvalues. Zero for rows of weight zero, which [`KernelModel::transform`] can score. Without rows on the
    /// approximate routes.
    pub fn fitted_scores(&self) -> Matrix {
        let roots: Vec<f64> = self.eigenvalues().iter().map(|v| v.sqrt()).collect();
        let vectors = self.eigenvectors();
        Matrix::from_fn(vectors.n_rows(), roots.len(), |i, c| vectors[(i, c)] * roots[c])
    }

    /// The kernel, with a number for gamma.
    pub fn kernel(&self) -> &Kernel {
        &self.parts.kernel
    }

    /// The options of the fit.
    pub fn options(&self) -> &KernelPca {
        &self.parts.options
    }

    /// Outcome of the fit: route, reason, passes, residuals.
    pub fn convergence(&self) -> &KernelConvergence {
        &self.parts.convergence
    }

    /// All fields but a user-defined kernel function, as plain data.
    pub fn parts(&self) -> &KernelParts {
        &self.parts
    }

    /// This model with the user-defined kernel function, which plain data do not hold.
    #[must_use]
    pub fn with_function(mut self, function: Arc<dyn BlockKernel>) -> Self {
        self.function = Some(function);
        self
    }

    /// Drops components with eigenvalue zero.
    #[must_use]
    pub fn without_zeros(mut self) -> Self {
        let parts = &mut self.parts;
        let rank = parts.eigenvalues.iter().take_while(|value| **value > 0.0).count();
        parts.coefficients = parts.coefficients.columns(0..rank);
        parts.eigenvectors = parts.eigenvectors.columns(0..rank);
        parts.offsets.truncate(rank);
        parts.eigenvalues.truncate(rank);
        parts.convergence.residuals.truncate(rank);
        let tol = parts.convergence.tol;
        parts.convergence.n_converged = parts.convergence.residuals.iter().filter(|&&r| r <= tol).count();
        if let Some(PreImageParts::Ridge { scores, .. }) = &mut parts.pre_image {
            *scores = scores.columns(0..rank);
        }
        self
    }

    /// The user-defined kernel function.
    pub(super) fn function(&self) -> Option<&dyn BlockKernel> {
        self.function.as_deref()
    }
}
