//! Numerically hard data: what `docs/moments.md` says of digits, line by line.

use karhunen::error::Fields;
use karhunen::pca::{Centring, Route};
use karhunen::{NComponents, Pca, PcaModel, Run, Scalar, Source, Weights};
use karhunen_testkit::{
    Columns, Options, Rows, Tolerance, Weighting, assert_close, assert_components, extreme_weights, gaussian,
    planted, power_law, repeat_rows, sparse, with_constant_column,
};

use crate::fits::expect::{Problem, SOLVERS, assert_none, components};
use crate::fits::sources::Layout;

const ALL: NComponents = NComponents::All;

const WEIGHTINGS: [Weighting; 3] = [Weighting::Population, Weighting::Frequency, Weighting::Importance];

/// Fits in every dense layout by every solver and checks variances to the relative error `relative`.
fn assert_variances<T: Scalar>(name: &str, rows: &Rows, scale: bool, relative: f64) {
    let problem = Problem::new::<T>(name, rows, Options { scale, ..Options::default() });
    for layout in Layout::DENSE {
        // The Gram matrix of so many rows would exceed the memory.
        let sensible = |solver: &Option<Route>| rows.len() < 10_000 || *solver != Some(Route::Gram);
        for solver in SOLVERS.into_iter().filter(sensible) {
            let pca = problem.pca(solver, ALL);
            let model = layout.with::<T, _>(&problem.rows, |x| pca.fit(x, &problem.weights())).unwrap();
            for (found, expected) in model.explained_variance().iter().zip(&problem.oracle.explained_variance)
            {
                let error = (found / expected - 1.0).abs();
                assert!(error <= relative, "{} {layout:?} {solver:?}: {found} for {expected}", problem.name);
            }
        }
    }
}

/// With an offset of 1e8, a variance computed as a difference of squares has no accurate digit.
#[test]
fn an_offset_of_1e8_costs_no_variance_f64() {
    let rows = planted(300, 6, &power_law(6, 1.0), 1e8, 1).rows;
    for scale in [false, true] {
        assert_variances::<f64>("offset 1e8", &rows, scale, 1e-6);
    }
}

/// Route svd does not square the condition number: singular values are accurate to `eps` of the largest one.
#[test]
fn svd_keeps_variances_of_1e_16_of_the_largest() {
    for (n, p) in [(90, 12), (12, 90), (30, 30)] {
        let mut rows = gaussian(n, p, 3);
        rows.iter_mut().for_each(|row| row[7] *= 1e8);
        let problem = Problem::new::<f64>("a column times 1e8", &rows, Options::default());
        let rank = p.min(n - 1);
        let exact = &problem.oracle.explained_variance[..rank];
        for layout in Layout::ALL {
            let pca = problem.pca(Some(Route::Svd), NComponents::Count(rank));
            let strict = matches!(layout, Layout::RowMajor | Layout::ColumnMajor);
            let model = fit(&problem, layout, &Pca { strict, tol: Some(1e-12), ..pca });
            for (found, expected) in model.explained_variance().iter().zip(exact) {
                let error = (found / expected - 1.0).abs();
                assert!(error <= 1e-6, "{n} x {p}, {layout:?}: {found} for {expected}");
            }
            let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-6, norm: 1.0 };
            let vectors = &problem.oracle.components;
            assert_components(
                "component",
                &components(&model),
                vectors,
                &problem.oracle.explained_variance,
                tolerance,
            );
        }
    }
}

/// Rows about a rounded mean have a direction of its rounding error, which is not a component.
#[test]
fn svd_has_no_component_of_the_rounding_of_the_mean() {
    for (n, p) in [(20, 60), (30, 30), (3, 4)] {
        for offset in [10.0, 1e3, 1e8] {
            let mut rows = gaussian(n, p, 4);
            rows.iter_mut().flatten().for_each(|x| *x += offset);
            // A row seen twice is one direction less.
            rows.push(rows[0].clone());
            let problem = Problem::new::<f64>("offset", &rows, Options::default());
            for layout in Layout::DENSE {
                for solver in [None, Some(Route::Svd)] {
                    let model = fit(&problem, layout, &Pca { strict: true, ..problem.pca(solver, ALL) });
                    let n_found =
                        model.explained_variance().iter().filter(|variance| **variance > 0.0).count();
                    assert_eq!(n_found, n - 1, "{n} x {p} about {offset:e}, {layout:?} {solver:?}");
                }
            }
        }
    }
}

