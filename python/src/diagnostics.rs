//! Diagnostics of fitted models.

use std::sync::Arc;

use karhunen::choice::Choice;
use karhunen::diagnostics::{
    self, Adjust, Distances, Features, R2, RowContributions, Rows, Samples, SpeDistribution, SpeLimit,
    row_contributions, samples_with,
};
use karhunen::pca::{NewRows, Scaling};
use karhunen::{PcaModel, Result, Run, Source, Weighting};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Fresh, copy_matrix, copy_vector, give_matrix};
use crate::dtype::{Data, Element, Job, job};
use crate::errors::to_python;
use crate::model::Model;
use crate::observer::{Effort, run};
use crate::rotation::{RotatedIncompleteModel, RotatedModel};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Array<'py> = Bound<'py, PyAny>;

/// Scores in the type of `x`, T², squared prediction errors, squared distances and leverage of rows.
#[pyfunction]
#[pyo3(signature = (model, x, n_threads=None, on_progress=None))]
pub(crate) fn diagnose_rows<'py>(
    py: Python<'py>,
    model: &Bound<'_, Model>,
    x: Data,
    n_threads: Option<usize>,
    on_progress: Option<&Array<'_>>,
) -> PyResult<(Py<PyAny>, [Vector<'py>; 4])> {
    let model = Arc::clone(&model.get().model);
    let effort = Effort::new(x.product_cost(2 * model.n_components() + 1), n_threads);
    let job = job! {
        out: Fresh = x.room(py, model.n_components())?,
        model: Arc<PcaModel>,
        |x, run| -> (Py<PyAny>, [Vec<f64>; 4]) {
            let mut out = out;
            let Samples { scores, t2, spe, distance2, leverage } = samples_with(&model, x, run)?;
            out.values::<T>().copy_from_slice(scores.as_slice());
            Ok((out.into_array(), [t2, spe, distance2, leverage]))
        }
    };
    let (scores, rest) = run(py, effort, on_progress, move |run| x.run(job, run))?;
    Ok((scores, rest.map(|values| PyArray1::from_vec(py, values))))
}

/// Squared cosines, shape (n_samples, n_components), of scores and squared distances.
#[pyfunction]
pub(crate) fn squared_cosines<'py>(
    py: Python<'py>,
    scores: &Array<'_>,
    distance2: &Array<'_>,
) -> PyResult<Array<'py>> {
    give_matrix(py, diagnostics::cos2(&copy_matrix(scores)?, &copy_vector(distance2)?))
}

/// Shares of the rows in the variances of the components, shape (n_samples, n_components).
#[pyfunction]
#[pyo3(signature = (scores, variances, weights=None))]
pub(crate) fn share_rows<'py>(
    py: Python<'py>,
    scores: &Array<'_>,
    variances: &Array<'_>,
    weights: Option<&Array<'_>>,
) -> PyResult<Array<'py>> {
    let weights = weights.map(copy_vector).transpose()?;
    let found =
        diagnostics::contributions(&copy_matrix(scores)?, &copy_vector(variances)?, weights.as_deref());
    give_matrix(py, found.map_err(to_python)?)
}

/// Terms of T² and residuals by feature, shape (n_samples, n_features) each.
#[pyfunction]
#[pyo3(signature = (model, x, n_threads=None, on_progress=None))]
pub(crate) fn explain_rows<'py>(
    py: Python<'py>,
    model: &Bound<'_, Model>,
    x: Data,
    n_threads: Option<usize>,
    on_progress: Option<&Array<'_>>,
) -> PyResult<[Array<'py>; 2]> {
    let model = Arc::clone(&model.get().model);
    let effort = Effort::new(x.product_cost(4 * model.n_components() + 2), n_threads);
    let job = job! {
        model: Arc<PcaModel>,
        |x, run| -> RowContributions {
            row_contributions(&model, x, run)
        }
    };
    let found = run(py, effort, on_progress, move |run| x.run(job, run))?;
    Ok([give_matrix(py, found.t2)?, give_matrix(py, found.residuals)?])
}

/// Contributions, correlations and squared cosines, shape (n_features, n_components) each, and communalities.
#[pyfunction]
pub(crate) fn diagnose_features<'py>(py: Python<'py>, model: &Bound<'_, Model>) -> PyResult<[Array<'py>; 4]> {
    give_features(py, diagnostics::features(&model.get().model).map_err(to_python)?)
}

