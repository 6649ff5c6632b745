//! What is odd: samples beyond a limit, and the features that put them there.

use std::cmp::Ordering;

use karhunen::diagnostics::{Samples, row_contributions_of};
use karhunen::{PcaModel, Scalar, Source};
use serde::Serialize;

use crate::Error;
use crate::names::{Names, listed};
use crate::numbers::{percent, significant};

/// Most samples that are explained.
const EXPLAINED: usize = 20;
/// Features named for each sample and limit.
const NAMED: usize = 3;

/// The limits of T² and of SPE.
type Limits = (Option<f64>, Option<f64>);

/// An odd sample.
#[derive(Serialize)]
pub(crate) struct OddRow {
    name: String,
    t2: String,
    spe: String,
    reasons: Vec<String>,
}

/// T² or SPE of each row as a multiple of its limit, whichever is larger; zero without limits.
pub(crate) fn sizes<T>(found: &Samples<T>, (t2, spe): Limits) -> Vec<f64> {
    let ratio = |value: f64, limit: Option<f64>| limit.map_or(0.0, |limit| value / limit);
    found.t2.iter().zip(&found.spe).map(|(a, b)| larger(ratio(*a, t2), ratio(*b, spe))).collect()
}

fn larger(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b) == Ordering::Greater { a } else { b }
}

/// The rows beyond a limit, farthest first.
pub(crate) fn order(sizes: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).filter(|i| sizes[*i] > 1.0).collect();
    order.sort_by(|a, b| sizes[*b].total_cmp(&sizes[*a]).then(a.cmp(b)));
    order
}

/// The farthest rows, each with the features that contribute most to the distance that is beyond its limit.
pub(crate) fn explained<T: Scalar>(
    model: &PcaModel,
    x: &dyn Source<T>,
    found: &Samples<T>,
    (t2, spe): Limits,
    order: &[usize],
    (features, samples): (&Names<'_>, &Names<'_>),
) -> Result<Vec<OddRow>, Error> {
    let order = &order[..order.len().min(EXPLAINED)];
    if order.is_empty() {
        return Ok(Vec::new());
    }
    let terms = row_contributions_of(model, x, order)?;
    let beyond = |value: f64, limit: Option<f64>| limit.is_some_and(|limit| value > limit);
    Ok(order
        .iter()
        .enumerate()
        .map(|(line, &i)| {
            let mut reasons = Vec::new();
            if beyond(found.t2[i], t2) {
                reasons.push(format!("T²: {}", largest(terms.t2.row(line), features)));
            }
            if beyond(found.spe[i], spe) {
                let squares: Vec<f64> = terms.residuals.row(line).iter().map(|r| r * r).collect();
                reasons.push(format!("SPE: {}", largest(&squares, features)));
            }
            OddRow {
                name: samples.of(i),
                t2: significant(found.t2[i], 4),
                spe: significant(found.spe[i], 4),
                reasons,
            }
        })
        .collect())
}

/// The features with the largest terms, with their shares of the sum.
fn largest(terms: &[f64], names: &Names<'_>) -> String {
    let sum: f64 = terms.iter().sum();
    let mut order: Vec<usize> = (0..terms.len()).filter(|j| terms[*j] > 0.0).collect();
    order.sort_by(|a, b| terms[*b].total_cmp(&terms[*a]).then(a.cmp(b)));
    let words: Vec<String> = order
        .iter()
        .take(NAMED)
        .map(|j| format!("{} ({})", names.of(*j), percent(terms[*j] / sum)))
        .collect();
    listed(&words)
}
