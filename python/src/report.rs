//! The page of a fitted model.

use std::path::PathBuf;
use std::sync::Arc;

use karhunen::{PcaModel, Run, Source};
use karhunen_report::Report;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dtype::{Data, Element, Job};
use crate::errors::{file_to_python, to_python};
use crate::model::Model;
use crate::observer::{Effort, run};

/// Writes the page of a model, and of rows if they are given, beside `path` and renames it into place.
#[pyfunction]
#[pyo3(signature = (model, path, title, level, estimator, feature_names=None, sample_names=None, x=None, n_threads=None, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Python's method")]
pub(crate) fn write_report(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    path: PathBuf,
    title: String,
    level: f64,
    estimator: String,
    feature_names: Option<Vec<String>>,
    sample_names: Option<Vec<String>>,
    x: Option<Data>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let model = Arc::clone(&model.get().model);
    let page = Page { model, title, level, estimator, feature_names, sample_names };
    let text = match x {
        None => py.detach(|| page.report().of_pca(&page.model)),
        Some(x) => {
            let effort = Effort::new(x.product_cost(3 * page.model.n_components() + 1), n_threads);
            run(py, effort, on_progress, move |run| x.run(page, run))?
        }
    };
    let text = text.map_err(|error| match error {
        karhunen_report::Error::Library(error) => to_python(error),
        error => PyValueError::new_err(error.to_string()),
    })?;
    py.detach(|| karhunen_io::stage_bytes(&path, text.as_bytes())?.commit()).map_err(file_to_python)
}

struct Page {
    model: Arc<PcaModel>,
    title: String,
    level: f64,
    estimator: String,
    feature_names: Option<Vec<String>>,
    sample_names: Option<Vec<String>>,
}

impl Page {
    fn report(&self) -> Report<'_> {
        Report {
            title: &self.title,
            level: self.level,
            estimator: Some(&self.estimator),
            feature_names: self.feature_names.as_deref(),
            sample_names: self.sample_names.as_deref(),
            ..Report::default()
        }
    }
}

impl Job for Page {
    type Output = Result<String, karhunen_report::Error>;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> karhunen::Result<Self::Output> {
        match self.report().of_pca_and_rows(&self.model, x, run) {
            // Errors of rows are translated with their places.
            Err(karhunen_report::Error::Library(error)) => Err(error),
            found => Ok(found),
        }
    }
}
