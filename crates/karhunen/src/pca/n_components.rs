//! The number of components of a fit.

use crate::error::{Error, OptionValue, Result};
use crate::solver::Wanted;

/// Number of components to keep.
///
/// ```
/// use karhunen::NComponents;
/// assert_eq!(NComponents::from(3), NComponents::Count(3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum NComponents {
    /// All components: min(n_samples, n_features); for a kernel matrix, the number of positive eigenvalues.
    #[default]
    All,
    /// This many, at most min(n_samples, n_features), or n_samples of a kernel matrix. With 0 the model of
    /// [`crate::Pca`] is the mean and one noise variance for all directions; [`crate::pca::Route::BlockKrylov`] and
    /// [`crate::KernelPca`] need at least 1.
    Count(usize),
    /// The smallest number that explains more than this fraction of the total variance, 0 < fraction < 1, or all
    /// of it for 1. Shares are compared to 12 digits.
    Variance(f64),
    /// The number with the largest evidence under probabilistic PCA (Minka 2000). Needs at least as many rows as
    /// columns, and computes all components. Not for kernels.
    Mle,
}

impl From<usize> for NComponents {
    fn from(count: usize) -> Self {
        Self::Count(count)
    }
}

impl NComponents {
    /// Returns the value for error messages.
    pub(crate) fn value(self) -> OptionValue {
        match self {
            Self::All => OptionValue::All,
            Self::Count(k) => k.into(),
            Self::Variance(share) => share.into(),
            Self::Mle => OptionValue::name("mle"),
        }
    }

    /// Returns the number, if given as a count.
    pub(crate) fn given(self) -> Option<usize> {
        match self {
            Self::Count(k) => Some(k),
            _ => None,
        }
    }

    /// Returns the number of components to compute out of `all`; `None` if it is unknown before the fit.
    pub(crate) fn known(self, all: usize) -> Option<usize> {
        match self {
            Self::All | Self::Mle => Some(all),
            Self::Count(k) => Some(k),
            Self::Variance(_) => None,
        }
    }

    /// The eigenpairs to compute, of `all` eigenpairs whose eigenvalues have the sum `total`.
    pub(crate) fn wanted(self, all: usize, total: f64) -> Wanted {
        match self {
            Self::All | Self::Mle => Wanted::Count(all),
            Self::Count(k) => Wanted::Count(k),
            // If the total variance is zero, one component explains every share.
            Self::Variance(_) if total == 0.0 => Wanted::Count(1),
            // A share of one is lowered, because in `solver::count` a sum must exceed it by a factor of 1 + 1e-12.
            Self::Variance(share) => Wanted::Share { sum: share.min(1.0 - 2e-12) * total, total },
        }
    }

    /// Refuses a fraction of the variance outside (0, 1].
    pub(crate) fn check_fraction(self) -> Result<()> {
        match self {
            Self::Variance(fraction) if !(fraction > 0.0 && fraction <= 1.0) => {
                Err(Error::VarianceFraction { fraction })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(feature = "serde")]
mod reading {
    use serde::{Deserialize, Deserializer};

    use super::NComponents;

    /// The forms found in files.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Named(Named),
        /// A kernel model of version 0.1: a number, or null for all.
        Kernel(Option<usize>),
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Named {
        All,
        Count(usize),
        Variance(f64),
        Mle,
    }

    impl<'de> Deserialize<'de> for NComponents {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Ok(match Stored::deserialize(deserializer)? {
                Stored::Named(Named::All) | Stored::Kernel(None) => Self::All,
                Stored::Named(Named::Count(k)) | Stored::Kernel(Some(k)) => Self::Count(k),
                Stored::Named(Named::Variance(fraction)) => Self::Variance(fraction),
                Stored::Named(Named::Mle) => Self::Mle,
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn kernel_models_of_version_0_1_are_read() {
            for (text, expected) in [
                ("null", NComponents::All),
                ("7", NComponents::Count(7)),
                ("\"all\"", NComponents::All),
                ("{\"count\":7}", NComponents::Count(7)),
                ("{\"variance\":0.9}", NComponents::Variance(0.9)),
                ("\"mle\"", NComponents::Mle),
            ] {
                assert_eq!(serde_json::from_str::<NComponents>(text).unwrap(), expected, "{text}");
                let written = serde_json::to_string(&expected).unwrap();
                assert_eq!(serde_json::from_str::<NComponents>(&written).unwrap(), expected);
            }
            assert!(serde_json::from_str::<NComponents>("-1").is_err());
        }
    }
}
