//! Diagnostics of fitted models.

use std::sync::Arc;

use karhunen::choice::Choice;
use karhunen::diagnostics::{
    self, Adjust, RowContributions, Rows, SpeDistribution, SpeLimit, row_contributions, samples_with,
};
use karhunen::{PcaModel, Result, Run, Source};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{Lent, copy_matrix, copy_vector, give_matrix, lend_vector};
use crate::dtype::{Data, Diagnosed, Element, Job};
use crate::errors::to_python;
use crate::model::Model;
use crate::observer::{Effort, run};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Array<'py> = Bound<'py, PyAny>;

/// Scores, T², squared prediction errors and squared distances of rows.
#[pyfunction]
#[pyo3(signature = (model, x, n_threads=None, on_progress=None))]
pub(crate) fn diagnose_rows(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    x: Data,
    n_threads: Option<usize>,
    on_progress: Option<&Array<'_>>,
) -> PyResult<RowDiagnostics> {
    let model = Arc::clone(&model.get().model);
    let effort = Effort::new(x.product_cost(2 * model.n_components() + 1), n_threads);
    let job = Diagnose { model: Arc::clone(&model) };
    let rows = run(py, effort, on_progress, move |run| x.run(job, run))?;
    Ok(RowDiagnostics { model, rows })
}

struct Diagnose {
    model: Arc<PcaModel>,
}

impl Job for Diagnose {
    type Output = Diagnosed;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Diagnosed> {
        samples_with(&self.model, x, run).map(T::diagnosed)
    }
}

/// Calls a function for samples of either type.
macro_rules! of_either {
    ($diagnosed:expr, $samples:ident => $result:expr) => {
        match $diagnosed {
            Diagnosed::F32($samples) => $result,
            Diagnosed::F64($samples) => $result,
        }
    };
}

/// Diagnostics of rows.
#[pyclass(frozen, module = "karhunen._core")]
pub(crate) struct RowDiagnostics {
    model: Arc<PcaModel>,
    rows: Diagnosed,
}

#[pymethods]
impl RowDiagnostics {
    /// Shape (n_samples, n_components), in the type of the rows.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        of_either!(&self.rows, rows => give_matrix(py, rows.scores.clone()))
    }

    #[getter]
    fn t2<'py>(&self, py: Python<'py>) -> Vector<'py> {
        of_either!(&self.rows, rows => PyArray1::from_slice(py, &rows.t2))
    }

    #[getter]
    fn spe<'py>(&self, py: Python<'py>) -> Vector<'py> {
        of_either!(&self.rows, rows => PyArray1::from_slice(py, &rows.spe))
    }

    #[getter]
    fn distance2<'py>(&self, py: Python<'py>) -> Vector<'py> {
        of_either!(&self.rows, rows => PyArray1::from_slice(py, &rows.distance2))
    }

    /// Squared cosines, shape (n_samples, n_components).
    fn cos2<'py>(&self, py: Python<'py>) -> PyResult<Array<'py>> {
        of_either!(&self.rows, rows => give_matrix(py, rows.cos2()))
    }

    /// Shares of the rows in the variances of the components, shape (n_samples, n_components).
    #[pyo3(signature = (weights=None))]
    fn contributions<'py>(&self, py: Python<'py>, weights: Option<&Array<'_>>) -> PyResult<Array<'py>> {
        let weights = weights.map(lend_vector).transpose()?;
        let weights = weights.as_ref().map(Lent::as_slice);
        let found = of_either!(&self.rows, rows => rows.contributions(&self.model, weights));
        give_matrix(py, found.map_err(to_python)?)
    }

    fn leverage<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_vec(py, of_either!(&self.rows, rows => rows.leverage(&self.model)))
    }
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
    let job = Explain { model };
    let found = run(py, effort, on_progress, move |run| x.run(job, run))?;
    Ok([give_matrix(py, found.t2)?, give_matrix(py, found.residuals)?])
}

struct Explain {
    model: Arc<PcaModel>,
}

