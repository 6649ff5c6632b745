//! Features whose variance hides the variance of the others.

use super::IncompleteModel;

/// Share of the variance of all features that the others of a dominant feature have at most.
const MOST: f64 = 1e-3;

/// A feature that has nearly all of the variance, in a fit that lost components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dominant {
    /// The feature.
    pub column: usize,
    /// The share of the variance that all others have together.
    pub others: f64,
    /// Number of components that were asked for and have no variance.
    pub n_lost: usize,
}

impl IncompleteModel {
    /// The feature whose noise outweighs the components of the others, because the methods learn one noise
    /// variance for all: the others have at most a thousandth of the variance, and components are lost. `None` if
    /// features are scaled or weighted, and for models of earlier versions.
    pub fn dominant(&self) -> Option<Dominant> {
        let parts = self.parts();
        let n_active = parts.explained_variance.iter().filter(|variance| **variance > 0.0).count();
        let n_lost = parts.options.n_components.saturating_sub(n_active);
        if n_lost == 0 || parts.scales.scale.is_some() || parts.scales.weights.is_some() {
            return None;
        }
        let variance = |(j, residual): (usize, &f64)| {
            let along = parts.explained_variance.iter().enumerate();
            residual + along.map(|(k, variance)| variance * parts.components[(k, j)].powi(2)).sum::<f64>()
        };
        let variances: Vec<f64> =
            parts.residual_variance.as_ref()?.iter().enumerate().map(variance).collect();
        let (column, largest) = variances.iter().enumerate().max_by(|(_, x), (_, y)| x.total_cmp(y))?;
        let others: f64 = variances.iter().enumerate().filter(|(j, _)| *j != column).map(|(_, x)| x).sum();
        let others = others / (others + largest);
        (others > 0.0 && others <= MOST).then_some(Dominant { column, others, n_lost })
    }
}
