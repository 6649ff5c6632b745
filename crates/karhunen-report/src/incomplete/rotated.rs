//! The content of a page about rotated components of data with missing values.

use karhunen::rotation::RotatedModel;
use karhunen::{IncompleteModel, diagnostics};

use crate::components::Leading;
use crate::features::FeatureTable;
use crate::incomplete::{Holes, calls, content as of_model};
use crate::names::{Names, rotated_component};
use crate::page::Content;
use crate::points::Rows;
use crate::rotation::{correlated, iterations, sentence, step};
use crate::{Error, Report};

const UNCHANGED: &str = "T², SPE and predictions are those of the fit; no rotation changes them.";

/// The content for a rotated model, and its rows if they are given.
pub(crate) fn content(
    report: &Report<'_>,
    rotated: &RotatedModel<IncompleteModel>,
    names: &Names<'_>,
    rows: Option<(Rows, Holes)>,
) -> Result<Content, Error> {
    let (model, rotation) = (rotated.model(), rotated.rotation());
    let found = diagnostics::rotated_incomplete_features(rotated);
    let ratios = rotated.explained_variance_ratio();
    let leading =
        Leading { name: rotated_component, variances: &rotation.variances, ratios: &ratios, residuals: None };
    let with_rows = rows.is_some();
    let mut before = of_model(report, model, names, rows)?;
    before.fitted.extend([sentence(rotated), UNCHANGED.to_owned()]);
    before.fitted.extend(correlated(rotated));
    before.exactness.push(iterations(rotated));
    Ok(Content {
        components: leading.table(Some((&found, names))),
        scree: leading.scree(Vec::new()),
        n_components: rotated.n_components(),
        features: Some(FeatureTable::of(&rotation.pattern, &found, names)),
        calls: calls::of_incomplete(report, model, with_rows, Some(&step(rotated))),
        ..before
    })
}
