//! Properties of every method.

use karhunen::incomplete::{FitContext, MeanMode, MeanPrior, Method, Regularization};
use karhunen::{Dense, IncompletePca, Matrix, Observed, Pca, Run, Weights};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{observed, test_rmse};

const LEAST_SQUARES: [Method; 7] = [
    Method::Em,
    Method::Ccd,
    Method::Imputation,
    Method::Gradient,
    Method::Natural,
    Method::Newton,
    Method::Cg,
];

fn regularization_of(method: Method) -> [Option<Regularization>; 2] {
    match method {
        Method::Em
        | Method::Imputation
        | Method::Online
        | Method::Map
        | Method::Ppca
        | Method::Vb
        | Method::VbFixed
        | Method::VbFull => [None, None],
        Method::Soft => [None, Some(Regularization::Ridge(2.0))],
        _ => [Some(Regularization::Ridge(2.0)), Some(Regularization::Weighted(0.05))],
    }
}

#[test]
fn the_cost_never_rises() {
    let data = observed(&Incomplete::planted(60, 20, &[3.0, 2.0, 1.0], 0.5, 0.5, 3));
    // Online learning has no such property.
    for method in Method::ALL.into_iter().filter(|method| *method != Method::Online) {
        for regularization in regularization_of(method) {
            for mean_prior in [MeanPrior::default(), MeanPrior { count: 5.0, value: None }] {
                let pca = IncompletePca { method, regularization, mean_prior, ..IncompletePca::new(3) };
                let pca = IncompletePca { max_iter: 40, tol: 0.0, ..pca };
                let model = pca.fit_with(&data, &FitContext::default(), &Run::threads(1)).unwrap();
                let trace = model.convergence().trace.clone();
                for pair in trace.windows(2) {
                    let [before, after] = pair else { unreachable!() };
                    assert!(
                        after.cost <= before.cost + 1e-11 * before.cost.abs(),
                        "{} {regularization:?} {mean_prior:?} {}: {} after {}",
                        method.name(),
                        after.iteration,
                        after.cost,
                        before.cost
                    );
                }
            }
        }
    }
}

#[test]
fn complete_data_have_the_principal_components() {
    let table = Incomplete::planted(50, 9, &[3.0, 2.0, 1.0], 0.3, 0.0, 5);
    let x = table.with_nan();
    let dense = Dense::row_major(&x, 50, 9).unwrap();
    let expected = Pca::new(3).fit(&dense, &Weights::default()).unwrap();
    let data = Observed::from_dense(&dense).unwrap();
    for method in LEAST_SQUARES {
        let pca = IncompletePca { method, tol: 1e-15, max_iter: 100_000, ..IncompletePca::new(3) };
        let model = pca.fit(&data).unwrap();
        let name = method.name();
        for k in 0..3 {
            let (found, expected) = (model.explained_variance()[k], expected.explained_variance()[k]);
            assert!((found / expected - 1.0).abs() < 1e-7, "{name}: {found} instead of {expected}");
        }
        for (found, expected) in model.components().as_slice().iter().zip(expected.components().as_slice()) {
            assert!((found - expected).abs() < 1e-4, "{name}: {found} instead of {expected}");
        }
        for (found, expected) in model.mean().iter().zip(expected.mean()) {
            assert!((found - expected).abs() < 1e-5, "{name}: {found} instead of {expected}");
        }
    }
}

#[test]
fn soft_imputation_of_complete_data_shrinks_singular_values() {
    let table = Incomplete::planted(50, 9, &[3.0, 2.0, 1.0], 0.3, 0.0, 5);
    let x = table.with_nan();
    let dense = Dense::row_major(&x, 50, 9).unwrap();
    let exact = Pca { n_components: karhunen::NComponents::Count(4), ..Pca::default() };
    let exact = exact.fit(&dense, &Weights::default()).unwrap();
    let data = Observed::from_dense(&dense).unwrap();
    // The fourth singular value is below the ridge.
    let lambda = 0.5 * (exact.singular_values()[2] + exact.singular_values()[3]);
    for method in [Method::Soft, Method::Ridge, Method::Als, Method::Ccd] {
        let regularization = Some(Regularization::Ridge(lambda));
        let pca =
            IncompletePca { method, regularization, tol: 1e-15, max_iter: 50_000, ..IncompletePca::new(4) };
        let model = pca.fit(&data).unwrap();
        for (found, g) in model.singular_values().iter().zip(exact.singular_values()) {
            let expected = (g - lambda).max(0.0);
            assert!((found - expected).abs() < 1e-4, "{}: {found} instead of {expected}", method.name());
        }
    }
}

