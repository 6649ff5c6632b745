//! Bootstrap and jackknife: routes that must agree, and fits that are kept. Their coverage is in `calibration`.

use karhunen::pca::Centring;
use karhunen::resampling::{Alignment, Bootstrap, Intervals, Jackknife};
use karhunen::{Dense, Error, NComponents, Pca, Run, Sparse, Weighting, Weights};
use karhunen_testkit::{SparseArrays, gaussian, repeat_rows, row_major, uniform_weights};

type Table = Vec<Vec<f64>>;

/// Standard deviations of independent columns.
pub(crate) const DEVIATIONS: [f64; 5] = [3.0, 1.6, 0.9, 0.6, 0.4];

pub(crate) fn table(n: usize, seed: u64) -> Table {
    let mut rows = gaussian(n, DEVIATIONS.len(), seed);
    for row in &mut rows {
        row.iter_mut().zip(DEVIATIONS).for_each(|(x, deviation)| *x *= deviation);
    }
    rows
}

fn bootstrap(k: usize, n_draws: usize) -> Bootstrap {
    Bootstrap { pca: Pca::new(k), n_draws, ..Bootstrap::default() }
}

fn run(options: &Bootstrap, rows: &Table, weights: &Weights<'_>) -> Intervals {
    let values = row_major(rows);
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    options.run(&x, weights, &Run::default()).unwrap()
}

#[test]
fn standard_errors_match_normal_data() {
    let n = 2000;
    let found = run(&bootstrap(2, 600), &table(n, 3), &Weights::default());
    for c in 0..2 {
        let expected = found.variances.estimate[(0, c)] * (2.0 / n as f64).sqrt();
        let error = found.variances.standard_error[(0, c)];
        assert!((error / expected - 1.0).abs() < 0.15, "{error} {expected}");
    }
}

#[track_caller]
fn same(a: &Intervals, b: &Intervals, features: usize, tolerance: f64) {
    for (a, b) in [(&a.variances, &b.variances), (&a.ratios, &b.ratios), (&a.loadings, &b.loadings)] {
        for (a, b) in [
            (&a.estimate, &b.estimate),
            (&a.standard_error, &b.standard_error),
            (&a.bias, &b.bias),
            (&a.lower, &b.lower),
            (&a.upper, &b.upper),
        ] {
            for i in 0..a.n_rows().min(features) {
                for j in 0..a.n_cols() {
                    // Intervals that a large bias leaves without ends are NaN.
                    let (a, b) = (a[(i, j)], b[(i, j)]);
                    assert!((a - b).abs() <= tolerance || (a.is_nan() && b.is_nan()), "({i}, {j}): {a} {b}");
                }
            }
        }
    }
}

