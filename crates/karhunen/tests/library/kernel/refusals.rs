//! Every rule, its error and its message.

use std::sync::Mutex;

use karhunen::kernel::{Gamma, Kernel, KernelRoute};
use karhunen::matrix::SparseMatrix;
use karhunen::{Dense, Error, Flow, KernelPca, Observer, Run, Weights};

use crate::kernel::fixtures::{cloud, rbf};

fn refused(pca: &KernelPca, values: &[f64], shape: (usize, usize), weights: &Weights<'_>) -> String {
    let x = Dense::row_major(values, shape.0, shape.1).unwrap();
    pca.fit(&x, weights).unwrap_err().to_string()
}

#[test]
fn options_outside_their_rules_are_refused() {
    let values = cloud(20, 2, 1).concat();
    let base = KernelPca::new(2);
    let kernel = |kernel| KernelPca { kernel, ..base.clone() };
    let cases = [
        (KernelPca::new(21), "n_components = 21 is outside 1..=20"),
        (KernelPca::new(0), "n_components = 0 is outside 1..=20"),
        (kernel(rbf(0.0)), "gamma = 0 is not allowed: it must be finite and positive"),
        (kernel(rbf(f64::NAN)), "gamma = NaN is not allowed"),
        (kernel(Kernel::Sigmoid { gamma: Gamma::Median, coef0: 0.0 }), "gamma = median is not allowed"),
        (
            kernel(Kernel::Polynomial { degree: -1.0, gamma: Gamma::PerFeature, coef0: 0.0 }),
            "degree = -1 is not allowed",
        ),
        (
            kernel(Kernel::Sigmoid { gamma: Gamma::PerFeature, coef0: f64::INFINITY }),
            "coef0 = inf is not allowed",
        ),
        (kernel(Kernel::Custom), "kernel = custom is not allowed"),
        (KernelPca { tol: Some(1.0), ..base.clone() }, "tol = 1 is not allowed"),
        (KernelPca { max_iter: 0, ..base.clone() }, "max_iter = 0 is not allowed"),
        (KernelPca { block_size: Some(0), ..base.clone() }, "block_size = 0 is not allowed"),
        (
            KernelPca { block_size: Some(4), solver: Some(KernelRoute::Full), ..base.clone() },
            "block_size = 4 is not allowed: only the solvers stored and tiles work in blocks",
        ),
        (
            KernelPca { memory_limit: Some(1000), solver: Some(KernelRoute::Full), ..base.clone() },
            "the full route needs 13 kB of memory, but `memory_limit` is 1 kB",
        ),
        (kernel(Kernel::Precomputed), "a precomputed kernel matrix: 2 columns, but 20 are needed"),
    ];
    for (pca, message) in cases {
        let found = refused(&pca, &values, (20, 2), &Weights::default());
        assert!(found.starts_with(message), "{found}\n{message}");
    }
    let weights = Weights { samples: None, features: Some(&[1.0, 2.0]) };
    assert!(refused(&base, &values, (20, 2), &weights).starts_with("feature_weights is not allowed"));
    assert!(
        refused(&base, &values, (20, 2), &Weights::of_samples(&[0.0; 20]))
            .contains("all 20 entries are zero")
    );
}

#[test]
fn data_that_kernels_cannot_use_are_refused() {
    let base = KernelPca::new(1);
    let found = refused(&base, &[1.0, f64::NAN, 2.0, 3.0], (2, 2), &Weights::default());
    assert!(found.starts_with("row 0, column 1 is NaN"), "{found}");
    let chi2 = KernelPca { kernel: Kernel::AdditiveChi2, ..base.clone() };
    let found = refused(&chi2, &[1.0, 0.0, 2.0, -3.0], (2, 2), &Weights::default());
    assert_eq!(found, "row 1, column 1 is -3, but the kernel additive-chi2 is defined for values >= 0 only");
    let given = KernelPca { kernel: Kernel::Precomputed, ..base.clone() };
    let found = refused(&given, &[1.0, 0.5, 0.25, 1.0], (2, 2), &Weights::default());
    assert!(found.starts_with("the kernel matrix is not symmetric: row 1, column 0 is 0.25"), "{found}");
    let tiles = KernelPca { solver: Some(KernelRoute::Tiles), ..given };
    let found = refused(&tiles, &[1.0, 0.5, 0.5, 1.0], (2, 2), &Weights::default());
    assert!(found.starts_with("solver = tiles is not allowed"), "{found}");
    let median = KernelPca { kernel: Kernel::Rbf { gamma: Gamma::Median }, ..base };
    let found = refused(&median, &[1.0, 1.0, 1.0], (3, 1), &Weights::default());
    assert!(found.contains("the rule finds no spread in the data"), "{found}");
}

