//! The three meanings of weights, compared with one another and with repeated rows.

use karhunen::{Error, NComponents, Pca, PcaModel, Weighting, Weights};
use karhunen_testkit::{Rows, Tolerance, assert_close, assert_components, gaussian};

use crate::fits::expect::{SOLVERS, components};
use crate::fits::sources::Layout;

const N: usize = 12;

/// Factors that make the sum of weights near one, near two, far below and far above.
const FACTORS: [f64; 8] = [1e-300, 1e-9, 0.999_999_9, 1.0, 2.000_000_1, 437.0, 1e9, 1e300];

fn rows() -> Rows {
    gaussian(N, 4, 21)
}

/// Weights that sum to `factor`, fractional or equal.
fn weights(factor: f64, equal: bool) -> Vec<f64> {
    let raw: Vec<f64> = (0..N).map(|i| if equal { 1.0 } else { 0.3 + (i * i % 7) as f64 }).collect();
    let sum: f64 = raw.iter().sum();
    raw.iter().map(|w| w / sum * factor).collect()
}

fn fit(
    weighting: Weighting,
    solver: Option<karhunen::pca::Route>,
    scale: bool,
    weights: &[f64],
) -> karhunen::Result<PcaModel> {
    let n_components = NComponents::Count(2);
    let pca =
        Pca { n_components, weighting, solver, scale: scale.into(), tol: Some(1e-12), ..Pca::default() };
    Layout::RowMajor.with::<f64, _>(&rows(), |x| pca.fit(x, &Weights::of_samples(weights)))
}

fn near(norm: f64) -> Tolerance {
    Tolerance { multiple: 1.0, epsilon: 1e-9, norm }
}

/// Checks that variances equal the population variances times the correction, and singular values their roots times the
/// root of the number of observations; the components are equal.
fn assert_related(name: &str, model: &PcaModel, population: &PcaModel, correction: f64, observations: f64) {
    let variances = |model: &PcaModel, factor: f64| -> Vec<f64> {
        let noise_and_total = [model.noise_variance(), model.total_variance()];
        model.explained_variance().iter().chain(&noise_and_total).map(|v| v * factor).collect()
    };
    let expected = variances(population, correction);
    let found = variances(model, 1.0);
    let total = expected.len() - 1;
    assert_close(name, &found[..total], &expected[..total], near(expected[0]));
    assert_close(name, &found[total..], &expected[total..], near(expected[total]));
    let root = observations.sqrt();
    let singular: Vec<f64> = model.singular_values().iter().map(|s| s / root).collect();
    let deviations: Vec<f64> = population.explained_variance().iter().map(|v| v.sqrt()).collect();
    assert_close(name, &singular, &deviations, near(deviations[0]));
    let (found, wanted) = (components(model), components(population));
    assert_components(name, &found, &wanted, population.explained_variance(), near(expected[0]));
}

#[test]
fn the_leading_components_of_a_model_match_a_fit_that_keeps_fewer() {
    // Tall and wide, so that the number of discarded variances is given by columns or by rows.
    for p in [6, 20] {
        let rows = gaussian(N, p, 5);
        let by_row = weights(30.0, false);
        let by_column: Vec<f64> = (0..p).map(|j| 0.5 + (j % 3) as f64).collect();
        for weighting in [Weighting::Frequency, Weighting::Importance, Weighting::Population] {
            for (center, scale, given) in [
                (true, false, Weights::default()),
                (true, true, Weights { samples: Some(&by_row), features: Some(&by_column) }),
                (false, true, Weights::of_samples(&by_row)),
            ] {
                let fit = |n_components| {
                    let pca = Pca { n_components, weighting, ..Pca::default() }.center(center).scale(scale);
                    Layout::RowMajor.with::<f64, _>(&rows, |x| pca.fit(x, &given)).unwrap()
                };
                for from in [NComponents::All, NComponents::Count(5)] {
                    let (found, expected) = (fit(from).leading(3).unwrap(), fit(NComponents::Count(3)));
                    let name = format!("{p} {weighting} {center} {scale} {from:?}");
                    for (found, expected) in [
                        (found.explained_variance(), expected.explained_variance()),
                        (found.explained_variance_ratio(), expected.explained_variance_ratio()),
                        (found.singular_values(), expected.singular_values()),
                        (&[found.noise_variance()], &[expected.noise_variance()]),
                        (found.components().as_slice(), expected.components().as_slice()),
                    ] {
                        assert_close(&name, found, expected, near(expected[0].abs().max(1.0)));
                    }
                    assert_eq!(found.options(), expected.options());
                    assert_eq!(found.convergence().residuals.len(), 3);
                }
            }
        }
    }
    let model = fit(Weighting::Frequency, None, false, &weights(12.0, true)).unwrap();
    assert_eq!(model.leading(2).unwrap().noise_variance(), model.noise_variance());
    for k in [0, 3] {
        assert!(model.leading(k).unwrap_err().to_string().contains("the model has 2 components"));
    }
}

