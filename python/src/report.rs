//! The pages of fitted models.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use karhunen::rotation::RotatedModel as CoreRotated;
use karhunen::{
    IncompleteModel as CoreIncomplete, KernelModel as CoreKernel, Observed, PcaModel, Run, Source,
};
use karhunen_report::Report;
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

/// A page, or an error other than of the library.
type Made = Result<String, karhunen_report::Error>;

/// Writes the page of a model, and of rows if they are given, beside `path` and renames it into place.
#[pyfunction]
#[pyo3(signature = (model, path, about, x=None, n_threads=None, on_progress=None))]
pub(crate) fn write_report(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    path: PathBuf,
    about: About,
    x: Option<Data>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let model = Arc::clone(&model.get().model);
    let made = match x {
        None => py.detach(|| about.report().of_pca(&model)),
        Some(x) => {
            let effort = Effort::new(x.product_cost(3 * model.n_components() + 1), n_threads);
            let page = OfRows { model, about };
            run(py, effort, on_progress, move |run| x.run(page, run))?
        }
    };
    write(py, &path, made)
}

/// As [`write_report`], of a model whose components are rotated.
#[pyfunction]
#[pyo3(signature = (model, path, about, x=None, n_threads=None, on_progress=None))]
pub(crate) fn write_rotated_report(
    py: Python<'_>,
    model: &Bound<'_, RotatedModel>,
    path: PathBuf,
    about: About,
    x: Option<Data>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let model = Arc::clone(&model.get().model);
    let made = match x {
        None => py.detach(|| about.report().of_rotated(&model)),
        Some(x) => {
            let effort = Effort::new(x.product_cost(3 * model.model().n_components() + 1), n_threads);
            let page = OfRotatedRows { model, about };
            run(py, effort, on_progress, move |run| x.run(page, run))?
        }
    };
    write(py, &path, made)
}

/// As [`write_report`], of a model of data with missing values.
#[pyfunction]
#[pyo3(signature = (model, path, about, entries=None, n_threads=None, on_progress=None))]
pub(crate) fn write_incomplete_report(
    py: Python<'_>,
    model: &Bound<'_, IncompleteModel>,
    path: PathBuf,
    about: About,
    entries: Option<&Bound<'_, Entries>>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let model = Arc::clone(&model.get().model);
    let made = match entries {
        None => py.detach(|| about.report().of_incomplete(&model)),
        Some(entries) => {
            let entries = entries.get();
            let effort = Effort::new(3.0 * entries.pass_cost(model.n_components()), n_threads);
            let (page, stored) = (OfEntries { model, about }, entries.stored());
            run(py, effort, on_progress, move |run| stored.run(page, run))?
        }
    };
    write(py, &path, made)
}

/// As [`write_incomplete_report`], of a model whose components are rotated.
#[pyfunction]
#[pyo3(signature = (model, path, about, entries=None, n_threads=None, on_progress=None))]
pub(crate) fn write_rotated_incomplete_report(
    py: Python<'_>,
    model: &Bound<'_, RotatedIncompleteModel>,
    path: PathBuf,
    about: About,
    entries: Option<&Bound<'_, Entries>>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let model = Arc::clone(&model.get().model);
    let made = match entries {
        None => py.detach(|| about.report().of_rotated_incomplete(&model)),
        Some(entries) => {
            let entries = entries.get();
            let effort = Effort::new(3.0 * entries.pass_cost(model.model().n_components()), n_threads);
            let (page, stored) = (OfRotatedEntries { model, about }, entries.stored());
            run(py, effort, on_progress, move |run| stored.run(page, run))?
        }
    };
    write(py, &path, made)
}

/// As [`write_report`], of a kernel model.
#[pyfunction]
#[pyo3(signature = (model, path, about, x=None, n_threads=None, on_progress=None))]
pub(crate) fn write_kernel_report(
    py: Python<'_>,
    model: &Bound<'_, KernelModel>,
    path: PathBuf,
    about: About,
    x: Option<Data>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let fitted = model.get();
    let model = Arc::clone(&fitted.model);
    let made = match x {
        None => py.detach(|| about.report().of_kernel(&model)),
        Some(x) => {
            let effort = Effort::new(x.product_cost(model.parts().basis.len()), n_threads);
            let page = OfKernelRows { model, about };
            let made = run(py, effort, on_progress, move |run| x.run(page, run));
            made.map_err(|error| cause(fitted.called.as_ref(), error))?
        }
    };
    write(py, &path, made)
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

/// The sentences and the table of components of the page of a model, as JSON.
#[pyfunction]
#[pyo3(signature = (model, feature_names=None))]
pub(crate) fn summarise(
    py: Python<'_>,
    model: Shown<'_>,
    feature_names: Option<Vec<String>>,
) -> PyResult<String> {
    let report = Report { feature_names: feature_names.as_deref(), ..Report::default() };
    let made = match model {
        Shown::Complete(model) => {
            let model = &model.get().model;
            py.detach(|| report.summary_of_pca(model))
        }
        Shown::Rotated(model) => {
            let model = &model.get().model;
            py.detach(|| report.summary_of_rotated(model))
        }
        Shown::RotatedIncomplete(model) => {
            let model = &model.get().model;
            py.detach(|| report.summary_of_rotated_incomplete(model))
        }
        Shown::Incomplete(model) => {
            let model = &model.get().model;
            py.detach(|| report.summary_of_incomplete(model))
        }
        Shown::Kernel(model) => {
            let model = &model.get().model;
            Ok(py.detach(|| report.summary_of_kernel(model)))
        }
    };
    to_json(&made.map_err(page_error)?)
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

/// Returns errors of the library as its jobs do, because those of rows are translated with their places.
fn of_library(made: Made) -> karhunen::Result<Made> {
    match made {
        Err(karhunen_report::Error::Library(error)) => Err(error),
        made => Ok(made),
    }
}

struct OfRotatedRows {
    model: Arc<CoreRotated>,
    about: About,
}

impl Job for OfRotatedRows {
    type Output = Made;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> karhunen::Result<Made> {
        of_library(self.about.report().of_rotated_and_rows(&self.model, x, run))
    }
}

struct OfRows {
    model: Arc<PcaModel>,
    about: About,
}

impl Job for OfRows {
    type Output = Made;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> karhunen::Result<Made> {
        of_library(self.about.report().of_pca_and_rows(&self.model, x, run))
    }
}

struct OfEntries {
    model: Arc<CoreIncomplete>,
    about: About,
}

impl EntryJob for OfEntries {
    type Output = Made;
    fn run<T: Element>(self, entries: &Observed<T>, run: &Run<'_>) -> karhunen::Result<Made> {
        of_library(self.about.report().of_incomplete_and_rows(&self.model, entries, run))
    }
}

struct OfRotatedEntries {
    model: Arc<CoreRotated<CoreIncomplete>>,
    about: About,
}

impl EntryJob for OfRotatedEntries {
    type Output = Made;
    fn run<T: Element>(self, entries: &Observed<T>, run: &Run<'_>) -> karhunen::Result<Made> {
        of_library(self.about.report().of_rotated_incomplete_and_rows(&self.model, entries, run))
    }
}

struct OfKernelRows {
    model: Arc<CoreKernel>,
    about: About,
}

impl Job for OfKernelRows {
    type Output = Made;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> karhunen::Result<Made> {
        of_library(self.about.report().of_kernel_and_rows(&self.model, x, run))
    }
}
