//! Data with very few entries: predictions stay near the observed values.

use karhunen::incomplete::{MeanMode, Method};
use karhunen::{Dense, IncompletePca, Observed, Run};
use karhunen_testkit::{Holes, SplitMix64, largest};

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
        let holes = Holes::planted(45, 6, &[2.0, 1.5, 1.0, 0.5], 0.3, 0.4, seed);
        let x = holes.with_nan();
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

/// A column that is constant up to rounding has loadings of rounding errors, and a row that holds nothing else had scores of
/// rounding errors over rounding errors.
#[test]
fn constant_columns_have_no_loadings() {
    for (value, single) in [(0.1, false), (1e5, false), (0.1, true), (-3e-9, true)] {
        let holes = Holes::planted(40, 5, &[2.0, 1.0], 0.3, 0.2, 3);
        let mut x = holes.with_nan();
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
    let holes = Holes::planted(40, 5, &[2.0, 1.0], 0.0, 0.2, 3);
    let mut x = holes.with_nan();
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
