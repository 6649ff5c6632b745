//! The predicted time of each route: seconds on one core of a present-day machine, of which only ratios matter.
//!
//! Never knows the number of threads: the same route, and so the same bits, wherever a fit runs.

use crate::solver::leading::takes_all;
use crate::solver::problem::Problem;
use crate::solver::route::Route;

/// Multiply-adds of one core per second, times two: rank-k updates, narrow products, products with many columns, and the
/// reductions of decompositions.
const RANK_K: f64 = 70e9;
const NARROW_F64: f64 = 55e9;
const NARROW_F32: f64 = 110e9;
const WIDE: f64 = 50e9;
const REDUCTION: f64 = 20e9;
/// Of small decompositions, whose every step is bound by its overhead: seconds for each pair of columns.
const SWEEP: f64 = 1.2e-7;
/// Eigenvalues of the projected matrix of an iteration, again and again: seconds for each three of its columns.
const LOOKS: f64 = 1.6e-9;
/// Seconds of each step of an iteration beside its products.
const STEP: f64 = 1e-4;
/// Sparse products, bound by the gathering of rows; and scattered updates of a covariance matrix.
const SPARSE_F64: f64 = 18e9;
const SPARSE_F32: f64 = 30e9;
const SCATTERED: f64 = 1.1e9;
/// Bytes read from memory, row after row; and of dense rows that are packed by columns, as products on the side of the rows do.
const MEMORY: f64 = 15e9;
const STRIDED: f64 = 2.5e9;
/// Columns that are multiplied at a time.
const BLOCK: f64 = 8.0;

/// Predicts the time of `route`.
pub(super) fn seconds(route: Route, problem: &Problem) -> f64 {
    let (n, p, stored) = (problem.n as f64, problem.p as f64, problem.n_stored as f64);
    let smaller = n.min(p);
    let k = problem.k_or_guess() as f64;
    // Updates of the upper triangle; sparse rows of r entries make r^2 / 2 of them, if the rows are alike.
    let updates = |dim: f64, lines: f64| {
        if problem.sparse { stored * stored / lines / SCATTERED } else { lines * dim * dim / RANK_K }
    };
    let packing = if problem.sparse { 0.0 } else { stored * problem.value_bytes as f64 / STRIDED };
    // Components on the side of the rows are mapped back, and made orthonormal.
    let back = pass(problem, k) / 2.0 + 2.0 * k * k * p / WIDE;
    match route {
        Route::Svd => {
            let reduction = 4.0 * n.max(p) * smaller * smaller / REDUCTION;
            let values = 4e-10 * smaller.powi(3) + SWEEP * smaller * smaller;
            reduction + values + if n < p { back } else { 0.0 }
        }
        Route::Covariance => updates(p, n) + eigenvectors(p, k),
        Route::Gram => updates(n, p) + packing + eigenvectors(n, k) + back,
        Route::BlockKrylov => {
            let columns = krylov_columns(k, smaller);
            let search = columns / BLOCK * pass(problem, BLOCK) + orthogonalisation(smaller, k, columns);
            search + if n < p { back } else { 0.0 }
        }
    }
}

/// Predicts the time of the first `n_steps` products of block Krylov iteration.
pub(super) fn look_seconds(problem: &Problem, n_steps: usize) -> f64 {
    let columns = n_steps as f64 * BLOCK;
    let steps = n_steps as f64 * (pass(problem, BLOCK) + STEP);
    steps + 4.0 * problem.smaller() as f64 * columns * columns / NARROW_F64
}

/// The product of `B'B` with so many columns.
fn pass(problem: &Problem, columns: f64) -> f64 {
    let stored = problem.n_stored as f64;
    let speed = match (problem.sparse, problem.value_bytes) {
        (true, 4) => SPARSE_F32,
        (true, _) => SPARSE_F64,
        (false, 4) => NARROW_F32,
        (false, _) => NARROW_F64,
    };
    let memory = if problem.sparse || problem.n >= problem.p { MEMORY } else { STRIDED };
    (4.0 * stored * columns / speed).max(stored * problem.value_bytes as f64 / memory)
}

/// Columns that block Krylov iteration multiplies the matrix with, to find `k` components.
fn krylov_columns(k: f64, dim: f64) -> f64 {
    (7.0 * k + 60.0).min(2.0 * dim)
}

/// Columns of its basis.
fn krylov_basis(k: f64, dim: f64) -> f64 {
    (3.0 * k + 32.0).min(dim)
}

fn orthogonalisation(dim: f64, k: f64, columns: f64) -> f64 {
    let basis = krylov_basis(k, dim);
    4.0 * dim * basis * columns / NARROW_F64 + LOOKS * basis.powi(3) + STEP * columns / BLOCK
}

/// Seconds for `k` eigenvectors of a matrix that is there.
fn eigenvectors(dim: f64, k: f64) -> f64 {
    let all = 2.6e-10 * dim.powi(3) + SWEEP * dim * dim + 2.0 * dim * dim * k / WIDE;
    if takes_all(dim as usize, Some(k as usize)) {
        return all;
    }
    let columns = krylov_columns(k, dim) * 2.0;
    all.min(2.0 * dim * dim * columns / NARROW_F64 + orthogonalisation(dim, k, columns))
}
