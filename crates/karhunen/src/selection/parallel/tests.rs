use super::*;
use crate::linalg::{Dense, Matrix};
use crate::pca::{NComponents, Pca};
use crate::selection::Curve;
use crate::source::{Block, RowBlocks};
use crate::testing::test_matrices;
use crate::weights::Weighting;

/// k components, each of which moves its own columns, and noise.
fn planted(n: usize, p: usize, k: usize, seed: u64) -> Matrix {
    let (scores, noise) =
        (test_matrices::gaussian(n, k.max(1), seed, 0), test_matrices::gaussian(n, p, seed, 2));
    let signal = |i: usize, j: usize| if k > 0 { 1.3 * scores[(i, j % k)] } else { 0.0 };
    Matrix::from_fn(n, p, |i, j| 10.0 + signal(i, j) + noise[(i, j)])
}

fn rule(null: Null, scale: bool) -> Parallel {
    Parallel { null, pca: Pca::default().scale(scale), n_draws: 60, ..Parallel::default() }
}

#[test]
fn planted_components_are_counted_by_both_nulls() {
    for k in 0..4 {
        let x = planted(200, 12, k, 3);
        for null in Null::ALL {
            for scale in [false, true] {
                let found = rule(null, scale).select(&Dense::from(&x), &Weights::default(), &Run::default());
                let found = found.unwrap();
                assert_eq!(found.n_components, Some(k), "{null} {scale}: {found:?}");
                assert_eq!(found.at_edge, k == 0);
            }
        }
    }
}

#[test]
fn threads_and_blocks_change_no_bit() {
    let x = planted(90, 7, 2, 1);
    let (top, rest) = (x.rows(0..31), x.rows(31..90));
    let blocks = RowBlocks::new([&top, &rest].map(|rows| Block::Dense(Dense::from(rows))).to_vec()).unwrap();
    for null in Null::ALL {
        let select = |source: &dyn Source<f64>, n_threads| {
            let run = Run { n_threads: Some(n_threads), ..Run::default() };
            rule(null, true).select(source, &Weights::default(), &run).unwrap()
        };
        let one = select(&Dense::from(&x), 1);
        assert_eq!(one, select(&Dense::from(&x), 3));
        let of_blocks = select(&blocks, 2);
        assert_eq!(one.n_components, of_blocks.n_components);
        let thresholds = |found: &Selection| match &found.curve {
            Curve::Compared { thresholds, .. } => thresholds.clone(),
            other => panic!("{other:?}"),
        };
        for (a, b) in thresholds(&one).iter().zip(thresholds(&of_blocks)) {
            assert!((a - b).abs() < 1e-12);
        }
    }
}

#[test]
fn frequency_weights_have_the_thresholds_of_repeated_rows() {
    let x = planted(40, 5, 1, 9);
    let weights: Vec<f64> = (0..40).map(|i| f64::from(i % 4)).collect();
    let repeated: Vec<usize> = (0..40).flat_map(|i| vec![i; i % 4]).collect();
    let repeated = Matrix::from_fn(repeated.len(), 5, |i, j| x[(repeated[i], j)]);
    let many = Parallel { n_draws: 2000, level: Level::Mean, ..rule(Null::Permutation, true) };
    let weighted = many.select(&Dense::from(&x), &Weights::of_samples(&weights), &Run::default()).unwrap();
    let plain = many.select(&Dense::from(&repeated), &Weights::default(), &Run::default()).unwrap();
    let (Curve::Compared { values, thresholds }, Curve::Compared { values: v, thresholds: t }) =
        (&weighted.curve, &plain.curve)
    else {
        panic!()
    };
    for c in 0..5 {
        assert!((values[c] - v[c]).abs() < 1e-12);
        // Means of 2,000 draws of standard deviation about 0.1.
        assert!((thresholds[c] - t[c]).abs() < 0.02, "{c}: {} {}", thresholds[c], t[c]);
    }
    assert_eq!(weighted.n_components, plain.n_components);
}

#[test]
fn a_constant_factor_of_importance_weights_changes_nothing() {
    let x = planted(60, 5, 1, 2);
    let weights: Vec<f64> = (0..60).map(|i| 0.5 + f64::from(i % 3)).collect();
    let doubled: Vec<f64> = weights.iter().map(|w| 2.0 * w).collect();
    for null in Null::ALL {
        let pca = Pca { weighting: Weighting::Importance, ..Pca::default() };
        let rule = Parallel { pca, ..rule(null, false) };
        let select =
            |w: &[f64]| rule.select(&Dense::from(&x), &Weights::of_samples(w), &Run::default()).unwrap();
        assert_eq!(select(&weights), select(&doubled));
        assert_eq!(select(&weights).n_components, Some(1));
    }
}

#[test]
fn quantiles_match_r() {
    let numbers = vec![3.0, 1.0, 2.0, 10.0];
    assert_eq!(Level::Mean.of(numbers.clone()), 4.0);
    // quantile(c(3, 1, 2, 10), c(0.5, 0.95))
    assert_eq!(Level::Quantile(0.5).of(numbers.clone()), 2.5);
    assert!((Level::Quantile(0.95).of(numbers) - 8.95).abs() < 1e-14);
    assert_eq!(Level::Quantile(0.3).of(vec![7.0]), 7.0);
}