#[test]
fn wide_and_tall_dense_and_sparse_agree() {
    let rows = table(40, 5);
    let wide: Table = rows.iter().map(|row| [&row[..], &[0.0; 50]].concat()).collect();
    let weights = uniform_weights(40, 2);
    for (weighting, center) in [
        (Weighting::Frequency, Centring::Mean),
        (Weighting::Importance, Centring::Mean),
        (Weighting::Population, Centring::None),
        (Weighting::Frequency, Centring::Given(Vec::new())),
    ] {
        let options = bootstrap(2, 60);
        let samples = (weighting != Weighting::Frequency).then_some(&weights[..]);
        let features: Vec<f64> = (0..55).map(|j| 1.0 + (j % 3) as f64).collect();
        let of = |p: usize| Weights { samples, features: Some(&features[..p]) };
        // The columns of zeros are centred at zero.
        let centred = |p: usize| {
            let center = match &center {
                Centring::Given(_) => {
                    (0..p).map(|j| if j < 5 { j as f64 } else { 0.0 }).collect::<Vec<_>>().into()
                }
                center => center.clone(),
            };
            Bootstrap { pca: Pca { weighting, center, ..options.pca.clone() }, ..options.clone() }
        };
        let tall = run(&centred(5), &rows, &of(5));
        same(&tall, &run(&centred(55), &wide, &of(55)), 5, 1e-9);
        let options = centred(5);
        let arrays = SparseArrays::of_rows(&rows);
        let x = Sparse::csr(40, 5, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
        same(&tall, &options.run(&x, &of(5), &Run::threads(1)).unwrap(), 5, 1e-9);
    }
}

#[test]
fn frequency_weights_count_as_repeated_rows() {
    let rows = table(60, 8);
    let counts: Vec<u32> = (0..60).map(|i| i % 4).collect();
    let samples: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
    let weighted = run(&bootstrap(2, 3000), &rows, &Weights::of_samples(&samples));
    let repeated = run(&bootstrap(2, 3000), &repeat_rows(&rows, &counts), &Weights::default());
    for (a, b) in [(&weighted.variances, &repeated.variances), (&weighted.loadings, &repeated.loadings)] {
        for (x, y) in a.standard_error.as_slice().iter().zip(b.standard_error.as_slice()) {
            assert!((x / y - 1.0).abs() < 0.1, "{x} {y}");
        }
    }
}

#[test]
fn unsuitable_options_are_named() {
    let rows = table(20, 1);
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 20, 5).unwrap();
    let refused = |options: Bootstrap, weights: &Weights<'_>| {
        options.run(&x, weights, &Run::default()).unwrap_err().to_string()
    };
    let none = Weights::default();
    let said = refused(Bootstrap { level: 1.5, ..bootstrap(2, 100) }, &none);
    assert!(said.contains("level"), "{said}");
    let said = refused(bootstrap(2, 19), &none);
    assert!(said.contains("n_draws") && said.contains("at least 20 draws"), "{said}");
    let said = refused(bootstrap(2, usize::MAX), &none);
    assert!(said.contains("memory") || said.contains("draws"), "{said}");
    let mut two = vec![0.0; 20];
    two[3..5].fill(2.0);
    assert!(matches!(
        bootstrap(1, 100).run(&x, &Weights::of_samples(&two), &Run::default()),
        Err(Error::Shape { found: 2, expected: 3, .. })
    ));
    // All components if their number is left open.
    let pca = Pca { n_components: NComponents::All, ..Pca::default() };
    let all = Bootstrap { pca, ..bootstrap(1, 50) }.run(&x, &none, &Run::default()).unwrap();
    assert_eq!(all.variances.estimate.shape(), (1, 5));
}

fn jackknife(options: &Jackknife, rows: &Table, weights: &Weights<'_>) -> Intervals {
    let values = row_major(rows);
    let x = Dense::row_major(&values, rows.len(), rows[0].len()).unwrap();
    options.run(&x, weights, &Run::default()).unwrap()
}

fn jackknife_of(k: usize) -> Jackknife {
    Jackknife { pca: Pca::new(k), ..Jackknife::default() }
}

/// Tukey's formulas, from fits to tables without each row.
#[test]
fn the_jackknife_matches_fits_without_each_row() {
    let rows = table(25, 4);
    let found = jackknife(&jackknife_of(2), &rows, &Weights::default());
    let fit = |rows: &Table| {
        let values = row_major(rows);
        Pca::new(2).fit(&Dense::row_major(&values, rows.len(), 5).unwrap(), &Weights::default()).unwrap()
    };
    let model = fit(&rows);
    let without: Vec<_> = (0..25)
        .map(|left_out| {
            let rest: Table = (0..25).filter(|i| *i != left_out).map(|i| rows[i].clone()).collect();
            fit(&rest)
        })
        .collect();
    let check = |values: Vec<f64>, estimate: f64, [error, bias, corrected]: [f64; 3]| {
        let mean = values.iter().sum::<f64>() / 25.0;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        let expected = [(24.0 / 25.0 * squares).sqrt(), 24.0 * (mean - estimate)];
        assert!((error - expected[0]).abs() < 1e-9, "{error} {expected:?}");
        assert!((bias - expected[1]).abs() < 1e-9, "{bias} {expected:?}");
        assert!((corrected - (estimate - expected[1])).abs() < 1e-9, "{corrected} {expected:?}");
    };
    for c in 0..2 {
        let (variances, ratios) = (&found.variances, &found.ratios);
        for (part, of) in [
            (
                variances,
                &(|m: &karhunen::PcaModel| m.explained_variance()[c]) as &dyn Fn(&karhunen::PcaModel) -> f64,
            ),
            (ratios, &|m| m.explained_variance_ratio()[c]),
        ] {
            let at = (0, c);
            let found = [part.standard_error[at], part.bias[at], part.corrected()[at]];
            check(without.iter().map(of).collect(), of(&model), found);
        }
        let target = model.loadings();
        for j in 0..5 {
            let aligned = |m: &karhunen::PcaModel| {
                let loadings = m.loadings();
                let product: f64 = (0..5).map(|l| loadings[(l, c)] * target[(l, c)]).sum();
                loadings[(j, c)] * product.signum()
            };
            let part = &found.loadings;
            let values = [part.standard_error[(j, c)], part.bias[(j, c)], part.corrected()[(j, c)]];
            check(without.iter().map(aligned).collect(), target[(j, c)], values);
        }
    }
}

