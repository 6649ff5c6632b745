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
