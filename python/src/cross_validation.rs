//! Cross-validation over entries.

use karhunen::incomplete::{
    CrossValidated, CrossValidation, CrossValidationTable, FeatureErrors, Regularization,
};
use karhunen::{IncompletePca, Matrix, selection};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::give_matrix;

use crate::entries::{Entries, entry_job};
use crate::errors::to_python;
use crate::observer::{Effort, run};
use crate::options::{Options, value};
use crate::selection::given;

/// A number of components, and the name and size of a penalty.
type Choice = (usize, Option<(&'static str, f64)>);

/// Fits every number of components and every penalty to the complement of every fold. Returns the choices, and by name:
/// `errors` (n_choices, n_folds), the numbers of all features, (n_choices,), and of each as `features`, (n_choices,
/// n_features); `best_index`, and `simplest_index` of the simplest choice within one standard error of the best, both
/// `None` if the means are that choice; `msep_of_means`; `rules`, the number of components by the rules of selection.
#[pyfunction]
#[pyo3(signature = (entries, options, n_folds, n_components, penalties, on_progress=None))]
pub(crate) fn cross_validate<'py>(
    py: Python<'py>,
    entries: &Bound<'py, Entries>,
    options: &Bound<'_, PyDict>,
    n_folds: usize,
    n_components: Vec<usize>,
    penalties: Vec<Bound<'py, PyAny>>,
    on_progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Vec<Choice>, Bound<'py, PyDict>)> {
    let most = n_components.iter().copied().max().unwrap_or(1);
    let n_choices = n_components.len().max(1) * penalties.len().max(1);
    let pass = entries.get().pass_cost(most) * (n_folds as f64 + 1.0) * n_choices as f64;
    let Options { engine: pca, n_threads } = Options::of_entries(options, entries.get().n_observed())?;
    let effort = Effort::of_passes(pass, pca.max_iter, n_threads);
    let penalties = penalties.into_iter().map(|penalty| value("regularization", penalty));
    let grid = CrossValidation {
        n_folds,
        n_components,
        regularization: penalties.collect::<PyResult<_>>()?,
        ..CrossValidation::default()
    };
    let job = entry_job! {
        grid: CrossValidation,
        pca: IncompletePca,
        |entries, run| -> CrossValidationTable {
            grid.run(&pca, entries, run)
        }
    };
    let stored = entries.get().stored();
    let table = run(py, effort, on_progress, move |run| stored.run(job, run))?;
    let choices = table.choices();
    // `None` if the choice is the means, without components.
    let place = |wanted| choices.iter().position(|choice| std::ptr::eq(choice, wanted));
    let found = PyDict::new(py);
    found.set_item("errors", by_choice(py, choices, |choice| &choice.errors)?)?;
    found.set_item("best_index", place(table.best()))?;
    found.set_item("simplest_index", place(table.simplest()))?;
    found.set_item("msep_of_means", table.without_components().msep)?;
    found.set_item("n_apart", PyArray1::from_iter(py, choices.iter().map(|choice| choice.n_apart as i64)))?;
    let features = PyDict::new(py);
    for (name, of_all, of_features) in NUMBERS {
        found.set_item(name, PyArray1::from_iter(py, choices.iter().map(of_all)))?;
        features.set_item(name, by_choice(py, choices, |choice| of_features(&choice.features))?)?;
    }
    found.set_item("features", features)?;
    let rules = [selection::cross_validation(&table), selection::cross_validation_one_error(&table)];
    found.set_item("rules", rules.iter().map(|row| given(py, row)).collect::<PyResult<Vec<_>>>()?)?;
    let told = choices.iter().map(|choice| (choice.n_components, choice.regularization.map(named)));
    Ok((told.collect(), found))
}

/// Numbers of each choice: their name, the number of all features, and the numbers of each feature.
type Number = (&'static str, fn(&CrossValidated) -> f64, fn(&FeatureErrors) -> &[f64]);

const NUMBERS: [Number; 5] = [
    ("press", |choice| choice.press, |features| &features.press),
    ("msep", |choice| choice.msep, |features| &features.msep),
    ("msep_standard_error", |choice| choice.msep_standard_error, |features| &features.msep_standard_error),
    ("q2", |choice| choice.q2, |features| &features.q2),
    ("r2", |choice| choice.r2, |features| &features.r2),
];

/// A matrix with a row of numbers for each choice.
fn by_choice<'py>(
    py: Python<'py>,
    choices: &[CrossValidated],
    of: impl Fn(&CrossValidated) -> &[f64],
) -> PyResult<Bound<'py, PyAny>> {
    let width = choices.first().map_or(0, |choice| of(choice).len());
    let values = choices.iter().flat_map(|choice| of(choice).iter().copied()).collect();
    give_matrix(py, Matrix::from_vec(choices.len(), width, values).map_err(to_python)?)
}

fn named(penalty: Regularization) -> (&'static str, f64) {
    (penalty.name(), penalty.size().unwrap_or(0.0))
}
