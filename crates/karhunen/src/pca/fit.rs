//! One fit of rows, from top to bottom: plan, first pass, spectrum, model.

use crate::affine::{Affine, Standardization};
use crate::error::{Error, Result};
use crate::exec::{Exec, PassLog, Run};
use crate::linalg::Matrix;
use crate::moments::{Columns, Moments, Scatter, check_counts, check_size};
use crate::operator::{Logged, Products, Standardized, describe};
use crate::pca::convergence::Input;
use crate::pca::factors::check_factors;
use crate::pca::fit_scatter::fit_once;
use crate::pca::limit::Allowance;
use crate::pca::logged::Before;
use crate::pca::model::PcaModel;
use crate::pca::plan::{Plan, iteration, tolerance};
use crate::pca::solved::{Solved, n_above_rounding};
use crate::pca::{Pca, logged};
use crate::scalar::Scalar;
use crate::scaling::{Scales, Scaling};
use crate::solver::select::RouteChoice;
use crate::solver::{self, IterationOptions, Route, Spectrum, Wanted};
use crate::source::{Counted, Passes, Source};
use crate::weights::{NormalizedWeights, Totals, Weights, check_feature_weights};

/// Fits `x`.
pub(crate) fn fit<T: Scalar>(
    pca: &Pca,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    before: Before<'_>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    let (n, p) = x.shape();
    pca.check((n, p))?;
    check_size((n, p))?;
    check_feature_weights(weights.features, p)?;
    if x.passes() == Passes::Once {
        return fit_in_one_pass(pca, x, weights, before.log, run);
    }
    let NormalizedWeights { values: shares, totals } = NormalizedWeights::new(weights.samples, n)?;
    let correction = totals.correction(pca.weighting)?;
    let plan = Plan::new(pca, x, (shares.is_some(), before.log.is_some()), run);
    let counted = Counted::new(x).observed(run.observer, plan.n_passes());
    let held = |factor| counted.memory_within(factor).held;
    let allowance = Allowance::of(pca, counted.pass(), &held);
    plan.ask(allowance)?;
    let packs = plan.packs(allowance);
    begin(before.log, pca, x, weights)?;
    let rows = Rows { x: &counted, shares: shares.as_deref(), plan: &plan, allowance, packs };
    Exec::run(run, |exec| {
        let exec = &exec.logged(before.log);
        plan.let_keep(&counted, allowance);
        let ranges = rows.ranges(exec)?;
        let standardization = Standardization {
            center: &pca.center,
            scales: Scales::new(&pca.scale, correction, ranges.as_deref()),
            feature_weights: weights.features,
        };
        let (moments, summed) = rows.first_pass(standardization, before.start.is_some(), exec)?;
        let columns = Columns::new(&moments, &counted, rows.shares)?;
        let affine = Affine::new(&columns, standardization)?;
        let mapped = Mapped::new(rows, (&columns, &affine), &totals, before.start)?;
        let found = mapped.spectrum(summed, exec)?;
        let Found { route, reason, mut spectrum, cancelled } = mapped.with_small_values(found, exec)?;
        spectrum.truncate(n_above_rounding::<T>(&spectrum, route, (&columns, &affine.factor), &totals));
        let input = if before.refines { Input::Refined } else { Input::Rows };
        let (tol, n_passes, n_samples, dtype) = (tolerance::<T>(pca), counted.n_visits(), n, T::NAME);
        Solved { route, reason, tol, n_passes, spectrum, cancelled, input, affine, totals, n_samples, dtype }
            .model(pca, weights.features, exec)
    })
}

/// Fits rows that can be read once.
fn fit_in_one_pass<T: Scalar>(
    pca: &Pca,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    log: Option<&dyn PassLog>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    match log {
        None => fit_once(pca, x, weights, run),
        Some(_) => Err(Error::OnePass {
            work: "a fit that can be resumed".to_owned(),
            way_out: "give data that can be read again, such as a file or an array",
        }),
    }
}

