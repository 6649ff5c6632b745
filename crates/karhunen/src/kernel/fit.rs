//! One fit, from top to bottom: moments, kernel, route, spectrum, model.

use std::sync::Arc;

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, PassLog, Run};
use crate::kernel::begin::{is_accurate, may_begin};
use crate::kernel::checks::{refuse_feature_weights, refuse_negative, refuse_one_pass};
use crate::kernel::function::{BlockKernel, Gamma, Kernel};
use crate::kernel::gamma;
use crate::kernel::gram::Gram;
use crate::kernel::model::{KernelBasis, KernelConvergence, KernelModel, KernelParts, PreImageParts};
use crate::kernel::options::{KernelPca, PreImage};
use crate::kernel::preimage::{dense_rows, fit_ridge, no_rows};
use crate::kernel::reduced::{Reduced, ReducedFit};
use crate::kernel::route::KernelRoute;
use crate::kernel::rows::{KernelRows, Points, Preparation};
use crate::kernel::select::{KernelProblem, choose};
use crate::kernel::spectrum::{KernelSpectrum, beginning, clip, full, truncated};
use crate::kernel::tiles::{Called, Computed, Tiles};
use crate::linalg::tiles::exp::Exp;
use crate::linalg::tiles::pairs::Pairing;
use crate::linalg::{Dense, Matrix};
use crate::memory;
use crate::moments::{Moments, check_size};
use crate::operator::describe;
use crate::pca::NComponents;
use crate::scalar::{Scalar, largest};
use crate::solver::{IterationOptions, Pairs};
use crate::source::Source;
use crate::weights::{NormalizedWeights, Weights};

pub(super) fn fit<T: Scalar>(
    options: &KernelPca,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    (function, log): (Option<Arc<dyn BlockKernel>>, Option<&dyn PassLog>),
    run: &Run<'_>,
) -> Result<KernelModel> {
    let (n, p) = x.shape();
    options.check((n, p), function.is_some())?;
    check_size((n, p))?;
    check_input(options, x, weights)?;
    let NormalizedWeights { values: shares, totals } = NormalizedWeights::new(weights.samples, n)?;
    if !totals.sum.is_finite() {
        // If the sum of the weights overflows, so does the sum of their squares.
        return Err(Error::WeightSum { weight: totals.sum, weight_squared: totals.sum });
    }
    let shares = shares.unwrap_or_else(|| vec![1.0 / n as f64; n]);
    let single = T::EPSILON > f64::EPSILON;
    let given = options.kernel == Kernel::Precomputed;
    let problem = problem::<T>(options, (n, p));
    let (route, reason) = match options.solver {
        Some(route) => (route, "asked for".to_owned()),
        None => choose(&problem),
    };
    if let Some(pre_image) = &options.pre_image {
        pre_image.check(&options.kernel, route.approximates())?;
    }
    options.check_share(route)?;
    options.check_passes(route, n)?;
    problem.ask(route, run.expected_threads())?;
    if let Some(log) = log {
        let mut facts = options.facts();
        facts.extend(describe(x, &[("weights of rows", weights.samples)])?);
        log.begin(&facts)?;
    }
    let model = Exec::run(run, |exec| {
        let exec = &exec.logged(log);
        let moments = Moments::within(x, weights.samples, &exec.phase("means and variances"))?;
        if options.kernel.refuses_negative() {
            refuse_negative(x, options.kernel.name())?;
        }
        let kernel = gamma::resolve(&options.kernel, &moments, &shares, options.seed, |chosen| {
            KernelRows::gather(x, chosen)
        })?;
        let is_dense = if route.approximates() { !x.is_sparse() } else { KernelRows::collects_dense(x) };
        let ignores = kernel.ignores_shifts() && (options.center || kernel != Kernel::Linear);
        let shift = if ignores && is_dense { moments.mean.clone() } else { Vec::new() };
        let tol = tolerance(options, single);
        if route.approximates() {
            let preparation = Preparation { shift: &shift, normalize: kernel.normalizes() };
            let function = function.as_deref();
            let reduced = Reduced { options, route, kernel, x, function, preparation, shares: &shares, tol };
            let parts = reduced.parts(totals.sum, shift.clone(), reason, exec)?;
            return finish(parts, None, &shares, &moments.mean, exec);
        }
        let rows = if given { None } else { Some(KernelRows::collect(x, &exec.phase("rows"))?) };
        let problem = Exact {
            options,
            route,
            kernel,
            rows: rows.as_ref(),
            function: function.as_deref(),
            shift: &shift,
            shares: &shares,
            scale: totals.sum,
            tol,
            single,
        };
        let spectrum = if single && route != KernelRoute::Full {
            problem.solve::<T, f32>(x, exec)?
        } else {
            problem.solve::<T, f64>(x, exec)?
        };
        let parts = problem.parts(spectrum, weights.samples, reason, T::NAME)?;
        let basis = match rows {
            Some(rows) => KernelBasis::Rows(rows),
            None => KernelBasis::Precomputed { n_samples: n },
        };
        finish(
            KernelParts { basis, shift: shift.clone(), ..parts },
            weights.samples,
            &shares,
            &moments.mean,
            exec,
        )
    })?;
    Ok(match function {
        Some(function) => model.with_function(function),
        None => model,
    })
}

