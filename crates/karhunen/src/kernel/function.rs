//! Kernels: what they are, what they ask of the data, and their values on tiles.

use crate::error::{Error, Result};
use crate::linalg::tiles::exp::{Exp, exp_scaled, tanh_affine};
use crate::linalg::tiles::pairs::{Pairing, squared_distances, width};

/// The coefficient of a kernel, or a rule that finds it in the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Gamma {
    /// `1 / n_features`: the default of scikit-learn's `KernelPCA`.
    #[default]
    PerFeature,
    /// `1 / (n_features * var(X))`: `"scale"` of scikit-learn's support vector machines. `var(X)` is the variance of all
    /// entries about their common mean, with divisor `n_samples * n_features` (weighted: rows count by their weights).
    Scale,
    /// `1 / median(d)`, where `d` are the distances that the kernel decays with (squared Euclidean, L1 or
    /// chi-squared), over all pairs of rows that differ: the smallest `d` that at least half of the pairs (by the products
    /// of their weights) do not exceed. More than 1,000 rows of positive weight are represented by 1,000 of them, drawn by
    /// the seed in proportion to their weights. Only for the kernels that decay with a distance.
    Median,
    /// This number, finite and positive.
    Value(f64),
}

/// A kernel `k(x, y)`; gamma is a number or a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Kernel {
    /// `x.y`: principal component analysis itself.
    Linear,
    /// `(gamma x.y + coef0)^degree`.
    Polynomial {
        /// The power, finite and positive.
        degree: f64,
        /// The coefficient of the inner product.
        gamma: Gamma,
        /// What is added to it.
        coef0: f64,
    },
    /// `exp(-gamma |x - y|^2)`.
    Rbf {
        /// The coefficient of the squared distance.
        gamma: Gamma,
    },
    /// `exp(-gamma |x - y|_1)`, of the sum of absolute differences.
    Laplacian {
        /// The coefficient of the distance.
        gamma: Gamma,
    },
    /// `tanh(gamma x.y + coef0)`, which is not positive definite.
    Sigmoid {
        /// The coefficient of the inner product.
        gamma: Gamma,
        /// What is added to it.
        coef0: f64,
    },
    /// `x.y / (|x| |y|)`, zero for rows of zeros.
    Cosine,
    /// `-sum (x - y)^2 / (x + y)`, of data without negative values.
    AdditiveChi2,
    /// `exp(-gamma sum (x - y)^2 / (x + y))`, of data without negative values.
    Chi2 {
        /// The coefficient of the sum.
        gamma: Gamma,
    },
    /// The data are the kernel matrix: of the fitted rows, (n_samples, n_samples); of new rows, (n_rows, n_samples).
    Precomputed,
    /// A function of the caller, on blocks of rows: see [`crate::BlockKernel`].
    Custom,
}

impl Default for Kernel {
    /// The radial basis function with gamma = 1 / n_features.
    fn default() -> Self {
        Self::Rbf { gamma: Gamma::PerFeature }
    }
}

