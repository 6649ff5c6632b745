//! Fits of data in parts: the driver, which runs on its own thread, and the work of a part.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use karhunen::cluster::{Engine, Partial, Task, Tree};
use karhunen::exec::PassLog;
use karhunen::{Error, IncompleteModel as IncompleteCore, IncompletePca, Pca, PcaModel, Result, Run};
use karhunen_io::{from_bytes, to_bytes};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator};

use crate::arrays::{LentVector, lend_vector};
use crate::dtype::{Data, Element, job};
use crate::entries::{Entries, entry_job};
use crate::errors::{file_to_python, to_python};
use crate::incomplete_model::IncompleteModel;
use crate::message::{Message, to_array};
use crate::model::Model;
use crate::model_class::ModelClass;
use crate::observer::{Effort, GRACE, Shared, TICK, run, start, tell, wait};
use crate::options::Options;
use crate::part_stream::PartStream;
use crate::passes::{GivenLog, Passes};

/// A fit that asks for one task after the other. The engine runs on the calling thread, whose exceptions end the fit.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct ClusterFit {
    steps: Mutex<Receiver<Step>>,
    answers: Mutex<Option<Sender<Partial>>>,
    shared: Arc<Shared>,
    /// The file of the passes, which is free for another fit when this one has ended.
    passes: Mutex<Passes>,
}

/// The next task, or the end of the fit.
enum Step {
    Task(Box<Task>),
    End(Result<Found>),
}

/// A fitted model.
enum Found {
    Complete(Box<PcaModel>),
    Incomplete(Box<IncompleteCore>),
}

impl Found {
    fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        match self {
            Self::Complete(model) => Ok(Bound::new(py, Model::wrap(*model, None))?.into_any()),
            Self::Incomplete(model) => Ok(Bound::new(py, IncompleteModel::wrap(*model, None))?.into_any()),
        }
    }
}

/// Sends tasks to the calling thread.
struct Channels {
    steps: Mutex<Sender<Step>>,
    answers: Mutex<Receiver<Partial>>,
}

impl Engine for Channels {
    fn reduce(&self, task: &Task) -> Result<Partial> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        // The calling thread gave up.
        let stopped = || Error::Stopped { phase: "a pass over the parts" };
        steps.send(Step::Task(Box::new(task.clone()))).map_err(|_| stopped())?;
        answers.recv().map_err(|_| stopped())
    }
}

#[pymethods]
impl ClusterFit {
    #[new]
    #[pyo3(signature = (options, feature_weight=None, checkpoint=None))]
    fn new(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        feature_weight: Option<&Bound<'_, PyAny>>,
        checkpoint: Option<GivenLog<'_>>,
    ) -> PyResult<Self> {
        let Options { engine: pca, n_threads }: Options<Pca> = Options::read(options)?;
        let features = feature_weight.map(lend_vector).transpose()?;
        Self::begin(py, n_threads, checkpoint, move |engine, log, run| {
            let weights = features.as_ref().map(LentVector::as_slice);
            pca.fit_parts_with(engine, weights, log, run).map(|model| Found::Complete(Box::new(model)))
        })
    }

    /// The fit of incomplete rows.
    #[staticmethod]
    #[pyo3(signature = (options, feature_weight=None, checkpoint=None))]
    fn of_entries(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        feature_weight: Option<&Bound<'_, PyAny>>,
        checkpoint: Option<GivenLog<'_>>,
    ) -> PyResult<Self> {
        // Fits in parts hold no entries out: any number of them will do.
        let Options { engine: pca, n_threads } = Options::<IncompletePca>::of_entries(options, 1)?;
        let features = feature_weight.map(lend_vector).transpose()?;
        Self::begin(py, n_threads, checkpoint, move |engine, log, run| {
            let weights = features.as_ref().map(LentVector::as_slice);
            pca.fit_parts_with(engine, weights, log, run).map(|model| Found::Incomplete(Box::new(model)))
        })
    }

