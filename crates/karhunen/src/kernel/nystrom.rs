//! The Nyström feature map, whose inner products approximate a kernel: kernel values with landmarks times the
//! inverse square root of the landmarks' kernel matrix. Williams & Seeger (2001); Drineas & Mahoney (2005).

use std::sync::Arc;

use crate::choice::Choice;
use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, Run};
use crate::growth::More;
use crate::kernel::approximate::{Whitening, feature_matrix};
use crate::kernel::checks::{check_block, refuse_feature_weights, refuse_negative, refuse_one_pass};
use crate::kernel::function::{BlockKernel, Gamma, Kernel};
use crate::kernel::gamma;
use crate::kernel::landmarks::{Comparison, LandmarkChoice, among};
use crate::kernel::options::Landmarks;
use crate::kernel::rows::{KernelRows, Preparation};
use crate::kernel::transform::{Projection, check_new_rows, strips};
use crate::linalg::Matrix;
use crate::moments::{Moments, check_size};
use crate::pca::Transform;
use crate::scalar::{Scalar, compiled};
use crate::source::Source;
use crate::weights::{NormalizedWeights, Weights};

/// The Nyström feature map: inner products of the features of rows approximate the kernel, which is not centred.
/// Inner products of landmarks are exact.
///
/// ```
/// use karhunen::kernel::{Gamma, Kernel, Nystrom};
/// use karhunen::{Dense, Weights};
/// let x = [0.0, 1.0, 2.0, 4.0];
/// let x = Dense::row_major(&x, 4, 1)?;
/// let kernel = Kernel::Rbf { gamma: Gamma::Value(0.5) };
/// let map = Nystrom { kernel, ..Nystrom::new(4) }.fit(&x, &Weights::default())?;
/// let z = map.transform(&x)?;
/// let inner: f64 = (0..4).map(|c| z[(0, c)] * z[(2, c)]).sum();
/// assert!((inner - (-0.5f64 * 4.0).exp()).abs() < 1e-12);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Nystrom {
    /// The kernel: positive semi-definite, and not precomputed.
    pub kernel: Kernel,
    /// Number of landmarks and of features; at most the number of rows of positive weight, and fewer if the rule
    /// [`Landmarks::KMeansPlusPlus`] finds fewer different rows.
    pub n_landmarks: usize,
    /// The rule that chooses them.
    pub landmarks: Landmarks,
    /// Seed of all random draws.
    pub seed: u64,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for Nystrom {
    /// 100 landmarks, as scikit-learn's `Nystroem`.
    fn default() -> Self {
        Self {
            kernel: Kernel::default(),
            n_landmarks: 100,
            landmarks: Landmarks::Uniform,
            seed: 0,
            more: More,
        }
    }
}

impl Nystrom {
    /// Uses `n_landmarks` landmarks; all other options at their defaults.
    pub fn new(n_landmarks: usize) -> Self {
        Self { n_landmarks, ..Self::default() }
    }

    /// Chooses landmarks among the rows of `x`, shape (n_samples, n_features), with probability proportional to
    /// `weights.samples`, as if rows were repeated. Two passes over the data. Weights of features are refused.
    ///
    /// # Errors
    /// [`Error::Option`]; errors of weights; [`Error::NonFinite`] for NaN and infinite values;
    /// [`Error::NegativeValue`] for a kernel of non-negative data; [`Error::NegativeEigenvalue`] for a kernel that
    /// is not positive semi-definite; any error `x` raises while read.
    pub fn fit<T: Scalar>(&self, x: &dyn Source<T>, weights: &Weights<'_>) -> Result<NystromMap> {
        self.fit_with(x, weights, &Run::default())
    }

