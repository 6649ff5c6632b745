//! The content of a page about complete data.

mod calls;
mod choice;
mod facts;
mod odd;
mod rotated;
mod rows;

use karhunen::{PcaModel, Run, Scalar, Source, diagnostics};

use crate::choice::Chosen;
use crate::components::Leading;
use crate::features::FeatureTable;
use crate::names::{Names, component};
use crate::page::Content;
use crate::points::Rows;
use crate::{Described, DescribedRows, Error, Report};

impl Described for PcaModel {
    fn content(&self, report: &Report<'_>) -> Result<Content, Error> {
        content(report, self, &report.features(self.n_features())?, None)
    }
}

impl DescribedRows for PcaModel {
    fn content_of_rows<T: Scalar>(
        &self,
        report: &Report<'_>,
        x: &dyn Source<T>,
        run: &Run<'_>,
    ) -> Result<Content, Error> {
        let features = report.features(self.n_features())?;
        let samples = Names::of_samples(report.sample_names, x.shape().0)?;
        let rows = Rows::of_complete(self, x, (&features, &samples), report, None, run)?;
        content(report, self, &features, Some(rows))
    }
}

/// The content for a model, and its rows if they are given.
fn content(
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
        missing: None,
        calls: calls::of_pca(report, model, rows.is_some(), None),
        choice,
        rows,
    })
}
