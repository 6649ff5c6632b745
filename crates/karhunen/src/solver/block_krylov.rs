//! The leading eigenpairs of a symmetric positive semi-definite operator, by block Lanczos with thick restart.
//!
//! Golub & Underwood 1977 (blocks) and Wu & Simon 2000, doi:10.1137/S0895479898334605 (thick restart), with full
//! reorthogonalisation. The Krylov decomposition `A V = V H + Q T` holds to rounding for the computed products
//! `A V`: `V` are orthonormal columns, `Q` is the next block, and `T` the residual block that couples it to `V`. A
//! Ritz pair `(theta, V s)` therefore has the residual `V (H s - theta s) + Q T s`, whose norm needs no further
//! product.

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::basis::{Basis, tall_t_product};
use crate::linalg::decomp::orthonormal::{Fresh, Orthonormal, orthonormalize_against, polish};
use crate::linalg::dense::small::{binade, multiply, t_multiply};
use crate::operator::SymOp;
use crate::random::Purpose;
use crate::scalar::largest;
use crate::solver::pace::{Progress, Schedule, Stagnation};
use crate::solver::spectrum::Wanted;

/// Rounding level of residuals, relative to the largest eigenvalue: smaller tolerances are raised to it.
pub(crate) const ROUNDING: f64 = 1e-14;
/// Columns of norm below this, relative to the largest eigenvalue, are rounding errors and not new directions.
const NEGLIGIBLE: f64 = 1e-15;
/// Columns of a wide block.
pub(super) const WIDE_BLOCK: usize = 16;

mod ritz;
mod share;

use ritz::{Ritz, add_squares};

/// Parameters of the iteration.
#[derive(Clone, Debug)]
pub(crate) struct KrylovOptions {
    /// A pair has converged when `||A w - lambda w|| <= tol lambda_1`; values below 1e-14 count as 1e-14.
    pub(crate) tol: f64,
    /// The most products with the operator (passes over the data), over all calls. The products that a basis of
    /// `k` columns takes are always made.
    pub(crate) max_iter: usize,
    /// Columns of one product; 8 unless given.
    pub(crate) block_size: Option<usize>,
    /// The most columns of the basis, of `dim` values each. By default `3 k`, or `2 k` and six blocks if that is
    /// more. Raised to `k` and two blocks if less.
    pub(crate) max_basis: Option<usize>,
    /// Compute residuals after every product: where a product reads the data again, one more costs more than that.
    pub(crate) check_every_product: bool,
    /// Seed of the random directions of the first block.
    pub(crate) seed: u64,
    /// Further directions of the first block: orthonormal columns of `dim` values.
    pub(crate) start: Option<Matrix>,
}

impl Default for KrylovOptions {
    fn default() -> Self {
        Self {
            tol: 1e-6,
            max_iter: 1000,
            block_size: None,
            max_basis: None,
            check_every_product: false,
            seed: 0,
            start: None,
        }
    }
}

/// The leading eigenpairs and their residuals.
#[derive(Clone, Debug)]
pub(crate) struct Eigenpairs {
    /// Eigenvalues, descending, never negative.
    pub(crate) values: Vec<f64>,
    /// Orthonormal eigenvectors as columns, shape (dim, k).
    pub(crate) vectors: Matrix,
    /// `||A w - lambda w|| / lambda_1` of every pair; 0 for the zero operator.
    pub(crate) residuals: Vec<f64>,
    /// Products with the operator so far.
    pub(crate) n_iterations: usize,
}

/// Outcome of a search.
#[derive(Clone, Debug)]
pub(crate) enum Search {
    /// The wanted pairs.
    Found(Eigenpairs),
    /// The sum needs more pairs than were searched for: at least this many.
    Short(usize),
}

/// A search for leading eigenpairs, which can be continued for more pairs.
pub(crate) struct BlockKrylov<'a> {
    op: &'a dyn SymOp,
    options: KrylovOptions,
    block_size: usize,
    basis: Basis,
    /// `V' A V` as computed, in the leading (len, len) entries: symmetric up to the noise of the products.
    h: Matrix,
    /// `Q`, orthonormal to `V`; no columns once `V` spans everything.
    next: Matrix,
    /// `T`: one row for each column of `next`, one column for each of `V` from `residual_start` on.
    residual_block: Matrix,
    residual_start: usize,
    /// Norms of the residual parts that restarts removed, for each column of `V`: noise of the products.
    slack: Vec<f64>,
    /// A power of two that products are divided by.
    unit: Option<f64>,
    fresh: Fresh,
    /// Number of random starting directions: eigenvalues of at most this multiplicity are found completely.
    n_directions: usize,
    steps_since_start: usize,
    /// Value of `steps_since_start` before which small residuals do not end the search.
    steps_needed: usize,
    /// Difference of the two triangles of `V'AV`: root mean square norm of a column, the largest of all blocks.
    noise: f64,
    n_iterations: usize,
    n_columns: usize,
}

