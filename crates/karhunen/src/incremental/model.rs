//! The fitted model of an incremental fit.

use crate::incremental::options::IncrementalMethod;
use crate::moments::Moments;
use crate::pca::PcaModel;

/// A circumstance that a user of the model should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// There are fewer rows than components were asked for, or the rows of a sketch vary in fewer directions.
    FewerComponents {
        /// Components of the model.
        found: usize,
        /// Components asked for.
        requested: usize,
    },
    /// The columns are scaled by the standard deviations of the first rows, which later rows do not change.
    ScaleFrozen {
        /// The number of these rows.
        n_samples: usize,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FewerComponents { found, requested } => {
                write!(f, "the model has {found} of {requested} components: the rows so far allow no more")
            }
            Self::ScaleFrozen { n_samples } => write!(
                f,
                "the columns are scaled by the standard deviations of the first {n_samples} rows; \
                 give column scales to choose others"
            ),
        }
    }
}

/// The components of the rows so far, and how accurate they are. Made by
/// [`crate::incremental::IncrementalFit::model`].
#[derive(Clone, Debug, PartialEq)]
pub struct IncrementalModel {
    pub(super) pca: PcaModel,
    pub(super) method: IncrementalMethod,
    pub(super) moments: Moments,
    pub(super) residual_bounds: Vec<f64>,
    pub(super) notes: Vec<Note>,
}

impl IncrementalModel {
    /// The model, as of a fit of all rows at once. Its total and its noise variance are exact also for a
    /// sketch.
    pub fn pca(&self) -> &PcaModel {
        &self.pca
    }

    /// The model alone.
    pub fn into_pca(self) -> PcaModel {
        self.pca
    }

    /// Number of components; fewer than asked for while the rows allow no more.
    pub fn n_components(&self) -> usize {
        self.pca.n_components()
    }

    /// The engine: scatter or sketch.
    pub fn method(&self) -> IncrementalMethod {
        self.method
    }

    /// Number of rows so far, including rows of weight zero and forgotten ones.
    pub fn n_samples_seen(&self) -> usize {
        self.moments.n_samples
    }

    /// Weights, means and squared deviations of the columns, with decayed weights.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Population variance of each column, without scaling: the divisor is the sum of the weights.
    pub fn variances(&self) -> Vec<f64> {
        (0..self.moments.mean.len()).map(|j| self.moments.variance(j)).collect()
    }

    /// `||S w - theta w|| / theta_1` of each component: computed by the method scatter; by the sketch
    /// estimated on random vectors that the fit never used.
    pub fn residuals(&self) -> &[f64] {
        &self.pca.convergence().residuals
    }

    /// Bounds of the residuals: each holds with probability 99% (method sketch), or is the residual
    /// (scatter).
    pub fn residual_bounds(&self) -> &[f64] {
        &self.residual_bounds
    }

    /// Circumstances that a user of the model should know.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}
