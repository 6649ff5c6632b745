//! Landmarks and random features: exact in special cases, otherwise within their reported error.

use karhunen::kernel::{Gamma, Kernel, KernelBasis, KernelRoute, KernelRows, Landmarks};
use karhunen::matrix::SparseMatrix;
use karhunen::{Dense, Error, KernelModel, KernelPca, NComponents, Run, Sparse, Weights};
use karhunen_testkit::{Rows, SparseArrays, integer_weights, largest_difference};

use crate::kernel::fixtures::{assert_same, cloud, fit, rbf, scores, total};

const RULES: [Landmarks; 3] = [Landmarks::Uniform, Landmarks::KMeansPlusPlus, Landmarks::LeverageScores];

fn nystrom(m: usize, landmarks: Landmarks) -> KernelPca {
    let solver = Some(KernelRoute::Nystrom);
    KernelPca {
        kernel: rbf(0.2),
        solver,
        landmarks,
        n_features: Some(m),
        tol: Some(1e-12),
        ..KernelPca::new(5)
    }
}

/// The largest difference of eigenvalues, relative to the largest.
fn off(model: &KernelModel, exact: &KernelModel) -> f64 {
    largest_difference(model.eigenvalues(), exact.eigenvalues()) / exact.eigenvalues()[0]
}

#[test]
fn an_approximation_with_all_rows_as_landmarks_is_exact() {
    let rows = cloud(300, 4, 1);
    let weights: Vec<f64> = integer_weights(300, 3, 2).iter().map(|w| f64::from(*w)).collect();
    for weights in [None, Some(&weights[..])] {
        let exact = fit(&KernelPca { kernel: rbf(0.2), ..KernelPca::new(5) }, &rows, weights);
        let model = fit(&nystrom(300, Landmarks::Uniform), &rows, weights);
        // Directions with eigenvalues below 1.5e-8 of the largest are dropped.
        assert!(off(&model, &exact) < 1e-7, "{:e}", off(&model, &exact));
        let apart = largest_difference(scores(&model, &rows).as_slice(), scores(&exact, &rows).as_slice());
        assert!(apart < 1e-4, "{apart:e}");
        let approximation = model.convergence().approximation.unwrap();
        assert!(approximation.bound.unwrap() < 1e-5 && approximation.estimate < 1e-6, "{approximation:?}");
        assert_eq!((model.n_samples(), model.eigenvectors().shape()), (300, (0, 5)));
    }
}

#[test]
fn errors_of_landmarks_are_within_the_reported_bound() {
    let rows = cloud(900, 6, 3);
    let exact = fit(&KernelPca { kernel: rbf(0.2), tol: Some(1e-12), ..KernelPca::new(5) }, &rows, None);
    for rule in RULES {
        let mut before = f64::INFINITY;
        for m in [20, 60, 250] {
            let model = fit(&nystrom(m, rule), &rows, None);
            let approximation = model.convergence().approximation.unwrap();
            let (off, bound) = (off(&model, &exact), approximation.bound.unwrap());
            assert!(off <= bound, "{rule:?} {m}: {off:e} over the bound {bound:e}");
            assert!(off <= approximation.estimate, "{rule:?} {m}: {off:e} over {:e}", approximation.estimate);
            assert!(off > 1e-3 * approximation.estimate, "{rule:?} {m}: the estimate says nothing");
            assert!(bound < before, "{rule:?}: more landmarks are better");
            before = bound;
            // Exact eigenvalues are never smaller.
            let pairs = model.eigenvalues().iter().zip(exact.eigenvalues());
            assert!(pairs.into_iter().all(|(a, e)| *a <= e * (1.0 + 1e-9)), "{rule:?} {m}");
            assert!((total(&model) - total(&exact)).abs() < 0.02 * total(&exact));
        }
    }
}

#[test]
fn errors_of_fourier_features_are_near_the_reported_estimate() {
    let rows = cloud(900, 4, 4);
    for kernel in [rbf(0.2), Kernel::Laplacian { gamma: Gamma::Value(0.1) }] {
        let exact = fit(&KernelPca { kernel, tol: Some(1e-12), ..KernelPca::new(4) }, &rows, None);
        let mut before = f64::INFINITY;
        for m in [64, 512, 4096] {
            let pca = KernelPca {
                kernel,
                solver: Some(KernelRoute::Fourier),
                n_features: Some(m),
                tol: Some(1e-12),
                ..KernelPca::new(4)
            };
            let model = fit(&pca, &rows, None);
            let approximation = model.convergence().approximation.unwrap();
            assert_eq!((approximation.n_features, approximation.bound), (m, None));
            let off = off(&model, &exact);
            assert!(off <= approximation.estimate, "{m}: {off:e} for {:e}", approximation.estimate);
            assert!(approximation.estimate < 0.7 * before, "{m}: more features are better");
            before = approximation.estimate;
        }
        assert!(before < 0.1, "{before}");
    }
}

