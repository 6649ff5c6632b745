//! Probabilistic PCA whose components fit noise says so.

use karhunen::incomplete::{Duplicates, Method, Overfit, StopReason, Triples};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed};
use karhunen_testkit::{Catalogue, Incomplete, SplitMix64, svd};

use crate::incomplete::fixtures::{observed, test_rmse};

fn fit(data: &Observed<f64>, n_components: usize) -> IncompleteModel {
    let pca = IncompletePca { method: Method::Ppca, ..IncompletePca::new(n_components) };
    pca.fit(data).unwrap()
}

/// Of complete data the likelihood is known in closed form (Tipping & Bishop 1999, equation 7).
#[test]
fn the_gain_matches_the_closed_form() {
    let (n, p, c) = (150, 20, 6);
    let rows = SplitMix64::new(3).normals(n, p);
    let data = Observed::from_dense(&Dense::row_major(&rows.concat(), n, p).unwrap()).unwrap();
    let pca = IncompletePca { method: Method::Ppca, tol: 1e-13, max_iter: 20_000, ..IncompletePca::new(c) };
    let Overfit { gain, n_parameters, outnumbered } = pca.fit(&data).unwrap().convergence().overfit.unwrap();
    assert_eq!((n_parameters, outnumbered), (p * c - c * (c - 1) / 2, false));
    let mean = |j: usize| rows.iter().map(|row| row[j]).sum::<f64>() / n as f64;
    let means: Vec<f64> = (0..p).map(mean).collect();
    let centred: Vec<Vec<f64>> =
        rows.iter().map(|row| row.iter().zip(&means).map(|(x, mean)| x - mean).collect()).collect();
    let variances: Vec<f64> = svd(&centred).values.iter().map(|s| s * s / n as f64).collect();
    let log_of = |variances: &[f64], c: usize| {
        let noise = variances[c..].iter().sum::<f64>() / (p - c) as f64;
        variances[..c].iter().map(|v| v.ln()).sum::<f64>() + (p - c) as f64 * noise.ln()
    };
    let expected = 0.5 * n as f64 * (log_of(&variances, 0) - log_of(&variances, c));
    assert!((gain / expected - 1.0).abs() < 1e-4, "{gain} {expected}");
}

#[test]
fn components_that_fit_noise_are_distinguished_from_those_that_predict() {
    // Nothing but noise, and few entries of one component.
    let noise = Incomplete::planted(200, 40, &[0.0], 1.0, 0.5, 2);
    let few = Incomplete::planted(200, 40, &[0.3], 1.0, 0.8, 2);
    let many = Incomplete::planted(200, 40, &[2.0, 1.5], 0.5, 0.4, 2);
    for (table, c, expected) in
        [(&noise, 3, true), (&noise, 10, true), (&few, 12, true), (&many, 2, false), (&many, 6, false)]
    {
        let data = observed(table);
        let model = fit(&data, c);
        assert_eq!(model.convergence().overfit.is_some(), expected, "{c} {:?}", model.convergence().overfit);
        // Means alone: the error of the entries that are missing is larger or smaller.
        let means = IncompletePca { method: Method::VbFull, ..IncompletePca::new(1) }
            .fit(&data)
            .unwrap()
            .mean()
            .to_vec();
        let hidden = table.entries(false);
        let squares: f64 = hidden.iter().map(|(_, j, x)| (x - means[*j]).powi(2)).sum();
        let of_means = (squares / hidden.len() as f64).sqrt();
        assert_eq!(
            test_rmse(&model, table) > of_means,
            expected,
            "{c}: {} {of_means}",
            test_rmse(&model, table)
        );
    }
    // Entries that are held out decide when to stop, and other methods shrink.
    let data = observed(&noise);
    let held_out =
        IncompletePca { method: Method::Ppca, early_stopping: Some(0.1), ..IncompletePca::new(10) };
    assert_eq!(held_out.fit(&data).unwrap().convergence().overfit, None);
    assert_eq!(IncompletePca::new(10).fit(&data).unwrap().convergence().overfit, None);
}

/// The likelihood has no maximum; the fit stops long before the limit.
#[test]
fn a_fit_without_noise_stops() {
    let data = observed(&Incomplete::planted(300, 30, &[0.5], 1.0, 0.8, 4));
    // The cost falls slowly before the noise vanishes.
    assert!(matches!(fit(&data, 10).convergence().stop, StopReason::Overfit | StopReason::NoNoise));
    let on = IncompletePca { method: Method::Ppca, tol: 0.0, max_iter: 500, ..IncompletePca::new(10) };
    let model = on.fit(&data).unwrap();
    let convergence = model.convergence();
    assert_eq!(convergence.stop, StopReason::NoNoise);
    assert!(convergence.trace.len() < 500 && convergence.rmse < 0.02, "{convergence:?}");
    assert!(convergence.overfit.is_some_and(|overfit| overfit.outnumbered));
    // Fewer components leave noise.
    assert!(fit(&data, 1).convergence().overfit.is_none_or(|overfit| !overfit.outnumbered));
}

/// Ratings with few entries per column: the noise does not vanish, and the cost falls ever more slowly, without end.
#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn a_fit_of_more_parameters_than_entries_stops_where_little_is_gained() {
    let ratings = Catalogue::new(600, 370, 10_000).make();
    let triples = Triples {
        rows: &ratings.samples,
        columns: &ratings.features,
        values: &ratings.values,
        weights: None,
    };
    let data = Observed::from_triples(&triples, (600, 370), Duplicates::Refuse).unwrap();
    let pca = IncompletePca { method: Method::Ppca, max_iter: 200, ..IncompletePca::new(30) };
    let found = pca.fit(&data).unwrap().convergence().clone();
    assert_eq!(found.stop, StopReason::Overfit);
    assert!(found.met_criterion() && found.overfit.is_some_and(|overfit| overfit.outnumbered));
    let gain = |last: usize| found.trace[last - 10].cost - found.trace[last].cost;
    let (last, least) = (found.trace.len() - 1, 10.0 * 1e-3 * 10_000.0);
    assert!(gain(last) < least && gain(last - 1) >= least, "{} {}", gain(last - 1), gain(last));
    // Without a tolerance the limit decides; with entries held out, their error.
    let on = IncompletePca { tol: 0.0, max_iter: last + 10, ..pca.clone() };
    assert_eq!(on.fit(&data).unwrap().convergence().stop, StopReason::Iterations);
    let held_out = IncompletePca { early_stopping: Some(0.1), refit: true, ..pca };
    let found = held_out.fit(&data).unwrap().convergence().clone();
    assert_ne!(found.stop, StopReason::Overfit);
    assert_eq!(found.overfit, None);
}

/// One noise variance for all columns: the noise of a column of another unit hides the components of the others.
#[test]
fn a_column_that_hides_components_is_named() {
    let table = Incomplete::planted(200, 8, &[3.0, 2.0], 0.5, 0.2, 3);
    let fit = |factor: f64, scale: bool| {
        let mut values = table.with_nan();
        values.iter_mut().skip(4).step_by(8).for_each(|x| *x *= factor);
        let data = Observed::from_dense(&Dense::row_major(&values, 200, 8).unwrap()).unwrap();
        IncompletePca { scale: scale.into(), ..IncompletePca::new(2) }.fit(&data).unwrap().dominant()
    };
    assert_eq!(fit(1.0, false), None);
    let found = fit(1e5, false).unwrap();
    assert_eq!((found.column, found.n_lost), (4, 1));
    assert!(0.0 < found.others && found.others < 1e-7, "{}", found.others);
    assert_eq!(fit(1e5, true), None);
}
