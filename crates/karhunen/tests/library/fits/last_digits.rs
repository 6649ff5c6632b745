//! The last digits: of sums of parts far from zero, of divisors, of values in single precision.

use karhunen::moments::Scatter;
use karhunen::pca::{Route, Scaling};
use karhunen::{Error, Pca, PcaModel, Run, Weighting, Weights};
use karhunen_testkit::{Rows, Tolerance, assert_close, gaussian};

use crate::fits::expect::SOLVERS;
use crate::fits::sources::Layout;

fn fit<T: karhunen::Scalar>(rows: &Rows, layout: Layout, pca: &Pca, weights: Option<&[f64]>) -> PcaModel {
    let weights = Weights { samples: weights, features: None };
    layout.with::<T, _>(rows, |x| pca.fit(x, &weights)).unwrap()
}

fn scatter(rows: &[Vec<f64>], layout: Layout, weights: Option<&[f64]>) -> Scatter {
    layout.with::<f64, _>(rows, |x| Scatter::of(x, weights, &Run::threads(1))).unwrap()
}

/// Multiples of 2^-10, which f64 holds about 1e12 too.
fn fractions(n: usize, p: usize) -> Rows {
    let round = |row: &Vec<f64>| row.iter().map(|x| (x * 1024.0).round() / 1024.0).collect();
    gaussian(n, p, 8).iter().map(round).collect()
}

#[test]
fn a_thousand_parts_far_from_zero_have_the_variances_of_the_rows() {
    let rows = fractions(3000, 4);
    let far: Rows = rows.iter().map(|row| row.iter().map(|x| x + 1e12).collect()).collect();
    let expected = fit::<f64>(&rows, Layout::RowMajor, &Pca::new(4), None);
    let variances = expected.explained_variance();
    for layout in [Layout::RowMajor, Layout::Csr32] {
        let mut sums = Scatter::empty(4);
        far.chunks(3).for_each(|part| sums.merge(&scatter(part, layout, None)).unwrap());
        let model = Pca::new(4).fit_scatter(&sums, None).unwrap();
        let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-13, norm: variances[0] };
        assert_close(&format!("{layout:?}"), model.explained_variance(), variances, tolerance);
    }
}

#[test]
fn small_variances_far_from_zero_are_found_by_every_route() {
    let rows: Rows = fractions(40, 2)
        .iter()
        .enumerate()
        .map(|(i, row)| vec![row[0], row[1], row[0] + row[1] + (i % 3) as f64 / 1024.0])
        .collect();
    let far: Rows = rows.iter().map(|row| row.iter().map(|x| x + 134_217_728.0).collect()).collect();
    for solver in [None, Some(Route::Svd)] {
        let pca = Pca { solver, ..Pca::new(3) };
        let expected = fit::<f64>(&rows, Layout::RowMajor, &pca, None).explained_variance()[2];
        let found = fit::<f64>(&far, Layout::RowMajor, &pca, None).explained_variance()[2];
        assert!((found / expected - 1.0).abs() < 1e-8, "{solver:?}: {found:e} {expected:e}");
    }
}

/// `x'(W - w w' / s) x / (s - sum w^2 / s)` with weights `b`, 1, 1 and values 1, 2, 4, multiplied out.
#[test]
fn the_divisor_of_sums_keeps_small_weights_next_to_a_large_one() {
    let rows: Rows = [1.0, 2.0, 4.0].map(|x| vec![x]).to_vec();
    let pca = Pca { weighting: Weighting::Importance, ..Pca::new(1) };
    for heavy in [1e4, 1e8, 1e15, 1e17] {
        let weights = [heavy, 1.0, 1.0];
        let expected = (10.0 * heavy + 4.0) / (4.0 * heavy + 2.0);
        let mut parts = scatter(&rows[..1], Layout::RowMajor, Some(&weights[..1]));
        parts.merge(&scatter(&rows[1..], Layout::RowMajor, Some(&weights[1..]))).unwrap();
        let whole = scatter(&rows, Layout::RowMajor, Some(&weights));
        let of_rows = fit::<f64>(&rows, Layout::RowMajor, &pca, Some(&weights));
        for model in [of_rows, pca.fit_scatter(&whole, None).unwrap(), pca.fit_scatter(&parts, None).unwrap()]
        {
            let found = model.explained_variance()[0];
            assert!((found / expected - 1.0).abs() < 1e-14, "{heavy:e}: {found} {expected}");
        }
    }
}

