//! The Nyström feature map.

use std::sync::Arc;

use karhunen::kernel::{Gamma, Kernel, Landmarks, Nystrom, NystromMap, NystromParts};
use karhunen::matrix::SparseMatrix;
use karhunen::pca::Transform;
use karhunen::{Dense, Error, Matrix, Result, Run, Sparse, Weights};
use karhunen_testkit::{Rows, SparseArrays, SplitMix64, largest, largest_difference};

use crate::kernel::fixtures::{cloud, rbf};

const RULES: [Landmarks; 3] = [Landmarks::Uniform, Landmarks::KMeansPlusPlus, Landmarks::LeverageScores];

fn fit(nystrom: &Nystrom, rows: &Rows) -> NystromMap {
    fit_weighted(nystrom, rows, None)
}

fn fit_weighted(nystrom: &Nystrom, rows: &Rows, samples: Option<&[f64]>) -> NystromMap {
    let x = rows.concat();
    let x = Dense::row_major(&x, rows.len(), rows[0].len()).unwrap();
    nystrom.fit(&x, &Weights { samples, features: None }).unwrap()
}

fn features(map: &NystromMap, rows: &Rows) -> Matrix {
    map.transform(&Dense::row_major(&rows.concat(), rows.len(), rows[0].len()).unwrap()).unwrap()
}

/// The kernel value from its definition.
fn value(kernel: &Kernel, x: &[f64], y: &[f64]) -> f64 {
    let sum = |term: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| term(*x, *y)).sum::<f64>();
    let dot = sum(&|x, y| x * y);
    match *kernel {
        Kernel::Linear => dot,
        Kernel::Cosine => dot / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt(),
        Kernel::Polynomial { degree, gamma: Gamma::Value(gamma), coef0 } => {
            (gamma * dot + coef0).powf(degree)
        }
        Kernel::Rbf { gamma: Gamma::Value(gamma) } => (-gamma * sum(&|x, y| (x - y).powi(2))).exp(),
        Kernel::Laplacian { gamma: Gamma::Value(gamma) } => (-gamma * sum(&|x, y| (x - y).abs())).exp(),
        Kernel::Chi2 { gamma: Gamma::Value(gamma) } => {
            (-gamma * sum(&|x, y| if x + y == 0.0 { 0.0 } else { (x - y).powi(2) / (x + y) })).exp()
        }
        _ => unreachable!(),
    }
}

/// The largest difference between inner products of features and kernel values, relative to the largest value.
fn off(map: &NystromMap, kernel: &Kernel, rows: &Rows) -> f64 {
    let z = features(map, rows);
    let inner = |i: usize, j: usize| z.row(i).iter().zip(z.row(j)).map(|(a, b)| a * b).sum::<f64>();
    let pairs = || (0..rows.len()).flat_map(|i| (0..rows.len()).map(move |j| (i, j)));
    let size = largest(pairs().map(|(i, j)| value(kernel, &rows[i], &rows[j])));
    largest(pairs().map(|(i, j)| inner(i, j) - value(kernel, &rows[i], &rows[j]))) / size
}

fn kernels() -> [Kernel; 6] {
    let gamma = Gamma::Value(0.2);
    [
        Kernel::Linear,
        Kernel::Cosine,
        Kernel::Polynomial { degree: 2.0, gamma, coef0: 1.0 },
        rbf(0.2),
        Kernel::Laplacian { gamma },
        Kernel::Chi2 { gamma },
    ]
}

#[test]
fn features_with_all_rows_as_landmarks_are_exact() {
    let rows: Rows = cloud(60, 4, 1).iter().map(|row| row.iter().map(|x| x.abs() + 3.0).collect()).collect();
    for kernel in kernels() {
        let map = fit(&Nystrom { kernel, ..Nystrom::new(500) }, &rows);
        assert_eq!(map.parts().indices, (0..60).collect::<Vec<_>>());
        // Directions with eigenvalues below 1.5e-8 of the largest are dropped.
        let off = off(&map, &kernel, &rows);
        assert!(off < 1e-6, "{kernel:?}: {off:e}");
    }
}

#[test]
fn more_landmarks_reduce_the_error_and_landmarks_have_exact_inner_products() {
    let rows = cloud(300, 4, 2);
    for landmarks in RULES {
        let mut before = f64::INFINITY;
        for n_landmarks in [10, 40, 160] {
            let map = fit(&Nystrom { kernel: rbf(0.2), landmarks, ..Nystrom::new(n_landmarks) }, &rows);
            let here = off(&map, &rbf(0.2), &rows);
            assert!(here < before, "{landmarks:?} {n_landmarks}: {here:e} is no better than {before:e}");
            before = here;
            let chosen: Rows = map.parts().indices.iter().map(|&i| rows[i].clone()).collect();
            assert_eq!(chosen.len(), n_landmarks);
            assert!(off(&map, &rbf(0.2), &chosen) < 1e-6, "{landmarks:?}");
            let same = features(&map, &chosen);
            let again = features(&map, &rows);
            for (c, &i) in map.parts().indices.iter().enumerate() {
                assert_eq!(same.row(c), again.row(i));
            }
        }
        assert!(before < 0.05, "{landmarks:?}: {before:e}");
    }
}

