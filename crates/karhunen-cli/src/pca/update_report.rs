//! The state of a fit that is updated with new rows: as text and as JSON.

use std::collections::BTreeMap;

use karhunen::incremental::{IncrementalFit, IncrementalMethod, IncrementalModel};
use karhunen::{IncrementalPca, Matrix};
use serde::Serialize;

use crate::args::values::JsonExtent;
use crate::component_names::of_component;
use crate::figures::{count, duration, sum};
use crate::pca::summary::rows;
use crate::text::{Components, Layout, Seconds, components, scree, treatment, wrapped};

/// A fit and its model, as text.
pub(crate) struct UpdateReport<'a> {
    /// The name of the file of the state.
    pub(crate) file: &'a str,
    /// The fit.
    pub(crate) fit: &'a IncrementalFit,
    /// Its model, if its rows allow one.
    pub(crate) model: Option<&'a IncrementalModel>,
    /// Names of the features.
    pub(crate) features: Option<&'a [String]>,
    /// Describes the rows that were added, or the file: one line each.
    pub(crate) added: &'a [String],
    /// Seconds of reading and adding rows, if there were any.
    pub(crate) seconds: Option<Seconds>,
}

impl UpdateReport<'_> {
    /// The whole text, with the files written; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout, written: &[String]) -> String {
        let Self { file, fit, model, features, added, seconds } = *self;
        let mut out = String::new();
        added.iter().for_each(|line| wrapped(&mut out, "", line, layout.width));
        let (n, p) = (fit.n_samples_seen(), fit.n_features());
        let rows = if n == 1 { "row" } else { "rows" };
        let weights = model.map_or_else(String::new, |model| {
            let weight = model.pca().sum_of_weights();
            if weight == n as f64 { String::new() } else { format!(", weights now {}", sum(weight)) }
        });
        let so_far = format!("{file}: {} {rows} x {} columns so far{weights}", count(n), count(p));
        wrapped(&mut out, "", &so_far, layout.width);
        if let Some(model) = model {
            wrapped(&mut out, "", &treatment(model.pca(), ""), layout.width);
            out.push('\n');
            let pca = model.pca();
            let table = Components {
                what: "variance",
                values: pca.explained_variance(),
                ratios: pca.explained_variance_ratio(),
                loadings: Some(&pca.loadings()),
                features,
                name: of_component,
            };
            components(&mut out, &table, layout);
            scree(&mut out, pca.explained_variance_ratio(), layout);
        }
        out.push('\n');
        wrapped(&mut out, "method", &method(fit), layout.width);
        if let Some(memory) = memory(fit.options()) {
            wrapped(&mut out, "memory", &memory, layout.width);
        }
        if let Some(model) = model {
            let worst = |values: &[f64]| {
                values.iter().fold(0.0, |worst, &value| if value > worst { value } else { worst })
            };
            let residual = worst(model.residuals());
            let accuracy = match fit.method() {
                IncrementalMethod::Sketch => format!(
                    "worst residual {residual:.1e}, below {:.1e} in 99% of cases",
                    worst(model.residual_bounds())
                ),
                _ => format!("worst residual {residual:.1e}"),
            };
            wrapped(&mut out, "accuracy", &accuracy, layout.width);
        }
        if let Some(Seconds { read, fit }) = seconds {
            let time = format!("read {}, update {}", duration(read), duration(fit));
            wrapped(&mut out, "time", &time, layout.width);
        }
        if !written.is_empty() {
            wrapped(&mut out, "written", &written.join(", "), layout.width);
        }
        out
    }
}

/// Describes the statistics that are kept of the rows.
fn method(fit: &IncrementalFit) -> String {
    match fit.method() {
        IncrementalMethod::Sketch => format!("sketch of {} directions", count(fit.n_directions())),
        _ => "scatter matrix of all rows: exact".to_owned(),
    }
}

/// Describes how the weights of earlier rows decay.
fn memory(options: &IncrementalPca) -> Option<String> {
    match options.half_life {
        Some(rows) => Some(format!("the weight of a row halves with every {rows} of weight after it")),
        None if options.forget < 1.0 => {
            Some(format!("every update multiplies the weights of earlier rows by {}", options.forget))
        }
        None => None,
    }
}

/// A fit and its model, as JSON. Fields of a model are absent while the rows allow none.
#[derive(Debug, Serialize)]
pub(crate) struct StreamSummary<'a> {
    n_samples_seen: usize,
    n_features: usize,
    feature_names: Option<&'a [String]>,
    method: IncrementalMethod,
    /// Most directions of a sketch.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_directions: Option<usize>,
    options: &'a IncrementalPca,
    #[serde(flatten)]
    model: Option<StreamModel<'a>>,
}

#[derive(Debug, Serialize)]
struct StreamModel<'a> {
    n_components: usize,
    explained_variance: &'a [f64],
    explained_variance_ratio: &'a [f64],
    singular_values: &'a [f64],
    noise_variance: f64,
    total_variance: f64,
    sum_of_weights: f64,
    mean: &'a [f64],
    scale: &'a [f64],
    residuals: &'a [f64],
    residual_bounds: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loadings: Option<Vec<Vec<f64>>>,
}

impl<'a> StreamSummary<'a> {
    /// Summarises a fit with the names of its features.
    pub(crate) fn new(
        fit: &'a IncrementalFit,
        model: Option<&'a IncrementalModel>,
        feature_names: Option<&'a [String]>,
        extent: JsonExtent,
    ) -> Self {
        let full = |matrix: &dyn Fn() -> Matrix| (extent == JsonExtent::Full).then(|| rows(&matrix()));
        let is_sketch = fit.method() == IncrementalMethod::Sketch;
        Self {
            n_samples_seen: fit.n_samples_seen(),
            n_features: fit.n_features(),
            feature_names,
            method: fit.method(),
            n_directions: is_sketch.then(|| fit.n_directions()),
            options: fit.options(),
            model: model.map(|model| StreamModel {
                n_components: model.n_components(),
                explained_variance: model.pca().explained_variance(),
                explained_variance_ratio: model.pca().explained_variance_ratio(),
                singular_values: model.pca().singular_values(),
                noise_variance: model.pca().noise_variance(),
                total_variance: model.pca().total_variance(),
                sum_of_weights: model.pca().sum_of_weights(),
                mean: model.pca().mean(),
                scale: model.pca().scale(),
                residuals: model.residuals(),
                residual_bounds: model.residual_bounds(),
                components: full(&|| model.pca().components().clone()),
                loadings: full(&|| model.pca().loadings()),
            }),
        }
    }
}

/// The JSON output of `update --json`.
#[derive(Debug, Serialize)]
pub(crate) struct UpdateSummary<'a> {
    /// The data file.
    pub(crate) file: &'a str,
    /// Its format.
    pub(crate) format: &'a str,
    /// Number of rows that were added.
    pub(crate) n_samples: usize,
    /// The fit.
    #[serde(flatten)]
    pub(crate) fit: StreamSummary<'a>,
    /// Choices made automatically, and what a user should know.
    pub(crate) notes: Vec<String>,
    /// The files written, by content.
    pub(crate) written: BTreeMap<&'static str, String>,
    /// Seconds of reading and adding rows.
    pub(crate) seconds: Seconds,
}