/// Columns of the basis for `k` pairs of dimension `dim` and blocks of at most `block` columns.
fn capacity(k: usize, block: usize, max_basis: Option<usize>, dim: usize) -> usize {
    let wanted = max_basis.unwrap_or((3 * k).max(2 * k + 6 * block));
    wanted.max(k + 2 * block).min(dim)
}

/// Memory estimate in bytes of a search for `k` pairs of an operator of dimension `dim` with `n_threads` threads,
/// excluding the operator: the basis, blocks of it, the sums of a product, and the projected problem. `block_size` and
/// `max_basis` as in [`KrylovOptions`].
pub(crate) fn need(
    dim: usize,
    k: usize,
    (block_size, max_basis): (Option<usize>, Option<usize>),
    n_threads: usize,
) -> f64 {
    let block = block_size.unwrap_or(WIDE_BLOCK).min(dim);
    let basis = capacity(k, block, max_basis, dim);
    let blocks = dim as f64 * block as f64 * (6.0 + 2.0 * n_threads as f64);
    let small = 6.0 * (basis as f64).powi(2) * (1.0 + n_threads as f64 / 4.0);
    8.0 * (dim as f64 * (basis + 3 * k) as f64 + blocks + small)
}

impl<'a> BlockKrylov<'a> {
    /// Prepares a search, without a product.
    ///
    /// # Errors
    /// [`Error::Option`] for a block of no columns, or a tolerance that is negative or NaN.
    pub(crate) fn new(op: &'a dyn SymOp, options: KrylovOptions) -> Result<Self> {
        let refuse = |option, value: OptionValue, rule: &'static str| Err(Error::option(option, value, rule));
        if options.tol.is_nan() || options.tol < 0.0 {
            return refuse(options::TOL, options.tol.into(), "it must be a number and not negative");
        }
        if options.block_size == Some(0) {
            return refuse(options::BLOCK_SIZE, 0usize.into(), "a block needs at least one column");
        }
        let dim = op.dim();
        let block_size = options.block_size.unwrap_or(8).min(dim);
        Ok(Self {
            op,
            block_size,
            basis: Basis::new(dim, 0),
            h: Matrix::zeros(0, 0),
            next: Matrix::zeros(dim, 0),
            residual_block: Matrix::zeros(0, 0),
            residual_start: 0,
            slack: Vec::new(),
            unit: None,
            fresh: Fresh::new(Purpose::KrylovStart.of(options.seed)),
            n_directions: 0,
            steps_since_start: 0,
            steps_needed: 0,
            noise: 0.0,
            n_iterations: 0,
            n_columns: 0,
            options,
        })
    }

    /// The `k` leading eigenpairs, `k <= dim`, or the fewer of them that reach a wanted sum. Continues an earlier
    /// search. Stops when all residuals are within the tolerance, at the iteration limit, when the noise of the
    /// products allows no further progress, or when the sum clearly needs more than `k` pairs.
    ///
    /// Ritz values never exceed the eigenvalues, so pairs that reach the sum by Ritz values suffice.
    ///
    /// # Errors
    /// Errors of the operator; [`Error::Stopped`]; [`Error::Decomposition`] if a product is not finite.
    pub(crate) fn leading(&mut self, wanted: Wanted, k: usize, exec: &Exec<'_>) -> Result<Search> {
        assert!(k <= self.op.dim(), "{k} eigenpairs of an operator of dimension {}", self.op.dim());
        self.ensure_capacity(k);
        if k > 0 && self.n_directions == 0 {
            self.begin(&exec.part(0.0, 0.0))?;
            self.ensure_capacity(k);
        }
        let mut progress = Progress::new(self.tol());
        let mut schedule = Schedule::new(k + (k / 2).max(2 * self.block_size), self.block_size);
        let mut stagnation = Stagnation::new();
        loop {
            let exhausted = self.n_iterations >= self.options.max_iter || self.next.n_cols() == 0;
            let full = self.basis.len() + self.next.n_cols() > self.basis.capacity();
            if self.basis.len() >= k && (exhausted || full || self.is_due(&schedule)) {
                let mut ritz = self.ritz(k)?;
                let enough = self.enough(&ritz.values[..k], wanted);
                ritz.residuals.truncate(enough.unwrap_or(k));
                let worst = ritz.worst();
                schedule.checked(self.n_columns, self.basis.len(), worst, self.tol());
                progress.residual(worst);
                exec.report_residual(worst, self.tol());
                exec.report(progress.fraction())?;
                let met = worst <= self.tol();
                let done = met && self.steps_since_start >= self.steps_needed;
                let hidden = done && self.may_hide_copies(&ritz.values[..ritz.residuals.len()]);
                let stagnated =
                    full && !met && stagnation.detected(&ritz.residuals, self.tol(), self.noise(&ritz));
                let over = exhausted || (done && !hidden) || stagnated;
                if enough.is_none()
                    && (over || (full && self.falls_short(&ritz, wanted)))
                    && k < self.op.dim()
                {
                    return Ok(Search::Short(self.more(&ritz.values[..k], wanted)));
                }
                if over {
                    exec.report(1.0)?;
                    return Ok(Search::Found(self.finish(ritz, exec)?));
                }
                let unreported = exec.part(progress.fraction(), progress.fraction());
                if full || hidden {
                    self.restart(&ritz, k, &unreported)?;
                }
                if hidden {
                    self.add_directions(&unreported)?;
                    self.ensure_capacity(k);
                    continue;
                }
            }
            let before = progress.fraction();
            progress.columns(self.basis.len() + self.next.n_cols(), self.basis.capacity());
            let now = progress.fraction();
            self.step(&exec.part(before, now), &exec.part(now, now))?;
        }
    }