#[test]
fn sparse_and_single_precision_rows_have_the_same_features() {
    let rows: Rows = cloud(90, 12, 3)
        .iter()
        .map(|row| row.iter().map(|x| if *x > 1.0 { *x } else { 0.0 }).collect())
        .collect();
    for kernel in kernels() {
        let nystrom = Nystrom { kernel, ..Nystrom::new(30) };
        let map = fit(&nystrom, &rows);
        let expected = features(&map, &rows);
        let SparseArrays { indptr, indices, values, .. } = SparseArrays::of_rows(&rows);
        let sparse = Sparse::csr(90, 12, &indptr, &indices, &values).unwrap();
        let found = nystrom.fit(&sparse, &Weights::default()).unwrap();
        assert_eq!(found.parts().indices, map.parts().indices);
        let apart = largest_difference(found.transform(&sparse).unwrap().as_slice(), expected.as_slice());
        assert!(apart < 1e-6, "{kernel:?}: {apart:e}");
        let single: Vec<f32> = rows.concat().iter().map(|x| *x as f32).collect();
        let single = Dense::row_major(&single, 90, 12).unwrap();
        let found = nystrom.fit(&single, &Weights::default()).unwrap().transform(&single).unwrap();
        let found: Vec<f64> = found.as_slice().iter().map(|x| f64::from(*x)).collect();
        let apart = largest_difference(&found, expected.as_slice());
        assert!(apart < 1e-3, "{kernel:?}: {apart:e}");
    }
    let empty = SparseMatrix::<f64>::canonical(
        karhunen::matrix::Major::Rows,
        0,
        3,
        &[0u64],
        &Vec::<u32>::new(),
        &Vec::<f64>::new(),
    )
    .unwrap();
    assert!(matches!(Nystrom::new(2).fit(&empty.view(), &Weights::default()), Err(Error::Empty { .. })));
}

#[test]
fn a_user_defined_function_is_called_for_new_rows_too() {
    let rows = cloud(80, 3, 4);
    let values = rows.concat();
    let x = Dense::row_major(&values, 80, 3).unwrap();
    let kernel = |x: &Matrix, y: &Matrix| -> Result<Matrix> {
        Ok(Matrix::from_fn(x.n_rows(), y.n_rows(), |i, j| value(&rbf(0.2), x.row(i), y.row(j))))
    };
    let custom = Nystrom { kernel: Kernel::Custom, ..Nystrom::new(20) };
    let map = custom.fit_function(&x, &Weights::default(), Arc::new(kernel), &Run::default()).unwrap();
    let named = fit(&Nystrom { kernel: rbf(0.2), ..Nystrom::new(20) }, &rows);
    let apart = largest_difference(features(&map, &rows).as_slice(), features(&named, &rows).as_slice());
    assert!(apart < 1e-7, "{apart:e}");
    let plain = NystromMap::try_from(map.parts().clone()).unwrap();
    assert!(plain.transform(&x).unwrap_err().to_string().contains("with_function"));
    let again = plain.with_function(Arc::new(kernel)).transform(&x).unwrap();
    assert_eq!(again.as_slice(), features(&map, &rows).as_slice());
    // -x.y has no positive eigenvalue.
    let negative = |x: &Matrix, y: &Matrix| -> Result<Matrix> {
        Ok(Matrix::from_fn(x.n_rows(), y.n_rows(), |i, j| -value(&Kernel::Linear, x.row(i), y.row(j))))
    };
    let error =
        custom.fit_function(&x, &Weights::default(), Arc::new(negative), &Run::default()).unwrap_err();
    assert!(matches!(error, Error::NegativeEigenvalue { .. }), "{error}");
}

