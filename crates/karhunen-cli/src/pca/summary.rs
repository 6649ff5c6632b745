//! The summary of a model as JSON, with scikit-learn's names where they exist.

use std::collections::BTreeMap;

use karhunen::{Matrix, Pca, PcaModel};
use karhunen_io::Reading;
use serde::Serialize;

use crate::args::values::JsonExtent;
use crate::error::{Failure, Result};
use crate::names::acts;
use crate::text::Seconds;

/// The JSON output of `fit --json` and `inspect --json` for a model.
#[derive(Debug, Serialize)]
pub(crate) struct ModelSummary<'a> {
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    feature_names: Option<&'a [String]>,
    explained_variance: &'a [f64],
    explained_variance_ratio: &'a [f64],
    singular_values: &'a [f64],
    noise_variance: f64,
    total_variance: f64,
    mean: &'a [f64],
    scale: &'a [f64],
    feature_weights: Option<&'a [f64]>,
    sum_of_weights: f64,
    dtype: &'a str,
    solver: &'static str,
    reason: &'a str,
    n_passes: usize,
    tol: f64,
    residuals: &'a [f64],
    n_converged: usize,
    converged: bool,
    options: &'a Pca,
    /// True if the model keeps limits for new rows.
    keeps_limits: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loadings: Option<Vec<Vec<f64>>>,
}

impl<'a> ModelSummary<'a> {
    /// Summarises a model with the names of its features.
    pub(crate) fn new(model: &'a PcaModel, feature_names: Option<&'a [String]>, extent: JsonExtent) -> Self {
        let convergence = model.convergence();
        let full = |matrix: &dyn Fn() -> Matrix| (extent == JsonExtent::Full).then(|| rows(&matrix()));
        Self {
            n_samples: model.n_samples(),
            n_features: model.n_features(),
            n_components: model.n_components(),
            feature_names,
            explained_variance: model.explained_variance(),
            explained_variance_ratio: model.explained_variance_ratio(),
            singular_values: model.singular_values(),
            noise_variance: model.noise_variance(),
            total_variance: model.total_variance(),
            mean: model.mean(),
            scale: model.scale(),
            feature_weights: model.feature_weights(),
            sum_of_weights: model.sum_of_weights(),
            dtype: &model.parts().dtype,
            solver: convergence.solver.name(),
            reason: &convergence.reason,
            n_passes: convergence.n_passes,
            tol: convergence.tol,
            residuals: &convergence.residuals,
            n_converged: convergence.n_converged,
            converged: convergence.converged(),
            options: model.options(),
            keeps_limits: model.new_rows().is_some(),
            components: full(&|| model.components().clone()),
            loadings: full(&|| model.loadings()),
        }
    }
}

/// A matrix, row by row.
pub(crate) fn rows(matrix: &Matrix) -> Vec<Vec<f64>> {
    (0..matrix.n_rows()).map(|i| matrix.row(i).to_vec()).collect()
}

/// The JSON output of `fit --json`.
#[derive(Debug, Serialize)]
pub(crate) struct FitSummary<'a> {
    /// The data file.
    pub(crate) file: &'a str,
    /// Its format.
    pub(crate) format: &'a str,
    /// The model.
    #[serde(flatten)]
    pub(crate) model: ModelSummary<'a>,
    /// Choices made automatically.
    pub(crate) notes: &'a [String],
    /// The files written, by content.
    pub(crate) written: BTreeMap<&'static str, String>,
    /// Seconds of reading and fitting.
    pub(crate) seconds: Seconds,
    /// Passes over a table that stays in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reading: Option<ReadingSummary>,
}

/// The reading of a table in every pass of a fit.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct ReadingSummary {
    /// Bytes in all passes, in the form in which they are stored.
    bytes: f64,
    /// Seconds of reading and decoding, most of them during the computation.
    seconds: f64,
}

impl From<Reading> for ReadingSummary {
    fn from(Reading { bytes, seconds }: Reading) -> Self {
        Self { bytes, seconds }
    }
}

/// The JSON text of a summary; each line ends with a newline. Characters on which a terminal acts are escaped.
pub(crate) fn to_json(summary: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(summary).map_err(|e| Failure::StandardOutput(e.into()))?;
    let mut escaped = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        // Outside strings there is none but the newline, and within them it is escaped already.
        if c == '\n' || !acts(c) {
            escaped.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        }
    }
    escaped.push('\n');
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_on_which_a_terminal_acts_are_escaped() {
        let names = ["\u{9b}31m", "\u{7f}\u{202e}a\n\"", "ä\u{e0001}😀"];
        let text = to_json(&names).unwrap();
        let expected = ["\"\\u009b31m\"", "\"\\u007f\\u202ea\\n\\\"\"", "\"ä\\udb40\\udc01😀\""];
        assert_eq!(text, format!("[\n  {}\n]\n", expected.join(",\n  ")));
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), names);
    }
}
