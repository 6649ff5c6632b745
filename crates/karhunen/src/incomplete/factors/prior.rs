//! The prior of the scores of new rows.

use crate::linalg::Matrix;

/// What draws the scores of a row towards the population, as the fit had it. Where rows have offsets these are the last of
/// the scores here, one more than there are components.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// Precision of the scores times the noise variance, square; zero for least squares, and for components without variance,
    /// whose scores are zero.
    pub precision: Matrix,
    /// Whether the precision is multiplied by the (weighted) number of entries of the row.
    pub per_entry: bool,
    /// Where the scores are drawn to.
    pub mean: Vec<f64>,
}

impl Prior {
    /// Makes zero what belongs to the components that are `silent`.
    pub(crate) fn forget(&mut self, silent: &[bool]) {
        for k in (0..silent.len()).filter(|k| silent[*k]) {
            self.mean[k] = 0.0;
            for l in 0..self.mean.len() {
                (self.precision[(k, l)], self.precision[(l, k)]) = (0.0, 0.0);
            }
        }
    }
}
