//! The observed entries of incomplete data, converted once from Python objects.

use std::sync::Arc;

use karhunen::incomplete::{Duplicates, Triples};
use karhunen::matrix::IndexInt;
use karhunen::{Dense, IncompletePca, Observed, Result, Run};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{LentDense, LentVector, lend_vector};
use crate::dtype::{Data, Element, LentMatrix, job};
use crate::errors::to_python;
use crate::observer::{Effort, run};
use crate::options::Options;

/// Work on entries of either type.
pub(crate) trait EntryJob: Send + 'static {
    type Output: Send + 'static;
    /// Does the work.
    fn run<T: Element>(self, entries: &Observed<T>, run: &Run<'_>) -> Result<Self::Output>;
}

/// An [`EntryJob`] written where it is run, as [`job`](crate::dtype::job) is.
macro_rules! entry_job {
    ($($name:ident: $kind:ty $(= $value:expr)?,)* |$entries:ident, $run:tt| -> $output:ty $body:block) => {{
        struct Work { $($name: $kind),* }
        impl $crate::entries::EntryJob for Work {
            type Output = $output;
            fn run<T: $crate::dtype::Element>(
                self,
                $entries: &::karhunen::Observed<T>,
                $run: &::karhunen::Run<'_>,
            ) -> ::karhunen::Result<$output> {
                let Self { $($name),* } = self;
                $body
            }
        }
        Work { $($name $(: $value)?),* }
    }};
}
pub(crate) use entry_job;

/// Entries of either type.
pub(crate) enum Stored {
    F32(Observed<f32>),
    F64(Observed<f64>),
}

impl Stored {
    /// Runs `job` on the entries.
    pub(crate) fn run<J: EntryJob>(&self, job: J, run: &Run<'_>) -> Result<J::Output> {
        match self {
            Stored::F32(entries) => job.run(entries, run),
            Stored::F64(entries) => job.run(entries, run),
        }
    }
}

/// Observed entries, stored by rows and by columns.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct Entries {
    stored: Arc<Stored>,
}

impl Entries {
    pub(crate) fn new(stored: Stored) -> Self {
        Self { stored: Arc::new(stored) }
    }

    pub(crate) fn stored(&self) -> Arc<Stored> {
        Arc::clone(&self.stored)
    }

    /// Number of multiplications of one pass with `c` components.
    pub(crate) fn pass_cost(&self, c: usize) -> f64 {
        let (n, p) = self.shape();
        ((self.n_observed() + n + p) * (c + 1)) as f64 * (c + 1) as f64
    }
}

#[pymethods]
impl Entries {
    /// (n_samples, n_features).
    #[getter]
    pub(crate) fn shape(&self) -> (usize, usize) {
        match &*self.stored {
            Stored::F32(entries) => entries.shape(),
            Stored::F64(entries) => entries.shape(),
        }
    }

    #[getter]
    pub(crate) fn n_observed(&self) -> usize {
        match &*self.stored {
            Stored::F32(entries) => entries.n_observed(),
            Stored::F64(entries) => entries.n_observed(),
        }
    }

    /// `"float32"` or `"float64"`.
    #[getter]
    fn dtype(&self) -> &'static str {
        match &*self.stored {
            Stored::F32(_) => "float32",
            Stored::F64(_) => "float64",
        }
    }

    /// The entries with the multiplicities `weights` of their rows. The entries are shared, not copied.
    fn weighed(&self, weights: &Bound<'_, PyAny>) -> PyResult<Self> {
        let weights = lend_vector::<f64>(weights)?;
        let stored = match &*self.stored {
            Stored::F32(entries) => entries.clone().with_sample_weights(weights.as_slice()).map(Stored::F32),
            Stored::F64(entries) => entries.clone().with_sample_weights(weights.as_slice()).map(Stored::F64),
        };
        Ok(Self { stored: Arc::new(stored.map_err(to_python)?) })
    }

    /// The entries with the weights `weights` of their columns. The entries are shared, not copied.
    fn with_feature_weights(&self, weights: &Bound<'_, PyAny>) -> PyResult<Self> {
        let weights = lend_vector::<f64>(weights)?;
        let stored = match &*self.stored {
            Stored::F32(entries) => entries.clone().with_feature_weights(weights.as_slice()).map(Stored::F32),
            Stored::F64(entries) => entries.clone().with_feature_weights(weights.as_slice()).map(Stored::F64),
        };
        Ok(Self { stored: Arc::new(stored.map_err(to_python)?) })
    }

    /// Number of entries of each row.
    fn row_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<usize>> {
        let count = |row| match &*self.stored {
            Stored::F32(entries) => entries.n_observed_in_row(row),
            Stored::F64(entries) => entries.n_observed_in_row(row),
        };
        PyArray1::from_iter(py, (0..self.shape().0).map(count))
    }

    /// Number of entries of each column.
    fn column_counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<usize>> {
        let count = |column| match &*self.stored {
            Stored::F32(entries) => entries.n_observed_in_column(column),
            Stored::F64(entries) => entries.n_observed_in_column(column),
        };
        PyArray1::from_iter(py, (0..self.shape().1).map(count))
    }

    /// Row, column, value and weight of every entry, sorted by row; no weights if all are one.
    fn triples<'py>(&self, py: Python<'py>) -> Arrays<'py> {
        match &*self.stored {
            Stored::F32(entries) => arrays(py, entries),
            Stored::F64(entries) => arrays(py, entries),
        }
    }
}

