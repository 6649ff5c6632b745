//! Given centres and scales, Pareto and range scaling: equal to fits of rows that were moved and divided beforehand.

use karhunen::pca::{Centring, Route, Scaling};
use karhunen::{Dense, Error, NComponents, Pca, PcaModel, Run, Scalar, Weighting, Weights};
use karhunen_testkit::{
    Fit, Options, Rows, Tolerance, assert_close, assert_components, gaussian, integer_weights, largest,
    row_major, uniform_weights, weighted_pca,
};
use proptest::prelude::*;

use crate::fits::disk::Disk;
use crate::fits::expect::{SOLVERS, components};
use crate::fits::sources::{Layout, rounded};

/// Rows of different scales with zeros, about means that differ from zero in some columns.
fn rows(n: usize, p: usize, seed: u64) -> Rows {
    let mut rows = gaussian(n, p, seed);
    for (i, row) in rows.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            let zero = (i * 7 + j * 3) % 5 < 2 && j % 3 != 0;
            *value = if zero { 0.0 } else { (*value + (j % 4) as f64) * (1.0 + j as f64 / 2.0) };
        }
    }
    rows
}

/// Rows less the centres, divided by the scales.
fn moved(rows: &[Vec<f64>], centers: &[f64], scales: &[f64]) -> Rows {
    let of_row = |row: &Vec<f64>| (0..row.len()).map(|j| (row[j] - centers[j]) / scales[j]).collect();
    rows.iter().map(of_row).collect()
}

/// The mean and the standard deviation about `center`, with the divisor `sum - 1`, and the range of a column, plainly.
fn plain(rows: &[Vec<f64>], weights: &[f64], j: usize, center: Option<f64>) -> (f64, f64, f64) {
    let sum: f64 = weights.iter().sum();
    let mean = rows.iter().zip(weights).map(|(row, w)| w * row[j]).sum::<f64>() / sum;
    let about = center.unwrap_or(mean);
    let squares: f64 = rows.iter().zip(weights).map(|(row, w)| w * (row[j] - about).powi(2)).sum();
    let counting = rows.iter().zip(weights).filter(|(_, w)| **w > 0.0);
    let mut values: Vec<f64> = counting.map(|(row, _)| row[j]).collect();
    values.sort_unstable_by(f64::total_cmp);
    let range = values[values.len() - 1] - values[0];
    (mean, (squares / (sum - 1.0)).sqrt(), range)
}

fn within(epsilon: f64, norm: f64) -> Tolerance {
    Tolerance { multiple: 1.0, epsilon, norm }
}

/// Compares a model with the oracle of rows that were moved beforehand; `norm` is the size of what sums add up.
fn assert_is(what: &str, model: &PcaModel, oracle: &Fit, epsilon: f64, norm: f64) {
    let k = model.n_components();
    let variances = &oracle.explained_variance[..];
    let near = within(epsilon, norm.max(variances[0]));
    assert_close(what, model.explained_variance(), &variances[..k], near);
    assert_close(what, &[model.total_variance()], &[oracle.total_variance], near);
    let rank = variances.len();
    let rest: f64 = variances[k..].iter().sum();
    let noise = if k < rank { rest / (rank - k) as f64 } else { 0.0 };
    assert_close(what, &[model.noise_variance()], &[noise], near);
    assert_close(
        what,
        model.explained_variance_ratio(),
        &oracle.explained_variance_ratio[..k],
        within(epsilon * near.norm / oracle.total_variance, 1.0),
    );
    let total: f64 = model.parts().feature_variance.as_ref().unwrap().iter().sum();
    assert_close(what, &[total], &[oracle.total_variance], near);
    assert_components(what, &components(model), &oracle.components[..k], variances, near);
}

fn library(weighting: karhunen_testkit::Weighting) -> Weighting {
    match weighting {
        karhunen_testkit::Weighting::Population => Weighting::Population,
        karhunen_testkit::Weighting::Frequency => Weighting::Frequency,
        karhunen_testkit::Weighting::Importance => Weighting::Importance,
    }
}

