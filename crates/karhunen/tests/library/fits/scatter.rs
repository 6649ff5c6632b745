//! Moments and scatter of parts of the data: merged, they equal the moments and scatter of the whole, and so does the
//! fit.

use karhunen::moments::{Moments, Scatter};
use karhunen::pca::{Centring, Route, Scaling};
use karhunen::record::Recorded;
use karhunen::{Error, Matrix, NComponents, Pca, Run, Weighting, Weights};
use karhunen_testkit::{
    Rows, Tolerance, assert_close, assert_components, gaussian, largest, planted, power_law, uniform_weights,
};
use proptest::prelude::*;

use crate::fits::expect::components;
use crate::fits::sources::Layout;

fn scatter(rows: &[Vec<f64>], layout: Layout, weights: Option<&[f64]>) -> Scatter {
    layout.with::<f64, _>(rows, |x| Scatter::of(x, weights, &Run::threads(1))).unwrap()
}

/// Sums of a few dozen products of values near `size`.
fn within(size: f64) -> Tolerance {
    Tolerance { multiple: 1.0, epsilon: 1e-12, norm: size.max(1.0) }
}

fn assert_same(found: &Scatter, expected: &Scatter, offset: f64) {
    assert_eq!(found.moments.n_samples, expected.moments.n_samples);
    let size = largest(expected.matrix.as_slice().iter().copied().chain([offset]));
    let (a, b) = (&found.moments, &expected.moments);
    assert_close("weight", &[a.weight], &[b.weight], within(b.weight));
    assert_close("squared", &[a.weight_squared], &[b.weight_squared], within(b.weight_squared));
    assert_close("mean", &a.mean, &b.mean, within(offset));
    assert_close("squares", &a.sum_of_squares, &b.sum_of_squares, within(size));
    assert_close("scatter", found.matrix.as_slice(), expected.matrix.as_slice(), within(size));
    let diagonal: Vec<f64> = (0..b.mean.len()).map(|j| found.matrix[(j, j)]).collect();
    assert_close("diagonal", &diagonal, &a.sum_of_squares, within(size));
}