/// Single precision holds values near 1e4 to about 1e-3.
#[test]
fn an_offset_of_1e4_costs_no_variance_f32() {
    let rows = planted(300, 6, &power_law(6, 1.0), 1e4, 1).rows;
    for scale in [false, true] {
        assert_variances::<f32>("offset 1e4", &rows, scale, 1e-5);
    }
}

/// A plain f32 sum of this many rows has an error of 2e-3.
#[test]
fn many_f32_rows_are_summed_to_1e_5() {
    let rows = planted(200_000, 4, &power_law(4, 1.0), 3.0, 2).rows;
    assert_variances::<f32>("200,000 rows", &rows, false, 1e-5);
}

fn assert_fits<T: Scalar>(name: &str, rows: &Rows, options: Options<'_>, layouts: &[Layout]) {
    let problem = Problem::new::<T>(name, rows, options);
    let k = rows.len().min(rows[0].len());
    let all = [NComponents::Count(1), NComponents::Count(k), ALL];
    assert_none(&problem.failures::<T>(layouts, &SOLVERS, &all));
}

/// Fits both types, every layout and every solver, scaled or not, centred or not.
fn assert_fits_everywhere(name: &str, rows: &Rows) {
    for scale in [false, true] {
        for center in [false, true] {
            let options = Options { scale, center, ..Options::default() };
            assert_fits::<f64>(name, rows, options.clone(), &Layout::ALL);
            assert_fits::<f32>(name, rows, options, &Layout::ALL);
        }
    }
}

#[test]
fn constant_columns_contribute_nothing() {
    for value in [0.0, 0.1, -7.0] {
        let rows = with_constant_column(with_constant_column(gaussian(12, 5, 3), 1, value), 4, value);
        assert_fits_everywhere("constant columns", &rows);
        let options = Options { scale: true, ..Options::default() };
        let problem = Problem::new::<f64>("constant", &rows, options);
        for solver in SOLVERS {
            let model = fit(&problem, Layout::RowMajor, &problem.pca(solver, NComponents::Count(3)));
            assert_eq!((model.scale()[1], model.scale()[4]), (1.0, 1.0));
            let tolerance = Tolerance { multiple: 10.0, epsilon: f64::EPSILON, norm: 1.0 };
            assert_close("total", &[model.total_variance()], &[3.0], tolerance);
        }
    }
}

#[test]
fn constant_data_have_no_variance() {
    assert_fits_everywhere("all zero", &vec![vec![0.0; 3]; 5]);
    let rows = vec![vec![0.1, -3.0, 1e5]; 6];
    for scale in [false, true] {
        let options = Options { scale, ..Options::default() };
        let problem = Problem::new::<f64>("all rows equal", &rows, options);
        for layout in Layout::DENSE {
            for solver in SOLVERS {
                let model = fit(&problem, layout, &problem.pca(solver, ALL));
                assert_eq!(model.explained_variance_ratio(), [0.0; 3], "{layout:?} {solver:?}");
                assert_eq!((model.total_variance(), model.noise_variance()), (0.0, 0.0));
            }
        }
    }
}

#[test]
fn rows_of_weight_zero_change_nothing_and_get_scores() {
    let rows = gaussian(14, 5, 4);
    let mut padded = rows.clone();
    padded.insert(0, vec![1e6; 5]);
    padded.insert(7, vec![-1e6, 0.0, 1e6, 3.0, 2.0]);
    let mut weights = vec![1.5; 16];
    (weights[0], weights[7]) = (0.0, 0.0);
    for weighting in WEIGHTINGS {
        let options = Options { sample_weights: Some(&weights), weighting, ..Options::default() };
        assert_fits::<f64>("zero weights", &padded, options.clone(), &Layout::ALL);
        assert_fits::<f32>("zero weights", &padded, options.clone(), &Layout::FEW);
        let with = Problem::new::<f64>("with", &padded, options.clone());
        let kept = vec![1.5; 14];
        let without =
            Problem::new::<f64>("without", &rows, Options { sample_weights: Some(&kept), ..options });
        for solver in SOLVERS {
            let (a, b) = (
                fit(&with, Layout::RowMajor, &with.pca(solver, ALL)),
                fit(&without, Layout::RowMajor, &without.pca(solver, ALL)),
            );
            let tolerance =
                Tolerance { multiple: 100.0, epsilon: f64::EPSILON, norm: b.explained_variance()[0] };
            assert_close("variance", a.explained_variance(), b.explained_variance(), tolerance);
        }
    }
}

