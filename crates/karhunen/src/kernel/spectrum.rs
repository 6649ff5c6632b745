//! Eigenpairs of the centred kernel matrix by the exact routes, and the treatment of negative eigenvalues.

use crate::error::{Advice, Error, Result};
use crate::exec::Exec;
use crate::kernel::centred::{Centred, Means, centred_matrix};
use crate::kernel::function::Kernel;
use crate::kernel::gram::Gram;
use crate::linalg::Matrix;
use crate::linalg::decomp::basis::{add_tall_product, tall_t_product};
use crate::linalg::decomp::eigh;
use crate::linalg::dense::residual::relative_residuals;
use crate::linalg::normals::gaussian;
use crate::linalg::tiles::exp::Exp;
use crate::linalg::tiles::pairs::width;
use crate::operator::{LoggedSym, SymOp};
use crate::pca::NComponents;
use crate::random::Purpose;
use crate::scalar::largest;
use crate::solver::{Blocks, IterationOptions, Pairs, Reduced, Wanted, leading};

/// Leading eigenpairs of the weighted, centred kernel matrix.
pub(super) struct KernelSpectrum {
    /// Eigenvalues, descending, negative ones included.
    pub(super) values: Vec<f64>,
    /// Orthonormal eigenvectors as columns, shape (n, k).
    pub(super) vectors: Matrix,
    /// `||K u - lambda u|| / lambda_1` of each pair.
    pub(super) residuals: Vec<f64>,
    /// Number of products with the kernel matrix.
    pub(super) n_passes: usize,
    /// The sum of the positive eigenvalues, unless an iteration leaves it unknown.
    pub(super) total: Option<f64>,
    /// The smallest eigenvalue, if known.
    pub(super) smallest: Option<f64>,
    pub(super) means: Means,
}

/// The trace of the centred kernel matrix, the sum of its positive eigenvalues if none is negative: `sum_i v_i (K_ii - a_i)`.
fn trace<E: Exp>(gram: &Gram<'_, E>, shares: &[f64], means: &Means) -> Result<f64> {
    let diagonal = gram.diagonal()?;
    Ok(shares.iter().zip(&diagonal).zip(&means.of_rows).map(|((v, k), a)| v * (k - a)).sum())
}

/// The largest eigenpairs of the kernel matrix, formed; centred if `centers`. `epsilon` is the relative rounding of kernel
/// values.
pub(super) fn full<E: Exp>(
    gram: &Gram<'_, E>,
    kernel: &Kernel,
    (shares, centers): (&[f64], bool),
    n_components: NComponents,
    epsilon: f64,
    exec: &Exec<'_>,
) -> Result<KernelSpectrum> {
    let (matrix, means) = centred_matrix(gram, (shares, centers), &exec.phase("kernel matrix"))?;
    let exec = exec.phase("eigenvectors");
    let n = matrix.n_rows();
    let reduced = Reduced::of(&matrix)?;
    let sum = if kernel.is_positive() {
        (0..n).map(|i| matrix[(i, i)]).sum()
    } else {
        reduced.values()?.iter().filter(|value| **value > 0.0).sum()
    };
    let total = means.without_rounding(sum, shares, epsilon);
    let (Pairs { values, vectors, residuals, .. }, smallest) =
        reduced.leading(n_components.wanted(n, total), &exec)?;
    let (total, smallest) = (Some(total), Some(smallest));
    let spectrum = KernelSpectrum { values, vectors, residuals, n_passes: 1, total, smallest, means };
    Ok(spectrum.without_rounding(shares, epsilon))
}

/// The largest eigenpairs by block Krylov iteration. `epsilon` is the relative rounding of kernel values.
pub(super) fn truncated<E: Exp>(
    gram: &Gram<'_, E>,
    kernel: &Kernel,
    (shares, centers): (&[f64], bool),
    n_components: NComponents,
    iteration: &IterationOptions<'_>,
    epsilon: f64,
    exec: &Exec<'_>,
) -> Result<KernelSpectrum> {
    let op = Centred::new(gram, (shares, centers));
    let exec = exec.phase("block Krylov").part(if iteration.start.is_some() { BEGINNING } else { 0.0 }, 1.0);
    let total = |means: &Means| Ok(means.without_rounding(trace(gram, shares, means)?, shares, epsilon));
    // A share refers to the total, which takes the means. Otherwise the first product of the iteration yields them.
    let known = match n_components {
        NComponents::Variance(_) => total(&op.means(&exec.part(0.0, 0.0))?)?,
        _ => 0.0,
    };
    let wanted = n_components.wanted(shares.len(), known);
    let (Pairs { values, vectors, residuals, n_products, .. }, smallest) =
        iterated(&op, kernel, wanted, iteration, &exec)?;
    let means = op.means(&exec.part(1.0, 1.0))?;
    let total = if kernel.is_positive() { Some(total(&means)?) } else { None };
    let spectrum =
        KernelSpectrum { values, vectors, residuals, n_passes: n_products, total, smallest, means };
    Ok(spectrum.without_rounding(shares, epsilon))
}