/// Writes to the log, if there is one, what is fitted.
fn begin<T: Scalar>(
    log: Option<&dyn PassLog>,
    pca: &Pca,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
) -> Result<()> {
    let Some(log) = log else { return Ok(()) };
    let mut facts = pca.facts();
    facts.extend(describe(
        x,
        &[("weights of rows", weights.samples), ("weights of columns", weights.features)],
    )?);
    log.begin(&facts)
}

/// The rows of a fit.
#[derive(Clone, Copy)]
struct Rows<'a, T> {
    x: &'a Counted<'a, T>,
    /// The weight of each row, divided by their sum.
    shares: Option<&'a [f64]>,
    plan: &'a Plan<'a>,
    allowance: Allowance<'a>,
    /// True if block Krylov iteration keeps them packed.
    packs: bool,
}

/// What the first pass sums in addition to the moments.
enum Summed {
    Nothing,
    /// The products of the columns.
    Scatter(Scatter),
    /// The start of block Krylov iteration.
    Start(Matrix),
}

impl<T: Scalar> Rows<'_, T> {
    /// The ranges of the columns, if they are divided by them; tests counts before that.
    fn ranges(&self, exec: &Exec<'_>) -> Result<Option<Vec<f64>>> {
        let Self { x, shares, plan, .. } = *self;
        if plan.checks_counts {
            x.visit(&mut |first, block| {
                check_counts(&block, first, shares.map(|w| &w[first..first + block.n_rows()]))
            })?;
        }
        match plan.pca.scale {
            Scaling::Range => logged::ranges(x, shares, &exec.phase("ranges")).map(Some),
            _ => Ok(None),
        }
    }

    /// The moments of the columns, with the products of the covariance route or the start of block Krylov iteration, unless
    /// a start is given.
    fn first_pass(
        &self,
        standardization: Standardization<'_>,
        has_start: bool,
        exec: &Exec<'_>,
    ) -> Result<(Moments, Summed)> {
        let Self { x, shares, plan, .. } = *self;
        if plan.is_one_pass() {
            let scatter = logged::scatter(x, shares, &exec.phase("covariance"))?;
            return Ok((scatter.moments.clone(), Summed::Scatter(scatter)));
        }
        let exec = exec.phase("means and variances");
        match plan.start(standardization).filter(|_| !has_start) {
            Some(first_pass) => {
                let (moments, start) = logged::start(x, shares, first_pass, &exec)?;
                Ok((moments, Summed::Start(start)))
            }
            None => Ok((logged::moments(x, shares, &exec)?, Summed::Nothing)),
        }
    }
}

/// Rows whose map is known, and how their spectrum is found.
struct Mapped<'a, T> {
    rows: Rows<'a, T>,
    columns: &'a Columns,
    affine: &'a Affine,
    wanted: Wanted,
    iteration: IterationOptions<'a>,
    /// The factor from the rounding of a value to that of a mean: rounding errors of rows are independent.
    rounding: f64,
}

/// A spectrum and the route to it.
struct Found {
    route: Route,
    reason: String,
    spectrum: Spectrum,
    /// The rounding error of centring.
    cancelled: f64,
}

impl<'a, T: Scalar> Mapped<'a, T> {
    fn new(
        rows: Rows<'a, T>,
        (columns, affine): (&'a Columns, &'a Affine),
        totals: &Totals,
        start: Option<&'a Matrix>,
    ) -> Result<Self> {
        let Plan { pca, problem, .. } = rows.plan;
        if rows.x.is_sparse() {
            check_factors(&affine.factor)?;
        }
        let rounding = totals.sum_of_squares.sqrt();
        let iteration = IterationOptions {
            centring: T::EPSILON * rounding,
            reading: problem.blocks(),
            start,
            ..iteration(pca, tolerance::<T>(pca))
        };
        let wanted = pca.n_components.wanted(problem.n.min(problem.p), affine.total_variance);
        Ok(Self { rows, columns, affine, wanted, iteration, rounding })
    }

