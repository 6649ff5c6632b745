//! Predicted time of each route, in seconds on one core of a present-day machine; only ratios matter.
//!
//! The prediction ignores the number of threads, so that a fit takes the same route, with the same bits, on every
//! machine.

use crate::solver::leading::{iterates, takes_all};
use crate::solver::need::{PANEL, PART, packed};
use crate::solver::problem::{Blocks, Problem};
use crate::solver::route::Route;

/// Floating-point operations (two per multiply-add) of one core per second: rank-k updates, narrow products,
/// products with many columns, and the reductions of decompositions.
const RANK_K: f64 = 100e9;
const NARROW_F64: f64 = 55e9;
const NARROW_F32: f64 = 110e9;
const WIDE: f64 = 50e9;
const REDUCTION: f64 = 20e9;
/// Seconds per pair of columns of a small decomposition, which overhead dominates.
const SWEEP: f64 = 1.2e-7;
/// Seconds per cubed number of columns for all eigenvalue computations of the projected matrix during an
/// iteration.
const EIGENVALUES: f64 = 1.6e-9;
/// Seconds per cubed dimension for the reduction of a matrix to tridiagonal form, and per dimension for an eigenvector of
/// that.
const TRIDIAGONAL: f64 = 5.5e-11;
const VECTOR: f64 = 4e-8;
/// Overhead of an iteration step in seconds, excluding the products.
const STEP: f64 = 1e-4;
/// Floating-point operations per second of sparse products, bound by gathering rows, and of scattered updates of a
/// covariance matrix.
const SPARSE_F64: f64 = 18e9;
const SPARSE_F32: f64 = 30e9;
const SCATTERED: f64 = 1.1e9;
/// Bytes per second read from memory, row by row, and of dense rows packed by columns, as for the Gram matrix.
const MEMORY: f64 = 15e9;
const STRIDED: f64 = 2.5e9;
/// Block size of an iteration.
const BLOCK: f64 = 8.0;
/// Bytes per second at which rows are read again, on a nominal device: the choice knows no clock.
const READING: f64 = 1e9;

/// Predicts the time of `route`.
pub(super) fn seconds(route: Route, problem: &Problem) -> f64 {
    let (n, p, stored) = (problem.n as f64, problem.p as f64, problem.n_stored as f64);
    let smaller = n.min(p);
    let k = problem.k_or_guess() as f64;
    // Updates of the upper triangle; a sparse row of r entries makes r^2 / 2 of them, assuming equal rows.
    let updates = |dim: f64, lines: f64| {
        if problem.sparse { stored * stored / lines / SCATTERED } else { lines * dim * dim / RANK_K }
    };
    let packing = if problem.sparse { 0.0 } else { stored * problem.value_bytes as f64 / STRIDED };
    // Eigenvectors of the Gram matrix are mapped back and orthonormalized.
    let back = pass(problem, k) / 2.0 + 2.0 * k * k * p / WIDE;
    // Products, which take at least as long as reading, and the other work.
    let (products, other) = match route {
        Route::Svd => {
            let reduction = 4.0 * n.max(p) * smaller * smaller / REDUCTION;
            let values = 4e-10 * smaller.powi(3) + SWEEP * smaller * smaller;
            (reduction, values + if n < p { back } else { 0.0 })
        }
        Route::Covariance => (updates(p, n), eigenvectors(p, k)),
        Route::Gram => (updates(n, p) + packing, eigenvectors(n, k) + back),
        Route::BlockKrylov => {
            let (width, columns, basis) = krylov(problem);
            let search = columns / width * iteration_pass(problem, width) + packing_once(problem);
            (search, orthogonalisation(smaller, basis, columns) + if n < p { back } else { 0.0 })
        }
    };
    let reading = problem.reading.map_or(0.0, |reading| reading.bytes / READING * passes(route, problem));
    products.max(reading) + other
}

/// Predicted number of passes over rows that every pass reads again.
pub(super) fn passes(route: Route, problem: &Problem) -> f64 {
    let (n, p) = (problem.n as f64, problem.p as f64);
    // Products with the rows take the columns panel by panel, mapping back takes the components part by part.
    let panels = (8.0 * n * p / PANEL).ceil();
    let back = if n < p { (8.0 * problem.k_or_guess() as f64 * p / PART).ceil() } else { 0.0 };
    let product = if n < p { 2.0 } else { 1.0 };
    match route {
        Route::Covariance => 1.0,
        Route::Svd => 1.0 + back + if n < p { panels } else { 1.0 },
        Route::Gram => 1.0 + panels + (8.0 * problem.k_or_guess() as f64 * p / PART).ceil(),
        Route::BlockKrylov => {
            let (width, columns, _) = krylov(problem);
            1.0 + product * (columns / width).ceil() + back
        }
    }
}

