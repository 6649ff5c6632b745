//! Q², R² and squared errors of cross-validation by their definitions, and the number of components that they choose.

use karhunen::diagnostics::{incomplete_r2, r2};
use karhunen::incomplete::{CrossValidation, MeanMode, Method};
use karhunen::selection::{Curve, cross_validation, cross_validation_one_error};
use karhunen::{Dense, IncompletePca, NComponents, Observed, Pca, Run, Weights};
use karhunen_testkit::{
    Incomplete, Rows, SplitMix64, largest, largest_difference, row_major, uniform_weights,
};

use crate::incomplete::fixtures::{Entry, in_random_order, observed};

fn em(scale: bool) -> IncompletePca {
    IncompletePca { method: Method::Em, scale: scale.into(), ..IncompletePca::default() }
}

fn grid(n_components: impl IntoIterator<Item = usize>) -> CrossValidation {
    CrossValidation { n_components: n_components.into_iter().collect(), ..CrossValidation::default() }
}

#[track_caller]
fn close(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-10 * expected.abs().max(1e-3), "{what}: {found}, not {expected}");
}

/// A table with missing entries in several units, and weights of its entries, rows and columns.
struct Weighed {
    table: Incomplete,
    entries: Vec<f64>,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

fn dense(values: &[f64]) -> Dense<'_, f64> {
    Dense::row_major(values, 40, 6).unwrap()
}

impl Weighed {
    fn new() -> Self {
        let mut table = Incomplete::planted(40, 6, &[3.0, 2.0], 0.5, 0.2, 8);
        for row in &mut table.complete {
            row.iter_mut().enumerate().for_each(|(j, x)| *x = (*x + 3.0) * 10_f64.powi(j as i32 - 2));
        }
        let entries = uniform_weights(240, 1).iter().map(|w| 0.5 + w).collect();
        let rows = (0..40).map(|i| 1.0 + (i % 3) as f64).collect();
        Self { table, entries, rows, columns: vec![1.0, 2.0, 0.5, 1.0, 3.0, 1.0] }
    }

    /// The entries without some.
    fn without(&self, held_out: &[Entry]) -> Observed<f64> {
        let mut values = self.table.with_nan();
        held_out.iter().for_each(|(row, column, _)| values[row * 6 + column] = f64::NAN);
        let data = Observed::from_dense_weighted(&dense(&values), &dense(&self.entries)).unwrap();
        let data = data.with_sample_weights(&self.rows).unwrap();
        data.with_feature_weights(&self.columns).unwrap()
    }

    fn weight(&self, (row, column, _): &Entry) -> f64 {
        self.rows[*row] * self.entries[row * 6 + column]
    }

    /// The weighted mean of each column, and its deviation with the number of rows less one as divisor.
    fn moments(&self, entries: &[Entry]) -> (Vec<f64>, Vec<f64>) {
        (0..6)
            .map(|j| {
                let here: Vec<&Entry> = entries.iter().filter(|entry| entry.1 == j).collect();
                let sum = |of: &dyn Fn(&Entry) -> f64| here.iter().map(|entry| of(entry)).sum::<f64>();
                let total = sum(&|entry| self.weight(entry));
                let mean = sum(&|entry| self.weight(entry) * entry.2) / total;
                let square = sum(&|entry| self.weight(entry) * (entry.2 - mean).powi(2)) / total;
                let count = sum(&|entry| self.rows[entry.0]);
                (mean, (square * count / (count - 1.0)).sqrt())
            })
            .unzip()
    }
}