#[test]
fn landmarks_are_drawn_in_proportion_to_weights() {
    let rows = cloud(200, 3, 7);
    let heavy = |i: usize| i % 20 == 3;
    let weights: Vec<f64> = (0..200)
        .map(|i| {
            if i % 2 == 0 {
                0.0
            } else if heavy(i) {
                500.0
            } else {
                1.0
            }
        })
        .collect();
    for landmarks in RULES {
        let nystrom = Nystrom { kernel: rbf(0.2), landmarks, ..Nystrom::new(20) };
        let (mut of_heavy, mut without) = (0, 0);
        for seed in 0..20 {
            let nystrom = Nystrom { seed, ..nystrom.clone() };
            let chosen = |samples| fit_weighted(&nystrom, &rows, samples).parts().indices.clone();
            let weighted = chosen(Some(&weights));
            assert!(weighted.iter().all(|i| i % 2 == 1), "{landmarks:?}: {weighted:?}");
            let count = |indices: &[usize]| indices.iter().filter(|i| heavy(**i)).count();
            of_heavy += count(&weighted);
            without += count(&chosen(None));
            assert_eq!(chosen(Some(&[3.0; 200])), chosen(None));
        }
        // Ten of 200 rows are heavy: without weights, one of twenty landmarks is heavy on average.
        assert!(of_heavy > 100 && without < 40, "{landmarks:?}: {of_heavy}, {without}");
    }
    // No more landmarks than rows of positive weight.
    let few: Vec<f64> = (0..200).map(|i| f64::from(i < 7)).collect();
    let map = fit_weighted(&Nystrom { kernel: rbf(0.2), ..Nystrom::new(20) }, &rows, Some(&few));
    assert_eq!(map.parts().indices, (0..7).collect::<Vec<_>>());
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let rows: Rows = SplitMix64::new(5).normals(700, 5);
    let values = rows.concat();
    let x = Dense::row_major(&values, 700, 5).unwrap();
    for landmarks in RULES {
        let nystrom = Nystrom { landmarks, ..Nystrom::new(100) };
        let on = |n_threads| nystrom.fit_with(&x, &Weights::default(), &Run::threads(n_threads)).unwrap();
        let (one, three) = (on(1), on(3));
        assert_eq!(one.parts().normalization, three.parts().normalization);
        let how = Transform::default();
        let alone = one.transform_with(&x, how, &Run::threads(1)).unwrap();
        assert_eq!(alone.as_slice(), three.transform_with(&x, how, &Run::threads(3)).unwrap().as_slice());
    }
}

#[test]
fn invalid_maps_and_rows_are_refused() {
    let rows = cloud(20, 3, 6);
    let values = rows.concat();
    let x = Dense::row_major(&values, 20, 3).unwrap();
    let refused = |nystrom: Nystrom| nystrom.fit(&x, &Weights::default()).unwrap_err().to_string();
    for kernel in
        [Kernel::Precomputed, Kernel::AdditiveChi2, Kernel::Sigmoid { gamma: Gamma::Scale, coef0: 0.0 }]
    {
        assert!(refused(Nystrom { kernel, ..Nystrom::new(5) }).contains("positive semi-definite"));
    }
    assert!(refused(Nystrom::new(0)).contains("at least one landmark"));
    assert!(refused(Nystrom { kernel: Kernel::Custom, ..Nystrom::new(5) }).contains("belong together"));
    assert!(refused(Nystrom { kernel: rbf(-1.0), ..Nystrom::new(5) }).contains("finite and positive"));
    assert!(
        refused(Nystrom { kernel: Kernel::Chi2 { gamma: Gamma::Value(1.0) }, ..Nystrom::new(5) })
            .contains(">= 0")
    );
    let weighted = |samples: &[f64]| {
        Nystrom::new(5).fit(&x, &Weights { samples: Some(samples), features: None }).unwrap_err().to_string()
    };
    assert!(weighted(&[1.0; 3]).contains("there are 3 sample weights for 20 rows"));
    assert!(weighted(&[-1.0; 20]).contains("not negative"));
    assert!(weighted(&[0.0; 20]).contains("at least one must be positive"));
    let of_columns = Weights { samples: None, features: Some(&[1.0; 3]) };
    let error = Nystrom::new(5).fit(&x, &of_columns).unwrap_err().to_string();
    assert!(error.contains("multiply the columns"), "{error}");
    let map = Nystrom::new(5).fit(&x, &Weights::default()).unwrap();
    assert!(matches!(
        map.transform(&Dense::row_major(&values, 30, 2).unwrap()),
        Err(Error::Shape { found: 2, expected: 3, .. })
    ));
    let nan = [0.0, f64::NAN, 1.0];
    let nan = Dense::row_major(&nan, 1, 3).unwrap();
    assert!(matches!(map.transform(&nan), Err(Error::NonFinite { row: 0, column: 1, .. })));
    assert!(
        map.transform_with(&x, Transform { whiten: true, ..Default::default() }, &Run::default()).is_err()
    );
    let damaged = NystromParts { indices: vec![0], ..map.parts().clone() };
    assert!(matches!(NystromMap::try_from(damaged), Err(Error::Shape { what: "indices", .. })));
}
