//! Properties of fits of arbitrary data.

use karhunen::pca::Route;
use karhunen::{Matrix, NComponents, Pca, PcaModel, Run, Scalar, Source, Weights};
use karhunen_testkit::{
    Columns, Rows, Tolerance, assert_close, assert_components, gaussian, planted, power_law, repeat_rows,
    sparse, uniform_weights,
};
use proptest::prelude::*;

use crate::fits::expect::{SOLVERS, components};
use crate::fits::sources::Layout;

/// A matrix of moderate values, some of them zero, with at least two rows.
fn any_rows() -> impl Strategy<Value = Rows> {
    (2usize..14, 1usize..9).prop_flat_map(|(n, p)| {
        let value = prop_oneof![3 => -10.0..10.0f64, 1 => Just(0.0)];
        proptest::collection::vec(proptest::collection::vec(value, p), n)
    })
}

fn any_solver() -> impl Strategy<Value = Option<Route>> {
    proptest::sample::select(SOLVERS.to_vec())
}

fn any_layout() -> impl Strategy<Value = Layout> {
    proptest::sample::select(Layout::ALL.to_vec())
}

fn fit(rows: &[Vec<f64>], layout: Layout, pca: &Pca, weights: Option<&[f64]>) -> PcaModel {
    let weights = Weights { samples: weights, features: None };
    layout.with::<f64, _>(rows, |x| pca.fit_with(x, &weights, &Run::threads(1))).unwrap()
}

fn transform(rows: &[Vec<f64>], layout: Layout, model: &PcaModel) -> Matrix {
    layout.with::<f64, _>(rows, |x| model.transform(x)).unwrap()
}

/// Rounding of sums of a few dozen products, and the tolerance of the iteration.
fn within(norm: f64) -> Tolerance {
    Tolerance { multiple: 1.0, epsilon: 1e-11, norm: norm.max(1.0) }
}

