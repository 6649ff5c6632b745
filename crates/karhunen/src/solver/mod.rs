//! The leading singular values and right singular vectors of a matrix. Never hears of means or samples.

mod block_krylov;
mod complete;
mod cost;
mod covariance;
mod gram;
mod image;
mod implicit;
mod leading;
mod look;
mod need;
mod pace;
pub(crate) mod select;
mod svd;

pub(crate) use covariance::solve_matrix;
pub(crate) use leading::{Pairs, leading};
pub use select::Route;

use leading::{Seek, Sought};
use select::{Problem, Spent, reason_for, route_for};

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::operator::LinOp;

/// How many components are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// This many.
    Count(usize),
    /// As many as are needed for the sum of squared singular values to exceed `sum`, to 12 digits, where that of all of them is
    /// `total`.
    Share { sum: f64, total: f64 },
}

/// Parameters of iterations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Iteration {
    /// The largest residual, relative to the largest eigenvalue.
    pub(crate) tol: f64,
    /// Products with the matrix allowed.
    pub(crate) max_iter: usize,
    /// Columns applied at a time; chosen if `None`.
    pub(crate) block_size: Option<usize>,
    /// Of the starting block.
    pub(crate) seed: u64,
}

/// Leading eigenpairs of `B'B` and how they were found.
#[derive(Clone, Debug)]
pub(crate) struct Spectrum {
    /// Squared singular values, descending.
    pub(crate) values: Vec<f64>,
    /// Right singular vectors as rows, shape (k, p), orthonormal.
    pub(crate) components: Matrix,
    /// `||B'B w - lambda w|| / lambda_1` of each pair; on the side of the rows a bound on it.
    pub(crate) residuals: Vec<f64>,
    /// Passes over the matrix.
    pub(crate) n_passes: usize,
}

impl Spectrum {
    /// Of no pair: nothing was asked for, and nothing is computed.
    fn none(n_columns: usize) -> Self {
        Self {
            values: Vec::new(),
            components: Matrix::zeros(0, n_columns),
            residuals: Vec::new(),
            n_passes: 0,
        }
    }

    /// Keeps the first `k` pairs.
    pub(crate) fn truncate(&mut self, k: usize) {
        self.values.truncate(k);
        self.residuals.truncate(k);
        self.components = self.components.rows(0..k);
    }
}

/// Finds what is wanted by `route`.
pub(crate) fn solve(
    op: &dyn LinOp,
    route: Route,
    wanted: Wanted,
    iteration: &Iteration,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    if matches!(wanted, Wanted::Count(0)) {
        return Ok(Spectrum::none(op.shape().1));
    }
    match route {
        Route::Svd => svd::solve(op, wanted, exec),
        Route::Covariance => covariance::solve(op, wanted, iteration, exec),
        Route::Gram => gram::solve(op, wanted, iteration, exec),
        Route::BlockKrylov => implicit::solve(op, wanted, iteration, exec),
    }
}

/// Finds what a share takes by the route that a look at the spectrum chooses, and says why. `ask` is told each route with the
/// number of components that it is to find, before it starts, and refuses where there is no memory for it.
pub(crate) fn solve_by_look(
    op: &dyn LinOp,
    (problem, n_looks): (&Problem, usize),
    wanted: Wanted,
    iteration: &Iteration,
    ask: &dyn Fn(Route, usize) -> Result<()>,
    exec: &Exec<'_>,
) -> Result<(Route, String, Spectrum)> {
    let leave = |k: usize, before: Option<usize>| {
        let spent = before.map_or(Spent::Look(n_looks), Spent::Search);
        match route_for(problem, k, spent) {
            Route::BlockKrylov => ask(Route::BlockKrylov, k).map(|()| false),
            _ => Ok(true),
        }
    };
    let seek = Seek { n_looks, leave: &leave };
    match implicit::seek(op, wanted, iteration, &seek, exec)? {
        Sought::Found(spectrum) => {
            let route = Route::BlockKrylov;
            Ok((route, reason_for(route, problem, spectrum.values.len()), spectrum))
        }
        Sought::Left { k, n_products } => {
            let route = problem.with(k).best();
            ask(route, k)?;
            let mut spectrum = solve(op, route, wanted, iteration, exec)?;
            spectrum.n_passes += n_products;
            Ok((route, reason_for(route, problem, k), spectrum))
        }
    }
}

/// How many of `values` are needed.
pub(crate) fn count(values: &[f64], wanted: Wanted) -> Option<usize> {
    match wanted {
        Wanted::Count(k) => Some(k.min(values.len())),
        Wanted::Share { sum, .. } => {
            let mut reached = 0.0;
            values
                .iter()
                .position(|value| {
                    reached += value;
                    // What equals the sum in exact arithmetic must not exceed it by its rounding.
                    reached > sum * (1.0 + 1e-12)
                })
                .map(|last| last + 1)
        }
    }
}
