//! Fits with a rounded copy of the rows in memory.

use crate::choice::Choice;
use crate::error::{Error, Result, options};
use crate::exec::Exec;
use crate::linalg::ColumnMap;
use crate::operator::{Normal, Products, RoundedRows, Rounding, Standardized};
use crate::pca::Pca;
use crate::solver::secant;
use crate::solver::select::RouteChoice;
use crate::solver::{IterationOptions, Problem, Route, Spectrum, Wanted};

/// Returns the rounding of the copy, if the fit takes one: block Krylov iteration over rows that every pass reads again.
///
/// # Errors
/// [`Error::Option`] for data or components of which a copy cannot help.
pub(super) fn wanted(pca: &Pca, choice: &RouteChoice, problem: &Problem) -> Result<Option<Rounding>> {
    let Some(rounding) = pca.rounded_copy else { return Ok(None) };
    let refuse = |rule: &'static str| Err(Error::option(options::ROUNDED_COPY, rounding.value(), rule));
    if problem.sparse {
        return refuse("sparse data have no rounded copy: their entries are few");
    }
    if problem.p > problem.n {
        return refuse("it needs at least as many rows as columns");
    }
    if problem.k.is_none() {
        return refuse("it needs a number of components");
    }
    let iterates = matches!(choice, RouteChoice::Route(Route::BlockKrylov, _));
    Ok(Some(rounding).filter(|_| iterates && problem.reading.is_some()))
}

/// Memory estimate in bytes of the copy and of the products that correct it.
pub(super) fn need(rounding: Rounding, problem: &Problem) -> f64 {
    let copy = problem.n as f64 * problem.p as f64 * rounding.bytes() as f64;
    copy + secant::need(problem.p, problem.k.unwrap_or(0))
}

/// Finds the leading components of `op` by products with the copy of its rows, corrected by products with `op`.
pub(super) fn solve(
    op: &dyn Products,
    (copy, map, shares): (&RoundedRows, ColumnMap<'_>, Option<&[f64]>),
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    let p = op.shape().1;
    let Wanted::Count(k @ 1..) = wanted else { return Ok(Spectrum::none(p)) };
    let exec = exec.phase("block Krylov");
    let (codes, (shift, factor)) = (copy.codes(&exec), copy.map(map));
    let rounded =
        Standardized::new(&codes, ColumnMap { shift: &shift, remainder: &[], factor: &factor }, shares);
    let first_tol = copy.rounding().first_tol();
    let pairs = secant::leading_corrected(&Normal(op), &Normal(&rounded), k, first_tol, iteration, &exec)?;
    pairs.into_spectrum(&exec.phase("components"))
}