/// A kernel of the caller's own, evaluated on blocks of rows. Implemented for closures.
///
/// ```
/// use karhunen::{BlockKernel, Matrix, Result};
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
    /// The values for all pairs of rows of `x`, shape (a, n_features), and `y`, shape (b, n_features): shape (a, b). Called
    /// from several threads at a time; must be symmetric.
    ///
    /// # Errors
    /// Whatever the caller likes to raise.
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
    /// The name, as in messages: `"rbf"`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Polynomial { .. } => "polynomial",
            Self::Rbf { .. } => "rbf",
            Self::Laplacian { .. } => "laplacian",
            Self::Sigmoid { .. } => "sigmoid",
            Self::Cosine => "cosine",
            Self::AdditiveChi2 => "additive-chi2",
            Self::Chi2 { .. } => "chi2",
            Self::Precomputed => "precomputed",
            Self::Custom => "custom",
        }
    }

    /// Its gamma, where it has one.
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

    /// The same kernel with this gamma, where it has one.
    #[must_use]
    pub(super) fn with_gamma(mut self, value: f64) -> Self {
        if let Self::Polynomial { gamma, .. }
        | Self::Rbf { gamma }
        | Self::Laplacian { gamma }
        | Self::Sigmoid { gamma, .. }
        | Self::Chi2 { gamma } = &mut self
        {
            *gamma = Gamma::Value(value);
        }
        self
    }

    /// What is summed over the features of a pair of rows.
    pub(super) fn pairing(&self) -> Pairing {
        match self {
            Self::Laplacian { .. } => Pairing::Difference,
            Self::AdditiveChi2 | Self::Chi2 { .. } => Pairing::ChiSquared,
            _ => Pairing::Product,
        }
    }

    /// Whether it decays with a distance.
    pub(super) fn decays(&self) -> bool {
        matches!(self, Self::Rbf { .. } | Self::Laplacian { .. } | Self::Chi2 { .. })
    }

    /// Whether subtracting the same from all rows changes no centred kernel matrix, so that the rows may be centred
    /// before anything is multiplied.
    pub(super) fn ignores_shifts(&self) -> bool {
        matches!(self, Self::Linear | Self::Rbf { .. } | Self::Laplacian { .. })
    }

    /// Whether rows are divided by their lengths.
    pub(super) fn normalizes(&self) -> bool {
        matches!(self, Self::Cosine)
    }

    /// Whether negative values of the data have no meaning.
    pub(super) fn refuses_negative(&self) -> bool {
        matches!(self, Self::AdditiveChi2 | Self::Chi2 { .. })
    }

    /// Whether its centred matrices have no negative eigenvalues but those of rounding, whatever the data.
    pub(super) fn is_positive(&self) -> bool {
        match *self {
            Self::Polynomial { degree, coef0, .. } => degree.fract() == 0.0 && coef0 >= 0.0,
            Self::Sigmoid { .. } | Self::Precomputed | Self::Custom => false,
            _ => true,
        }
    }

    /// Every rule of the parameters.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |option, value: f64, rule| Err(Error::Option { option, value: value.to_string(), rule });
        if let Some(Gamma::Value(gamma)) = self.gamma()
            && !(gamma > 0.0 && gamma.is_finite())
        {
            return refuse("gamma", gamma, "it must be finite and positive");
        }
        if self.gamma() == Some(Gamma::Median) && !self.decays() {
            let rule =
                "only kernels that decay with a distance (rbf, laplacian, chi2) have a median of distances";
            return Err(Error::Option { option: "gamma", value: "median".to_owned(), rule });
        }
        match *self {
            Self::Polynomial { degree, .. } if !(degree > 0.0 && degree.is_finite()) => {
                refuse("degree", degree, "it must be finite and positive")
            }
            Self::Polynomial { coef0, .. } | Self::Sigmoid { coef0, .. } if !coef0.is_finite() => {
                refuse("coef0", coef0, "it must be finite")
            }
            _ => Ok(()),
        }
    }

    fn gamma_value(&self) -> f64 {
        match self.gamma() {
            Some(Gamma::Value(gamma)) => gamma,
            // Rules are resolved before a kernel is evaluated; a kernel without gamma ignores it.
            _ => 1.0,
        }
    }

    /// Whether its matrices have no negative eigenvalues but those of rounding, centred or not.
    pub(super) fn is_positive_uncentred(&self) -> bool {
        self.is_positive() && *self != Self::AdditiveChi2
    }

    /// Whether landmarks can stand for all rows; nobody knows of a kernel of the caller's own before it is evaluated.
    pub(super) fn may_have_landmarks(&self) -> bool {
        *self == Self::Custom || self.is_positive_uncentred()
    }

    /// The value of a row with itself, whose squared norm (after preparation) is given.
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

    /// Turns the sums of a tile into kernel values. `left` and `right` hold the squared norms of the rows where the
    /// kernel is a function of Euclidean distances.
    pub(super) fn finish<E: Exp>(&self, left: &[E], right: &[E], same: bool, tile: &mut [E]) {
        if let Self::Rbf { .. } = self {
            squared_distances(left, right, tile);
        }
        if same && (self.pairing() != Pairing::Product || self.decays()) {
            // Rounding must not part a row from itself.
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
    /// Larger whole degrees are left to the general power.
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
