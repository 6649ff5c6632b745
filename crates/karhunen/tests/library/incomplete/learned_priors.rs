//! The learned prior of the means, and hyperpriors of learned variances.

use karhunen::incomplete::{MeanMode, MeanPrior, Method, NormalPrior};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed};
use karhunen_testkit::{Incomplete, SplitMix64};

use crate::incomplete::fixtures::{observed, test_rmse};

const VARIATIONAL: [Method; 3] = [Method::Vb, Method::VbFixed, Method::VbFull];

/// Means drawn from N(4, 1.5^2); most features have a few entries only.
fn few_entries(seed: u64) -> Incomplete {
    let mut rng = SplitMix64::new(seed);
    let mut table = Incomplete::planted(60, 40, &[1.0], 1.0, 0.0, seed);
    for j in 0..40 {
        let mean = 4.0 + 1.5 * rng.normal();
        let before = table.noise_free.iter().map(|row| row[j]).sum::<f64>() / 60.0;
        for rows in [&mut table.complete, &mut table.noise_free] {
            rows.iter_mut().for_each(|row| row[j] += mean - before);
        }
    }
    for (i, row) in table.observed.iter_mut().enumerate() {
        for (j, seen) in row.iter_mut().enumerate() {
            *seen = if j < 10 {
                rng.uniform() < 0.8
            } else {
                (i + 7 * j) % 60 < 2 || (j % 3 == 0 && i % 29 == j % 29)
            };
        }
    }
    table
}

fn options(method: Method) -> IncompletePca {
    IncompletePca { method, tol: 1e-10, max_iter: 600, ..IncompletePca::new(2) }
}

fn fit(pca: IncompletePca, data: &Observed<f64>) -> IncompleteModel {
    pca.fit(data).unwrap()
}

#[test]
fn the_cost_never_rises() {
    let table = Incomplete::planted(60, 20, &[3.0, 2.0, 1.0], 0.5, 0.5, 3);
    let data = observed(&table);
    for method in VARIATIONAL {
        for (learn_mean_prior, hyperprior) in [(true, 0.0), (false, 0.5), (true, 1e-3), (true, 4.0)] {
            for row_offsets in [false, true] {
                let pca = IncompletePca {
                    method,
                    learn_mean_prior,
                    hyperprior,
                    row_offsets,
                    ..IncompletePca::new(5)
                };
                let model = fit(IncompletePca { max_iter: 70, tol: 0.0, ..pca }, &data);
                for pair in model.convergence().trace.windows(2) {
                    let [before, after] = pair else { unreachable!() };
                    assert!(
                        after.cost <= before.cost + 1e-11 * before.cost.abs(),
                        "{} {learn_mean_prior} {hyperprior} {row_offsets}, iteration {}: {} after {}",
                        method.name(),
                        after.iteration,
                        after.cost,
                        before.cost
                    );
                }
            }
        }
    }
}

