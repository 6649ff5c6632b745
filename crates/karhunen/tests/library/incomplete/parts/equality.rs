//! Comparisons of fits in parts with fits of all rows.

use karhunen::{IncompleteModel, Run};
use karhunen_testkit::largest;

use crate::incomplete::fixtures::observed;
use crate::incomplete::parts::problem;

#[track_caller]
pub(super) fn assert_equal(what: &str, found: &IncompleteModel, expected: &IncompleteModel, tol: f64) {
    let (x, y) = (found.parts(), expected.parts());
    let close = |name: &str, a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len(), "{what}, {name}");
        let size = largest(b.iter().map(|b| b.abs())).max(1.0);
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).abs() <= tol * size, "{what}, {name} {at}: {a} {b}");
        }
    };
    close("components", x.components.as_slice(), y.components.as_slice());
    close("mean", &x.mean, &y.mean);
    close("variance", &x.explained_variance, &y.explained_variance);
    close("ratio", &x.explained_variance_ratio, &y.explained_variance_ratio);
    close("singular values", &x.singular_values, &y.singular_values);
    close("total", &[x.total_variance], &[y.total_variance]);
    close("prior", x.prior.precision.as_slice(), y.prior.precision.as_slice());
    close("prior mean", &x.prior.mean, &y.prior.mean);
    let costs = |x: &IncompleteModel| x.convergence().trace.iter().map(|e| e.cost).collect::<Vec<_>>();
    close("costs", &costs(found), &costs(expected));
    let errors = |x: &IncompleteModel| x.convergence().trace.iter().map(|e| e.rmse).collect::<Vec<_>>();
    close("errors", &errors(found), &errors(expected));
    assert_eq!(x.n_observed, y.n_observed, "{what}");
    assert_eq!(found.n_samples(), expected.n_samples(), "{what}");
    assert_eq!(x.dtype, y.dtype, "{what}");
}

/// As [`assert_equal`], with noise and error bars. In penalised fits these count the parameters of the
/// scores that the last loadings have.
#[track_caller]
pub(super) fn assert_equal_bars(what: &str, found: &IncompleteModel, expected: &IncompleteModel, tol: f64) {
    let (x, y) = (found.parts(), expected.parts());
    let close = |name: &str, a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len(), "{what}, {name}");
        let size = largest(b.iter().map(|b| b.abs())).max(1e-300);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tol * size), "{what}, {name}: {a:?} {b:?}");
    };
    close("noise", &[x.noise_variance], &[y.noise_variance]);
    close("noise of features", &found.feature_noise_variance(), &expected.feature_noise_variance());
    close("variance of the means", &x.mean_variance, &y.mean_variance);
    let packed = |x: &karhunen::incomplete::IncompleteParts| {
        let covariances = x.loading_covariances.as_ref().unwrap();
        covariances.packed.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>()
    };
    close("covariances of the loadings", &packed(x), &packed(y));
}

/// Compares the scores of rows, predictions of all their entries, and error bars.
#[track_caller]
pub(super) fn assert_equal_predictions(
    what: &str,
    found: &IncompleteModel,
    expected: &IncompleteModel,
    tol: f64,
) {
    let (rows, run) = (observed(&problem()), Run::default());
    let of = |model: &IncompleteModel| {
        let (rows, covariances) = model.rows_with_covariances(&rows, &run).unwrap();
        let (mut values, mut bars) = (vec![0.0; 80 * 12], vec![0.0; 80 * 12]);
        model.values_into(&rows, &mut values, &run).unwrap();
        model.deviations_into((&rows.scores, &covariances), true, &mut bars, &run).unwrap();
        [rows.scores.as_slice().to_vec(), values, bars]
    };
    let names = ["scores", "predictions", "error bars"];
    for (name, (a, b)) in names.into_iter().zip(of(found).into_iter().zip(of(expected))) {
        assert_eq!(a.len(), b.len(), "{what}, {name}");
        // Covariances are of single precision.
        let tol = if name == "error bars" { tol.max(1e-6) } else { tol };
        let size = largest(b.iter().map(|x| x.abs()));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= tol * size), "{what}, {name}");
    }
}
