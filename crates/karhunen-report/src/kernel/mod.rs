//! The content of a page about kernel components.

mod calls;
mod facts;
mod rows;

use karhunen::{KernelModel, Run, Scalar, Source};

use crate::choice::Chosen;
use crate::components::Leading;
use crate::names::{Names, component};
use crate::page::Content;
use crate::points::Rows;
use crate::{Described, DescribedRows, Error, Report};

impl Described for KernelModel {
    fn content(&self, report: &Report<'_>) -> Result<Content, Error> {
        Ok(content(report, self, None))
    }
}

impl DescribedRows for KernelModel {
    fn content_of_rows<T: Scalar>(
        &self,
        report: &Report<'_>,
        x: &dyn Source<T>,
        run: &Run<'_>,
    ) -> Result<Content, Error> {
        if report.sample_weights.is_some() {
            return Err(Error::Weights);
        }
        let samples = Names::of_samples(report.sample_names, x.shape().0)?;
        let rows = Rows::of_kernel(self, x, &samples, run)?;
        Ok(content(report, self, Some(rows)))
    }
}

/// The content for a model, and its rows if they are given.
fn content(report: &Report<'_>, model: &KernelModel, rows: Option<Rows>) -> Content {
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
        missing: None,
        calls: calls::of_kernel(report, model, rows.is_some()),
        rows,
    }
}
