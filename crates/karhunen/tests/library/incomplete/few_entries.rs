//! Data with very few entries: predictions stay near the observed values.

use karhunen::incomplete::{MeanMode, Method};
use karhunen::{Dense, IncompletePca, Observed, Run};
use karhunen_testkit::{Incomplete, SplitMix64, largest};

/// A table of 10 x 3 with three entries.
fn three_entries(seed: u64) -> Vec<f64> {
    let mut rng = SplitMix64::new(seed);
    let mut x = vec![f64::NAN; 30];
    while x.iter().filter(|x| !x.is_nan()).count() < 3 {
        let at = (rng.uniform() * 30.0) as usize;
        x[at] = 3.0 * rng.normal();
    }
    x
}

#[test]
fn penalised_predictions_stay_within_the_range_of_the_data() {
    let shrinking = [Method::Auto, Method::Soft, Method::Als, Method::Ridge, Method::VbFull, Method::Vb];
    let mut beyond = Vec::new();
    for seed in 0..40 {
        let mut x = three_entries(seed);
        if seed == 0 {
            // Two entries in one column, and one in another, which the ridge shrinks to nothing.
            x.fill(f64::NAN);
            (x[5], x[6], x[20]) = (-3.228083777013916, -2.059530703095768, -1.6278509950469415);
        }
        let range = largest(x.iter().copied().filter(|x| !x.is_nan()));
        let data = Observed::from_dense(&Dense::row_major(&x, 10, 3).unwrap()).unwrap();
        for method in shrinking {
            for mean in [MeanMode::None, MeanMode::Joint] {
                let model = IncompletePca { method, mean, ..IncompletePca::new(2) }.fit(&data).unwrap();
                let all = (0..10).flat_map(|j| (0..3).map(move |i| (j, i)));
                let largest = largest(all.map(|(j, i)| model.predict(j, i).unwrap().value));
                if largest.is_nan() || largest > 1.5 * range {
                    beyond.push(format!("{} {mean:?} {seed}: {largest:e} of {range}", method.name()));
                }
            }
        }
    }
    assert!(beyond.is_empty(), "{beyond:#?}");
}

/// Returns the part of `x` that is orthogonal to `rows`.
fn outside(x: &[f64], rows: &[Vec<f64>]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut left = x.to_vec();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for row in rows.iter().cloned().chain([x.to_vec()]) {
        let mut row = row;
        for _ in 0..3 {
            for q in &basis {
                let along = dot(&row, q);
                row.iter_mut().zip(q).for_each(|(x, q)| *x -= along * q);
            }
        }
        left = row.clone();
        let norm = dot(&row, &row).sqrt();
        basis.push(row.iter().map(|x| x / norm).collect());
    }
    left
}

/// Rounding may make the singular equations of such rows look regular.
#[test]
fn scores_of_rows_with_fewer_entries_than_components_have_least_norm_and_the_covariance_of_the_fit() {
    let mut n_rows = 0;
    for seed in 0..40 {
        let table = Incomplete::planted(45, 6, &[2.0, 1.5, 1.0, 0.5], 0.3, 0.4, seed);
        let x = table.with_nan();
        let data = Observed::from_dense(&Dense::row_major(&x, 45, 6).unwrap()).unwrap();
        let pca = IncompletePca { method: Method::Em, max_iter: 5, ..IncompletePca::new(4) };
        let model = pca.fit(&data).unwrap();
        let (scores, covariances) = model.transform_with_covariances(&data, &Run::default()).unwrap();
        for row in 0..45 {
            let observed: Vec<usize> = (0..6).filter(|j| !x[6 * row + j].is_nan()).collect();
            if observed.is_empty() || observed.len() >= 4 {
                continue;
            }
            n_rows += 1;
            let loadings = |j: &usize| (0..4).map(|k| model.components()[(k, *j)]).collect();
            let rows: Vec<Vec<f64>> = observed.iter().map(loadings).collect();
            let found = scores.row(row);
            let away = largest(outside(found, &rows));
            assert!(away <= 1e-6 * largest(found.iter().copied()), "{seed} {row}: {away:e} of {found:?}");
            // The fitted rows serve as prior: no variance exceeds theirs.
            let fitted = model.score_covariances().unwrap();
            for k in 0..4 {
                let (found, of_rows) = (covariances.get(row, k, k), model.explained_variance()[k]);
                assert!(found > 0.0 && found <= of_rows * (1.0 + 1e-6), "{seed} {row}: {found} of {of_rows}");
                let away = (found - fitted.get(row, k, k)).abs();
                assert!(away <= 1e-5 * of_rows, "{seed} {row}: {found} {}", fitted.get(row, k, k));
            }
        }
    }
    assert!(n_rows > 300, "{n_rows}");
}

