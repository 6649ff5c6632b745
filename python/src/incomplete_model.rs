//! Fitted models of incomplete data as objects of Python.

use std::sync::Arc;

use karhunen::incomplete::{Covariances, IncompleteParts};
use karhunen::{IncompleteModel as CoreModel, Matrix, Observed, Result, Run};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Fresh, LentDense, copy_matrix, give_matrix, lend_vector};
use crate::dtype::Element;
use crate::entries::{Entries, EntryJob, Stored, entry_job};
use crate::errors::to_python;
use crate::model_class::{ModelClass, view, view_matrix};
use crate::observer::{Effort, run};

/// A fitted model of incomplete data. Its arrays are read-only views of the engine's memory.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct IncompleteModel {
    pub(crate) model: Arc<CoreModel>,
}

impl ModelClass for IncompleteModel {
    type Core = CoreModel;

    fn core(&self) -> &Arc<CoreModel> {
        &self.model
    }

    fn wrap(model: CoreModel, _function: Option<&Bound<'_, PyAny>>) -> Self {
        Self { model: Arc::new(model) }
    }
}

impl IncompleteModel {
    fn parts(&self) -> &IncompleteParts {
        self.model.parts()
    }

    /// Number of multiplications for the prediction of `n` entries.
    fn prediction_cost(&self, n: usize, deviations: bool) -> f64 {
        let c = (self.model.n_components() + 1) as f64;
        n as f64 * if deviations { 4.0 * c * c } else { c }
    }
}

