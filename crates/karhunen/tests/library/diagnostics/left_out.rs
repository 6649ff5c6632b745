//! Errors of rows left out against fits of the other rows.

use karhunen::diagnostics::{LeftOut, Rows, SpeDistribution, SpeLimit, left_out, samples, t2_limit};
use karhunen::pca::NewRows;
use karhunen::{Dense, Pca, PcaModel, Run, Weighting, Weights};
use karhunen_testkit::{
    Options, Weighting as OfOracle, gaussian, integer_weights, largest, row_major, uniform_weights,
    weighted_pca,
};

use crate::diagnostics::{Table, close, dot, fit};

/// Rows whose columns have unequal variances and a mean.
fn rows(n: usize, p: usize, seed: u64) -> Table {
    let spread = |j: usize| 3.0 / (1.0 + j as f64).sqrt();
    let row = |row: &Vec<f64>| row.iter().enumerate().map(|(j, x)| 2.0 + spread(j) * x).collect();
    gaussian(n, p, seed).iter().map(row).collect()
}

fn found(model: &PcaModel, rows: &Table, weights: Option<&[f64]>) -> LeftOut {
    let values = row_major(rows);
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    let of_rows = samples(model, &x).unwrap();
    left_out(model, of_rows.distances(), &x, weights, &Run::default()).unwrap()
}

/// The squared prediction error of row `i` and its T² by mean squares, under the `k` leading components of the rows with the
/// weight of this row less one observation.
fn refitted(rows: &Table, i: usize, k: usize, options: &Options<'_>) -> [f64; 2] {
    let mut weights = options.sample_weights.map_or(vec![1.0; rows.len()], <[f64]>::to_vec);
    let counts = options.weighting == OfOracle::Frequency;
    weights[i] = if counts { (weights[i] - 1.0).max(0.0) } else { 0.0 };
    let fit = weighted_pca(rows, &Options { sample_weights: Some(&weights), ..options.clone() });
    let root = |j: usize| options.feature_weights.map_or(1.0, |w| w[j].sqrt());
    let mapped = |row: &[f64]| -> Vec<f64> {
        (0..row.len()).map(|j| (row[j] - fit.mean[j]) / fit.scale[j] * root(j)).collect()
    };
    let own = mapped(&rows[i]);
    let (mut error, mut t2) = (dot(&own, &own), 0.0);
    for axis in &fit.components[..k] {
        let square = |row: &Vec<f64>| dot(axis, &mapped(row)).powi(2);
        let sum: f64 = rows.iter().zip(&weights).map(|(row, weight)| weight * square(row)).sum();
        error -= square(&rows[i]);
        t2 += square(&rows[i]) * weights.iter().sum::<f64>() / sum;
    }
    [error, t2]
}

/// All variances are known: few columns, or few rows.
#[test]
fn errors_match_refits() {
    let columns = [1.0, 2.0, 0.5, 1.0, 3.0, 0.25];
    let counts: Vec<f64> = integer_weights(12, 4, 5).iter().map(|w| f64::from(*w)).collect();
    let parts: Vec<f64> = uniform_weights(12, 6).iter().map(|w| w + 0.2).collect();
    let weightings = [
        (Weighting::Frequency, OfOracle::Frequency),
        (Weighting::Importance, OfOracle::Importance),
        (Weighting::Population, OfOracle::Population),
    ];
    for (p, k) in [(6, 2), (6, 0), (6, 5), (30, 2)] {
        let rows = rows(12, p, 1 + p as u64);
        for center in [true, false] {
            for (weights, (weighting, of_oracle)) in [(None, weightings[0])]
                .into_iter()
                .chain([Some(&counts), Some(&parts)].into_iter().flat_map(|w| weightings.map(|of| (w, of))))
            {
                let weights = weights.map(|w| &w[..]);
                let features = (p == 6).then_some(&columns[..]);
                let pca = Pca { weighting, ..Pca::new(k).center(center) };
                let model = fit(&pca, &rows, &Weights { samples: weights, features });
                let options = Options {
                    sample_weights: weights,
                    feature_weights: features,
                    center,
                    weighting: of_oracle,
                    ..Options::default()
                };
                let left = found(&model, &rows, weights);
                let n = model.n_observations();
                // Mean squares of a fit of all rows are smaller than its variances by 1 / n, if these are of a sample.
                let of_sample = weighting != Weighting::Population;
                let unit = if of_sample { 1.0 - 1.0 / (n - 1.0) } else { 1.0 };
                for (i, (error, t2)) in left.spe.iter().zip(&left.t2).enumerate() {
                    let [of_error, of_t2] = refitted(&rows, i, k, &options);
                    close(&format!("{p} {k} {center} {weighting:?} {i}"), *error, of_error, 1e-10);
                    close(&format!("T2 {p} {k} {center} {weighting:?} {i}"), *t2, of_t2 * unit, 1e-9);
                }
            }
        }
    }
}