#[test]
fn the_jackknife_of_frequency_weights_matches_repeated_rows() {
    let rows = table(30, 8);
    let counts: Vec<u32> = (0..30).map(|i| i % 4).collect();
    let samples: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
    for (scale, alignment) in [(false, Alignment::Signs), (true, Alignment::Procrustes)] {
        let pca = Pca::new(3).scale(scale);
        let options = Jackknife { pca, alignment, ..Jackknife::default() };
        let weighted = jackknife(&options, &rows, &Weights::of_samples(&samples));
        let repeated = jackknife(&options, &repeat_rows(&rows, &counts), &Weights::default());
        same(&weighted, &repeated, 5, 1e-9);
    }
}

/// Rows of survey weights are left out whole, and a constant factor changes nothing.
#[test]
fn the_jackknife_of_survey_weights_leaves_out_rows() {
    let rows = table(30, 8);
    let weights = uniform_weights(30, 3);
    for weighting in [Weighting::Population, Weighting::Importance] {
        let options = Jackknife { pca: Pca { weighting, ..Pca::new(2) }, ..Jackknife::default() };
        let one = jackknife(&options, &rows, &Weights::of_samples(&weights));
        let scaled: Vec<f64> = weights.iter().map(|w| w * 1e5).collect();
        same(&one, &jackknife(&options, &rows, &Weights::of_samples(&scaled)), 5, 1e-9);
        // JK1: the squares of the differences from their mean, times (n - 1) / n.
        let values = row_major(&rows);
        let x = Dense::row_major(&values, 30, 5).unwrap();
        let without: Vec<f64> = (0..30)
            .map(|left_out| {
                let mut weights = weights.clone();
                weights[left_out] = 0.0;
                options.pca.fit(&x, &Weights::of_samples(&weights)).unwrap().explained_variance()[0]
            })
            .collect();
        let mean = without.iter().sum::<f64>() / 30.0;
        let squares: f64 = without.iter().map(|x| (x - mean).powi(2)).sum();
        let error = one.variances.standard_error[(0, 0)];
        assert!((error - (29.0 / 30.0 * squares).sqrt()).abs() < 1e-9, "{weighting:?}: {error}");
    }
}

#[test]
fn groups_and_storage_of_a_jackknife_agree() {
    let rows = table(40, 5);
    let wide: Table = rows.iter().map(|row| [&row[..], &[0.0; 50]].concat()).collect();
    let by = |n_groups| Jackknife { n_groups, seed: 3, ..jackknife_of(2) };
    for n_groups in [None, Some(8)] {
        let tall = jackknife(&by(n_groups), &rows, &Weights::default());
        same(&tall, &jackknife(&by(n_groups), &wide, &Weights::default()), 5, 1e-8);
        let arrays = SparseArrays::of_rows(&rows);
        let x = Sparse::csr(40, 5, &arrays.indptr, &arrays.indices, &arrays.values).unwrap();
        let of_sparse = by(n_groups).run(&x, &Weights::default(), &Run::threads(1)).unwrap();
        same(&tall, &of_sparse, 5, 1e-8);
    }
    // As many groups as rows are the single rows in another order.
    let single = jackknife(&by(None), &rows, &Weights::default());
    same(&single, &jackknife(&by(Some(40)), &rows, &Weights::default()), 5, 1e-9);
    let grouped = jackknife(&by(Some(10)), &table(2000, 5), &Weights::default());
    let expected = grouped.variances.estimate[(0, 0)] * (2.0_f64 / 2000.0).sqrt();
    // Nine degrees of freedom: the error of a standard error is a quarter.
    assert!((grouped.variances.standard_error[(0, 0)] / expected - 1.0).abs() < 0.75);
}

