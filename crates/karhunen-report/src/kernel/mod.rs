//! The content of a page about kernel components.

mod calls;
mod facts;
mod rows;

use karhunen::KernelModel;

use crate::Report;
use crate::choice::Chosen;
use crate::components::Leading;
use crate::names::component;
use crate::page::Content;
use crate::points::Rows;

/// The content for a model, and its rows if they are given.
pub(crate) fn content(report: &Report<'_>, model: &KernelModel, rows: Option<Rows>) -> Content {
    let ratios = model.explained_variance_ratio();
    let leading = Leading {
        name: component,
        variances: model.eigenvalues(),
        ratios: &ratios,
        residuals: Some(&model.convergence().residuals),
    };
    Content {
        fitted: facts::fitted(model).into_iter().chain(report.normalised()).collect(),
        exactness: facts::exactness(model),
        choice: Chosen::none(facts::choice()),
        components: leading.table(None),
        scree: leading.scree(Vec::new()),
        n_components: model.n_components(),
        features: None,
        holes: None,
        calls: calls::of_kernel(report, model, rows.is_some()),
        rows,
    }
}
