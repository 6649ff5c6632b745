//! Predictions of many entries at a time, weights of dense arrays, and streams that continue a fit.

use karhunen::error::options;
use karhunen::incomplete::{Duplicates, IncompleteStream, Method, OnlineRule, Triples};
use karhunen::{Dense, Error, IncompleteModel, IncompletePca, Observed, Run};
use karhunen_testkit::Incomplete;

use crate::incomplete::fixtures::{observed, test_rmse};

#[test]
fn predictions_of_pairs_match_single_entries() {
    let data = observed(&Incomplete::problem_q());
    for method in [Method::Em, Method::Ridge, Method::Vb, Method::VbFull] {
        let model = IncompletePca { method, ..IncompletePca::new(2) }.fit(&data).unwrap();
        let rows: Vec<i64> = (0..480).map(|e| e / 12).collect();
        let columns: Vec<i64> = (0..480).map(|e| e % 12).collect();
        for noise in [None, Some(true), Some(false)] {
            for n_threads in [1, 3] {
                let found = model.predict_pairs(&rows, &columns, noise, &Run::threads(n_threads)).unwrap();
                assert_eq!(found.shape(), (480, 1 + usize::from(noise.is_some())));
                for e in 0..480 {
                    let single = model.predict(e / 12, e % 12).unwrap();
                    assert_eq!(found[(e, 0)], single.value);
                    match noise {
                        Some(true) => assert_eq!(Some(found[(e, 1)]), single.std()),
                        Some(false) => assert_eq!(Some(found[(e, 1)]), single.noise_free_std()),
                        None => {}
                    }
                }
            }
        }
    }
}

#[test]
fn predictions_of_rows_match_their_entries() {
    let data = observed(&Incomplete::problem_q());
    let model = IncompletePca { tol: 1e-12, ..IncompletePca::new(2) }.fit(&data).unwrap();
    let (scores, covariances) = model.transform_with_covariances(&data, &Run::threads(2)).unwrap();
    assert_eq!(scores, model.transform(&data).unwrap());
    let (mut values, mut deviations) = (vec![0.0f64; 480], vec![0.0f64; 480]);
    model.inverse_transform_into(&scores, &mut values, &Run::threads(2)).unwrap();
    assert_eq!(values, model.inverse_transform(&scores).unwrap().into_vec());
    model.deviations_into((&scores, &covariances), true, &mut deviations, &Run::threads(2)).unwrap();
    for e in 0..480 {
        let single = model.predict(e / 12, e % 12).unwrap();
        assert!((values[e] - single.value).abs() < 1e-6);
        assert!((deviations[e] - single.std().unwrap()).abs() < 1e-5);
    }
}

#[test]
fn predictions_beyond_range_are_refused() {
    let data = observed(&Incomplete::problem_q());
    let model = IncompletePca { method: Method::VbFull, ..IncompletePca::new(2) }.fit(&data).unwrap();
    // A model read from a file may hold any finite numbers.
    let with = |score: f64, loading: f64| {
        let mut parts = model.parts().clone();
        parts.scores[(3, 0)] = score;
        parts.components[(0, 5)] = loading;
        IncompleteModel::try_from(parts).unwrap()
    };
    let overflows = |found: Result<f64, Error>| match found {
        Err(Error::PredictionOverflow { row, column }) => assert_eq!((row, column), (3, 5)),
        found => panic!("{found:?}"),
    };
    let pair = |model: &IncompleteModel, noise| {
        model.predict_pairs(&[0, 3, 3], &[5, 5, 4], noise, &Run::default()).map(|found| found[(1, 0)])
    };
    // First the value overflows, then its variance alone.
    let value = with(1e300, 1e300);
    overflows(value.predict(3, 5).map(|found| found.value));
    overflows(pair(&value, None));
    let variance = with(1e160, 1e-10);
    overflows(variance.predict(3, 5).map(|found| found.value));
    overflows(pair(&variance, Some(true)));
    assert!(pair(&variance, None).unwrap().is_finite());
    let (scores, covariances) = model.transform_with_covariances(&data, &Run::threads(2)).unwrap();
    let mut far = scores.clone();
    far[(3, 0)] = 1e160;
    let found = model.deviations_into((&far, &covariances), true, &mut vec![0.0; 480], &Run::threads(2));
    assert!(matches!(found, Err(Error::PredictionOverflow { row: 3, column: 0 })), "{found:?}");
}

