//! The fit of data in parts, which an engine visits: by the scatter matrix in one pass, or by the products of block Krylov
//! iteration.

use super::convergence::Input;
use super::factors::{check_factors, factors_of_varying};
use super::fit_scatter::{self, Origin};
use super::limit::{Allowance, only};
use super::plan::{iteration, problem_of_sums, tolerance};
use super::solved::Solved;
use super::{NComponents, Pca, PcaModel};
use crate::affine::{Affine, Standardization};
use crate::choice::Choice;
use crate::cluster::{Driver, Engine, FirstBlock, PartProducts, Partial, Sums, Work};
use crate::error::{Error, Result, Weighed, options};
use crate::exec::{Exec, Fact, PassLog, Run};
use crate::linalg::ColumnMap;
use crate::moments::{Columns, Moments, check_size};
use crate::operator::{Products, describe_weights};
use crate::scalar::Scalar;
use crate::scaling::Scales;
use crate::solver::{self, IterationOptions, Problem, Reading, Route};
use crate::weights::check_feature_weights;

/// Number of columns up to which the scatter matrix is summed, if the solver is not given. A node of the tree holds eight
/// matrices of 8 p^2 bytes: 270 MB.
const SCATTER_COLUMNS: usize = 2_048;
/// Bytes of memory for each pair of columns: the matrix of a part, and one to which it is added.
const SCATTER_BYTES: f64 = 16.0;

pub(crate) fn fit_parts(
    pca: &Pca,
    engine: &dyn Engine,
    feature_weights: Option<&[f64]>,
    log: Option<&dyn PassLog>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    pca.refuse_range("tasks of parts measure no ranges: give the ranges as scales")?;
    let scatter_columns = scatter_columns(pca)?;
    if let Some(log) = log {
        log.begin(&facts(pca, feature_weights))?;
    }
    Exec::run(run, |exec| {
        let exec = &exec.logged(log);
        let driver = Driver::new(engine);
        let first_block = (first_width(pca), pca.seed);
        let work = Work::Sums { scatter_columns, first_block };
        let first = driver.pass("sums of columns", work, &exec.phase("sums of columns"))?;
        let (single, sparse) = (first.single, first.sparse);
        let tol = if single { tolerance::<f32>(pca) } else { tolerance::<f64>(pca) };
        let dtype = if single { f32::NAME } else { f64::NAME };
        let moments = match &first.sums {
            Sums::Moments(moments, _) => moments,
            Sums::Scatter(scatter) => &scatter.moments,
            Sums::Product(_) | Sums::Entries(_) | Sums::Checked => {
                let problem = "the engine returned no sums of columns".to_owned();
                return Err(Error::Parts { problem });
            }
        };
        let (n, p) = (moments.n_samples, moments.mean.len());
        pca.check((n, p))?;
        check_size((n, p))?;
        check_feature_weights(feature_weights, p)?;
        if moments.weight == 0.0 {
            return Err(Error::WeightsAllZero { of: Weighed::Samples, n });
        }
        let model = match first {
            Partial { sums: Sums::Scatter(scatter), .. } => {
                fit_scatter::ask(&Allowance::in_memory(pca), pca, (n, p), run)?;
                let reason = if pca.solver.is_some() { "asked for" } else { "one pass over the parts" };
                let origin = Origin { reason, n_passes: driver.n_passes(), dtype, tol };
                fit_scatter::model(pca, scatter.unpacked()?, feature_weights, origin, exec)
            }
            Partial { sums: Sums::Moments(moments, block), .. } => {
                if wants_scatter(pca) {
                    return Err(no_scatter(pca, p));
                }
                by_products(pca, &driver, (&moments, block), feature_weights, (sparse, tol, dtype), exec)
            }
            Partial { .. } => unreachable!("products were refused above"),
        }?;
        driver.check_log(p, scatter_columns)?;
        Ok(model)
    })
}

