//! Moments of rows, as text and as JSON.

use karhunen::moments::{Moments, Scatter};
use serde::Serialize;

use crate::figures::{count, sum};

/// Moments, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct MomentsSummary<'a> {
    n_samples: usize,
    n_features: usize,
    feature_names: Option<&'a [String]>,
    sum_of_weights: f64,
    mean: &'a [f64],
    standard_deviation: Vec<f64>,
}

impl<'a> MomentsSummary<'a> {
    /// Summarises moments of named columns.
    pub(crate) fn new(scatter: &'a Scatter, feature_names: Option<&'a [String]>) -> Self {
        let moments = &scatter.moments;
        Self {
            n_samples: moments.n_samples,
            n_features: moments.mean.len(),
            feature_names,
            sum_of_weights: moments.weight,
            mean: &moments.mean,
            standard_deviation: deviations(moments),
        }
    }
}

/// Standard deviation of each column, with divisor `sum of weights - 1`, as in a fit without `--weighting`.
pub(crate) fn deviations(moments: &Moments) -> Vec<f64> {
    let divisor = if moments.weight > 1.0 { moments.weight - 1.0 } else { moments.weight };
    moments.sum_of_squares.iter().map(|squares| (squares / divisor).sqrt()).collect()
}

/// Describes the rows: `moments of 300 rows x 12 columns, sum of weights 412`.
pub(crate) fn headline(moments: &Moments) -> String {
    format!(
        "moments of {} rows x {} columns, sum of weights {}",
        count(moments.n_samples),
        count(moments.mean.len()),
        sum(moments.weight)
    )
}
