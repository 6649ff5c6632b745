//! Leading eigenpairs of a symmetric operator `S` whose products are expensive, by those of an approximation `S~`.
//!
//! `V`, shape (dim, m), are orthonormal columns of which the products `Z = S V` are known. With `E = Z - S~ V` and
//! `G = V'E`, the operator `S' = S~ + E V' + V E' - V G V'` is symmetric and satisfies `S' V = Z`: a block secant
//! correction (Schnabel 1983, *Quasi-Newton methods using multiple secant equations*). Each round solves `S'` and
//! multiplies the eigenvectors found by `S`, so that residuals are those of `S` itself.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::basis::Basis;
use crate::linalg::decomp::eigh;
use crate::linalg::decomp::orthonormal::{Fresh, Orthonormal, orthonormalize_against, polish};
use crate::linalg::dense::residual::relative_residuals;
use crate::linalg::dense::small::multiply;
use crate::operator::SymOp;
use crate::random::Purpose;
use crate::scalar::largest;
use crate::solver::block_krylov;
use crate::solver::leading::{Pairs, leading};
use crate::solver::pace::Progress;
use crate::solver::spectrum::{IterationOptions, Wanted};

/// Tolerance of a round as a fraction of the residual of the round before.
const FINER: f64 = 1e-2;
/// Columns of `V` after which a round has no room, as a multiple of the number of pairs; the leading [`KEPT`] remain.
const MOST: usize = 6;
const KEPT: usize = 2;
/// Columns of a smaller norm beside `V` are rounding errors.
const NEGLIGIBLE: f64 = 1e-13;
/// Reduction of the largest residual that counts as progress, and the number of rounds without any that ends the search.
const REDUCTION: f64 = 0.9;
const PATIENCE: usize = 8;

/// Largest number of columns of `V`, of which the first round may add `n_start`.
fn capacity(dim: usize, k: usize, n_start: usize) -> usize {
    (MOST * k).max(n_start + (KEPT + 1) * k).min(dim)
}

/// Memory estimate in bytes of `V`, `Z` and `E`, a copy of one of them, and the vectors of a round, for a start of `n_start`
/// columns.
pub(crate) fn need(dim: usize, k: usize, n_start: usize) -> f64 {
    (size_of::<f64>() * dim) as f64 * (4 * capacity(dim, k, n_start) + 5 * k + 2 * n_start) as f64
}

/// Tolerances of the rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTols {
    /// Tolerance of the first round, which solves the approximation without a correction.
    pub(crate) first: f64,
    /// Least tolerance: the rounding level of products with the approximation, relative to the largest eigenvalue.
    pub(crate) least: f64,
}

/// The `k` leading eigenpairs of `op`. The first round begins with the start of `iteration`, or with that of `op`, and
/// multiplies the start by `op` too: an approximation may lack a direction altogether, which the start then holds.
///
/// # Errors
/// Errors of the operators; [`crate::Error::Stopped`].
pub(crate) fn leading_corrected(
    op: &dyn SymOp,
    rounded: &dyn SymOp,
    k: usize,
    tols: RoundTols,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    let dim = op.dim();
    let tol = iteration.tol.max(block_krylov::ROUNDING);
    let mut start = iteration.start.or_else(|| op.start()).cloned();
    let n_start = start.as_ref().map_or(0, Matrix::n_cols);
    let mut corrected = Corrected::new(rounded, capacity(dim, k, n_start));
    let mut fresh = Fresh::new(Purpose::Completion.of(iteration.seed));
    let mut progress = Progress::new(tol);
    let (mut round_tol, mut least, mut n_idle) = (tols.first.max(tols.least), f64::INFINITY, 0);
    for n_products in 1.. {
        let round = IterationOptions { tol: round_tol, reading: None, start: start.as_ref(), ..*iteration };
        let step = exec.step(progress.fraction());
        let found = leading(&corrected, Wanted::Count(k), &round, |_| round_tol, &step)?;
        let new = match start.take().filter(|_| n_products == 1) {
            Some(start) => beside(&found.vectors, &start),
            None => found.vectors,
        };
        corrected.add(op, new, &mut fresh, &step)?;
        let RitzPairs { values, vectors, residuals, all } = corrected.ritz(k, &step)?;
        let worst = largest(residuals.iter().copied());
        progress.residual(worst);
        exec.report_residual(worst, tol);
        n_idle = if worst <= REDUCTION * least { 0 } else { n_idle + 1 };
        let whole = corrected.v.len() == dim;
        if worst <= tol || n_products >= iteration.max_iter || n_idle >= PATIENCE || whole {
            exec.report(1.0)?;
            let vectors = polish(vectors, iteration.seed, &exec.step(1.0))?;
            return Ok(Pairs { values, vectors, residuals, n_products, others: None });
        }
        corrected.make_room(k, &all, &step)?;
        least = least.min(worst);
        round_tol = (FINER * worst).max(tols.least);
        start = Some(vectors);
    }
    unreachable!("the number of products is limited")
}

