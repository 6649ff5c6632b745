//! Inactive components, and data without variance: all results stay finite.

use karhunen::incomplete::{Duplicates, Method, Triples};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed, Run};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::observed;

/// Tests that the model and its predictions are finite, for the fitted rows and for the same rows as new ones.
fn check(model: &IncompleteModel, data: &Observed<f64>, name: &str) {
    let parts = model.parts();
    let bars = [&parts.score_covariances, &parts.loading_covariances].map(|bars| bars.as_ref().unwrap());
    assert!(bars.iter().all(|bars| bars.packed.iter().all(|x| x.is_finite())), "{name}: covariances");
    for values in [parts.prior.precision.as_slice(), &parts.prior.mean, &parts.mean_variance] {
        assert!(values.iter().all(|x| x.is_finite()), "{name}: {values:?}");
    }
    for j in 0..model.n_samples() {
        for i in 0..model.n_features() {
            let found = model.predict(j, i).unwrap();
            assert!(found.value.is_finite() && found.std().unwrap().is_finite(), "{name}: {found:?}");
        }
    }
    let (rows, covariances) = model.rows_with_covariances(data, &Run::default()).unwrap();
    let scores = rows.scores.as_slice().iter();
    assert!(scores.chain(model.impute(data).unwrap().as_slice()).all(|x| x.is_finite()), "{name}: new rows");
    assert!(covariances.packed.iter().all(|x| x.is_finite()), "{name}: covariances of new rows");
    for (k, d) in model.singular_values().iter().enumerate().filter(|(_, d)| **d == 0.0) {
        let all = (0..model.n_samples()).map(|j| (model.scores()[(j, k)], rows.scores[(j, k)]));
        assert!(all.clone().all(|pair| pair == (0.0, 0.0)), "{name}: scores of component {k}, of {d}");
    }
}

#[test]
fn surplus_components_have_finite_error_bars() {
    for (noise, missing) in [(0.3, 0.1), (0.0, 0.1), (0.3, 0.0), (0.0, 0.0)] {
        let table = Incomplete::planted(50, 8, &[3.0], noise, missing, 7);
        let data = observed(&table);
        for method in Method::ALL {
            for k in [3, 8] {
                let pca = IncompletePca { method, max_iter: 5000, ..IncompletePca::new(k) };
                check(&pca.fit(&data).unwrap(), &data, &format!("{} {k} {noise} {missing}", method.name()));
            }
        }
    }
}

#[test]
fn an_inactive_component_leaves_the_error_bars_of_the_others() {
    let data = observed(&Incomplete::planted(60, 10, &[3.0], 0.3, 0.2, 11));
    let fit = |k| {
        let regularization = Some(karhunen::incomplete::Regularization::Ridge(6.0));
        let pca = IncompletePca { method: Method::Ridge, regularization, ..IncompletePca::new(k) };
        IncompletePca { tol: 1e-13, max_iter: 50_000, ..pca }.fit(&data).unwrap()
    };
    let (one, four) = (fit(1), fit(4));
    assert!(four.singular_values()[1..].iter().all(|d| *d == 0.0), "{:?}", four.singular_values());
    for (j, i) in [(0, 0), (7, 3), (30, 9)] {
        let (few, many) = (one.predict(j, i).unwrap(), four.predict(j, i).unwrap());
        assert!((few.value - many.value).abs() < 1e-3, "{few:?} {many:?}");
        let ratio = many.noise_free_std().unwrap() / few.noise_free_std().unwrap();
        assert!((ratio - 1.0).abs() < 0.01, "{few:?} {many:?}");
    }
}

#[test]
fn constant_data_are_predicted_as_their_means() {
    let dense =
        |x: &[f64], p: usize| Observed::from_dense(&Dense::row_major(x, x.len() / p, p).unwrap()).unwrap();
    let rows: Vec<u32> = vec![0, 0, 1, 2, 2, 3];
    let columns: Vec<u32> = vec![0, 1, 2, 0, 2, 1];
    let fives = Triples { rows: &rows, columns: &columns, values: &[5.0; 6], weights: None };
    let missing = f64::NAN;
    let tables = [
        ("triples", Observed::from_triples(&fives, (4, 3), Duplicates::Refuse).unwrap()),
        ("table", dense(&[1.0, 5.0, 1.0, missing, 1.0, 5.0], 2)),
        ("zeros", dense(&[0.0; 12], 3)),
        (
            "rounded",
            dense(&[0.1, 0.7, 0.1, missing, 0.1, 0.7, 0.1, 0.7, missing, 0.7, 0.1, 0.7, 0.1, 0.7], 2),
        ),
        ("one entry", dense(&[missing, missing, 7.0, missing], 2)),
        ("one entry per column", dense(&[missing, 3.0, 7.0, missing, missing, missing], 2)),
    ];
    for (name, data) in &tables {
        for method in Method::ALL {
            for row_offsets in [false, true] {
                for k in [1, 2] {
                    let name = format!("{name}, {}, {k}, offsets: {row_offsets}", method.name());
                    let pca = IncompletePca { method, row_offsets, ..IncompletePca::new(k) };
                    let Ok(model) = pca.fit(data) else { panic!("{name}: {:?}", pca.fit(data).err()) };
                    check(&model, data, &name);
                    assert!(model.noise_variance() < 1e-28, "{name}: {}", model.noise_variance());
                    assert!(model.explained_variance().iter().all(|v| *v < 1e-28), "{name}");
                    let filled = model.impute(data).unwrap();
                    for j in 0..data.n_samples() {
                        let (columns, values) = data.row(j);
                        for (i, value) in columns.iter().zip(values) {
                            assert!((filled[(j, *i as usize)] - value).abs() < 1e-12, "{name}");
                            let fit = model.predict(j, *i as usize).unwrap();
                            assert!((fit.value - value).abs() < 1e-12, "{name}: {fit:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn constant_columns_next_to_a_varying_one_stay_finite() {
    let x = [1.0, 5.0, 2.1, 1.0, f64::NAN, 2.9, 1.0, 5.0, 3.5, 1.0, 5.0, 1.2];
    let data = Observed::from_dense(&Dense::row_major(&x, 4, 3).unwrap()).unwrap();
    for method in Method::ALL {
        let model = IncompletePca { method, ..IncompletePca::new(2) }.fit(&data).unwrap();
        check(&model, &data, method.name());
        assert!((model.impute(&data).unwrap()[(1, 1)] - 5.0).abs() < 1e-4, "{}", method.name());
    }
}
