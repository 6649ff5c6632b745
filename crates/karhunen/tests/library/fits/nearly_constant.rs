//! Columns whose deviation is a few units of rounding of their mean. The values in memory are exact, and so must
//! be their variances.

use karhunen::moments::Scatter;
use karhunen::{NComponents, Pca, PcaModel, Weights};
use karhunen_testkit::{Rows, Tolerance, assert_close, assert_components, gaussian};

use crate::fits::expect::{SOLVERS, components};
use crate::fits::sources::Layout;

const MEAN: f64 = 1e8;
/// The spacing of f64 at [`MEAN`].
const UNIT: f64 = 1.0 / (1u64 << 26) as f64;

/// Integers about zero, of deviations near `spread`.
fn whole(n: usize, p: usize, spread: f64) -> Rows {
    let round = |row: &Vec<f64>| row.iter().map(|x| (x * spread).round()).collect();
    gaussian(n, p, 77).iter().map(round).collect()
}

fn map(rows: &Rows, f: impl Fn(f64) -> f64) -> Rows {
    rows.iter().map(|row| row.iter().map(|&x| f(x)).collect()).collect()
}

fn fit(rows: &Rows, layout: Layout, pca: &Pca, weights: Option<&[f64]>) -> PcaModel {
    let weights = Weights { samples: weights, features: None };
    layout.with::<f64, _>(rows, |x| pca.fit(x, &weights)).unwrap()
}

/// The fit of `1e8 + k` units equals the fit of `k`, in units.
#[test]
fn every_route_finds_the_variance_in_the_last_digits() {
    // About one, three and forty units of rounding; more than one piece of rows.
    for (n, spread) in [(200, 0.8), (2500, 2.6), (200, 40.0)] {
        let numbers = whole(n, 3, spread);
        let rows = map(&numbers, |k| MEAN + k * UNIT);
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 5) as f64).collect();
        for (weights, scale) in [(None, false), (None, true), (Some(weights.as_slice()), false)] {
            for solver in SOLVERS {
                let pca = Pca {
                    solver,
                    scale: scale.into(),
                    n_components: NComponents::Count(3),
                    ..Pca::default()
                };
                let expected = fit(&numbers, Layout::RowMajor, &pca, weights);
                let unit = if scale { 1.0 } else { UNIT * UNIT };
                for layout in Layout::DENSE {
                    let name = format!("{n} rows, spread {spread}, {solver:?}, {layout:?}, scale {scale}");
                    let model = fit(&rows, layout, &pca, weights);
                    let largest = expected.explained_variance()[0];
                    let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-9, norm: largest };
                    let variances: Vec<f64> = model.explained_variance().iter().map(|v| v / unit).collect();
                    assert_close(&name, &variances, expected.explained_variance(), tolerance);
                    let (total, sum) = (model.total_variance() / unit, variances.iter().sum::<f64>());
                    assert_close(&name, &[total, sum], &[expected.total_variance(); 2], tolerance);
                    let wide = Tolerance { epsilon: 1e-8, ..tolerance };
                    let (found, wanted) = (components(&model), components(&expected));
                    assert_components(&name, &found, &wanted, expected.explained_variance(), wide);
                }
            }
        }
    }
}

/// A row of weight zero may hold values whose differences overflow.
#[test]
fn rows_of_weight_zero_are_not_read_again() {
    let numbers: Rows =
        whole(60, 2, 3.0).iter().map(|row| row.iter().map(|k| k * 1e-150).collect()).collect();
    let mut rows = numbers.clone();
    rows.push(vec![1e200, -1e200]);
    let mut weights = vec![1.0; 60];
    let pca = Pca { n_components: NComponents::Count(2), ..Pca::default() };
    let expected = fit(&numbers, Layout::RowMajor, &pca, Some(&weights));
    weights.push(0.0);
    let model = fit(&rows, Layout::RowMajor, &pca, Some(&weights));
    assert_eq!(model.explained_variance(), expected.explained_variance());
    assert_eq!(model.mean(), expected.mean());
}