/// The least norm belongs to the components, about the mean of the scores, and not to the factors of the iterations.
#[test]
fn fitted_scores_are_those_that_transform_gives() {
    let mut n_rows = 0;
    for seed in 0..6 {
        let table = Incomplete::planted(45, 6, &[2.0, 1.5, 1.0, 0.5], 0.3, 0.4, seed);
        let mut x = table.with_nan();
        // A row with the only entry of a column, whose loadings are zero then, and fewer others than components.
        (0..45).for_each(|i| x[6 * i + 5] = f64::NAN);
        (0..6).for_each(|j| x[6 * 9 + j] = if j > 2 { j as f64 } else { f64::NAN });
        let data = Observed::from_dense(&Dense::row_major(&x, 45, 6).unwrap()).unwrap();
        let of_rows: Vec<f64> = (0..45).map(|i| f64::from(i % 3 + 1)).collect();
        let weighted = data.clone().with_sample_weights(&of_rows).unwrap();
        for (method, mean, row_offsets, data) in [
            (Method::Em, MeanMode::Joint, false, &data),
            (Method::Em, MeanMode::Fixed, false, &data),
            (Method::Em, MeanMode::None, false, &data),
            (Method::Em, MeanMode::Joint, true, &data),
            (Method::Em, MeanMode::Joint, false, &weighted),
            (Method::Newton, MeanMode::Joint, false, &data),
        ] {
            let what = format!("{seed} {} {mean:?} {row_offsets}", method.name());
            let pca = IncompletePca { method, mean, row_offsets, max_iter: 5, ..IncompletePca::new(3) };
            let model = pca.fit(data).unwrap();
            let found = model.row_scores(data).unwrap();
            let size = largest(model.scores().as_slice().iter().map(|s| s.abs()));
            let is_without_loadings = mean != MeanMode::None && !row_offsets;
            let is_few = |row: &usize| match row {
                9 => is_without_loadings,
                row => (1..3).contains(&data.n_observed_in_row(*row)),
            };
            for row in (0..45).filter(is_few) {
                n_rows += 1;
                let (fitted, new) = (model.scores().row(row), found.scores.row(row));
                let away = largest(fitted.iter().zip(new).map(|(x, y)| (x - y).abs()));
                assert!(away <= 1e-9 * size, "{what} {row}: {fitted:?} {new:?}");
                if let (Some(fitted), Some(new)) = (model.row_offsets(), &found.offsets) {
                    assert!((fitted[row] - new[row]).abs() <= 1e-9 * size, "{what} {row}");
                }
            }
            // Scores of components, all the same: about their mean, and orthogonal.
            let weight = |i: usize| if data.sample_weights().is_some() { of_rows[i] } else { 1.0 };
            let seen = (0..45).filter(|i| data.n_observed_in_row(*i) > 0);
            let sum = |f: &dyn Fn(usize) -> f64| seen.clone().map(|i| weight(i) * f(i)).sum::<f64>();
            for k in 0..3 {
                let total = sum(&|i| model.scores()[(i, k)]);
                assert!(mean != MeanMode::Joint || total.abs() <= 1e-9 * size, "{what} {k}: {total:e}");
                let across =
                    largest((0..k).map(|l| sum(&|i| model.scores()[(i, k)] * model.scores()[(i, l)]).abs()));
                assert!(k == 0 || across <= 1e-9 * size * size, "{what} {k}: {across:e}");
            }
        }
    }
    assert!(n_rows > 300, "{n_rows}");
}

