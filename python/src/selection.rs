//! Rules for the number of components.

use karhunen::choice::Choice;
use karhunen::selection::{
    self, Answer, Curve, Level, Null, Parallel, Rule, Selection, Spectrum, Suggestion,
};
use karhunen::{Pca, Weights};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{LentVector, lend_vector};
use crate::dtype::{Data, job};
use crate::errors::to_python;
use crate::model::Model;
use crate::observer::{Effort, run};
use crate::options::Options;

/// The choices of all rules that take the variances of a fitted model.
#[pyfunction]
#[pyo3(signature = (model, n_observations=None))]
pub(crate) fn select_components<'py>(
    py: Python<'py>,
    model: &Bound<'_, Model>,
    n_observations: Option<f64>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let spectrum = Spectrum::of_model(&model.get().model, n_observations).map_err(to_python)?;
    selection::of_spectrum(&spectrum).iter().map(|row| given(py, row)).collect()
}

/// The number that answers support: a rule, its number, and true at the edge of its range. And why.
#[pyfunction]
pub(crate) fn suggest_components(
    answers: Vec<(String, Option<usize>, bool)>,
) -> PyResult<(Option<usize>, String)> {
    let answer = |(name, n_components, at_edge): &(String, Option<usize>, bool)| {
        let rule = Rule::of_name(name)
            .ok_or_else(|| PyValueError::new_err(format!("rule = {name:?} is not known")))?;
        Ok(Answer { rule, n_components: *n_components, at_edge: *at_edge })
    };
    let answers: Vec<Answer> = answers.iter().map(answer).collect::<PyResult<_>>()?;
    let Suggestion { n_components, reason } = selection::suggest(answers);
    Ok((n_components, reason))
}

/// The choice of parallel analysis; `level` is a quantile, or none for the mean.
#[pyfunction]
#[pyo3(signature = (x, options, null, level, n_draws, n_observations, seed, sample_weight=None, feature_weight=None, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Python's function")]
pub(crate) fn parallel_analysis<'py>(
    py: Python<'py>,
    x: Data,
    options: &Bound<'_, PyDict>,
    null: &str,
    level: Option<f64>,
    n_draws: usize,
    n_observations: Option<f64>,
    seed: u64,
    sample_weight: Option<&Bound<'_, PyAny>>,
    feature_weight: Option<&Bound<'_, PyAny>>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let Options { engine: pca, n_threads }: Options<Pca> = Options::read(options)?;
    let effort = Effort::new(x.fit_cost() * n_draws as f64, n_threads);
    let Some(null) = Null::of_name(null) else {
        return Err(PyValueError::new_err(format!("null = {null:?} is not known")));
    };
    let level = level.map_or(Level::Mean, Level::Quantile);
    let rule = Parallel { pca, null, level, n_draws, n_observations, seed, ..Parallel::default() };
    let [samples, features] = [sample_weight, feature_weight].map(|weights| weights.map(lend_vector));
    let job = job! {
        rule: Parallel,
        samples: Option<LentVector<f64>> = samples.transpose()?,
        features: Option<LentVector<f64>> = features.transpose()?,
        |x, run| -> Selection {
            let weights = Weights {
                samples: samples.as_ref().map(LentVector::as_slice),
                features: features.as_ref().map(LentVector::as_slice),
            };
            rule.select_incomplete(x, &weights, run)
        }
    };
    let found = run(py, effort, on_progress, move |run| x.run(job, run))?;
    given(py, &found)
}

type Separation<'py> = (Bound<'py, PyArray1<f64>>, Vec<bool>, Vec<(usize, usize)>);

/// Standard errors of variances, overlaps of neighbours, and ranges of components that overlap.
#[pyfunction]
#[pyo3(signature = (model, n_observations=None))]
pub(crate) fn separate_components<'py>(
    py: Python<'py>,
    model: &Bound<'_, Model>,
    n_observations: Option<f64>,
) -> PyResult<Separation<'py>> {
    let spectrum = Spectrum::of_model(&model.get().model, n_observations).map_err(to_python)?;
    let found = selection::north(&spectrum);
    let groups = found.groups().into_iter().map(|group| (group.start, group.end)).collect();
    Ok((PyArray1::from_vec(py, found.standard_errors), found.overlaps, groups))
}

/// A choice by the names of its fields.
pub(crate) fn given<'py>(py: Python<'py>, row: &Selection) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("rule", row.rule.name())?;
    found.set_item("n_components", row.n_components)?;
    found.set_item("at_edge", row.at_edge)?;
    found.set_item("range", row.range)?;
    found.set_item("reason", &row.reason)?;
    let (first, values, thresholds) = match &row.curve {
        Curve::Compared { values, thresholds } => (1, values.as_slice(), Some(thresholds)),
        Curve::Criterion { first, values, .. } => (*first, values.as_slice(), None),
        Curve::Nothing => (1, &[][..], None),
    };
    found.set_item("first", first)?;
    found.set_item("values", PyArray1::from_slice(py, values))?;
    found.set_item("thresholds", thresholds.map(|values| PyArray1::from_slice(py, values)))?;
    Ok(found)
}
