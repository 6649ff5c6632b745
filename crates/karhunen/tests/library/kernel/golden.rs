//! Results of scikit-learn's KernelPCA for iris. `golden/` holds them and the script that made them.

use std::path::Path;

use karhunen::KernelPca;
use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen_testkit::{Rows, largest_difference};
use serde_json::Value;

use crate::kernel::fixtures::{EXACT, fit, rbf, scores};

pub(crate) fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/sklearn_kernel_iris.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn rows(value: &Value) -> Rows {
    value.as_array().unwrap().iter().map(numbers).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

pub(crate) fn iris() -> Rows {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/iris.csv");
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').take(4).map(|x| x.parse().unwrap()).collect()).collect()
}

fn kernels() -> Vec<(&'static str, Kernel)> {
    let gamma = Gamma::Value;
    vec![
        ("linear", Kernel::Linear),
        ("poly", Kernel::Polynomial { degree: 3.0, gamma: gamma(0.3), coef0: 0.5 }),
        ("rbf", rbf(0.4)),
        ("rbf_default", Kernel::default()),
        ("laplacian", Kernel::Laplacian { gamma: gamma(0.2) }),
        ("sigmoid", Kernel::Sigmoid { gamma: gamma(0.01), coef0: 0.1 }),
        ("cosine", Kernel::Cosine),
        ("additive_chi2", Kernel::AdditiveChi2),
        ("chi2", Kernel::Chi2 { gamma: gamma(0.7) }),
    ]
}

#[test]
fn every_kernel_and_exact_route_agrees_with_scikit_learn() {
    let (golden, x) = (golden(), iris());
    let new = rows(&golden["new_rows"]);
    for (name, kernel) in kernels() {
        let case = &golden["kernels"][name];
        let eigenvalues = numbers(&case["eigenvalues"]);
        for route in EXACT {
            let pca = KernelPca {
                kernel,
                solver: Some(route),
                tol: Some(1e-12),
                ..KernelPca::new(eigenvalues.len())
            };
            let model = fit(&pca, &x, None);
            let what = format!("{name} {route}");
            // Both sides round sums of 150 products; eigenvalues differ by a factor of at most a hundred.
            let apart = largest_difference(model.eigenvalues(), &eigenvalues);
            assert!(apart <= 1e-12 * eigenvalues[0], "{what}: eigenvalues differ by {apart:e}");
            let scale = eigenvalues[0].sqrt();
            let fitted = model.fitted_scores();
            let apart = largest_difference(
                &fitted.as_slice()[..3 * eigenvalues.len()],
                &rows(&case["fitted_head"]).concat(),
            );
            assert!(apart <= 1e-9 * scale, "{what}: scores differ by {apart:e}");
            let apart =
                largest_difference(scores(&model, &new).as_slice(), &rows(&case["new_scores"]).concat());
            assert!(apart <= 1e-9 * scale, "{what}: scores of new rows differ by {apart:e}");
        }
    }
}

#[test]
fn gamma_scale_agrees_with_scikit_learn() {
    let pca = KernelPca { kernel: Kernel::Rbf { gamma: Gamma::Scale }, ..KernelPca::new(2) };
    let model = fit(&pca, &iris(), None);
    let Some(Gamma::Value(gamma)) = model.kernel().gamma() else { panic!("a number") };
    let expected = golden()["gamma_scale"].as_f64().unwrap();
    assert!((gamma - expected).abs() < 1e-14 * expected, "{gamma} {expected}");
    assert_eq!(model.convergence().solver, KernelRoute::Full);
}