#[test]
fn new_rows_of_the_wrong_shape_are_refused() {
    let values = cloud(30, 2, 1).concat();
    let model =
        KernelPca::new(2).fit(&Dense::row_major(&values, 30, 2).unwrap(), &Weights::default()).unwrap();
    let three = [1.0, 2.0, 3.0];
    let error = model.transform(&Dense::row_major(&three, 1, 3).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "data to transform: 3 columns, but 2 are needed");
    let infinite = [1.0, 1.0, 2.0, f64::INFINITY];
    let error = model.transform(&Dense::row_major(&infinite, 2, 2).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NonFinite { row: 1, column: 1, .. }), "{error}");
}

#[test]
fn kernels_that_are_not_positive_are_refused() {
    // [[0, 1], [1, 0]] has the eigenvalues 1 and -1, and -1/2 ... after centring.
    let n = 6;
    let given: Vec<f64> = (0..n * n).map(|e| if e / n == e % n { 0.0 } else { 1.0 }).collect();
    let pca = KernelPca { kernel: Kernel::Precomputed, ..KernelPca::new(2) };
    let found = refused(&pca, &given, (n, n), &Weights::default());
    assert!(found.starts_with("the kernel is not positive semi-definite"), "{found}");
}

#[test]
fn an_iteration_that_stops_early_is_reported() {
    let values = cloud(600, 8, 1).concat();
    let x = Dense::row_major(&values, 600, 8).unwrap();
    let pca = KernelPca { kernel: rbf(0.5), max_iter: 1, ..KernelPca::new(10) };
    let model = pca.fit(&x, &Weights::default()).unwrap();
    assert!(!model.convergence().converged());
    let error = KernelPca { strict: true, ..pca }.fit(&x, &Weights::default()).unwrap_err();
    assert!(matches!(error, Error::NotConverged { solver: "stored", requested: 10, .. }), "{error}");
}

#[test]
fn the_limit_of_passes_is_obeyed() {
    let values = cloud(600, 8, 1).concat();
    let x = Dense::row_major(&values, 600, 8).unwrap();
    let sigmoid = Kernel::Sigmoid { gamma: Gamma::Value(0.01), coef0: 0.1 };
    let check = |pca: KernelPca| match pca.fit(&x, &Weights::default()) {
        Ok(model) => assert!(model.convergence().n_passes <= pca.max_iter, "{pca:?}"),
        // With so few passes, estimates of small eigenvalues may be far below zero.
        Err(error) => assert!(matches!(error, Error::NegativeEigenvalue { .. }), "{pca:?}: {error}"),
    };
    for (kernel, fewest) in [(rbf(0.5), 1), (sigmoid, 3)] {
        for solver in [KernelRoute::Stored, KernelRoute::Tiles] {
            for (k, more) in [3, 40].into_iter().flat_map(|k| [0, 1, 4, 20].map(|more| (k, more))) {
                let max_iter = fewest + more;
                check(KernelPca { kernel, solver: Some(solver), max_iter, ..KernelPca::new(k) });
            }
        }
        let few = KernelPca { kernel, block_size: Some(4), max_iter: fewest + 1, ..KernelPca::new(9) };
        let found = refused(&few, &values, (600, 8), &Weights::default());
        assert!(found.contains("is not allowed: blocks of block_size columns"), "{found}");
        check(KernelPca { max_iter: fewest + 2, ..few });
    }
    // The passes of an iteration in f32 count.
    let begins = KernelPca {
        kernel: rbf(0.5),
        solver: Some(KernelRoute::Tiles),
        tol: Some(1e-4),
        ..KernelPca::new(90)
    };
    check(KernelPca { block_size: Some(1), max_iter: 200, ..begins });
    let few = KernelPca { kernel: sigmoid, max_iter: 2, ..KernelPca::new(3) };
    let found = refused(&few, &values, (600, 8), &Weights::default());
    assert!(found.starts_with("max_iter = 2 is not allowed: kernels that may not be"), "{found}");
}

