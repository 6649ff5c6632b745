//! Kernel functions: parameters, requirements on the data, and values on tiles.

use crate::choice::{Choice, Named, named};
use crate::error::{Error, OptionValue, Result, options};
use crate::linalg::tiles::exp::{Exp, exp_scaled, tanh_affine};
use crate::linalg::tiles::pairs::{Pairing, squared_distances, width};

/// The coefficient gamma of a kernel: a number, or a rule that computes it from the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Gamma {
    /// `1 / n_features`: the default of scikit-learn's `KernelPCA`.
    #[default]
    PerFeature,
    /// `1 / (n_features * var(X))`: `"scale"` of scikit-learn's support vector machines. `var(X)` is the variance
    /// of all entries about their common mean, with divisor `n_samples * n_features`, and with weighted rows if
    /// weights are given.
    Scale,
    /// `1 / median(d)` over the distances `d` (squared Euclidean, L1 or chi-squared, by kernel) of all pairs of
    /// different rows. The weighted median: the smallest `d` that at least half of the pairs, by the products of
    /// their weights, do not exceed. If more than 1,000 rows have positive weight, 1,000 of them are drawn by the
    /// seed in proportion to their weights. Only for kernels of a distance.
    Median,
    /// This number, finite and positive.
    Value(f64),
}

impl Choice for Gamma {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::PerFeature, "auto", "1 / columns").in_files("per-feature"),
        Named::new(Self::Scale, "scale", "1 / (columns * variance)"),
        Named::new(Self::Median, "median", "1 / the median distance (squared for rbf)"),
        Named::new(Self::Value(1.0), "value", "A positive number").with_number(),
    ];
}

named!(Gamma);

/// A kernel `k(x, y)`; gamma is a number or a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Kernel {
    /// `x.y`: linear principal component analysis.
    Linear,
    /// `(gamma x.y + coef0)^degree`.
    Polynomial {
        /// The power, finite and positive.
        degree: f64,
        /// The coefficient of the inner product.
        gamma: Gamma,
        /// The constant added to it.
        coef0: f64,
    },
    /// `exp(-gamma |x - y|^2)`.
    Rbf {
        /// The coefficient of the squared distance.
        gamma: Gamma,
    },
    /// `exp(-gamma |x - y|_1)`, a function of the sum of absolute differences.
    Laplacian {
        /// The coefficient of the distance.
        gamma: Gamma,
    },
    /// `tanh(gamma x.y + coef0)`, which is not positive definite.
    Sigmoid {
        /// The coefficient of the inner product.
        gamma: Gamma,
        /// The constant added to it.
        coef0: f64,
    },
    /// `x.y / (|x| |y|)`, zero for rows of zeros.
    Cosine,
    /// `-sum (x - y)^2 / (x + y)`, for data without negative values.
    AdditiveChi2,
    /// `exp(-gamma sum (x - y)^2 / (x + y))`, for data without negative values.
    Chi2 {
        /// The coefficient of the sum.
        gamma: Gamma,
    },
    /// The data are kernel values: of the fitted rows, (n_samples, n_samples); of new rows, (n_rows, n_samples).
    Precomputed,
    /// A user-defined function of blocks of rows: [`crate::kernel::BlockKernel`].
    Custom,
}

/// scikit-learn's, as those below.
const GAMMA: Gamma = Gamma::PerFeature;
const DEGREE: f64 = 3.0;
const COEF0: f64 = 1.0;

impl Choice for Kernel {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Linear, "linear", "x.y: principal component analysis itself"),
        Named::new(
            Self::Polynomial { degree: DEGREE, gamma: GAMMA, coef0: COEF0 },
            "polynomial",
            "(gamma x.y + coef0)^degree",
        )
        .in_python("poly"),
        Named::new(Self::Rbf { gamma: GAMMA }, "rbf", "exp(-gamma |x - y|^2)"),
        Named::new(Self::Laplacian { gamma: GAMMA }, "laplacian", "exp(-gamma |x - y|_1)"),
        Named::new(Self::Sigmoid { gamma: GAMMA, coef0: COEF0 }, "sigmoid", "tanh(gamma x.y + coef0)"),
        Named::new(Self::Cosine, "cosine", "x.y / (|x| |y|)"),
        Named::new(Self::AdditiveChi2, "additive-chi2", "-sum (x - y)^2 / (x + y)")
            .in_python("additive_chi2"),
        Named::new(Self::Chi2 { gamma: GAMMA }, "chi2", "exp(-gamma sum (x - y)^2 / (x + y))"),
        Named::new(Self::Precomputed, "precomputed", "DATA is the kernel matrix"),
        Named::new(Self::Custom, "custom", "A function of the caller"),
    ];
}

