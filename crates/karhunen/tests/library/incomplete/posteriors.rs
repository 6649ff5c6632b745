//! Methods with posteriors: optima of problem Q, closed forms for complete data, numbers of active components.

use karhunen::incomplete::{Method, Regularization};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed, Pca, Run, Weights};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{observed, test_rmse};

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
    let test = test_rmse(model, &Incomplete::problem_q());
    let name = found.method.name();
    assert!(found.converged(), "{name}: {} iterations", found.trace.len());
    assert!((found.cost - expected.cost).abs() < 1e-6, "{name}: cost {}", found.cost);
    assert!((found.rmse - expected.rmse).abs() < 1e-6, "{name}: rmse {}", found.rmse);
    assert!((test - expected.test_rmse).abs() < 2e-6, "{name}: test {test}");
    let noise = model.noise_variance();
    assert!((noise - expected.noise).abs() < 1e-7, "{name}: noise {noise}");
}

#[test]
fn the_optimum_of_probabilistic_pca_is_found() {
    let model = strict(Method::Ppca, 2).fit(&observed(&Incomplete::problem_q())).unwrap();
    let expected = Optimum { cost: 167.891814, rmse: 0.188782883, test_rmse: 0.360595, noise: 0.04767861 };
    assert_optimum(&model, &expected);
}

#[test]
fn the_optimum_of_variational_bayes_with_full_covariances_is_found() {
    let expected = Optimum { cost: 281.173089, rmse: 0.189183083, test_rmse: 0.360951, noise: 0.05643517 };
    for seed in 0..5 {
        let pca = IncompletePca { seed, ..strict(Method::VbFull, 2) };
        assert_optimum(&pca.fit(&observed(&Incomplete::problem_q())).unwrap(), &expected);
    }
}

#[test]
fn the_optimum_of_factorial_variational_bayes_is_found() {
    let expected = Optimum { cost: 281.792049, rmse: 0.189168485, test_rmse: 0.360950, noise: 0.05643879 };
    for seed in 0..5 {
        let pca = IncompletePca { seed, ..strict(Method::Vb, 2) };
        assert_optimum(&pca.fit(&observed(&Incomplete::problem_q())).unwrap(), &expected);
    }
}

#[test]
fn the_optimum_of_variational_bayes_with_a_broad_prior_is_found() {
    let expected = Optimum { cost: 350.074149, rmse: 0.188868649, test_rmse: 0.361031, noise: 0.05634468 };
    let pca = IncompletePca { prior_variance: Some(1000.0), ..strict(Method::VbFixed, 2) };
    assert_optimum(&pca.fit(&observed(&Incomplete::problem_q())).unwrap(), &expected);
}

#[test]
fn the_optimum_with_learned_variances_is_found() {
    let table = Incomplete::problem_q();
    let model = strict(Method::Map, 2).fit(&observed(&table)).unwrap();
    let found = model.convergence();
    assert!((found.cost + 665.912629558).abs() < 2e-8, "{}", found.cost);
    assert!((found.rmse - 0.188661371).abs() < 1e-8, "{}", found.rmse);
    assert!((found.rmse.powi(2) - 0.0355931130).abs() < 1e-8);
    assert!((test_rmse(&model, &table) - 0.361802).abs() < 1e-6);
    // v_s = D^2 / n^2.
    for (d, expected) in model.singular_values().iter().zip([0.45778218, 0.21610962]) {
        assert!((d * d / 1600.0 - expected).abs() < 1e-7, "{}", d * d / 1600.0);
    }
}

/// Singular values of centred complete data, and a fit of them.
fn complete(method: Method, c: usize) -> (Vec<f64>, IncompleteModel) {
    let table = Incomplete::planted(50, 9, &[3.0, 2.0, 1.0], 0.3, 0.0, 5);
    let x = table.with_nan();
    let dense = Dense::row_major(&x, 50, 9).unwrap();
    let exact = Pca { n_components: karhunen::NComponents::Count(c), ..Pca::default() };
    let exact = exact.fit(&dense, &Weights::default()).unwrap();
    let model = strict(method, c).fit(&Observed::from_dense(&dense).unwrap()).unwrap();
    (exact.singular_values().to_vec(), model)
}

#[test]
fn complete_data_have_the_closed_form_of_the_posterior_mode() {
    let (exact, model) = complete(Method::Map, 3);
    let (n, v_x) = (50.0, model.convergence().rmse.powi(2));
    for (found, g) in model.singular_values().iter().zip(exact) {
        let expected = 0.5 * (g + (g * g - 4.0 * n * v_x).sqrt());
        assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
    }
}

