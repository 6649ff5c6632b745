//! The summary of a kernel model as JSON, with scikit-learn's names where they exist.

use std::collections::BTreeMap;

use karhunen::kernel::{Approximation, Gamma};
use karhunen::{KernelModel, KernelPca};
use serde::Serialize;

use crate::args::values::JsonExtent;
use crate::pca::summary::rows;
use crate::text::Seconds;

/// The JSON output of `fit --kernel --json` and `inspect --json` for a kernel model.
#[derive(Debug, Serialize)]
pub(crate) struct KernelSummary<'a> {
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    feature_names: Option<&'a [String]>,
    kernel: &'static str,
    gamma: Option<f64>,
    eigenvalues: &'a [f64],
    explained_variance_ratio: Vec<f64>,
    total: Option<f64>,
    smallest_eigenvalue: Option<f64>,
    sum_of_weights: f64,
    dtype: &'a str,
    solver: &'static str,
    reason: &'a str,
    approximation: Option<Approximation>,
    n_passes: usize,
    tol: f64,
    residuals: &'a [f64],
    n_converged: usize,
    converged: bool,
    has_pre_image: bool,
    options: &'a KernelPca,
    #[serde(skip_serializing_if = "Option::is_none")]
    eigenvectors: Option<Vec<Vec<f64>>>,
}

impl<'a> KernelSummary<'a> {
    /// Summarises a model with the names of its features.
    pub(crate) fn new(
        model: &'a KernelModel,
        feature_names: Option<&'a [String]>,
        extent: JsonExtent,
    ) -> Self {
        let (parts, convergence) = (model.parts(), model.convergence());
        Self {
            n_samples: model.n_samples(),
            n_features: model.n_features(),
            n_components: model.n_components(),
            feature_names,
            kernel: model.kernel().name(),
            gamma: match model.kernel().gamma() {
                Some(Gamma::Value(gamma)) => Some(gamma),
                _ => None,
            },
            eigenvalues: model.eigenvalues(),
            explained_variance_ratio: model.explained_variance_ratio(),
            total: parts.total,
            smallest_eigenvalue: convergence.smallest_eigenvalue,
            sum_of_weights: parts.sum_of_weights,
            dtype: &parts.dtype,
            solver: convergence.solver.name(),
            reason: &convergence.reason,
            approximation: convergence.approximation,
            n_passes: convergence.n_passes,
            tol: convergence.tol,
            residuals: &convergence.residuals,
            n_converged: convergence.n_converged,
            converged: convergence.converged(),
            has_pre_image: parts.pre_image.is_some(),
            options: model.options(),
            eigenvectors: (extent == JsonExtent::Full).then(|| rows(model.eigenvectors())),
        }
    }
}

/// The JSON output of `fit --kernel --json`.
#[derive(Debug, Serialize)]
pub(crate) struct KernelFitSummary<'a> {
    /// The data file.
    pub(crate) file: &'a str,
    /// Its format.
    pub(crate) format: &'a str,
    /// The model.
    #[serde(flatten)]
    pub(crate) model: KernelSummary<'a>,
    /// Choices made automatically.
    pub(crate) notes: &'a [String],
    /// The files written, by content.
    pub(crate) written: BTreeMap<&'static str, String>,
    /// Seconds of reading and fitting.
    pub(crate) seconds: Seconds,
    /// Peak memory of the process in bytes, if the system reports it.
    pub(crate) peak_memory_bytes: Option<u64>,
}
