//! The leading singular values and right singular vectors of a matrix. Samples and means are unknown to this
//! module.

mod block_krylov;
mod complete;
mod cost;
mod covariance;
mod gram;
mod image;
mod implicit;
mod leading;
mod need;
mod pace;
mod problem;
mod route;
pub(crate) mod select;
mod spectrum;
mod spectrum_estimate;
mod svd;

pub(crate) use cost::takes_unit_vectors;
pub(crate) use covariance::solve_matrix;
pub(crate) use leading::{Pairs, Reduced, leading};
pub(crate) use need::packed as need_of_packed;
pub(crate) use problem::{Blocks, Problem, Reading};
pub use route::Route;
pub(crate) use spectrum::{IterationOptions, Spectrum, Wanted};

use leading::{Seek, Sought};
use select::{Spent, reason_for, route_for};

use crate::error::Result;
use crate::exec::Exec;
use crate::operator::Products;

/// Finds the wanted singular triplets by `route`.
pub(crate) fn solve(
    op: &dyn Products,
    route: Route,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
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

/// Finds the components of a share by the route that a spectrum estimate chooses; returns the route and its
/// reason. `ask` is called with each route and its number of components before it starts, and refuses if memory is
/// short.
pub(crate) fn solve_by_estimate(
    op: &dyn Products,
    (problem, n_steps): (&Problem, usize),
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    ask: &dyn Fn(Route, usize) -> Result<()>,
    exec: &Exec<'_>,
) -> Result<(Route, String, Spectrum)> {
    let leave = |k: usize, before: Option<usize>| {
        let spent = before.map_or(Spent::Estimate(n_steps), Spent::Search);
        match route_for(problem, k, spent) {
            Route::BlockKrylov => ask(Route::BlockKrylov, k).map(|()| false),
            _ => Ok(true),
        }
    };
    let seek = Seek { n_steps, leave: &leave };
    match implicit::seek(op, wanted, iteration, &seek, exec)? {
        Sought::Found(spectrum) => {
            let route = Route::BlockKrylov;
            Ok((route, reason_for(route, problem, spectrum.values.len()), spectrum))
        }
        Sought::Left { k } => {
            let route = problem.searching(k).best();
            ask(route, k)?;
            let spectrum = solve(op, route, wanted, iteration, exec)?;
            Ok((route, reason_for(route, problem, k), spectrum))
        }
    }
}
