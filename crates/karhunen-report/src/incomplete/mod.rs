//! The content of a page about data with missing values.

mod calls;
mod facts;
mod missing;
mod rotated;
mod rows;

use karhunen::rotation::RotatedModel;
use karhunen::{IncompleteModel, Observed, Run, Scalar, diagnostics};

pub(crate) use missing::{Missing, MissingTable};

use crate::choice::Chosen;
use crate::components::Leading;
use crate::features::FeatureTable;
use crate::names::{Names, component};
use crate::page::Content;
use crate::points::Rows;
use crate::{Described, DescribedEntries, Error, Report};

impl Described for IncompleteModel {
    fn content(&self, report: &Report<'_>) -> Result<Content, Error> {
        content(report, self, &report.features(self.n_features())?, None)
    }
}

impl DescribedEntries for IncompleteModel {
    fn content_of_entries<T: Scalar>(
        &self,
        report: &Report<'_>,
        rows: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<Content, Error> {
        let features = report.features(self.n_features())?;
        let shown = rows_and_missing(report, self, rows, &features, None, run)?;
        content(report, self, &features, Some(shown))
    }
}

/// The rows of a page, with scores of rotated components if these are given, and their missing values.
fn rows_and_missing<T: Scalar>(
    report: &Report<'_>,
    model: &IncompleteModel,
    rows: &Observed<T>,
    features: &Names<'_>,
    rotated: Option<&RotatedModel<IncompleteModel>>,
    run: &Run<'_>,
) -> Result<(Rows, Missing), Error> {
    let samples = Names::of_samples(report.sample_names, rows.n_samples())?;
    let shown = Rows::of_incomplete(model, rows, (features, &samples), report, rotated, run)?;
    let missing = Missing::of_rows(model, rows, features, shown.is_of_fit, run)?;
    Ok((shown, missing))
}

/// The content for a model, and its rows if they are given.
fn content(
    report: &Report<'_>,
    model: &IncompleteModel,
    names: &Names<'_>,
    rows: Option<(Rows, Missing)>,
) -> Result<Content, Error> {
    let found = diagnostics::incomplete_features(model);
    let leading = Leading {
        name: component,
        variances: model.explained_variance(),
        ratios: model.explained_variance_ratio(),
        residuals: None,
    };
    let with_rows = rows.is_some();
    let (rows, missing) = rows.map_or((None, None), |(rows, missing)| (Some(rows), Some(missing)));
    let missing = match missing {
        Some(missing) => missing,
        None => Missing::of_model(model, names),
    };
    Ok(Content {
        fitted: facts::fitted(model, calls::is_weighted(report, model)),
        exactness: facts::exactness(model, names),
        choice: Chosen::none(facts::choice(model)),
        components: leading.table(Some((&found, names))),
        scree: leading.scree(Vec::new()),
        n_components: model.n_components(),
        features: Some(FeatureTable::of(&model.loadings(), &found, names)),
        missing: Some(missing),
        calls: calls::of_incomplete(report, model, with_rows, None),
        rows,
    })
}