/// Rows with weights, some of them zero.
fn weighted_rows() -> impl Strategy<Value = (Rows, Vec<f64>)> {
    (1usize..20, 1usize..6).prop_flat_map(|(n, p)| {
        let value = prop_oneof![3 => -10.0..10.0f64, 1 => Just(0.0)];
        let weight = prop_oneof![3 => 0.1..3.0f64, 1 => Just(0.0)];
        let rows = proptest::collection::vec(proptest::collection::vec(value, p), n);
        (rows, proptest::collection::vec(weight, n))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_merged_in_any_order_are_the_whole(
        (mut rows, weights) in weighted_rows(),
        offset in proptest::sample::select(vec![0.0, 1e8]),
        parts in proptest::collection::vec((0usize..5, any::<bool>()), 20),
        order in Just((0..5usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        rows.iter_mut().flatten().for_each(|value| *value += offset);
        let p = rows[0].len();
        let whole = scatter(&rows, Layout::RowMajor, Some(&weights));
        let mut merged = Scatter::empty(p);
        for &part in &order {
            let chosen: Vec<usize> = (0..rows.len()).filter(|&i| parts[i].0 == part).collect();
            if chosen.is_empty() {
                merged.merge(&Scatter::empty(p)).unwrap();
                continue;
            }
            let part_rows: Rows = chosen.iter().map(|&i| rows[i].clone()).collect();
            let part_weights: Vec<f64> = chosen.iter().map(|&i| weights[i]).collect();
            // Centring sparse products loses the digits of an offset.
            let layout = if parts[part].1 && offset == 0.0 { Layout::Csr32 } else { Layout::ColumnMajor };
            merged.merge(&scatter(&part_rows, layout, Some(&part_weights))).unwrap();
        }
        if whole.moments.weight > 0.0 {
            // The mean of numbers near 1e8 has an ulp of 1.5e-8, which limits the deviations.
            let slack = if offset > 0.0 { offset } else { 100.0 };
            assert_same(&merged, &whole, slack);
        }
    }
}

#[test]
fn the_fit_of_merged_parts_equals_the_fit_of_the_whole() {
    let rows = planted(60, 5, &power_law(5, 1.0), 3.0, 2).rows;
    let weights = uniform_weights(60, 3);
    let features = uniform_weights(5, 4);
    let mut merged = scatter(&rows[..7], Layout::Csc64, Some(&weights[..7]));
    merged.merge(&scatter(&rows[7..40], Layout::Blocks, Some(&weights[7..40]))).unwrap();
    merged.merge(&scatter(&rows[40..], Layout::Strided, Some(&weights[40..]))).unwrap();
    let given = |first: f64| Centring::Given((0..5).map(|j| first + f64::from(j)).collect());
    for weighting in [Weighting::Frequency, Weighting::Importance, Weighting::Population] {
        for (center, scale, n_components) in [
            (Centring::Mean, Scaling::None, NComponents::All),
            (Centring::Mean, Scaling::Deviation, NComponents::Count(2)),
            (Centring::None, Scaling::Deviation, NComponents::Variance(0.9)),
            (Centring::None, Scaling::None, NComponents::Count(5)),
            (Centring::Mean, Scaling::Pareto, NComponents::Count(3)),
            (given(-2.0), Scaling::Given(vec![2.0, 0.5, 1.0, 3.0, 10.0]), NComponents::Count(4)),
        ] {
            let pca = Pca { n_components, center, scale, weighting, ..Pca::default() };
            let found = pca.fit_scatter(&merged, Some(&features)).unwrap();
            let by_svd = Pca { solver: Some(Route::Svd), ..pca };
            let weights = Weights { samples: Some(&weights), features: Some(&features) };
            let expected = Layout::RowMajor.with::<f64, _>(&rows, |x| by_svd.fit(x, &weights)).unwrap();
            let variance = expected.explained_variance();
            assert_close("variance", found.explained_variance(), variance, within(variance[0]));
            assert_close(
                "ratio",
                found.explained_variance_ratio(),
                expected.explained_variance_ratio(),
                within(1.0),
            );
            assert_close("singular", found.singular_values(), expected.singular_values(), within(100.0));
            let noise = |model: &karhunen::PcaModel| {
                [model.noise_variance(), model.total_variance(), model.sum_of_weights()]
            };
            assert_close("noise", &noise(&found), &noise(&expected), within(100.0));
            assert_close("mean", found.mean(), expected.mean(), within(10.0));
            assert_close("scale", found.scale(), expected.scale(), within(10.0));
            assert_components(
                "components",
                &components(&found),
                &components(&expected),
                variance,
                within(variance[0]),
            );
            assert_eq!((found.n_samples(), found.convergence().n_passes), (60, 0));
            assert!(found.convergence().converged());
        }
    }
}

#[test]
fn sums_of_rows_hold_no_ranges() {
    let rows = gaussian(9, 2, 1);
    let pca = Pca::new(1).scale(Scaling::Range);
    let error = pca.fit_scatter(&scatter(&rows, Layout::RowMajor, None), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scale = range is not allowed: moments hold no ranges: fit the rows, or give the ranges as scales"
    );
    let run = Run::default();
    let error = Layout::RowMajor.with::<f64, _>(&rows, |x| pca.scatter_of(x, None, &run)).unwrap_err();
    assert!(matches!(error, Error::Option { .. }), "{error}");
}

/// Three rows that count as twelve have more than three components, those beyond without variance.
#[test]
fn integer_weights_of_moments_count_repetitions() {
    let rows = gaussian(3, 8, 5);
    let weights = [4.0, 5.0, 3.0];
    let moments = scatter(&rows, Layout::RowMajor, Some(&weights));
    for n_components in [NComponents::All, NComponents::Count(1)] {
        let pca = Pca { n_components, ..Pca::default() };
        let found = pca.fit_scatter(&moments, None).unwrap();
        let expected =
            Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, &Weights::of_samples(&weights))).unwrap();
        assert_eq!(found.explained_variance().len(), expected.explained_variance().len());
        let noise = [found.noise_variance()];
        assert_close("noise", &noise, &[expected.noise_variance()], within(1.0));
    }
}

/// Weights of one half may have an integer sum, but are not multiplicities.
#[test]
fn fractional_weights_with_integer_sums_count_no_repetitions() {
    let rows = gaussian(8, 6, 5);
    let weights = [0.5; 8];
    let moments = scatter(&rows, Layout::RowMajor, Some(&weights));
    assert_eq!((moments.moments.weight, moments.moments.weight_squared), (4.0, 2.0));
    let found = Pca::default().fit_scatter(&moments, None).unwrap();
    let expected = Layout::RowMajor
        .with::<f64, _>(&rows, |x| Pca::default().fit(x, &Weights::of_samples(&weights)))
        .unwrap();
    let variance = expected.explained_variance();
    assert_close("variance", found.explained_variance(), variance, within(variance[0]));
}

#[test]
fn non_finite_values_are_found_in_rows_without_weight_too() {
    // More rows than a piece of work; the first piece has no weight at all.
    let n = 10_000;
    let mut rows = gaussian(n, 2, 9);
    rows[0][1] = f64::NAN;
    let weights: Vec<f64> = (0..n).map(|i| if i < 9_000 { 0.0 } else { 1.0 }).collect();
    Layout::RowMajor.with::<f64, _>(&rows, |x| {
        for error in [
            Moments::of(x, Some(&weights), &Run::threads(1)).unwrap_err(),
            Pca::default().fit(x, &Weights::of_samples(&weights)).unwrap_err(),
        ] {
            assert!(matches!(error, Error::NonFiniteUnweighted { row: 0, column: 1, .. }), "{error}");
        }
    });
}

#[test]
fn scatters_of_inconsistent_shape_are_refused() {
    let rows = gaussian(4, 3, 1);
    let whole = scatter(&rows, Layout::RowMajor, None);
    let message = |pca: &Pca, scatter: &Scatter| pca.fit_scatter(scatter, None).unwrap_err().to_string();
    let pca = Pca::default();
    assert_eq!(
        message(&Pca { solver: Some(Route::Svd), ..pca.clone() }, &whole),
        "solver = svd is not allowed: moments hold the covariance matrix, not the data: \
         leave the solver out, or use covariance"
    );
    assert_eq!(
        message(&Pca::new(4), &whole),
        "n_components = 4 is outside 0..=3 for data of shape (4, 3); ask for at most 3, or add samples or features"
    );
    assert_eq!(
        message(&pca, &Scatter::empty(3)),
        "data of shape (0, 3) hold no values; at least one row and one column are needed"
    );
    assert_eq!(
        message(&pca, &scatter(&rows, Layout::Csr32, Some(&[0.0; 4]))),
        "sample weights: all 4 entries are zero; at least one must be positive"
    );
    let lonely = scatter(&rows, Layout::RowMajor, Some(&[0.0, 3.0, 0.0, 0.0]));
    assert_eq!(
        message(&Pca { weighting: Weighting::Importance, ..pca.clone() }, &lonely),
        "one row holds all the importance weight, so the divisor 1 - sum(v^2) is zero; \
         use weighting = population, or give weight to at least two rows"
    );
    let torn = Scatter { matrix: Matrix::zeros(3, 2), ..whole.clone() };
    assert_eq!(message(&pca, &torn), "the matrix of a scatter: 2 columns, but 3 are needed");
    assert_eq!(
        whole.clone().merge(&Scatter::empty(2)).unwrap_err().to_string(),
        "one of the scatter matrices: 2 columns, but 3 are needed"
    );
    assert_eq!(
        whole.moments.clone().merge(&Moments::empty(4)).unwrap_err().to_string(),
        "one of the moments: 4 columns, but 3 are needed"
    );
    let of = |weights: &[f64]| {
        Layout::RowMajor
            .with::<f64, _>(&rows, |x| Moments::of(x, Some(weights), &Run::threads(1)))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(of(&[1.0; 3]), "there are 3 sample weights for 4 rows; give one weight for each row");
    assert_eq!(
        of(&[1.0, -1.0, 1.0, 1.0]),
        "sample weights: entry 1 is -1; a weight must be finite and not negative"
    );
    assert_eq!(
        of(&[1e200, 0.0, 0.0, 1e200]),
        "the weights sum to 2e200 and their squares to inf, beyond the range of f64; \
         multiply or divide all of them by a constant"
    );
}

/// Parts can be serialized, for a file or another process.
#[cfg(feature = "serde")]
#[test]
fn a_serialized_scatter_reads_back_unchanged() {
    let whole = scatter(&gaussian(9, 3, 1), Layout::RowMajor, None);
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Scatter>(&text).unwrap(), whole);
    let short = text.replace("\"n_cols\":3", "\"n_cols\":2");
    let error = serde_json::from_str::<Scatter>(&short).unwrap_err().to_string();
    assert!(error.starts_with("a matrix: 9 values, but 6 are needed"), "{error}");
}

#[test]
fn squares_of_few_sparse_rows_are_not_negative() {
    for n in 1..4 {
        let rows = gaussian(n, 50, n as u64 + 3);
        for layout in [Layout::Csr32, Layout::Csc64] {
            let sums = scatter(&rows, layout, Some(&uniform_weights(n, 8)));
            let read = Scatter::from_record(&mut sums.to_record().unwrap().clone()).unwrap();
            assert_eq!(read, sums);
        }
    }
}

/// A matrix of covariances, with means and the number of rows, gives the fit of the rows.
#[test]
fn a_covariance_matrix_gives_the_model_of_its_rows() {
    let rows = planted(50, 4, &power_law(4, 1.0), 3.0, 6).rows;
    let expected =
        Layout::RowMajor.with::<f64, _>(&rows, |x| Pca::new(4).fit(x, &Weights::default())).unwrap();
    let sums = scatter(&rows, Layout::RowMajor, None);
    let covariance: Rows =
        (0..4).map(|i| sums.matrix.row(i).iter().map(|sum| sum / 49.0).collect()).collect();
    for layout in [Layout::RowMajor, Layout::Csr32] {
        let of = |rows: &Rows, n| {
            layout.with::<f64, _>(rows, |x| Scatter::of_covariance(x, &sums.moments.mean, n))
        };
        let found = Pca::new(4).fit_scatter(&of(&covariance, 50).unwrap(), None).unwrap();
        let variances = expected.explained_variance();
        assert_close("variances", found.explained_variance(), variances, within(variances[0]));
        assert_components("components", &components(&found), &components(&expected), variances, within(1.0));
        assert_eq!((found.n_samples(), found.n_observations()), (50, 50.0));
        assert_eq!(found.mean(), sums.moments.mean);
        let mut other = covariance.clone();
        other[2][2] = -1.0;
        assert!(matches!(of(&other, 50), Err(Error::NotCovariance { column: Some(2), .. })));
        other[2][2] = 0.0;
        assert!(matches!(of(&other, 50), Err(Error::NotCovariance { column: None, .. })));
        other[2][1] += 1.0;
        assert!(matches!(of(&other, 50), Err(Error::NotSymmetric { row: 2, column: 1, .. })));
        assert!(matches!(of(&covariance, 1), Err(Error::Option { .. })));
        // Sums of squares of the size of these overflow.
        let mut beyond = covariance.clone();
        (beyond[0][1], beyond[1][0]) = (1e308, 1e308);
        assert!(matches!(of(&beyond, 50), Err(Error::NotCovariance { column: None, .. })));
    }
}
