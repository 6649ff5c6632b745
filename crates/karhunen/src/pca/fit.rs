//! One fit, from top to bottom: moments, map, route, spectrum, model.

use crate::affine::{Affine, Standardization};
use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::moments::{Columns, check_counts, check_size};
use crate::operator::{FirstPass, Logged, Products, Standardized, describe};
use crate::pca::convergence::{Convergence, Input};
use crate::pca::evidence::most_probable_dimension;
use crate::pca::fit_scatter::fit_once;
use crate::pca::limit::{self, Allowance};
use crate::pca::logged::Before;
use crate::pca::model::{ModelParts, PcaModel};
use crate::pca::{NComponents, Pca, logged, signs};
use crate::scalar::Scalar;
use crate::scaling::{Scales, Scaling};
use crate::solver::select::{RouteChoice, choose};
use crate::solver::{self, IterationOptions, Problem, Reading, Route, Spectrum};
use crate::source::{Counted, Pass, PassKind, Passes, Source};
use crate::weights::{NormalizedWeights, Totals, Weighting, Weights, check_feature_weights};

/// Ratio of the number of components of a share to the number that is known from a spectrum estimate or a search, up to which a
/// limit that is named suffices, and rows are not kept in memory.
const MORE_COMPONENTS: usize = 2;