/// Finds the components by block Krylov iteration, each product one pass over the parts.
fn by_products(
    pca: &Pca,
    driver: &Driver<'_>,
    (moments, first_block): (&Moments, FirstBlock),
    feature_weights: Option<&[f64]>,
    (sparse, tol, dtype): (bool, f64, &'static str),
    exec: &Exec<'_>,
) -> Result<PcaModel> {
    let (n_samples, p) = (moments.n_samples, moments.mean.len());
    let (route, totals) = (Route::BlockKrylov, moments.totals());
    // The basis lies on the side of the columns.
    let reading = Some(Reading { bytes: 0.0, wide: !sparse, weighted: false });
    let is_logged = exec.is_logged();
    let problem = Problem { reading, sparse, is_logged, ..problem_of_sums(pca, (n_samples.max(p), p)) };
    Allowance::in_memory(pca).ask(route, &problem, exec.n_threads(), only(route))?;
    let columns = Columns::of_moments(moments);
    let scales = Scales::new(&pca.scale, totals.correction(pca.weighting)?, None);
    let affine = Affine::new(&columns, Standardization { center: &pca.center, scales, feature_weights })?;
    check_factors(&affine.factor)?;
    let wanted = pca.n_components.wanted(n_samples.min(p), affine.total_variance);
    let factor = factors_of_varying(pca, &columns, &affine);
    let map = ColumnMap { factor: &factor, ..affine.map() };
    let start = first_block.basis(moments, &affine.mean, &factor, &exec.phase("first block"))?;
    let op = PartProducts { driver, shape: (n_samples, p), map, weight: moments.weight, sparse, start };
    let epsilon = if dtype == f32::NAME { f32::EPSILON.into() } else { f64::EPSILON };
    let centring = epsilon * totals.sum_of_squares.sqrt();
    let iteration = IterationOptions { centring, reading: problem.blocks(), ..iteration(pca, tol) };
    let spectrum = solver::solve(&op, route, wanted, &iteration, exec)?;
    let largest = spectrum.values.first().copied().unwrap_or(0.0);
    let cancelled = centring * op.cancelled(largest);
    let reason = match pca.solver {
        Some(_) => "asked for".to_owned(),
        None if p > SCATTER_COLUMNS => format!("more than {SCATTER_COLUMNS} columns in parts"),
        None => "the scatter matrices of the parts exceed the memory limit".to_owned(),
    };
    let (n_passes, input) = (driver.n_passes(), Input::Parts);
    Solved { route, reason, tol, n_passes, spectrum, cancelled, input, affine, totals, n_samples, dtype }
        .model(pca, feature_weights, exec)
}

/// Number of vectors of the first block: as many as in a dense block of the iteration.
fn first_width(pca: &Pca) -> usize {
    match (pca.block_size, pca.n_components) {
        (Some(width), _) => width,
        (None, NComponents::Count(k)) => (2 * k).max(32),
        (None, _) => 32,
    }
}

/// Returns true if the fit needs the scatter matrix: the solver was asked for, or the iteration would find the whole
/// spectrum.
fn wants_scatter(pca: &Pca) -> bool {
    let whole = matches!(pca.n_components, NComponents::All | NComponents::Mle | NComponents::Count(0));
    pca.solver.map_or(whole, |route| route == Route::Covariance)
}

/// Number of columns up to which the first pass sums the scatter matrix, within the memory limit.
fn scatter_columns(pca: &Pca) -> Result<usize> {
    let most = pca.memory_limit.map_or(usize::MAX, |limit| (limit as f64 / SCATTER_BYTES).sqrt() as usize);
    match (pca.solver, pca.n_components) {
        (Some(Route::Covariance), _) => Ok(most),
        (Some(Route::BlockKrylov), _) => Ok(0),
        (Some(other), _) => {
            let rule = "parts are summed by the solvers covariance and block-krylov";
            Err(Error::option(options::SOLVER, other.value(), rule))
        }
        (None, _) if wants_scatter(pca) => Ok(most),
        (None, _) => Ok(SCATTER_COLUMNS.min(most)),
    }
}

/// The error of a fit that needs the scatter matrix of `p` columns, which the parts did not sum.
fn no_scatter(pca: &Pca, p: usize) -> Error {
    let bytes = SCATTER_BYTES * (p as f64).powi(2);
    let advice =
        || vec!["take fewer columns".into(), "ask for a number of components and block-krylov".into()];
    let asked = Allowance::in_memory(pca).ask_for("the scatter matrix of a part", bytes, advice);
    let problem = "the engine summed no products of columns".to_owned();
    asked.err().unwrap_or(Error::Parts { problem })
}

/// The options on which the passes depend. That the parts are the same, every pass tests.
fn facts(pca: &Pca, feature_weights: Option<&[f64]>) -> Vec<Fact> {
    let mut facts = pca.facts();
    facts.push(describe_weights("weights of columns", feature_weights));
    facts
}
