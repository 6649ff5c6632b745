//! The content of a page about rotated components.

use karhunen::rotation::RotatedModel;
use karhunen::{Run, Scalar, Source, diagnostics};

use crate::choice::Chosen;
use crate::components::Leading;
use crate::features::FeatureTable;
use crate::names::{Names, rotated_component};
use crate::page::Content;
use crate::pca::{calls, facts};
use crate::points::Rows;
use crate::rotation::{correlated, iterations, sentence, step};
use crate::{Described, DescribedRows, Error, Report};

const DISTANCES: &str = "T² and SPE are as for the components; no rotation changes them.";

impl Described for RotatedModel {
    fn content(&self, report: &Report<'_>) -> Result<Content, Error> {
        content(report, self, &report.features(self.model().n_features())?, None)
    }
}

impl DescribedRows for RotatedModel {
    fn content_of_rows<T: Scalar>(
        &self,
        report: &Report<'_>,
        x: &dyn Source<T>,
        run: &Run<'_>,
    ) -> Result<Content, Error> {
        let model = self.model().leading(self.n_components())?;
        let features = report.features(model.n_features())?;
        let samples = Names::of_samples(report.sample_names, x.shape().0)?;
        let rotation = Some(self.rotation());
        let rows = Rows::of_complete(&model, x, (&features, &samples), report, rotation, run)?;
        content(report, self, &features, Some(rows))
    }
}

/// The content for a rotated model, and its rows if they are given.
fn content(
    report: &Report<'_>,
    rotated: &RotatedModel,
    names: &Names<'_>,
    rows: Option<Rows>,
) -> Result<Content, Error> {
    let (model, rotation) = (rotated.model(), rotated.rotation());
    let found = diagnostics::rotated_features(rotated)?;
    let ratios = rotated.explained_variance_ratio();
    let leading =
        Leading { name: rotated_component, variances: &rotation.variances, ratios: &ratios, residuals: None };
    let mut choice = Chosen::of_spectrum(model);
    choice
        .sentences
        .push("The rules and these groups are about the components before the rotation.".to_owned());
    // Rotated variances have no standard errors by North's rule.
    choice.standard_errors = Vec::new();
    let mut exactness = facts::exactness(model);
    exactness.push(iterations(rotated));
    Ok(Content {
        fitted: facts::fitted(model)
            .into_iter()
            .chain(report.normalised())
            .chain([sentence(rotated), DISTANCES.to_owned()])
            .chain(correlated(rotated))
            .collect(),
        exactness,
        components: leading.table(Some((&found, names))),
        scree: leading.scree(Vec::new()),
        n_components: rotated.n_components(),
        features: Some(FeatureTable::of(&rotation.pattern, &found, names)),
        missing: None,
        calls: calls::of_pca(report, model, rows.is_some(), Some(&step(rotated))),
        choice,
        rows,
    })
}