/// Fits `x`.
pub(crate) fn fit<T: Scalar>(
    pca: &Pca,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    Before { start, refines, log }: Before<'_>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    let (n, p) = x.shape();
    pca.check((n, p))?;
    check_size((n, p))?;
    check_feature_weights(weights.features, p)?;
    if x.passes() == Passes::Once {
        if log.is_some() {
            return Err(Error::OnePass {
                work: "a fit that can be resumed".to_owned(),
                way_out: "give data that can be read again, such as a file or an array",
            });
        }
        return fit_once(pca, x, weights, run);
    }
    let NormalizedWeights { values: shares, totals } = NormalizedWeights::new(weights.samples, n)?;
    let shares = shares.as_deref();
    let correction = totals.correction(pca.weighting)?;
    let tol = tolerance::<T>(pca);
    let problem = problem::<T>(pca, x, shares.is_some(), log.is_some());
    let choice = chosen(pca, &problem);
    let predicted = match &choice {
        RouteChoice::Route(route, _) => Some(problem.predicted_passes(*route)),
        RouteChoice::Estimate(_) => None,
    };
    // Genotypes of packed files are counts.
    let checks =
        pca.scale == Scaling::Binomial && !matches!(x.pass(), Pass::Costly { kind: PassKind::Packed, .. });
    let more = usize::from(pca.scale == Scaling::Range || checks);
    let predicted = predicted.map(|passes| passes + more);
    let rows = x;
    let x = &Counted::new(x).observed(run.observer, predicted);
    let held = |factor| x.memory_within(factor).held;
    let allowance = Allowance::of(pca, x.pass(), &held);
    let n_threads = run.expected_threads();
    match &choice {
        RouteChoice::Route(route, _) => {
            let courses = |limited: &Problem| match pca.solver {
                Some(route) => limit::only(route)(limited),
                None => limited.courses(1),
            };
            allowance.ask(*route, &problem, n_threads, courses)?;
        }
        // The spectrum estimate allocates as block Krylov iteration for one component does.
        RouteChoice::Estimate(_) => {
            let courses = |limited: &Problem| share(pca, limited).courses(1);
            allowance.ask(Route::BlockKrylov, &problem.searching(1), n_threads, courses)?;
        }
    }
    let packs = log.is_none() && keeps_packed(&choice, &problem, allowance, n_threads);
    if let Some(log) = log {
        let mut facts = pca.facts();
        let weights = [("weights of rows", weights.samples), ("weights of columns", weights.features)];
        facts.extend(describe(rows, &weights)?);
        log.begin(&facts)?;
    }
    Exec::run(run, |exec| {
        let exec = &exec.logged(log);
        // Products and moments in one pass. Sparse rows in memory are multiplied about the mean of all of them.
        let covariance = matches!(choice, RouteChoice::Route(Route::Covariance, _));
        let sums = !x.is_sparse() || problem.reading.is_some();
        let one_pass = covariance && sums && pca.n_components != NComponents::Count(0);
        if let (RouteChoice::Route(route, _), false) = (&choice, one_pass) {
            allowance.let_keep(x, &problem, *route, n_threads);
        }
        if checks {
            x.visit(&mut |first, block| {
                check_counts(&block, first, shares.map(|w| &w[first..first + block.n_rows()]))
            })?;
        }
        let ranges = match pca.scale {
            Scaling::Range => Some(logged::ranges(x, shares, &exec.phase("ranges"))?),
            _ => None,
        };
        let standardization = Standardization {
            center: &pca.center,
            scales: Scales::new(&pca.scale, correction, ranges.as_deref()),
            feature_weights: weights.features,
        };
        let first_pass = first_pass(pca, &choice, &problem, standardization);
        let (moments, scatter, multiplied) = match first_pass.filter(|_| start.is_none()) {
            _ if one_pass => {
                let scatter = logged::scatter(x, shares, &exec.phase("covariance"))?;
                (scatter.moments.clone(), Some(scatter), None)
            }
            Some(first_pass) => {
                let exec = exec.phase("means and variances");
                let (moments, multiplied) = logged::start(x, shares, first_pass, &exec)?;
                (moments, None, Some(multiplied))
            }
            None => (logged::moments(x, shares, &exec.phase("means and variances"))?, None, None),
        };
        let columns = Columns::new(&moments, x, shares)?;
        let affine = Affine::new(&columns, standardization)?;
        if x.is_sparse() {
            check_factors(&affine.factor)?;
        }
        let wanted = pca.n_components.wanted(n.min(p), affine.total_variance);
        // Rounding errors of rows are independent.
        let centring = |epsilon: f64| epsilon * totals.sum_of_squares.sqrt();
        let iteration = IterationOptions {
            centring: centring(T::EPSILON),
            reading: problem.blocks(),
            start,
            ..iteration(pca, tol)
        };
        let mut cancelled = 0.0;
        let (route, reason, spectrum) = match scatter {
            // Products of tiny values underflow, and products about rounded means lose digits. In both cases the
            // values are mapped before they are multiplied.
            Some(scatter) if !columns.need_care() => {
                let matrix = scatter.into_covariance(affine.map());
                (Route::Covariance, choice.reason(), solver::solve_matrix(&matrix, wanted, &iteration, exec)?)
            }
            _ => {
                let standardized = Standardized::new(x, affine.map(), shares).starting_from(multiplied);
                // A spectrum estimate may leave for another route; its few products repay packing only of wide data.
                if packs && (n < p || matches!(choice, RouteChoice::Route(..))) {
                    standardized.keep_packed();
                }
                let op = Logged::new(&standardized, x);
                let (route, reason, spectrum) = match choice {
                    RouteChoice::Route(route, reason) => {
                        (route, reason, solver::solve(&op, route, wanted, &iteration, exec)?)
                    }
                    RouteChoice::Estimate(n_steps) => {
                        let ask = |route, k| {
                            if route != Route::BlockKrylov {
                                standardized.release_packed();
                            }
                            let problem_of_k = problem.searching(k);
                            // A search may turn out to need more components.
                            let courses = |limited: &Problem| {
                                share(pca, limited).courses(MORE_COMPONENTS * limited.k.unwrap_or(1))
                            };
                            allowance.ask(route, &problem_of_k, n_threads, courses)?;
                            let iterates = RouteChoice::Route(route, String::new());
                            if packs && keeps_packed(&iterates, &problem_of_k, allowance, n_threads) {
                                standardized.keep_packed();
                            }
                            // Rows that an earlier call kept give way to more components.
                            allowance.let_keep(x, &problem.searching(MORE_COMPONENTS * k), route, n_threads);
                            Ok(())
                        };
                        solver::solve_by_estimate(&op, (&problem, n_steps), wanted, &iteration, &ask, exec)?
                    }
                };
                // The SVD route centres tall data before it multiplies them, the covariance route columns far from zero.
                if (route != Route::Svd || n < p) && route != Route::Covariance {
                    let epsilon =
                        if x.is_sparse() || route == Route::BlockKrylov { T::EPSILON } else { f64::EPSILON };
                    let largest = spectrum.values.first().copied().unwrap_or(0.0);
                    cancelled = centring(epsilon) * op.cancelled(largest);
                }
                (route, reason, spectrum)
            }
        };
        // Columns without variance have a value of zero, and centred rows one less than there are.
        let rank = affine.variance.iter().filter(|variance| **variance > 0.0).count().min(n - 1);
        let n_values = problem.k.unwrap_or(spectrum.values.len()).min(rank);
        let followed = pca.solver.is_none()
            && route != Route::Svd
            && problem.affords_svd()
            && spectrum.loses_small_values(n_values)
            && allowance.ask(Route::Svd, &problem, n_threads, limit::only(Route::Svd)).is_ok();
        let (route, reason, mut spectrum) = if followed {
            let op = Standardized::new(x, affine.map(), shares);
            let spectrum = solver::solve(&Logged::new(&op, x), Route::Svd, wanted, &iteration, exec)?;
            (Route::Svd, format!("{route} lost small variances"), spectrum)
        } else {
            (route, reason, spectrum)
        };
        spectrum.truncate(n_above_rounding::<T>(&spectrum, route, (&columns, &affine.factor), &totals));
        let input = if refines { Input::Refined } else { Input::Rows };
        let (n_passes, n_samples, dtype) = (x.n_visits(), n, T::NAME);
        Solved { route, reason, tol, n_passes, spectrum, cancelled, input, affine, totals, n_samples, dtype }
            .model(pca, weights.features, exec)
    })
}