#[pymethods]
impl IncompleteModel {
    /// Shape (n_components, n_features).
    #[getter]
    fn components<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| model.components())
    }

    /// Shape (n_samples, n_components).
    #[getter]
    fn scores<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view_matrix(slf, |model| model.scores())
    }

    /// The offset of each fitted row, if rows have offsets.
    #[getter]
    fn row_offsets<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let there = slf.get().model.row_offsets();
        there.map(|_| view(slf, |model| model.row_offsets().unwrap_or_default())).transpose()
    }

    #[getter]
    fn mean<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().mean)
    }

    /// Standard deviations by which the columns are divided, if they are.
    #[getter]
    fn scale<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let there = slf.get().model.scale();
        there.map(|_| view(slf, |model| model.scale().unwrap_or_default())).transpose()
    }

    /// Weights of the columns, if they were given.
    #[getter]
    fn feature_weights<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let there = slf.get().model.feature_weights();
        there.map(|_| view(slf, |model| model.feature_weights().unwrap_or_default())).transpose()
    }

    /// Mean and variance of the learned prior of the means.
    #[getter]
    fn mean_prior(&self) -> Option<(f64, f64)> {
        self.parts().mean_prior.map(|prior| (prior.mean, prior.variance))
    }

    #[getter]
    fn mean_variance<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().mean_variance)
    }

    #[getter]
    fn explained_variance<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().explained_variance)
    }

    #[getter]
    fn explained_variance_ratio<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().explained_variance_ratio)
    }

    #[getter]
    fn singular_values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf, |model| &model.parts().singular_values)
    }

    #[getter]
    fn noise_variance(&self) -> f64 {
        self.parts().noise_variance
    }

    /// In the squared units of the data.
    #[getter]
    fn feature_noise_variance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.model.feature_noise_variance())
    }

    #[getter]
    fn conformal_errors<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.parts().conformal_errors.as_deref().map(|errors| PyArray1::from_slice(py, errors))
    }

    /// Number of standard deviations on both sides of a prediction that make an interval.
    fn interval_factor(&self, level: f64) -> PyResult<f64> {
        self.model.interval_factor(level).map_err(to_python)
    }

    #[getter]
    fn total_variance(&self) -> f64 {
        self.parts().total_variance
    }

    /// Number of fitted rows.
    #[getter]
    fn n_samples(&self) -> usize {
        self.model.n_samples()
    }

    /// Number of observed entries of each feature.
    #[getter]
    fn n_observed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<usize>> {
        PyArray1::from_slice(py, &self.parts().n_observed)
    }

    /// `"f32"` or `"f64"`: the type of the data.
    #[getter]
    fn dtype(&self) -> &str {
        &self.parts().dtype
    }

    /// The method of the fit.
    #[getter]
    fn method(&self) -> &'static str {
        self.model.convergence().method.name()
    }

    /// Reason for the method.
    #[getter]
    fn reason(&self) -> &str {
        &self.model.convergence().reason
    }

    /// Reason for the stop of the fit.
    #[getter]
    fn stop(&self) -> &'static str {
        self.model.convergence().stop.name()
    }

    #[getter]
    fn cost(&self) -> f64 {
        self.model.convergence().cost
    }

    #[getter]
    fn rmse(&self) -> f64 {
        self.model.convergence().rmse
    }

    #[getter]
    fn held_out_rmse(&self) -> Option<f64> {
        self.model.convergence().held_out_rmse
    }

    #[getter]
    fn has_error_bars(&self) -> bool {
        self.parts().score_covariances.is_some() && self.parts().loading_covariances.is_some()
    }

    /// Iteration, cost, RMSE, held-out RMSE, step and seconds as the columns of a matrix; NaN for absent values.
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let trace = &self.model.convergence().trace;
        let values = trace.iter().flat_map(|entry| {
            let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
            let (held_out, step) = (or_nan(entry.held_out_rmse), or_nan(entry.step));
            [entry.iteration as f64, entry.cost, entry.rmse, held_out, step, entry.seconds]
        });
        give_matrix(py, Matrix::from_vec(trace.len(), 6, values.collect()).map_err(to_python)?)
    }

    /// Penalty, cost, RMSE, held-out RMSE and iterations of every run as the columns of a matrix; NaN for absent
    /// values.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let runs = &self.model.convergence().runs;
        let values = runs.iter().flat_map(|run| {
            let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
            [or_nan(run.lambda), run.cost, run.rmse, or_nan(run.held_out_rmse), run.n_iterations as f64]
        });
        give_matrix(py, Matrix::from_vec(runs.len(), 5, values.collect()).map_err(to_python)?)
    }

    /// The agreement of the starts: their number, the number with the lowest cost, the difference of costs, the angle,
    /// the number of components that were not compared, and a sentence.
    #[getter]
    fn starts(&self) -> Option<(usize, usize, f64, Option<f64>, usize, String)> {
        let found = self.model.convergence().starts?;
        Some((
            found.n_starts,
            found.n_lowest,
            found.cost_difference,
            found.angle,
            found.n_weak,
            found.to_string(),
        ))
    }

    /// Facts about the entries that leave components undetermined: numbers of parts, pairs of columns apart, short rows, short
    /// columns, and a sentence.
    #[getter]
    fn identifiability(&self) -> Option<(usize, Option<usize>, usize, usize, String)> {
        let found = self.model.convergence().identifiability?;
        let (rows, columns) = (found.n_short_rows, found.n_short_columns);
        Some((found.n_parts, found.n_pairs_apart, rows, columns, found.to_string()))
    }

    /// True if a criterion of convergence was met and the starts agree.
    #[getter]
    fn converged(&self) -> bool {
        self.model.convergence().converged()
    }

    /// Gain, number of parameters, and true if parameters outnumber the entries, of components that fit noise.
    #[getter]
    fn overfit(&self) -> Option<(f64, usize, bool)> {
        self.model.convergence().overfit.map(|found| (found.gain, found.n_parameters, found.outnumbered))
    }

    /// The column that hides components of the others, their share of the variance, and the number of lost components.
    #[getter]
    fn dominant(&self) -> Option<(usize, f64, usize)> {
        self.model.dominant().map(|found| (found.column, found.others, found.n_lost))
    }

    /// Out-of-range predictions of missing entries: their number, and row, column, value and deviations of the
    /// farthest.
    #[getter]
    fn far(&self) -> Option<(usize, usize, usize, f64, f64)> {
        let far = self.model.convergence().far?;
        Some((far.count, far.row, far.column, far.value, far.deviations))
    }

    /// True if the model was refitted to all entries, including the held-out ones.
    #[getter]
    fn refitted(&self) -> bool {
        self.model.convergence().refitted
    }

    /// Covariances of the scores of the fitted rows, shape (n_samples, c, c), with c the number of components, plus one
    /// if rows have offsets, which come last.
    fn score_covariances<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (n, covariances) = (self.model.scores().n_rows(), &self.parts().score_covariances);
        covariances.as_ref().map(|covariances| give_covariances(py, covariances, n)).transpose()
    }

    /// Covariances of the loadings of the features, shape (n_features, n_components, n_components).
    fn loading_covariances<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (p, covariances) = (self.model.n_features(), &self.parts().loading_covariances);
        covariances.as_ref().map(|covariances| give_covariances(py, covariances, p)).transpose()
    }

    /// Scores of rows with missing entries, in the type of the entries.
    #[pyo3(signature = (entries, n_threads=None, on_progress=None))]
    fn transform(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, Entries>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let entries = entries.get();
        let c = self.model.n_components();
        let (cost, stored) = (entries.pass_cost(c), entries.stored());
        let out = room(py, &stored, (entries.shape().0, c))?;
        let job = Scores { model: Arc::clone(&self.model), out };
        run(py, Effort::new(cost, n_threads), on_progress, move |run| stored.run(job, run))
    }

    /// Scores of rows with missing entries, and their covariances.
    #[pyo3(signature = (entries, n_threads=None, on_progress=None))]
    fn transform_with_covariances<'py>(
        &self,
        py: Python<'py>,
        entries: &Bound<'_, Entries>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyAny>, Bound<'py, PyAny>)> {
        let entries = entries.get();
        let (n, c) = (entries.shape().0, self.model.n_components());
        let (cost, stored) = (2.0 * entries.pass_cost(c), entries.stored());
        let out = room(py, &stored, (n, c))?;
        let job = ScoresAndCovariances(Scores { model: Arc::clone(&self.model), out });
        let (scores, covariances) =
            run(py, Effort::new(cost, n_threads), on_progress, move |run| stored.run(job, run))?;
        Ok((scores, give_covariances(py, &covariances, n)?))
    }

    /// Offsets of rows with missing entries; none if rows have no offsets.
    #[pyo3(signature = (entries, n_threads=None, on_progress=None))]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        entries: &Bound<'_, Entries>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let (cost, stored) = (entries.get().pass_cost(self.model.n_components()), entries.get().stored());
        let job = Offsets { model: Arc::clone(&self.model) };
        let offsets = run(py, Effort::new(cost, n_threads), on_progress, move |run| stored.run(job, run))?;
        Ok(offsets.map(|offsets| PyArray1::from_vec(py, offsets)))
    }

    /// Log-likelihoods of rows with missing entries.
    #[pyo3(signature = (entries, n_threads=None, on_progress=None))]
    fn score_samples<'py>(
        &self,
        py: Python<'py>,
        entries: &Bound<'_, Entries>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (cost, stored) = (entries.get().pass_cost(self.model.n_components()), entries.get().stored());
        let job = entry_job! {
            model: Arc<CoreModel> = Arc::clone(&self.model),
            |entries, run| -> Vec<f64> {
                model.score_samples_with(entries, run)
            }
        };
        let found = run(py, Effort::new(cost, n_threads), on_progress, move |run| stored.run(job, run))?;
        Ok(PyArray1::from_vec(py, found))
    }

    /// The values of all entries of rows with missing entries, in the type of the entries.
    #[pyo3(signature = (entries, n_threads=None, on_progress=None))]
    fn values(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, Entries>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let entries = entries.get();
        let (n, p) = (entries.shape().0, self.model.n_features());
        let cost = self.prediction_cost(n * p, false) + entries.pass_cost(self.model.n_components());
        let stored = entries.stored();
        let out = room(py, &stored, (n, p))?;
        let job = entry_job! {
            model: Arc<CoreModel> = Arc::clone(&self.model),
            out: Fresh,
            |entries, run| -> Py<PyAny> {
                let mut out = out;
                let rows = model.row_scores_with(entries, run)?;
                model.values_into(&rows, out.values::<T>(), run)?;
                Ok(out.into_array())
            }
        };
        run(py, Effort::new(cost, n_threads), on_progress, move |run| stored.run(job, run))
    }

    /// Rows from scores, in the type of `scores`.
    #[pyo3(signature = (scores, n_threads=None, on_progress=None))]
    fn inverse_transform(
        &self,
        py: Python<'_>,
        scores: &Bound<'_, PyAny>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if let Ok(scores) = scores.cast::<PyArrayDyn<f32>>() {
            let lent = LentDense::<f32>::new(scores)?;
            let view = lent.view().map_err(to_python)?;
            let scores = Matrix::from_fn(view.n_rows(), view.n_cols(), |i, j| f64::from(view.get(i, j)));
            return self.values_of::<f32>(py, scores, n_threads, on_progress);
        }
        self.values_of::<f64>(py, copy_matrix(scores)?, n_threads, on_progress)
    }

    /// Predicted values of entries of the fitted data, with standard deviations unless `noise` is `None`: of new
    /// observations if true, of the values without noise if false.
    #[pyo3(signature = (rows, columns, noise=None, n_threads=None, on_progress=None))]
    fn predict_pairs<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        columns: &Bound<'py, PyAny>,
        noise: Option<bool>,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (rows, columns) = (lend_vector::<i64>(rows)?, lend_vector::<i64>(columns)?);
        let cost = self.prediction_cost(rows.as_slice().len(), noise.is_some());
        let model = Arc::clone(&self.model);
        let found = run(py, Effort::new(cost, n_threads), on_progress, move |run| {
            model.predict_pairs(rows.as_slice(), columns.as_slice(), noise, run)
        })?;
        give_matrix(py, found)
    }

    /// The values of all entries of rows with missing entries, and their standard deviations, in the type of the
    /// entries.
    #[pyo3(signature = (entries, noise, n_threads=None, on_progress=None))]
    fn predict_rows(
        &self,
        py: Python<'_>,
        entries: &Bound<'_, Entries>,
        noise: bool,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let entries = entries.get();
        let (n, p) = (entries.shape().0, self.model.n_features());
        let cost = self.prediction_cost(n * p, true) + entries.pass_cost(self.model.n_components());
        let stored = entries.stored();
        let (values, deviations) = (room(py, &stored, (n, p))?, room(py, &stored, (n, p))?);
        let job = Rows { model: Arc::clone(&self.model), noise, values, deviations };
        run(py, Effort::new(cost, n_threads), on_progress, move |run| stored.run(job, run))
    }
}