#[test]
fn sparse_and_single_precision_rows_have_the_same_features() {
    let rows: Rows = cloud(700, 5, 5)
        .iter()
        .map(|row| row.iter().map(|x| if *x < 0.8 { 0.0 } else { f64::from(*x as f32) }).collect())
        .collect();
    let values = rows.concat();
    let single: Vec<f32> = values.iter().map(|x| *x as f32).collect();
    let arrays = SparseArrays::of_rows(&rows);
    let sparse = Sparse::csr(700, 5, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
    let fourier = KernelPca {
        solver: Some(KernelRoute::Fourier),
        n_features: Some(128),
        ..nystrom(128, Landmarks::Uniform)
    };
    for pca in [nystrom(80, Landmarks::KMeansPlusPlus), fourier] {
        let none = Weights::default();
        let dense = pca.fit(&Dense::row_major(&values, 700, 5).unwrap(), &none).unwrap();
        let by_entries = pca.fit(&sparse, &none).unwrap();
        assert_same("sparse", &by_entries, &dense, &rows, 1e-9);
        let z = by_entries.transform(&sparse).unwrap();
        assert!(largest_difference(z.as_slice(), scores(&dense, &rows).as_slice()) < 1e-6);
        let x = Dense::row_major(&single, 700, 5).unwrap();
        let narrow = pca.fit(&x, &none).unwrap();
        assert_same("f32", &narrow, &dense, &rows, 1e-9);
        let z = narrow.transform(&x).unwrap();
        let z: Vec<f64> = z.as_slice().iter().map(|z| f64::from(*z)).collect();
        let apart = largest_difference(&z, scores(&dense, &rows).as_slice());
        assert!(apart < 2e-3, "{apart:e}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let values = cloud(20_000, 3, 6).concat();
    let x = Dense::row_major(&values, 20_000, 3).unwrap();
    let mut cases: Vec<KernelPca> = RULES.iter().map(|rule| nystrom(70, *rule)).collect();
    cases.push(KernelPca { solver: Some(KernelRoute::Fourier), ..nystrom(64, Landmarks::Uniform) });
    for pca in cases {
        let on = |n| pca.fit_with(&x, &Weights::default(), &Run::threads(n)).unwrap();
        let one = on(1);
        for threads in [2, 3] {
            assert_eq!(one.parts().coefficients, on(threads).parts().coefficients, "{pca:?}");
        }
    }
}

#[test]
fn copies_of_few_rows_give_few_landmarks() {
    let rows: Rows = (0..200).map(|i| vec![f64::from(i % 4), f64::from(i % 2)]).collect();
    for rule in RULES {
        let model = fit(&KernelPca { n_components: NComponents::Count(3), ..nystrom(30, rule) }, &rows, None);
        let exact = fit(&KernelPca { kernel: rbf(0.2), ..KernelPca::new(3) }, &rows, None);
        assert!(off(&model, &exact) < 1e-7, "{rule:?} {:e}", off(&model, &exact));
    }
}

#[test]
fn rows_with_overflowing_kernel_values_are_named() {
    let mut rows = cloud(700, 2, 9);
    let model = |rows: &Rows, kernel| {
        let x = rows.concat();
        let x = Dense::row_major(&x, rows.len(), 2).unwrap();
        let pca = KernelPca { kernel, ..nystrom(5, Landmarks::Uniform) };
        pca.fit(&x, &Weights::default()).unwrap_err()
    };
    let landmarks = match fit(&nystrom(5, Landmarks::Uniform), &rows, None).parts().basis.clone() {
        KernelBasis::Landmarks(KernelRows::Dense(landmarks)) => landmarks,
        other => panic!("{other:?}"),
    };
    let row = (600..700).find(|&i| (0..5).all(|l| landmarks.row(l) != rows[i])).unwrap();
    let degree = |degree| Kernel::Polynomial { degree, gamma: Gamma::Value(1.0), coef0: 1.0 };
    for (size, power) in [(1e100, 4.0), (1e100, 2.0)] {
        rows[row] = vec![size, size];
        let error = model(&rows, degree(power));
        assert!(matches!(error, Error::KernelValue { row: found } if found == row), "{error}");
    }
}

#[test]
fn options_of_approximations_are_obeyed_or_refused() {
    let rows = cloud(60, 2, 7);
    let refused = |pca: KernelPca| {
        let values = rows.concat();
        pca.fit(&Dense::row_major(&values, 60, 2).unwrap(), &Weights::default()).unwrap_err().to_string()
    };
    let base = nystrom(20, Landmarks::Uniform);
    let fourier = KernelPca { solver: Some(KernelRoute::Fourier), ..base.clone() };
    let cases = [
        (
            KernelPca { n_features: Some(4), ..base.clone() },
            "n_features = 4 is not allowed: at least as many",
        ),
        (KernelPca { solver: None, ..base.clone() }, "n_features = 20 is not allowed: only the solvers"),
        (
            KernelPca { landmarks: Landmarks::LeverageScores, ..fourier.clone() },
            "landmarks = leverage is not allowed",
        ),
        (KernelPca { n_components: NComponents::All, ..base.clone() }, "n_components = all is not allowed"),
        (KernelPca { kernel: Kernel::AdditiveChi2, ..base.clone() }, "solver = nystrom is not allowed"),
        (KernelPca { kernel: Kernel::Cosine, ..fourier.clone() }, "solver = fourier is not allowed"),
        (KernelPca { kernel: Kernel::Precomputed, ..base }, "solver = nystrom is not allowed"),
    ];
    for (pca, message) in cases {
        let found = refused(pca);
        assert!(found.starts_with(message), "{found}\n{message}");
    }
    let empty = SparseMatrix::from_triples(50, 3, &[0], &[1], &[1.0]).unwrap();
    let model = KernelPca { n_components: NComponents::Count(1), ..nystrom(10, Landmarks::Uniform) }
        .fit(&empty.view(), &Weights::default());
    assert_eq!(model.unwrap().n_components(), 1);
}