/// The tolerance of the residuals; `single` for f32 data.
fn tolerance(options: &KernelPca, single: bool) -> f64 {
    options.tol.unwrap_or(if single { 1e-5 } else { 1e-8 })
}

/// Size, type and options from which the route and its memory are predicted.
fn problem<T: Scalar>(options: &KernelPca, (n, p): (usize, usize)) -> KernelProblem {
    let single = T::EPSILON > f64::EPSILON;
    KernelProblem {
        n,
        p,
        n_components: options.n_components,
        single,
        may_begin: !single && may_begin(options, p, tolerance(options, single)),
        given: options.kernel == Kernel::Precomputed,
        may_approximate: options.kernel.is_positive_uncentred(),
        n_features: options.features(n, options.solver.unwrap_or(KernelRoute::Nystrom)),
        limit: memory::limit(options.memory_limit),
    }
}

/// Memory estimate of [`fit`] in bytes.
pub(super) fn memory_need<T: Scalar>(options: &KernelPca, x: &dyn Source<T>, run: &Run<'_>) -> f64 {
    let problem = problem::<T>(options, x.shape());
    problem.need(options.solver.unwrap_or_else(|| choose(&problem).0), run.expected_threads())
}

/// Adds the parts for pre-images. `mean` is the mean of the rows.
fn finish(
    mut parts: KernelParts,
    weights: Option<&[f64]>,
    shares: &[f64],
    mean: &[f64],
    exec: &Exec<'_>,
) -> Result<KernelModel> {
    let Some(pre_image) = parts.options.pre_image else { return KernelModel::try_from(parts) };
    let exec = exec.phase("pre-images");
    let approximates = parts.convergence.solver.approximates();
    let rows = dense_rows(&parts.basis)?;
    parts.pre_image = Some(match pre_image.resolved(&parts.kernel, approximates) {
        PreImage::FixedPoint => PreImageParts::FixedPoint { shares: shares.to_vec() },
        PreImage::Ridge { alpha } | PreImage::Auto { alpha } => {
            let model = KernelModel::try_from(parts.clone())?;
            let scores = match &parts.basis {
                KernelBasis::Rows(_) => model.fitted_scores(),
                _ => model.transform(&Dense::from(rows))?,
            };
            let centre = if matches!(pre_image, PreImage::Auto { .. }) { mean.to_vec() } else { Vec::new() };
            fit_ridge(&parts.kernel, alpha, (rows, centre), &scores, weights, &exec)?
        }
    });
    KernelModel::try_from(parts)
}