#[test]
fn fitted_rows_transform_to_their_scores() {
    let data = observed(&Incomplete::problem_q());
    for (method, regularization) in [
        (Method::Em, None),
        (Method::Als, Some(Regularization::Ridge(1.0))),
        (Method::Als, Some(Regularization::Weighted(0.02))),
        (Method::Map, None),
        (Method::Ppca, None),
        (Method::Vb, None),
        (Method::VbFixed, None),
        (Method::VbFull, None),
    ] {
        // Least squares with a penalty of the mean have no minimum here.
        let count = if method == Method::Em { 0.0 } else { 3.0 };
        for mean_prior in [MeanPrior::default(), MeanPrior { count, value: Some(1.0) }] {
            let pca = IncompletePca { method, regularization, mean_prior, ..IncompletePca::new(2) };
            let model = IncompletePca { tol: 1e-16, max_iter: 50_000, ..pca }.fit(&data).unwrap();
            let again = model.transform(&data).unwrap();
            for (found, expected) in again.as_slice().iter().zip(model.scores().as_slice()) {
                assert!((found - expected).abs() < 1e-5, "{regularization:?}: {found} instead of {expected}");
            }
        }
    }
}

#[test]
fn impute_fills_only_missing_entries() {
    let table = Incomplete::problem_q();
    let data = observed(&table);
    let model = IncompletePca { method: Method::Em, ..IncompletePca::new(2) }.fit(&data).unwrap();
    let filled = model.impute(&data).unwrap();
    for (j, i, value) in table.entries(true) {
        assert_eq!(filled[(j, i)], value);
    }
    for (j, i, _) in table.entries(false) {
        assert!((filled[(j, i)] - model.predict(j, i).unwrap().value).abs() < 0.05);
    }
}