    /// The next task as bytes, with its number, or the fitted model.
    #[pyo3(signature = (on_progress=None, checkpoint=None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        on_progress: Option<&Bound<'py, PyAny>>,
        checkpoint: Option<GivenLog<'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let outcome = loop {
            let next = py.detach(|| {
                let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
                wait(&mut steps, TICK)
            });
            match next {
                Ok(step) => break step,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the fit has ended"));
                }
            }
            py.check_signals()
                .and_then(|()| tell(on_progress, &self.shared))
                .inspect_err(|_| self.stop(py))?;
        };
        self.passes().warn(checkpoint.as_ref())?;
        match outcome {
            Step::Task(task) => {
                tell(on_progress, &self.shared)?;
                let pass = task.pass();
                let bytes = py.detach(|| to_bytes(&*task)).map_err(file_to_python)?;
                Ok((pass, PyBytes::new(py, &bytes)).into_pyobject(py)?.into_any())
            }
            Step::End(outcome) => outcome.map_err(to_python)?.into_python(py),
        }
    }

    /// Gives the result of the present task for all parts.
    fn give(&self, py: Python<'_>, partial: Message) -> PyResult<()> {
        let partial = py.detach(move || partial.read())?;
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.as_ref().is_some_and(|answers| answers.send(partial).is_ok()) {
            return Ok(());
        }
        Err(PyRuntimeError::new_err("the fit has ended"))
    }

    /// Ends the fit, and waits a little until its thread has ended.
    fn stop(&self, py: Python<'_>) {
        self.shared.stop();
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = None;
        py.detach(|| {
            let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
            // The thread holds the other end.
            while wait(&mut steps, GRACE).is_ok() {}
        });
        *self.passes() = Passes::none();
    }
}

impl ClusterFit {
    /// Starts a fit on a thread of its own.
    fn begin(
        py: Python<'_>,
        n_threads: Option<usize>,
        checkpoint: Option<GivenLog<'_>>,
        fit: impl FnOnce(&Channels, Option<&dyn PassLog>, &Run<'_>) -> Result<Found> + Send + 'static,
    ) -> PyResult<Self> {
        let passes = Passes::open(py, checkpoint.as_ref())?;
        let (steps, receiver) = channel();
        let (answers, given) = channel();
        let shared = Arc::new(Shared::default());
        let (theirs, log) = (Arc::clone(&shared), passes.clone());
        start(move || {
            let engine = Channels { steps: Mutex::new(steps.clone()), answers: Mutex::new(given) };
            // A pool of its own: a thread waits for the engine, which may need the shared pool.
            let available = || std::thread::available_parallelism().map_or(1, usize::from);
            let run = Effort::new(Effort::LONG, n_threads.or_else(|| Some(available()))).run(&*theirs);
            let outcome = fit(&engine, log.log(), &run);
            // The file is free before the calling thread continues.
            drop(log);
            // If the calling thread was interrupted, there is no receiver.
            drop(steps.send(Step::End(outcome)));
        })?;
        Ok(Self {
            steps: Mutex::new(receiver),
            answers: Mutex::new(Some(answers)),
            shared,
            passes: Mutex::new(passes),
        })
    }

    fn passes(&self) -> MutexGuard<'_, Passes> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if the rows of the parts may have missing values.
#[pyfunction]
pub(crate) fn takes_missing_values(task: &[u8]) -> PyResult<bool> {
    from_bytes::<Task>(task).map(|task| task.takes_missing_values()).map_err(file_to_python)
}

/// The result of a task for part number `part` with the rows `x`, as bytes.
#[pyfunction]
#[pyo3(signature = (task, part, x, sample_weight=None, n_threads=None))]
pub(crate) fn sum_part<'py>(
    py: Python<'py>,
    task: &[u8],
    part: usize,
    x: Data,
    sample_weight: Option<&Bound<'py, PyAny>>,
    n_threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let task = py.detach(|| from_bytes(task)).map_err(file_to_python)?;
    let effort = Effort::new(x.product_cost(x.shape().1), n_threads);
    let job = job! {
        task: Task,
        part: usize,
        weights: Option<LentVector<f64>> = sample_weight.map(lend_vector).transpose()?,
        |x, run| -> Partial {
            Partial::of(&task, part, x, weights.as_ref().map(LentVector::as_slice), run)
        }
    };
    let partial = run(py, effort, None, move |run| x.run(job, run))?;
    to_array(py, &partial)
}

/// Returns true if [`sum_batches`] computes the result of a task for rows of so many columns.
#[pyfunction]
pub(crate) fn takes_batches(task: &[u8], n_features: usize) -> PyResult<bool> {
    from_bytes::<Task>(task).map(|task| task.takes_stream(n_features)).map_err(file_to_python)
}

/// As [`sum_part`], for rows that come once: `batches` yields pairs of a matrix, `float32` if `single`, else `float64`, and
/// of its weights or None.
#[pyfunction]
#[pyo3(signature = (task, part, batches, n_features, single, n_threads=None))]
pub(crate) fn sum_batches<'py>(
    py: Python<'py>,
    task: &[u8],
    part: usize,
    batches: &Bound<'py, PyAny>,
    n_features: usize,
    single: bool,
    n_threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    fn sum<T: Element>(
        task: &Task,
        part: usize,
        (batches, n_features): (Py<PyIterator>, usize),
        run: &Run<'_>,
    ) -> Result<Partial> {
        Partial::of_stream(task, part, &mut PartStream::<T> { batches, n_features, held: None }, run)
    }
    let task = py.detach(|| from_bytes(task)).map_err(file_to_python)?;
    let batches = (batches.try_iter()?.unbind(), n_features);
    let sum = if single { sum::<f32> } else { sum::<f64> };
    let partial =
        run(py, Effort::new(Effort::LONG, n_threads), None, move |run| sum(&task, part, batches, run))?;
    to_array(py, &partial)
}

