//! Equation 8 of the paper, a 3 x 5 example, and the pseudo-observations of the mean.

use karhunen::incomplete::{FitContext, MeanMode, MeanPrior, Method, Regularization, Start};
use karhunen::{Dense, IncompletePca, Matrix, Observed, Run};

const MISSING: f64 = f64::NAN;

/// Equation 8, transposed: the paper's features are rows, here they are columns.
fn equation_8() -> Observed<f64> {
    let features = [
        [-1.0, 1.0, 0.0, 0.0, MISSING],
        [-1.0, 1.0, MISSING, MISSING, 0.0],
        [MISSING, MISSING, -1.0, 1.0, MISSING],
    ]
    .concat();
    Observed::from_dense(&Dense::column_major(&features, 5, 3).unwrap()).unwrap()
}

fn without_mean(method: Method, n_components: usize) -> IncompletePca {
    let pca = IncompletePca { method, mean: MeanMode::None, tol: 1e-15, ..IncompletePca::new(n_components) };
    IncompletePca { max_iter: 100_000, ..pca }
}

#[test]
fn a_fit_of_one_component_has_no_minimum() {
    assert_eq!(equation_8().n_observed(), 9);
    for t in [0.0, 1.0, 3.0, 100.0] {
        let hidden = t / (1.0 + t * t);
        let start = Start {
            loadings: Matrix::from_vec(3, 1, vec![1.0, 1.0, t]).unwrap(),
            scores: Matrix::from_vec(5, 1, vec![-1.0, 1.0, -hidden, hidden, 0.0]).unwrap(),
            mean: None,
        };
        let pca = IncompletePca { max_iter: 1, ..without_mean(Method::Em, 1) };
        let context = FitContext { start: Some(&start), ..FitContext::default() };
        let model = pca.fit_with(&equation_8(), &context, &Run::threads(1)).unwrap();
        let [first, second] = model.convergence().trace[..] else { panic!("one iteration") };
        assert!((first.cost - 2.0 / (1.0 + t * t)).abs() < 1e-15);
        // Scores that vanish with t = 0 are a saddle point.
        assert!(second.cost < first.cost || t == 0.0);
    }
}

#[test]
fn two_components_fit_the_example_exactly() {
    let start = Start {
        loadings: Matrix::from_vec(3, 2, vec![1.0, 0.0, 1.0, 0.0, 0.0, 1.0]).unwrap(),
        scores: Matrix::from_vec(5, 2, vec![-1.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.0]).unwrap(),
        mean: None,
    };
    let context = FitContext { start: Some(&start), ..FitContext::default() };
    let model = without_mean(Method::Em, 2).fit_with(&equation_8(), &context, &Run::threads(1)).unwrap();
    assert_eq!(model.convergence().trace[0].cost, 0.0);
    for method in [Method::Em, Method::Cg] {
        let cost = without_mean(method, 2).fit(&equation_8()).unwrap().convergence().cost;
        assert!(cost < 1e-9, "{}: {cost}", method.name());
    }
}

#[test]
fn ridge_and_soft_imputation_reach_the_same_optimum() {
    for (lambda, cost) in [(0.1, 0.6628427125), (0.5, 2.9142135624)] {
        let two = 2.0f64;
        assert!((2.0 * lambda * (2.0 + two.sqrt()) - 2.0 * lambda * lambda - cost).abs() < 1e-10);
        for method in [Method::Ridge, Method::Als, Method::Soft, Method::Ccd] {
            for n_components in [2, 3] {
                let pca = IncompletePca {
                    regularization: Some(Regularization::Ridge(lambda)),
                    ..without_mean(method, n_components)
                };
                let model = pca.fit(&equation_8()).unwrap();
                let found = model.convergence().cost;
                // A third component vanishes slowly: its singular value is at the threshold.
                assert!((found - cost).abs() < 1e-7, "{} {n_components}: {found}", method.name());
                for (d, expected) in model.singular_values().iter().zip([2.0, two.sqrt()]) {
                    assert!((d - (expected - lambda)).abs() < 1e-3, "{}: {d}", method.name());
                }
                // The objective of soft imputation, 1/2 sum e^2 + lambda |X|_*, is half of the ridge cost.
                let nuclear: f64 = model.singular_values().iter().sum();
                let half = 9.0 * model.convergence().rmse.powi(2) / 2.0 + lambda * nuclear;
                assert!((half - cost / 2.0).abs() < 1e-6, "{}: {half}", method.name());
            }
        }
    }
}

#[test]
fn pseudo_observations_shrink_the_mean() {
    let ratings = [5.0, 1.0, MISSING, 4.0, MISSING, MISSING, MISSING, MISSING, MISSING];
    let data = Observed::from_dense(&Dense::row_major(&ratings, 3, 3).unwrap()).unwrap();
    let mean_prior = MeanPrior { count: 22.0, value: Some(3.0) };
    let pca = IncompletePca { mean: MeanMode::Fixed, mean_prior, ..IncompletePca::new(1) };
    let mean = pca.fit(&data).unwrap().mean().to_vec();
    for (found, expected) in mean.iter().zip([3.125, 67.0 / 23.0, 3.0]) {
        assert!((found - expected).abs() < 1e-15, "{found} instead of {expected}");
    }
    // Without a prior: the means of the entries, and of all entries for empty columns.
    let pca = IncompletePca { mean: MeanMode::Fixed, ..IncompletePca::new(1) };
    assert_eq!(pca.fit(&data).unwrap().mean(), [4.5, 1.0, 10.0 / 3.0]);
}
