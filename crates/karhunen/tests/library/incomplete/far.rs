//! Predictions far outside the observed range.

use karhunen::completion::{IterativePca, Shrinkage};
use karhunen::incomplete::{FitContext, Method, Regularization};
use karhunen::{Dense, IncompletePca, Matrix, Observed, Run};
use karhunen_testkit::{Incomplete, SplitMix64};

use crate::incomplete::fixtures::observed;

/// Data of few noisy entries: a least-squares fit of three components can predict arbitrary missing entries.
fn few_entries(seed: u64) -> Observed<f64> {
    let noise = SplitMix64::new(seed).normals(12, 6);
    let hidden = SplitMix64::new(seed + 1000).normals(12, 6);
    let x: Vec<f64> = noise
        .iter()
        .zip(&hidden)
        .flat_map(|(noise, hidden)| noise.iter().zip(hidden))
        .map(|(x, hidden)| if *hidden > 0.3 { f64::NAN } else { *x })
        .collect();
    Observed::from_dense(&Dense::row_major(&x, 12, 6).unwrap()).unwrap()
}

#[test]
fn reported_extremes_match_all_predictions() {
    let mut found = 0;
    for seed in 0..60 {
        let data = few_entries(seed);
        for method in [Method::Em, Method::Cg] {
            let model = IncompletePca { method, ..IncompletePca::new(3) }.fit(&data).unwrap();
            let (count, most) = one_by_one(&data, |row, column| model.predict(row, column).unwrap().value);
            let far = model.convergence().far;
            assert_eq!(far.map_or(0, |far| far.count), count, "{} {seed}", method.name());
            let Some(far) = far else { continue };
            found += 1;
            assert!((far.deviations / most - 1.0).abs() < 1e-6, "{} {seed}: {far:?} {most}", method.name());
            let predicted = model.predict(far.row, far.column).unwrap().value;
            assert!((far.value - predicted).abs() < 1e-9 * predicted.abs());
        }
        // Penalised predictions stay near the observed values.
        let shrunk = [
            IncompletePca::new(3),
            IncompletePca {
                method: Method::Als,
                regularization: Some(Regularization::Ridge(1.0)),
                ..IncompletePca::new(3)
            },
        ];
        for pca in shrunk {
            let model = pca.fit(&data).unwrap();
            assert_eq!(model.convergence().far, None, "{} {seed}", pca.method.name());
        }
    }
    assert!(found >= 3, "{found}");
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn far_fills_of_iterated_pca_equal_those_of_all_fills() {
    let mut n_found = 0;
    for seed in 0..60 {
        let data = few_entries(seed);
        let mut x = Matrix::from_fn(12, 6, |_, _| f64::NAN);
        for row in 0..12 {
            let (columns, values) = data.row(row);
            columns.iter().zip(values).for_each(|(column, value)| x[(row, *column as usize)] = *value);
        }
        let pca = IterativePca { shrinkage: Shrinkage::Em, scale: false, ..IterativePca::new(3) };
        let found = pca.complete(&x, None, &Run::default()).unwrap();
        let (count, most) = one_by_one(&data, |row, column| found.completed[(row, column)]);
        assert_eq!(found.far.map_or(0, |far| far.count), count, "{seed}");
        let Some(far) = found.far else { continue };
        n_found += 1;
        assert!((far.deviations / most - 1.0).abs() < 1e-9, "{seed}: {far:?} {most}");
        assert_eq!(far.value, found.completed[(far.row, far.column)]);
    }
    assert!(n_found >= 3, "{n_found}");
}

#[test]
fn well_determined_fits_have_no_far_predictions() {
    let table = Incomplete::planted(300, 40, &[3.0, 2.0, 1.0], 0.5, 0.5, 3);
    for method in Method::ALL {
        let model = IncompletePca { method, ..IncompletePca::new(3) }.fit(&observed(&table)).unwrap();
        assert_eq!(model.convergence().far, None, "{}", method.name());
    }
}

/// Columns in other units do not hide a far prediction in a column with observed entries.
#[test]
fn a_far_prediction_is_found_whatever_the_units_of_other_columns() {
    let noise = SplitMix64::new(4).normals(60, 5);
    let of = |unit: f64| {
        let x: Vec<f64> = noise
            .iter()
            .enumerate()
            .flat_map(|(row, noise)| {
                // The first row, a hundred times as large as the others, is observed in the first two columns.
                let size = if row == 0 { 100.0 } else { 1.0 };
                let value = move |column: usize| size * noise[0] + 0.01 * noise[column];
                [value(1), value(2), value(3), unit * value(4), unit * value(3)]
                    .into_iter()
                    .enumerate()
                    .map(move |(column, x)| if row == 0 && column > 1 { f64::NAN } else { x })
            })
            .collect();
        let data = Observed::from_dense(&Dense::row_major(&x, 60, 5).unwrap()).unwrap();
        let pca = IncompletePca { method: Method::Em, tol: 1e-13, max_iter: 5000, ..IncompletePca::new(1) };
        let model = pca.fit(&data).unwrap();
        assert!(model.predict(0, 2).unwrap().value.abs() > 20.0, "{:?}", model.predict(0, 2));
        model.convergence().far.is_some()
    };
    assert!(of(1.0));
    assert!(of(1e4));
}

/// The number of far predictions and the farthest one, by a loop over all missing entries.
fn one_by_one(data: &Observed<f64>, predict: impl Fn(usize, usize) -> f64) -> (usize, f64) {
    let (n, p) = data.shape();
    let squares = |column: usize| {
        let values = data.column(column).1;
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        values.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    let several = || (0..p).filter(|column| data.n_observed_in_column(*column) > 1);
    let freedom: f64 = several().map(|column| data.n_observed_in_column(column) as f64 - 1.0).sum();
    let common = several().map(squares).sum::<f64>() / freedom;
    let (mut count, mut most) = (0, 0.0f64);
    for column in several() {
        let (rows, values) = data.column(column);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        let freedom = values.len() as f64 - 1.0;
        let most_likely = squares(column) / freedom * 1f64.exp() * 10f64.powf(6.0 / freedom);
        let common = if squares(column) == 0.0 || common < most_likely { common } else { most_likely };
        let variance = (squares(column) + 2.0 * common) / (freedom + 2.0);
        for row in (0..n).filter(|row| rows.binary_search(&(*row as u32)).is_err()) {
            let value = predict(row, column);
            let beyond = (low - value).max(value - high) / variance.sqrt();
            count += usize::from(beyond > 10.0);
            most = if beyond > most { beyond } else { most };
        }
    }
    (count, most)
}

/// Above the limit of the exhaustive search, rows and columns of large scores and loadings are searched.
#[test]
fn a_far_prediction_of_large_data_is_found() {
    let (n, p) = (12_000, 500);
    let noise = SplitMix64::new(1).normals(n, 8);
    let row_scores = SplitMix64::new(2).normals(n, 1);
    let loadings = SplitMix64::new(3).normals(p, 1);
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (row, (noise, score)) in noise.iter().zip(&row_scores).enumerate() {
        for (at, noise) in noise.iter().enumerate() {
            let column = (row * 7 + at * 61) % p;
            // One row is a hundred times as large.
            let size = if row == 1234 { 100.0 } else { 1.0 };
            rows.push(row as u32);
            columns.push(column as u32);
            values.push(size * score[0] * loadings[column][0] + 0.1 * noise);
        }
    }
    let triples =
        karhunen::incomplete::Triples { rows: &rows, columns: &columns, values: &values, weights: None };
    let data = Observed::from_triples(&triples, (n, p), karhunen::incomplete::Duplicates::Average).unwrap();
    let of = |n_threads| {
        let pca =
            IncompletePca { method: Method::Em, max_iter: 20, error_bars: false, ..IncompletePca::new(1) };
        pca.fit_with(&data, &FitContext::default(), &Run::threads(n_threads)).unwrap()
    };
    let model = of(1);
    let far = model.convergence().far.unwrap();
    let (count, most) = one_by_one(&data, |row, column| model.predict(row, column).unwrap().value);
    assert!((far.deviations / most - 1.0).abs() < 1e-6, "{far:?} {most}");
    assert!((1..=count).contains(&far.count), "{far:?} {count}");
    assert_eq!(of(3).convergence().far, Some(far));
}

/// Most columns are empty; the message names the column of the data.
#[test]
fn a_far_prediction_among_empty_columns_names_its_column() {
    let (n, p) = (200, 70_000);
    let noise = SplitMix64::new(1).normals(n, 10);
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (row, noise) in noise.iter().enumerate() {
        // One row is a thousand times as large, and observed in two columns.
        let score = if row == 7 { 1000.0 } else { (row as f64).sin() };
        for (at, noise) in noise.iter().enumerate() {
            if (row == 7 && at < 2) || (row != 7 && (row + at) % 3 != 0) {
                rows.push(row as u32);
                columns.push((6000 * at + 5) as u32);
                values.push(score * (1.0 + 0.1 * at as f64) + 0.1 * noise);
            }
        }
    }
    let triples =
        karhunen::incomplete::Triples { rows: &rows, columns: &columns, values: &values, weights: None };
    let data = Observed::from_triples(&triples, (n, p), karhunen::incomplete::Duplicates::Average).unwrap();
    let model = IncompletePca { method: Method::Em, ..IncompletePca::new(1) }.fit(&data).unwrap();
    let far = model.convergence().far.unwrap();
    let (count, most) = one_by_one(&data, |row, column| model.predict(row, column).unwrap().value);
    assert_eq!((far.row, far.column % 6000, far.count), (7, 5, count), "{far:?}");
    assert!((far.deviations / most - 1.0).abs() < 1e-6, "{far:?} {most}");
    assert!((far.value - model.predict(7, far.column).unwrap().value).abs() < 1e-9 * far.value.abs());
}