    /// As [`Nystrom::fit`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`Nystrom::fit`], and [`Error::Stopped`] if the observer cancels.
    pub fn fit_with<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        run: &Run<'_>,
    ) -> Result<NystromMap> {
        self.fitted(x, weights, None, run)
    }

    /// As [`Nystrom::fit_with`] with a user-defined kernel function, which the map keeps; the option `kernel`
    /// must be [`Kernel::Custom`].
    ///
    /// # Errors
    /// As [`Nystrom::fit_with`]; errors of the function.
    pub fn fit_function<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        function: Arc<dyn BlockKernel>,
        run: &Run<'_>,
    ) -> Result<NystromMap> {
        self.fitted(x, weights, Some(function), run)
    }

    /// Checks every rule of the options.
    fn check(&self, (n_samples, n_features): (usize, usize), has_function: bool) -> Result<()> {
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        self.kernel.check()?;
        let refuse = |option, value: OptionValue, rule: &'static str| Err(Error::option(option, value, rule));
        if has_function != (self.kernel == Kernel::Custom) {
            let rule = "the kernel custom and a kernel function belong together";
            return refuse(options::KERNEL, self.kernel.value(), rule);
        }
        if !self.kernel.may_have_landmarks() {
            let rule = "landmarks need a kernel that is positive semi-definite and not precomputed";
            return refuse(options::KERNEL, self.kernel.value(), rule);
        }
        if self.n_landmarks == 0 {
            return refuse(options::N_LANDMARKS, 0usize.into(), "at least one landmark is needed");
        }
        Ok(())
    }

    fn fitted<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        function: Option<Arc<dyn BlockKernel>>,
        run: &Run<'_>,
    ) -> Result<NystromMap> {
        type Function = Option<Arc<dyn BlockKernel>>;
        let fit = compiled!(T, Nystrom::fit_source::<T>
            => fn(&Nystrom, &dyn Source<T>, &Weights<'_>, Function, &Run<'_>) -> Result<NystromMap>);
        fit(self, x, weights, function, run)
    }

    fn fit_source<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        weights: &Weights<'_>,
        function: Option<Arc<dyn BlockKernel>>,
        run: &Run<'_>,
    ) -> Result<NystromMap> {
        let (n, p) = x.shape();
        self.check((n, p), function.is_some())?;
        check_size((n, p))?;
        if function.is_some() && x.is_sparse() {
            let rule = "a kernel function is called with dense rows; give dense data";
            return Err(Error::option(options::KERNEL, OptionValue::name("custom"), rule));
        }
        refuse_feature_weights(weights)?;
        refuse_one_pass(x, "the choice of landmarks")?;
        let shares =
            NormalizedWeights::new(weights.samples, n)?.values.unwrap_or_else(|| vec![1.0 / n as f64; n]);
        let parts = Exec::run(run, |exec| {
            let moments = Moments::within(x, weights.samples, &exec.phase("means and variances"))?;
            if self.kernel.refuses_negative() {
                refuse_negative(x, self.kernel.name())?;
            }
            let kernel = gamma::resolve(&self.kernel, &moments, &shares, self.seed, |chosen| {
                KernelRows::gather(x, chosen)
            })?;
            // Unlike components, features of the linear kernel are not centred.
            let centres = kernel != Kernel::Linear && kernel.ignores_shifts() && !x.is_sparse();
            let shift = if centres { moments.mean } else { Vec::new() };
            let preparation = Preparation { shift: &shift, normalize: kernel.normalizes() };
            let compare = Comparison { kernel, function: function.as_deref(), preparation };
            let exec = exec.phase("landmarks");
            let choice = LandmarkChoice { rule: self.landmarks, m: self.n_landmarks.min(n), seed: self.seed };
            let (indices, landmarks) = among(choice, x, &compare, &shares, &exec)?;
            let values = feature_matrix(&compare.with(&landmarks, &exec)?, &landmarks, &exec)?;
            let normalization = Whitening::of(&values)?.symmetric();
            let (options, dtype) = (self.clone(), T::NAME.to_owned());
            Ok(NystromParts { kernel, landmarks, indices, shift, normalization, options, dtype })
        })?;
        Ok(NystromMap { parts, function })
    }
}

/// All fields of a map as plain data. The features of a row with kernel values `k` with the landmarks are
/// `normalization k`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NystromParts {
    /// The kernel, with a number for gamma.
    pub kernel: Kernel,
    /// The landmarks, shape (n_landmarks, n_features).
    pub landmarks: KernelRows,
    /// Indices of the landmarks among the fitted rows, ascending.
    pub indices: Vec<usize>,
    /// Subtracted from rows before the kernel is evaluated, if it is a function of differences; empty otherwise.
    pub shift: Vec<f64>,
    /// The symmetric inverse square root of the kernel matrix of the landmarks, shape (n_landmarks, n_landmarks),
    /// on the span of its eigenvectors with eigenvalues above `sqrt(eps)` of the largest.
    pub normalization: Matrix,
    /// The options of the fit.
    pub options: Nystrom,
    /// Type of the data: `"f32"` or `"f64"`.
    pub dtype: String,
}