/// Truncates or extends to `k` components, of a fit of rows whose shorter side is `side`.
fn complete(
    spectrum: &mut Spectrum,
    k: usize,
    (route, side, dtype): (Route, usize, &str),
    exec: &Exec<'_>,
) -> Result<()> {
    let largest = spectrum.values.first().copied().unwrap_or(0.0);
    let rank = spectrum.values.len().min(k);
    spectrum.complete(k, largest * route.rounding(side), &exec.phase("components"))?;
    // A variance may have been dropped with the rounding of products.
    let dropped = if largest > 0.0 && dtype == f32::NAME { rounding_of_products::<f32>(route) } else { 0.0 };
    spectrum.residuals[rank..].fill(dropped);
    Ok(())
}

/// The rounding of products with rows of type `T`, as a share of the largest variance.
fn rounding_of_products<T: Scalar>(route: Route) -> f64 {
    if route == Route::BlockKrylov { 0.5 * T::EPSILON } else { 0.0 }
}

/// The number of leading components that are not directions of rounding: of values to their type, or of products in it.
fn n_above_rounding<T: Scalar>(
    spectrum: &Spectrum,
    route: Route,
    (columns, factor): (&Columns, &[f64]),
    totals: &Totals,
) -> usize {
    let rounding = (T::EPSILON * totals.rest_of_squares.sqrt(), totals.effective());
    let largest = spectrum.values.first().copied().unwrap_or(0.0);
    let of_products = rounding_of_products::<T>(route) * largest;
    let exceeds = |a: &usize| {
        let of_values = columns.rounding_along(spectrum.components.row(*a), factor, rounding);
        spectrum.values[*a] > of_values.max(of_products)
    };
    (0..spectrum.values.len()).take_while(exceeds).count()
}

/// A fit whose spectrum is known.
pub(super) struct Solved {
    pub(super) route: Route,
    pub(super) reason: String,
    pub(super) tol: f64,
    pub(super) n_passes: usize,
    pub(super) spectrum: Spectrum,
    /// The rounding error of centring, which is added to the residuals.
    pub(super) cancelled: f64,
    pub(super) input: Input,
    pub(super) affine: Affine,
    pub(super) totals: Totals,
    pub(super) n_samples: usize,
    pub(super) dtype: &'static str,
}

