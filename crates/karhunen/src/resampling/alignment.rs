//! The alignment of loadings of resampled data with the loadings of the data.

use crate::choice::{Choice, Named, plain_names};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::linalg::decomp::polar::orthogonal_factor;
use crate::linalg::dense::small::{multiply, t_multiply};

/// The alignment of the loadings of resampled data with the loadings of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alignment {
    /// Each component gets the sign with a positive inner product. Intervals are for the loadings of a component;
    /// the order of neighbours is part of its uncertainty.
    #[default]
    Signs,
    /// All components are rotated orthogonally to the least squared distance (Procrustes). Intervals are for a
    /// population that is rotated to the data in the same way: of the subspace, not of its components, whose own
    /// intervals are up to three times as wide.
    Procrustes,
}

impl Choice for Alignment {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Signs, "signs", "Each component by its sign"),
        Named::new(Self::Procrustes, "procrustes", "All components by an orthogonal rotation"),
    ];
}

plain_names!(Alignment);

impl Alignment {
    /// Aligns `loadings` with `target`, both of shape (n_features, n_components).
    pub(super) fn align(self, loadings: Matrix, target: &Matrix) -> Result<Matrix> {
        let products = t_multiply(&loadings, target);
        let (p, k) = loadings.shape();
        Ok(match self {
            Self::Procrustes => multiply(&loadings, &orthogonal_factor(&products)?),
            Self::Signs => Matrix::from_fn(p, k, |j, c| {
                if products[(c, c)] < 0.0 { -loadings[(j, c)] } else { loadings[(j, c)] }
            }),
        })
    }
}