/// Checks shape and storage of the data.
fn check_input<T: Scalar>(options: &KernelPca, x: &dyn Source<T>, weights: &Weights<'_>) -> Result<()> {
    let (n, p) = x.shape();
    refuse_feature_weights(weights)?;
    refuse_one_pass(x, "kernel PCA")?;
    if options.kernel == Kernel::Precomputed {
        if n != p {
            let (found, expected) = (p, n);
            return Err(Error::Shape {
                what: "a precomputed kernel matrix",
                axis: "columns",
                found,
                expected,
            });
        }
        if options.solver == Some(KernelRoute::Tiles) {
            let rule = "a precomputed kernel matrix is there; there is nothing to recompute";
            return Err(Error::option(options::SOLVER, OptionValue::name("tiles"), rule));
        }
    }
    if options.pre_image.is_some() && (x.is_sparse() || options.solver == Some(KernelRoute::Fourier)) {
        return Err(no_rows());
    }
    if options.kernel == Kernel::Custom && x.is_sparse() {
        let rule = "a kernel function is called with dense rows; give dense data";
        return Err(Error::option(options::KERNEL, OptionValue::name("custom"), rule));
    }
    Ok(())
}

impl<T: Scalar> Reduced<'_, T> {
    /// All parts of the model.
    fn parts(&self, scale: f64, shift: Vec<f64>, reason: String, exec: &Exec<'_>) -> Result<KernelParts> {
        let ReducedFit { basis, projected, approximation } = self.fit(exec)?;
        let n_converged = projected.residuals.iter().filter(|&&r| r <= self.tol).count();
        check_convergence(self.options, self.route, &projected.residuals, 1, self.tol)?;
        Ok(KernelParts {
            kernel: self.kernel,
            basis,
            shift,
            offsets: projected.offsets,
            eigenvalues: projected.values.iter().map(|value| value * scale).collect(),
            total: Some(projected.total * scale),
            n_samples: self.x.shape().0,
            eigenvectors: Matrix::zeros(0, projected.coefficients.n_cols()),
            coefficients: projected.coefficients,
            pre_image: None,
            sum_of_weights: scale,
            options: self.options.clone(),
            dtype: T::NAME.to_owned(),
            convergence: KernelConvergence {
                solver: self.route,
                reason,
                n_passes: 1,
                residuals: projected.residuals,
                tol: self.tol,
                n_converged,
                smallest_eigenvalue: None,
                approximation: Some(approximation),
            },
        })
    }
}

/// With the option `strict`, refuses components that miss the tolerance.
fn check_convergence(
    options: &KernelPca,
    route: KernelRoute,
    residuals: &[f64],
    n_passes: usize,
    tol: f64,
) -> Result<()> {
    let (requested, converged) = (residuals.len(), residuals.iter().filter(|&&r| r <= tol).count());
    if !options.strict || converged == requested {
        return Ok(());
    }
    let residual = largest(residuals.iter().copied());
    let over = if route.approximates() { "the data" } else { "the kernel matrix" };
    let (solver, advice) = (route.name(), route.advice());
    Err(Error::NotConverged { solver, converged, requested, n_passes, over, residual, tol, advice })
}

/// A fit by one of the exact routes.
struct Exact<'a> {
    options: &'a KernelPca,
    route: KernelRoute,
    kernel: Kernel,
    /// `None` for a precomputed kernel matrix.
    rows: Option<&'a KernelRows>,
    function: Option<&'a dyn BlockKernel>,
    shift: &'a [f64],
    shares: &'a [f64],
    /// The sum of the weights, by which eigenvalues are multiplied.
    scale: f64,
    tol: f64,
    single: bool,
}