/// Every route, layout and kind of weights.
fn given_numbers_match_rows_moved_beforehand<T: Scalar>(layouts: &[Layout], epsilon: f64) {
    let (n, p) = (40, 9);
    for (n, p) in [(n, p), (p, n)] {
        let rows = rounded::<T>(&rows(n, p, 3));
        let counts: Vec<f64> = integer_weights(n, 3, 5).iter().map(|&w| f64::from(w)).collect();
        let importance = uniform_weights(n, 9);
        let features: Vec<f64> = (0..p).map(|j| [1.0, 0.25, 4.0][j % 3]).collect();
        let centers: Vec<f64> = (0..p).map(|j| [0.5, -2.0, 0.0, 30.0][j % 4]).collect();
        let scales: Vec<f64> = (0..p).map(|j| [2.0, 0.125, 1.0][j % 3]).collect();
        let oracle_rows = moved(&rows, &centers, &scales);
        for (samples, features, weighting) in [
            (None, None, karhunen_testkit::Weighting::Frequency),
            (Some(&counts[..]), None, karhunen_testkit::Weighting::Frequency),
            (Some(&importance[..]), Some(&features[..]), karhunen_testkit::Weighting::Importance),
        ] {
            let options = Options {
                sample_weights: samples,
                feature_weights: features,
                center: false,
                scale: false,
                weighting,
            };
            let oracle = weighted_pca(&oracle_rows, &options);
            for &layout in layouts {
                for solver in SOLVERS {
                    let pca = Pca { solver, tol: Some(1e-10), weighting: library(weighting), ..Pca::new(3) }
                        .center(centers.clone())
                        .scale(scales.clone());
                    let what = format!("{} {n} x {p} {layout:?} {solver:?} {weighting:?}", T::NAME);
                    layout.with::<T, _>(&rows, |x| {
                        let weights = Weights { samples, features };
                        let model = pca.fit_with(x, &weights, &Run::threads(1)).unwrap();
                        // The noise of weighted rows has another rank.
                        assert_eq!(model.mean(), centers, "{what}");
                        assert_eq!(model.scale(), scales, "{what}");
                        if samples.is_none() {
                            assert_is(&what, &model, &oracle, epsilon, 0.0);
                        } else {
                            let largest = oracle.explained_variance[0];
                            let near = within(epsilon, largest);
                            let variances = &oracle.explained_variance;
                            assert_close(&what, model.explained_variance(), &variances[..3], near);
                            let expected = oracle.components[..3].to_vec();
                            assert_components(&what, &components(&model), &expected, variances, near);
                        }
                        assert_eq!(model, pca.fit_with(x, &weights, &Run::threads(3)).unwrap(), "{what}");
                        let scores = model.transform(x).unwrap();
                        // Components are equal to rounding, but a component of two equal entries has either sign.
                        let along =
                            |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                        let pairs = components(&model).into_iter().zip(&oracle.components);
                        let signs: Vec<f64> = pairs.map(|(a, b)| along((&a, b)).signum()).collect();
                        let size = largest(oracle.scores.iter().flatten().copied());
                        for (i, expected) in oracle.scores.iter().enumerate() {
                            let found: Vec<f64> = scores.row(i).iter().map(|z| z.to_f64()).collect();
                            let expected: Vec<f64> = (0..3).map(|k| signs[k] * expected[k]).collect();
                            assert_close(&what, &found, &expected, within(1e4 * epsilon, size));
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn given_numbers_match_rows_moved_beforehand_in_f64() {
    given_numbers_match_rows_moved_beforehand::<f64>(&Layout::FEW, 1e-9);
}

#[test]
fn given_numbers_match_rows_moved_beforehand_in_f32() {
    given_numbers_match_rows_moved_beforehand::<f32>(&[Layout::RowMajor, Layout::Csr32], 2e-6);
}

#[test]
fn pareto_scales_and_ranges_are_computed_plainly() {
    let (n, p) = (30, 7);
    let rows = rows(n, p, 11);
    let weights: Vec<f64> = integer_weights(n, 3, 5).iter().map(|&w| f64::from(w)).collect();
    let centers: Vec<f64> = (0..p).map(|j| j as f64).collect();
    for center in [Centring::Mean, Centring::None, Centring::Given(centers)] {
        let about = |j: usize| match &center {
            Centring::Mean => None,
            Centring::None => Some(0.0),
            Centring::Given(values) => Some(values[j]),
        };
        let of = |f: &dyn Fn((f64, f64, f64)) -> f64| -> Vec<f64> {
            (0..p).map(|j| f(plain(&rows, &weights, j, about(j)))).collect()
        };
        for (scale, expected) in [
            (Scaling::Deviation, of(&|(_, deviation, _)| deviation)),
            (Scaling::Pareto, of(&|(_, deviation, _)| deviation.sqrt())),
            (Scaling::Range, of(&|(.., range)| range)),
        ] {
            for layout in Layout::FEW {
                for solver in SOLVERS {
                    let pca = Pca { solver, tol: Some(1e-11), ..Pca::new(3) }.center(center.clone());
                    let what = format!("{center:?} {scale:?} {layout:?} {solver:?}");
                    layout.with::<f64, _>(&rows, |x| {
                        let weights = Weights::of_samples(&weights);
                        let named = pca.clone().scale(scale.clone()).fit(x, &weights).unwrap();
                        assert_close(&what, named.scale(), &expected, within(1e-13, 10.0));
                        let given = pca.clone().scale(expected.clone()).fit(x, &weights).unwrap();
                        let variances = given.explained_variance();
                        let near = within(1e-9, variances[0]);
                        assert_close(&what, named.explained_variance(), variances, near);
                        let total = given.total_variance();
                        assert_close(&what, &[named.total_variance()], &[total], near);
                        let (a, b) = (components(&named), components(&given));
                        assert_components(&what, &a, &b, variances, near);
                    });
                }
            }
        }
    }
}

/// One pass more than other scales, over rows that every pass reads again.
#[test]
fn ranges_of_rows_of_a_disk_take_a_pass() {
    let (n, p) = (900, 30);
    let values = row_major(&rows(n, p, 2));
    let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    let weights = Weights::of_samples(&weights);
    let x = Dense::row_major(&values, n, p).unwrap();
    let expected = Pca::new(3).scale(Scaling::Range).fit(&x, &weights).unwrap();
    for solver in [Route::Covariance, Route::BlockKrylov, Route::Gram] {
        let pca = Pca { solver: Some(solver), tol: Some(1e-10), ..Pca::new(3) };
        let what = format!("{solver:?}");
        let disk = Disk::new(&values, n, p, 130);
        let model = pca.clone().scale(Scaling::Range).fit(&disk, &weights).unwrap();
        assert_eq!(model.convergence().n_passes, disk.visits(), "{what}");
        assert_eq!(model.scale(), expected.scale(), "{what}");
        let again = Disk::new(&values, n, p, 130);
        let given = pca.clone().scale(expected.scale().to_vec()).fit(&again, &weights).unwrap();
        assert_eq!(disk.visits(), again.visits() + 1, "{what}");
        assert_eq!(model.components(), given.components(), "{what}");
        let near = within(1e-9, expected.explained_variance()[0]);
        assert_close(&what, model.explained_variance(), expected.explained_variance(), near);
        let far = Pca { scale: Scaling::None, ..pca }.center(vec![-500.0; p]);
        let by_disk = far.fit(&Disk::new(&values, n, p, 130), &weights).unwrap();
        let by_svd = Pca { solver: Some(Route::Svd), ..far }.fit(&x, &weights).unwrap();
        let near = within(1e-9, by_svd.explained_variance()[0]);
        assert_close(&what, by_disk.explained_variance(), by_svd.explained_variance(), near);
    }
}

/// Values far from zero about a centre between them: the distance of the rounded mean to the centre must not decide.
#[test]
fn centres_of_columns_far_from_zero_cost_no_digits() {
    let (n, p) = (60, 4);
    let noise = gaussian(n, p, 8);
    for far in [1e4, 1e6, 1e9] {
        let rows: Rows =
            noise.iter().map(|row| row.iter().map(|x| far + x + 0.3).collect::<Vec<f64>>()).collect();
        let centers = vec![far; p];
        let oracle = weighted_pca(
            &moved(&rows, &centers, &vec![1.0; p]),
            &Options { center: false, ..Options::default() },
        );
        for layout in Layout::FEW {
            for solver in SOLVERS {
                let pca = Pca { solver, tol: Some(1e-12), ..Pca::default() }.center(centers.clone());
                let model = layout.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap();
                let what = format!("{far:e} {layout:?} {solver:?}");
                // Products of sparse rows are centred after they are summed.
                let sums = layout.with::<f64, _>(&rows, |x| x.is_sparse())
                    && solver != Some(Route::Covariance)
                    && solver != Some(Route::Svd);
                let total = [model.total_variance()];
                assert_close(&what, &total, &[oracle.total_variance], within(1e-11, 10.0));
                let norm = if sums { far * far } else { 0.0 };
                let rounding = within(1e-11 + 1e-15 * norm, 4.0);
                let variances = &oracle.explained_variance;
                if rounding.epsilon < 0.1 {
                    assert_close(&what, model.explained_variance(), variances, rounding);
                }
            }
        }
    }
}

#[test]
fn columns_that_equal_their_centre_have_no_variance() {
    let n = 12;
    let rows: Rows = (0..n).map(|i| vec![0.1, 0.1, (i % 4) as f64, 0.0]).collect();
    for layout in Layout::FEW {
        for solver in SOLVERS {
            let pca = Pca { solver, ..Pca::new(2) }.center(vec![0.1, 2.0, 1.0, 0.0]).scale(true);
            let model = layout.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap();
            let variance = model.parts().feature_variance.clone().unwrap();
            assert_close("variance", &variance, &[0.0, 1.0, 1.0, 0.0], within(1e-14, 1.0));
            let deviation = 1.9 * (n as f64 / (n as f64 - 1.0)).sqrt();
            assert_close("scale", &model.scale()[..2], &[1.0, deviation], within(1e-14, 1.0));
            assert_eq!(model.scale()[3], 1.0);
            let found = components(&model);
            let vanishing: Vec<f64> = found.iter().flat_map(|w| [w[0], w[3]]).collect();
            assert_close("components", &vanishing, &[0.0; 4], within(1e-12, 1.0));
        }
    }
    let constant: Rows = (0..n).map(|i| vec![7.0, i as f64]).collect();
    let of = |scale: Scaling| {
        let pca = Pca::default().scale(scale);
        Layout::RowMajor.with::<f64, _>(&constant, |x| pca.fit(x, &Weights::default())).unwrap()
    };
    assert_eq!(of(Scaling::Range).scale(), [1.0, 11.0]);
    assert_eq!(of(Scaling::Pareto).scale()[0], 1.0);
    assert_eq!(of(Scaling::Given(vec![3.0, 2.0])).scale(), [3.0, 2.0]);
}

#[test]
fn numbers_outside_their_rule_are_refused_by_column() {
    let rows = gaussian(6, 3, 1);
    let refusal =
        |pca: Pca| Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap_err();
    let text = |pca: Pca| refusal(pca).to_string();
    assert_eq!(
        text(Pca::new(1).center(vec![0.0, f64::NAN, 0.0])),
        "`center` of column 1 is NaN: it is subtracted, so it must be finite"
    );
    for scale in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let error = refusal(Pca::new(1).scale(vec![1.0, 1.0, scale]));
        assert!(matches!(error, Error::ColumnValue { column: 2, .. }), "{error}");
    }
    assert_eq!(text(Pca::new(1).scale(vec![1.0])), "the given scales: 1 value, but 3 are needed");
    assert_eq!(text(Pca::new(1).center(vec![1.0; 4])), "the given centres: 4 values, but 3 are needed");
}

#[test]
fn scores_without_a_mean_have_no_rank_less() {
    // Four rows in general position: three components about the mean, four about a given centre.
    let rows = gaussian(4, 6, 2);
    let fit = |center: Centring| {
        let pca = Pca::default().center(center);
        Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap()
    };
    let (mean, given) = (fit(Centring::Mean), fit(Centring::Given(vec![1.0; 6])));
    assert!(mean.explained_variance()[3] < 1e-12 && given.explained_variance()[3] > 1e-3);
    assert_eq!(given.n_components(), 4);
    let share = Pca { n_components: NComponents::Variance(0.5), ..Pca::default() }.center(vec![1.0; 6]);
    let model = Layout::RowMajor.with::<f64, _>(&rows, |x| share.fit(x, &Weights::default())).unwrap();
    assert!(model.explained_variance_ratio().iter().sum::<f64>() >= 0.5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn moving_beforehand_changes_nothing(
        (rows, centers, scales, weights) in (2usize..12, 1usize..8).prop_flat_map(|(n, p)| {
            let value = prop_oneof![3 => -10.0..10.0f64, 1 => Just(0.0)];
            (
                proptest::collection::vec(proptest::collection::vec(value, p), n),
                proptest::collection::vec(-20.0..20.0f64, p),
                proptest::collection::vec(0.1..10.0f64, p),
                proptest::collection::vec(0u32..4, n),
            )
        }),
        solver in proptest::sample::select(SOLVERS.to_vec()),
        layout in proptest::sample::select(Layout::ALL.to_vec()),
    ) {
        prop_assume!(weights.iter().sum::<u32>() > 1);
        let weights: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
        let options = Options { sample_weights: Some(&weights), center: false, ..Options::default() };
        let oracle = weighted_pca(&moved(&rows, &centers, &scales), &options);
        let k = oracle.explained_variance.len();
        let pca = Pca { solver, tol: Some(1e-11), n_components: NComponents::Count(k), ..Pca::default() };
        let pca = pca.center(centers).scale(scales);
        let model = layout
            .with::<f64, _>(&rows, |x| pca.fit_with(x, &Weights::of_samples(&weights), &Run::threads(1)))
            .unwrap();
        let near = within(1e-10, oracle.total_variance.max(1e-300));
        assert_close("variance", model.explained_variance(), &oracle.explained_variance, near);
        assert_close("total", &[model.total_variance()], &[oracle.total_variance], near);
        assert_components(
            "components", &components(&model), &oracle.components, &oracle.explained_variance, near,
        );
    }
}