/// `S'`.
struct Corrected<'a> {
    rounded: &'a dyn SymOp,
    /// `V`.
    v: Basis,
    /// `Z`.
    products: Basis,
    /// `E`.
    errors: Basis,
    /// `G`, symmetric up to rounding.
    along: Matrix,
}

/// The leading eigenpairs of `V'SV`.
struct RitzPairs {
    values: Vec<f64>,
    /// Ritz vectors, shape (dim, k).
    vectors: Matrix,
    residuals: Vec<f64>,
    /// All eigenvectors of `V'SV` by columns, shape (m, m).
    all: Matrix,
}

impl<'a> Corrected<'a> {
    /// Without a correction, and with memory for one of `capacity` columns.
    fn new(rounded: &'a dyn SymOp, capacity: usize) -> Self {
        let columns = || Basis::new(rounded.dim(), capacity);
        let (v, products, errors) = (columns(), columns(), columns());
        Self { rounded, v, products, errors, along: Matrix::zeros(0, 0) }
    }

    /// Multiplies new columns by `op` and corrects their products.
    fn add(&mut self, op: &dyn SymOp, mut new: Matrix, fresh: &mut Fresh, exec: &Exec<'_>) -> Result<()> {
        let gram = self.v.project_out(&mut new, exec)?;
        let Orthonormal { q, .. } = orthonormalize_against(&self.v, new, &gram, NEGLIGIBLE, fresh, exec)?;
        let product = op.apply(&q, exec)?;
        let mut error = self.rounded.apply(&q, exec)?;
        error
            .as_mut_slice()
            .iter_mut()
            .zip(product.as_slice())
            .for_each(|(error, exact)| *error = exact - *error);
        self.v.append(&q, exec)?;
        self.products.append(&product, exec)?;
        self.errors.append(&error, exec)?;
        self.set_along(exec)
    }

    fn set_along(&mut self, exec: &Exec<'_>) -> Result<()> {
        self.along = symmetric(&self.v.project(&self.errors.columns(), exec)?);
        Ok(())
    }

    fn ritz(&self, k: usize, exec: &Exec<'_>) -> Result<RitzPairs> {
        let eigen = eigh::eigh(&symmetric(&self.v.project(&self.products.columns(), exec)?))?;
        let leading = eigen.vectors.columns(0..k);
        let values: Vec<f64> = eigen.values[..k].iter().map(|value| value.max(0.0)).collect();
        let vectors = self.v.combine(&leading, exec)?;
        let residuals = relative_residuals(&self.products.combine(&leading, exec)?, &vectors, &values);
        Ok(RitzPairs { values, vectors, residuals, all: eigen.vectors })
    }

    /// Keeps the leading Ritz vectors alone if `k` more columns do not fit.
    fn make_room(&mut self, k: usize, all: &Matrix, exec: &Exec<'_>) -> Result<()> {
        if self.v.len() + k <= self.v.capacity() {
            return Ok(());
        }
        let kept = all.columns(0..(KEPT * k).min(self.v.capacity().saturating_sub(k)).max(k));
        for columns in [&mut self.v, &mut self.products, &mut self.errors] {
            columns.rotate(&kept, exec)?;
        }
        self.set_along(exec)
    }
}

impl SymOp for Corrected<'_> {
    fn dim(&self) -> usize {
        self.rounded.dim()
    }
    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut product = self.rounded.apply(q, exec)?;
        if self.v.len() == 0 {
            return Ok(product);
        }
        let inside = self.v.project(q, exec)?;
        let mut back = self.errors.project(q, exec)?;
        let twice = multiply(&self.along, &inside);
        back.as_mut_slice().iter_mut().zip(twice.as_slice()).for_each(|(back, twice)| *back -= twice);
        for part in [self.errors.combine(&inside, exec)?, self.v.combine(&back, exec)?] {
            product.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(sum, part)| *sum += part);
        }
        Ok(product)
    }
}

/// The columns of both.
fn beside(a: &Matrix, b: &Matrix) -> Matrix {
    let width = a.n_cols();
    Matrix::from_fn(
        a.n_rows(),
        width + b.n_cols(),
        |i, j| if j < width { a[(i, j)] } else { b[(i, j - width)] },
    )
}