/// Without a component the model is a one-way layout with random effects, whose most likely variances are known
/// in closed form: those within features, and between their means less what the noise explains.
#[test]
fn complete_noise_has_the_variances_of_random_effects() {
    let (n, p) = (400, 12);
    let mut rng = SplitMix64::new(5);
    let mut x = vec![0.0; n * p];
    let means: Vec<f64> = (0..p).map(|_| 3.0 + 0.2 * rng.normal()).collect();
    x.iter_mut().enumerate().for_each(|(at, x)| *x = means[at % p] + 2.0 * rng.normal());
    let data = Observed::from_dense(&Dense::row_major(&x, n, p).unwrap()).unwrap();
    let of_feature = |j: usize| (0..n).map(move |i| i * p + j);
    let observed: Vec<f64> = (0..p).map(|j| of_feature(j).map(|at| x[at]).sum::<f64>() / n as f64).collect();
    let within: f64 = (0..p)
        .flat_map(|j| of_feature(j).map(move |at| (at, j)))
        .map(|(at, j)| (x[at] - observed[j]).powi(2))
        .sum();
    let noise = within / (p * (n - 1)) as f64;
    let centre = observed.iter().sum::<f64>() / p as f64;
    let between = observed.iter().map(|mean| (mean - centre).powi(2)).sum::<f64>() / p as f64;
    let variance = between - noise / n as f64;
    let shrinkage = variance / (variance + noise / n as f64);
    // The shrinkage is visible: the prior is worth about a hundred entries.
    assert!(shrinkage > 0.3 && shrinkage < 0.9, "{shrinkage}");
    for method in [Method::Vb, Method::VbFull] {
        let pca = IncompletePca {
            learn_mean_prior: true,
            n_components: 1,
            tol: 1e-13,
            max_iter: 3000,
            ..options(method)
        };
        let model = fit(pca, &data);
        let NormalPrior { mean: found_centre, variance: found } = model.parts().mean_prior.unwrap();
        let name = method.name();
        // The component that the noise leaves fades, and keeps a share of it that falls with n.
        assert!(
            (model.noise_variance() / noise - 1.0).abs() < 0.01,
            "{name}: {} {noise}",
            model.noise_variance()
        );
        assert!((found_centre - centre).abs() < 1e-3, "{name}: {found_centre} {centre}");
        assert!((found / variance - 1.0).abs() < 0.02, "{name}: {found} {variance}");
        for (mean, observed) in model.mean().iter().zip(&observed) {
            let expected = centre + shrinkage * (observed - centre);
            assert!((mean - expected).abs() < 3e-3, "{name}: {mean} {expected}");
        }
    }
}

#[test]
fn the_learned_prior_is_the_fixed_point_of_its_update() {
    let data = observed(&few_entries(3));
    let mean_square = {
        // The unit of the hyperprior: the mean squared deviation of an entry from the mean of its feature.
        let columns = (0..data.n_features()).map(|j| data.column(j).1);
        let squares = columns.map(|values| {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
        });
        squares.sum::<f64>() / data.n_observed() as f64
    };
    for method in VARIATIONAL {
        for (hyperprior, given) in [(0.0, None), (2.0, None), (0.5, Some(3.0))] {
            let mean_prior = MeanPrior { count: 0.0, value: given };
            let pca = IncompletePca { learn_mean_prior: true, hyperprior, mean_prior, ..options(method) };
            let model = fit(pca, &data);
            let parts = model.parts();
            let NormalPrior { mean, variance } = parts.mean_prior.unwrap();
            let p = data.n_features() as f64;
            let expected = given.unwrap_or(parts.mean.iter().sum::<f64>() / p);
            let name = method.name();
            assert!((mean - expected).abs() < 1e-4, "{name} {hyperprior}: mean {mean} {expected}");
            let moments = parts.mean.iter().zip(&parts.mean_variance).map(|(m, v)| (m - mean).powi(2) + v);
            let expected = (moments.sum::<f64>() + 2.0 * hyperprior * mean_square) / (p + 2.0 * hyperprior);
            assert!(
                (variance / expected - 1.0).abs() < 5e-3,
                "{name} {hyperprior}: variance {variance} {expected}"
            );
        }
    }
}

#[test]
fn few_entries_are_predicted_better_from_a_common_prior() {
    // With fixed prior variances of the components their scores may take over the means.
    for method in [Method::Vb, Method::VbFull] {
        let (mut with, mut without) = (0.0, 0.0);
        for seed in 1..=3 {
            let table = few_entries(seed);
            let data = observed(&table);
            let error = |learn_mean_prior| {
                test_rmse(&fit(IncompletePca { learn_mean_prior, ..options(method) }, &data), &table)
            };
            with += error(true) / 3.0;
            without += error(false) / 3.0;
        }
        assert!(with < 0.97 * without, "{}: {with} with a learned prior, {without} without", method.name());
    }
}