impl Solved {
    pub(super) fn model(
        self,
        pca: &Pca,
        feature_weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<PcaModel> {
        let Self { route, reason, tol, n_passes, mut spectrum, cancelled, input, .. } = self;
        let Self { affine, totals, n_samples, dtype, .. } = self;
        let shape = (n_samples, affine.mean.len());
        let k = match pca.n_components {
            NComponents::Count(k) => k,
            NComponents::All | NComponents::Mle => totals.all_components(pca.weighting, shape),
            NComponents::Variance(_) => spectrum.values.len().max(1),
        };
        let largest = spectrum.values.first().copied().unwrap_or(0.0);
        let side = shape.0.min(shape.1);
        complete(&mut spectrum, k, (route, side, dtype), exec)?;
        // The largest variance is at least the mean, even if rounding has cancelled it.
        let scale = largest.max(affine.total_variance / side as f64);
        let cancelled = if scale > 0.0 { cancelled / scale } else { 0.0 };
        add_rounding(&mut spectrum, cancelled);
        if pca.n_components == NComponents::Mle {
            let n_observations = totals.n_observations(pca.weighting);
            spectrum.truncate(most_probable_dimension(&spectrum.values, n_observations));
        }
        let residuals = std::mem::take(&mut spectrum.residuals);
        let convergence = Convergence::new((route, reason), n_passes, (residuals, tol), (input, cancelled));
        if pca.strict {
            convergence.require()?;
        }
        let exec = exec.phase("signs");
        let mut components = spectrum.components;
        signs::make_largest_positive(&mut components, &exec)?;
        let correction = totals.correction(pca.weighting)?;
        let population = Population { variances: &spectrum.values, total: affine.total_variance, correction };
        let rank = rank_limit(&totals, pca.weighting, shape, spectrum.values.len());
        PcaModel::try_from(ModelParts {
            components,
            explained_variance: population.reported(),
            explained_variance_ratio: population.ratios(),
            singular_values: population.singular_values(totals.root_observations(pca.weighting)),
            discarded_variance: population.discarded(spectrum.others.as_deref()),
            noise_variance: population.noise(rank),
            total_variance: population.total * correction,
            feature_variance: Some(affine.variance.iter().map(|v| v * correction).collect()),
            mean: affine.mean,
            scale: affine.scale,
            feature_weights: feature_weights.map(<[f64]>::to_vec),
            about_mean: None,
            n_samples,
            sum_of_weights: totals.sum,
            n_dimensions: None,
            new_rows: None,
            effective_samples: (pca.weighting == Weighting::Population).then(|| totals.effective()),
            options: pca.clone(),
            dtype: dtype.to_owned(),
            convergence,
        })
    }
}

/// The largest residual that counts as converged.
pub(super) fn tolerance<T: Scalar>(pca: &Pca) -> f64 {
    pca.tol.unwrap_or(if T::EPSILON > f64::EPSILON { 1e-6 } else { 1e-8 })
}

pub(super) fn iteration(pca: &Pca, tol: f64) -> IterationOptions<'static> {
    let Pca { max_iter, block_size, seed, .. } = *pca;
    IterationOptions { tol, centring: 0.0, max_iter, block_size, reading: None, seed, start: None }
}

/// Factors of the columns, zero for columns that equal what is subtracted, whose products are rounding errors.
pub(super) fn factors_of_varying(pca: &Pca, columns: &Columns, affine: &Affine) -> Vec<f64> {
    let varies = |j: usize| columns.spread(j, &pca.center) > 0.0;
    (0..affine.factor.len()).map(|j| if varies(j) { affine.factor[j] } else { 0.0 }).collect()
}

fn problem<T: Scalar>(pca: &Pca, x: &dyn Source<T>, weighted: bool, is_logged: bool) -> Problem {
    let (n_stored, sparse) = (x.n_stored(), x.is_sparse());
    let reading = match x.pass() {
        Pass::Memory => None,
        Pass::Costly { bytes, kind, .. } => {
            Some(Reading { bytes, wide: matches!(kind, PassKind::Dense | PassKind::Text), weighted })
        }
    };
    let sums = problem_of_sums(pca, x.shape());
    // Within a limit, the route that follows a spectrum estimate may need the memory of packed values.
    let room = sums.k.is_some() || sums.limit.is_none();
    let packs = !sparse && reading.is_none() && x.n_blocks() == Some(1) && room;
    let beside = limit::beside(x.pass());
    let value_bytes = size_of::<T>();
    Problem { n_stored, sparse, value_bytes, beside, reading, packs, is_logged, ..sums }
}

/// The start that the first pass makes: for block Krylov iteration on the side of the columns, over rows that every pass
/// reads again.
fn first_pass<'a>(
    pca: &Pca,
    choice: &RouteChoice,
    problem: &Problem,
    standardization: Standardization<'a>,
) -> Option<FirstPass<'a>> {
    let iterates = matches!(choice, RouteChoice::Route(Route::BlockKrylov, _)) && problem.k.is_some();
    let blocks = problem.blocks().filter(|_| iterates && problem.p <= problem.n)?;
    Some(FirstPass { standardization, width: blocks.width, seed: pca.seed })
}

/// The size of a fit for a share of the variance, if `problem` is that of a number of components within it.
fn share(pca: &Pca, problem: &Problem) -> Problem {
    Problem { k: None, block_size: pca.block_size, ..*problem }
}

/// The route that was asked for, or the choice.
fn chosen(pca: &Pca, problem: &Problem) -> RouteChoice {
    pca.solver.map_or_else(|| choose(problem), |route| RouteChoice::Route(route, "asked for".to_owned()))
}

