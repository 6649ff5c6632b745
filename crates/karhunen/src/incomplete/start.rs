//! Given initial factors of a fit.

use crate::error::{Error, Result};
use crate::incomplete::data::ColumnScales;
use crate::linalg::Matrix;

/// Initial factors of a fit, orthogonal or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Shape (n_features, n_components), of entries that are scaled and weighted as the fit does.
    pub loadings: Matrix,
    /// Shape (n_samples, n_components).
    pub scores: Matrix,
    /// Initial means, shape (n_features,), in the units of the data; the means of the observed entries if `None`.
    pub mean: Option<Vec<f64>>,
}

impl Start {
    /// The start with its means in the units of the fit, as its loadings and scores are.
    pub(crate) fn in_units(&self, scales: &ColumnScales) -> Self {
        let mut start = self.clone();
        if let Some(mean) = &mut start.mean {
            scales.apply(mean);
        }
        start
    }

    /// Refuses wrong shapes and values that are not finite.
    pub(crate) fn check(&self, (n, p): (usize, usize), c: usize) -> Result<()> {
        let mean = self.mean.as_deref();
        for (what, axis, found, expected) in [
            ("the loadings of the start", "rows", self.loadings.n_rows(), p),
            ("the loadings of the start", "columns", self.loadings.n_cols(), c),
            ("the scores of the start", "rows", self.scores.n_rows(), n),
            ("the scores of the start", "columns", self.scores.n_cols(), c),
            ("the mean of the start", "values", mean.map_or(p, <[f64]>::len), p),
        ] {
            if found != expected {
                return Err(Error::Shape { what, axis, found, expected });
            }
        }
        for (values, width) in
            [(self.loadings.as_slice(), c), (self.scores.as_slice(), c), (mean.unwrap_or(&[]), 1)]
        {
            if let Some(at) = values.iter().position(|x| !x.is_finite()) {
                let (row, column, value) = (at / width, at % width, values[at]);
                return Err(Error::NonFinite { row, column, value });
            }
        }
        Ok(())
    }
}