#[test]
fn squared_errors_match_a_plain_loop() {
    let weighed = Weighed::new();
    let n_folds = 4;
    for (scale, centred) in [(true, true), (false, true), (true, false)] {
        let mean = if centred { MeanMode::Joint } else { MeanMode::None };
        let pca = IncompletePca { seed: 5, mean, ..em(scale) };
        let data = weighed.without(&[]);
        let table = CrossValidation { n_folds, ..grid([1, 2]) }.run(&pca, &data, &Run::default()).unwrap();
        let order = in_random_order(&data, 5, "folds");
        let first = |fold: usize| fold * order.len() / n_folds;
        let (means, deviations) = weighed.moments(&order);
        let units: Vec<f64> = (0..6)
            .map(|j| {
                let square = deviations[j].powi(2);
                let about = if centred { square } else { about_zero(&weighed, &order, j) };
                weighed.columns[j] / if scale { about } else { 1.0 }
            })
            .collect();
        let centre = |j: usize| if centred { means[j] } else { 0.0 };
        let mut choices: Vec<_> = table.choices().iter().collect();
        choices.insert(0, table.without_components());
        for choice in choices {
            // By fold and feature: squared errors, weights, squares about the mean.
            let mut sums = vec![[[0.0; 3]; 6]; n_folds];
            for fold in 0..n_folds {
                let held_out = &order[first(fold)..first(fold + 1)];
                let kept: Vec<Entry> = order
                    .iter()
                    .enumerate()
                    .filter(|(e, _)| *e < first(fold) || *e >= first(fold + 1))
                    .map(|x| *x.1)
                    .collect();
                let of_kept = weighed.moments(&kept).0;
                let model = (choice.n_components > 0)
                    .then(|| choice.options(&pca).fit(&weighed.without(held_out)).unwrap());
                for entry in held_out {
                    let (row, column, value) = *entry;
                    let of_mean = if centred { of_kept[column] } else { 0.0 };
                    let found =
                        model.as_ref().map_or(of_mean, |model| model.predict(row, column).unwrap().value);
                    let weight = weighed.weight(entry);
                    let sums = &mut sums[fold][column];
                    sums[0] += weight * (found - value).powi(2);
                    sums[1] += weight;
                    sums[2] += weight * (value - centre(column)).powi(2);
                }
            }
            let total = |of: usize, j: usize| sums.iter().map(|fold| fold[j][of]).sum::<f64>();
            let (mut press, mut spread, mut weight) = (0.0, 0.0, 0.0);
            let features = &choice.features;
            for j in 0..6 {
                close("press of a feature", features.press[j], total(0, j));
                close("msep of a feature", features.msep[j], total(0, j) / total(1, j));
                close("q2 of a feature", features.q2[j], 1.0 - total(0, j) / total(2, j));
                press += units[j] * total(0, j);
                spread += units[j] * total(2, j);
                weight += total(1, j);
                let ratio = total(0, j) / total(1, j);
                let away: f64 = sums.iter().map(|fold| (fold[j][0] - ratio * fold[j][1]).powi(2)).sum();
                let n = n_folds as f64;
                close(
                    "error of a feature",
                    features.msep_standard_error[j],
                    (away * n / (n - 1.0)).sqrt() / total(1, j),
                );
            }
            close("press", choice.press, press);
            close("msep", choice.msep, press / weight);
            close("q2", choice.q2, 1.0 - press / spread);
            for (fold, sums) in sums.iter().enumerate() {
                let square: f64 = (0..6).map(|j| units[j] * sums[j][0]).sum();
                let weight: f64 = sums.iter().map(|sums| sums[1]).sum();
                close("error of a fold", choice.errors[fold], (square / weight).sqrt());
            }
            // R² is of the fit to all entries.
            let model = (choice.n_components > 0).then(|| choice.options(&pca).fit(&data).unwrap());
            let (mut left, mut all) = ([0.0; 6], [0.0; 6]);
            for entry in &order {
                let (row, column, value) = *entry;
                let found =
                    model.as_ref().map_or(centre(column), |model| model.predict(row, column).unwrap().value);
                left[column] += weighed.weight(entry) * (found - value).powi(2);
                all[column] += weighed.weight(entry) * (value - centre(column)).powi(2);
            }
            (0..6).for_each(|j| close("r2 of a feature", features.r2[j], 1.0 - left[j] / all[j]));
            let sum = |of: &[f64; 6]| (0..6).map(|j| units[j] * of[j]).sum::<f64>();
            close("r2", choice.r2, 1.0 - sum(&left) / sum(&all));
        }
    }
}

/// The mean square of a column, with the number of rows less one as divisor.
fn about_zero(weighed: &Weighed, entries: &[Entry], j: usize) -> f64 {
    let here = || entries.iter().filter(|entry| entry.1 == j);
    let total: f64 = here().map(|entry| weighed.weight(entry)).sum();
    let count: f64 = here().map(|entry| weighed.rows[entry.0]).sum();
    here().map(|entry| weighed.weight(entry) * entry.2.powi(2)).sum::<f64>() / total * count / (count - 1.0)
}

