//! How many components the rules suggest.

use serde::Serialize;

/// The choices of the rules, and the components that sampling mixes.
pub(crate) struct Chosen {
    /// Sentences.
    pub(crate) sentences: Vec<String>,
    /// One row for each rule.
    pub(crate) rules: Vec<RuleRow>,
    /// Standard error of each variance; empty if the rules do not apply.
    pub(crate) standard_errors: Vec<f64>,
}

/// The choice of one rule.
#[derive(Serialize)]
pub(crate) struct RuleRow {
    pub(crate) rule: &'static str,
    pub(crate) description: &'static str,
    pub(crate) n_components: Option<usize>,
    pub(crate) at_edge: bool,
    pub(crate) reason: String,
}

impl Chosen {
    /// Sentences alone, where no rule applies.
    pub(crate) fn none(sentences: Vec<String>) -> Self {
        Self { sentences, rules: Vec::new(), standard_errors: Vec::new() }
    }
}