/// The loadings of a feature that one row holds shrink with every sweep, and a new row that holds it had scores as large as
/// they were small.
#[test]
fn features_of_one_entry_have_it_as_their_mean_and_no_loadings() {
    let table = Incomplete::planted(60, 6, &[2.0, 1.0], 0.3, 0.2, 3);
    let mut x = table.with_nan();
    (0..60).filter(|i| *i != 7).for_each(|i| x[6 * i + 5] = f64::NAN);
    (x[6 * 7], x[6 * 7 + 1], x[6 * 7 + 5]) = (1.0, -1.0, 40.0);
    let data = Observed::from_dense(&Dense::row_major(&x, 60, 6).unwrap()).unwrap();
    let mut new = [f64::NAN; 12];
    (new[5], new[6], new[11]) = (55.0, 1.0, 70.0);
    let new = Observed::from_dense(&Dense::row_major(&new, 2, 6).unwrap()).unwrap();
    for method in [Method::Em, Method::Ccd, Method::Cg, Method::Newton] {
        let model = IncompletePca { method, ..IncompletePca::new(2) }.fit(&data).unwrap();
        let loadings = [model.components()[(0, 5)], model.components()[(1, 5)]];
        assert_eq!((loadings, model.mean()[5]), ([0.0; 2], 40.0), "{}", method.name());
        let scores = model.transform(&new).unwrap();
        assert_eq!(scores.row(0), [0.0; 2], "{}", method.name());
        assert!(largest(scores.row(1).iter().map(|s| s.abs())) < 100.0, "{}: {scores:?}", method.name());
    }
}

/// A column that is constant up to rounding has loadings of rounding errors, and a row that holds nothing else had scores of
/// rounding errors over rounding errors.
#[test]
fn constant_columns_have_no_loadings() {
    for (value, single) in [(0.1, false), (1e5, false), (0.1, true), (-3e-9, true)] {
        let table = Incomplete::planted(40, 5, &[2.0, 1.0], 0.3, 0.2, 3);
        let mut x = table.with_nan();
        (0..40).for_each(|i| x[5 * i + 2] = value);
        (0..5).filter(|j| *j != 2).for_each(|j| x[5 * 7 + j] = f64::NAN);
        let rows: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        for method in [Method::Em, Method::Ccd, Method::Cg, Method::Newton, Method::Imputation] {
            for mean in [MeanMode::Fixed, MeanMode::Joint] {
                let pca = IncompletePca { method, mean, ..IncompletePca::new(2) };
                let (model, found) = if single {
                    let data = Observed::from_dense(&Dense::row_major(&rows, 40, 5).unwrap()).unwrap();
                    let model = pca.fit(&data).unwrap();
                    let found = model.transform(&data).unwrap();
                    (model, found)
                } else {
                    let data = Observed::from_dense(&Dense::row_major(&x, 40, 5).unwrap()).unwrap();
                    let model = pca.fit(&data).unwrap();
                    let found = model.transform(&data).unwrap();
                    (model, found)
                };
                let what = format!("{} {mean:?} {value} {single}", method.name());
                assert!(
                    (0..2).all(|k| model.components()[(k, 2)] == 0.0),
                    "{what}: {:?}",
                    model.components()
                );
                assert!(largest(found.row(7).iter().map(|s| s.abs())) < 1e-9, "{what} {:?}", found.row(7));
                // A fitted mean centres the scores of all rows with entries.
                let most = if mean == MeanMode::Fixed { 1e-9 } else { 10.0 };
                let of_row = model.scores().row(7);
                assert!(largest(of_row.iter().map(|s| s.abs())) < most, "{what} {of_row:?}");
            }
        }
    }
}

/// Rounding is measured in the unit of the column: small values that vary are not rounding.
#[test]
fn columns_of_small_values_keep_their_loadings() {
    const SMALL: f64 = 1e-12;
    let table = Incomplete::planted(40, 5, &[2.0, 1.0], 0.0, 0.2, 3);
    let mut x = table.with_nan();
    (0..40).for_each(|i| x[5 * i + 2] *= SMALL);
    let data = Observed::from_dense(&Dense::row_major(&x, 40, 5).unwrap()).unwrap();
    for method in [Method::Em, Method::Ccd] {
        for mean in [MeanMode::Fixed, MeanMode::Joint] {
            let pca = IncompletePca { method, mean, tol: 1e-12, ..IncompletePca::new(2) };
            let model = pca.fit(&data).unwrap();
            let loadings = largest((0..2).map(|k| model.components()[(k, 2)].abs()));
            assert!(loadings > 0.01 * SMALL && loadings < 10.0 * SMALL, "{}: {loadings:e}", method.name());
        }
    }
}