#[test]
fn all_components_of_few_rows_have_a_jackknife() {
    let rows = table(5, 3);
    for weighting in [Weighting::Frequency, Weighting::Importance] {
        let pca = Pca { n_components: NComponents::All, weighting, ..Pca::default() };
        let found = jackknife(&Jackknife { pca, ..Jackknife::default() }, &rows, &Weights::default());
        assert_eq!(found.variances.estimate.shape(), (1, 5));
        assert!(found.variances.lower[(0, 0)] < found.variances.upper[(0, 0)]);
    }
    let two = Weights::of_samples(&[1.0, 1.0, 0.0, 0.0, 0.0]);
    let values = row_major(&rows);
    let x = Dense::row_major(&values, 5, 5).unwrap();
    assert!(matches!(
        jackknife_of(1).run(&x, &two, &Run::default()),
        Err(Error::Shape { found: 2, expected: 3, .. })
    ));
    let said = Jackknife { n_groups: Some(2), ..jackknife_of(1) }
        .run(&x, &Weights::default(), &Run::default())
        .unwrap_err()
        .to_string();
    assert!(said.contains("n_groups = 2") && said.contains("at least 3 groups"), "{said}");
}

#[test]
fn kept_draws_give_the_errors_and_project_rows() {
    let rows = table(30, 6);
    let wide: Table = rows.iter().map(|row| [&row[..], &[0.0; 50]].concat()).collect();
    for (rows, alignment) in
        [(&rows, Alignment::Signs), (&rows, Alignment::Procrustes), (&wide, Alignment::Signs)]
    {
        let options = Bootstrap { keep: true, alignment, ..bootstrap(2, 50) };
        let found = run(&options, rows, &Weights::default());
        let kept = found.replicates.as_ref().unwrap();
        let p = rows[0].len();
        assert_eq!((kept.variances.shape(), kept.loadings.shape()), ((50, 2), (50, 2 * p)));
        let error = |value: &dyn Fn(usize) -> f64| {
            let mean = (0..50).map(value).sum::<f64>() / 50.0;
            ((0..50).map(|draw| (value(draw) - mean).powi(2)).sum::<f64>() / 49.0).sqrt()
        };
        for c in 0..2 {
            let of_variance = error(&|draw| kept.variances[(draw, c)]);
            assert!((of_variance - found.variances.standard_error[(0, c)]).abs() < 1e-12);
            for j in 0..5 {
                let of_loading = error(&|draw| kept.loadings[(draw, 2 * j + c)]);
                assert!((of_loading - found.loadings.standard_error[(j, c)]).abs() < 1e-10);
            }
        }
        let values = row_major(rows);
        let x = Dense::row_major(&values, 30, p).unwrap();
        let scores = kept.scores(&x, &Run::default()).unwrap();
        assert_eq!(scores.shape(), (50, 60));
        assert_eq!(scores, kept.scores(&x, &Run::threads(1)).unwrap());
        for draw in 0..50 {
            // Of aligned signs, components are loadings of length one.
            let loadings = |c: usize| (0..p).map(|j| kept.loadings[(draw, 2 * j + c)]).collect::<Vec<_>>();
            let centred =
                |i: usize| -> Vec<f64> { (0..p).map(|j| rows[i][j] - kept.model.mean()[j]).collect() };
            if alignment == Alignment::Signs {
                for (i, c) in [(0, 0), (7, 1), (29, 0)] {
                    let axis = loadings(c);
                    let expected = crate::diagnostics::dot(&axis, &centred(i))
                        / crate::diagnostics::dot(&axis, &axis).sqrt();
                    assert!((scores[(draw, 2 * i + c)] - expected).abs() < 1e-9);
                }
            } else {
                // A rotation keeps the lengths of rows within the plane, near the lengths in the data.
                let length = scores[(draw, 0)].hypot(scores[(draw, 1)]);
                assert!(length <= crate::diagnostics::dot(&centred(0), &centred(0)).sqrt() * (1.0 + 1e-12));
            }
        }
    }
}
