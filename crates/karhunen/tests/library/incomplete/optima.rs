//! Optima of problem Q, by every method that reaches them.

use std::path::Path;

use karhunen::incomplete::{FitContext, MeanMode, Method, Regularization, Start};
use karhunen::{IncompleteModel, IncompletePca, Matrix, Run};
use karhunen_testkit::Incomplete;
use serde_json::Value;

use crate::incomplete::fixtures::{observed, test_rmse};

struct Optimum {
    cost: f64,
    rmse: f64,
    test_rmse: f64,
    singular_values: [f64; 2],
}

/// The optima of `golden/make_missing_optima.py`, by a method that the library does not have.
fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/missing_optima.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn optimum(name: &str) -> Optimum {
    let found = &golden()[name];
    let number = |value: &Value| value.as_f64().unwrap();
    Optimum {
        cost: number(&found["cost"]),
        rmse: number(&found["rmse"]),
        test_rmse: number(&found["hidden_rmse"]),
        singular_values: [0, 1].map(|k| number(&found["singular_values"][k])),
    }
}

fn fit(method: Method, regularization: Option<Regularization>) -> IncompleteModel {
    let pca =
        IncompletePca { method, regularization, tol: 1e-14, max_iter: 200_000, ..IncompletePca::new(2) };
    pca.fit_with(&observed(&Incomplete::problem_q()), &FitContext::default(), &Run::threads(1)).unwrap()
}

/// Compares a fit with an optimum. The cost is flat at its minimum and agrees to a few rounding errors, within
/// which fits stop; other results agree to the square root of that.
#[track_caller]
fn assert_optimum(model: &IncompleteModel, expected: &Optimum) {
    let name = model.convergence().method.name();
    let cost = model.convergence().cost;
    assert!((cost - expected.cost).abs() < 2e-9, "{name}: cost {cost} instead of {}", expected.cost);
    let rmse = model.convergence().rmse;
    assert!((rmse - expected.rmse).abs() < 1e-7, "{name}: rmse {rmse} instead of {}", expected.rmse);
    let test = test_rmse(model, &Incomplete::problem_q());
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
fn the_optimum_of_the_mean_alone_is_found() {
    let table = Incomplete::problem_q();
    let start = Start { loadings: Matrix::zeros(12, 1), scores: Matrix::zeros(40, 1), mean: None };
    let pca =
        IncompletePca { method: Method::Em, mean: MeanMode::Fixed, max_iter: 1, ..IncompletePca::new(1) };
    let context = FitContext { start: Some(&start), ..FitContext::default() };
    let model = pca.fit_with(&observed(&table), &context, &Run::default()).unwrap();
    // Factors of zeros are a saddle point, from which no method moves.
    let expected = &golden()["mean_alone"];
    assert!((model.convergence().rmse - expected["rmse"].as_f64().unwrap()).abs() < 1e-13);
    assert!((test_rmse(&model, &table) - expected["hidden_rmse"].as_f64().unwrap()).abs() < 1e-13);
}

#[test]
fn the_optimum_of_least_squares_is_found() {
    for method in [Method::Em, Method::Cg, Method::Newton, Method::Gradient, Method::Ccd, Method::Imputation]
    {
        assert_optimum(&fit(method, None), &optimum("least_squares"));
    }
}

#[test]
fn the_optimum_of_a_ridge_is_found() {
    for method in [Method::Als, Method::Ridge, Method::Cg, Method::Newton, Method::Ccd, Method::Soft] {
        assert_optimum(&fit(method, Some(Regularization::Ridge(1.0))), &optimum("ridge"));
    }
}

#[test]
fn the_optimum_of_a_weighted_ridge_is_found() {
    for method in [Method::Als, Method::Cg, Method::Ccd] {
        assert_optimum(&fit(method, Some(Regularization::Weighted(0.02))), &optimum("weighted"));
    }
}

/// Random loadings hardly determine some rows, whose scores would be huge, from which least squares does not return.
#[test]
fn least_squares_finds_a_planted_component_from_every_start() {
    for seed in 0..12 {
        let table = Incomplete::planted(60, 12, &[4.0], 0.5, 0.2, 100 + seed);
        let model = IncompletePca { method: Method::Em, seed, ..IncompletePca::new(1) }
            .fit(&observed(&table))
            .unwrap();
        let rmse = model.convergence().rmse;
        assert!(rmse < 0.55, "seed {seed}: {rmse}");
    }
}
