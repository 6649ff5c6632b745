//! The fit of a matrix known only by its products.

use super::fit::{Solved, check_factors, factors_of_varying, iteration, problem_of_sums};
use super::limit::Allowance;
use super::{NComponents, Pca, PcaModel};
use crate::affine::{Affine, Standardization};
use crate::error::{Advice, Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::ColumnMap;
use crate::moments::{Columns, Moments, check_size};
use crate::operator::{LinOp, MappedOp, Products, needs_rows};
use crate::scalar::Scalar;
use crate::scaling::Scales;
use crate::solver::{self, Route, takes_unit_vectors};
use crate::weights::{NormalizedWeights, check_feature_weights};

pub(crate) fn fit_operator(
    pca: &Pca,
    op: &dyn LinOp,
    feature_weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    let (n, p) = op.shape();
    pca.check((n, p))?;
    pca.refuse_range("an operator has products, not values: give the ranges as scales")?;
    check_size((n, p))?;
    check_feature_weights(feature_weights, p)?;
    let totals = NormalizedWeights::new(None, n)?.totals;
    let correction = totals.correction(pca.weighting)?;
    let tol = pca.tol.unwrap_or(1e-8);
    let (route, reason) = route(pca, (n, p))?;
    let allowance = Allowance::in_memory(pca);
    allowance.ask(route, &problem_of_sums(pca, (n, p)), run.expected_threads(), |_| route)?;
    allowance.ask_for("blocks of products of the operator", MappedOp::need((n, p)), || {
        vec![Advice::RaiseLimit, "fit a part of the rows".into()]
    })?;
    Exec::run(run, |exec| {
        let moments = op.moments(&exec.phase("means and variances"))?;
        check_moments(&moments, (n, p))?;
        let columns = Columns::of_moments(&moments);
        let scales = Scales::new(&pca.scale, correction, None);
        let affine = Affine::new(&columns, Standardization { center: &pca.center, scales, feature_weights })?;
        check_factors(&affine.factor)?;
        let wanted = pca.n_components.wanted(n.min(p), affine.total_variance);
        let factor = factors_of_varying(pca, &columns, &affine);
        let mapped = MappedOp::new(op, ColumnMap { factor: &factor, ..affine.map() });
        let spectrum = solver::solve(&mapped, route, wanted, &iteration(pca, tol), exec)?;
        let n_passes = mapped.n_products();
        let largest = spectrum.values.first().copied().unwrap_or(0.0);
        let cancelled = f64::EPSILON * mapped.cancelled(largest) * totals.sum_of_squares.sqrt();
        let (advice, dtype, n_samples) = (cancelled_advice(), f64::NAME, n);
        Solved { route, reason, tol, n_passes, spectrum, cancelled, advice, affine, totals, n_samples, dtype }
            .model(pca, feature_weights, exec)
    })
}

/// Advice if more iterations cannot help.
fn cancelled_advice() -> Advice {
    "centring costs the products their digits, because the columns are far from zero: subtract a \
                         constant from each column within the operator"
        .into()
}

/// Refuses moments unless they are those of `n` rows, each of weight one, and `p` columns.
fn check_moments(moments: &Moments, (n, p): (usize, usize)) -> Result<()> {
    let what = "the moments of the operator";
    for (axis, found, expected) in [
        ("rows", moments.n_samples, n),
        ("means", moments.mean.len(), p),
        ("sums of squares", moments.sum_of_squares.len(), p),
    ] {
        if found != expected {
            return Err(Error::Shape { what, axis, found, expected });
        }
    }
    if moments.weight != n as f64 {
        return Err(Error::Operator {
            what: "the weight of the operator's moments",
            value: moments.weight,
            rule: "every row of an operator counts once: it is the number of rows",
        });
    }
    if let Some(column) = moments.mean.iter().position(|mean| !mean.is_finite()) {
        return Err(Error::Overflow { statistic: "mean", column });
    }
    match moments.sum_of_squares.iter().position(|sum| !(*sum >= 0.0 && sum.is_finite())) {
        Some(column) => Err(Error::Overflow { statistic: "variance", column }),
        None => Ok(()),
    }
}

/// The route and its reason. The cost of products is unknown, so routes that multiply few vectors are preferred.
fn route(pca: &Pca, (n, p): (usize, usize)) -> Result<(Route, String)> {
    let smaller = n.min(p);
    let complete = if p <= n { Route::Covariance } else { Route::Gram };
    match (pca.solver, pca.n_components) {
        (Some(Route::Svd), _) => Err(needs_rows()),
        (Some(route), _) => Ok((route, "asked for".to_owned())),
        (None, NComponents::All | NComponents::Mle) => {
            Ok((complete, "all components, by products with unit vectors".to_owned()))
        }
        (None, NComponents::Count(k)) if takes_unit_vectors(smaller, k) => Ok((
            complete,
            format!(
                "an iteration for {k} components multiplies more vectors than the {smaller} unit vectors"
            ),
        )),
        (None, NComponents::Count(_) | NComponents::Variance(_)) => {
            Ok((Route::BlockKrylov, "an operator has products, not rows".to_owned()))
        }
    }
}
