//! The summary of a model of incomplete data as JSON.

use std::collections::BTreeMap;

use karhunen::IncompletePca;
use karhunen::incomplete::{Conformal, Identifiability, Method, StartAgreement, StopReason, TraceEntry};
use karhunen_io::{Ids, SavedIncomplete, TripleColumns};
use serde::Serialize;

use crate::args::values::JsonExtent;
use crate::pca::summary::rows;
use crate::text::Seconds;

/// The JSON output of `fit --json` and `inspect --json` for a model.
#[derive(Debug, Serialize)]
pub(crate) struct IncompleteSummary<'a> {
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    n_observed: usize,
    share_observed: f64,
    feature_names: Option<Vec<String>>,
    triples: Option<&'a TripleColumns>,
    method: Method,
    reason: &'a str,
    stop: StopReason,
    converged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts: Option<StartAgreement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identifiability: Option<Identifiability>,
    n_iter: usize,
    cost: f64,
    rmse: f64,
    held_out_rmse: Option<f64>,
    explained_variance: &'a [f64],
    explained_variance_ratio: &'a [f64],
    singular_values: &'a [f64],
    noise_variance: f64,
    feature_noise_variance: Vec<f64>,
    /// True if the model keeps limits for new rows by rows left out.
    keeps_limits: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    conformal: Option<ConformalSummary>,
    total_variance: f64,
    mean: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_weights: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_offsets_deviation: Option<f64>,
    n_observed_by_feature: &'a [usize],
    has_error_bars: bool,
    dtype: &'a str,
    options: &'a IncompletePca,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_offsets: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loadings: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a [TraceEntry]>,
}

impl<'a> IncompleteSummary<'a> {
    /// Summarises a model with the ids of its columns.
    pub(crate) fn new(saved: &'a SavedIncomplete, extent: JsonExtent) -> Self {
        let (model, parts) = (&saved.model, saved.model.parts());
        let convergence = model.convergence();
        let full = extent == JsonExtent::Full;
        let held_out = model.conformal().map_or(0, |conformal| conformal.n_entries());
        let n_observed = held_out + parts.n_observed.iter().sum::<usize>();
        Self {
            n_samples: model.n_samples(),
            n_features: model.n_features(),
            n_components: model.n_components(),
            n_observed,
            share_observed: n_observed as f64 / (model.n_samples() as f64 * model.n_features() as f64),
            feature_names: saved.extras.column_ids.as_ref().map(Ids::texts),
            triples: saved.extras.triples.as_ref(),
            method: convergence.method,
            reason: &convergence.reason,
            stop: convergence.stop,
            converged: convergence.converged(),
            starts: convergence.starts,
            identifiability: convergence.identifiability,
            n_iter: convergence.trace.last().map_or(0, |entry| entry.iteration),
            cost: convergence.cost,
            rmse: convergence.rmse,
            held_out_rmse: convergence.held_out_rmse,
            explained_variance: model.explained_variance(),
            explained_variance_ratio: model.explained_variance_ratio(),
            singular_values: model.singular_values(),
            noise_variance: model.noise_variance(),
            feature_noise_variance: model.feature_noise_variance(),
            keeps_limits: parts.t2_factor.is_some(),
            conformal: model.conformal().map(ConformalSummary::of),
            total_variance: parts.total_variance,
            mean: model.mean(),
            scale: model.scale(),
            feature_weights: model.feature_weights(),
            row_offsets_deviation: model.row_offsets().map(deviation),
            n_observed_by_feature: &parts.n_observed,
            has_error_bars: parts.score_covariances.is_some(),
            dtype: &parts.dtype,
            options: &parts.options,
            row_offsets: model.row_offsets().filter(|_| full),
            components: full.then(|| rows(model.components())),
            loadings: full.then(|| rows(&model.loadings())),
            trace: full.then_some(&convergence.trace),
        }
    }
}

/// Standard deviations on both sides of the mean that hold 95% of a normal distribution.
pub(crate) const NORMAL_95: f64 = 1.96;

/// The entries that a fit has held out.
#[derive(Clone, Copy, Debug, Serialize)]
struct ConformalSummary {
    /// Number of entries held out.
    n_entries: usize,
    /// The share of them within [`NORMAL_95`] standard deviations.
    coverage_of_normal_95: f64,
    /// The number of standard deviations of 95% intervals; none for too few entries.
    factor_95: Option<f64>,
}

impl ConformalSummary {
    fn of(conformal: Conformal<'_>) -> Self {
        Self {
            n_entries: conformal.n_entries(),
            coverage_of_normal_95: conformal.coverage(NORMAL_95),
            factor_95: conformal.factor(0.95).ok(),
        }
    }
}

/// The standard deviation of row offsets, which sum to zero.
pub(crate) fn deviation(offsets: &[f64]) -> f64 {
    (offsets.iter().map(|b| b * b).sum::<f64>() / offsets.len() as f64).sqrt()
}

/// Rows that were learned block by block; the model holds the rows of the last block.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OnlineSummary {
    /// Number of rows of the table.
    pub(crate) n_samples: usize,
    /// Number of passes over them.
    pub(crate) n_passes: usize,
    /// Number of rows whose scores the model holds.
    pub(crate) n_samples_held: usize,
}

/// The JSON output of `fit --missing --json`.
#[derive(Debug, Serialize)]
pub(crate) struct IncompleteFitSummary<'a> {
    /// The data file.
    pub(crate) file: &'a str,
    /// Its format.
    pub(crate) format: &'a str,
    /// The model.
    #[serde(flatten)]
    pub(crate) model: IncompleteSummary<'a>,
    /// The passes over rows that stayed in their file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) online: Option<OnlineSummary>,
    /// Choices made automatically.
    pub(crate) notes: &'a [String],
    /// The files written, by content.
    pub(crate) written: BTreeMap<&'static str, String>,
    /// Seconds of reading and fitting.
    pub(crate) seconds: Seconds,
}
