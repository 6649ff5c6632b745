//! The factors by which centred columns are multiplied.

use crate::affine::Affine;
use crate::error::{Error, Result};
use crate::moments::Columns;
use crate::pca::Pca;

/// Factors of the columns, zero for columns that equal what is subtracted, whose products are rounding errors.
pub(super) fn factors_of_varying(pca: &Pca, columns: &Columns, affine: &Affine) -> Vec<f64> {
    let varies = |j: usize| columns.spread(j, &pca.center) > 0.0;
    (0..affine.factor.len()).map(|j| if varies(j) { affine.factor[j] } else { 0.0 }).collect()
}

/// Sparse products are scaled after they are summed, so the squares of the factors must be in range.
pub(super) fn check_factors(factors: &[f64]) -> Result<()> {
    const LARGEST: f64 = 1e140;
    match factors.iter().position(|&f| f > LARGEST) {
        Some(column) => Err(Error::Overflow { statistic: "inverse scale", column }),
        None => Ok(()),
    }
}