    /// Begins with the start of the options and random directions, with the start that the operator offers, or with
    /// random directions.
    fn begin(&mut self, exec: &Exec<'_>) -> Result<()> {
        if let Some(start) = self.options.start.take() {
            // Random directions are added in any case: the others may miss an eigenvector altogether.
            self.residual_block = Matrix::zeros(start.n_cols(), 0);
            self.next = start;
            return self.add_directions(exec);
        }
        match self.op.start() {
            Some(start) => {
                self.n_directions = start.n_cols();
                self.next = start.clone();
                Ok(())
            }
            None => self.add_directions(exec),
        }
    }

    fn is_due(&self, schedule: &Schedule) -> bool {
        self.options.check_every_product || schedule.due(self.n_columns)
    }

    /// Lowers the tolerance.
    pub(crate) fn tighten(&mut self, tol: f64) {
        self.options.tol = self.options.tol.min(tol);
    }

    fn tol(&self) -> f64 {
        self.options.tol.max(ROUNDING)
    }

    /// Makes the basis large enough for `k` pairs and some blocks.
    fn ensure_capacity(&mut self, k: usize) {
        let block = self.block_size.max(self.next.n_cols());
        self.reserve(capacity(k, block, self.options.max_basis, self.op.dim()));
    }

    /// Enlarges the basis to `capacity` columns, at most the dimension.
    fn reserve(&mut self, capacity: usize) {
        let capacity = capacity.min(self.op.dim());
        if capacity > self.basis.capacity() {
            self.basis.grow(capacity);
            let old = std::mem::replace(&mut self.h, Matrix::zeros(capacity, capacity));
            for i in 0..old.n_rows() {
                self.h.row_mut(i)[..old.n_cols()].copy_from_slice(old.row(i));
            }
        }
    }

    /// Widens the next block by random directions.
    fn add_directions(&mut self, exec: &Exec<'_>) -> Result<()> {
        let (dim, old) = self.next.shape();
        let more = self.fresh.columns(dim, self.block_size);
        let mut both = Matrix::from_fn(dim, old + self.block_size, |i, j| {
            if j < old { self.next[(i, j)] } else { more[(i, j - old)] }
        });
        let gram = self.basis.project_out(&mut both, exec)?;
        let Orthonormal { q, r, .. } =
            orthonormalize_against(&self.basis, both, &gram, f64::MIN_POSITIVE, &mut self.fresh, exec)?;
        // Q_old T = Q_new (R[:, ..old] T).
        self.residual_block = multiply(&r.columns(0..old), &self.residual_block);
        self.next = q;
        self.n_directions += self.block_size;
        // Copies of an eigenvalue appear long before they are accurate: half the steps of the first ones suffice.
        self.steps_needed = self.steps_needed.max(self.steps_since_start / 2 + 2);
        self.steps_since_start = 0;
        Ok(())
    }

