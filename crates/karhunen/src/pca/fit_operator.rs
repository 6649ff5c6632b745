//! The fit of a matrix known only by its products.

use super::convergence::Input;
use super::factors::{check_factors, factors_of_varying};
use super::limit::{Allowance, only};
use super::plan::{iteration, problem_of_sums, tolerance};
use super::solved::Solved;
use super::{NComponents, Pca, PcaModel};
use crate::affine::{Affine, Standardization};
use crate::error::{Advice, Error, Result};
use crate::exec::{Exec, Run};
use crate::moments::{Columns, Moments, check_size};
use crate::operator::{LinOp, MappedOp, Products, Profile, Standard, needs_rows};
use crate::scalar::Scalar;
use crate::scaling::Scales;
use crate::solver::{self, Route, takes_unit_vectors};
use crate::weights::{NormalizedWeights, Weights, check_feature_weights};

pub(crate) fn fit_operator(
    pca: &Pca,
    op: &dyn LinOp,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    let ((n, p), profile) = (op.shape(), op.profile());
    let feature_weights = weights.features;
    pca.check((n, p))?;
    pca.refuse_range("an operator has products, not values: give the ranges as scales")?;
    check_size((n, p))?;
    check_feature_weights(feature_weights, p)?;
    let NormalizedWeights { values: shares, totals } = NormalizedWeights::new(weights.samples, n)?;
    let shares = shares.as_deref();
    let correction = totals.correction(pca.weighting)?;
    let dtype = profile.dtype;
    let tol = if dtype == f32::NAME { tolerance::<f32>(pca) } else { tolerance::<f64>(pca) };
    let (route, reason) = route(pca, (n, p), &profile)?;
    let allowance = Allowance::in_memory(pca);
    allowance.ask(route, &problem_of_sums(pca, (n, p)), run.expected_threads(), only(route))?;
    let squares = matches!(route, Route::Covariance | Route::Gram) && n.min(p) <= profile.squares_up_to;
    if !squares {
        allowance.ask_for("blocks of products of the operator", MappedOp::need((n, p)), || {
            vec![Advice::RaiseLimit, "fit a part of the rows".into()]
        })?;
    }
    Exec::run(run, |exec| {
        let phase = exec.phase("means and variances");
        let moments = shares.map_or_else(|| op.moments(&phase), |v| op.weighted_moments(v, &phase))?;
        check_moments(&moments, (n, p), shares.map_or(n as f64, |_| 1.0))?;
        let columns = Columns::of_moments(&moments);
        let scales = Scales::new(&pca.scale, correction, None);
        let affine = Affine::new(&columns, Standardization { center: &pca.center, scales, feature_weights })?;
        check_factors(&affine.factor)?;
        let wanted = pca.n_components.wanted(n.min(p), affine.total_variance);
        let factor = factors_of_varying(pca, &columns, &affine);
        let mapped = MappedOp::new(op, Standard { center: affine.map().shift, factor: &factor, shares });
        let spectrum = solver::solve(&mapped, route, wanted, &iteration(pca, tol), exec)?;
        let n_passes = mapped.n_products();
        let largest = spectrum.values.first().copied().unwrap_or(0.0);
        let cancelled = f64::EPSILON * mapped.cancelled(largest) * totals.sum_of_squares.sqrt();
        let (input, n_samples) = (Input::Operator, n);
        Solved { route, reason, tol, n_passes, spectrum, cancelled, input, affine, totals, n_samples, dtype }
            .model(pca, feature_weights, exec)
    })
}

/// Relative rounding error allowed in the sum of weights that an operator returns.
const ROUNDING_OF_SUM: f64 = 1e-9;

/// Refuses moments unless they describe `n` rows, whose weights sum to `weight`, and `p` columns.
fn check_moments(moments: &Moments, (n, p): (usize, usize), weight: f64) -> Result<()> {
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
    let is_near = (moments.weight - weight).abs() <= ROUNDING_OF_SUM * weight;
    if !is_near {
        return Err(Error::Operator {
            what: "the weight of the operator's moments",
            value: moments.weight,
            rule: "every row of an operator counts once: it is the number of rows, or one if the rows have weights",
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

/// The route and its reason. The cost of products is unknown, so routes that multiply few vectors are preferred, unless
/// the operator forms squares.
fn route(pca: &Pca, (n, p): (usize, usize), profile: &Profile) -> Result<(Route, String)> {
    let (route, reason) = route_of_products(pca, (n, p), profile)?;
    Ok((route, profile.place.as_ref().map_or(reason.clone(), |place| format!("{reason}; on {place}"))))
}

fn route_of_products(pca: &Pca, (n, p): (usize, usize), profile: &Profile) -> Result<(Route, String)> {
    let smaller = n.min(p);
    let complete = if p <= n { Route::Covariance } else { Route::Gram };
    match (pca.solver, pca.n_components) {
        (Some(Route::Svd), _) => Err(needs_rows()),
        (Some(route), _) => Ok((route, "asked for".to_owned())),
        (None, _) if smaller <= profile.squares_up_to => {
            let lines = if p <= n { "columns" } else { "rows" };
            Ok((complete, format!("up to {} {lines} are squared in one pass", profile.squares_up_to)))
        }
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