named!(Kernel);

impl Default for Kernel {
    /// The radial basis function with gamma = 1 / n_features.
    fn default() -> Self {
        Self::Rbf { gamma: GAMMA }
    }
}

/// A user-defined kernel, evaluated on blocks of rows. Implemented for closures.
///
/// ```
/// use karhunen::kernel::BlockKernel;
/// use karhunen::{Matrix, Result};
/// let linear = |x: &Matrix, y: &Matrix| -> Result<Matrix> {
///     Ok(Matrix::from_fn(x.n_rows(), y.n_rows(), |i, j| {
///         x.row(i).iter().zip(y.row(j)).map(|(a, b)| a * b).sum()
///     }))
/// };
/// let x = Matrix::from_vec(1, 2, vec![1.0, 2.0])?;
/// assert_eq!(linear.evaluate(&x, &x)?[(0, 0)], 5.0);
/// # Ok::<(), karhunen::Error>(())
/// ```
pub trait BlockKernel: Send + Sync {
    /// The values for all pairs of rows of `x`, shape (a, n_features), and `y`, shape (b, n_features): shape (a,
    /// b). Called from several threads at a time. The kernel must be symmetric.
    ///
    /// # Errors
    /// Any error of the caller.
    fn evaluate(&self, x: &crate::linalg::Matrix, y: &crate::linalg::Matrix)
    -> Result<crate::linalg::Matrix>;
}

impl<F> BlockKernel for F
where
    F: Fn(&crate::linalg::Matrix, &crate::linalg::Matrix) -> Result<crate::linalg::Matrix> + Send + Sync,
{
    fn evaluate(
        &self,
        x: &crate::linalg::Matrix,
        y: &crate::linalg::Matrix,
    ) -> Result<crate::linalg::Matrix> {
        self(x, y)
    }
}

impl Kernel {
    /// Its parameters, to be set: gamma, the power and the constant, each where it has one.
    pub fn parameters_mut(&mut self) -> (Option<&mut Gamma>, Option<&mut f64>, Option<&mut f64>) {
        match self {
            Self::Polynomial { degree, gamma, coef0 } => (Some(gamma), Some(degree), Some(coef0)),
            Self::Sigmoid { gamma, coef0 } => (Some(gamma), None, Some(coef0)),
            Self::Rbf { gamma } | Self::Laplacian { gamma } | Self::Chi2 { gamma } => {
                (Some(gamma), None, None)
            }
            _ => (None, None, None),
        }
    }

    /// The coefficient gamma of kernels that have one.
    pub fn gamma(&self) -> Option<Gamma> {
        match *self {
            Self::Polynomial { gamma, .. }
            | Self::Rbf { gamma }
            | Self::Laplacian { gamma }
            | Self::Sigmoid { gamma, .. }
            | Self::Chi2 { gamma } => Some(gamma),
            _ => None,
        }
    }

    /// This kernel with the coefficient `value`, if the kernel has one.
    #[must_use]
    pub(super) fn with_gamma(mut self, value: f64) -> Self {
        if let (Some(gamma), ..) = self.parameters_mut() {
            *gamma = Gamma::Value(value);
        }
        self
    }

    /// The sum over the features of a pair of rows that the kernel is a function of.
    pub(super) fn pairing(&self) -> Pairing {
        match self {
            Self::Laplacian { .. } => Pairing::Difference,
            Self::AdditiveChi2 | Self::Chi2 { .. } => Pairing::ChiSquared,
            _ => Pairing::Product,
        }
    }

    /// True for kernels that decay with a distance.
    pub(super) fn decays(&self) -> bool {
        matches!(self, Self::Rbf { .. } | Self::Laplacian { .. } | Self::Chi2 { .. })
    }

    /// True if centred kernel matrices are invariant to a shift of all rows, so that rows may be centred before
    /// they are multiplied.
    pub(super) fn ignores_shifts(&self) -> bool {
        matches!(self, Self::Linear | Self::Rbf { .. } | Self::Laplacian { .. })
    }

    /// True if rows are divided by their norms.
    pub(super) fn normalizes(&self) -> bool {
        matches!(self, Self::Cosine)
    }

    /// True if the kernel is undefined for negative values.
    pub(super) fn refuses_negative(&self) -> bool {
        matches!(self, Self::AdditiveChi2 | Self::Chi2 { .. })
    }

    /// True if centred kernel matrices are positive semi-definite, up to rounding, for all data.
    pub(super) fn is_positive(&self) -> bool {
        match *self {
            Self::Polynomial { degree, coef0, .. } => degree.fract() == 0.0 && coef0 >= 0.0,
            Self::Sigmoid { .. } | Self::Precomputed | Self::Custom => false,
            _ => true,
        }
    }

