//! What is odd: samples beyond a limit, and the features that put them there.

use serde::Serialize;

use crate::names::{Names, listed};
use crate::numbers::percent;

/// Most samples that are explained.
pub(crate) const EXPLAINED: usize = 20;
/// Features named for each sample and limit.
const NAMED: usize = 3;

/// An odd sample.
#[derive(Serialize)]
pub(crate) struct OddRow {
    pub(crate) name: String,
    pub(crate) t2: String,
    pub(crate) spe: String,
    pub(crate) reasons: Vec<String>,
}

/// The rows beyond a limit, farthest first.
pub(crate) fn order(sizes: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).filter(|i| sizes[*i] > 1.0).collect();
    order.sort_by(|a, b| sizes[*b].total_cmp(&sizes[*a]).then(a.cmp(b)));
    order
}

/// The features with the largest terms, with their shares of the sum.
pub(crate) fn largest(terms: &[f64], names: &Names<'_>) -> String {
    // Missing entries have no term.
    let sum: f64 = terms.iter().filter(|term| !term.is_nan()).sum();
    let mut order: Vec<usize> = (0..terms.len()).filter(|j| terms[*j] > 0.0).collect();
    order.sort_by(|a, b| terms[*b].total_cmp(&terms[*a]).then(a.cmp(b)));
    let words: Vec<String> = order
        .iter()
        .take(NAMED)
        .map(|j| format!("{} ({})", names.in_text(*j), percent(terms[*j] / sum)))
        .collect();
    listed(&words)
}
