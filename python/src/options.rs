//! The options of a fit, as Python passes them.

use std::collections::HashMap;

use karhunen::choice::{Choice, Named};
use karhunen::kernel::{Kernel, Landmarks};
use karhunen::{NComponents, Pca};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A number of components, a fraction of the variance, or `"mle"`.
#[derive(FromPyObject)]
pub(crate) enum Wanted {
    Count(usize),
    Variance(f64),
    Estimate(String),
}

/// Every option by its name in [`Pca`], and the number of threads.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    n_components: Option<Wanted>,
    center: bool,
    scale: bool,
    weighting: String,
    solver: String,
    tol: Option<f64>,
    max_iter: usize,
    seed: u64,
    pub(crate) n_threads: Option<usize>,
    strict: bool,
}

/// The engine's number of components; all if `None`.
///
/// # Errors
/// `ValueError` for another text than `"mle"`.
pub(crate) fn n_components(wanted: Option<Wanted>) -> PyResult<NComponents> {
    match wanted {
        None => Ok(NComponents::All),
        Some(Wanted::Count(count)) => Ok(NComponents::Count(count)),
        Some(Wanted::Variance(fraction)) => Ok(NComponents::Variance(fraction)),
        Some(Wanted::Estimate(name)) if name == "mle" => Ok(NComponents::Mle),
        Some(Wanted::Estimate(name)) => Err(unknown("n_components", &name, "'mle'")),
    }
}

impl Options {
    /// The engine's options.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know.
    pub(crate) fn into_pca(self) -> PyResult<Pca> {
        Ok(Pca {
            n_components: n_components(self.n_components)?,
            center: self.center,
            scale: self.scale,
            weighting: choice("weighting", &self.weighting)?,
            solver: choice_or_auto("solver", &self.solver)?,
            tol: self.tol,
            max_iter: self.max_iter,
            block_size: None,
            memory_limit: None,
            seed: self.seed,
            strict: self.strict,
            more: karhunen::More,
        })
    }
}

/// The choice of a name.
///
/// # Errors
/// `ValueError` with the names that there are.
pub(crate) fn choice<C: Choice>(option: &str, name: &str) -> PyResult<C> {
    choice_of(option, name, |row| !row.takes_number, ["", ""])
}

/// As [`choice`], or none of them where the name is `"auto"`.
pub(crate) fn choice_or_auto<C: Choice>(option: &str, name: &str) -> PyResult<Option<C>> {
    if name == "auto" { Ok(None) } else { choice_of(option, name, |_| true, ["'auto', ", ""]).map(Some) }
}

/// As [`choice`], of some rows of the table; messages name other values before and after them.
pub(crate) fn choice_of<C: Choice>(
    option: &str,
    name: &str,
    is_offered: impl Fn(&Named<C>) -> bool,
    [before, after]: [&str; 2],
) -> PyResult<C> {
    let rows = || C::TABLE.iter().filter(|row| is_offered(row));
    rows().find(|row| row.is_called(name)).map(|row| row.choice).ok_or_else(|| {
        let names: Vec<_> = rows().map(|row| format!("'{}'", row.python)).collect();
        unknown(option, name, &format!("{before}{}{after}", names.join(", ")))
    })
}

fn unknown(option: &str, name: &str, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{option} = '{name}' is not known; choose one of {allowed}"))
}

/// The names in files of choices that have another name here, each with that name.
#[pyfunction]
pub(crate) fn names_in_files() -> HashMap<&'static str, &'static str> {
    fn of<C: Choice>() -> impl Iterator<Item = (&'static str, &'static str)> {
        C::TABLE.iter().filter(|row| row.file != row.python).map(|row| (row.file, row.python))
    }
    of::<Kernel>().chain(of::<Landmarks>()).collect()
}