type Arrays<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

fn arrays<'py, T: Element>(py: Python<'py>, entries: &Observed<T>) -> Arrays<'py> {
    let n = entries.n_observed();
    let (mut rows, mut columns, mut values) =
        (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
    let mut weights = entries.is_weighted().then(|| Vec::with_capacity(n));
    for row in 0..entries.n_samples() {
        let (indices, numbers) = entries.row(row);
        rows.extend(indices.iter().map(|_| row as i64));
        columns.extend(indices.iter().map(|column| i64::from(*column)));
        values.extend_from_slice(numbers);
        if let (Some(weights), Some(of_row)) = (&mut weights, entries.row_weights(row)) {
            weights.extend_from_slice(of_row);
        }
    }
    (
        PyArray1::from_vec(py, rows),
        PyArray1::from_vec(py, columns),
        PyArray1::from_vec(py, values).into_any(),
        weights.map(|weights| PyArray1::from_vec(py, weights).into_any()),
    )
}

/// Number of multiplications that take as long as reading an entry.
const READ: f64 = 20.0;

/// The entries of `x`: the values of an array that are not NaN, or the stored values of a sparse matrix. `weights`
/// have the dtype of `x`, and its shape, or one value for each stored entry. Rows that the engine reads itself have no
/// weights; `options` are the options of a fit, whose memory limit their entries and the fit share.
#[pyfunction]
#[pyo3(signature = (x, weights=None, n_threads=None, options=None))]
pub(crate) fn observe(
    py: Python<'_>,
    x: Data,
    weights: Option<&Bound<'_, PyAny>>,
    n_threads: Option<usize>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Entries> {
    let effort = Effort::new(READ * x.product_cost(1), n_threads);
    let stored = match x {
        Data::F32(x) => {
            let read = Read::new(x, weights)?;
            run(py, effort, None, move |run| read.observed(run).map(Stored::F32))
        }
        Data::F64(x) => {
            let read = Read::new(x, weights)?;
            run(py, effort, None, move |run| read.observed(run).map(Stored::F64))
        }
        Data::Shared(_) if weights.is_some() => {
            return Err(PyTypeError::new_err("rows that the engine reads have no weights"));
        }
        x @ Data::Shared(_) => {
            let fit = options.map(|options| Options::<IncompletePca>::of_entries(options, 0)).transpose()?;
            let job = job! {
                fit: Option<IncompletePca> = fit.map(|options| options.engine),
                |x, run| -> Stored {
                    let entries = match &fit {
                        Some(fit) => fit.observe(x, run)?,
                        None => Observed::from_source_with(x, run)?,
                    };
                    Ok(T::stored(entries))
                }
            };
            run(py, effort, None, move |run| x.run(job, run))
        }
    }?;
    Ok(Entries { stored: Arc::new(stored) })
}

/// Sources of entries and their weights.
enum Read<T> {
    Dense(LentDense<T>, Option<LentDense<T>>),
    Sparse(crate::sparse::LentSparse<T>, Option<LentVector<T>>),
}

impl<T: Element> Read<T> {
    fn new(x: LentMatrix<T>, weights: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(match x {
            LentMatrix::Dense(x) => {
                let weights = weights.map(|w| LentDense::new(w.cast::<PyArrayDyn<T>>()?)).transpose()?;
                Read::Dense(x, weights)
            }
            LentMatrix::Sparse(x) => Read::Sparse(x, weights.map(lend_vector).transpose()?),
        })
    }

    fn observed(&self, run: &Run<'_>) -> Result<Observed<T>> {
        match self {
            Read::Dense(x, None) => Observed::from_dense_with(&x.view()?, run),
            Read::Dense(x, Some(weights)) => {
                let (x, weights): (Dense<'_, T>, Dense<'_, T>) = (x.view()?, weights.view()?);
                Observed::from_dense_weighted_with(&x, &weights, run)
            }
            Read::Sparse(x, weights) => {
                let weights = weights.as_ref().map(LentVector::as_slice);
                x.with_stored(|x| Observed::from_sparse_with(x, weights, run))
            }
        }
    }
}

/// Entries from one-dimensional arrays: `rows` and `columns` both of int32 or both of int64, `values` and
/// `weights` both of float32 or both of float64.
#[pyfunction]
#[pyo3(signature = (rows, columns, values, shape, average=false, weights=None, n_threads=None))]
#[allow(clippy::too_many_arguments)] // of Python, named there
pub(crate) fn observe_triples(
    py: Python<'_>,
    rows: &Bound<'_, PyAny>,
    columns: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    shape: (usize, usize),
    average: bool,
    weights: Option<&Bound<'_, PyAny>>,
    n_threads: Option<usize>,
) -> PyResult<Entries> {
    let effort = Effort::new(READ * values.len()? as f64, n_threads);
    let how = Sorting { shape, duplicates: if average { Duplicates::Average } else { Duplicates::Refuse } };
    let stored = if let Ok(rows) = lend_vector::<i32>(rows) {
        of_values(py, effort, (rows, lend_vector(columns)?), values, weights, how)?
    } else {
        of_values(py, effort, (lend_vector::<i64>(rows)?, lend_vector(columns)?), values, weights, how)?
    };
    Ok(Entries { stored: Arc::new(stored) })
}

/// Options for converting triples to entries.
struct Sorting {
    shape: (usize, usize),
    duplicates: Duplicates,
}

fn of_values<I: IndexInt + Send + 'static>(
    py: Python<'_>,
    effort: Effort,
    ids: (LentVector<I>, LentVector<I>),
    values: &Bound<'_, PyAny>,
    weights: Option<&Bound<'_, PyAny>>,
    how: Sorting,
) -> PyResult<Stored> {
    if let Ok(values) = lend_vector::<f32>(values) {
        let weights = weights.map(lend_vector).transpose()?;
        run(py, effort, None, move |run| how.sort(&ids, &values, weights.as_ref(), run).map(Stored::F32))
    } else if let Ok(values) = lend_vector::<f64>(values) {
        let weights = weights.map(lend_vector).transpose()?;
        run(py, effort, None, move |run| how.sort(&ids, &values, weights.as_ref(), run).map(Stored::F64))
    } else {
        Err(PyTypeError::new_err("expected values of float32 or float64, side by side"))
    }
}

