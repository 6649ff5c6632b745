//! The summary of an MCA or FAMD as text.

use std::fmt::Write;

use console::measure_text_width;
use karhunen::categorical::{Analysis, CategoricalModel, CategoryResults, Correction};
use karhunen::{Matrix, Weighting};

use crate::component_names::of_component;
use crate::figures::{count, duration, loading, percent, sum};
use crate::text::{Components, Layout, Seconds, cell, components, scree, wrapped};

/// Maximum number of categories listed; the JSON and --categories have all.
const LISTED: usize = 40;
/// Maximum width of the name of a category.
const NAME_WIDTH: usize = 30;

/// An MCA or FAMD, as text.
pub(crate) struct CategoryReport<'a> {
    /// The model.
    pub(crate) model: &'a CategoricalModel,
    /// Describes the input and the automatic choices: one line each.
    pub(crate) data: &'a [String],
    /// Seconds of reading and fitting, if the model was just fitted.
    pub(crate) seconds: Option<Seconds>,
    /// Files written.
    pub(crate) written: &'a [String],
}

impl CategoryReport<'_> {
    /// The whole text; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let (mut out, model) = (String::new(), self.model);
        for line in self.data {
            wrapped(&mut out, "", line, layout.width);
        }
        out.push('\n');
        let table = Components {
            what: "eigenvalue",
            values: model.eigenvalues(),
            ratios: model.ratio(),
            loadings: None,
            features: None,
            name: of_component,
        };
        components(&mut out, &table, layout);
        scree(&mut out, model.ratio(), layout);
        out.push('\n');
        if model.options().analysis == Analysis::Mca {
            for correction in Correction::ALL {
                wrapped(&mut out, "corrected", &corrected(model, correction), layout.width);
            }
            out.push('\n');
        }
        variables(&mut out, model, layout);
        categories(&mut out, model, layout);
        self.how(&mut out, layout);
        out
    }

    fn how(&self, out: &mut String, layout: Layout) {
        let convergence = self.model.pca().convergence();
        let solver = format!("{}: {}", convergence.solver.name(), convergence.reason);
        wrapped(out, "solver", &solver, layout.width);
        let residual = format!(
            "worst residual {:.1e} (tolerance {:.0e})",
            convergence.worst_residual(),
            convergence.tol
        );
        wrapped(out, "accuracy", &residual, layout.width);
        if let Some(Seconds { read, fit }) = self.seconds {
            wrapped(out, "time", &format!("read {}, fit {}", duration(read), duration(fit)), layout.width);
        }
        if !self.written.is_empty() {
            wrapped(out, "written", &self.written.join(", "), layout.width);
        }
    }
}

/// Describes the shares of corrected eigenvalues, or why there are none.
fn corrected(model: &CategoricalModel, correction: Correction) -> String {
    let by = match correction {
        Correction::Benzecri => "Benzécri",
        Correction::Greenacre => "Greenacre",
    };
    match model.corrected_eigenvalues(correction) {
        Ok(found) => {
            let shares: Vec<String> = found
                .ratio
                .iter()
                .take_while(|ratio| **ratio > 0.0)
                .take(6)
                .enumerate()
                .map(|(c, ratio)| format!("{} {}", of_component(c), percent(*ratio)))
                .collect();
            format!(
                "{by}: {}",
                if shares.is_empty() {
                    "no eigenvalue is above 1 / variables".to_owned()
                } else {
                    shares.join(", ")
                }
            )
        }
        Err(error) => format!("{by}: {error}"),
    }
}

/// Describes weights, analysis and the number of components.
pub(crate) fn treatment(model: &CategoricalModel) -> String {
    let name = match model.options().analysis {
        Analysis::Mca => "multiple correspondence analysis",
        Analysis::Famd => "factor analysis of mixed data",
    };
    let k = model.n_components();
    let components = if k == 1 { "component" } else { "components" };
    format!("{name} of {} categories; {k} {components}", count(model.shares().len()))
}

