//! Optima of problem Q, by every method that has them.

use karhunen::{IncompleteModel, IncompletePca, Matrix, MeanMode, Method, Regularization, Start, Unobserved};
use karhunen_testkit::Holes;

use crate::fixtures::{observed, test_rmse};

struct Optimum {
    cost: f64,
    rmse: f64,
    test_rmse: f64,
    singular_values: [f64; 2],
}

const LEAST_SQUARES: Optimum = Optimum {
    cost: 11.152703392,
    rmse: 0.188462632,
    test_rmse: 0.364149,
    singular_values: [27.2358388, 18.7862794],
};

const RIDGE: Optimum = Optimum {
    cost: 98.247840389,
    rmse: 0.222316567,
    test_rmse: 0.466242,
    singular_values: [24.7805235, 16.5837257],
};

const WEIGHTED: Optimum = Optimum {
    cost: 36.711640323,
    rmse: 0.191298539,
    test_rmse: 0.371043,
    singular_values: [26.5322842, 18.1698937],
};

fn fit(method: Method, regularization: Option<Regularization>) -> IncompleteModel {
    let pca = IncompletePca {
        method,
        regularization,
        tol: 1e-14,
        max_iter: 200_000,
        n_threads: Some(1),
        ..IncompletePca::new(2)
    };
    pca.fit(&observed(&Holes::problem_q())).unwrap()
}

/// The cost is flat at its minimum: it is known to its last printed digit, the rest to the square root of that.
#[track_caller]
fn assert_optimum(model: &IncompleteModel, expected: &Optimum) {
    let name = model.convergence().method.name();
    let cost = model.convergence().cost;
    assert!((cost - expected.cost).abs() < 2e-9, "{name}: cost {cost} instead of {}", expected.cost);
    let rmse = model.convergence().rmse;
    assert!((rmse - expected.rmse).abs() < 1e-7, "{name}: rmse {rmse} instead of {}", expected.rmse);
    let test = test_rmse(model, &Holes::problem_q());
    assert!(
        (test - expected.test_rmse).abs() < 2e-5,
        "{name}: test {test} instead of {}",
        expected.test_rmse
    );
    for (found, expected) in model.singular_values().iter().zip(expected.singular_values) {
        assert!((found - expected).abs() < 1e-4, "{name}: D {found} instead of {expected}");
    }
}

#[test]
fn the_mean_alone() {
    let holes = Holes::problem_q();
    let start = Start { loadings: Matrix::zeros(12, 1), scores: Matrix::zeros(40, 1), mean: None };
    let pca =
        IncompletePca { method: Method::Em, mean: MeanMode::Fixed, max_iter: 1, ..IncompletePca::new(1) };
    let model = pca.fit_observed(&observed(&holes), Some(&start), &Unobserved).unwrap();
    // Nothing comes of nothing: factors of zeros are a saddle.
    assert!((model.convergence().rmse - 1.4980603887).abs() < 1e-10);
    assert!((test_rmse(&model, &holes) - 1.6009143029).abs() < 1e-10);
}

#[test]
fn least_squares() {
    for method in [Method::Em, Method::Cg, Method::Newton, Method::Gradient, Method::Ccd, Method::Imputation]
    {
        assert_optimum(&fit(method, None), &LEAST_SQUARES);
    }
}

#[test]
fn ridge() {
    for method in [Method::Als, Method::Ridge, Method::Cg, Method::Newton, Method::Ccd, Method::Soft] {
        assert_optimum(&fit(method, Some(Regularization::Ridge(1.0))), &RIDGE);
    }
}

#[test]
fn weighted_ridge() {
    for method in [Method::Als, Method::Cg, Method::Ccd] {
        assert_optimum(&fit(method, Some(Regularization::Weighted(0.02))), &WEIGHTED);
    }
}