#[test]
fn an_observer_may_cancel_a_fit() {
    struct Stop(&'static str);
    impl Observer for Stop {
        fn update(&self, phase: &'static str, _: f64) -> Flow {
            if phase == self.0 { Flow::Stop } else { Flow::Continue }
        }
    }
    let values = cloud(900, 3, 1).concat();
    let x = Dense::row_major(&values, 900, 3).unwrap();
    for phase in ["rows", "kernel matrix", "block Krylov"] {
        let error =
            KernelPca::new(2).fit_with(&x, &Weights::default(), &Run::observed(&Stop(phase))).unwrap_err();
        assert!(matches!(error, Error::Stopped { phase: stopped } if stopped == phase), "{error}");
    }
}

#[test]
fn the_progress_of_a_phase_never_falls() {
    struct Watch(Mutex<Vec<(&'static str, f64)>>);
    impl Observer for Watch {
        fn update(&self, phase: &'static str, fraction: f64) -> Flow {
            self.0.lock().unwrap().push((phase, fraction));
            Flow::Continue
        }
    }
    let values = cloud(900, 3, 1).concat();
    let x = Dense::row_major(&values, 900, 3).unwrap();
    // With the larger tolerance an iteration begins in f32.
    for (solver, tol) in
        [KernelRoute::Stored, KernelRoute::Tiles].into_iter().flat_map(|s| [(s, 1e-8), (s, 1e-4)])
    {
        let watch = Watch(Mutex::default());
        let pca = KernelPca { kernel: rbf(0.3), solver: Some(solver), tol: Some(tol), ..KernelPca::new(2) };
        let run = Run { n_threads: Some(1), ..Run::observed(&watch) };
        pca.fit_with(&x, &Weights::default(), &run).unwrap();
        let reports = watch.0.into_inner().unwrap();
        for phase in ["kernel matrix", "block Krylov"] {
            let reports: Vec<f64> =
                reports.iter().filter(|reports| reports.0 == phase).map(|reports| reports.1).collect();
            assert!(
                reports.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9),
                "{solver} {tol:e} {phase}: {reports:?}"
            );
            assert!(phase != "block Krylov" || reports.last() == Some(&1.0), "{solver} {tol:e}: {reports:?}");
        }
    }
}

#[test]
fn user_defined_functions_accept_only_dense_rows() {
    let x = SparseMatrix::from_triples(3, 2, &[0, 1], &[0, 1], &[1.0, 2.0]).unwrap();
    let pca = KernelPca { kernel: Kernel::Custom, ..KernelPca::new(1) };
    let function =
        |x: &karhunen::Matrix, y: &karhunen::Matrix| Ok(karhunen::Matrix::zeros(x.n_rows(), y.n_rows()));
    let error = pca
        .fit_function(&x.view(), &Weights::default(), std::sync::Arc::new(function), &Run::default())
        .unwrap_err();
    assert!(error.to_string().contains("give dense data"), "{error}");
}

#[test]
fn strict_is_obeyed_on_every_route() {
    use KernelRoute::{Fourier, Full, Nystrom, Stored, Tiles};
    let values = cloud(60, 3, 4).concat();
    let x = Dense::row_major(&values, 60, 3).unwrap();
    for route in [Full, Stored, Tiles, Nystrom, Fourier] {
        // No residual is that small.
        let loose = KernelPca { solver: Some(route), tol: Some(1e-300), max_iter: 40, ..KernelPca::new(2) };
        let convergence = loose.fit(&x, &Weights::default()).unwrap().convergence().clone();
        assert!(convergence.n_converged < 2, "{route}");
        let strict = KernelPca { strict: true, ..loose };
        let error = strict.fit(&x, &Weights::default()).unwrap_err();
        assert!(matches!(error, Error::NotConverged { solver, .. } if solver == route.name()), "{error}");
        let message = error.to_string();
        assert_eq!(message.contains("over the kernel matrix"), !route.approximates(), "{message}");
        assert_eq!(message.contains("raise `max_iter`"), matches!(route, Stored | Tiles), "{message}");
    }
}
