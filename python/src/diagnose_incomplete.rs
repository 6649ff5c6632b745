//! Diagnostics of fitted models of data with missing values.

use std::sync::Arc;

use karhunen::Matrix;
use karhunen::diagnostics::{
    self, IncompleteNewRows, IncompleteSamples, RowContributions, Rows, SpeScale,
    incomplete_row_contributions, incomplete_samples,
};
use karhunen::incomplete::{IncompleteModel as CoreModel, RowScores};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::arrays::{Fresh, give_matrix};
use crate::diagnostics::{give_features, give_r2, named};

use crate::entries::{Entries, entry_job};
use crate::errors::to_python;
use crate::incomplete_model::{IncompleteModel, room};
use crate::observer::{Effort, run};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Counts<'py> = Bound<'py, PyArray1<usize>>;

/// Scores in the type of the entries, the offsets of rows, T², squared prediction errors and squared distances, and the
/// degrees of freedom of both.
#[pyfunction]
#[pyo3(signature = (model, entries, n_threads=None, on_progress=None))]
#[expect(clippy::type_complexity, reason = "the tuple that Python unpacks")]
pub(crate) fn diagnose_incomplete_rows<'py>(
    py: Python<'py>,
    model: &Bound<'_, IncompleteModel>,
    entries: &Bound<'_, Entries>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Py<PyAny>, Option<Vector<'py>>, [Vector<'py>; 3], [Counts<'py>; 2])> {
    let (model, entries) = (Arc::clone(&model.get().model), entries.get());
    let (c, stored) = (model.n_components(), entries.stored());
    let effort = Effort::new(2.0 * entries.pass_cost(c), n_threads);
    let job = entry_job! {
        out: Fresh = room(py, &stored, (entries.shape().0, c))?,
        model: Arc<CoreModel>,
        |entries, run| -> (Py<PyAny>, IncompleteSamples) {
            let mut out = out;
            let found = incomplete_samples(&model, entries, run)?;
            for (out, score) in out.values::<T>().iter_mut().zip(found.scores.scores.as_slice()) {
                *out = T::from_f64(*score);
            }
            Ok((out.into_array(), found))
        }
    };
    let (scores, found) = run(py, effort, on_progress, move |run| stored.run(job, run))?;
    let vector = |values| PyArray1::from_vec(py, values);
    let counts = |values| PyArray1::from_vec(py, values);
    Ok((
        scores,
        found.scores.offsets.map(vector),
        [vector(found.t2), vector(found.spe), vector(found.distance2)],
        [counts(found.t2_degrees), counts(found.spe_degrees)],
    ))
}

/// Terms of T² and residuals by feature, shape (n_samples, n_features) each; NaN for missing entries.
#[pyfunction]
#[pyo3(signature = (model, entries, n_threads=None, on_progress=None))]
pub(crate) fn explain_incomplete_rows<'py>(
    py: Python<'py>,
    model: &Bound<'_, IncompleteModel>,
    entries: &Bound<'_, Entries>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let (model, entries) = (Arc::clone(&model.get().model), entries.get());
    let effort = Effort::new(2.0 * entries.pass_cost(model.n_components()), n_threads);
    let (job, stored) = (
        entry_job! {
            model: Arc<CoreModel>,
            |entries, run| -> RowContributions {
                incomplete_row_contributions(&model, entries, run)
            }
        },
        entries.stored(),
    );
    let found = run(py, effort, on_progress, move |run| stored.run(job, run))?;
    Ok([give_matrix(py, found.t2)?, give_matrix(py, found.residuals)?])
}

/// Contributions, correlations and squared cosines, shape (n_features, n_components) each, and communalities.
#[pyfunction]
pub(crate) fn diagnose_incomplete_features<'py>(
    py: Python<'py>,
    model: &Bound<'_, IncompleteModel>,
) -> PyResult<[Bound<'py, PyAny>; 4]> {
    give_features(py, diagnostics::incomplete_features(&model.get().model))
}

/// R² by number of components, shape (n_components,), and of each feature, shape (n_features, n_components).
#[pyfunction]
pub(crate) fn diagnose_incomplete_r2<'py>(
    py: Python<'py>,
    model: &Bound<'_, IncompleteModel>,
) -> PyResult<[Bound<'py, PyAny>; 2]> {
    give_r2(py, diagnostics::incomplete_r2(&model.get().model))
}

