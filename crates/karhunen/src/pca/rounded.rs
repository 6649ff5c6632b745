//! Fits with a rounded copy of the rows in memory.

use crate::choice::Choice;
use crate::error::{Error, Result, options};
use crate::exec::Exec;
use crate::linalg::ColumnMap;
use crate::operator::{Normal, Products, RoundedRows, Rounding, Standardized};
use crate::scalar::Scalar;
use crate::solver::secant::{self, RoundTols};
use crate::solver::select::RouteChoice;
use crate::solver::{IterationOptions, Problem, Route, Spectrum, Wanted};

/// Returns the rounding of the copy, if the fit takes one: block Krylov iteration over rows that every pass reads again.
///
/// # Errors
/// [`Error::Option`] for such rows, or components, of which a copy cannot help.
pub(super) fn wanted(choice: &RouteChoice, problem: &Problem) -> Result<Option<Rounding>> {
    let Some(rounding) = problem.rounding else { return Ok(None) };
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
    Ok(Some(rounding).filter(|_| matches!(choice, RouteChoice::Route(Route::BlockKrylov, _))))
}

/// Finds the leading components of `op` by products with the copy of its rows, which are of type `T`, corrected by
/// products with `op`.
pub(super) fn solve<T: Scalar>(
    op: &dyn Products,
    (copy, map, shares): (&RoundedRows, ColumnMap<'_>, Option<&[f64]>),
    wanted: Wanted,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Spectrum> {
    let p = op.shape().1;
    let Wanted::Count(k @ 1..) = wanted else { return Ok(Spectrum::none(p)) };
    let exec = exec.phase("block Krylov");
    let (codes, (shift, factor)) = (copy.codes::<T>(&exec), copy.map(map));
    let map = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let rounded = Standardized::new(&codes, map, shares);
    let tols = RoundTols { first: copy.rounding().first_tol(), least: T::EPSILON };
    let pairs = secant::leading_corrected(&Normal(op), &Normal(&rounded), k, tols, iteration, &exec)?;
    pairs.into_spectrum(&exec.phase("components"))
}