impl IncompleteModel {
    fn values_of<T: Element>(
        &self,
        py: Python<'_>,
        scores: Matrix,
        n_threads: Option<usize>,
        on_progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (n, p) = (scores.n_rows(), self.model.n_features());
        let cost = self.prediction_cost(n * p, false);
        let mut out = Fresh::zeros::<T>(py, (n, p))?;
        let model = Arc::clone(&self.model);
        run(py, Effort::new(cost, n_threads), on_progress, move |run| {
            model.inverse_transform_into(&scores, out.values::<T>(), run)?;
            Ok(out.into_array())
        })
    }
}

/// Workspace for a matrix in the type of the entries.
pub(crate) fn room(py: Python<'_>, stored: &Stored, shape: (usize, usize)) -> PyResult<Fresh> {
    match stored {
        Stored::F32(_) => Fresh::zeros::<f32>(py, shape),
        Stored::F64(_) => Fresh::zeros::<f64>(py, shape),
    }
}

/// Full matrices, shape (n, n_components, n_components); float64 where they might leave the range of float32.
fn give_covariances<'py>(
    py: Python<'py>,
    covariances: &Covariances,
    n: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let c = covariances.n_components;
    let entries = (0..n * c * c).map(|e| covariances.get(e / (c * c), e / c % c, e % c));
    Ok(if covariances.unit == 1.0 {
        PyArray1::from_iter(py, entries.map(|x| x as f32)).reshape([n, c, c])?.into_any()
    } else {
        PyArray1::from_iter(py, entries).reshape([n, c, c])?.into_any()
    })
}