/// As [`diagnose_features`], of rotated components.
#[pyfunction]
pub(crate) fn diagnose_rotated_features<'py>(
    py: Python<'py>,
    model: &Bound<'_, RotatedModel>,
) -> PyResult<[Array<'py>; 4]> {
    give_features(py, diagnostics::rotated_features(&model.get().model).map_err(to_python)?)
}

/// As [`diagnose_rotated_features`], of data with missing values.
#[pyfunction]
pub(crate) fn diagnose_rotated_incomplete_features<'py>(
    py: Python<'py>,
    model: &Bound<'_, RotatedIncompleteModel>,
) -> PyResult<[Array<'py>; 4]> {
    give_features(py, diagnostics::rotated_incomplete_features(&model.get().model))
}

pub(crate) fn give_features<'py>(py: Python<'py>, found: Features) -> PyResult<[Array<'py>; 4]> {
    Ok([
        give_matrix(py, found.contributions)?,
        give_matrix(py, found.correlations)?,
        give_matrix(py, found.cos2)?,
        PyArray1::from_vec(py, found.communalities).into_any(),
    ])
}

/// R² by number of components, shape (n_components,), and of each feature, shape (n_features, n_components).
#[pyfunction]
pub(crate) fn diagnose_r2<'py>(py: Python<'py>, model: &Bound<'_, Model>) -> PyResult<[Array<'py>; 2]> {
    give_r2(py, diagnostics::r2(&model.get().model).map_err(to_python)?)
}

pub(crate) fn give_r2<'py>(py: Python<'py>, found: R2) -> PyResult<[Array<'py>; 2]> {
    Ok([PyArray1::from_vec(py, found.total).into_any(), give_matrix(py, found.features)?])
}

/// The limit of T².
#[pyfunction]
#[pyo3(signature = (model, level, rows, n_observations=None))]
pub(crate) fn t2_limit(
    model: &Bound<'_, Model>,
    level: f64,
    rows: &str,
    n_observations: Option<f64>,
) -> PyResult<f64> {
    let (rows, model): (Rows, _) = (named("rows", rows)?, &model.get().model);
    let n = n_observations.unwrap_or(model.n_observations());
    diagnostics::t2_limit_by(model, n, level, rows).map_err(to_python)
}

/// The mean and the relative cumulants of squared prediction errors of fitted rows, and the number of observations that they
/// are estimated from.
#[pyfunction]
#[pyo3(signature = (spe, distance2, weights=None))]
pub(crate) fn spe_of_rows(
    spe: &Array<'_>,
    distance2: &Array<'_>,
    weights: Option<&Array<'_>>,
) -> PyResult<[f64; 4]> {
    let weights = weights.map(copy_vector).transpose()?;
    let found = SpeDistribution::of_rows(&copy_vector(spe)?, &copy_vector(distance2)?, weights.as_deref());
    let SpeDistribution { mean, second, third, n_observations } = found.map_err(to_python)?;
    Ok([mean, second, third, n_observations])
}

