//! The fit of a matrix that is known by its products.

use super::fit::{Solved, check_factors, check_memory, count, iteration, wanted};
use super::{NComponents, Pca, PcaModel};
use crate::affine::Affine;
use crate::error::{Error, Result};
use crate::exec::{Exec, Observer, threads_of};
use crate::moments::{Columns, check_size};
use crate::operator::{LinOp, Mapped, Products};
use crate::scalar::Scalar;
use crate::solver::{self, Problem, Route};
use crate::weights::{Shares, check_feature_weights};

pub(crate) fn fit_operator(
    pca: &Pca,
    op: &dyn LinOp,
    feature_weights: Option<&[f64]>,
    observer: &dyn Observer,
) -> Result<PcaModel> {
    let (n, p) = op.shape();
    pca.check((n, p))?;
    check_size((n, p))?;
    check_feature_weights(feature_weights, p)?;
    let totals = Shares::new(None, n)?.totals;
    let correction = totals.correction(pca.weighting)?;
    let tol = pca.tol.unwrap_or(1e-8);
    let (route, reason) = route(pca, (n, p))?;
    let k = count(pca.n_components, n.min(p));
    let problem = Problem { n, p, k, n_stored: 0, sparse: false, value_bytes: size_of::<f64>() };
    check_memory(route, &problem, threads_of(pca.n_threads))?;
    Exec::run(pca.n_threads, observer, |exec| {
        let moments = op.moments(&exec.phase("means and variances"))?;
        let found = (moments.n_samples, moments.mean.len(), moments.sum_of_squares.len());
        if found != (n, p, p) {
            let what = "the moments of the operator";
            return Err(Error::Shape { what, axis: "columns", found: found.1, expected: p });
        }
        let columns = Columns::of_moments(&moments);
        let scale = pca.scale.then_some(correction);
        let affine = Affine::new(&columns, pca.center, scale, feature_weights)?;
        check_factors(&affine.factor)?;
        let wanted = wanted(pca.n_components, n.min(p), affine.total_variance);
        let mapped = Mapped::new(op, affine.map());
        let cancelled = f64::EPSILON * mapped.cancelled() * totals.sum_of_squares.sqrt();
        let spectrum = solver::solve(&mapped, route, wanted, &iteration(pca, tol), exec)?;
        if !spectrum.values.iter().all(|value| value.is_finite()) {
            return Err(Error::Decomposition { decomposition: "eigendecomposition", n_rows: n, n_cols: p });
        }
        let dtype = f64::NAME;
        Solved { route, reason, tol, spectrum, cancelled, affine, totals, n_samples: n, dtype }.model(
            pca,
            feature_weights,
            exec,
        )
    })
}

/// The route, and why: what products cost is not known, so that few of them are asked for.
fn route(pca: &Pca, (n, p): (usize, usize)) -> Result<(Route, String)> {
    match (pca.solver, pca.n_components) {
        (Some(Route::Svd), _) => {
            let rule = "an operator has products, not rows: say covariance, gram or block-krylov";
            Err(Error::Option { option: "solver", value: Route::Svd.to_string(), rule })
        }
        (Some(route), _) => Ok((route, "asked for".to_owned())),
        (None, NComponents::Count(_) | NComponents::Variance(_)) => {
            Ok((Route::BlockKrylov, "an operator has products, not rows".to_owned()))
        }
        (None, NComponents::All | NComponents::Mle) if p <= n => {
            Ok((Route::Covariance, "all components, by products with unit vectors".to_owned()))
        }
        (None, NComponents::All | NComponents::Mle) => {
            Ok((Route::Gram, "all components, by products with unit vectors".to_owned()))
        }
    }
}