/// As [`sum_part`], for entries that stay in memory between passes.
#[pyfunction]
#[pyo3(signature = (task, part, entries, n_threads=None))]
pub(crate) fn sum_entries<'py>(
    py: Python<'py>,
    task: &[u8],
    part: usize,
    entries: &Bound<'py, Entries>,
    n_threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let task = py.detach(|| from_bytes(task)).map_err(file_to_python)?;
    let stored = entries.get().stored();
    let job = entry_job! {
        task: Task,
        part: usize,
        |entries, run| -> Partial {
            Partial::of_entries(&task, part, entries, run)
        }
    };
    let partial = run(py, Effort::new(Effort::LONG, n_threads), None, move |run| stored.run(job, run))?;
    to_array(py, &partial)
}

/// Merges the results of neighbouring parts, given in their order.
#[pyfunction]
pub(crate) fn merge_parts<'py>(
    py: Python<'py>,
    partials: Vec<Message>,
) -> PyResult<Bound<'py, PyArray1<u8>>> {
    let merged = py.detach(move || {
        // One after the other, so that two of them are in memory.
        let mut merged: Option<Partial> = None;
        for partial in &partials {
            let partial = merged.take().into_iter().chain([partial.read()?]).collect();
            merged = Some(Partial::merge(partial).map_err(to_python)?);
        }
        merged.map_or_else(|| Partial::merge(Vec::new()).map_err(to_python), Ok)
    });
    to_array(py, &merged?)
}

/// Merges the results of parts as they come, in the order of the parts.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct PartTree(Mutex<Tree>);

#[pymethods]
impl PartTree {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Adds the result for the next part.
    fn push(&self, py: Python<'_>, partial: Message) -> PyResult<()> {
        py.detach(move || {
            let partial = partial.read()?;
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(partial).map_err(to_python)
        })
    }

    /// Returns the result for all parts.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let merged = py.detach(|| {
            let tree = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
            tree.finish().map_err(to_python)
        });
        to_array(py, &merged?)
    }
}
