//! The options of a fit of incomplete data, as Python passes them.

use std::time::Duration;

use karhunen::IncompletePca;
use karhunen::incomplete::{MeanPrior, Regularization};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::observer::Effort;
use crate::options::{choice, choice_of};

/// What is set aside to stop early.
#[derive(FromPyObject)]
pub(crate) enum HeldOut {
    /// Whether a good share of the entries is.
    Usual(bool),
    /// This share of the entries.
    Share(f64),
}

impl HeldOut {
    fn share_of(&self, n_observed: usize) -> Option<f64> {
        match self {
            HeldOut::Usual(false) => None,
            HeldOut::Usual(true) => Some(IncompletePca::held_out_of(n_observed)),
            HeldOut::Share(share) => Some(*share),
        }
    }
}

/// Every option by its name in [`IncompletePca`], and the number of threads.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct IncompleteOptions {
    n_components: usize,
    method: String,
    alpha: f64,
    /// `none`, `path`, `ridge` or `weighted`, and the penalty of the last two.
    regularization: Option<(String, f64)>,
    prior_variance: Option<f64>,
    mean: String,
    /// How many pseudo-observations, and their value.
    mean_prior: (f64, Option<f64>),
    row_offsets: bool,
    step: Option<f64>,
    inner_iterations: usize,
    online_rule: String,
    tol: f64,
    gradient_tol: Option<f64>,
    angle_tol: Option<f64>,
    rmse_tol: Option<f64>,
    max_iter: usize,
    early_stopping: HeldOut,
    refit: bool,
    /// Seconds.
    time_limit: Option<f64>,
    n_starts: usize,
    seed: u64,
    error_bars: bool,
    n_threads: Option<usize>,
}

impl IncompleteOptions {
    pub(crate) fn n_components(&self) -> usize {
        self.n_components
    }

    pub(crate) fn max_iter(&self) -> usize {
        self.max_iter
    }

    /// The size of a fit of at most `cost` multiplications, with about `pass` in each pass.
    pub(crate) fn effort(&self, pass: f64, cost: f64) -> Effort {
        /// A fit makes at least as many passes.
        const PASSES: f64 = 20.0;
        let mut effort = Effort::new(PASSES * pass, self.n_threads);
        effort.cost = cost;
        effort
    }

    /// The engine's options, for `n_observed` entries.
    ///
    /// # Errors
    /// `ValueError` for names that the engine does not know, and for a time limit that is none.
    pub(crate) fn into_pca(self, n_observed: usize) -> PyResult<IncompletePca> {
        let regularization =
            self.regularization.map(|(name, penalty)| regularization(&name, penalty)).transpose()?;
        let time_limit = match self.time_limit {
            None => None,
            Some(seconds) => Some(Duration::try_from_secs_f64(seconds).map_err(|_| {
                PyValueError::new_err(format!(
                    "time_limit = {seconds} is not allowed: give seconds, at least 0"
                ))
            })?),
        };
        let (count, value) = self.mean_prior;
        Ok(IncompletePca {
            n_components: self.n_components,
            method: choice("method", &self.method)?,
            alpha: self.alpha,
            regularization,
            prior_variance: self.prior_variance,
            mean: choice("mean", &self.mean)?,
            mean_prior: MeanPrior { count, value },
            row_offsets: self.row_offsets,
            step: self.step,
            inner_iterations: self.inner_iterations,
            online_rule: choice("online_rule", &self.online_rule)?,
            tol: self.tol,
            gradient_tol: self.gradient_tol,
            angle_tol: self.angle_tol,
            rmse_tol: self.rmse_tol,
            max_iter: self.max_iter,
            early_stopping: self.early_stopping.share_of(n_observed),
            refit: self.refit,
            time_limit,
            n_starts: self.n_starts,
            seed: self.seed,
            error_bars: self.error_bars,
            more: karhunen::More,
        })
    }
}

/// The penalty of a name.
pub(crate) fn regularization(name: &str, penalty: f64) -> PyResult<Regularization> {
    choice_of("regularization", name, |_| true, ["", ""]).map(|kind: Regularization| kind.with_size(penalty))
}