/// All components, with iterations to rounding.
fn complete(solver: Option<Route>, scale: bool) -> Pca {
    Pca { solver, scale: scale.into(), tol: Some(1e-11), ..Pca::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn integer_weights_equal_repeated_rows(
        rows in any_rows(), seed in 0u64..1000, solver in any_solver(), layout in any_layout(), scale: bool,
    ) {
        let counts = karhunen_testkit::integer_weights(rows.len(), 3, seed);
        prop_assume!(counts.iter().sum::<u32>() > 1);
        let weights: Vec<f64> = counts.iter().map(|&w| f64::from(w)).collect();
        let repeated = repeat_rows(&rows, &counts);
        let pca = complete(solver, scale);
        let weighted = fit(&rows, layout, &pca, Some(&weights));
        let plain = fit(&repeated, layout, &pca, None);
        prop_assert_eq!(weighted.n_components(), plain.n_components());
        let largest = plain.explained_variance()[0];
        assert_close("mean", weighted.mean(), plain.mean(), within(10.0));
        assert_close("scale", weighted.scale(), plain.scale(), within(10.0));
        assert_close("variance", weighted.explained_variance(), plain.explained_variance(), within(largest));
        assert_close("total", &[weighted.total_variance()], &[plain.total_variance()], within(plain.total_variance()));
        assert_close("noise", &[weighted.noise_variance()], &[plain.noise_variance()], within(largest));
        assert_components(
            "components", &components(&weighted), &components(&plain), plain.explained_variance(), within(largest),
        );
    }

    #[test]
    fn all_components_rebuild_the_rows(
        rows in any_rows(), solver in any_solver(), layout in any_layout(), scale: bool, center: bool, whiten: bool,
    ) {
        prop_assume!(rows.len() > rows[0].len());
        let model = fit(&rows, layout, &Pca { center: center.into(), ..complete(solver, scale) }, None);
        // Whitening divides by deviations; near-zero ones lose the information.
        let smallest = model.explained_variance().last().copied().unwrap_or(0.0);
        prop_assume!(!whiten || smallest > 1e-6 * model.explained_variance()[0]);
        let (how, run) = (karhunen::pca::Transform { whiten, ..karhunen::pca::Transform::default() }, Run::default());
        let scores = layout.with::<f64, _>(&rows, |x| model.transform_with(x, how, &run)).unwrap();
        let rebuilt = model.inverse_transform_with(&scores, how, &run).unwrap();
        assert_close("rows", rebuilt.as_slice(), &rows.concat(), within(100.0));
    }

    #[test]
    fn scores_have_the_variances_and_no_correlation(
        rows in any_rows(), seed in 0u64..1000, solver in any_solver(), layout in any_layout(), scale: bool,
    ) {
        let weights = uniform_weights(rows.len(), seed);
        let sum: f64 = weights.iter().sum();
        prop_assume!(sum >= 2.0);
        let model = fit(&rows, layout, &complete(solver, scale), Some(&weights));
        let scores = transform(&rows, layout, &model);
        for a in 0..model.n_components() {
            let products: Vec<f64> = (0..model.n_components())
                .map(|b| (0..rows.len()).map(|i| weights[i] * scores[(i, a)] * scores[(i, b)]).sum::<f64>() / (sum - 1.0))
                .collect();
            let mut expected = vec![0.0; model.n_components()];
            expected[a] = model.explained_variance()[a];
            assert_close("covariance of scores", &products, &expected, within(model.explained_variance()[0]));
        }
        let total: f64 = model.explained_variance().iter().sum();
        assert_close("sum of variances", &[total], &[model.total_variance()], within(model.total_variance()));
    }

    #[test]
    fn permutations_change_only_the_order(
        rows in any_rows(), seed in 0u64..1000, solver in any_solver(), layout in any_layout(), scale: bool,
    ) {
        let (row_order, column_order) = (permutation(rows.len(), seed), permutation(rows[0].len(), seed + 1));
        let permuted: Rows =
            row_order.iter().map(|&i| column_order.iter().map(|&j| rows[i][j]).collect()).collect();
        let pca = complete(solver, scale);
        let (plain, moved) = (fit(&rows, layout, &pca, None), fit(&permuted, layout, &pca, None));
        let largest = plain.explained_variance()[0];
        assert_close("variance", moved.explained_variance(), plain.explained_variance(), within(largest));
        let mean: Vec<f64> = column_order.iter().map(|&j| plain.mean()[j]).collect();
        assert_close("mean", moved.mean(), &mean, within(10.0));
        let expected: Rows = components(&plain).iter()
            .map(|w| column_order.iter().map(|&j| w[j]).collect())
            .collect();
        assert_components(
            "components", &components(&moved), &expected, plain.explained_variance(), within(largest),
        );
    }

    #[test]
    fn importance_weights_ignore_a_common_factor(rows in any_rows(), seed in 0u64..1000, exponent in -200i32..200) {
        let weights = uniform_weights(rows.len(), seed);
        let factor = 2.0_f64.powi(exponent);
        let scaled: Vec<f64> = weights.iter().map(|w| w * factor).collect();
        let pca = Pca { weighting: karhunen::Weighting::Importance, ..complete(None, false) };
        let (a, b) = (
            fit(&rows, Layout::RowMajor, &pca, Some(&weights)),
            fit(&rows, Layout::RowMajor, &pca, Some(&scaled)),
        );
        assert_close("variance", a.explained_variance(), b.explained_variance(), within(a.explained_variance()[0]));
    }

    #[test]
    fn a_share_of_the_variance_takes_the_fewest_components(
        rows in any_rows(), solver in any_solver(), layout in any_layout(), fraction in 0.05..1.0f64,
    ) {
        let pca = Pca { n_components: NComponents::Variance(fraction), ..complete(solver, false) };
        let model = fit(&rows, layout, &pca, None);
        prop_assume!(model.total_variance() > 1e-6);
        let reached: f64 = model.explained_variance_ratio().iter().sum();
        let before = reached - model.explained_variance_ratio().last().unwrap();
        prop_assert!(reached >= fraction - 1e-9, "{} reached of {}", reached, fraction);
        prop_assert!(model.n_components() == 1 || before < fraction + 1e-9, "{} was enough for {}", before, fraction);
    }
}

/// The permutation that sorts random numbers.
fn permutation(n: usize, seed: u64) -> Vec<usize> {
    let keys = &gaussian(1, n, seed)[0];
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    order
}

/// The bits of all results of a fit and a transform.
fn bits<T: Scalar>(x: &dyn Source<T>, pca: &Pca, weights: &Weights<'_>, run: &Run<'_>) -> Vec<u64> {
    let model = pca.fit_with(x, weights, run).unwrap();
    let how = karhunen::pca::Transform::default();
    let scores = model.transform_with(x, how, run).unwrap();
    let rebuilt = model.inverse_transform_with(&scores, how, run).unwrap();
    let parts = model.parts();
    let vectors: [&[f64]; 6] = [
        parts.components.as_slice(),
        &parts.explained_variance,
        &parts.singular_values,
        &parts.mean,
        &parts.scale,
        &parts.convergence.residuals,
    ];
    let numbers = vectors.concat().into_iter().chain([parts.total_variance, parts.noise_variance]);
    let values = scores.as_slice().iter().chain(rebuilt.as_slice()).map(|x| x.to_f64());
    numbers.chain(values).map(f64::to_bits).collect()
}

/// Shapes that every kernel divides into several pieces.
fn same_bits_for_every_number_of_threads<T: Scalar>() {
    let matrices = [
        ("tall", planted(1500, 70, &power_law(40, 1.0), 1.0, 3).rows),
        ("wide", planted(70, 1500, &power_law(40, 1.0), 1.0, 4).rows),
        ("zipf", sparse(900, 300, 0.1, Columns::Zipf, 5).to_rows()),
    ];
    for (name, rows) in matrices {
        let weights = uniform_weights(rows.len(), 9);
        for layout in Layout::FEW {
            for solver in SOLVERS {
                for weights in [Weights::default(), Weights::of_samples(&weights)] {
                    let pca = Pca { solver, scale: true.into(), ..Pca::new(8) };
                    layout.with::<T, _>(&rows, |x| {
                        let one = bits(x, &pca, &weights, &Run::threads(1));
                        for n_threads in [Some(2), Some(3), None] {
                            let many = bits(x, &pca, &weights, &Run { n_threads, ..Run::default() });
                            assert!(
                                one == many,
                                "{name} {layout:?} {solver:?}: {n_threads:?} threads differ from one"
                            );
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn same_bits_for_every_number_of_threads_f64() {
    same_bits_for_every_number_of_threads::<f64>();
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn same_bits_for_every_number_of_threads_f32() {
    same_bits_for_every_number_of_threads::<f32>();
}