#[test]
fn rank_deficiency_gives_zero_variances_and_orthonormal_components() {
    assert_fits_everywhere("rank 2 of 7", &planted(20, 7, &[3.0, 1.0], 0.0, 5).rows);
    assert_fits_everywhere("rank 2, wide", &planted(7, 20, &[3.0, 1.0], 2.0, 6).rows);
    assert_fits_everywhere("rank 1", &planted(9, 9, &[1.0], 1.0, 7).rows);
}

#[test]
fn duplicated_rows_and_columns_are_fitted() {
    let rows = gaussian(6, 4, 8);
    let doubled: Rows =
        rows.iter().chain(&rows).map(|row| [row.as_slice(), row.as_slice()].concat()).collect();
    assert_fits_everywhere("duplicates", &doubled);
}

#[test]
fn repeated_eigenvalues_give_the_right_subspace() {
    assert_fits_everywhere("two pairs", &planted(25, 8, &[4.0, 4.0, 1.0, 1.0, 0.5], 1.0, 9).rows);
    assert_fits_everywhere("a ball", &planted(30, 6, &[2.0; 6], 1.0, 10).rows);
    let corners: Rows = (0..8).map(|i| (0..8).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    assert_fits_everywhere("a simplex", &corners);
}

fn assert_extreme_weights<T: Scalar>(layouts: &[Layout]) {
    let rows = gaussian(40, 4, 11);
    for exponent in [3.0, 30.0, 300.0] {
        let weights = extreme_weights(40, exponent, 12);
        for weighting in WEIGHTINGS {
            // If all other rows weigh less than rounding, the importance divisor is undefined.
            if weighting == Weighting::Importance && exponent > 100.0 {
                continue;
            }
            for scale in [false, true] {
                let options =
                    Options { sample_weights: Some(&weights), weighting, scale, ..Options::default() };
                let name = format!("weights 1e-{exponent} to 1e{exponent} {weighting:?} scale={scale}");
                assert_fits::<T>(&name, &rows, options, layouts);
            }
        }
    }
}

#[test]
fn weights_may_span_six_hundred_orders_of_magnitude_f64() {
    assert_extreme_weights::<f64>(&Layout::ALL);
}

#[test]
fn weights_may_span_six_hundred_orders_of_magnitude_f32() {
    assert_extreme_weights::<f32>(&Layout::DENSE);
}

/// One row has nearly all the weight: the deviation is far below the mean, which is subtracted after the product.
#[test]
fn weights_may_span_six_hundred_orders_of_magnitude_sparse_f32() {
    assert_extreme_weights::<f32>(&[Layout::Csr32, Layout::Csc64]);
}

#[test]
fn equal_weights_of_any_size_change_nothing() {
    let rows = gaussian(15, 4, 13);
    let plain = Problem::new::<f64>("none", &rows, Options::default());
    for weight in [1e-300, 5e-324, 1e300, f64::MAX] {
        let weights = vec![weight; 15];
        for (weighting, factor) in [(Weighting::Population, 14.0 / 15.0), (Weighting::Importance, 1.0)] {
            let pca = Problem { options: Options { weighting, ..Options::default() }, ..plain.clone() };
            for solver in SOLVERS {
                let model = Layout::RowMajor
                    .with::<f64, _>(&rows, |x| pca.pca(solver, ALL).fit(x, &Weights::of_samples(&weights)))
                    .unwrap();
                let expected: Vec<f64> = plain.oracle.explained_variance.iter().map(|v| v * factor).collect();
                let tolerance = Tolerance { multiple: 50.0, epsilon: f64::EPSILON, norm: expected[0] };
                let what = format!("variance with weights {weight:e} {weighting:?}");
                assert_close(&what, model.explained_variance(), &expected, tolerance);
            }
        }
    }
}

#[test]
fn one_row_is_fitted() {
    let rows = vec![vec![3.0, -1.0, 0.5]];
    let population = Options { weighting: Weighting::Population, ..Options::default() };
    assert_fits::<f64>("one row", &rows, population.clone(), &Layout::ALL);
    assert_fits::<f64>("one row, not centred", &rows, Options { center: false, ..population }, &Layout::ALL);
    let thrice = Options { sample_weights: Some(&[3.0]), ..Options::default() };
    assert_fits::<f32>("one row seen three times", &rows, thrice, &Layout::ALL);
}

#[test]
fn one_column_is_fitted() {
    assert_fits_everywhere("one column", &gaussian(9, 1, 14));
    assert_fits_everywhere("one column, two rows", &gaussian(2, 1, 15));
}

#[test]
fn two_rows_are_fitted() {
    assert_fits_everywhere("two rows", &gaussian(2, 6, 16));
}

/// Standardization must not square values whose squares underflow.
#[test]
fn columns_of_tiny_and_huge_values_are_scaled() {
    for factor in [1e-170, 1e-290, 1e140] {
        let mut rows = gaussian(20, 4, 17);
        rows.iter_mut().for_each(|row| row[2] *= factor);
        let options = Options { scale: true, ..Options::default() };
        let name = format!("a column times {factor:e}");
        assert_fits::<f64>(&name, &rows, options.clone(), &Layout::DENSE);
        if factor > 1e-140 {
            assert_fits::<f64>(&name, &rows, options, &Layout::ALL);
            continue;
        }
        // Sparse products are scaled after they are summed, when the squares of such values have underflowed.
        let problem = Problem::new::<f64>(&name, &rows, options);
        let error = Layout::Csr32.with::<f64, _>(&rows, |x| {
            problem.pca(None, NComponents::Count(1)).fit(x, &problem.weights()).unwrap_err()
        });
        assert_eq!(
            error.to_string(),
            "the inverse scale of column 2 is beyond the range of f64; multiply or divide that column by a constant \
             before fitting"
        );
    }
}

/// Without centring a constant column is scaled by its value, whose square may be beyond the range of f64.
#[test]
fn constant_columns_of_tiny_and_huge_values_are_scaled_about_zero() {
    for value in [1e-300, 1e-160, 1e200] {
        let rows = with_constant_column(gaussian(20, 4, 17), 2, value);
        let expected = with_constant_column(rows.clone(), 2, 1.0);
        let variances = |rows: &Rows, solver| {
            let pca = Pca { solver, center: Centring::None, scale: true.into(), ..Pca::default() };
            let fit = |x: &dyn Source<f64>| pca.fit(x, &Weights::default());
            Layout::RowMajor.with::<f64, _>(rows, fit).unwrap().explained_variance().to_vec()
        };
        let expected = variances(&expected, Some(Route::Svd));
        let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-12, norm: expected[0] };
        for solver in SOLVERS {
            let found = variances(&rows, solver);
            assert_close(&format!("variances, {solver:?}, {value:e}"), &found, &expected, tolerance);
        }
    }
}