/// Share of the progress of an iteration that another one begins.
const BEGINNING: f64 = 0.75;

/// Approximate eigenvectors with which [`truncated`] begins, found in the same way with narrow blocks: of f32 with as
/// many columns as the blocks of f64 have for many components.
pub(super) fn beginning<E: Exp>(
    gram: &Gram<'_, E>,
    kernel: &Kernel,
    (shares, centers): (&[f64], bool),
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Pairs> {
    let exec = exec.phase("block Krylov").part(0.0, BEGINNING);
    let block_size = iteration.block_size.or(Some(width::<E>()));
    let iteration = &IterationOptions { block_size, ..*iteration };
    Ok(iterated(&Centred::new(gram, (shares, centers)), kernel, wanted, iteration, &exec)?.0)
}

/// The largest eigenpairs, and the smallest eigenvalue if that may be negative. A start, of as many columns as pairs are
/// wanted and for positive kernels only, is multiplied first: its Ritz pairs may be within the tolerance.
fn iterated<E: Exp>(
    op: &Centred<'_, E>,
    kernel: &Kernel,
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<(Pairs, Option<f64>)> {
    let op = &LoggedSym(op);
    let (mut n_before, mut done) = (0, 0.0);
    if let Some(start) = iteration.start {
        (n_before, done) = (1, 0.5);
        let pairs = ritz_pairs(op, start, &exec.part(0.0, done))?;
        let worst = largest(pairs.residuals.iter().copied());
        exec.report_residual(worst, iteration.tol);
        if worst <= iteration.tol {
            exec.report(1.0)?;
            return Ok((pairs, None));
        }
    }
    let exec = &exec.part(done, 1.0);
    // A share may need any number of components; with this many, blocks have their full width.
    let k = if let Wanted::Count(k) = wanted { k } else { 32.min(op.dim()) };
    let (smallest, lift, n_below) =
        if kernel.is_positive() { (None, 0.0, 0) } else { smallest_eigenvalue(op, k, iteration, exec)? };
    n_before += n_below;
    let max_iter = iteration.max_iter - n_before;
    // Wide enough blocks for a basis of `k` columns within the remaining passes.
    let block = iteration.block_size.unwrap_or_else(|| block_size::<E>(k).max(k.div_ceil(max_iter)));
    // The products that follow a start, where one is not enough, multiply it again: they are wide and few.
    let reading = iteration.start.map(|_| Blocks { width: block, basis: Some(2 * k) });
    let iteration = &IterationOptions { max_iter, block_size: Some(block), reading, ..*iteration };
    let lifted = Lifted { op, sign: 1.0, lift };
    let mut pairs = leading(&lifted, wanted, iteration, |_| iteration.tol, exec)?;
    let scale = pairs.values.first().copied().unwrap_or(0.0);
    pairs.values.iter_mut().for_each(|value| *value -= lift);
    if lift > 0.0 {
        let largest = pairs.values.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        pairs.residuals.iter_mut().for_each(|residual| *residual *= scale / largest);
    }
    pairs.n_products += n_before;
    Ok((pairs, smallest))
}

/// The Ritz pairs of the span of orthonormal columns, from one product.
fn ritz_pairs(op: &dyn SymOp, columns: &Matrix, exec: &Exec<'_>) -> Result<Pairs> {
    let product = op.apply(columns, exec)?;
    let exec = &exec.part(1.0, 1.0);
    let along = tall_t_product(columns, &product, exec)?;
    let k = columns.n_cols();
    let eigen = eigh::eigh(&Matrix::from_fn(k, k, |i, j| 0.5 * (along[(i, j)] + along[(j, i)])))?;
    let rotated = |columns: &Matrix| {
        let mut out = Matrix::zeros(columns.n_rows(), k);
        add_tall_product(columns, &eigen.vectors, &mut out, exec).map(|()| out)
    };
    let (vectors, product) = (rotated(columns)?, rotated(&product)?);
    let residuals = relative_residuals(&product, &vectors, &eigen.values);
    let values = eigen.values.into_iter().map(|value| value.max(0.0)).collect();
    Ok(Pairs { values, vectors, residuals, n_products: 1, others: None })
}

/// Block size of an iteration, a multiple of the register width. A pass over recomputed tiles costs as much as
/// about 60 columns, and a pass over stored tiles is bound by memory, so wide blocks pay if many components are
/// wanted; narrow ones need fewer columns in all.
fn block_size<E>(k: usize) -> usize {
    let strips = if k >= 32 { 2 } else { 1 };
    strips * width::<E>()
}

/// The fewest passes in which an iteration finds `k` components of `n` rows: enough for a basis of `k` columns, and
/// two for the smallest eigenvalue if it may be negative.
pub(super) fn fewest_passes(kernel: &Kernel, k: usize, n: usize, block_size: Option<usize>) -> usize {
    let basis = block_size.map_or(1, |columns| k.div_ceil(columns.min(n)));
    if kernel.is_positive() { basis } else { 2 + basis }
}

/// An estimate of the smallest eigenvalue, the shift that makes all eigenvalues non-negative, and the number of
/// products. Leaves enough passes for the `k` largest.
fn smallest_eigenvalue(
    op: &dyn SymOp,
    k: usize,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<(Option<f64>, f64, usize)> {
    /// Tolerance relative to the bound on the eigenvalues.
    const ROUGHLY: f64 = 1e-3;
    const MOST: usize = 40;
    /// Number of random vectors that the bound is estimated from.
    const PROBES: usize = 8;
    let unreported = exec.part(0.0, 0.0);
    let dim = op.dim();
    let probes = gaussian(dim, PROBES, Purpose::Probes.of(iteration.seed));
    let images = op.apply(&probes, &unreported)?;
    let squares: f64 = images.as_slice().iter().map(|x| x * x).sum();
    // The mean square estimates the squared Frobenius norm, whose root bounds every eigenvalue.
    let bound = 1.5 * (squares / PROBES.min(dim) as f64).sqrt();
    if bound == 0.0 {
        return Ok((Some(0.0), 0.0, 1));
    }
    let basis = iteration.block_size.map_or(1, |columns| k.div_ceil(columns.min(dim)));
    let spare = iteration.max_iter.saturating_sub(1 + basis);
    let max_iter = MOST.min(iteration.max_iter / 2).min(spare);
    let rough = IterationOptions { tol: ROUGHLY, max_iter, block_size: Some(8), reading: None, ..*iteration };
    let negated = Lifted { op, sign: -1.0, lift: bound };
    let pairs = leading(&negated, Wanted::Count(1), &rough, |_| ROUGHLY, &unreported)?;
    let (value, residual) = (bound - pairs.values[0], pairs.residuals[0].max(ROUGHLY));
    Ok((Some(value), (2.0 * residual * bound - value).max(0.0), 1 + pairs.n_products))
}

/// `sign A + lift I`.
struct Lifted<'a> {
    op: &'a dyn SymOp,
    sign: f64,
    lift: f64,
}

impl SymOp for Lifted<'_> {
    fn dim(&self) -> usize {
        self.op.dim()
    }

    fn apply(&self, q: &Matrix, exec: &Exec<'_>) -> Result<Matrix> {
        let mut product = self.op.apply(q, exec)?;
        if self.sign != 1.0 || self.lift != 0.0 {
            for (y, x) in product.as_mut_slice().iter_mut().zip(q.as_slice()) {
                *y = self.sign * *y + self.lift * x;
            }
        }
        Ok(product)
    }
}

/// Fraction of the largest eigenvalue below which an eigenvalue is zero, on every route; for f32 data if `single`.
pub(super) fn zero_share(single: bool) -> f64 {
    if single { 2e-7 } else { 1e-12 }
}

/// Applies scikit-learn's rule (`_check_psd_eigenvalues`): an eigenvalue below zero by more than a fraction of the
/// largest and a fixed number is an error; other negative values, and positive ones below a smaller fraction,
/// become zero. `scale` converts the values to the reported ones, to which the fixed number refers.
pub(super) fn clip(values: &mut [f64], scale: f64, single: bool) -> Result<()> {
    let (negative_share, negative) = if single { (5e-3, 1e-6) } else { (1e-5, 1e-10) };
    let largest = values.first().copied().unwrap_or(0.0);
    let smallest = values.last().copied().unwrap_or(0.0);
    if smallest < -negative_share * largest.max(0.0) && smallest * scale < -negative {
        let (smallest, largest) = (smallest * scale, largest * scale);
        let matrix = "the kernel matrix";
        let advice = vec![Advice::FewerComponents, Advice::AnotherKernel];
        return Err(Error::NegativeEigenvalue { smallest, largest, matrix, advice });
    }
    for value in values {
        if *value < zero_share(single) * largest {
            *value = 0.0;
        }
    }
    Ok(())
}

impl KernelSpectrum {
    /// Sets eigenvalues to zero that are within the rounding of centring; rows with equal images
    /// have no others.
    fn without_rounding(mut self, shares: &[f64], epsilon: f64) -> Self {
        let settle = |value: f64| self.means.without_rounding(value, shares, epsilon);
        self.values = self.values.iter().map(|value| settle(*value)).collect();
        self.smallest = self.smallest.map(settle);
        if self.values.first() == Some(&0.0) && self.values.last() == Some(&0.0) {
            // Residuals relative to a rounding error are meaningless.
            self.residuals.fill(0.0);
        }
        self
    }

    /// Adds independent rounding errors of kernel values, of size `error`, to the residuals: the errors of the centred matrix have
    /// a norm of at most about `2 error / sqrt(n)`.
    pub(super) fn with_rounding(mut self, error: f64, shares: &[f64]) -> Self {
        let largest = self.values.first().copied().unwrap_or(0.0);
        if largest > 0.0 {
            let norm = 2.0 * error * shares.iter().map(|v| v * v).sum::<f64>().sqrt() / largest;
            self.residuals.iter_mut().for_each(|residual| *residual = residual.hypot(norm));
        }
        self
    }

    /// Drops the eigenpairs that [`clip`] sets to zero, and negative ones.
    pub(super) fn drop_non_positive(&mut self, single: bool) {
        let least = zero_share(single) * self.values.first().copied().unwrap_or(0.0);
        let rank = self.values.iter().take_while(|&&value| value > 0.0 && value >= least).count();
        self.values.truncate(rank);
        self.residuals.truncate(rank);
        self.vectors = self.vectors.columns(0..rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::function::Gamma;
    use crate::kernel::rows::{KernelRows, Points, Preparation};
    use crate::kernel::tiles::Computed;
    use crate::testing::test_matrices::orthonormal;

    #[test]
    fn an_iteration_continues_from_any_start() {
        let (n, k, exec) = (300, 4, Exec::sequential());
        let rows = KernelRows::Dense(gaussian(n, 3, Purpose::Probes.of(1)));
        let kernel = Kernel::Rbf { gamma: Gamma::Value(0.2) };
        let points = Points::<f64>::new(&rows, Preparation { shift: &[], normalize: false }, &exec).unwrap();
        let tiles = Computed { points: &points, kernel: &kernel };
        let gram = Gram::recomputed(&tiles);
        let shares = vec![1.0 / n as f64; n];
        let count = NComponents::Count(k);
        let all = full(&gram, &kernel, (&shares, true), count, f64::EPSILON, &exec).unwrap();
        let found = |start: &Matrix| {
            let iteration = IterationOptions {
                tol: 1e-9,
                centring: 0.0,
                max_iter: 100,
                block_size: None,
                reading: None,
                seed: 0,
                start: Some(start),
            };
            truncated(&gram, &kernel, (&shares, true), count, &iteration, f64::EPSILON, &exec).unwrap()
        };
        let (from_all, from_any) = (found(&all.vectors), found(&orthonormal(n, k, 5)));
        assert_eq!(from_all.n_passes, 1);
        assert!(from_any.n_passes > 1);
        for spectrum in [from_all, from_any] {
            assert!(spectrum.residuals.iter().all(|residual| *residual <= 1e-9));
            for (value, exact) in spectrum.values.iter().zip(&all.values) {
                assert!((value - exact).abs() <= 1e-14, "{value} {exact}");
            }
            assert_eq!(spectrum.means, all.means, "of the first product");
        }
    }
}
