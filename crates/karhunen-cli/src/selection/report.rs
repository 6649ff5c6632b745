//! The numbers of components by all rules, as text and as JSON.

use std::fmt::Write;

use karhunen::PcaModel;
use karhunen::selection::{Curve, Selection, Separation, Suggestion, suggest};
use serde::Serialize;

use crate::component_names::of_component;
use crate::text::{Layout, Seconds, wrapped};

/// The rules and their choices, as text.
pub(crate) struct SelectReport<'a> {
    /// Describes the data: one line each.
    pub(crate) data: &'a [String],
    /// The choices.
    pub(crate) rules: &'a [Selection],
    /// The components that sampling does not separate, of complete data.
    pub(crate) separation: Option<&'a Separation>,
}

impl SelectReport<'_> {
    /// The whole text; each line ends with a newline.
    pub(crate) fn render(&self, layout: Layout) -> String {
        let mut out = String::new();
        for line in self.data {
            wrapped(&mut out, "", line, layout.width);
        }
        out.push('\n');
        self.table(&mut out, layout);
        out.push('\n');
        wrapped(&mut out, "suggested", &suggested(&suggest(self.rules)), layout.width);
        let edges: Vec<String> = self
            .rules
            .iter()
            .filter(|row| row.at_edge)
            .map(|row| format!("{} ({} to {})", row.rule, row.range.0, row.range.1))
            .collect();
        if !edges.is_empty() {
            let text = format!("at the edge of their range, so not counted: {}", edges.join(", "));
            wrapped(&mut out, "edge", &text, layout.width);
        }
        if let Some(separation) = self.separation {
            wrapped(&mut out, "sampling", &mixed(separation), layout.width);
        }
        out
    }

    /// One line or more for each rule: its number, and the reason.
    fn table(&self, out: &mut String, layout: Layout) {
        let width = self.rules.iter().map(|row| row.rule.name().len()).max().unwrap_or(0);
        let indent = width + 2 + 10 + 2;
        let _ = writeln!(out, "{:width$}  {:>10}  reason", "rule", "components");
        for row in self.rules {
            let number = row.n_components.map_or_else(|| "none".to_owned(), |n| n.to_string());
            let mut reason = String::new();
            wrapped(&mut reason, "", &row.reason, layout.width.saturating_sub(indent).max(20));
            for (line, text) in reason.lines().enumerate() {
                if line == 0 {
                    let _ = writeln!(out, "{:width$}  {number:>10}  {text}", row.rule.name());
                } else {
                    let _ = writeln!(out, "{:indent$}{}", "", text.trim_start());
                }
            }
        }
    }
}

/// The number that the rules support, and why.
fn suggested(found: &Suggestion) -> String {
    let Suggestion { n_components, reason } = found;
    n_components.map_or_else(|| format!("none: {reason}"), |n| format!("{n}: {reason}"))
}

/// The components that sampling does not separate, by North's rule.
fn mixed(separation: &Separation) -> String {
    let groups: Vec<String> = separation
        .groups()
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| format!("{} to {}", of_component(group.start), of_component(group.end - 1)))
        .collect();
    if groups.is_empty() {
        return "the variances of neighbours differ by more than their standard errors (North's rule)"
            .to_owned();
    }
    format!("does not separate {}: bars of one standard error overlap (North's rule)", groups.join(", nor "))
}

/// The JSON output of `select --json`.
#[derive(Debug, Serialize)]
pub(crate) struct SelectSummary<'a> {
    file: &'a str,
    n_samples: usize,
    n_features: usize,
    n_observations: f64,
    explained_variance: &'a [f64],
    explained_variance_ratio: &'a [f64],
    rules: Vec<RuleSummary<'a>>,
    suggested: SuggestionSummary,
    /// Standard error of each variance by North's rule.
    standard_errors: &'a [f64],
    /// Ranges of components that sampling does not separate, counted from 1, ends included.
    groups: Vec<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<Seconds>,
}

/// The number that the rules support, in JSON.
#[derive(Debug, Serialize)]
struct SuggestionSummary {
    n_components: Option<usize>,
    reason: String,
}

impl SuggestionSummary {
    fn of(rules: &[Selection]) -> Self {
        let Suggestion { n_components, reason } = suggest(rules);
        Self { n_components, reason }
    }
}

/// A rule in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RuleSummary<'a> {
    rule: &'static str,
    n_components: Option<usize>,
    at_edge: bool,
    range: (usize, usize),
    reason: &'a str,
    /// The number of components, or the component, of the first value.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<&'a [f64]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thresholds: Option<&'a [f64]>,
}

impl<'a> RuleSummary<'a> {
    pub(crate) fn of(row: &'a Selection) -> Self {
        let (first, values, thresholds) = match &row.curve {
            Curve::Compared { values, thresholds } => (Some(1), Some(&values[..]), Some(&thresholds[..])),
            Curve::Criterion { first, values, .. } => (Some(*first), Some(&values[..]), None),
            Curve::Nothing => (None, None, None),
        };
        let Selection { n_components, at_edge, range, reason, .. } = row;
        Self {
            rule: row.rule.name(),
            n_components: *n_components,
            at_edge: *at_edge,
            range: *range,
            reason,
            first,
            values,
            thresholds,
        }
    }
}

impl<'a> SelectSummary<'a> {
    /// Summarises the choices for a model.
    pub(crate) fn new(
        file: &'a str,
        model: &'a PcaModel,
        n_observations: f64,
        (rules, separation): (&'a [Selection], &'a Separation),
        seconds: Option<Seconds>,
    ) -> Self {
        let mixed = |group: &std::ops::Range<usize>| group.len() > 1;
        Self {
            file,
            n_samples: model.n_samples(),
            n_features: model.n_features(),
            n_observations,
            explained_variance: model.explained_variance(),
            explained_variance_ratio: model.explained_variance_ratio(),
            rules: rules.iter().map(RuleSummary::of).collect(),
            suggested: SuggestionSummary::of(rules),
            standard_errors: &separation.standard_errors,
            groups: separation
                .groups()
                .iter()
                .filter(|group| mixed(group))
                .map(|group| [group.start + 1, group.end])
                .collect(),
            seconds,
        }
    }
}

/// The JSON output of `select --json` for a table with missing values.
#[derive(Debug, Serialize)]
pub(crate) struct IncompleteSummary<'a> {
    file: &'a str,
    n_samples: usize,
    n_features: usize,
    rules: Vec<RuleSummary<'a>>,
    suggested: SuggestionSummary,
    seconds: Seconds,
}

impl<'a> IncompleteSummary<'a> {
    /// Summarises the choices for a table of this shape.
    pub(crate) fn new(
        file: &'a str,
        (n_samples, n_features): (usize, usize),
        rules: &'a [Selection],
        seconds: Seconds,
    ) -> Self {
        let suggested = SuggestionSummary::of(rules);
        let rules = rules.iter().map(RuleSummary::of).collect();
        Self { file, n_samples, n_features, rules, suggested, seconds }
    }
}