#[test]
fn features_of_weight_zero_are_rebuilt_as_their_mean() {
    let feature_weights = [0.0, 2.0, 1.0, 0.5];
    let options = Options { feature_weights: Some(&feature_weights), ..Options::default() };
    assert_fits::<f64>("a feature of weight zero", &gaussian(11, 4, 18), options.clone(), &Layout::ALL);
    assert_fits::<f32>("a feature of weight zero", &gaussian(11, 4, 18), options, &Layout::FEW);
}

/// A column whose values differ in rows without weight alone is constant: its mean is exact, and it is not scaled.
#[test]
fn columns_that_vary_in_rows_without_weight_alone_are_constant() {
    // Wide rows come in pieces of some hundred, here the first without any weight.
    for (p, n_without) in [(60, 0), (600, 0), (600, 700)] {
        let n = n_without + 40;
        let mut rows = gaussian(n, p, 18);
        let weight =
            |i: usize| [0.0, 3.0, 1.0, 2.0, 1.0, 3.0, 3.0][i % 7] * f64::from(u8::from(i >= n_without));
        let weights: Vec<f64> = (0..n).map(weight).collect();
        let value = |j: usize| if j < p / 2 { 0.0 } else { 0.1 };
        for (row, _) in rows.iter_mut().zip(&weights).filter(|(_, weight)| **weight > 0.0) {
            (5..p).for_each(|j| row[j] = value(j));
        }
        let options = Options { scale: true, sample_weights: Some(&weights), ..Options::default() };
        let problem = Problem::new::<f64>("constant where rows have weight", &rows, options);
        let layouts = if n_without == 0 { &Layout::ALL[..] } else { &Layout::FEW };
        for &layout in layouts {
            for solver in SOLVERS {
                let model = fit(&problem, layout, &problem.pca(solver, NComponents::Count(3)));
                for j in 5..p {
                    let found = (model.mean()[j], model.scale()[j]);
                    assert_eq!(found, (value(j), 1.0), "{layout:?} {solver:?}, column {j} of {p}");
                }
            }
        }
    }
}