#[test]
fn options_outside_their_rules_are_refused() {
    let x = planted(10, 3, 1, 2);
    let message = |rule: Parallel| {
        rule.select(&Dense::from(&x), &Weights::default(), &Run::default()).unwrap_err().to_string()
    };
    assert!(message(Parallel { n_draws: 0, ..Parallel::default() }).contains("n_draws"));
    assert!(message(Parallel { level: Level::Quantile(1.0), ..Parallel::default() }).contains("level"));
    let uncentred = Pca::default().center(false);
    assert!(message(Parallel { pca: uncentred, ..Parallel::default() }).contains("center"));
}
/// A table with a share of its entries missing.
fn with_missing(x: &Matrix, share: f64, seed: u64) -> Matrix {
    let hidden = test_matrices::gaussian(x.n_rows(), x.n_cols(), seed, 9);
    let quantile = if share < 0.2 { -1.2816 } else { -0.5244 };
    Matrix::from_fn(
        x.n_rows(),
        x.n_cols(),
        |i, j| {
            if hidden[(i, j)] < quantile { f64::NAN } else { x[(i, j)] }
        },
    )
}

fn of_incomplete(rule: &Parallel, x: &Matrix, weights: &Weights<'_>) -> Selection {
    rule.select_incomplete(&Dense::from(x), weights, &Run::default()).unwrap()
}

fn compared(found: &Selection) -> (&[f64], &[f64]) {
    match &found.curve {
        Curve::Compared { values, thresholds } => (values, thresholds),
        other => panic!("{other:?}"),
    }
}

#[test]
fn planted_components_are_counted_in_data_with_missing_values() {
    for share in [0.1, 0.3] {
        for k in 0..4 {
            let x = with_missing(&planted(200, 12, k, 3), share, 1);
            for null in Null::ALL {
                for scale in [false, true] {
                    let found = of_incomplete(&rule(null, scale), &x, &Weights::default());
                    assert_eq!(found.n_components, Some(k), "{share} {null} {scale}: {found:?}");
                }
            }
        }
    }
}

/// The fit of a complete table by probabilistic PCA has the variances of PCA, and random tables are the same.
#[test]
fn one_missing_entry_changes_little() {
    let x = planted(120, 6, 2, 5);
    let mut incomplete = x.clone();
    incomplete[(7, 3)] = f64::NAN;
    let weights: Vec<f64> = (0..120).map(|i| f64::from(i % 3)).collect();
    for null in Null::ALL {
        for (weighted, weights) in [(false, Weights::default()), (true, Weights::of_samples(&weights))] {
            let pca = Pca { n_components: NComponents::Count(4), ..Pca::default() };
            let rule = Parallel { pca, ..rule(null, true) };
            let complete = rule.select(&Dense::from(&x), &weights, &Run::default()).unwrap();
            assert_eq!(of_incomplete(&rule, &x, &weights), complete);
            let found = of_incomplete(&rule, &incomplete, &weights);
            let ((values, thresholds), (v, t)) = (compared(&found), compared(&complete));
            for c in 0..4 {
                let case = format!("{null} {weighted} {c}: {found:?} {complete:?}");
                assert!((values[c] / v[c] - 1.0).abs() < 0.02, "{case}");
                // One column has other random orders.
                assert!((thresholds[c] / t[c] - 1.0).abs() < 0.06, "{case}");
            }
        }
    }
}

#[test]
fn weights_of_rows_with_missing_values_count_as_repeated_rows() {
    let x = with_missing(&planted(60, 6, 1, 9), 0.1, 4);
    let weights: Vec<f64> = (0..60).map(|i| f64::from(i % 3)).collect();
    let repeated: Vec<usize> = (0..60).flat_map(|i| vec![i; i % 3]).collect();
    let repeated = Matrix::from_fn(repeated.len(), 6, |i, j| x[(repeated[i], j)]);
    let many = Parallel { n_draws: 300, level: Level::Mean, ..rule(Null::Permutation, true) };
    let weighted = of_incomplete(&many, &x, &Weights::of_samples(&weights));
    let plain = of_incomplete(&many, &repeated, &Weights::default());
    let ((values, thresholds), (v, t)) = (compared(&weighted), compared(&plain));
    for c in 0..5 {
        assert!((values[c] - v[c]).abs() < 1e-3, "{c}: {} {}", values[c], v[c]);
        // Means of 300 draws of standard deviation about 0.1.
        assert!((thresholds[c] - t[c]).abs() < 0.04, "{c}: {} {}", thresholds[c], t[c]);
    }
    // A constant factor of importance weights changes nothing but rounding.
    let pca = Pca { weighting: Weighting::Importance, ..Pca::default() };
    let rule = Parallel { pca, n_draws: 20, ..rule(Null::Permutation, true) };
    let doubled: Vec<f64> = weights.iter().map(|w| 2.0 * w).collect();
    let (one, two) = (
        of_incomplete(&rule, &x, &Weights::of_samples(&weights)),
        of_incomplete(&rule, &x, &Weights::of_samples(&doubled)),
    );
    for (a, b) in compared(&one).0.iter().zip(compared(&two).0) {
        assert!((a - b).abs() < 1e-9 * a, "{a} {b}");
    }
    assert_eq!(compared(&one).1, compared(&two).1);
}

#[test]
fn scalings_that_random_tables_do_not_have_are_refused() {
    let x = with_missing(&planted(30, 5, 1, 2), 0.1, 1);
    let message = |pca: Pca| {
        let rule = Parallel { pca, n_draws: 5, ..Parallel::default() };
        let found = rule.select_incomplete(&Dense::from(&x), &Weights::default(), &Run::default());
        found.unwrap_err().to_string()
    };
    assert!(message(Pca { scale: crate::pca::Scaling::Range, ..Pca::default() }).contains("scale"));
    let share = NComponents::Variance(0.9);
    assert!(message(Pca { n_components: share, ..Pca::default() }).contains("n_components"));
}