    /// Appends the next block to the basis, applies the operator to it and orthonormalizes the product.
    fn step(&mut self, product_exec: &Exec<'_>, exec: &Exec<'_>) -> Result<()> {
        let (dim, width) = self.next.shape();
        let len = self.basis.len();
        let mut w = self.op.apply(&self.next, product_exec)?;
        self.n_iterations += 1;
        self.n_columns += width;
        self.steps_since_start += 1;
        if self.unit.is_none() {
            self.unit = binade(w.as_slice());
        }
        let unit = self.unit.unwrap_or(1.0);
        w.as_mut_slice().iter_mut().for_each(|x| *x /= unit);

        self.basis.append(&self.next, exec)?;
        // The known part of V'AQ: the residual block, by symmetry, and Q'AQ. Before it there are zeros.
        let own = tall_t_product(&self.next, &w, exec)?;
        let start = self.residual_start;
        let known = Matrix::from_fn(len + width - start, width, |i, j| {
            if i < len - start { self.residual_block[(j, i)] } else { own[(i - (len - start), j)] }
        });
        let correction = self.basis.subtract_then_project(&known, &mut w, exec)?;
        let gram = self.basis.subtract_then_gram(&correction, &mut w, exec)?;
        for i in 0..len + width {
            for j in 0..width {
                let known = if i < start { 0.0 } else { known[(i - start, j)] };
                self.h[(i, len + j)] = known + correction[(i, j)];
                if i < len {
                    self.h[(len + j, i)] = known;
                }
            }
        }
        let asymmetry: f64 = correction.as_slice()[..len * width].iter().map(|x| x * x).sum();
        self.noise = self.noise.max((asymmetry / width as f64).sqrt());
        self.slack.resize(len + width, 0.0);

        let largest = largest((0..len + width).map(|i| self.h[(i, i)]));
        let floor = NEGLIGIBLE * largest * (dim as f64).sqrt().max(4.0);
        let Orthonormal { q, r, .. } =
            orthonormalize_against(&self.basis, w, &gram, floor, &mut self.fresh, exec)?;
        self.next = q;
        self.residual_block = r;
        self.residual_start = len;
        Ok(())
    }

    /// Replaces the basis by the leading Ritz vectors: all `k` wanted ones and a part of the others.
    fn restart(&mut self, ritz: &Ritz, k: usize, exec: &Exec<'_>) -> Result<()> {
        let len = self.basis.len();
        let width = self.next.n_cols();
        // Keeping more saves a product now and then; keeping less makes restarts, and their
        // eigendecompositions, rarer.
        let tenths = if self.options.check_every_product { 7 } else { 5 };
        let keep = (k + (len - k) * tenths / 10).max(k + width).min(self.basis.capacity() - width).min(len);
        let s = ritz.vectors.columns(0..keep);
        let (inside, residual_block) = self.defects(&s, &ritz.values);
        // In the new basis: S'HS = diag(theta) + S'(HS - S diag(theta)).
        let along = t_multiply(&s, &inside);
        let lost = multiply(&s, &along);
        let mut cut = inside;
        cut.as_mut_slice().iter_mut().zip(lost.as_slice()).for_each(|(inside, lost)| *inside -= lost);
        let mut squares = vec![0.0; keep];
        add_squares(&cut, |_| 1.0, &mut squares);
        add_squares(&s, |i| self.slack[i], &mut squares);
        self.slack = squares.into_iter().map(f64::sqrt).collect();
        for i in 0..keep {
            for j in 0..keep {
                self.h[(i, j)] = along[(i, j)] + if i == j { ritz.values[i] } else { 0.0 };
            }
        }
        self.residual_block = residual_block;
        self.residual_start = 0;
        self.basis.rotate(&s, exec)
    }

    /// The noise of the products, relative to the largest eigenvalue.
    fn noise(&self, ritz: &Ritz) -> f64 {
        self.noise / ritz.values.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE)
    }

    /// Tests whether wanted values lie below a cluster with as many members as there were random directions. Such
    /// an eigenvalue may have further copies, which no Krylov space of these directions contains.
    fn may_hide_copies(&self, wanted: &[f64]) -> bool {
        let near = 10.0 * self.tol() * wanted.first().copied().unwrap_or(0.0);
        let last = wanted.last().copied().unwrap_or(0.0);
        (1..self.op.dim()).contains(&self.n_directions)
            && wanted.windows(self.n_directions).any(|w| {
                let lowest = w[self.n_directions - 1];
                w[0] - lowest <= near && last < lowest - near
            })
    }

    /// The pairs whose residuals were computed.
    fn finish(&self, ritz: Ritz, exec: &Exec<'_>) -> Result<Eigenpairs> {
        let k = ritz.residuals.len();
        let unit = self.unit.unwrap_or(1.0);
        let exec = exec.part(1.0, 1.0);
        let vectors = self.basis.combine(&ritz.vectors.columns(0..k), &exec)?;
        let vectors = polish(vectors, self.options.seed, &exec)?;
        Ok(Eigenpairs {
            values: ritz.values[..k].iter().map(|x| x.max(0.0) * unit).collect(),
            vectors,
            residuals: ritz.residuals,
            n_iterations: self.n_iterations,
        })
    }
}

#[cfg(test)]
mod tests;
