//! The table of features.

use karhunen::Matrix;
use karhunen::diagnostics::Features;
use serde::Serialize;

use crate::components::SHOWN;
use crate::names::Names;
use crate::numbers::{count, rounded};

/// Most features that the page holds.
const MOST: usize = 1000;

/// The numbers of features, one list for each component.
#[derive(Serialize)]
pub(crate) struct FeatureTable {
    names: Vec<String>,
    loading: Vec<Vec<f64>>,
    correlation: Vec<Vec<f64>>,
    cos2: Vec<Vec<f64>>,
    contribution: Vec<Vec<f64>>,
    communality: Vec<f64>,
    #[serde(skip)]
    pub(crate) note: Option<String>,
}

impl FeatureTable {
    /// All features, or those with the largest loadings if there are more than the page holds.
    pub(crate) fn of(loadings: &Matrix, found: &Features, names: &Names<'_>) -> Self {
        let k = loadings.n_cols().min(SHOWN);
        let chosen = chosen(loadings, k);
        let columns = |values: &Matrix| -> Vec<Vec<f64>> {
            (0..k).map(|c| chosen.iter().map(|j| rounded(values[(*j, c)])).collect()).collect()
        };
        let p = loadings.n_rows();
        let note = (chosen.len() < p).then(|| {
            format!(
                "The {} features with the largest loadings of {} are here; karhunen diagnose --features writes all.",
                count(chosen.len()),
                count(p)
            )
        });
        Self {
            names: chosen.iter().map(|j| names.of(*j)).collect(),
            loading: columns(loadings),
            correlation: columns(&found.correlations),
            cos2: columns(&found.cos2),
            contribution: columns(&found.contributions),
            communality: chosen.iter().map(|j| rounded(found.communalities[*j])).collect(),
            note,
        }
    }
}

/// The features in their order; of many, those whose largest loading on a shown component is largest.
fn chosen(loadings: &Matrix, k: usize) -> Vec<usize> {
    let p = loadings.n_rows();
    let mut order: Vec<usize> = (0..p).collect();
    if p > MOST {
        let size = |j: usize| {
            loadings.row(j)[..k].iter().map(|value| value.abs()).max_by(f64::total_cmp).unwrap_or(0.0)
        };
        order.sort_by(|a, b| size(*b).total_cmp(&size(*a)).then(a.cmp(b)));
        order.truncate(MOST);
        order.sort_unstable();
    }
    order
}
