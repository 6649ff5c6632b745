//! A rotated model as text and as JSON.

use std::fmt::Write;

use karhunen::rotation::{Components as Fitted, RotatedModel};
use serde::Serialize;

use crate::args::values::JsonExtent;
use crate::component_names::{of_rotated, of_rotated_component};
use crate::pca::summary::rows;
use crate::text::{Components, Layout, components, wrapped};

/// Most components whose correlations are listed; the JSON has all.
const LISTED: usize = 8;

/// A rotated model, as text.
pub(crate) struct RotationReport<'a, M> {
    /// The model.
    pub(crate) model: &'a RotatedModel<M>,
    /// Names of the features.
    pub(crate) features: Option<&'a [String]>,
    /// Describes the model and the data of the fit: one line each.
    pub(crate) data: &'a [String],
    /// Files written.
    pub(crate) written: &'a [String],
}

impl<M: Fitted> RotationReport<'_, M> {
    /// The whole text; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let (model, mut out) = (self.model, String::new());
        for line in self.data {
            wrapped(&mut out, "", line, layout.width);
        }
        wrapped(&mut out, "", &headline(model), layout.width);
        out.push('\n');
        let table = Components {
            what: "variance",
            values: &model.rotation().variances,
            ratios: &model.explained_variance_ratio(),
            loadings: Some(&model.rotation().pattern),
            features: self.features,
            name: of_rotated_component,
        };
        components(&mut out, &table, layout);
        if is_oblique(model) {
            self.correlations(&mut out, layout);
        }
        if !self.written.is_empty() {
            out.push('\n');
            wrapped(&mut out, "written", &self.written.join(", "), layout.width);
        }
        out
    }

    /// Writes the correlations of the components.
    fn correlations(&self, out: &mut String, layout: Layout) {
        let correlations = &self.model.rotation().component_correlations;
        let k = correlations.n_rows().min(LISTED).min((layout.width - 6) / 7);
        let names = of_rotated(k);
        let cells = |out: &mut String, name: &str, cells: &[String]| {
            let _ = write!(out, "{name:6}");
            cells.iter().for_each(|cell| {
                let _ = write!(out, "{cell:>7}");
            });
            out.push('\n');
        };
        out.push_str("\ncorrelations of the components\n");
        cells(out, "", &names);
        for (c, name) in names.iter().enumerate() {
            let line: Vec<String> = (0..=c).map(|d| format!("{:.2}", correlations[(c, d)])).collect();
            cells(out, name, &line);
        }
        if k < correlations.n_rows() {
            let _ = writeln!(out, "and {} more (all are in --json)", correlations.n_rows() - k);
        }
    }
}

/// Describes the rotation.
fn headline<M: Fitted>(model: &RotatedModel<M>) -> String {
    let rotation = model.rotation();
    let of = format!("{} of {} components", model.n_components(), model.model().n_components());
    let what = if model.n_components() == model.model().n_components() { "all components" } else { &of };
    let iterations = match rotation.n_iter {
        1 => "1 iteration".to_owned(),
        n => format!("{n} iterations"),
    };
    let end = if rotation.converged { "" } else { ", not converged" };
    format!("rotated by {}: {what}, {iterations}{end}", model.criterion())
}

/// Returns true if components are correlated.
fn is_oblique<M: Fitted>(model: &RotatedModel<M>) -> bool {
    let correlations = &model.rotation().component_correlations;
    let k = correlations.n_rows();
    (0..k).any(|c| (0..c).any(|d| correlations[(c, d)].abs() > 1e-9))
}

/// The JSON output of `rotate --json`, and of `inspect --json` for a rotated model.
#[derive(Debug, Serialize)]
pub(crate) struct RotationSummary<'a> {
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    feature_names: Option<&'a [String]>,
    /// Name of the method; none for an orthomax criterion without one.
    method: Option<&'static str>,
    criterion: String,
    kaiser: bool,
    explained_variance: &'a [f64],
    explained_variance_ratio: Vec<f64>,
    total_variance: f64,
    component_correlations: Vec<Vec<f64>>,
    communalities: &'a [f64],
    n_iter: usize,
    converged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rotation: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score_rotation: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structure: Option<Vec<Vec<f64>>>,
}

impl<'a> RotationSummary<'a> {
    /// Summarises a rotated model with the names of its features.
    pub(crate) fn new<M: Fitted>(
        model: &'a RotatedModel<M>,
        (n_samples, n_features): (usize, usize),
        feature_names: Option<&'a [String]>,
        extent: JsonExtent,
    ) -> Self {
        use karhunen::choice::Choice;
        let rotation = model.rotation();
        let full = |matrix| (extent == JsonExtent::Full).then(|| rows(matrix));
        Self {
            n_samples,
            n_features,
            n_components: model.n_components(),
            feature_names,
            method: model.criterion().method().map(|method| method.named().name),
            criterion: model.criterion().to_string(),
            kaiser: model.criterion().kaiser(),
            explained_variance: &rotation.variances,
            explained_variance_ratio: model.explained_variance_ratio(),
            total_variance: model.model().total_variance(),
            component_correlations: rows(&rotation.component_correlations),
            communalities: &rotation.communalities,
            n_iter: rotation.n_iter,
            converged: rotation.converged,
            rotation: full(&rotation.rotation),
            score_rotation: full(&rotation.score_rotation),
            pattern: full(&rotation.pattern),
            structure: full(&rotation.structure),
        }
    }
}
