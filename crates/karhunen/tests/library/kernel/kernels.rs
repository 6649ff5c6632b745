//! Kernel functions against their definitions, on dense and sparse data of both types.

use std::sync::Arc;

use karhunen::error::options;
use karhunen::kernel::{BlockKernel, Gamma, Kernel, KernelRoute};
use karhunen::{Dense, Error, KernelModel, KernelPca, Matrix, Result, Run, Sparse, Weights};
use karhunen_testkit::{Rows, SparseArrays, SplitMix64, largest_difference};

use crate::kernel::fixtures::{assert_same, cloud, fit, rbf, scores};

fn kernels() -> [Kernel; 9] {
    let gamma = Gamma::Value(0.3);
    [
        Kernel::Linear,
        Kernel::Polynomial { degree: 3.0, gamma, coef0: 1.0 },
        Kernel::Polynomial { degree: 1.5, gamma, coef0: 1.0 },
        Kernel::Rbf { gamma },
        Kernel::Laplacian { gamma },
        Kernel::Sigmoid { gamma: Gamma::Value(0.02), coef0: -0.1 },
        Kernel::Cosine,
        Kernel::AdditiveChi2,
        Kernel::Chi2 { gamma },
    ]
}

/// Non-negative rows with some zeros.
fn with_zeros(n: usize, p: usize) -> Rows {
    let mut random = SplitMix64::new(5);
    let mut value = || if random.uniform() < 0.4 { 0.0 } else { random.uniform() * 2.0 };
    (0..n).map(|_| (0..p).map(|_| value()).collect()).collect()
}

fn value(kernel: &Kernel, x: &[f64], y: &[f64]) -> f64 {
    let sum = |f: fn(f64, f64) -> f64| -> f64 { x.iter().zip(y).map(|(x, y)| f(*x, *y)).sum() };
    let dot = sum(|x, y| x * y);
    let chi = sum(|x, y| if x + y == 0.0 { 0.0 } else { (x - y).powi(2) / (x + y) });
    let Some(Gamma::Value(g)) = kernel.gamma().or(Some(Gamma::Value(1.0))) else { panic!("a number") };
    match *kernel {
        Kernel::Linear => dot,
        Kernel::Polynomial { degree, coef0, .. } => (g * dot + coef0).powf(degree),
        Kernel::Rbf { .. } => (-g * sum(|x, y| (x - y).powi(2))).exp(),
        Kernel::Laplacian { .. } => (-g * sum(|x, y| (x - y).abs())).exp(),
        Kernel::Sigmoid { coef0, .. } => (g * dot + coef0).tanh(),
        Kernel::Cosine => {
            let norms = x.iter().map(|x| x * x).sum::<f64>() * y.iter().map(|y| y * y).sum::<f64>();
            if norms == 0.0 { 0.0 } else { dot / norms.sqrt() }
        }
        Kernel::AdditiveChi2 => -chi,
        Kernel::Chi2 { .. } => (-g * chi).exp(),
        _ => panic!("another kernel"),
    }
}

fn matrix(kernel: &Kernel, x: &Rows, y: &Rows) -> Rows {
    x.iter().map(|x| y.iter().map(|y| value(kernel, x, y)).collect()).collect()
}

/// Number of components whose eigenvalues are well above zero for all these kernels.
const K: usize = 3;