/// Small tables whose columns are divided by their deviations are fitted without each row.
#[test]
fn distances_in_units_of_the_other_rows_match_refits() {
    let rows = rows(30, 7, 12);
    let counts: Vec<f64> = integer_weights(30, 4, 5).iter().map(|w| f64::from(*w)).collect();
    for center in [true, false] {
        for (weights, weighting, of_oracle) in [
            (None, Weighting::Frequency, OfOracle::Frequency),
            (Some(&counts[..]), Weighting::Frequency, OfOracle::Frequency),
            (Some(&counts[..]), Weighting::Importance, OfOracle::Importance),
            (Some(&counts[..]), Weighting::Population, OfOracle::Population),
        ] {
            let pca = Pca { weighting, ..Pca::new(2).scale(true).center(center) };
            let model = fit(&pca, &rows, &Weights { samples: weights, features: None });
            let options = Options {
                sample_weights: weights,
                center,
                scale: true,
                weighting: of_oracle,
                ..Options::default()
            };
            let left = found(&model, &rows, weights);
            let n = model.n_observations();
            let unit = if weighting == Weighting::Population { 1.0 } else { 1.0 - 1.0 / (n - 1.0) };
            let (mut mean, mut sum) = (0.0, 0.0);
            for i in 0..rows.len() {
                let [error, t2] = refitted(&rows, i, 2, &options);
                close(&format!("{center} {weighting:?} {i}"), left.spe[i], error, 1e-9);
                close(&format!("T2 {center} {weighting:?} {i}"), left.t2[i], t2 * unit, 1e-9);
                let weight = weights.map_or(1.0, |w| w[i]);
                (mean, sum) = (mean + weight * t2, sum + weight);
            }
            let expected = if center { 2.0 * n / (n - 5.0) } else { 2.0 * (n - 1.0) / (n - 4.0) };
            close("factor", left.t2_factor, (mean / sum / expected).min(1.0), 1e-9);
        }
    }
}

/// Variances beyond the `2 k + 10` leading ones are known by their mean; the axes of scaled columns are taken from all
/// rows; many rows have the errors of their leverage.
#[test]
fn errors_are_near_refits() {
    for (n, p, k, scale, each, in_sum) in [
        (25, 60, 1, false, 0.02, 0.003),
        (30, 7, 2, true, 1e-9, 1e-9),
        (25, 60, 1, true, 1e-9, 1e-9),
        (620, 5, 1, false, 0.05, 0.01),
    ] {
        let rows = rows(n, p, 30);
        let model = fit(&Pca::new(k).scale(scale), &rows, &Weights::default());
        let options = Options { scale, ..Options::default() };
        let all = found(&model, &rows, None).spe;
        let some: Vec<usize> = (0..n).step_by(n.div_ceil(30)).collect();
        let expected: Vec<f64> = some.iter().map(|i| refitted(&rows, *i, k, &options)[0]).collect();
        let errors: Vec<f64> = some.iter().map(|i| all[*i]).collect();
        let worst = largest(errors.iter().zip(&expected).map(|(x, y)| (x / y - 1.0).abs()));
        assert!(worst < each, "{n} {p} {scale}: {worst}");
        close("sum", errors.iter().sum::<f64>() / expected.iter().sum::<f64>(), 1.0, in_sum);
    }
}

/// Rows that the fit has not seen have errors that it has not minimised.
#[test]
fn rows_that_were_not_fitted_keep_their_errors() {
    let model = fit(&Pca::new(2), &rows(20, 6, 3), &Weights::default());
    let others = rows(20, 6, 4);
    let values = row_major(&others);
    let spe = samples(&model, &Dense::row_major(&values, 20, 6).unwrap()).unwrap().spe;
    let left = found(&model, &others, None);
    assert_eq!((left.spe, left.t2_factor), (spe, 1.0));
    // One row has fewer dimensions than the model.
    let x = Dense::row_major(&values[..6], 1, 6).unwrap();
    let one = samples(&model, &x).unwrap();
    assert_eq!(left_out(&model, one.distances(), &x, None, &Run::default()).unwrap().spe, one.spe);
    let two = Dense::row_major(&values[..12], 2, 6).unwrap();
    let error = left_out(&model, one.distances(), &two, None, &Run::default()).unwrap_err();
    assert!(error.to_string().contains("the distances"), "{error}");
}