/// Explicit zeros, and empty rows and columns.
#[test]
fn sparse_data_with_empty_rows_and_columns_are_fitted() {
    let mut rows = sparse(20, 8, 0.3, Columns::Uniform, 19).to_rows();
    rows[0] = vec![0.0; 8];
    rows[19] = vec![0.0; 8];
    let rows = with_constant_column(with_constant_column(rows, 0, 0.0), 5, 0.0);
    assert_fits_everywhere("empty rows and columns", &rows);
}

fn fit(problem: &Problem<'_>, layout: Layout, pca: &Pca) -> PcaModel {
    layout.with::<f64, _>(&problem.rows, |x| pca.fit_with(x, &problem.weights(), &Run::threads(1))).unwrap()
}

/// Accuracy of a fit with the default tolerance of each type.
#[test]
fn the_default_tolerance_is_kept_on_a_slow_spectrum() {
    let rows = planted(400, 150, &power_law(140, 0.5), 1.0, 20).rows;
    let problem = Problem::new::<f64>("slow spectrum", &rows, Options::default());
    let pca = Pca { tol: None, ..problem.pca(Some(Route::BlockKrylov), NComponents::Count(10)) };
    let model = fit(&problem, Layout::RowMajor, &pca);
    assert!(model.convergence().converged() && model.convergence().tol == 1e-8);
    // The error of an eigenvalue is the squared residual over the gap, far below the tolerance.
    let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-12, norm: problem.oracle.explained_variance[0] };
    assert_close("variance", model.explained_variance(), &problem.oracle.explained_variance[..10], tolerance);
    assert_eq!(components(&model).len(), 10);
}

/// Components without variance depend on the span of the others alone: they are equal for every solver, for rows
/// and columns of every layout, and for weights as for repeated rows.
#[test]
fn components_without_variance_are_equal_on_every_route() {
    let rows = planted(6, 9, &power_law(5, 1.0), 1.0, 4).rows;
    let counts = [2, 1, 3, 0, 1, 2];
    let weights: Vec<f64> = counts.iter().map(|&w| f64::from(w)).collect();
    let repeated = repeat_rows(&rows, &counts);
    let fitted = |rows: &Rows, weights: Option<&[f64]>, layout: Layout, solver| {
        let pca = Pca { solver, tol: Some(1e-13), ..Pca::default() };
        let weights = Weights { samples: weights, features: None };
        layout.with::<f64, _>(rows, |x| pca.fit(x, &weights)).unwrap().components().clone()
    };
    let expected = fitted(&repeated, None, Layout::RowMajor, Some(Route::Svd));
    assert_eq!(expected.shape(), (9, 9));
    for layout in Layout::ALL {
        for solver in SOLVERS {
            for (rows, weights) in [(&rows, Some(&weights[..])), (&repeated, None)] {
                let found = fitted(rows, weights, layout, solver);
                assert_eq!(found.shape(), expected.shape());
                for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
                    assert!((found - expected).abs() < 1e-8, "{layout:?} {solver:?}: {found} for {expected}");
                }
            }
        }
    }
}