impl Exact<'_> {
    /// Finds the eigenpairs with kernel values of type `E`.
    fn solve<T: Scalar, E: Exp>(&self, x: &dyn Source<T>, exec: &Exec<'_>) -> Result<KernelSpectrum> {
        let values = exec.phase("kernel matrix");
        match (self.rows, self.function) {
            (None, _) => self.spectrum(&Gram::<E>::given(x, &values)?, None, exec),
            (Some(KernelRows::Dense(rows)), Some(function)) => {
                self.spectrum(&self.gram::<E>(&Called { function, rows }, exec)?, None, exec)
            }
            (Some(rows), _) => {
                let preparation = Preparation { shift: self.shift, normalize: self.kernel.normalizes() };
                let points = Points::<E>::new(rows, preparation, &values.part(0.0, 0.0))?;
                let tiles = Computed { points: &points, kernel: &self.kernel };
                if self.begins(rows.shape().1, &points) {
                    let begun = self.begin(rows, preparation, exec)?;
                    // One or a few passes do not repay storing the tiles.
                    return self.spectrum(&Gram::recomputed(&tiles), Some(&begun), exec);
                }
                self.spectrum(&self.gram(&tiles, exec)?, None, exec)
            }
        }
    }

    /// True if an iteration in f32 comes first.
    fn begins<E: Exp>(&self, p: usize, points: &Points<E>) -> bool {
        let Kernel::Rbf { gamma: Gamma::Value(gamma) } = self.kernel else { return false };
        if self.single || !self.route.iterates() || !may_begin(self.options, p, self.tol) {
            return false;
        }
        let norms: Vec<f64> = points.squared_norms().iter().map(|norm| norm.to_f64()).collect();
        is_accurate(gamma, &norms, self.shares, self.tol)
    }

    /// The leading eigenvectors of the kernel matrix in f32.
    fn begin(&self, rows: &KernelRows, preparation: Preparation<'_>, exec: &Exec<'_>) -> Result<Pairs> {
        /// Tolerance as a fraction of the requested one: the errors of the kernel values add to the residuals.
        const FINER: f64 = 0.5;
        let values = exec.phase("kernel matrix").part(0.0, 0.0);
        let points = Points::<f32>::new(rows, preparation, &values)?;
        let tiles = Computed { points: &points, kernel: &self.kernel };
        let iteration = self.iteration(None);
        let iteration =
            IterationOptions { tol: FINER * iteration.tol, max_iter: iteration.max_iter / 2, ..iteration };
        let wanted = self.options.n_components.wanted(self.shares.len(), 0.0);
        beginning(
            &self.gram::<f32>(&tiles, exec)?,
            &self.kernel,
            (self.shares, self.options.center),
            wanted,
            &iteration,
            exec,
        )
    }

    /// The kernel matrix of the routes.
    fn gram<'t, E: Exp>(&self, tiles: &'t dyn Tiles<E>, exec: &Exec<'_>) -> Result<Gram<'t, E>> {
        match self.route {
            KernelRoute::Stored => Gram::stored(tiles, &exec.phase("kernel matrix")),
            _ => Ok(Gram::recomputed(tiles)),
        }
    }

    /// The parameters of an iteration that continues from `begun`.
    fn iteration<'b>(&self, begun: Option<&'b Pairs>) -> IterationOptions<'b> {
        IterationOptions {
            tol: self.tol,
            centring: 0.0,
            max_iter: self.options.max_iter - begun.map_or(0, |pairs| pairs.n_products),
            block_size: self.options.block_size,
            reading: None,
            seed: self.options.seed,
            start: begun.map(|pairs| &pairs.vectors),
        }
    }

    fn spectrum<E: Exp>(
        &self,
        gram: &Gram<'_, E>,
        begun: Option<&Pairs>,
        exec: &Exec<'_>,
    ) -> Result<KernelSpectrum> {
        let n_components = self.options.n_components;
        // Given values have the rounding errors of their own type.
        let epsilon = if self.single && self.rows.is_none() { f32::EPSILON.into() } else { E::EPSILON };
        let rows = (self.shares, self.options.center);
        let found = if self.route == KernelRoute::Full {
            full(gram, &self.kernel, rows, n_components, epsilon, exec)?
        } else {
            let iteration = self.iteration(begun);
            truncated(gram, &self.kernel, rows, n_components, &iteration, epsilon, exec)?
        };
        let n_passes = found.n_passes + begun.map_or(0, |pairs| pairs.n_products);
        let rounding = epsilon * (found.means.size(self.shares) + self.size_of_distances());
        Ok(KernelSpectrum { n_passes, ..found.with_rounding(rounding, self.shares) })
    }

    /// The size of the numbers whose differences are the distances of sparse rows, as they enter kernel values.
    fn size_of_distances(&self) -> f64 {
        match (self.rows, self.kernel.gamma()) {
            (Some(KernelRows::Sparse { values, .. }), Some(Gamma::Value(gamma)))
                if self.kernel.ignores_shifts() && matches!(self.kernel.pairing(), Pairing::Product) =>
            {
                2.0 * gamma * values.iter().map(|x| x * x).sum::<f64>() / self.shares.len() as f64
            }
            _ => 0.0,
        }
    }

    /// All parts of the model but its basis.
    fn parts(
        &self,
        mut spectrum: KernelSpectrum,
        weights: Option<&[f64]>,
        reason: String,
        dtype: &'static str,
    ) -> Result<KernelParts> {
        if self.options.n_components == NComponents::All {
            spectrum.drop_non_positive(self.single);
        }
        clip(&mut spectrum.values, self.scale, self.single)?;
        let n_converged = spectrum.residuals.iter().filter(|&&r| r <= self.tol).count();
        check_convergence(self.options, self.route, &spectrum.residuals, spectrum.n_passes, self.tol)?;
        let eigenvectors = eigenvectors(&spectrum.vectors, weights);
        let eigenvalues: Vec<f64> = spectrum.values.iter().map(|value| value * self.scale).collect();
        let (coefficients, offsets) = self.coefficients(&eigenvectors, &eigenvalues, weights, &spectrum);
        Ok(KernelParts {
            kernel: self.kernel,
            basis: KernelBasis::Precomputed { n_samples: 0 },
            shift: Vec::new(),
            coefficients,
            offsets,
            eigenvalues,
            total: spectrum.total.map(|total| total * self.scale),
            n_samples: eigenvectors.n_rows(),
            eigenvectors,
            pre_image: None,
            sum_of_weights: self.scale,
            options: self.options.clone(),
            dtype: dtype.to_owned(),
            convergence: KernelConvergence {
                solver: self.route,
                reason,
                n_passes: spectrum.n_passes,
                residuals: spectrum.residuals,
                tol: self.tol,
                n_converged,
                smallest_eigenvalue: spectrum.smallest.map(|value| value * self.scale),
                approximation: None,
            },
        })
    }

    /// The coefficients of kernel values in scores, and the offsets subtracted: zeros without centring.
    fn coefficients(
        &self,
        eigenvectors: &Matrix,
        eigenvalues: &[f64],
        weights: Option<&[f64]>,
        spectrum: &KernelSpectrum,
    ) -> (Matrix, Vec<f64>) {
        let (n, k) = eigenvectors.shape();
        let mut coefficients = Matrix::from_fn(n, k, |i, c| {
            if eigenvalues[c] == 0.0 {
                return 0.0;
            }
            weights.map_or(1.0, |w| w[i]) * eigenvectors[(i, c)] / eigenvalues[c].sqrt()
        });
        let mut offsets = vec![0.0; k];
        for c in 0..k {
            // Zero up to rounding, as the constant vector is an eigenvector of eigenvalue zero.
            let sum: f64 = (0..n).map(|i| coefficients[(i, c)]).sum();
            let means = &spectrum.means;
            let with_means: f64 = (0..n).map(|i| coefficients[(i, c)] * means.of_rows[i]).sum();
            offsets[c] = with_means - sum * means.of_all;
            if self.options.center {
                (0..n).for_each(|i| coefficients[(i, c)] -= sum * self.shares[i]);
            }
        }
        (coefficients, offsets)
    }
}

/// The eigenvectors of the matrix of repeated rows, one entry for all copies of a row, with signs by
/// scikit-learn's rule for kernel matrices: the entry of largest absolute value is positive.
fn eigenvectors(vectors: &Matrix, weights: Option<&[f64]>) -> Matrix {
    /// Entries within this relative distance count as equally large, so that rounding does not decide a sign.
    const TIE: f64 = 1e-10;
    let (n, k) = vectors.shape();
    let factor: Vec<f64> = (0..n)
        .map(|i| match weights.map_or(1.0, |w| w[i]) {
            0.0 => 0.0,
            weight => 1.0 / weight.sqrt(),
        })
        .collect();
    let mut flipped = Matrix::from_fn(n, k, |i, c| vectors[(i, c)] * factor[i]);
    for c in 0..k {
        let largest = largest((0..n).map(|i| flipped[(i, c)].abs()));
        let decisive = (0..n).map(|i| flipped[(i, c)]).find(|x| x.abs() >= largest * (1.0 - TIE));
        if decisive.is_some_and(|x| x < 0.0) {
            (0..n).for_each(|i| flipped[(i, c)] = -flipped[(i, c)]);
        }
    }
    flipped
}
