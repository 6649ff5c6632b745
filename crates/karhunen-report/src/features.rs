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
        let chosen = chosen(&found.contributions, k);
        let columns = |values: &Matrix| -> Vec<Vec<f64>> {
            (0..k).map(|c| chosen.iter().map(|j| rounded(values[(*j, c)])).collect()).collect()
        };
        let p = loadings.n_rows();
        let note = (chosen.len() < p).then(|| {
            format!(
                "{} of {} features are here: those that contribute most to each component; karhunen diagnose --features writes \
                 all.",
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

/// The features in their order; of many, those that contribute most to each of the `k` shown components.
fn chosen(contributions: &Matrix, k: usize) -> Vec<usize> {
    let p = contributions.n_rows();
    if p <= MOST {
        return (0..p).collect();
    }
    let mut is_chosen = vec![false; p];
    for c in 0..k {
        let mut order: Vec<usize> = (0..p).collect();
        order.sort_by(|a, b| contributions[(*b, c)].total_cmp(&contributions[(*a, c)]).then(a.cmp(b)));
        order[..MOST / k].iter().for_each(|j| is_chosen[*j] = true);
    }
    (0..p).filter(|j| is_chosen[*j]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_features_of_weak_components_are_kept() {
        // Of two components, the first has its weight in 1,500 features, the second in the last 500.
        let share = |j: usize, c: usize| match (c, j) {
            (0, ..1500) => 1.0 / 1500.0,
            (1, 2500..) => (j - 2499) as f64 / 125_250.0,
            _ => 0.0,
        };
        let kept = chosen(&Matrix::from_fn(3000, 2, share), 2);
        assert_eq!(kept.len(), MOST);
        assert_eq!(kept[..500], (0..500).collect::<Vec<_>>());
        assert_eq!(kept[500..], (2500..3000).collect::<Vec<_>>());
    }
}