#[test]
fn the_meanings_differ_only_by_their_divisors() {
    for solver in SOLVERS {
        for equal in [false, true] {
            let shares = weights(1.0, equal);
            let population = fit(Weighting::Population, solver, false, &shares).unwrap();
            let rest = 1.0 - shares.iter().map(|v| v * v).sum::<f64>();
            for factor in FACTORS {
                let weights = weights(factor, equal);
                let name = format!("{solver:?}, sum {factor:e}, equal {equal}");
                let same = fit(Weighting::Population, solver, false, &weights).unwrap();
                assert_related(&name, &same, &population, 1.0, factor);
                let importance = fit(Weighting::Importance, solver, false, &weights).unwrap();
                assert_related(&name, &importance, &population, 1.0 / rest, 1.0 / (1.0 - rest));
                match fit(Weighting::Frequency, solver, false, &weights) {
                    Ok(model) if factor >= 2.0 => {
                        let name = format!("frequency, {name}");
                        assert_related(&name, &model, &population, factor / (factor - 1.0), factor);
                    }
                    Err(Error::FrequencyTooSmall { .. }) if factor < 2.0 => {}
                    other => panic!("{name}: {:?}", other.map(|model| model.explained_variance().to_vec())),
                }
            }
        }
    }
}

/// Scaling by the deviation with the same divisor cancels the divisor.
#[test]
fn standardized_variances_do_not_depend_on_the_divisor() {
    let variances = |weighting, factor| {
        let model = fit(weighting, None, true, &weights(factor, false)).unwrap();
        assert_close("total", &[model.total_variance()], &[4.0], near(4.0));
        model.explained_variance().to_vec()
    };
    let expected = variances(Weighting::Population, 1.0);
    for factor in FACTORS {
        assert_close("population", &variances(Weighting::Population, factor), &expected, near(4.0));
        assert_close("importance", &variances(Weighting::Importance, factor), &expected, near(4.0));
        if factor >= 2.0 {
            assert_close("frequency", &variances(Weighting::Frequency, factor), &expected, near(4.0));
        }
    }
}

/// The sum of the weights overflows; the normalised weights and the root of the sum do not.
#[test]
fn weights_whose_sum_is_beyond_f64_have_finite_results() {
    let huge = weights(1e308, false).iter().map(|w| w * 11.0).collect::<Vec<_>>();
    let expected = fit(Weighting::Population, None, false, &weights(1.0, false)).unwrap();
    for weighting in [Weighting::Frequency, Weighting::Population, Weighting::Importance] {
        let model = fit(weighting, None, false, &huge).unwrap();
        assert!(model.singular_values().iter().all(|s| s.is_finite()), "{weighting:?}");
        let ratios = expected.explained_variance_ratio();
        assert_close("ratios", model.explained_variance_ratio(), ratios, near(1.0));
    }
}

/// Without weights, no message mentions weights.
#[test]
fn one_row_is_refused_by_its_number() {
    for weighting in [Weighting::Frequency, Weighting::Importance] {
        let pca = Pca { weighting, ..Pca::default() };
        let error = Layout::RowMajor
            .with::<f64, _>(&[vec![1.0, 2.0]], |x| pca.fit(x, &Weights::default()))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the data have one row, so the divisor n - 1 is zero; give at least two rows, or use weighting \
             = population (divisor n)"
        );
    }
}