/// The first row has hardly any weight: differences from it would lose the digits of the others.
#[test]
fn shares_of_the_variance_are_at_most_one_under_any_weights() {
    let rows = gaussian(5, 2, 3);
    let weights = [1e-130, 1e-60, 1.0, 3.0, 1e-100];
    let alone = [1e-130, 1.0, 1e-60, 1e-90, 1e-100];
    for solver in SOLVERS {
        let pca = Pca { weighting: Weighting::Population, solver, ..Pca::new(2) };
        let shares =
            fit::<f64>(&rows, Layout::RowMajor, &pca, Some(&alone)).explained_variance_ratio().to_vec();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-14, "{solver:?}: {shares:?}");
    }
    let pca = Pca { weighting: Weighting::Population, ..Pca::new(1) };
    let expected = fit::<f64>(&rows[2..4].to_vec(), Layout::RowMajor, &pca, Some(&weights[2..4]));
    for layout in [Layout::RowMajor, Layout::Csr32] {
        let model = fit::<f64>(&rows, layout, &pca, Some(&weights));
        let (found, wanted) = (model.explained_variance()[0], expected.explained_variance()[0]);
        assert!((found / wanted - 1.0).abs() < 1e-14, "{layout:?}: {found} {wanted}");
        assert!((model.explained_variance_ratio()[0] - 1.0).abs() < 1e-14, "{layout:?}");
    }
}

#[test]
fn rounding_to_f32_is_not_a_component_on_any_route() {
    let (scores, loadings) = (gaussian(500, 3, 1), gaussian(3, 8, 2));
    let product = |row: &Vec<f64>, j: usize| (0..3).map(|a| row[a] * loadings[a][j]).sum::<f64>();
    let rows: Rows = scores.iter().map(|row| (0..8).map(|j| product(row, j)).collect()).collect();
    for offset in [0.0, 100.0] {
        let rows: Rows = rows.iter().map(|row| row.iter().map(|x| x + offset).collect()).collect();
        for solver in SOLVERS {
            let model = fit::<f32>(&rows, Layout::RowMajor, &Pca { solver, ..Pca::new(8) }, None);
            let n_found = model.explained_variance().iter().filter(|variance| **variance > 0.0).count();
            assert_eq!(n_found, 3, "{solver:?} about {offset}: {:?}", model.explained_variance());
        }
    }
}

/// The rounding of centring is a good part of the tolerance.
#[test]
fn iterations_leave_room_for_the_rounding_of_centring() {
    for seed in 0..8 {
        let rows: Rows = gaussian(300, 200, seed)
            .iter()
            .map(|row| row.iter().map(|x| 12.0 + 10.0 * x).collect())
            .collect();
        let pca = Pca { solver: Some(Route::BlockKrylov), strict: true, ..Pca::new(10) };
        let model = fit::<f32>(&rows, Layout::Csr32, &pca, None);
        assert!(model.convergence().residuals.iter().all(|residual| *residual <= 1e-6));
    }
}

/// Products of sparse rows in f32, centred afterwards: the residuals say what that costs.
#[test]
fn residuals_of_sparse_rows_far_from_zero_count_the_rounding_of_centring() {
    let rows: Rows = fractions(24, 3).iter().map(|row| row.iter().map(|x| x + 1000.0).collect()).collect();
    let expected = fit::<f64>(&rows, Layout::RowMajor, &Pca::new(2), None);
    for solver in [Route::Gram, Route::BlockKrylov] {
        let model = fit::<f32>(&rows, Layout::Csr32, &Pca { solver: Some(solver), ..Pca::new(2) }, None);
        let error = (model.explained_variance()[0] / expected.explained_variance()[0] - 1.0).abs();
        let reported = model.convergence().residuals[0];
        assert!(reported > 1e-6 && reported > error / 2.0, "{solver}: {reported:e}, error {error:e}");
    }
}

/// Squares of such deviations vanish in sums: the rows give their variance, sums refuse to call them constant.
#[test]
fn columns_whose_squares_vanish_in_sums_are_refused_where_they_decide() {
    let rows: Rows = gaussian(20, 2, 4).iter().map(|row| vec![row[0], 1e-200 * row[1]]).collect();
    let sums = scatter(&rows, Layout::RowMajor, None);
    let scaled = Pca { scale: Scaling::Deviation, ..Pca::new(2) };
    let of_rows = fit::<f64>(&rows, Layout::RowMajor, &scaled, None);
    assert!((of_rows.explained_variance().iter().sum::<f64>() - 2.0).abs() < 1e-14);
    let refusal = scaled.fit_scatter(&sums, None).unwrap_err();
    assert!(matches!(refusal, Error::Overflow { statistic: "variance", column: 1 }), "{refusal}");
    // Next to the variance of the other column it is nothing.
    let plain = Pca::new(1).fit_scatter(&sums, None).unwrap();
    let expected = fit::<f64>(&rows, Layout::RowMajor, &Pca::new(1), None).explained_variance()[0];
    assert!((plain.explained_variance()[0] / expected - 1.0).abs() < 1e-14);
    let tiny: Rows = rows.iter().map(|row| vec![row[1]]).collect();
    let refusal = Pca::new(1).fit_scatter(&scatter(&tiny, Layout::RowMajor, None), None).unwrap_err();
    assert!(matches!(refusal, Error::Underflow { column: 0 }), "{refusal}");
}
