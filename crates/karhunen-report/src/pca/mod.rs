//! The content of a page about complete data.

mod calls;
mod choice;
mod facts;
mod odd;
mod rotated;
mod rows;

pub(crate) use rotated::content as rotated_content;

use karhunen::{PcaModel, diagnostics};

use crate::choice::Chosen;
use crate::components::Leading;
use crate::features::FeatureTable;
use crate::names::{Names, component};
use crate::page::Content;
use crate::points::Rows;
use crate::{Error, Report};

/// The content for a model, and its rows if they are given.
pub(crate) fn content(
    report: &Report<'_>,
    model: &PcaModel,
    names: &Names<'_>,
    rows: Option<Rows>,
) -> Result<Content, Error> {
    let found = diagnostics::features(model)?;
    let leading = Leading {
        name: component,
        variances: model.explained_variance(),
        ratios: model.explained_variance_ratio(),
        residuals: Some(&model.convergence().residuals),
    };
    let choice = Chosen::of_spectrum(model);
    Ok(Content {
        fitted: facts::fitted(model).into_iter().chain(report.normalised()).collect(),
        exactness: facts::exactness(model),
        components: leading.table(Some((&found, names))),
        scree: leading.scree(choice.standard_errors.clone()),
        n_components: model.n_components(),
        features: Some(FeatureTable::of(&model.loadings(), &found, names)),
        holes: None,
        calls: calls::of_pca(report, model, rows.is_some(), None),
        choice,
        rows,
    })
}