impl Job for Explain {
    type Output = RowContributions;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> Result<RowContributions> {
        row_contributions(&self.model, x, run)
    }
}

/// Contributions, correlations and squared cosines, shape (n_features, n_components) each, and communalities.
#[pyfunction]
pub(crate) fn diagnose_features<'py>(py: Python<'py>, model: &Bound<'_, Model>) -> PyResult<[Array<'py>; 4]> {
    let found = diagnostics::features(&model.get().model).map_err(to_python)?;
    Ok([
        give_matrix(py, found.contributions)?,
        give_matrix(py, found.correlations)?,
        give_matrix(py, found.cos2)?,
        PyArray1::from_vec(py, found.communalities).into_any(),
    ])
}

/// The limit of T².
#[pyfunction]
pub(crate) fn t2_limit(model: &Bound<'_, Model>, level: f64, rows: &str) -> PyResult<f64> {
    let rows: Rows = named("rows", rows)?;
    diagnostics::t2_limit(&model.get().model, level, rows).map_err(to_python)
}

/// Sums of powers of discarded variances, from squared prediction errors of fitted rows.
#[pyfunction]
#[pyo3(signature = (spe, weights=None))]
pub(crate) fn spe_of_rows(spe: &Array<'_>, weights: Option<&Array<'_>>) -> PyResult<[f64; 3]> {
    let weights = weights.map(copy_vector).transpose()?;
    let found = SpeDistribution::of_rows(&copy_vector(spe)?, weights.as_deref());
    Ok(found.map_err(to_python)?.theta)
}

/// The limit of the squared prediction error.
#[pyfunction]
pub(crate) fn spe_limit(theta: [f64; 3], level: f64, method: &str) -> PyResult<f64> {
    let method: SpeLimit = named("method", method)?;
    SpeDistribution { theta }.limit(level, method).map_err(to_python)
}

/// Correlations and their p-values, shape (n_variables, n_components), and the weight of the rows observed.
#[pyfunction]
#[pyo3(signature = (scores, variables, weights=None))]
pub(crate) fn correlate<'py>(
    py: Python<'py>,
    scores: &Array<'_>,
    variables: &Array<'_>,
    weights: Option<&Array<'_>>,
) -> PyResult<[Array<'py>; 3]> {
    let (scores, variables) = (copy_matrix(scores)?, copy_matrix(variables)?);
    let weights = weights.map(copy_vector).transpose()?;
    let found = py
        .detach(|| diagnostics::correlations(&scores, &variables, weights.as_deref()))
        .map_err(to_python)?;
    Ok([
        give_matrix(py, found.correlations)?,
        give_matrix(py, found.p_values)?,
        PyArray1::from_vec(py, found.n_observed).into_any(),
    ])
}

/// Barycentres, v tests and their p-values, shape (n_categories, n_components), weights of the categories, correlation
/// ratios and their p-values. Negative codes are unknown.
#[pyfunction]
#[pyo3(signature = (scores, codes, n_categories, weights=None))]
pub(crate) fn compare_categories<'py>(
    py: Python<'py>,
    scores: &Array<'_>,
    codes: Vec<i64>,
    n_categories: usize,
    weights: Option<&Array<'_>>,
) -> PyResult<[Array<'py>; 6]> {
    let scores = copy_matrix(scores)?;
    let weights = weights.map(copy_vector).transpose()?;
    let codes: Vec<Option<usize>> = codes.into_iter().map(|code| usize::try_from(code).ok()).collect();
    let found = py
        .detach(|| diagnostics::categories(&scores, &codes, n_categories, weights.as_deref()))
        .map_err(to_python)?;
    let vector = |values| PyArray1::from_vec(py, values).into_any();
    Ok([
        give_matrix(py, found.barycentres)?,
        give_matrix(py, found.v_tests)?,
        give_matrix(py, found.p_values)?,
        vector(found.weights),
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
fn named<C: Choice>(option: &str, name: &str) -> PyResult<C> {
    C::of_name(name).ok_or_else(|| PyValueError::new_err(format!("{option} = {name:?} is unknown")))
}
