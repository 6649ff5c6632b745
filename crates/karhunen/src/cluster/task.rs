//! A task of a fit: the same for every part.

use crate::incomplete::parts::EntryTask;
use crate::linalg::Matrix;

/// The work of one pass over the parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Identifies the fit, so that partial results of another are refused.
    pub(crate) fit: u64,
    /// Number of the pass, from 0.
    pub(crate) pass: usize,
    pub(crate) work: Work,
}

/// The computation for every part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    /// Weights, means and squares of the columns; if there are at most `scatter_columns` of them also their products, else
    /// the product of the scatter matrix with a random block of so many vectors, from a seed.
    Sums { scatter_columns: usize, first_block: (usize, u64) },
    /// Nothing: the parts are compared with earlier passes, and read as [`Work::Sums`] reads them.
    Check { scatter_columns: usize },
    /// `sum_i w_i / s m_i (m_i' Q)` over the rows `m = (x - shift) F`.
    Product {
        shift: Vec<f64>,
        factor: Vec<f64>,
        /// `s`, the sum of the weights of all parts.
        weight: f64,
        q: Matrix,
    },
    /// Sums over the observed entries of incomplete rows.
    Entries(EntryTask),
}

impl Task {
    /// Returns true if the rows of the parts may have missing values.
    pub fn takes_missing_values(&self) -> bool {
        matches!(self.work, Work::Entries(_))
    }

    /// Returns true if [`Partial::of_stream`](super::Partial::of_stream) computes the result for rows of so many columns.
    pub fn takes_stream(&self, n_features: usize) -> bool {
        match &self.work {
            Work::Check { scatter_columns } | Work::Sums { scatter_columns, .. } => {
                n_features <= *scatter_columns
            }
            Work::Product { .. } | Work::Entries(_) => false,
        }
    }

    /// Number of the pass over the data, from 0.
    pub fn pass(&self) -> usize {
        self.pass
    }
}