    /// Checks the rules of the parameters.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |option, value: f64, rule: &'static str| Err(Error::option(option, value, rule));
        if let Some(Gamma::Value(gamma)) = self.gamma()
            && !(gamma > 0.0 && gamma.is_finite())
        {
            return refuse(options::GAMMA, gamma, "it must be finite and positive");
        }
        if self.gamma() == Some(Gamma::Median) && !self.decays() {
            let rule =
                "only kernels that decay with a distance (rbf, laplacian, chi2) have a median of distances";
            return Err(Error::option(options::GAMMA, OptionValue::name("median"), rule));
        }
        match *self {
            Self::Polynomial { degree, .. } if !(degree > 0.0 && degree.is_finite()) => {
                refuse(options::DEGREE, degree, "it must be finite and positive")
            }
            Self::Polynomial { coef0, .. } | Self::Sigmoid { coef0, .. } if !coef0.is_finite() => {
                refuse(options::COEF0, coef0, "it must be finite")
            }
            _ => Ok(()),
        }
    }

    fn gamma_value(&self) -> f64 {
        match self.gamma() {
            Some(Gamma::Value(gamma)) => gamma,
            // Rules are resolved before a kernel is evaluated; kernels without gamma ignore the value.
            _ => 1.0,
        }
    }

    /// True if kernel matrices, centred or not, are positive semi-definite up to rounding.
    pub(super) fn is_positive_uncentred(&self) -> bool {
        self.is_positive() && *self != Self::AdditiveChi2
    }

    /// True if landmarks may approximate the kernel. A user-defined kernel is unknown until it is evaluated.
    pub(super) fn may_have_landmarks(&self) -> bool {
        *self == Self::Custom || self.is_positive_uncentred()
    }

    /// The kernel value of a prepared row with itself, from its squared norm.
    pub(super) fn of_itself(&self, squared_norm: f64) -> f64 {
        match *self {
            Self::Linear | Self::Cosine => squared_norm,
            Self::Polynomial { degree, coef0, .. } => {
                (self.gamma_value() * squared_norm + coef0).powf(degree)
            }
            Self::Sigmoid { coef0, .. } => (self.gamma_value() * squared_norm + coef0).tanh(),
            Self::AdditiveChi2 => 0.0,
            Self::Rbf { .. }
            | Self::Laplacian { .. }
            | Self::Chi2 { .. }
            | Self::Precomputed
            | Self::Custom => 1.0,
        }
    }

    /// Turns the sums of a tile into kernel values. `left` and `right` hold the squared norms of the rows for
    /// kernels of Euclidean distances.
    pub(super) fn finish<E: Exp>(&self, left: &[E], right: &[E], same: bool, tile: &mut [E]) {
        if let Self::Rbf { .. } = self {
            squared_distances(left, right, tile);
        }
        if same && (self.pairing() != Pairing::Product || self.decays()) {
            // The distance of a row from itself is set to zero, without rounding.
            let (w, n) = (width::<E>(), left.len());
            for i in 0..n {
                tile[(i / w * n + i) * w + i % w] = E::default();
            }
        }
        let gamma = self.gamma_value();
        match *self {
            Self::Rbf { .. } | Self::Laplacian { .. } | Self::Chi2 { .. } => {
                exp_scaled(tile, E::from_f64(-gamma));
            }
            Self::Sigmoid { coef0, .. } => tanh_affine(tile, E::from_f64(gamma), E::from_f64(coef0)),
            Self::Polynomial { degree, coef0, .. } => power(tile, gamma, coef0, degree),
            Self::AdditiveChi2 => {
                tile.iter_mut().for_each(|v| *v = *v * E::from_f64(-1.0));
            }
            Self::Linear | Self::Cosine | Self::Precomputed | Self::Custom => {}
        }
    }
}

/// `(gamma v + coef0)^degree`.
fn power<E: Exp>(values: &mut [E], gamma: f64, coef0: f64, degree: f64) {
    /// Larger integer degrees use the general power.
    const MOST: f64 = 64.0;
    let (gamma, coef0) = (E::from_f64(gamma), E::from_f64(coef0));
    if degree.fract() != 0.0 || degree > MOST {
        for v in values {
            *v = E::from_f64((*v * gamma + coef0).to_f64().powf(degree));
        }
        return;
    }
    for v in values {
        let (mut base, mut rest, mut result) = (*v * gamma + coef0, degree as u32, E::from_f64(1.0));
        while rest > 1 {
            if rest % 2 == 1 {
                result = result * base;
            }
            base = base * base;
            rest /= 2;
        }
        *v = result * base;
    }
}