#[test]
fn empty_rows_and_columns_give_finite_results() {
    let mut table = Incomplete::problem_q();
    table.observed[3].fill(false);
    table.observed.iter_mut().for_each(|row| row[7] = false);
    // One entry in a row and in a column, and a constant column.
    table.observed[5].fill(false);
    table.observed[5][2] = true;
    table.observed.iter_mut().enumerate().for_each(|(j, row)| row[1] = j == 9);
    table.complete.iter_mut().for_each(|row| row[4] = 1.5);
    let data = observed(&table);
    for method in Method::ALL {
        for mean in [MeanMode::None, MeanMode::Fixed, MeanMode::Joint] {
            let model = IncompletePca { method, mean, ..IncompletePca::new(2) }.fit(&data).unwrap();
            for (row, column) in [(3, 0), (0, 7), (3, 7), (5, 2), (5, 3), (9, 1), (8, 1), (2, 4)] {
                let found = model.predict(row, column).unwrap();
                let std = found.std().unwrap();
                assert!(
                    found.value.is_finite() && std.is_finite() && std > 0.0,
                    "{} {mean:?}: {found:?}",
                    method.name()
                );
            }
            let scores = model.scores().as_slice().iter();
            assert!(scores.chain(model.components().as_slice()).all(|x| x.is_finite()));
        }
    }
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn the_number_of_threads_changes_no_bit() {
    // Long enough for several pieces of work, with a divided column.
    let (n, p) = (70_000, 3);
    let mut rng = karhunen_testkit::SplitMix64::new(11);
    let x: Vec<f64> =
        (0..n * p).map(|e| if e % 3 != 0 && rng.uniform() < 0.4 { f64::NAN } else { rng.normal() }).collect();
    let dense = Dense::row_major(&x, n, p).unwrap();
    for method in Method::ALL {
        let fit = |n_threads| {
            let run = Run::threads(n_threads);
            let data = Observed::from_dense_with(&dense, &run).unwrap();
            let pca = IncompletePca { method, max_iter: 3, error_bars: false, ..IncompletePca::new(2) };
            let model = pca.fit_with(&data, &FitContext::default(), &run).unwrap();
            (model.components().clone(), model.scores().clone(), model.convergence().cost)
        };
        assert_eq!(fit(1), fit(3), "{}", method.name());
    }
}

#[test]
fn f32_data_give_the_same_model_to_their_precision() {
    let table = Incomplete::problem_q();
    let x: Vec<f32> = table.with_nan().iter().map(|x| *x as f32).collect();
    let single = Observed::from_dense(&Dense::row_major(&x, 40, 12).unwrap()).unwrap();
    for method in Method::ALL {
        let pca = IncompletePca { method, tol: 1e-9, max_iter: 5000, ..IncompletePca::new(2) };
        let (found, expected) = (pca.fit(&single).unwrap(), pca.fit(&observed(&table)).unwrap());
        let ratio = found.convergence().cost / expected.convergence().cost;
        assert!((ratio - 1.0).abs() < 1e-4, "{}: {ratio}", method.name());
        assert!((test_rmse(&found, &table) - test_rmse(&expected, &table)).abs() < 5e-3, "{}", method.name());
    }
}

#[test]
fn weights_count_as_repetitions() {
    // An entry of weight two is an entry observed twice: rows with doubled weights equal rows given twice.
    let table = Incomplete::problem_q();
    let entries = table.entries(true);
    let rows: Vec<u32> = entries.iter().map(|e| e.0 as u32).collect();
    let columns: Vec<u32> = entries.iter().map(|e| e.1 as u32).collect();
    let values: Vec<f64> = entries.iter().map(|e| e.2).collect();
    let fit = |weights: Option<&[f64]>, method, lambda| {
        let triples =
            karhunen::incomplete::Triples { rows: &rows, columns: &columns, values: &values, weights };
        let data =
            Observed::from_triples(&triples, (40, 12), karhunen::incomplete::Duplicates::Refuse).unwrap();
        let regularization = (method != Method::Imputation).then_some(Regularization::Ridge(lambda));
        let pca = IncompletePca { method, regularization, ..IncompletePca::new(2) };
        IncompletePca { tol: 1e-14, max_iter: 50_000, ..pca }.fit(&data).unwrap()
    };
    // A common factor of weights and penalties changes only the scale of the cost.
    let threes = vec![3.0; values.len()];
    // Uneven weights: every method finds the same optimum.
    let uneven: Vec<f64> = (0..values.len()).map(|e| [0.0, 0.5, 2.0, 1.0][e % 4]).collect();
    let expected = fit(Some(&uneven), Method::Als, 1.0).convergence().cost;
    for method in [Method::Als, Method::Ridge, Method::Ccd, Method::Newton, Method::Soft] {
        let (one, three) = (fit(None, method, 1.0), fit(Some(&threes), method, 3.0));
        assert!((three.convergence().cost / one.convergence().cost - 3.0).abs() < 1e-6, "{}", method.name());
        for (x, y) in three.components().as_slice().iter().zip(one.components().as_slice()) {
            assert!((x - y).abs() < 1e-4, "{}: {x} {y}", method.name());
        }
        let found = fit(Some(&uneven), method, 1.0).convergence().cost;
        assert!((found / expected - 1.0).abs() < 1e-8, "{}: {found} instead of {expected}", method.name());
    }
}

#[test]
fn components_are_orthonormal_and_scores_uncorrelated() {
    let data = observed(&Incomplete::planted(60, 20, &[3.0, 2.0, 1.0], 0.5, 0.5, 3));
    for method in Method::ALL {
        let model = IncompletePca { method, max_iter: 20, ..IncompletePca::new(3) }.fit(&data).unwrap();
        let (v, s) = (model.components(), model.scores());
        let products =
            |x: &Matrix, k: usize, l: usize| -> f64 { (0..x.n_cols()).map(|i| x[(k, i)] * x[(l, i)]).sum() };
        let s = s.transposed();
        for k in 0..3 {
            for l in 0..3 {
                let unit = f64::from(u8::from(k == l));
                assert!((products(v, k, l) - unit).abs() < 1e-12, "{}", method.name());
                let variance = products(&s, k, l) / 59.0;
                let largest = model.singular_values()[0].powi(2) / 59.0;
                let expected = unit * model.singular_values()[k].powi(2) / 59.0;
                assert!((variance - expected).abs() < 1e-10 * largest, "{}", method.name());
            }
        }
    }
}