impl Sorting {
    fn sort<I: IndexInt, T: Element>(
        &self,
        (rows, columns): &(LentVector<I>, LentVector<I>),
        values: &LentVector<T>,
        weights: Option<&LentVector<T>>,
        run: &Run<'_>,
    ) -> Result<Observed<T>> {
        let triples = Triples {
            rows: rows.as_slice(),
            columns: columns.as_slice(),
            values: values.as_slice(),
            weights: weights.map(LentVector::as_slice),
        };
        Observed::from_triples_with(&triples, self.shape, self.duplicates, run)
    }
}

/// Holds out about `share` of the entries; returns the remaining and the held-out entries.
#[pyfunction]
#[pyo3(signature = (entries, share, seed, n_threads=None))]
pub(crate) fn split_entries(
    py: Python<'_>,
    entries: &Bound<'_, Entries>,
    share: f64,
    seed: u64,
    n_threads: Option<usize>,
) -> PyResult<(Entries, Entries)> {
    let entries = entries.get();
    let effort = Effort::new(READ * entries.n_observed() as f64, n_threads);
    let stored = entries.stored();
    let (kept, aside) = run(py, effort, None, move |run| match &*stored {
        Stored::F32(all) => {
            all.split_with(share, seed, run).map(|(kept, aside)| (Stored::F32(kept), Stored::F32(aside)))
        }
        Stored::F64(all) => {
            all.split_with(share, seed, run).map(|(kept, aside)| (Stored::F64(kept), Stored::F64(aside)))
        }
    })?;
    Ok((Entries { stored: Arc::new(kept) }, Entries { stored: Arc::new(aside) }))
}