#[test]
fn complete_data_have_the_closed_form_of_variational_bayes() {
    let mut costs = Vec::new();
    for method in [Method::VbFull, Method::Vb] {
        let (exact, model) = complete(method, 3);
        let (n, p, v_x) = (50.0, 9.0, model.noise_variance());
        for (found, g) in model.singular_values().iter().zip(exact) {
            let t = 1.0 - (n + p) * v_x / (g * g);
            let expected = 0.5 * g * (t + (t * t - 4.0 * n * p * v_x * v_x / g.powi(4)).sqrt());
            assert!((found - expected).abs() < 1e-4, "{}: {found} instead of {expected}", method.name());
        }
        costs.push(model.convergence().cost);
    }
    // For complete data, factorial posteriors are exact.
    assert!((costs[0] - costs[1]).abs() < 1e-6, "{costs:?}");
}

#[test]
fn components_without_support_in_the_data_are_pruned() {
    for seed in 0..4 {
        let data = observed(&Incomplete::planted(200, 40, &[3.0, 2.0, 1.5], 0.5, 0.5, 20 + seed));
        for method in [Method::Vb, Method::VbFull] {
            let pca = IncompletePca { method, seed, ..IncompletePca::new(8) };
            let model = pca.fit(&data).unwrap();
            assert_eq!(model.n_components(), 3, "{}", method.name());
            assert_eq!(model.scores().shape(), (200, 3));
            assert_eq!(model.convergence().method, method);
        }
    }
}

#[test]
fn a_fit_of_noise_alone_reports_a_collapse() {
    let data = observed(&Incomplete::planted(100, 30, &[], 1.0, 0.5, 4));
    let model = IncompletePca { method: Method::Map, ..IncompletePca::new(3) }.fit(&data).unwrap();
    assert_eq!(model.n_components(), 1);
    assert!(model.convergence().reason.contains("collapsed"), "{:?}", model.convergence());
    assert!(model.scores().as_slice().iter().all(|s| *s == 0.0));
    let found = model.predict(0, 0).unwrap();
    assert!((found.value - model.mean()[0]).abs() < 1e-12 && found.std().unwrap() > 0.5);
}

#[test]
fn posteriors_of_new_rows_match_fitted_rows() {
    let data = observed(&Incomplete::problem_q());
    for method in [Method::Ppca, Method::Vb, Method::VbFixed, Method::VbFull] {
        let model = strict(method, 2).fit(&data).unwrap();
        let (scores, covariances) = model.transform_with_covariances(&data, &Run::default()).unwrap();
        for j in 0..40 {
            for k in 0..2 {
                assert!((scores[(j, k)] - model.scores()[(j, k)]).abs() < 1e-5, "{}", method.name());
                for l in 0..2 {
                    let expected = model.score_covariances().unwrap().get(j, k, l);
                    let found = covariances.get(j, k, l);
                    assert!((found - expected).abs() < 1e-5 * (1.0 + expected), "{}", method.name());
                }
            }
        }
    }
}

#[test]
fn the_automatic_method_follows_the_documented_rule() {
    let data = observed(&Incomplete::planted(60, 40, &[3.0, 2.0], 0.5, 0.3, 3));
    let chosen = |pca: IncompletePca| {
        let model = IncompletePca { max_iter: 2, ..pca }.fit(&data).unwrap();
        (model.convergence().method, model.convergence().reason.clone())
    };
    assert_eq!(chosen(IncompletePca::new(2)).0, Method::VbFull);
    assert!(chosen(IncompletePca::new(2)).1.contains("32 components"));
    assert_eq!(chosen(IncompletePca::new(33)).0, Method::Vb);
    let with = |regularization| IncompletePca { regularization, ..IncompletePca::new(2) };
    assert_eq!(chosen(with(Some(Regularization::Ridge(1.0)))).0, Method::Ridge);
    assert_eq!(chosen(with(Some(Regularization::None))).0, Method::Cg);
    assert_eq!(chosen(IncompletePca { alpha: 0.5, ..IncompletePca::new(2) }).0, Method::Ridge);
}

#[test]
fn the_best_posterior_by_held_out_error_is_kept() {
    let data = observed(&Incomplete::planted(200, 40, &[3.0, 2.0, 1.5], 0.5, 0.5, 7));
    for method in [Method::Map, Method::Ppca, Method::Vb, Method::VbFull] {
        let pca = IncompletePca { method, early_stopping: Some(0.05), ..IncompletePca::new(5) };
        let model = pca.fit(&data).unwrap();
        let found = model.convergence();
        let held_out = found.held_out_rmse.unwrap();
        assert!(held_out < 0.7, "{}: {held_out}", method.name());
        assert!(found.trace.iter().all(|entry| entry.held_out_rmse.is_some()));
        let prediction = model.predict(0, 0).unwrap();
        assert!(prediction.std().unwrap() > prediction.noise_free_std().unwrap());
    }
}