#[test]
fn predictions_outside_the_data_are_refused() {
    let data = observed(&Incomplete::problem_q());
    let model = IncompletePca { error_bars: false, ..IncompletePca::new(2) }.fit(&data).unwrap();
    let predict = |rows: &[i32], columns: &[i32], noise| {
        model.predict_pairs(rows, columns, noise, &Run::default()).unwrap_err()
    };
    assert!(matches!(predict(&[0, 1], &[0], None), Error::Shape { found: 1, expected: 2, .. }));
    assert!(matches!(predict(&[0, 40], &[0, 0], None), Error::Option { option: options::ROW, .. }));
    assert!(matches!(predict(&[0, 3], &[0, -1], None), Error::Option { option: options::COLUMN, .. }));
    assert!(matches!(predict(&[0], &[0], Some(true)), Error::Option { option: options::ERROR_BARS, .. }));
    let mut room = vec![0.0f64; 479];
    let error = model.inverse_transform_into(model.scores(), &mut room, &Run::default()).unwrap_err();
    assert!(matches!(error, Error::Shape { found: 479, expected: 480, .. }), "{error}");
}

/// Variances learned from noise alone vanish. New rows must have the scores of the fitted rows, zeros.
#[test]
fn inactive_components_give_new_rows_zero_scores() {
    for seed in 0..3 {
        let table = Incomplete::planted(20, 5, &[], 20.0, 0.0, seed);
        let x = table.with_nan();
        let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        for method in [Method::Vb, Method::VbFull] {
            let pca = IncompletePca { method, ..IncompletePca::new(1) };
            let double = observed(&table);
            let single = Observed::from_dense(&Dense::row_major(&single, 20, 5).unwrap()).unwrap();
            for (model, again) in [
                pca.fit(&double).map(|model| (model.clone(), model.transform(&double).unwrap())).unwrap(),
                pca.fit(&single).map(|model| (model.clone(), model.transform(&single).unwrap())).unwrap(),
            ] {
                for (found, expected) in again.as_slice().iter().zip(model.scores().as_slice()) {
                    assert!(
                        (found - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                        "{}: {found}, {expected}",
                        method.name()
                    );
                }
                assert!(model.predict(3, 3).unwrap().std().unwrap().is_finite());
            }
        }
    }
}

#[test]
fn weights_of_arrays_match_triples() {
    let table = Incomplete::problem_q();
    let x = table.with_nan();
    let weights: Vec<f64> = (0..480).map(|e| f64::from(e % 7 * (e % 3))).collect();
    let array = Observed::from_dense_weighted_with(
        &Dense::row_major(&x, 40, 12).unwrap(),
        &Dense::row_major(&weights, 40, 12).unwrap(),
        &Run::threads(2),
    )
    .unwrap();
    let (rows, columns): (Vec<u32>, Vec<u32>) = (0..480).map(|e| (e / 12, e % 12)).unzip();
    let triples = Triples { rows: &rows, columns: &columns, values: &x, weights: Some(&weights) };
    let sorted = Observed::from_triples(&triples, (40, 12), Duplicates::Refuse).unwrap();
    for row in 0..40 {
        assert_eq!(array.row(row), sorted.row(row));
        assert_eq!(array.row_weights(row), sorted.row_weights(row));
    }
    for column in 0..12 {
        assert_eq!(array.column(column), sorted.column(column));
    }
    let dense = Dense::row_major(&x, 40, 12).unwrap();
    let bad: Vec<f64> = (0..480).map(|e| if e == 30 { -1.0 } else { 1.0 }).collect();
    let error = Observed::from_dense_weighted(&dense, &Dense::row_major(&bad, 40, 12).unwrap());
    assert!(matches!(error.unwrap_err(), Error::EntryWeight { row: 2, column: 6, .. }));
    let error = Observed::from_dense_weighted(&dense, &Dense::row_major(&bad, 12, 40).unwrap());
    assert!(matches!(error.unwrap_err(), Error::Shape { axis: "rows", .. }));
    // Weights of columns by a stride of zero, without 480 numbers.
    let of_columns = Dense::strided(&weights[..12], (40, 12), (0, 1), 0).unwrap();
    let found = Observed::from_dense_weighted(&dense, &of_columns).unwrap();
    assert_eq!(found.n_observed_in_column(0), 0);
}

#[test]
fn a_stream_continues_a_fit() {
    let table = Incomplete::planted(400, 20, &[2.0, 1.5], 0.3, 0.4, 21);
    let data = observed(&table);
    let model = IncompletePca::new(2).fit(&data).unwrap();
    let mut stream = IncompleteStream::resume(&model);
    assert_eq!(stream.n_samples_seen(), 400);
    stream.partial_fit(&data).unwrap();
    let after = test_rmse(&stream.finish(&data, &IncompletePca::new(2)).unwrap(), &table);
    assert!(after < 1.01 * test_rmse(&model, &table), "{after}");
}

#[test]
fn a_stream_without_a_mean_keeps_it_at_zero() {
    let data = observed(&Incomplete::problem_q());
    let mut stream = IncompleteStream::new(2, 12, OnlineRule::Diagonal, 3).unwrap().without_mean();
    stream.partial_fit(&data).unwrap();
    assert_eq!(stream.mean(), [0.0; 12]);
}
