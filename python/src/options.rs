//! The options of a fit, as Python passes them.

use karhunen::{NComponents, Pca, Route, Weighting};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A number of components, a fraction of the variance, or `"mle"`.
#[derive(FromPyObject)]
enum Wanted {
    Count(usize),
    Variance(f64),
    Estimate(String),
}

/// Every option by its name in [`Pca`].
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
    n_threads: Option<usize>,
    strict: bool,
}

impl Options {
    /// The engine's options.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know.
    pub(crate) fn into_pca(self) -> PyResult<Pca> {
        let routes = [Route::Svd, Route::Covariance, Route::Gram, Route::BlockKrylov];
        let solver = match self.solver.as_str() {
            "auto" => None,
            name => match routes.iter().find(|route| route.name() == name) {
                Some(route) => Some(*route),
                None => {
                    let names = routes.map(Route::name).join("', '");
                    return Err(unknown("solver", name, &format!("'auto', '{names}'")));
                }
            },
        };
        let weighting = match self.weighting.as_str() {
            "frequency" => Weighting::Frequency,
            "importance" => Weighting::Importance,
            "population" => Weighting::Population,
            name => return Err(unknown("weighting", name, "'frequency', 'importance', 'population'")),
        };
        Ok(Pca {
            n_components: match self.n_components {
                None => NComponents::All,
                Some(Wanted::Count(count)) => NComponents::Count(count),
                Some(Wanted::Variance(fraction)) => NComponents::Variance(fraction),
                Some(Wanted::Estimate(name)) if name == "mle" => NComponents::Mle,
                Some(Wanted::Estimate(name)) => return Err(unknown("n_components", &name, "'mle'")),
            },
            center: self.center,
            scale: self.scale,
            weighting,
            solver,
            tol: self.tol,
            max_iter: self.max_iter,
            block_size: None,
            seed: self.seed,
            n_threads: self.n_threads,
            strict: self.strict,
        })
    }
}

pub(crate) fn unknown(option: &str, name: &str, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{option} = '{name}' is not known; choose one of {allowed}"))
}