/// The mean of a matrix and its transpose.
fn symmetric(a: &Matrix) -> Matrix {
    Matrix::from_fn(a.n_rows(), a.n_cols(), |i, j| 0.5 * (a[(i, j)] + a[(j, i)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal of slowly falling eigenvalues, and the same with rounded entries off the diagonal.
    fn pair(dim: usize, size: f64) -> (Matrix, Matrix) {
        let exact = Matrix::from_fn(dim, dim, |i, j| if i == j { 1.0 / (i + 1) as f64 } else { 0.0 });
        let noise = |i: usize, j: usize| size * (((i * 31 + j * 17) % 13) as f64 / 6.0 - 1.0);
        let rounded = Matrix::from_fn(dim, dim, |i, j| exact[(i, j)] + 0.5 * (noise(i, j) + noise(j, i)));
        (exact, rounded)
    }

    fn iteration(tol: f64) -> IterationOptions<'static> {
        IterationOptions {
            tol,
            centring: 0.0,
            max_iter: 100,
            block_size: None,
            reading: None,
            seed: 0,
            start: None,
        }
    }

    fn tols(first: f64) -> RoundTols {
        RoundTols { first, least: 1e-14 }
    }

    #[test]
    fn a_direction_that_the_approximation_lacks_is_found_by_the_start() {
        let (dim, k) = (30, 2);
        let exact = |i: usize, j: usize| if i == j { 1.0 / (i + 1) as f64 } else { 0.0 };
        let exact = Matrix::from_fn(dim, dim, exact);
        let mut rounded = exact.clone();
        rounded[(0, 0)] = 1e-3;
        let start = Matrix::from_fn(dim, 3, |i, j| if i == 7 * j { 1.0 } else { 0.0 });
        let begun = IterationOptions { start: Some(&start), ..iteration(1e-9) };
        let exec = Exec::sequential();
        let pairs = leading_corrected(&exact, &rounded, k, tols(1e-3), &begun, &exec).unwrap();
        assert!((pairs.values[0] - 1.0).abs() < 1e-9, "{:?}", pairs.values);
        assert!((pairs.values[1] - 0.5).abs() < 1e-9, "{:?}", pairs.values);
    }

    #[test]
    fn the_correction_reproduces_the_products_that_are_known() {
        let (dim, k) = (60, 4);
        let (exact, rounded) = pair(dim, 1e-2);
        let exec = Exec::sequential();
        let mut corrected = Corrected::new(&rounded, MOST * k);
        let mut fresh = Fresh::new(Purpose::Completion.of(0));
        for _ in 0..3 {
            let new = fresh.columns(dim, k);
            corrected.add(&exact, new, &mut fresh, &exec).unwrap();
        }
        let found = corrected.apply(&corrected.v.columns(), &exec).unwrap();
        let products = corrected.products.columns();
        let error = largest(found.as_slice().iter().zip(products.as_slice()).map(|(a, b)| (a - b).abs()));
        assert!(error < 1e-14, "{error:e}");
    }

    #[test]
    fn few_exact_products_give_the_exact_pairs() {
        let (dim, k) = (300, 6);
        let exec = Exec::sequential();
        for (size, most) in [(1e-5, 4), (1e-3, 9)] {
            let (exact, rounded) = pair(dim, size);
            let pairs = leading_corrected(&exact, &rounded, k, tols(size), &iteration(1e-9), &exec).unwrap();
            assert!(pairs.n_products <= most, "{size}: {} products", pairs.n_products);
            for (j, value) in pairs.values.iter().enumerate() {
                assert!((value - 1.0 / (j + 1) as f64).abs() < 1e-12, "{size} {j}: {value}");
            }
            assert!(pairs.residuals.iter().all(|residual| *residual <= 1e-9));
        }
    }

    #[test]
    fn a_basis_without_room_is_restarted_and_a_hopeless_search_ends() {
        let (exact, rounded) = pair(40, 0.3);
        let exec = Exec::sequential();
        let pairs = leading_corrected(&exact, &rounded, 2, tols(1e-2), &iteration(1e-10), &exec).unwrap();
        assert!(pairs.n_products > MOST, "{}", pairs.n_products);
        assert!((pairs.values[1] - 0.5).abs() < 1e-6, "{:?}", pairs.values);
        let limited = IterationOptions { max_iter: 2, ..iteration(1e-10) };
        let pairs = leading_corrected(&exact, &rounded, 2, tols(1e-2), &limited, &exec).unwrap();
        assert_eq!(pairs.n_products, 2);
        assert!(pairs.residuals.iter().any(|residual| *residual > 1e-10));
    }
}
