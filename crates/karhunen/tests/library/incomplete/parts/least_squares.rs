//! The methods `em` and `als`. That bits depend on the parts alone is tested with variational Bayes as well.

use karhunen::incomplete::{MeanMode, MeanPrior, Method, Regularization, StopReason};
use karhunen::{Dense, IncompletePca, Observed};
use karhunen_testkit::{Incomplete, largest};

use crate::incomplete::fixtures::observed;
use crate::incomplete::parts::engine::Parts;
use crate::incomplete::parts::equality::{assert_equal, assert_equal_bars};
use crate::incomplete::parts::{SIZES, options, problem, variational};

#[test]
fn parts_give_the_fit_of_all_rows_iteration_by_iteration() {
    let table = problem();
    let weights: Vec<f64> = (0..80).map(|i| [1.0, 3.0, 0.0, 2.0, 0.5][i % 5]).collect();
    let cases = [
        (Method::Em, None),
        (Method::Als, None),
        (Method::Als, Some(Regularization::Ridge(0.7))),
        (Method::Als, Some(Regularization::Weighted(0.05))),
    ];
    for (method, regularization) in cases {
        for mean in [MeanMode::Joint, MeanMode::Fixed, MeanMode::None] {
            for weights in [None, Some(&weights)] {
                for sparse in [false, true] {
                    let what = format!("{method} {regularization:?} {mean:?} {} {sparse}", weights.is_some());
                    let pca = IncompletePca { mean, ..options(method, regularization) };
                    let all = observed(&table);
                    let all = match weights {
                        Some(weights) => all.with_sample_weights(weights).unwrap(),
                        None => all,
                    };
                    let whole = pca.fit(&all).unwrap();
                    let parts = Parts { weights: weights.cloned(), sparse, ..Parts::new(&table, &SIZES) };
                    let found = pca.fit_parts(&parts).unwrap();
                    assert_equal(&what, &found, &whole, 1e-11);
                    assert_equal_bars(&what, &found, &whole, 1e-5);
                    // One pass for the means, four sweeps after the start, the iterations, one for the noise of each
                    // feature, and one for the noise of penalised fits.
                    let n_passes = 1 + 4 + 15 + 1 + usize::from(method == Method::Als);
                    assert_eq!(*parts.n_tasks.lock().unwrap(), n_passes, "{what}");
                    // Scores of rows come from the model.
                    let scores = found.row_scores(&observed(&table)).unwrap();
                    let expected = whole.row_scores(&observed(&table)).unwrap();
                    let size = largest(expected.scores.as_slice().iter().map(|x| x.abs()));
                    for (a, b) in scores.scores.as_slice().iter().zip(expected.scores.as_slice()) {
                        assert!((a - b).abs() < 1e-10 * size, "{what}: {a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_converged_fit_matches_the_fit_of_all_rows() {
    let table = problem();
    let prior = MeanPrior { count: 3.0, value: None };
    let pca = IncompletePca { mean_prior: prior, max_iter: 500, tol: 1e-9, ..options(Method::Em, None) };
    let whole = pca.fit(&observed(&table)).unwrap();
    let found = pca.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
    assert_equal("em", &found, &whole, 1e-10);
    assert_equal_bars("em", &found, &whole, 1e-6);
    assert_eq!(found.convergence().stop, StopReason::Tolerance);
    // The automatic choice is `als`.
    let auto = IncompletePca { method: Method::Auto, ..pca.clone() };
    let whole = IncompletePca { method: Method::Als, ..pca.clone() }.fit(&observed(&table)).unwrap();
    let found = auto.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
    assert_equal("auto", &found, &whole, 1e-9);
    assert_eq!(found.parts().options, auto);
    // Several starts: the best of each.
    let pca = IncompletePca { n_starts: Some(3), ..pca };
    let whole = pca.fit(&observed(&table)).unwrap();
    let found = pca.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
    assert_eq!(found.convergence().runs.len(), 3);
    assert_equal("three starts", &found, &whole, 1e-9);
}

#[test]
fn parts_of_single_precision_give_a_model_of_single_precision() {
    let table = problem();
    let pca = options(Method::Em, None);
    let single: Vec<f32> = table.with_nan().iter().map(|x| *x as f32).collect();
    let whole = pca.fit(&Observed::from_dense(&Dense::row_major(&single, 80, 12).unwrap()).unwrap()).unwrap();
    let found = pca.fit_parts(&Parts { single: true, ..Parts::new(&table, &SIZES) }).unwrap();
    assert_equal("f32", &found, &whole, 2e-5);
}

#[test]
fn bits_depend_on_the_parts_alone() {
    let table = problem();
    for pca in [options(Method::Als, Some(Regularization::Weighted(0.05))), variational(4, 25)] {
        let fit = |n_threads: [usize; 2], sparse: bool| {
            let parts = Parts { n_threads, sparse, ..Parts::new(&table, &SIZES) };
            pca.fit_parts(&parts).unwrap().parts().components.clone()
        };
        let expected = fit([1, 2], false);
        assert_eq!(fit([3, 1], false), expected);
        assert_eq!(fit([1, 1], true), expected);
    }
}

#[test]
fn columns_and_rows_without_entries_are_kept() {
    let mut table = problem();
    for (i, row) in table.observed.iter_mut().enumerate() {
        row[4] = false;
        if i % 7 == 3 {
            row.fill(false);
        }
    }
    for (method, regularization) in [(Method::Em, None), (Method::Als, Some(Regularization::Ridge(0.7)))] {
        let pca = options(method, regularization);
        let whole = pca.fit(&observed(&table)).unwrap();
        let found = pca.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
        assert_equal(&format!("{method}"), &found, &whole, 1e-10);
        assert_eq!(found.parts().n_observed[4], 0);
    }
}

/// One part holds nothing else.
#[test]
fn rows_without_entries_take_no_part() {
    let mut table = problem();
    [0, 20, 21, 79].into_iter().for_each(|i| table.observed[i].fill(false));
    for pca in [options(Method::Em, None), options(Method::Als, None), variational(2, 15)] {
        let found = pca.fit_parts(&Parts::new(&table, &SIZES)).unwrap();
        let expected = pca.fit(&observed(&table)).unwrap();
        assert_equal(pca.method.name(), &found, &expected, 1e-9);
        let empty = Incomplete { observed: vec![vec![false; 12]; 80], ..table.clone() };
        assert!(found.transform(&observed(&empty)).unwrap().as_slice().iter().all(|s| *s == 0.0));
    }
}
