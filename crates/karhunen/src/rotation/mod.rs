//! Rotation of loadings to a simple structure, or to a target.
//!
//! Loadings L of shape (p, k) and standardised scores S (n, k) reproduce the data as $S L^\top$. A rotation M (k, k)
//! replaces them by the pattern $P = L M$ and the scores $S M^{-\top}$, which reproduce the same data. If M is
//! orthogonal, the rotated components are uncorrelated; otherwise their correlations are $\Phi = (M^\top M)^{-1}$, with
//! ones on the diagonal, and the correlations of columns and components, the structure, are $P \Phi$ (for standardised
//! columns).
//!
//! | here | R `varimax`, `promax` | GPArotation | psych |
//! |---|---|---|---|
//! | `rotation`, M | `rotmat` | $T^{-\top}$ of `Th` (orthogonal: `Th`) | `rot.mat` |
//! | `component_correlations`, $\Phi$ | (none) | `Phi` | `Phi` |
//! | `score_rotation`, $M^{-\top}$ | (none) | `Th` | scores of `principal` are $S M^{-\top}$, too |
//!
//! Components are sorted by their variance, and the largest absolute entry of each column of the pattern is positive,
//! as in a fitted model. Rotated components have no ranks of their own: variances are no longer extreme.
//!
//! **Kaiser normalisation** divides each row of the loadings by its length (the root of its communality) before the
//! rotation, and multiplies it afterwards, so that all columns of the data count alike. R's `varimax` does so by
//! default, GPArotation does not; here varimax and promax do, quartimax and oblimin do not.
//!
//! ```
//! use karhunen::Matrix;
//! use karhunen::rotation::Orthomax;
//! // Two pairs of columns, mixed by an angle of 45 degrees.
//! let loadings = Matrix::from_vec(4, 2, vec![0.6, 0.6, 0.5, 0.5, 0.6, -0.6, 0.5, -0.5])?;
//! let rotated = Orthomax::varimax().rotate(&loadings)?;
//! assert!((rotated.pattern[(0, 0)] - 0.72_f64.sqrt()).abs() < 1e-12);
//! assert!(rotated.pattern[(0, 1)].abs() < 1e-12);
//! assert!((rotated.communalities[0] - 0.72).abs() < 1e-12);
//! # Ok::<(), karhunen::Error>(())
//! ```

mod components;
mod criterion;
#[cfg(test)]
mod golden;
mod model;
mod normalized;
mod oblimin;
mod orthomax;
mod procrustes;
mod promax;
#[cfg(feature = "serde")]
mod record;
mod rotated;

pub use components::Components;
pub use criterion::{Criterion, Method};
pub use model::RotatedModel;
pub(crate) use model::units;
pub use oblimin::Oblimin;
pub use orthomax::Orthomax;
pub use procrustes::procrustes;
pub use promax::Promax;
pub use rotated::Rotation;