/// Rows of a rank with noise of deviation one half, without missing entries, far from zero.
fn complete(rank: usize, seed: u64) -> Rows {
    let sizes = [4.0, 3.0, 2.5, 2.0];
    let planted = Incomplete::planted(60, 12, &sizes[..rank], 0.5, 0.0, seed);
    let shifted = |row: &Vec<f64>| row.iter().enumerate().map(|(j, x)| x + 10.0 * j as f64).collect();
    planted.complete.iter().map(shifted).collect()
}

fn entries_of(rows: &Rows) -> Observed<f64> {
    Observed::from_dense(&Dense::row_major(&row_major(rows), rows.len(), rows[0].len()).unwrap()).unwrap()
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn the_rank_of_complete_data_is_chosen() {
    for seed in 0..4 {
        for rank in 1..=4 {
            let data = entries_of(&complete(rank, 10 * seed + rank as u64));
            for method in [Method::Em, Method::Ppca] {
                let pca = IncompletePca { method, ..em(false) };
                let table = grid(1..=6).run(&pca, &data, &Run::default()).unwrap();
                let (least, within) = (cross_validation(&table), cross_validation_one_error(&table));
                let case = format!("seed {seed}, rank {rank}, {}: {:?}", method.name(), least.curve);
                // Probabilistic PCA shrinks a component of noise so much that its error may be smaller by chance.
                let most = rank + usize::from(method == Method::Ppca);
                assert!((rank..=most).contains(&least.n_components.unwrap()), "{case}");
                assert_eq!((within.n_components, within.at_edge), (Some(rank), false), "{case}");
                assert_eq!(
                    (table.best().n_components, table.simplest().n_components),
                    (least.n_components.unwrap(), rank)
                );
                assert_eq!((least.range, within.range), ((0, 6), (0, 6)));
                let Curve::Criterion { first, values, maximised } = &least.curve else { panic!() };
                assert_eq!((*first, values.len(), *maximised), (0, 7, false));
                assert_eq!(values[table.best().n_components], table.best().msep);
                // R² rises with every component; Q² is highest at the least error.
                let choices = table.choices();
                assert!(choices.windows(2).all(|pair| pair[1].r2 > pair[0].r2), "{case}");
                assert!(choices.iter().all(|choice| choice.q2 <= table.best().q2), "{case}");
                assert!(choices.iter().all(|choice| choice.q2 < choice.r2), "{case}");
            }
        }
    }
}

#[test]
fn noise_has_no_component_and_a_short_range_ends_at_its_edge() {
    let mut random = SplitMix64::new(3);
    let noise = random.normals(50, 8);
    let table = grid(1..=3).run(&em(false), &entries_of(&noise), &Run::default()).unwrap();
    for found in [cross_validation(&table), cross_validation_one_error(&table)] {
        assert_eq!((found.n_components, found.at_edge), (Some(0), true), "{}", found.reason);
    }
    assert!(table.without_components().q2.abs() < 0.1 && table.without_components().r2.abs() < 1e-12);
    assert!(table.choices().iter().all(|choice| choice.q2 < 0.0));
    let short = grid([1, 3]).run(&em(false), &entries_of(&complete(4, 2)), &Run::default()).unwrap();
    let found = cross_validation(&short);
    assert_eq!((found.n_components, found.at_edge), (Some(3), true));
    let Curve::Criterion { values, .. } = &found.curve else { panic!() };
    assert!(values[2].is_nan() && values[0] > values[1] && values[1] > values[3], "{values:?}");
    let one = cross_validation_one_error(&short).reason;
    assert!(one.contains("within one standard error") && one.ends_with(" with 3"), "{one}");
}

#[test]
fn r2_matches_the_components_of_complete_data() {
    let rows = complete(3, 7);
    let values = row_major(&rows);
    let dense = Dense::row_major(&values, rows.len(), 12).unwrap();
    let columns = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0, 0.25, 1.0, 1.0];
    for scale in [false, true] {
        let weights = Weights { features: Some(&columns), ..Weights::default() };
        let pca = Pca { n_components: NComponents::Count(4), scale: scale.into(), ..Pca::default() };
        let of_components = r2(&pca.fit(&dense, &weights).unwrap()).unwrap();
        let tight = IncompletePca { tol: 1e-14, max_iter: 10_000, ..em(scale) };
        let data = Observed::from_dense(&dense).unwrap().with_feature_weights(&columns).unwrap();
        let table = grid(1..=4).run(&tight, &data, &Run::default()).unwrap();
        let model = IncompletePca { n_components: 4, ..tight }.fit(&data).unwrap();
        let of_model = incomplete_r2(&model);
        for (k, choice) in table.choices().iter().enumerate() {
            let features: Vec<f64> = (0..12).map(|j| of_components.features[(j, k)]).collect();
            // The iterations stop at a relative decrease of 1e-14, so loadings are near to 1e-7.
            assert!(
                (choice.r2 - of_components.total[k]).abs() < 1e-9,
                "{} {}",
                choice.r2,
                of_components.total[k]
            );
            assert!(largest_difference(&choice.features.r2, &features) < 1e-5);
            assert!((of_model.total[k] - of_components.total[k]).abs() < 1e-9);
        }
        let communalities =
            karhunen::diagnostics::features(&pca.fit(&dense, &weights).unwrap()).unwrap().communalities;
        let last: Vec<f64> = (0..12).map(|j| of_components.features[(j, 3)]).collect();
        assert_eq!(last, communalities);
    }
}