#[test]
fn features_without_entries_have_the_learned_prior() {
    let mut table = few_entries(2);
    table.observed.iter_mut().for_each(|row| row[39] = false);
    let data = observed(&table);
    for method in VARIATIONAL {
        let model = fit(IncompletePca { learn_mean_prior: true, ..options(method) }, &data);
        let parts = model.parts();
        let NormalPrior { mean, variance } = parts.mean_prior.unwrap();
        assert!((parts.mean[39] - mean).abs() < 1e-3, "{}: {} {mean}", method.name(), parts.mean[39]);
        assert!((parts.mean_variance[39] / variance - 1.0).abs() < 1e-9);
        // It has no part in the prior: without it, the prior is the same.
        let values: Vec<f64> = table.with_nan().chunks(40).flat_map(|row| row[..39].to_vec()).collect();
        let fewer = Observed::from_dense(&Dense::row_major(&values, 60, 39).unwrap()).unwrap();
        let without = fit(IncompletePca { learn_mean_prior: true, ..options(method) }, &fewer);
        let expected = without.parts().mean_prior.unwrap();
        assert!((mean - expected.mean).abs() < 1e-2, "{}: {mean} {}", method.name(), expected.mean);
        assert!((variance / expected.variance - 1.0).abs() < 0.05, "{variance} {}", expected.variance);
    }
}

#[test]
fn a_hyperprior_has_no_unit() {
    let table = Incomplete::planted(60, 12, &[2.0, 1.0], 0.5, 0.4, 4);
    let data = observed(&table);
    let scaled: Vec<f64> = table.with_nan().iter().map(|x| 1024.0 * x).collect();
    let scaled = Observed::from_dense(&Dense::row_major(&scaled, 60, 12).unwrap()).unwrap();
    for method in VARIATIONAL {
        let pca = IncompletePca {
            learn_mean_prior: true,
            hyperprior: 3.0,
            max_iter: 60,
            tol: 0.0,
            ..options(method)
        };
        let (one, other) = (fit(pca.clone(), &data), fit(pca, &scaled));
        let same = |a: f64, b: f64| (b / a / 1024.0f64.powi(2) - 1.0).abs() < 1e-6;
        assert!(same(one.noise_variance(), other.noise_variance()), "{}", method.name());
        let variance = |model: &IncompleteModel| model.parts().mean_prior.unwrap().variance;
        assert!(same(variance(&one), variance(&other)), "{}", method.name());
    }
}

#[test]
fn a_strong_hyperprior_holds_every_variance_near_the_unit() {
    let data = observed(&Incomplete::planted(60, 12, &[2.0, 1.0], 0.5, 0.4, 4));
    let noise =
        |hyperprior| fit(IncompletePca { hyperprior, ..options(Method::VbFull) }, &data).noise_variance();
    let (none, some, strong) = (noise(0.0), noise(20.0), noise(1e6));
    assert!(none < some && some < strong, "{none} {some} {strong}");
}

#[test]
fn methods_without_these_priors_refuse_them() {
    let data = observed(&Incomplete::planted(30, 6, &[2.0], 0.5, 0.3, 4));
    let refused = |pca: IncompletePca, expected: &str| {
        let message = pca.fit(&data).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    };
    let ok = IncompletePca { learn_mean_prior: true, ..IncompletePca::new(2) };
    assert!(ok.fit(&data).is_ok());
    for method in [Method::Ppca, Method::Map, Method::Als, Method::Em, Method::Online] {
        refused(IncompletePca { method, ..ok.clone() }, "learn_mean_prior");
        refused(IncompletePca { method, hyperprior: 0.1, ..IncompletePca::new(2) }, "hyperprior");
    }
    refused(IncompletePca { scale: true.into(), ..ok.clone() }, "no common unit");
    refused(IncompletePca { mean: MeanMode::Fixed, ..ok.clone() }, "learn_mean_prior");
    refused(
        IncompletePca { mean_prior: MeanPrior { count: 2.0, value: None }, ..ok.clone() },
        "learned or given",
    );
    for hyperprior in [-1.0, f64::NAN, f64::INFINITY] {
        refused(IncompletePca { hyperprior, ..IncompletePca::new(2) }, "hyperprior");
    }
    let weighted = data.clone().with_feature_weights(&[1.0, 2.0, 1.0, 1.0, 1.0, 1.0]).unwrap();
    assert!(ok.fit(&weighted).unwrap_err().to_string().contains("no common prior"));
}
