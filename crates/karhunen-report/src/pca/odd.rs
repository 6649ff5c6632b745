//! Samples of complete data beyond a limit, and the features that put them there.

use std::cmp::Ordering;

use karhunen::diagnostics::{Samples, row_contributions_of};
use karhunen::{PcaModel, Scalar, Source};

use crate::Error;
use crate::names::Names;
use crate::numbers::significant;
use crate::odd::{EXPLAINED, OddRow, largest};

/// The limits of T² and of SPE.
type Limits = (Option<f64>, Option<f64>);

/// T² or SPE of each row as a multiple of its limit, whichever is larger; zero without limits.
pub(super) fn sizes<T>(found: &Samples<T>, (t2, spe): Limits) -> Vec<f64> {
    let ratio = |value: f64, limit: Option<f64>| limit.map_or(0.0, |limit| value / limit);
    found.t2.iter().zip(&found.spe).map(|(a, b)| larger(ratio(*a, t2), ratio(*b, spe))).collect()
}

fn larger(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b) == Ordering::Greater { a } else { b }
}

/// The farthest rows, each with the features that contribute most to the distance that is beyond its limit.
pub(super) fn explained<T: Scalar>(
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
