//! What each component is about: its strongest features, in a sentence.

use karhunen::PcaModel;
use karhunen::diagnostics::Features;
use serde::Serialize;

use crate::names::{Names, component, listed};
use crate::numbers::{percent, signed, significant};

/// Most components that the page describes and draws; their variances are listed to 100.
pub(crate) const SHOWN: usize = 10;
/// Most components in the table of variances.
pub(crate) const LISTED: usize = 100;
/// Most features that a sentence names with each sign.
const NAMED: usize = 4;

/// A component in the table of variances.
#[derive(Serialize)]
pub(crate) struct ComponentRow {
    name: String,
    variance: String,
    ratio: String,
    cumulative: String,
    residual: String,
    sentence: String,
}

/// The leading components.
pub(crate) fn table(model: &PcaModel, found: &Features, names: &Names<'_>) -> Vec<ComponentRow> {
    let mut sum = 0.0;
    (0..model.n_components().min(LISTED))
        .map(|k| {
            sum += model.explained_variance_ratio()[k];
            ComponentRow {
                name: component(k),
                variance: significant(model.explained_variance()[k], 4),
                ratio: percent(model.explained_variance_ratio()[k]),
                cumulative: percent(sum),
                residual: significant(model.convergence().residuals[k], 2),
                sentence: if k < SHOWN { sentence(found, names, k) } else { String::new() },
            }
        })
        .collect()
}

/// The features with the largest contributions, by the sign of their correlation. Features with less than an equal share
/// are left out.
fn sentence(found: &Features, names: &Names<'_>, k: usize) -> String {
    let p = found.contributions.n_rows();
    let share = |j: usize| found.contributions[(j, k)];
    let mut order: Vec<usize> = (0..p).filter(|j| share(*j) * p as f64 >= 1.0 - 1e-9).collect();
    order.sort_by(|a, b| share(*b).total_cmp(&share(*a)).then(a.cmp(b)));
    let side = |positive: bool| -> Vec<String> {
        order
            .iter()
            .map(|j| (*j, found.correlations[(*j, k)]))
            .filter(|(_, r)| if positive { *r > 0.0 } else { *r < 0.0 })
            .take(NAMED)
            .map(|(j, r)| format!("{} ({})", names.of(j), signed(r)))
            .collect()
    };
    let (rises, falls) = (listed(&side(true)), listed(&side(false)));
    let name = component(k);
    match (rises.is_empty(), falls.is_empty()) {
        (true, true) => format!("No feature varies with {name}."),
        (false, true) => format!("{name} rises with {rises}."),
        (true, false) => format!("{name} falls as these rise: {falls}."),
        (false, false) => format!("{name} rises with {rises}, and falls as these rise: {falls}."),
    }
}

/// The series of the scree plot.
#[derive(Serialize)]
pub(crate) struct Scree {
    names: Vec<String>,
    variance: Vec<f64>,
    ratio: Vec<f64>,
    standard_errors: Vec<f64>,
}

impl Scree {
    /// Of the leading components.
    pub(crate) fn of(model: &PcaModel, standard_errors: Vec<f64>) -> Self {
        let n = model.n_components().min(LISTED);
        Self {
            names: (0..n).map(component).collect(),
            variance: model.explained_variance()[..n].to_vec(),
            ratio: model.explained_variance_ratio()[..n].to_vec(),
            standard_errors,
        }
    }
}
