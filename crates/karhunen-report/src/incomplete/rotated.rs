//! The content of a page about rotated components of data with missing values.

use karhunen::rotation::RotatedModel;
use karhunen::{IncompleteModel, Observed, Run, Scalar, diagnostics};

use crate::components::Leading;
use crate::features::FeatureTable;
use crate::incomplete::{Missing, calls, content as of_model, rows_and_missing};
use crate::names::{Names, rotated_component};
use crate::page::Content;
use crate::points::Rows;
use crate::rotation::{correlated, iterations, sentence, step};
use crate::{Described, DescribedEntries, Error, Report};

const UNCHANGED: &str = "T², SPE and predictions are as without rotation; no rotation changes them.";

impl Described for RotatedModel<IncompleteModel> {
    fn content(&self, report: &Report<'_>) -> Result<Content, Error> {
        content(report, self, &report.features(self.model().n_features())?, None)
    }
}

impl DescribedEntries for RotatedModel<IncompleteModel> {
    fn content_of_entries<T: Scalar>(
        &self,
        report: &Report<'_>,
        rows: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<Content, Error> {
        let features = report.features(self.model().n_features())?;
        let shown = rows_and_missing(report, self.model(), rows, &features, Some(self), run)?;
        content(report, self, &features, Some(shown))
    }
}

/// The content for a rotated model, and its rows if they are given.
fn content(
    report: &Report<'_>,
    rotated: &RotatedModel<IncompleteModel>,
    names: &Names<'_>,
    rows: Option<(Rows, Missing)>,
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
