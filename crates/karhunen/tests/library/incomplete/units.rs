//! Fits of data in another unit are equal up to that unit.

use karhunen::incomplete::{Method, OnlineRule};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed, Run};
use karhunen_testkit::{Incomplete, largest};

/// The largest relative difference between two fits, the second of data times `unit`.
fn apart(model: &IncompleteModel, scaled: &IncompleteModel, unit: f64) -> f64 {
    if model.n_components() != scaled.n_components() {
        return f64::INFINITY;
    }
    let relative = |found: &[f64], expected: &[f64], unit: f64| {
        let size = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        let away: f64 = found.iter().zip(expected).map(|(x, y)| (x / unit - y).powi(2)).sum();
        away.sqrt() / size
    };
    let filled = |model: &IncompleteModel| {
        let all = (0..model.n_samples()).flat_map(|j| (0..model.n_features()).map(move |i| (j, i)));
        all.map(|(j, i)| model.predict(j, i).unwrap()).collect::<Vec<_>>()
    };
    let (found, expected) = (filled(scaled), filled(model));
    let pairs = |of: &dyn Fn(&karhunen::incomplete::Prediction) -> f64, unit: f64| {
        let found: Vec<f64> = found.iter().map(of).collect();
        relative(&found, &expected.iter().map(of).collect::<Vec<f64>>(), unit)
    };
    largest([
        pairs(&|p| p.value, unit),
        pairs(&|p| p.std().unwrap(), unit),
        relative(&[scaled.noise_variance()], &[model.noise_variance()], unit * unit),
        relative(scaled.explained_variance(), model.explained_variance(), unit * unit),
        relative(scaled.mean(), model.mean(), unit),
    ])
}

/// Names every kind of fit that differs by more than `allowed` between the units `units` and the unit one.
fn all_apart(units: &[f64], allowed: f64) -> Vec<String> {
    let table = Incomplete::planted(60, 12, &[3.0, 2.0, 1.0], 0.3, 0.3, 5);
    let observed = |unit: f64| {
        let x: Vec<f64> = table.with_nan().iter().map(|x| (x + 0.5) * unit).collect();
        Observed::from_dense(&Dense::row_major(&x, 60, 12).unwrap()).unwrap()
    };
    let mut found = Vec::new();
    let rules = |method: Method| match method {
        Method::Online => vec![OnlineRule::Diagonal, OnlineRule::Rls, OnlineRule::Oja],
        _ => vec![OnlineRule::Diagonal],
    };
    let all = Method::ALL.into_iter().flat_map(|method| rules(method).into_iter().map(move |r| (method, r)));
    for (method, online_rule) in all {
        for row_offsets in [false, true] {
            let fit = |unit: f64| {
                // Rounding must not decide when a fit stops.
                let pca =
                    IncompletePca { method, online_rule, row_offsets, tol: 0.0, ..IncompletePca::new(4) };
                IncompletePca { max_iter: 60, ..pca }.fit(&observed(unit)).unwrap()
            };
            let model = fit(1.0);
            for unit in units {
                let far = apart(&model, &fit(*unit), *unit);
                // Recursive least squares amplify rounding from pass to pass. So does the number of parameters of
                // a component that a ridge makes inactive next to offsets. Penalties of short starts shrink the component
                // of noise until rounding matters, and em has no penalty that makes it converge.
                let rough = online_rule == OnlineRule::Rls
                    || (method == Method::Ridge && row_offsets)
                    || method == Method::Em;
                let allowed = if rough { 1e-3 } else { allowed };
                if far.is_nan() || far > allowed {
                    let name = (method.name(), online_rule);
                    found.push(format!("{name:?} with offsets {row_offsets} at {unit:e}: {far:e}"));
                }
            }
        }
    }
    found
}