#[test]
fn kernel_values_agree_with_their_definitions() {
    for n in [70, 450] {
        let (rows, new) = (with_zeros(n, 6), with_zeros(30, 6));
        for kernel in kernels() {
            let pca = KernelPca { kernel: Kernel::Precomputed, tol: Some(1e-12), ..KernelPca::new(K) };
            let expected = fit(&pca, &matrix(&kernel, &rows, &rows), None);
            let expected_scores = scores(&expected, &matrix(&kernel, &new, &rows));
            let what = format!("{} of {n}", kernel.name());
            let check = |model: &KernelModel, z: &[f64], tolerance: f64, what: &str| {
                let scale = expected.eigenvalues()[0];
                let apart = largest_difference(model.eigenvalues(), expected.eigenvalues());
                assert!(apart <= tolerance * scale, "{what}: eigenvalues differ by {apart:e} of {scale:e}");
                let apart = largest_difference(z, expected_scores.as_slice());
                let allowed = 1e3 * tolerance * scale.sqrt();
                assert!(apart <= allowed, "{what}: scores differ by {apart:e}, allowed {allowed:e}");
            };
            let pca = KernelPca { kernel, tol: Some(1e-12), ..KernelPca::new(K) };
            let model = fit(&pca, &rows, None);
            check(&model, scores(&model, &new).as_slice(), 1e-11, &what);

            let (arrays, new_arrays) = (SparseArrays::of_rows(&rows), SparseArrays::of_rows(&new));
            let x = Sparse::csr(n, 6, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
            let y = Sparse::csr(30, 6, &new_arrays.indptr, &new_arrays.indices, &new_arrays.values).unwrap();
            let model = pca.fit(&x, &Weights::default()).unwrap();
            check(&model, model.transform(&y).unwrap().as_slice(), 1e-11, &format!("sparse {what}"));

            let single: Vec<f32> = rows.concat().iter().map(|x| *x as f32).collect();
            let x = Dense::row_major(&single, n, 6).unwrap();
            let model = KernelPca { tol: Some(1e-6), ..pca.clone() }.fit(&x, &Weights::default()).unwrap();
            let single: Vec<f32> = new.concat().iter().map(|x| *x as f32).collect();
            let z = model.transform(&Dense::row_major(&single, 30, 6).unwrap()).unwrap();
            let z: Vec<f64> = z.as_slice().iter().map(|z| f64::from(*z)).collect();
            check(&model, &z, 3e-6, &format!("f32 {what}"));
        }
    }
}

#[test]
fn offsets_cost_kernels_of_differences_no_digits() {
    let rows = cloud(450, 5, 9);
    // Multiples of 2^-20 stay exact when a million is added.
    let exact: Rows =
        rows.iter().map(|r| r.iter().map(|x| (x * 1048576.0).round() / 1048576.0).collect()).collect();
    let far: Rows = exact.iter().map(|r| r.iter().map(|x| x + 1e6).collect()).collect();
    for kernel in [Kernel::Linear, rbf(0.2), Kernel::Laplacian { gamma: Gamma::Value(0.2) }] {
        let pca = KernelPca { kernel, tol: Some(1e-12), ..KernelPca::new(4) };
        let (near, far) = (fit(&pca, &exact, None), fit(&pca, &far, None));
        let apart = largest_difference(near.eigenvalues(), far.eigenvalues());
        assert!(apart <= 1e-9 * near.eigenvalues()[0], "{}: {apart:e}", kernel.name());
    }
}

fn linear_plus_one(x: &Matrix, y: &Matrix) -> Result<Matrix> {
    let dot = |i: usize, j: usize| x.row(i).iter().zip(y.row(j)).map(|(a, b)| a * b).sum::<f64>();
    Ok(Matrix::from_fn(x.n_rows(), y.n_rows(), |i, j| 1.0 + dot(i, j)))
}

#[test]
fn a_user_defined_function_is_a_kernel() {
    let rows = cloud(500, 4, 10);
    let values = rows.concat();
    let x = Dense::row_major(&values, 500, 4).unwrap();
    let expected =
        fit(&KernelPca { kernel: Kernel::Linear, tol: Some(1e-12), ..KernelPca::new(3) }, &rows, None);
    for solver in [KernelRoute::Full, KernelRoute::Stored, KernelRoute::Tiles] {
        let pca =
            KernelPca { kernel: Kernel::Custom, solver: Some(solver), tol: Some(1e-12), ..KernelPca::new(3) };
        let function: Arc<dyn BlockKernel> = Arc::new(linear_plus_one);
        let model = pca.fit_function(&x, &Weights::default(), function.clone(), &Run::default()).unwrap();
        assert_same("custom", &model, &expected, &rows, 1e-11);
        let from_parts = KernelModel::try_from(model.parts().clone()).unwrap();
        assert!(matches!(from_parts.transform(&x), Err(Error::Option { option: options::KERNEL, .. })));
        let z = from_parts.with_function(function).transform(&x).unwrap();
        assert_eq!(z, model.transform(&x).unwrap());
    }
}

#[test]
fn errors_of_user_defined_functions_are_returned() {
    let values = cloud(50, 2, 1).concat();
    let x = Dense::row_major(&values, 50, 2).unwrap();
    let pca = KernelPca { kernel: Kernel::Custom, ..KernelPca::new(2) };
    let wrong = |x: &Matrix, _: &Matrix| -> Result<Matrix> { Ok(Matrix::zeros(x.n_rows(), 1)) };
    let error = pca.fit_function(&x, &Weights::default(), Arc::new(wrong), &Run::default()).unwrap_err();
    assert_eq!(error.to_string(), "what the kernel function returns: 1 column, but 50 are needed");
    let nan = |x: &Matrix, y: &Matrix| -> Result<Matrix> {
        Ok(Matrix::from_fn(x.n_rows(), y.n_rows(), |_, _| f64::NAN))
    };
    let error = pca.fit_function(&x, &Weights::default(), Arc::new(nan), &Run::default()).unwrap_err();
    assert!(matches!(error, Error::KernelValue { row: 0 }), "{error}");
}

#[test]
fn the_median_rule_agrees_with_its_definition() {
    // Squared distances 1, 1, 1, 4, 4, 9: the third of six reaches one half.
    let rows: Rows = vec![vec![0.0], vec![1.0], vec![2.0], vec![3.0]];
    let gamma = |kernel: Kernel, weights: Option<&[f64]>| match fit(
        &KernelPca { kernel, ..KernelPca::new(1) },
        &rows,
        weights,
    )
    .kernel()
    .gamma()
    {
        Some(Gamma::Value(gamma)) => gamma,
        other => panic!("{other:?}"),
    };
    assert_eq!(gamma(Kernel::Rbf { gamma: Gamma::Median }, None), 1.0);
    // The pair at distance 3 has the weight 25, the others 21 together.
    let weights = [5.0, 1.0, 1.0, 5.0];
    assert_eq!(gamma(Kernel::Rbf { gamma: Gamma::Median }, Some(&weights)), 1.0 / 9.0);
    assert_eq!(gamma(Kernel::Laplacian { gamma: Gamma::Median }, Some(&weights)), 1.0 / 3.0);
}

#[test]
fn the_median_rule_ignores_pairs_of_equal_rows() {
    let rows = cloud(60, 5, 12);
    let weights: Vec<f64> = (0..60).map(|i| f64::from(i % 5)).collect();
    let repeated: Rows = (0..60).flat_map(|i| vec![rows[i].clone(); i % 5]).collect();
    for kernel in [Kernel::Rbf { gamma: Gamma::Median }, Kernel::Laplacian { gamma: Gamma::Median }] {
        let gamma = |rows: &Rows, weights: Option<&[f64]>| match fit(
            &KernelPca { kernel, ..KernelPca::new(1) },
            rows,
            weights,
        )
        .kernel()
        .gamma()
        {
            Some(Gamma::Value(gamma)) => gamma,
            other => panic!("{other:?}"),
        };
        let (counted, expected) = (gamma(&rows, Some(&weights)), gamma(&repeated, None));
        assert!((counted / expected - 1.0).abs() < 1e-12, "{counted} {expected}");
    }
}

#[test]
fn the_median_rule_draws_rows_in_proportion_to_their_weights() {
    // More rows than the rule compares: most lie far apart, most of the weight near zero.
    let mut random = SplitMix64::new(11);
    let rows: Rows = (0..2400)
        .map(|i| {
            random.normals(1, 2).remove(0).iter().map(|x| if i % 3 == 0 { *x } else { 50.0 * x }).collect()
        })
        .collect();
    let weights: Vec<f64> = (0..2400).map(|i| if i % 3 == 0 { 40.0 } else { 1.0 }).collect();
    let mut distances: Vec<(f64, f64)> = Vec::new();
    for i in 0..rows.len() {
        for j in 0..i {
            let d: f64 = rows[i].iter().zip(&rows[j]).map(|(a, b)| (a - b).powi(2)).sum();
            distances.push((d, weights[i] * weights[j]));
        }
    }
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = distances.iter().map(|d| d.1).sum();
    let mut reached = 0.0;
    let exact = distances
        .iter()
        .find(|(_, weight)| {
            reached += weight;
            reached >= 0.5 * total
        })
        .unwrap()
        .0;
    let kernel = Kernel::Rbf { gamma: Gamma::Median };
    for seed in 0..5 {
        let pca = KernelPca {
            kernel,
            seed,
            solver: Some(KernelRoute::Nystrom),
            n_features: Some(20),
            ..KernelPca::new(1)
        };
        let Some(Gamma::Value(gamma)) = fit(&pca, &rows, Some(&weights)).kernel().gamma() else { panic!() };
        let found = 1.0 / gamma;
        // Six standard deviations of a median of a thousand rows.
        assert!((found / exact - 1.0).abs() < 0.2, "{found} {exact}");
    }
}

#[test]
fn equal_rows_have_no_components_on_any_route() {
    for rows in
        [vec![vec![1.5, -2.0, 3.0]; 10], vec![vec![1e-200, 2e-200, 0.0], vec![0.0; 3], vec![3e-200; 3]]]
    {
        for route in [
            KernelRoute::Full,
            KernelRoute::Stored,
            KernelRoute::Tiles,
            KernelRoute::Nystrom,
            KernelRoute::Fourier,
        ] {
            let kernel = Kernel::Rbf { gamma: Gamma::Value(0.3) };
            let pca = KernelPca { kernel, solver: Some(route), strict: true, ..KernelPca::new(2) };
            let model = fit(&pca, &rows, None);
            assert_eq!(model.eigenvalues(), [0.0, 0.0], "{route}");
            assert_eq!(model.convergence().residuals, [0.0, 0.0], "{route}");
        }
    }
}
