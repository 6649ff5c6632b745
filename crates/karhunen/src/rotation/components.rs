//! Fitted models whose components can be rotated.

use crate::incomplete::IncompleteModel;
use crate::linalg::Matrix;
use crate::pca::PcaModel;

/// A fitted model whose components can be rotated: of complete data, or of data with missing values.
pub trait Components: sealed::Sealed {
    /// Number of components.
    fn n_components(&self) -> usize;
    /// Number of features.
    fn n_features(&self) -> usize;
    /// Components times the standard deviations along them, shape (n_features, n_components), of weighted features.
    fn loadings(&self) -> Matrix;
    /// Variance along each component, shape (n_components,).
    fn explained_variance(&self) -> &[f64];
    /// Variance of all weighted features together.
    fn total_variance(&self) -> f64;
    /// Weight of each feature, shape (n_features,), if they were weighted.
    fn feature_weights(&self) -> Option<&[f64]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::PcaModel {}
    impl Sealed for super::IncompleteModel {}
}

macro_rules! components {
    ($model:ty, $total_variance:expr) => {
        impl Components for $model {
            fn n_components(&self) -> usize {
                self.n_components()
            }

            fn n_features(&self) -> usize {
                self.n_features()
            }

            fn loadings(&self) -> Matrix {
                self.loadings()
            }

            fn explained_variance(&self) -> &[f64] {
                self.explained_variance()
            }

            fn total_variance(&self) -> f64 {
                $total_variance(self)
            }

            fn feature_weights(&self) -> Option<&[f64]> {
                self.feature_weights()
            }
        }
    };
}

components!(PcaModel, PcaModel::total_variance);
components!(IncompleteModel, |model: &IncompleteModel| model.parts().total_variance);
