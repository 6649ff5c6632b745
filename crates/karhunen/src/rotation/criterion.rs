//! The criteria of a rotation, by name and with their options.

use crate::choice::{Choice, Named, plain_names};
use crate::error::Result;
use crate::exec::Run;
use crate::linalg::Matrix;
use crate::rotation::{Oblimin, Orthomax, Promax, Rotation, procrustes};

/// A method of rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// [`Orthomax::varimax`].
    Varimax,
    /// [`Orthomax::quartimax`].
    Quartimax,
    /// [`Promax`].
    Promax,
    /// [`Oblimin`].
    Oblimin,
    /// [`procrustes`].
    Procrustes,
}

impl Choice for Method {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Varimax, "varimax", "Few features in each component, uncorrelated scores"),
        Named::new(Self::Quartimax, "quartimax", "Few components for each feature, uncorrelated scores"),
        Named::new(Self::Promax, "promax", "Near a power of varimax, correlated scores"),
        Named::new(Self::Oblimin, "oblimin", "Direct oblimin, correlated scores"),
        Named::new(Self::Procrustes, "procrustes", "Near the loadings of a target, uncorrelated scores"),
    ];
}

plain_names!(Method);

/// The criterion of a rotation, with its options.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "criterion", rename_all = "snake_case")
)]
pub enum Criterion {
    /// Varimax, quartimax, or any other of the orthomax family.
    Orthomax(Orthomax),
    /// Promax.
    Promax(Promax),
    /// Oblimin.
    Oblimin(Oblimin),
    /// The least squared distance from a target.
    Procrustes {
        /// The target in the units of the pattern, shape (n_features, n_components).
        #[cfg_attr(feature = "serde", serde(skip, default = "no_target"))]
        target: Matrix,
    },
}

/// The target of a criterion before its array is read.
#[cfg(feature = "serde")]
fn no_target() -> Matrix {
    Matrix::zeros(0, 0)
}

impl Criterion {
    /// The criterion of a method, with its defaults where an option is `None`; options that the method does not take have
    /// no effect. `None` for [`Method::Procrustes`], which needs a target.
    pub fn of_method(
        method: Method,
        kaiser: Option<bool>,
        power: Option<f64>,
        gamma: Option<f64>,
    ) -> Option<Self> {
        let with_kaiser =
            |orthomax: Orthomax| Orthomax { kaiser: kaiser.unwrap_or(orthomax.kaiser), ..orthomax };
        match method {
            Method::Varimax => Some(Self::Orthomax(with_kaiser(Orthomax::varimax()))),
            Method::Quartimax => Some(Self::Orthomax(with_kaiser(Orthomax::quartimax()))),
            Method::Promax => {
                let usual = Promax::default();
                let (power, orthomax) = (power.unwrap_or(usual.power), with_kaiser(usual.orthomax));
                Some(Self::Promax(Promax { power, orthomax }))
            }
            Method::Oblimin => {
                let usual = Oblimin::default();
                let (kaiser, gamma) = (kaiser.unwrap_or(usual.kaiser), gamma.unwrap_or(usual.gamma));
                Some(Self::Oblimin(Oblimin { kaiser, gamma, ..usual }))
            }
            Method::Procrustes => None,
        }
    }

    /// The method; `None` for an orthomax criterion without a name.
    pub fn method(&self) -> Option<Method> {
        match self {
            Self::Orthomax(Orthomax { gamma: 1.0, .. }) => Some(Method::Varimax),
            Self::Orthomax(Orthomax { gamma: 0.0, .. }) => Some(Method::Quartimax),
            Self::Orthomax(_) => None,
            Self::Promax(_) => Some(Method::Promax),
            Self::Oblimin(_) => Some(Method::Oblimin),
            Self::Procrustes { .. } => Some(Method::Procrustes),
        }
    }

    /// True if the criterion normalises the rows of the loadings.
    pub fn kaiser(&self) -> bool {
        match self {
            Self::Orthomax(orthomax) => orthomax.kaiser,
            Self::Promax(promax) => promax.orthomax.kaiser,
            Self::Oblimin(oblimin) => oblimin.kaiser,
            Self::Procrustes { .. } => false,
        }
    }

    /// Rotates loadings of shape (p, k), with the observer of `run`; a target must be in their units.
    ///
    /// # Errors
    /// Errors of the criterion, and [`crate::error::Error::Stopped`].
    pub fn rotate_with(&self, loadings: &Matrix, run: &Run<'_>) -> Result<Rotation> {
        match self {
            Self::Orthomax(orthomax) => orthomax.rotate_with(loadings, run),
            Self::Promax(promax) => promax.rotate_with(loadings, run),
            Self::Oblimin(oblimin) => oblimin.rotate_with(loadings, run),
            Self::Procrustes { target } => procrustes(loadings, target),
        }
    }
}

/// The criterion, with the number of iterations, as a sentence begins: `varimax with Kaiser normalisation`.
impl std::fmt::Display for Criterion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self, self.method()) {
            (Self::Orthomax(orthomax), None) => write!(f, "orthomax with gamma {}", orthomax.gamma)?,
            (Self::Promax(promax), Some(method)) => write!(f, "{method} with power {}", promax.power)?,
            (Self::Oblimin(oblimin), Some(method)) => write!(f, "{method} with gamma {}", oblimin.gamma)?,
            (_, Some(method)) => write!(f, "{method}")?,
            (_, None) => {}
        }
        let more = !matches!((self, self.method()), (Self::Orthomax(_), Some(_)));
        match self.kaiser() {
            true if more => f.write_str(" and Kaiser normalisation"),
            true => f.write_str(" with Kaiser normalisation"),
            false => Ok(()),
        }
    }
}
