//! Fits of incomplete data, with optional checkpoints.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use karhunen::incomplete::{Checkpoint, Checkpoints, Every, FitContext, Start};
use karhunen::{IncompleteModel as CoreModel, IncompletePca, Observed, Result, Run};
use karhunen_io::{CheckpointKeeper, CheckpointNews};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{copy_matrix, copy_vector};
use crate::dtype::Element;
use crate::entries::{Entries, EntryJob};
use crate::errors::file_to_python;
use crate::incomplete_model::IncompleteModel;
use crate::model_class::ModelClass;
use crate::observer::{Effort, News, run, run_keeping};
use crate::options::Options;

/// Loadings, scores and optionally the mean of a start, as passed from Python.
type GivenStart<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// Fits components to observed entries, from `start` if given. `checkpoint` holds the file for the state of the
/// fit, the time between writes in seconds, whether the fit resumes from an existing file, and a callable that
/// receives a message after a failed write.
#[pyfunction]
#[pyo3(signature = (entries, options, on_progress=None, start=None, checkpoint=None))]
pub(crate) fn fit_incomplete(
    py: Python<'_>,
    entries: &Bound<'_, Entries>,
    options: &Bound<'_, PyDict>,
    on_progress: Option<&Bound<'_, PyAny>>,
    start: Option<GivenStart<'_>>,
    checkpoint: Option<(PathBuf, f64, bool, Bound<'_, PyAny>)>,
) -> PyResult<IncompleteModel> {
    let Options { engine: pca, n_threads } = Options::of_entries(options, entries.get().n_observed())?;
    let pass = entries.get().pass_cost(pca.n_components);
    let effort = Effort::of_passes(pass, pca.max_iter, n_threads);
    let start = start.map(|(loadings, scores, mean)| -> PyResult<Start> {
        Ok(Start {
            loadings: copy_matrix(&loadings)?,
            scores: copy_matrix(&scores)?,
            mean: mean.as_ref().map(copy_vector).transpose()?,
        })
    });
    let start = start.transpose()?;
    let stored = entries.get().stored();
    let model = match checkpoint {
        None => {
            let job = Fit { pca, start, kept: None };
            run(py, effort, on_progress, move |run| stored.run(job, run))
        }
        Some((path, every, resume, warn)) => {
            let kept = Kept::new(py, path, every, resume)?;
            let news = Arc::clone(&kept.news);
            let job = Fit { pca, start, kept: Some(kept) };
            run_keeping(py, effort, on_progress, (&news, &warn), move |run| stored.run(job, run))
        }
    };
    model.map(|model| IncompleteModel::wrap(model, None))
}

/// The options and messages of checkpoints.
struct Kept {
    keeper: CheckpointKeeper,
    every: Every,
    resume: Option<Checkpoint>,
    /// Messages for the user.
    news: Arc<News>,
}

impl Kept {
    fn new(py: Python<'_>, path: PathBuf, every: f64, resume: bool) -> PyResult<Self> {
        let Ok(every) = Duration::try_from_secs_f64(every) else {
            let message = format!("checkpoint_every = {every} is not allowed: give seconds, at least 0");
            return Err(PyValueError::new_err(message));
        };
        let resume = if resume && path.exists() {
            Some(py.detach(|| karhunen_io::load_checkpoint(&path)).map_err(file_to_python)?)
        } else {
            None
        };
        let keeper = CheckpointKeeper::new(path, resume.is_some());
        Ok(Self { keeper, every: Every::Time(every), resume, news: Arc::default() })
    }

    fn tell(&self, news: Option<CheckpointNews>) {
        if let Some(CheckpointNews::Lost(message) | CheckpointNews::Again(message)) = news {
            self.news.add(message);
        }
    }
}

struct Fit {
    pca: IncompletePca,
    start: Option<Start>,
    kept: Option<Kept>,
}

impl EntryJob for Fit {
    type Output = CoreModel;
    fn run<T: Element>(self, entries: &Observed<T>, run: &Run<'_>) -> Result<CoreModel> {
        let keep = |checkpoint: Checkpoint| {
            if let Some(kept) = &self.kept {
                kept.tell(kept.keeper.keep(&checkpoint));
            }
            Ok(())
        };
        let kept = self.kept.as_ref();
        let resume = kept.and_then(|kept| kept.resume.as_ref());
        let context = FitContext {
            // A resumed fit has passed its start.
            start: self.start.as_ref().filter(|_| resume.is_none()),
            checkpoints: kept.map(|kept| Checkpoints { every: kept.every, keep: &keep }),
            resume,
            ..FitContext::default()
        };
        let model = self.pca.fit_with(entries, &context, run);
        if let Some(kept) = kept {
            kept.tell(kept.keeper.end());
        }
        model
    }
}
