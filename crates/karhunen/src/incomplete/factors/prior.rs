//! The prior of the scores of new rows.

use crate::linalg::Matrix;

/// Gaussian prior on the scores of new rows. With row offsets, the offset is an additional last score.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// Precision of the scores times the noise variance, shape (c, c), or (c + 1, c + 1) with row offsets. Zero
    /// for least squares and for inactive components, whose scores are zero.
    pub precision: Matrix,
    /// True if the precision is multiplied by the sum of the entry weights of the row.
    pub per_entry: bool,
    /// Mean of the prior, shape (c,) or (c + 1,).
    pub mean: Vec<f64>,
}

/// A normal distribution, the prior of the means of all features.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NormalPrior {
    /// Its mean.
    pub mean: f64,
    /// Its variance, positive.
    pub variance: f64,
}

impl Prior {
    /// Removes the inactive components from the prior.
    pub(crate) fn remove(&mut self, inactive: &[bool]) {
        for k in (0..inactive.len()).filter(|k| inactive[*k]) {
            self.mean[k] = 0.0;
            for l in 0..self.mean.len() {
                (self.precision[(k, l)], self.precision[(l, k)]) = (0.0, 0.0);
            }
        }
    }
}