struct Scores {
    model: Arc<CoreModel>,
    out: Fresh,
}

impl Scores {
    fn write<T: Element>(&mut self, scores: &Matrix) {
        for (out, score) in self.out.values::<T>().iter_mut().zip(scores.as_slice()) {
            *out = T::from_f64(*score);
        }
    }
}

impl EntryJob for Scores {
    type Output = Py<PyAny>;
    fn run<T: Element>(mut self, entries: &Observed<T>, run: &Run<'_>) -> Result<Py<PyAny>> {
        let scores = self.model.transform_with(entries, run)?;
        self.write::<T>(&scores);
        Ok(self.out.into_array())
    }
}

struct Offsets {
    model: Arc<CoreModel>,
}

impl EntryJob for Offsets {
    type Output = Option<Vec<f64>>;
    fn run<T: Element>(self, entries: &Observed<T>, run: &Run<'_>) -> Result<Self::Output> {
        Ok(self.model.row_scores_with(entries, run)?.offsets)
    }
}

struct ScoresAndCovariances(Scores);

impl EntryJob for ScoresAndCovariances {
    type Output = (Py<PyAny>, Covariances);
    fn run<T: Element>(mut self, entries: &Observed<T>, run: &Run<'_>) -> Result<Self::Output> {
        let inner = &mut self.0;
        let (scores, covariances) = inner.model.transform_with_covariances(entries, run)?;
        inner.write::<T>(&scores);
        Ok((self.0.out.into_array(), covariances))
    }
}

struct Rows {
    model: Arc<CoreModel>,
    noise: bool,
    values: Fresh,
    deviations: Fresh,
}

impl EntryJob for Rows {
    type Output = (Py<PyAny>, Py<PyAny>);
    fn run<T: Element>(mut self, entries: &Observed<T>, run: &Run<'_>) -> Result<Self::Output> {
        let (rows, covariances) = self.model.rows_with_covariances(entries, run)?;
        self.model.values_into(&rows, self.values.values::<T>(), run)?;
        let deviations = self.deviations.values::<T>();
        self.model.deviations_into((&rows.scores, &covariances), self.noise, deviations, run)?;
        Ok((self.values.into_array(), self.deviations.into_array()))
    }
}