/// A note about v-tests that are not defined.
pub(crate) fn v_test_note(model: &CategoricalModel) -> Option<String> {
    (!model.has_v_tests()).then(|| {
        let advice = match model.options().weighting {
            Weighting::Frequency => "; give numbers of respondents, or --weighting importance",
            Weighting::Importance | Weighting::Population => "",
        };
        format!(
            "v-tests need two observations, and the weights count as {}{advice}",
            sum(model.pca().n_observations())
        )
    })
}

/// Writes the correlation ratios of variables of categories, and the correlations of numbers, with the first
/// components.
fn variables(out: &mut String, model: &CategoricalModel, layout: Layout) {
    let names = |of_categories: bool| -> Vec<&str> {
        let variables = model.variables().iter();
        let kept = variables.filter(|variable| variable.categories().is_some() == of_categories);
        kept.map(|variable| variable.name()).collect()
    };
    figures(out, ("correlations", loading), &names(false), &model.number_correlations(), layout);
    figures(out, ("correlation ratios", percent), &names(true), &model.eta2(), layout);
}

/// Writes a table of figures of variables for the first components.
fn figures(
    out: &mut String,
    (what, figure): (&str, fn(f64) -> String),
    names: &[&str],
    values: &Matrix,
    layout: Layout,
) {
    /// Maximum number of components.
    const MOST: usize = 5;
    if names.is_empty() {
        return;
    }
    let k = values.n_cols().min(MOST);
    let longest = names.iter().take(LISTED).map(|name| measure_text_width(name)).max().unwrap_or(0);
    let width = longest.clamp(what.len(), NAME_WIDTH);
    let line = |name: String, figures: &dyn Fn(usize) -> String| {
        (0..k).fold(name, |line, c| format!("{line}  {:>8}", figures(c)))
    };
    let _ = writeln!(out, "{}", line(format!("{what:width$}"), &of_component));
    for (v, name) in names.iter().enumerate().take(LISTED) {
        let _ = writeln!(out, "{}", line(cell(name, width, layout), &|c| figure(values[(v, c)])));
    }
    if names.len() > LISTED {
        let _ = writeln!(out, "and {} more (all are in --json)", count(names.len() - LISTED));
    }
    out.push('\n');
}

/// Writes share, and coordinate, contribution and v-test of each category for the first components.
fn categories(out: &mut String, model: &CategoricalModel, layout: Layout) {
    /// Width of the figures of a component.
    const FIGURES: usize = 27;
    let CategoryResults { coordinates, contributions, v_tests, .. } = model.categories();
    let names = model.category_names();
    let longest = names.iter().take(LISTED).map(|name| measure_text_width(name)).max().unwrap_or(0);
    let width = longest.clamp("categories".len(), NAME_WIDTH);
    let room = layout.width.saturating_sub(width + 9);
    let k = model.n_components().min((room / FIGURES).max(1));
    let _ = write!(out, "{:width$}  {:>7}", "categories", "share");
    for c in 0..k {
        let _ = write!(out, "  {:>8}  {:>7}  {:>6}", of_component(c), "contr.", "v-test");
    }
    out.push('\n');
    let figure = |value: f64, text: String| if value.is_nan() { "none".to_owned() } else { text };
    for (i, name) in names.iter().enumerate().take(LISTED) {
        let _ = write!(out, "{}  {:>7}", cell(name, width, layout), percent(model.shares()[i]));
        for c in 0..k {
            let (x, share, v) = (coordinates[(i, c)], contributions[(i, c)], v_tests[(i, c)]);
            let (x, share) = (figure(x, loading(x)), figure(share, percent(share)));
            let _ = write!(out, "  {x:>8}  {share:>7}  {:>6}", figure(v, format!("{v:.1}")));
        }
        out.push('\n');
    }
    if names.len() > LISTED {
        let _ = writeln!(out, "and {} more (all are in --json)", count(names.len() - LISTED));
    }
    out.push('\n');
}