/// Tests whether block Krylov iteration, or a spectrum estimate, keeps its data packed.
fn keeps_packed(choice: &RouteChoice, problem: &Problem, allowance: Allowance<'_>, n_threads: usize) -> bool {
    let may_follow = match choice {
        RouteChoice::Route(route, _) => *route == Route::BlockKrylov,
        RouteChoice::Estimate(_) => true,
    };
    let spares = |bytes| allowance.spares(bytes, Route::BlockKrylov, problem, n_threads);
    may_follow && solver::need_of_packed(problem).is_some_and(spares)
}

/// The size of a fit without rows of its own: of sums or of products.
pub(super) fn problem_of_sums(pca: &Pca, (n, p): (usize, usize)) -> Problem {
    let (k, limit) = (pca.n_components.known(n.min(p)), pca.memory_limit.map(|bytes| bytes as f64));
    Problem {
        n,
        p,
        k,
        n_stored: 0,
        sparse: false,
        value_bytes: size_of::<f64>(),
        limit,
        beside: 0.0,
        block_size: pca.block_size,
        reading: None,
        packs: false,
        is_logged: false,
    }
}

/// Memory estimate of [`fit`] in bytes.
pub(crate) fn memory_need<T: Scalar>(pca: &Pca, x: &dyn Source<T>, run: &Run<'_>) -> f64 {
    let problem = problem::<T>(pca, x, true, false);
    let choice = chosen(pca, &problem);
    let route = pca.solver.unwrap_or_else(|| problem.likely());
    let n_threads = run.expected_threads();
    let held = |factor| x.memory_within(factor).held;
    let packs = keeps_packed(&choice, &problem, Allowance::of(pca, x.pass(), &held), n_threads);
    let packed = solver::need_of_packed(&problem).filter(|_| packs).unwrap_or(0.0);
    problem.need(route, n_threads) + packed
}

/// Residuals refer to the products as computed; this adds the rounding error of the cancellation in them, relative to the
/// largest variance. Rounding errors of rows are independent, so it has shrunk with the effective number of rows.
fn add_rounding(spectrum: &mut Spectrum, rounding: f64) {
    spectrum.residuals.iter_mut().for_each(|residual| *residual = residual.hypot(rounding));
}

/// Sparse products are scaled after they are summed, so the squares of the factors must be in range.
pub(super) fn check_factors(factors: &[f64]) -> Result<()> {
    const LARGEST: f64 = 1e140;
    match factors.iter().position(|&f| f > LARGEST) {
        Some(column) => Err(Error::Overflow { statistic: "inverse scale", column }),
        None => Ok(()),
    }
}

/// The largest number of components with variance, over which the noise is averaged: min(n, p), where n counts
/// repetitions if the weights are frequencies.
fn rank_limit(totals: &Totals, weighting: Weighting, shape: (usize, usize), k: usize) -> usize {
    let repeated = totals.all_components(weighting, shape);
    if repeated >= k { repeated } else { shape.0.min(shape.1) }
}

/// Population variances, and the only place that derives the reported ones.
struct Population<'a> {
    /// Eigenvalues of the population covariance of the mapped data.
    variances: &'a [f64],
    /// Its trace.
    total: f64,
    /// `f`, the correction of the divisor.
    correction: f64,
}

impl Population<'_> {
    fn reported(&self) -> Vec<f64> {
        self.variances.iter().map(|v| v * self.correction).collect()
    }

    fn ratios(&self) -> Vec<f64> {
        self.variances.iter().map(|v| if self.total > 0.0 { v / self.total } else { 0.0 }).collect()
    }

    fn singular_values(&self, root_observations: f64) -> Vec<f64> {
        self.variances.iter().map(|v| v.sqrt() * root_observations).collect()
    }

    /// The variances of the other eigenvalues, if there are any and they are known, at most the least one kept.
    fn discarded(&self, others: Option<&[f64]>) -> Option<Vec<f64>> {
        let least = self.variances.last().copied().unwrap_or(f64::INFINITY);
        let others = others.filter(|others| !others.is_empty())?;
        Some(others.iter().map(|v| v.clamp(0.0, least) * self.correction).collect())
    }

    /// The mean of the discarded eigenvalues: Tipping & Bishop (1999), doi:10.1111/1467-9868.00196, equation 8.
    fn noise(&self, rank: usize) -> f64 {
        let discarded = rank.saturating_sub(self.variances.len());
        let rest = self.total - self.variances.iter().sum::<f64>();
        // If the discarded variance is within rounding of the total, it is zero.
        if discarded == 0 || rest <= self.total * f64::EPSILON * rank as f64 {
            return 0.0;
        }
        rest / discarded as f64 * self.correction
    }
}