    /// The spectrum by the route of the plan, or by the one that a spectrum estimate leads to.
    fn spectrum(&self, summed: Summed, exec: &Exec<'_>) -> Result<Found> {
        match summed {
            // Products of tiny values underflow, and products about rounded means lose digits. In both cases the values are
            // mapped before they are multiplied.
            Summed::Scatter(scatter) if !self.columns.need_care() => {
                let matrix = scatter.into_covariance(self.affine.map());
                let spectrum = solver::solve_matrix(&matrix, self.wanted, &self.iteration, exec)?;
                let reason = self.rows.plan.choice.reason().to_owned();
                Ok(Found { route: Route::Covariance, reason, spectrum, cancelled: 0.0 })
            }
            Summed::Start(start) => self.by_products(Some(start), exec),
            Summed::Scatter(_) | Summed::Nothing => self.by_products(None, exec),
        }
    }

    /// The spectrum by products with the mapped rows.
    fn by_products(&self, start: Option<Matrix>, exec: &Exec<'_>) -> Result<Found> {
        let Rows { x, shares, plan, allowance, packs } = self.rows;
        let standardized = Standardized::new(x, self.affine.map(), shares).starting_from(start);
        if packs && plan.packs_first() {
            standardized.keep_packed();
        }
        let op = Logged::new(&standardized, x);
        let (route, reason, spectrum) = match &plan.choice {
            RouteChoice::Route(route, reason) => {
                (*route, reason.clone(), solver::solve(&op, *route, self.wanted, &self.iteration, exec)?)
            }
            RouteChoice::Estimate(n_steps) => {
                let ask = |route, k| {
                    if route != Route::BlockKrylov {
                        standardized.release_packed();
                    }
                    if plan.ask_for((route, k), x, allowance)? && packs {
                        standardized.keep_packed();
                    }
                    Ok(())
                };
                let estimate = (&plan.problem, *n_steps);
                solver::solve_by_estimate(&op, estimate, self.wanted, &self.iteration, &ask, exec)?
            }
        };
        let cancelled = self.cancelled(&op, route, &spectrum);
        Ok(Found { route, reason, spectrum, cancelled })
    }

    /// The rounding error of centring after the products. The SVD route centres tall data before it multiplies them, the
    /// covariance route columns far from zero.
    fn cancelled(&self, op: &dyn Products, route: Route, spectrum: &Spectrum) -> f64 {
        let Rows { x, plan, .. } = self.rows;
        if (route == Route::Svd && plan.problem.n >= plan.problem.p) || route == Route::Covariance {
            return 0.0;
        }
        let epsilon = if x.is_sparse() || route == Route::BlockKrylov { T::EPSILON } else { f64::EPSILON };
        let largest = spectrum.values.first().copied().unwrap_or(0.0);
        epsilon * self.rounding * op.cancelled(largest)
    }

    /// The spectrum of the SVD route, if the route that was taken lost small variances and memory suffices for it.
    fn with_small_values(&self, found: Found, exec: &Exec<'_>) -> Result<Found> {
        let Rows { x, shares, plan, allowance, .. } = self.rows;
        // Columns without variance have a value of zero, and centred rows one less than there are.
        let varying = self.affine.variance.iter().filter(|variance| **variance > 0.0).count();
        let rank = varying.min(plan.problem.n - 1);
        let n_values = plan.problem.k.unwrap_or(found.spectrum.values.len()).min(rank);
        let lost = found.route != Route::Svd && found.spectrum.loses_small_values(n_values);
        if !lost || !plan.may_follow_up(allowance) {
            return Ok(found);
        }
        let op = Standardized::new(x, self.affine.map(), shares);
        let spectrum = solver::solve(&Logged::new(&op, x), Route::Svd, self.wanted, &self.iteration, exec)?;
        let reason = format!("{} lost small variances", found.route);
        Ok(Found { route: Route::Svd, reason, spectrum, ..found })
    }
}