/// A fitted Nyström feature map. Made by [`Nystrom::fit`].
#[derive(Clone)]
pub struct NystromMap {
    parts: NystromParts,
    function: Option<Arc<dyn BlockKernel>>,
}

impl std::fmt::Debug for NystromMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NystromMap").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl TryFrom<NystromParts> for NystromMap {
    type Error = Error;

    /// Checks that the shapes agree. A map of the kernel `custom` needs [`NystromMap::with_function`] before it
    /// can transform.
    fn try_from(parts: NystromParts) -> Result<Self> {
        parts.kernel.check()?;
        if !matches!(parts.kernel.gamma(), None | Some(Gamma::Value(_))) {
            let rule = "a fitted kernel has a number for gamma";
            return Err(Error::option(options::GAMMA, OptionValue::Given, rule));
        }
        let (m, p) = parts.landmarks.shape();
        let shift = if parts.shift.is_empty() { 0 } else { p };
        let lengths = [
            ("normalization", parts.normalization.n_rows(), m),
            ("normalization", parts.normalization.n_cols(), m),
            ("indices", parts.indices.len(), m),
            ("shift", parts.shift.len(), shift),
        ];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(Error::Shape { what, axis: "values", found, expected });
            }
        }
        parts.landmarks.with_block(|_| Ok(()))?;
        Ok(Self { parts, function: None })
    }
}

impl NystromMap {
    /// Features of rows, shape (n_rows, n_landmarks), in the type of `x`; computed in f64.
    ///
    /// # Errors
    /// As [`crate::KernelModel::transform`].
    pub fn transform<T: Scalar>(&self, x: &dyn Source<T>) -> Result<Matrix<T>> {
        self.transform_with(x, Transform::default(), &Run::default())
    }

    /// As [`NystromMap::transform`], with options, and with threads and observer of `run`. The option `whiten` is
    /// refused.
    ///
    /// # Errors
    /// As [`NystromMap::transform`], and [`Error::Stopped`] if the observer cancels.
    pub fn transform_with<T: Scalar>(
        &self,
        x: &dyn Source<T>,
        how: Transform,
        run: &Run<'_>,
    ) -> Result<Matrix<T>> {
        let transform = compiled!(T, NystromMap::features_of::<T>
            => fn(&NystromMap, &dyn Source<T>, Transform, &Run<'_>) -> Result<Matrix<T>>);
        transform(self, x, how, run)
    }

    fn features_of<T: Scalar>(&self, x: &dyn Source<T>, how: Transform, run: &Run<'_>) -> Result<Matrix<T>> {
        let parts = &self.parts;
        if how.whiten {
            let rule = "features have no variances to divide by";
            return Err(Error::option(options::WHITEN, true, rule));
        }
        let function = self.function.as_deref();
        check_new_rows(x, &parts.kernel, function, parts.landmarks.shape().1)?;
        let (n, m) = (x.shape().0, parts.indices.len());
        check_size((n, m))?;
        let mut features = Matrix::try_zeros("a matrix of features", n, m)?;
        Exec::run(run, |exec| {
            let exec = exec.phase("features");
            let preparation = Preparation { shift: &parts.shift, normalize: parts.kernel.normalizes() };
            let compare = Comparison { kernel: parts.kernel, function, preparation };
            let projection = Projection {
                features: compare.with(&parts.landmarks, &exec)?,
                coefficients: strips(&parts.normalization),
                offsets: vec![0.0; m],
            };
            x.visit(&mut |first, block| {
                check_block(&block, first, &parts.kernel)?;
                let rows = first..first + block.n_rows();
                let part = exec.part(rows.start as f64 / n as f64, rows.end as f64 / n as f64);
                projection.all(&block, &mut features.as_mut_slice()[rows.start * m..rows.end * m], &part)
            })
        })?;
        match features.as_slice().iter().position(|z: &T| !z.to_f64().is_finite()) {
            Some(at) => Err(Error::KernelValue { row: at / m }),
            None => Ok(features),
        }
    }

    /// All fields but a user-defined kernel function, as plain data.
    pub fn parts(&self) -> &NystromParts {
        &self.parts
    }

    /// This map with the user-defined kernel function, which plain data do not hold.
    #[must_use]
    pub fn with_function(mut self, function: Arc<dyn BlockKernel>) -> Self {
        self.function = Some(function);
        self
    }
}