#[test]
fn units_of_powers_of_two_change_only_the_scale() {
    let found = all_apart(&[2f64.powi(-26), 2f64.powi(20), 2f64.powi(30)], 1e-6);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn units_of_powers_of_ten_change_only_the_scale() {
    let found = all_apart(&[1e-8, 1e6, 1e9], 1e-6);
    assert!(found.is_empty(), "{found:#?}");
}

/// A common factor of the weights of entries is one of the noise alone: inverse variances of any unit are weights.
#[test]
fn a_common_factor_of_the_weights_of_entries_changes_the_noise_alone() {
    let table = Incomplete::planted(60, 12, &[3.0, 2.0, 0.5], 0.4, 0.2, 3);
    let values = table.with_nan();
    let x = Dense::row_major(&values, 60, 12).unwrap();
    let mut apart = Vec::new();
    let learning = [Method::Auto, Method::Ppca, Method::Map, Method::Vb, Method::VbFixed, Method::VbFull];
    for method in [&learning[..], &[Method::Ridge, Method::Als, Method::Em]].concat() {
        let fit = |factor: f64| {
            let weights: Vec<f64> = (0..values.len()).map(|e| factor * (1 + e % 3) as f64).collect();
            let weights = Dense::row_major(&weights, 60, 12).unwrap();
            let data = Observed::from_dense_weighted(&x, &weights).unwrap();
            IncompletePca { method, ..IncompletePca::new(6) }.fit(&data).unwrap()
        };
        let model = fit(1.0);
        // Powers of two, which leave the roundings as they are.
        for factor in [2f64.powi(-60), 2f64.powi(-30), 2f64.powi(-10), 2f64.powi(40)] {
            let scaled = fit(factor);
            let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
            let variances = [scaled.explained_variance(), model.explained_variance()];
            let noises = [scaled.noise_variance() / factor, model.noise_variance()];
            let predictions = [&scaled, &model].map(|model| model.predict(3, 3).unwrap().value);
            let same = scaled.n_components() == model.n_components()
                && variances[0].iter().zip(variances[1]).all(|(a, b)| close(*a, *b))
                && close(noises[0], noises[1])
                && close(predictions[0], predictions[1]);
            if !same {
                apart.push(format!("{} {factor:e}: {variances:?} {noises:?}", method.name()));
            }
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}

/// Error bars are stored in single precision, whose range variances of these units exceed.
#[test]
fn error_bars_take_any_unit() {
    let table = Incomplete::planted(60, 12, &[3.0, 2.0, 1.0], 0.3, 0.3, 5);
    for method in [Method::Ppca, Method::VbFull, Method::Ridge, Method::Em] {
        let fit = |unit: f64| {
            let x: Vec<f64> = table.with_nan().iter().map(|x| (x + 0.5) * unit).collect();
            let data = Observed::from_dense(&Dense::row_major(&x, 60, 12).unwrap()).unwrap();
            let model = IncompletePca { method, tol: 1e-9, ..IncompletePca::new(3) }.fit(&data).unwrap();
            // New rows have their own covariances.
            let (_, covariances) = model.transform_with_covariances(&data, &Run::default()).unwrap();
            (covariances.get(3, 0, 0), model)
        };
        let (variance, model) = fit(1.0);
        for unit in [1e-40, 1e-25, 1e19, 1e40] {
            let (found, scaled) = fit(unit);
            let far = apart(&model, &scaled, unit);
            assert!(far < 1e-5, "{} {unit:e}: {far:e}", method.name());
            assert!((found / variance / (unit * unit) - 1.0).abs() < 1e-4, "{} {unit:e}", method.name());
        }
    }
}

/// In single precision the products of factors overflow before the factors do.
#[test]
fn single_precision_takes_any_unit() {
    let table = Incomplete::planted(60, 12, &[3.0, 2.0, 1.0], 0.3, 0.3, 5);
    let methods = [Method::Gradient, Method::Natural, Method::Newton, Method::Als, Method::Imputation];
    for method in methods {
        let fit = |unit: f64| {
            let x: Vec<f32> = table.with_nan().iter().map(|x| ((x + 0.5) * unit) as f32).collect();
            let data = Observed::from_dense(&Dense::row_major(&x, 60, 12).unwrap()).unwrap();
            let pca = IncompletePca { method, max_iter: 500, error_bars: false, ..IncompletePca::new(3) };
            let model = pca.fit(&data).unwrap();
            model.convergence().trace.last().unwrap().rmse / unit
        };
        let expected = fit(1.0);
        for unit in [1e-12, 1e9, 1e14] {
            let found = fit(unit);
            assert!((found / expected - 1.0).abs() < 0.05, "{} {unit:e}: {found} {expected}", method.name());
        }
    }
}