/// A rounded sum of equal numbers may differ from their multiple, but the variance is zero.
#[test]
fn constant_columns_have_no_variance_in_any_layout() {
    let rows: Rows = gaussian(700, 1, 3).iter().map(|row| vec![0.1, row[0], 1e8 + 0.1]).collect();
    for layout in Layout::ALL {
        for solver in SOLVERS {
            let pca =
                Pca { solver, scale: true.into(), n_components: NComponents::Count(1), ..Pca::default() };
            let model = fit(&rows, layout, &pca, None);
            assert_eq!((model.scale()[0], model.scale()[2]), (1.0, 1.0), "{layout:?} {solver:?}");
            let tolerance = Tolerance { multiple: 16.0, epsilon: f64::EPSILON, norm: 1.0 };
            assert_close("total", &[model.total_variance()], &[1.0], tolerance);
        }
    }
}

/// Sums of parts keep the means to the last digit, and with them variances of a few units of rounding.
#[test]
fn fits_of_moments_find_the_variance_in_the_last_digits() {
    let numbers = whole(200, 3, 0.8);
    let rows: Rows = numbers.iter().map(|k| vec![MEAN + k[0] * UNIT, k[1], k[2]]).collect();
    let run = karhunen::Run::threads(1);
    let pca = Pca { scale: true.into(), ..Pca::new(3) };
    let expected = fit(&numbers, Layout::RowMajor, &pca, None);
    for layout in [Layout::RowMajor, Layout::Csr32] {
        let mut scatter = Scatter::empty(3);
        for part in rows.chunks(7) {
            let part = layout.with::<f64, _>(part, |x| Scatter::of(x, None, &run)).unwrap();
            scatter.merge(&part).unwrap();
        }
        let model = pca.fit_scatter(&scatter, None).unwrap();
        let tolerance = Tolerance { multiple: 16.0, epsilon: f64::EPSILON, norm: 2.0 };
        assert_close("variances", model.explained_variance(), expected.explained_variance(), tolerance);
        assert_close("total", &[model.total_variance()], &[3.0], tolerance);
    }
}

/// Constant columns stay so, whatever the rounding of their sums in parts.
#[test]
fn fits_of_moments_find_no_variance_in_constant_columns() {
    let run = karhunen::Run::threads(1);
    let rows: Rows = gaussian(700, 1, 3).iter().map(|row| vec![0.1, row[0], 1e8 + 0.1]).collect();
    for layout in [Layout::RowMajor, Layout::Csr32] {
        let mut scatter = Scatter::empty(3);
        for part in rows.chunks(37) {
            scatter.merge(&layout.with::<f64, _>(part, |x| Scatter::of(x, None, &run)).unwrap()).unwrap();
        }
        let model = Pca { scale: true.into(), ..Pca::new(1) }.fit_scatter(&scatter, None).unwrap();
        assert_eq!((model.scale()[0], model.scale()[2]), (1.0, 1.0), "{layout:?}");
    }
}

/// The values of a fuzzed file: numbers at 2^53, whose mean no f64 holds, stored as sparse.
#[test]
fn the_route_svd_subtracts_from_sparse_columns_what_their_mean_does_not_hold() {
    let base = 9_007_199_254_740_992.0;
    let rows: Rows = vec![vec![0.0, 2.0], vec![4.0, 0.0], vec![10.0, 0.0]];
    let far: Rows = rows.iter().map(|row| vec![base + row[0], row[1]]).collect();
    let pca = Pca { solver: Some(karhunen::pca::Route::Svd), ..Pca::new(2) };
    let near = fit(&rows, Layout::RowMajor, &pca, None);
    let found = fit(&far, Layout::Csr32, &pca, None);
    for (found, expected) in found.explained_variance().iter().zip(near.explained_variance()) {
        assert!((found - expected).abs() <= 1e-12 * near.total_variance(), "{found} for {expected}");
    }
}