/// Limits for new rows that a model keeps are computed from its rows, and no model of fewer components has them.
#[test]
fn models_keep_limits_for_new_rows() {
    let rows = rows(40, 9, 7);
    let model = fit(&Pca::new(3).scale(true), &rows, &Weights::default());
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 40, 9).unwrap();
    assert_eq!(model.new_rows(), None);
    let model = model.clone().with_new_rows(NewRows::of(&model, &x, None, &Run::default()).unwrap());
    let kept = model.new_rows().unwrap();
    let left = found(&model, &rows, None);
    let distance2 = samples(&model, &x).unwrap().distance2;
    let spe = SpeDistribution::of_left_out(&left.spe, &distance2, (None, Weighting::Frequency)).unwrap();
    for method in [SpeLimit::Box, SpeLimit::JacksonMudholkar] {
        let [t2, limit] = kept.limits(&model, 40.0, (0.95, method)).unwrap();
        close("T2", t2, left.t2_factor * t2_limit(&model, 0.95, Rows::New).unwrap(), 1e-12);
        close("SPE", limit, spe.limit(0.95, method).unwrap(), 1e-12);
    }
    assert!(kept.t2_factor < 1.0);
    assert_eq!(model.leading(3).unwrap().new_rows(), Some(kept));
    assert_eq!(model.leading(2).unwrap().new_rows(), None);
    // All components leave errors that are rounding.
    let all = fit(&Pca::new(9), &rows, &Weights::default());
    let nothing = NewRows::of(&all, &x, None, &Run::default()).unwrap();
    assert_eq!((nothing.spe, nothing.t2_factor, nothing.n_observations), (0.0, 1.0, 40.0));
    assert!(nothing.limits(&all, 40.0, (0.95, SpeLimit::Box)).unwrap()[1].is_infinite());
}

/// Between the equation for each row and leverage T² of new rows does not jump: few rows for the number of columns have a
/// factor, however many they are for the components.
#[test]
fn the_factor_of_t2_does_not_jump() {
    let of_rows = |n: usize, p: usize| {
        let rows = gaussian(n, p, 70);
        found(&fit(&Pca::new(1), &rows, &Weights::default()), &rows, None).t2_factor
    };
    let [before, after] = [399, 401].map(|n| of_rows(n, 60));
    assert!(after < 0.8 && (before / after - 1.0).abs() < 0.05, "{before} {after}");
    assert_eq!(of_rows(2000, 20), 1.0);
    assert!(of_rows(1999, 20) > 0.85);
}

/// A factorial design has equal variances and equal errors. Without a row the plane turns away from it.
#[test]
fn a_factorial_design_has_a_limit() {
    let rows: Table = (0..8).map(|i| (0..3).map(|j| f64::from(i >> j & 1) * 0.1).collect()).collect();
    let model = fit(&Pca::new(2).scale(true), &rows, &Weights::default());
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 8, 3).unwrap();
    let of_rows = samples(&model, &x).unwrap();
    let of_fitted = SpeDistribution::of_rows(&of_rows.spe, &of_rows.distance2, None).unwrap();
    for method in [SpeLimit::Box, SpeLimit::JacksonMudholkar] {
        let limit = of_fitted.limit(0.99, method).unwrap();
        close("limit", limit, 0.875, 1e-9);
        assert!(of_rows.spe.iter().all(|spe| *spe <= limit), "{:?} {limit}", of_rows.spe);
    }
    let errors = found(&model, &rows, None).spe;
    // (8/7)^2 times the squared distance, and the ratio of the variances with and without the row.
    let expected = (64.0 / 49.0) * (21.0 / 8.0) * (7.0 / 8.0) * (0.25 / (0.25 - 0.25 / 7.0));
    errors.iter().for_each(|error| close("error", *error, expected, 1e-9));
    let of_new =
        SpeDistribution::of_left_out(&errors, &of_rows.distance2, (None, Weighting::Frequency)).unwrap();
    close("limit", of_new.limit(0.99, SpeLimit::Box).unwrap(), expected, 1e-9);
}

/// A column that varies in one row alone has no deviation without it: the errors do not depend on its unit.
#[test]
fn a_column_of_one_row_has_no_unit() {
    let of_unit = |unit: f64| {
        let mut rows = rows(40, 6, 9);
        rows.iter_mut().enumerate().for_each(|(i, row)| row.push(if i == 7 { unit } else { 0.0 }));
        let model = fit(&Pca::new(2).scale(true), &rows, &Weights::default());
        found(&model, &rows, None)
    };
    let [one, many] = [of_unit(1.0), of_unit(1e6)];
    one.spe.iter().zip(&many.spe).for_each(|(a, b)| close("error", *a, *b, 1e-8));
    close("factor", one.t2_factor, many.t2_factor, 1e-8);
}