/// The model that keeps limits for new rows, by the fitted rows with their multiplicities.
#[pyfunction]
#[pyo3(signature = (model, entries, n_threads=None, on_progress=None))]
pub(crate) fn keep_incomplete_limits(
    py: Python<'_>,
    model: &Bound<'_, IncompleteModel>,
    entries: &Bound<'_, Entries>,
    n_threads: Option<usize>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<IncompleteModel> {
    let (model, entries) = (Arc::clone(&model.get().model), entries.get());
    let effort = Effort::new(100.0 * entries.pass_cost(model.n_components()), n_threads);
    let (job, stored) = (
        entry_job! {
            model: Arc<CoreModel>,
            |entries, run| -> CoreModel {
                let new_rows = IncompleteNewRows::of(&model, entries, run)?;
                Ok(CoreModel::clone(&model).with_new_rows(new_rows))
            }
        },
        entries.stored(),
    );
    let model = run(py, effort, on_progress, move |run| stored.run(job, run))?;
    Ok(IncompleteModel { model: Arc::new(model) })
}

/// The limit of T² of each row by its degrees of freedom.
#[pyfunction]
pub(crate) fn incomplete_t2_limits<'py>(
    py: Python<'py>,
    model: &Bound<'_, IncompleteModel>,
    t2_degrees: Vec<usize>,
    level: f64,
    rows: &str,
) -> PyResult<Vector<'py>> {
    let found = of_t2(Vec::new(), t2_degrees);
    let rows: Rows = named("rows", rows)?;
    let limits = found.t2_limits(&model.get().model, level, rows).map_err(to_python)?;
    Ok(PyArray1::from_vec(py, limits))
}

/// The probability of a larger T² of each row.
#[pyfunction]
pub(crate) fn incomplete_t2_p_values<'py>(
    py: Python<'py>,
    model: &Bound<'_, IncompleteModel>,
    t2: Vec<f64>,
    t2_degrees: Vec<usize>,
    rows: &str,
) -> PyResult<Vector<'py>> {
    let rows: Rows = named("rows", rows)?;
    Ok(PyArray1::from_vec(py, of_t2(t2, t2_degrees).t2_p_values(&model.get().model, rows)))
}

/// The variance and the dispersion of squared prediction errors, and the number of observations that they are estimated
/// from: of rows for the same rows, or with their T² and its degrees of freedom for new rows.
#[pyfunction]
#[pyo3(signature = (model, spe, spe_degrees, distance2, of_t2=None, weights=None))]
pub(crate) fn incomplete_spe_scale(
    model: &Bound<'_, IncompleteModel>,
    spe: Vec<f64>,
    spe_degrees: Vec<usize>,
    distance2: Vec<f64>,
    of_t2: Option<(Vec<f64>, Vec<usize>)>,
    weights: Option<Vec<f64>>,
) -> PyResult<[f64; 3]> {
    let found = of_spe(spe, spe_degrees, distance2);
    let scale = match of_t2 {
        None => SpeScale::of_rows(&found, weights.as_deref()),
        Some((t2, t2_degrees)) => {
            let found = IncompleteSamples { t2, t2_degrees, ..found };
            SpeScale::of_left_out(&model.get().model, &found, weights.as_deref())
        }
    };
    Ok(numbers(scale.map_err(to_python)?))
}

/// As [`incomplete_spe_scale`], by the noise variance of a model.
#[pyfunction]
pub(crate) fn incomplete_model_spe_scale(model: &Bound<'_, IncompleteModel>) -> [f64; 3] {
    numbers(SpeScale::of_model(&model.get().model))
}

fn numbers(scale: SpeScale) -> [f64; 3] {
    [scale.variance, scale.dispersion, scale.n_observations]
}

fn scale_of([variance, dispersion, n_observations]: [f64; 3]) -> SpeScale {
    SpeScale { variance, dispersion, n_observations }
}

/// The limit of the squared prediction error of each row by its degrees of freedom.
#[pyfunction]
pub(crate) fn incomplete_spe_limits<'py>(
    py: Python<'py>,
    scale: [f64; 3],
    spe_degrees: Vec<usize>,
    level: f64,
) -> PyResult<Vector<'py>> {
    let found = of_spe(Vec::new(), spe_degrees, Vec::new());
    let limits = scale_of(scale).limits(&found, level).map_err(to_python)?;
    Ok(PyArray1::from_vec(py, limits))
}

/// The probability of a larger squared prediction error of each row.
#[pyfunction]
pub(crate) fn incomplete_spe_p_values<'py>(
    py: Python<'py>,
    scale: [f64; 3],
    spe: Vec<f64>,
    spe_degrees: Vec<usize>,
) -> Vector<'py> {
    let found = of_spe(spe, spe_degrees, Vec::new());
    PyArray1::from_vec(py, scale_of(scale).p_values(&found))
}

/// T² of rows without their other numbers.
fn of_t2(t2: Vec<f64>, t2_degrees: Vec<usize>) -> IncompleteSamples {
    IncompleteSamples { t2, t2_degrees, ..of_spe(Vec::new(), Vec::new(), Vec::new()) }
}

/// Squared prediction errors of rows without their other numbers.
fn of_spe(spe: Vec<f64>, spe_degrees: Vec<usize>, distance2: Vec<f64>) -> IncompleteSamples {
    IncompleteSamples {
        scores: RowScores { scores: Matrix::zeros(0, 0), offsets: None },
        t2: Vec::new(),
        t2_degrees: Vec::new(),
        spe,
        spe_degrees,
        distance2,
    }
}
