//! The leading eigenpairs of a symmetric matrix: of one that is there, or of one that can only be applied; so many as
//! are wanted, or as many as it takes to reach a sum.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::residual::relative_residuals;
use crate::linalg::{Matrix, eigh};
use crate::operator::SymOp;
use crate::solver::block_krylov::{BlockKrylov, Eigenpairs, KrylovOptions};
use crate::solver::{Iteration, Spectrum, Wanted, count};

/// Eigenpairs of a symmetric matrix, descending.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    pub(crate) values: Vec<f64>,
    /// Columns, orthonormal.
    pub(crate) vectors: Matrix,
    /// `||A w - lambda w|| / lambda_1`.
    pub(crate) residuals: Vec<f64>,
    /// Products with the matrix.
    pub(crate) n_products: usize,
}

/// Below this dimension all eigenvectors cost as little as some.
const SMALL: usize = 192;
/// Residuals of an eigenproblem whose matrix is there, as a share of those asked for: it costs next to nothing.
const FINER: f64 = 1e-3;
/// As good as a full decomposition.
const EXACT: f64 = 1e-12;
/// Components to begin with where a sum must be reached.
const FIRST_GUESS: usize = 16;

/// Whether all eigenvectors of a matrix that is there are computed, where `wanted` are, or as many as a sum takes.
pub(super) fn takes_all(dim: usize, wanted: Option<usize>) -> bool {
    dim <= SMALL || wanted.is_none_or(|k| 4 * k > dim)
}

/// Of a matrix that is there. `tightened` as in [`leading`].
pub(crate) fn leading_of_matrix(
    a: &Matrix,
    wanted: Wanted,
    iteration: &Iteration,
    tightened: impl Fn(&[f64]) -> f64,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    let dim = a.n_rows();
    let count_wanted = if let Wanted::Count(k) = wanted { Some(k) } else { None };
    if !takes_all(dim, count_wanted) {
        let tol = (FINER * iteration.tol).max(EXACT);
        let finer = Iteration { tol, max_iter: 10_000, block_size: Some(16), seed: iteration.seed };
        let tightened = |values: &[f64]| tightened(values).clamp(EXACT, tol);
        let pairs = leading(a, wanted, &finer, tightened, exec)?;
        let tol = tightened(&pairs.values);
        if pairs.residuals.iter().all(|&r| r <= tol) {
            return Ok(pairs);
        }
    }
    exec.report(0.0)?;
    let all = eigh::eigh(a)?;
    let k = count(&all.values, wanted).unwrap_or(dim);
    let values: Vec<f64> = all.values[..k].iter().map(|v| v.max(0.0)).collect();
    let vectors = all.vectors.columns(0..k);
    let residuals = relative_residuals(&a.apply(&vectors, exec)?, &vectors, &values);
    Ok(Pairs { values, vectors, residuals, n_products: 1 })
}

/// Wide blocks read the data fewer times, but multiply more columns: they pay where many pairs are wanted.
fn wide_enough(wanted: Wanted) -> Option<usize> {
    matches!(wanted, Wanted::Count(k) if k >= 32).then_some(16)
}

/// Of a matrix that can be applied. `tightened` may ask for a smaller tolerance once the eigenvalues are known.
pub(crate) fn leading(
    op: &dyn SymOp,
    wanted: Wanted,
    iteration: &Iteration,
    tightened: impl Fn(&[f64]) -> f64,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    let dim = op.dim();
    let mut krylov = BlockKrylov::new(
        op,
        KrylovOptions {
            tol: iteration.tol,
            max_iter: iteration.max_iter,
            block_size: iteration.block_size.or(wide_enough(wanted)),
            max_basis: None,
            seed: iteration.seed,
        },
    )?;
    let mut tol = iteration.tol;
    let mut k = match wanted {
        Wanted::Count(k) => k,
        Wanted::Sum(_) => FIRST_GUESS.min(dim),
    };
    loop {
        let Eigenpairs { values, vectors, residuals, n_iterations, .. } = krylov.leading(k, exec)?;
        let enough = match count(&values, wanted) {
            None if k < dim => {
                k = (2 * k).min(dim);
                continue;
            }
            enough => enough.unwrap_or(k),
        };
        let smaller = tightened(&values[..enough]);
        if smaller < tol {
            tol = smaller;
            krylov.tighten(tol);
            k = enough;
            continue;
        }
        return Ok(Pairs { values, vectors, residuals, n_products: n_iterations }.truncated(enough));
    }
}

impl Pairs {
    /// The eigenpairs of `B'B` themselves.
    pub(crate) fn into_spectrum(self, exec: &Exec<'_>) -> Result<Spectrum> {
        Ok(Spectrum {
            values: self.values,
            components: self.vectors.transposed_by(exec)?,
            residuals: self.residuals,
            n_passes: self.n_products,
        })
    }

    fn truncated(mut self, k: usize) -> Self {
        if k < self.values.len() {
            self.values.truncate(k);
            self.residuals.truncate(k);
            self.vectors = self.vectors.columns(0..k);
        }
        self
    }
}