/// Columns of a block of block Krylov iteration, columns multiplied in all, and columns of the basis.
fn krylov(problem: &Problem) -> (f64, f64, f64) {
    let (k, dim) = (problem.k_or_guess() as f64, problem.smaller() as f64);
    match problem.blocks() {
        Some(Blocks { width, basis }) => {
            let basis = basis.map_or_else(|| krylov_basis(k, dim), |basis| (basis as f64).min(dim));
            (width as f64, (20.0 * k + 300.0).min(2.0 * dim), basis)
        }
        None => (BLOCK, krylov_columns(k, dim), krylov_basis(k, dim)),
    }
}

/// Predicts the time of the first `n_steps` products of block Krylov iteration.
pub(super) fn estimate_seconds(problem: &Problem, n_steps: usize) -> f64 {
    let columns = n_steps as f64 * BLOCK;
    let reading = problem.reading.map_or(0.0, |reading| reading.bytes / READING);
    let steps = n_steps as f64 * (iteration_pass(problem, BLOCK).max(reading) + STEP) + packing_once(problem);
    steps + 4.0 * problem.smaller() as f64 * columns * columns / NARROW_F64
}

/// Time to pack the columns of wide data, if they are kept packed. That of rows is left out: their products are bound by
/// arithmetic with or without it.
fn packing_once(problem: &Problem) -> f64 {
    let is_strided = problem.n < problem.p && packed(problem).is_some();
    if is_strided { problem.n_stored as f64 * problem.value_bytes as f64 / STRIDED } else { 0.0 }
}

/// Time of a product of block Krylov iteration with `columns` columns.
fn iteration_pass(problem: &Problem, columns: f64) -> f64 {
    let is_strided = !problem.sparse && problem.n < problem.p && packed(problem).is_none();
    pass_at(if is_strided { STRIDED } else { MEMORY }, problem, columns)
}

/// Time of a product of `B'B` with `columns` columns of data that are not packed.
fn pass(problem: &Problem, columns: f64) -> f64 {
    let memory = if problem.sparse || problem.n >= problem.p { MEMORY } else { STRIDED };
    pass_at(memory, problem, columns)
}

/// As [`pass`], of values that are read at `memory` bytes a second.
fn pass_at(memory: f64, problem: &Problem, columns: f64) -> f64 {
    let stored = problem.n_stored as f64;
    let speed = match (problem.sparse, problem.value_bytes) {
        (true, 4) => SPARSE_F32,
        (true, _) => SPARSE_F64,
        (false, 4) => NARROW_F32,
        (false, _) => NARROW_F64,
    };
    (4.0 * stored * columns / speed).max(stored * problem.value_bytes as f64 / memory)
}

/// Number of columns that block Krylov iteration multiplies by the matrix to find `k` components: half as many do where the
/// variances fall quickly, up to five times as many where they are equal.
fn krylov_columns(k: f64, dim: f64) -> f64 {
    (8.0 * k + 80.0).min(2.0 * dim)
}

/// Tests that block Krylov iteration for `k` of `dim` components multiplies at least `dim` vectors.
pub(crate) fn takes_unit_vectors(dim: usize, k: usize) -> bool {
    krylov_columns(k as f64, dim as f64) >= dim as f64
}

/// Number of columns of the Krylov basis.
fn krylov_basis(k: f64, dim: f64) -> f64 {
    (3.0 * k + 32.0).min(dim)
}

fn orthogonalisation(dim: f64, basis: f64, columns: f64) -> f64 {
    4.0 * dim * basis * columns / NARROW_F64 + EIGENVALUES * basis.powi(3) + STEP * columns / BLOCK
}

/// Seconds for `k` eigenvectors of an explicit matrix.
fn eigenvectors(dim: f64, k: f64) -> f64 {
    let (rows, wanted) = (dim as usize, Some(k as usize));
    if takes_all(rows, wanted) {
        return 2.6e-10 * dim.powi(3) + SWEEP * dim * dim + 2.0 * dim * dim * k / WIDE;
    }
    if !iterates(rows, wanted) {
        return TRIDIAGONAL * dim.powi(3) + VECTOR * dim * k + 6.0 * dim * dim * k / WIDE;
    }
    let columns = krylov_columns(k, dim) * 2.0;
    2.0 * dim * dim * columns / NARROW_F64 + orthogonalisation(dim, krylov_basis(k, dim), columns)
}