/// If rounding leaves nothing of the variances, no component has converged.
#[test]
fn a_full_sparse_column_far_from_zero_is_never_silently_without_variance() {
    for (n, p) in [(40, 80), (80, 40)] {
        let mut rows = planted(n, p, &power_law(10, 1.0), 0.0, 6).rows;
        rows.iter_mut().for_each(|row| row[0] = 20_261_122.0);
        for far in [false, true] {
            if far {
                rows.iter_mut().flatten().for_each(|x| *x += 1e8);
            }
            let problem = Problem::new::<f64>("sparse, one column far off", &rows, Options::default());
            for layout in [Layout::Csr32, Layout::Csc64] {
                for solver in SOLVERS {
                    let model = fit(&problem, layout, &problem.pca(solver, NComponents::Count(3)));
                    let expected = &problem.oracle.explained_variance[..3];
                    let mut pairs = model.explained_variance().iter().zip(expected);
                    let right = pairs.all(|(a, b)| (a / b - 1.0).abs() < 1e-3);
                    let reported = model.convergence().n_converged < 3;
                    let found = model.explained_variance();
                    assert!(right || reported, "{n} x {p} {far} {layout:?} {solver:?}: {found:?}");
                }
            }
        }
    }
}

/// Centring by a correction of products loses the digits of the offset; the routes svd and covariance centre the values.
#[test]
fn full_sparse_columns_far_from_zero_are_fitted_by_routes_that_centre_values() {
    let rows = planted(200, 4, &power_law(4, 1.0), 1e8, 5).rows;
    let problem = Problem::new::<f64>("sparse, mean 1e8", &rows, Options::default());
    let tolerance = Tolerance { multiple: 1.0, epsilon: 1e-6, norm: 1.0 };
    for layout in [Layout::Csr32, Layout::Csc64] {
        for route in [Route::Svd, Route::Covariance] {
            let model = fit(&problem, layout, &problem.pca(Some(route), ALL));
            assert_close(
                "variances",
                model.explained_variance(),
                &problem.oracle.explained_variance,
                tolerance,
            );
            assert_eq!(model.convergence().n_converged, 4, "{:?}", model.convergence().residuals);
        }
        let pca = Pca { strict: true, ..problem.pca(Some(Route::Gram), ALL) };
        let error = layout.with::<f64, _>(&problem.rows, |x| pca.fit(x, &problem.weights())).unwrap_err();
        assert!(error.to_string().ends_with(
            "centring costs this sparse matrix its digits, because its columns are far from zero: give it as dense, or \
             use solver = svd if it has at least as many rows as columns"
        ), "{error}");
    }
}

/// Inner products of rows keep the directions of small variances to `sqrt(v1 / v)` rounding errors.
#[test]
fn the_advice_for_missed_tolerances_depends_on_the_route() {
    let advice = |factor: f64, pca: &Pca| {
        let mut rows = gaussian(30, 60, 3);
        rows.iter_mut().for_each(|row| row[7] *= factor);
        let model = Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::default())).unwrap();
        let advice = model.convergence().advice.as_ref();
        assert_eq!(advice.is_none(), model.convergence().converged());
        advice.map(|advice| advice.text_for(&Fields))
    };
    let pca = |solver| Pca { solver: Some(solver), tol: Some(1e-13), ..Pca::new(20) };
    let scale = "the smallest of these variances are near the rounding errors of the largest: scale the columns, or ask for \
                 fewer components";
    assert_eq!(advice(1e4, &pca(Route::Gram)), Some(format!("{scale}, or use solver = svd")));
    let exact = Pca { tol: Some(1e-18), ..pca(Route::Svd) };
    assert_eq!(advice(1.0, &exact).as_deref(), Some("raise `tol`"));
    let once = Pca { max_iter: 1, ..pca(Route::BlockKrylov) };
    assert_eq!(advice(1.0, &once).as_deref(), Some("raise `max_iter` or `tol`"));
    assert_eq!(advice(1.0, &Pca::new(20)), None);
}