/// The model that keeps limits for new rows, by the fitted rows `x` and their T², squared prediction errors and squared
/// distances.
#[pyfunction]
#[pyo3(signature = (model, x, distances, weights=None, n_threads=None, on_progress=None))]
pub(crate) fn keep_limits(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    x: Data,
    distances: [Array<'_>; 3],
    weights: Option<&Array<'_>>,
    n_threads: Option<usize>,
    on_progress: Option<&Array<'_>>,
) -> PyResult<Model> {
    let model = Arc::clone(&model.get().model);
    let weights = weights.map(copy_vector).transpose()?;
    let [t2, spe, distance2] = distances;
    let distances = [copy_vector(&t2)?, copy_vector(&spe)?, copy_vector(&distance2)?];
    // A table of scaled columns may be fitted without each row.
    let n_fits = if model.options().scale == Scaling::None { 1.0 } else { distances[0].len() as f64 };
    let effort = Effort::new(n_fits * x.product_cost(8 * model.n_components() + 40), n_threads);
    let job = KeepLimits { model, distances, weights };
    let model = run(py, effort, on_progress, move |run| x.run(job, run))?;
    Ok(Model { model: Arc::new(model) })
}

struct KeepLimits {
    model: Arc<PcaModel>,
    /// T², squared prediction errors and squared distances.
    distances: [Vec<f64>; 3],
    weights: Option<Vec<f64>>,
}

impl Job for KeepLimits {
    type Output = PcaModel;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> Result<PcaModel> {
        let Self { model, distances: [t2, spe, distance2], weights } = &self;
        let found = Distances { t2, spe, distance2 };
        let new_rows = NewRows::of_distances(model, found, x, weights.as_deref(), run)?;
        Ok(PcaModel::clone(model).with_new_rows(new_rows))
    }
}

/// The limits of T² and of the squared prediction error of new rows, if the model keeps them.
#[pyfunction]
pub(crate) fn new_row_limits(
    model: &Bound<'_, Model>,
    n_observations: Option<f64>,
    level: f64,
    method: &str,
) -> PyResult<Option<[f64; 2]>> {
    let (method, model): (SpeLimit, _) = (named("method", method)?, &model.get().model);
    let n = n_observations.unwrap_or(model.n_observations());
    let limits = model.new_rows().map(|new_rows| new_rows.limits(model, n, (level, method)));
    limits.transpose().map_err(to_python)
}

/// The limit of the squared prediction error.
#[pyfunction]
pub(crate) fn spe_limit(distribution: [f64; 4], level: f64, method: &str) -> PyResult<f64> {
    let [mean, second, third, n_observations] = distribution;
    let method: SpeLimit = named("method", method)?;
    SpeDistribution { mean, second, third, n_observations }.limit(level, method).map_err(to_python)
}

/// Correlations and their p-values, shape (n_variables, n_components), and the number of observations of each variable.
#[pyfunction]
#[pyo3(signature = (scores, variables, weighting, weights=None))]
pub(crate) fn correlate<'py>(
    py: Python<'py>,
    scores: &Array<'_>,
    variables: &Array<'_>,
    weighting: &str,
    weights: Option<&Array<'_>>,
) -> PyResult<[Array<'py>; 3]> {
    let (scores, variables) = (copy_matrix(scores)?, copy_matrix(variables)?);
    let weights = weights.map(copy_vector).transpose()?;
    let weighting: Weighting = named("weighting", weighting)?;
    let cost = (variables.n_rows() * variables.n_cols()) as f64 * scores.n_cols() as f64;
    let found = run(py, Effort::new(cost, None), None, move |run| {
        diagnostics::correlations(&scores, &variables, (weights.as_deref(), weighting), run)
    })?;
    Ok([
        give_matrix(py, found.correlations)?,
        give_matrix(py, found.p_values)?,
        PyArray1::from_vec(py, found.n_observed).into_any(),
    ])
}

/// Barycentres, v tests and their p-values, shape (n_categories, n_components), sizes of the categories, correlation
/// ratios and their p-values. Negative codes are unknown.
#[pyfunction]
#[pyo3(signature = (scores, codes, n_categories, weighting, weights=None))]
pub(crate) fn compare_categories<'py>(
    py: Python<'py>,
    scores: &Array<'_>,
    codes: Vec<i64>,
    n_categories: usize,
    weighting: &str,
    weights: Option<&Array<'_>>,
) -> PyResult<[Array<'py>; 6]> {
    let scores = copy_matrix(scores)?;
    let weights = weights.map(copy_vector).transpose()?;
    let weighting: Weighting = named("weighting", weighting)?;
    let codes: Vec<Option<usize>> = codes.into_iter().map(|code| usize::try_from(code).ok()).collect();
    let found = py
        .detach(|| diagnostics::categories(&scores, (&codes, n_categories), (weights.as_deref(), weighting)))
        .map_err(to_python)?;
    let vector = |values| PyArray1::from_vec(py, values).into_any();
    Ok([
        give_matrix(py, found.barycentres)?,
        give_matrix(py, found.v_tests)?,
        give_matrix(py, found.p_values)?,
        vector(found.sizes),
        vector(found.eta2),
        vector(found.eta2_p_values),
    ])
}

/// P-values corrected for their number.
#[pyfunction]
pub(crate) fn adjust_p_values<'py>(
    py: Python<'py>,
    p_values: &Array<'_>,
    how: &str,
) -> PyResult<Vector<'py>> {
    let how: Adjust = named("adjust", how)?;
    Ok(PyArray1::from_vec(py, diagnostics::adjusted(&copy_vector(p_values)?, how)))
}

/// The choice of a name that the package has checked.
pub(crate) fn named<C: Choice>(option: &str, name: &str) -> PyResult<C> {
    C::of_name(name).ok_or_else(|| PyValueError::new_err(format!("{option} = {name:?} is unknown")))
}
