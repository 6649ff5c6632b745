//! Cross-validation over entries.

use karhunen::incomplete::{CrossValidation, CrossValidationTable, Regularization};
use karhunen::{IncompletePca, Matrix, Observed, Result, Run};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::give_matrix;
use crate::dtype::Element;
use crate::entries::{Entries, EntryJob};
use crate::errors::to_python;
use crate::observer::{Effort, run};
use crate::options::{Options, value};

/// A number of components, and the name and size of a penalty.
type Choice = (usize, Option<(&'static str, f64)>);

/// Fits every number of components and every penalty to the complement of every fold. Returns the choices, their
/// errors (n_choices, n_folds), the index of the best choice, and that of the simplest within one standard error
/// of it.
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
) -> PyResult<(Vec<Choice>, Bound<'py, PyAny>, usize, usize)> {
    let most = n_components.iter().copied().max().unwrap_or(1);
    let n_choices = n_components.len().max(1) * penalties.len().max(1);
    let pass = entries.get().pass_cost(most) * n_folds as f64 * n_choices as f64;
    let Options { engine: pca, n_threads } = Options::of_entries(options, entries.get().n_observed())?;
    let effort = Effort::of_passes(pass, pca.max_iter, n_threads);
    let penalties = penalties.into_iter().map(|penalty| value("regularization", penalty));
    let grid = CrossValidation {
        n_folds,
        n_components,
        regularization: penalties.collect::<PyResult<_>>()?,
        ..CrossValidation::default()
    };
    let job = Validate { grid, pca };
    let stored = entries.get().stored();
    let table = run(py, effort, on_progress, move |run| stored.run(job, run))?;
    let choices = table.choices();
    let place = |wanted| choices.iter().position(|choice| std::ptr::eq(choice, wanted)).unwrap_or(0);
    let errors = choices.iter().flat_map(|choice| choice.errors.iter().copied()).collect();
    let errors = Matrix::from_vec(choices.len(), n_folds, errors).map_err(to_python)?;
    let told = choices.iter().map(|choice| (choice.n_components, choice.regularization.map(named)));
    Ok((told.collect(), give_matrix(py, errors)?, place(table.best()), place(table.simplest())))
}

fn named(penalty: Regularization) -> (&'static str, f64) {
    (penalty.name(), penalty.size().unwrap_or(0.0))
}

struct Validate {
    grid: CrossValidation,
    pca: IncompletePca,
}

impl EntryJob for Validate {
    type Output = CrossValidationTable;
    fn run<T: Element>(self, entries: &Observed<T>, run: &Run<'_>) -> Result<CrossValidationTable> {
        self.grid.run(&self.pca, entries, run)
    }
}
