//! Methods with posteriors: optima of problem Q, closed forms of complete data, how many components they find.

use karhunen::{Dense, IncompleteModel, IncompletePca, Method, Observed, Pca, Weights};
use karhunen_testkit::Holes;

use crate::fixtures::{observed, test_rmse};

fn strict(method: Method, c: usize) -> IncompletePca {
    IncompletePca { method, tol: 1e-13, max_iter: 20_000, ..IncompletePca::new(c) }
}

struct Optimum {
    cost: f64,
    rmse: f64,
    test_rmse: f64,
    noise: f64,
}

#[track_caller]
fn assert_optimum(model: &IncompleteModel, expected: &Optimum) {
    let found = model.convergence();
    let test = test_rmse(model, &Holes::problem_q());
    let name = found.method.name();
    assert!(found.converged(), "{name}: {} iterations", found.trace.len());
    assert!((found.cost - expected.cost).abs() < 1e-6, "{name}: cost {}", found.cost);
    assert!((found.rmse - expected.rmse).abs() < 1e-6, "{name}: rmse {}", found.rmse);
    assert!((test - expected.test_rmse).abs() < 2e-6, "{name}: test {test}");
    let noise = model.noise_variance();
    assert!((noise - expected.noise).abs() < 1e-7, "{name}: noise {noise}");
}

#[test]
fn probabilistic_pca() {
    let model = strict(Method::Ppca, 2).fit(&observed(&Holes::problem_q())).unwrap();
    let expected = Optimum { cost: 167.891814, rmse: 0.188782883, test_rmse: 0.360595, noise: 0.04767861 };
    assert_optimum(&model, &expected);
}

#[test]
fn variational_bayes_with_full_covariances() {
    let expected = Optimum { cost: 281.173089, rmse: 0.189183083, test_rmse: 0.360951, noise: 0.05643517 };
    for seed in 0..5 {
        let pca = IncompletePca { seed, ..strict(Method::VbFull, 2) };
        assert_optimum(&pca.fit(&observed(&Holes::problem_q())).unwrap(), &expected);
    }
}

#[test]
fn variational_bayes_with_factorial_posteriors() {
    let expected = Optimum { cost: 281.792049, rmse: 0.189168485, test_rmse: 0.360950, noise: 0.05643879 };
    for seed in 0..5 {
        let pca = IncompletePca { seed, ..strict(Method::Vb, 2) };
        assert_optimum(&pca.fit(&observed(&Holes::problem_q())).unwrap(), &expected);
    }
}

#[test]
fn variational_bayes_with_a_broad_prior() {
    let expected = Optimum { cost: 350.074149, rmse: 0.188868649, test_rmse: 0.361031, noise: 0.05634468 };
    let pca = IncompletePca { prior_variance: Some(1000.0), ..strict(Method::VbFixed, 2) };
    assert_optimum(&pca.fit(&observed(&Holes::problem_q())).unwrap(), &expected);
}

#[test]
fn regularized_with_learned_variances() {
    let holes = Holes::problem_q();
    let model = strict(Method::Map, 2).fit(&observed(&holes)).unwrap();
    let found = model.convergence();
    assert!((found.cost + 665.912629558).abs() < 2e-8, "{}", found.cost);
    assert!((found.rmse - 0.188661371).abs() < 1e-8, "{}", found.rmse);
    assert!((found.rmse.powi(2) - 0.0355931130).abs() < 1e-8);
    assert!((test_rmse(&model, &holes) - 0.361802).abs() < 1e-6);
    // v_s = D^2 / n^2.
    for (d, expected) in model.singular_values().iter().zip([0.45778218, 0.21610962]) {
        assert!((d * d / 1600.0 - expected).abs() < 1e-7, "{}", d * d / 1600.0);
    }
}
