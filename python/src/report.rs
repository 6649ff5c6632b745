//! The pages of fitted models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use karhunen::{Observed, Run, Source};
use karhunen_report::{Described, DescribedEntries, DescribedRows, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::dtype::{Data, Element, Job};
use crate::entries::{Entries, EntryJob};
use crate::errors::{file_to_python, to_python};
use crate::incomplete_model::IncompleteModel;
use crate::kernel_function::cause;
use crate::kernel_model::KernelModel;
use crate::model::Model;
use crate::model_class::to_json;
use crate::observer::{Effort, run};
use crate::rotation::{RotatedIncompleteModel, RotatedModel};

/// The texts of a page besides the numbers of the model, as a dict of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct About {
    title: String,
    level: f64,
    estimator: String,
    log1p: Option<f64>,
    feature_names: Option<Vec<String>>,
    sample_names: Option<Vec<String>>,
    sample_weight: Option<Vec<f64>>,
}

impl About {
    fn report(&self) -> Report<'_> {
        Report {
            title: &self.title,
            level: self.level,
            estimator: Some(&self.estimator),
            log1p: self.log1p,
            feature_names: self.feature_names.as_deref(),
            sample_names: self.sample_names.as_deref(),
            sample_weights: self.sample_weight.as_deref(),
            ..Report::default()
        }
    }
}

/// A fitted model with components.
#[derive(FromPyObject)]
pub(crate) enum Shown<'py> {
    Complete(Bound<'py, Model>),
    Rotated(Bound<'py, RotatedModel>),
    RotatedIncomplete(Bound<'py, RotatedIncompleteModel>),
    Incomplete(Bound<'py, IncompleteModel>),
    Kernel(Bound<'py, KernelModel>),
}

impl Shown<'_> {
    fn described(&self) -> &(dyn Described + Sync) {
        match self {
            Shown::Complete(model) => &*model.get().model,
            Shown::Rotated(model) => &*model.get().model,
            Shown::RotatedIncomplete(model) => &*model.get().model,
            Shown::Incomplete(model) => &*model.get().model,
            Shown::Kernel(model) => &*model.get().model,
        }
    }
}

/// Writes the page of a model, and of rows if they are given (data, or entries for a model of missing values), to a file
/// next to `path` and renames it into place.
#[pyfunction]
#[pyo3(signature = (model, path, about, rows=None, n_threads=None, on_progress=None))]
pub(crate) fn write_report(
    py: Python<'_>,
    model: Shown<'_>,
    path: PathBuf,
    about: About,
    rows: Option<&Bound<'_, PyAny>>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let Some(rows) = rows else {
        let described = model.described();
        let made = py.detach(|| about.report().page(described));
        return write(py, &path, made);
    };
    let how = (n_threads, on_progress);
    let made = match &model {
        Shown::Complete(model) => {
            let model = &model.get().model;
            of_rows(model, 3 * model.n_components() + 1, about, rows, how)?
        }
        Shown::Rotated(model) => {
            let model = &model.get().model;
            of_rows(model, 3 * model.model().n_components() + 1, about, rows, how)?
        }
        Shown::Kernel(model) => {
            let fitted = model.get();
            of_rows(&fitted.model, fitted.model.parts().basis.len(), about, rows, how)
                .map_err(|error| cause(fitted.called.as_ref(), error))?
        }
        Shown::Incomplete(model) => {
            let model = &model.get().model;
            of_entries(model, model.n_components(), about, rows, how)?
        }
        Shown::RotatedIncomplete(model) => {
            let model = &model.get().model;
            of_entries(model, model.model().n_components(), about, rows, how)?
        }
    };
    write(py, &path, made)
}

/// The sentences and the table of components of the page of a model, as JSON.
#[pyfunction]
#[pyo3(signature = (model, feature_names=None))]
pub(crate) fn summarise(
    py: Python<'_>,
    model: Shown<'_>,
    feature_names: Option<Vec<String>>,
) -> PyResult<String> {
    let report = Report { feature_names: feature_names.as_deref(), ..Report::default() };
    let described = model.described();
    to_json(&py.detach(|| report.summary(described)).map_err(page_error)?)
}

/// A page, or an error other than of the library.
type Made = Result<String, karhunen_report::Error>;

/// The number of threads and the function that is called on progress.
type How<'a, 'py> = (Option<usize>, Option<&'a Bound<'py, PyAny>>);

/// The page of a model and data, in time proportional to that of `n_products` products of the data with a vector.
fn of_rows<M: DescribedRows + Send + Sync + 'static>(
    model: &Arc<M>,
    n_products: usize,
    about: About,
    rows: &Bound<'_, PyAny>,
    (n_threads, on_progress): How<'_, '_>,
) -> PyResult<Made> {
    let data: Data = rows.extract()?;
    let effort = Effort::new(data.product_cost(n_products), n_threads);
    let page = Page { model: Arc::clone(model), about };
    run(rows.py(), effort, on_progress, move |run| data.run(page, run))
}

/// The page of a model of `n_components` components and entries.
fn of_entries<M: DescribedEntries + Send + Sync + 'static>(
    model: &Arc<M>,
    n_components: usize,
    about: About,
    rows: &Bound<'_, PyAny>,
    (n_threads, on_progress): How<'_, '_>,
) -> PyResult<Made> {
    let entries = rows.cast::<Entries>()?.get();
    let effort = Effort::new(3.0 * entries.pass_cost(n_components), n_threads);
    let (page, stored) = (Page { model: Arc::clone(model), about }, entries.stored());
    run(rows.py(), effort, on_progress, move |run| stored.run(page, run))
}

struct Page<M> {
    model: Arc<M>,
    about: About,
}

impl<M: DescribedRows + Send + Sync + 'static> Job for Page<M> {
    type Output = Made;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> karhunen::Result<Made> {
        of_library(self.about.report().page_of_rows(&*self.model, x, run))
    }
}

impl<M: DescribedEntries + Send + Sync + 'static> EntryJob for Page<M> {
    type Output = Made;
    fn run<T: Element>(self, entries: &Observed<T>, run: &Run<'_>) -> karhunen::Result<Made> {
        of_library(self.about.report().page_of_entries(&*self.model, entries, run))
    }
}

fn page_error(error: karhunen_report::Error) -> PyErr {
    match error {
        karhunen_report::Error::Library(error) => to_python(error),
        error => PyValueError::new_err(error.to_string()),
    }
}

fn write(py: Python<'_>, path: &Path, made: Made) -> PyResult<()> {
    let text = made.map_err(page_error)?;
    py.detach(|| karhunen_io::stage_bytes(path, text.as_bytes())?.commit()).map_err(file_to_python)
}

/// Returns errors of the library as its jobs do, because errors of rows are translated with their places.
fn of_library(made: Made) -> karhunen::Result<Made> {
    match made {
        Err(karhunen_report::Error::Library(error)) => Err(error),
        made => Ok(made),
    }
}
