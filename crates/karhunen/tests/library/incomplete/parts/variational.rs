//! Variational Bayes.

use karhunen::incomplete::{MeanMode, MeanPrior};
use karhunen::{Dense, IncompletePca, Observed};

use crate::incomplete::fixtures::observed;
use crate::incomplete::parts::engine::Parts;
use crate::incomplete::parts::equality::{assert_equal, assert_equal_bars, assert_equal_predictions};
use crate::incomplete::parts::{SIZES, problem, variational};

#[test]
fn variational_bayes_in_parts_matches_all_rows_iteration_by_iteration() {
    let table = problem();
    let weights: Vec<f64> = (0..80).map(|i| [1.0, 3.0, 0.0, 2.0, 0.5][i % 5]).collect();
    let mut n_pruned = 0;
    for mean in [MeanMode::Joint, MeanMode::Fixed, MeanMode::None] {
        for weights in [None, Some(&weights)] {
            for (sparse, max_iter) in [(false, 1), (true, 2), (false, 9), (true, 45), (false, 80)] {
                let what = format!("{mean:?} {} {sparse} {max_iter}", weights.is_some());
                let pca = IncompletePca { mean, ..variational(5, max_iter) };
                let all = observed(&table);
                let all = match weights {
                    Some(weights) => all.with_sample_weights(weights).unwrap(),
                    None => all,
                };
                let whole = pca.fit(&all).unwrap();
                let parts = Parts { weights: weights.cloned(), sparse, ..Parts::new(&table, &SIZES) };
                let found = pca.fit_parts(&parts).unwrap();
                assert_equal(&what, &found, &whole, 1e-9);
                assert_equal_bars(&what, &found, &whole, 1e-5);
                assert_equal_predictions(&what, &found, &whole, 1e-9);
                assert_eq!(found.convergence().reason, whole.convergence().reason);
                assert_eq!(found.parts().scores.n_rows(), 0);
                let n_left = whole.parts().components.n_rows();
                n_pruned += 5 - n_left;
                // One pass for the means, four sweeps after the start, the iterations, one for the final scores, one
                // for the noise of each feature, and one for every attempt to prune.
                let n_passes = *parts.n_tasks.lock().unwrap();
                assert!(n_passes >= 7 + max_iter + 5 - n_left, "{what}: {n_passes}");
                assert!(max_iter >= 10 || n_passes == 7 + max_iter, "{what}: {n_passes}");
            }
        }
    }
    assert!(n_pruned > 10, "{n_pruned}");
}

#[test]
fn variational_bayes_in_parts_obeys_its_options() {
    let table = problem();
    for (what, pca) in [
        ("prior of the mean", {
            let mean_prior = MeanPrior { count: 3.0, value: Some(1.0) };
            IncompletePca { mean_prior, ..variational(4, 60) }
        }),
        ("learned priors", IncompletePca { learn_mean_prior: true, hyperprior: 0.1, ..variational(3, 60) }),
        ("converged", IncompletePca { tol: 1e-7, ..variational(3, 400) }),
        ("settled errors", IncompletePca { rmse_tol: Some(1e-4), ..variational(2, 400) }),
        ("settled loadings", IncompletePca { angle_tol: Some(1e-4), ..variational(3, 400) }),
        ("several starts", IncompletePca { n_starts: Some(3), ..variational(3, 9) }),
        ("no error bars", IncompletePca { error_bars: false, ..variational(3, 30) }),
    ] {
        let whole = pca.fit(&observed(&table)).unwrap();
        let found = pca.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
        assert_equal(what, &found, &whole, 1e-9);
        assert_equal_bars(what, &found, &whole, 1e-5);
        assert_eq!(found.convergence().stop, whole.convergence().stop, "{what}");
        assert_eq!(found.parts().score_covariances.is_some(), pca.error_bars);
    }
}

#[test]
fn variational_bayes_in_parts_of_single_precision() {
    let table = problem();
    let pca = variational(4, 40);
    let single: Vec<f32> = table.with_nan().iter().map(|x| *x as f32).collect();
    let whole = pca.fit(&Observed::from_dense(&Dense::row_major(&single, 80, 12).unwrap()).unwrap()).unwrap();
    let found = pca.fit_parts(&Parts { single: true, ..Parts::new(&table, &SIZES) }).unwrap();
    assert_equal("f32", &found, &whole, 2e-4);
}

#[test]
fn variational_bayes_in_parts_keeps_columns_and_rows_without_entries() {
    let mut table = problem();
    for (i, row) in table.observed.iter_mut().enumerate() {
        row[4] = false;
        if i % 7 == 3 {
            row.fill(false);
        }
    }
    let pca = variational(3, 30);
    let whole = pca.fit(&observed(&table)).unwrap();
    let found = pca.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
    assert_equal("without entries", &found, &whole, 1e-9);
    assert_eq!(found.parts().n_observed[4], 0);
}

#[test]
fn variational_bayes_in_parts_of_constant_columns_has_no_components() {
    let mut table = problem();
    for row in &mut table.complete {
        row.iter_mut().enumerate().for_each(|(j, x)| *x = j as f64);
    }
    for mean in [MeanMode::Joint, MeanMode::Fixed] {
        let pca = IncompletePca { mean, ..variational(2, 30) };
        let whole = pca.fit(&observed(&table)).unwrap();
        let found = pca.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
        let (x, y) = (found.parts(), whole.parts());
        assert_eq!((x.noise_variance, &x.explained_variance), (y.noise_variance, &y.explained_variance));
        assert_eq!(x.mean, y.mean);
        assert_eq!(found.convergence().reason, whole.convergence().reason);
        assert!(found.convergence().reason.contains("collapsed"));
        assert_equal_predictions("constant", &found, &whole, 1e-12);
    }
}
