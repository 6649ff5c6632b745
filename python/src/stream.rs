//! Online learning from rows with missing values.

use std::sync::Arc;

use karhunen::incomplete::{IncompleteStream, MeanMode};
use karhunen::{IncompleteModel as CoreModel, IncompletePca};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dtype::{Data, job};
use crate::entries::{Entries, Stored, entry_job};
use crate::errors::to_python;
use crate::incomplete_model::IncompleteModel;
use crate::model_class::{ModelClass, of_json, to_json};
use crate::observer::{Effort, run};
use crate::options::Options;

/// Components learned from a stream of rows. Immutable: further learning returns a new object.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct Stream {
    stream: Arc<IncompleteStream>,
}

#[pymethods]
impl Stream {
    /// Starts with small random loadings.
    #[new]
    fn new(options: &Bound<'_, PyDict>, n_features: usize) -> PyResult<Self> {
        let pca = Options::of_entries(options, 0)?.engine;
        let stream = IncompleteStream::new(pca.n_components, n_features, pca.online_rule, pca.seed);
        let stream = stream.map_err(to_python)?;
        let stream = if pca.mean == MeanMode::None { stream.without_mean() } else { stream };
        Ok(Self { stream: Arc::new(if pca.row_offsets { stream.with_row_offsets() } else { stream }) })
    }

    /// Continues from a fitted model, with the rule `diagonal`.
    #[staticmethod]
    fn resume(model: &Bound<'_, IncompleteModel>) -> Self {
        Self { stream: Arc::new(IncompleteStream::resume(model.get().core())) }
    }

    /// Restores a stream from its state.
    #[staticmethod]
    fn from_state(state: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { stream: Arc::new(of_json(state)?) })
    }

    /// The complete state as JSON.
    fn state(&self) -> PyResult<String> {
        to_json(&*self.stream)
    }

    /// Number of rows seen so far, including repeated ones.
    #[getter]
    fn n_samples_seen(&self) -> usize {
        self.stream.n_samples_seen()
    }

    /// Learns from every row in turn.
    fn learned(&self, py: Python<'_>, entries: &Bound<'_, Entries>, n_components: usize) -> PyResult<Self> {
        let (cost, stored) = (4.0 * entries.get().pass_cost(n_components), entries.get().stored());
        let job = entry_job! {
            stream: IncompleteStream = IncompleteStream::clone(&self.stream),
            |entries, _| -> IncompleteStream {
                let mut stream = stream;
                stream.partial_fit(entries)?;
                Ok(stream)
            }
        };
        let stream = run(py, Effort::new(cost, Some(1)), None, move |run| stored.run(job, run))?;
        Ok(Self { stream: Arc::new(stream) })
    }

    /// Learns from every row of a source in turn, block by block. Also returns the entries of the last block.
    fn learned_from(&self, py: Python<'_>, source: Data, n_components: usize) -> PyResult<(Self, Entries)> {
        let effort = Effort::new(4.0 * source.product_cost(n_components), Some(1));
        let job = job! {
            stream: IncompleteStream = IncompleteStream::clone(&self.stream),
            |x, run| -> (IncompleteStream, Stored) {
                let mut stream = stream;
                let last = stream.partial_fit_source(x, run)?;
                Ok((stream, T::stored(last)))
            }
        };
        let (stream, last) = run(py, effort, None, move |run| source.run(job, run))?;
        Ok((Self { stream: Arc::new(stream) }, Entries::new(last)))
    }

    /// A model of any rows, seen before or not.
    fn finish(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, Entries>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<IncompleteModel> {
        let Options { engine: pca, n_threads } = Options::of_entries(options, entries.get().n_observed())?;
        let cost = 4.0 * entries.get().pass_cost(pca.n_components);
        let effort = Effort::of_passes(cost, 1, n_threads);
        let job = entry_job! {
            stream: Arc<IncompleteStream> = Arc::clone(&self.stream),
            pca: IncompletePca,
            |entries, run| -> CoreModel {
                stream.finish_with(entries, &pca, run)
            }
        };
        let stored = entries.get().stored();
        run(py, effort, None, move |run| stored.run(job, run)).map(|model| IncompleteModel::wrap(model, None))
    }
}