#[test]
fn units_change_no_relative_error_of_scaled_data() {
    let rows = complete(2, 4);
    let units: Vec<f64> = (0..12).map(|j| 4_f64.powi(3 * j - 15)).collect();
    let multiplied: Rows =
        rows.iter().map(|row| row.iter().zip(&units).map(|(x, unit)| x * unit).collect()).collect();
    let run = |rows: &Rows| grid([1, 2]).run(&em(true), &entries_of(rows), &Run::default()).unwrap();
    let (plain, other) = (run(&rows), run(&multiplied));
    for (a, b) in plain.choices().iter().zip(other.choices()) {
        assert!((a.q2 - b.q2).abs() < 1e-9 && (a.r2 - b.r2).abs() < 1e-9 && (a.msep - b.msep).abs() < 1e-9);
        assert!(largest_difference(&a.features.q2, &b.features.q2) < 1e-9);
        let ratio = (0..12).map(|j| b.features.msep[j] / a.features.msep[j] / units[j].powi(2) - 1.0);
        assert!(largest(ratio.map(f64::abs)) < 1e-9);
    }
}

#[test]
fn a_constant_feature_and_one_that_no_fold_holds_out_have_no_share() {
    let mut planted = Incomplete::planted(30, 5, &[3.0], 0.5, 0.1, 2);
    planted.complete.iter_mut().for_each(|row| row[1] = 7.0);
    // The last column has a single entry, which stays.
    let mut values = planted.with_nan();
    (0..30).for_each(|i| values[i * 5 + 4] = if i == 3 { 1.0 } else { f64::NAN });
    let data = Observed::from_dense(&Dense::row_major(&values, 30, 5).unwrap()).unwrap();
    let table = grid([1]).run(&em(true), &data, &Run::default()).unwrap();
    let choice = table.best();
    assert!(choice.q2.is_finite() && choice.press.is_finite());
    assert!(choice.features.q2[1].is_nan() && choice.features.press[1] < 1.0);
    assert!(
        choice.features.press[4].is_nan()
            && choice.features.q2[4].is_nan()
            && choice.features.msep[4].is_nan()
    );
    assert!(choice.features.q2[0].is_finite());
}

#[test]
fn early_penalties_of_a_number_give_way_to_better_ones() {
    use karhunen::incomplete::Regularization::Ridge;
    let data = observed(&Incomplete::planted(60, 8, &[3.0, 2.0], 0.5, 0.2, 6));
    let pca = IncompletePca { method: Method::Als, ..IncompletePca::default() };
    let both = CrossValidation { regularization: vec![Ridge(200.0), Ridge(0.5)], ..grid([2]) };
    let one = CrossValidation { regularization: vec![Ridge(0.5)], ..grid([2]) };
    let run = |grid: &CrossValidation| cross_validation(&grid.run(&pca, &data, &Run::default()).unwrap());
    let (both, one) = (run(&both), run(&one));
    assert_eq!((both.n_components, &both.reason), (one.n_components, &one.reason));
}
