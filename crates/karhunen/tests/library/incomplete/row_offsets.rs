//! Row offsets: `x_ij = mu_i + b_j + a_i . s_j`.

use karhunen::incomplete::{
    CrossValidation, FitContext, IncompleteStream, MeanMode, MeanPrior, Method, OnlineRule, Regularization,
};
use karhunen::{Dense, IncompleteModel, IncompletePca, Observed, Pca, Run, Weights};
use karhunen_testkit::{Incomplete, SplitMix64};

use crate::incomplete::fixtures::{add_row_offsets, observed, test_rmse};

const LEAST_SQUARES: [Method; 7] = [
    Method::Em,
    Method::Ccd,
    Method::Imputation,
    Method::Gradient,
    Method::Natural,
    Method::Newton,
    Method::Cg,
];

/// Planted components, and row offsets of standard deviation `level`.
fn planted((n, p): (usize, usize), level: f64, missing: f64, seed: u64) -> Incomplete {
    let mut table = Incomplete::planted(n, p, &[2.0, 1.0], 0.5, missing, seed);
    add_row_offsets(&mut table, level, seed);
    table
}

fn options(method: Method) -> IncompletePca {
    IncompletePca { method, row_offsets: true, ..IncompletePca::new(2) }
}

fn offsets(model: &IncompleteModel) -> &[f64] {
    model.row_offsets().expect("row offsets were asked for")
}

/// Solves a symmetric system by Gaussian elimination with pivoting.
fn solve(mut g: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let m = b.len();
    for k in 0..m {
        let pivot = (k..m).max_by(|i, j| g[*i][k].abs().total_cmp(&g[*j][k].abs())).unwrap();
        g.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..m {
            let factor = g[i][k] / g[k][k];
            let above = g[k].clone();
            g[i].iter_mut().zip(above).skip(k).for_each(|(x, above)| *x -= factor * above);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..m).rev() {
        b[k] = (b[k] - (k + 1..m).map(|j| g[k][j] * b[j]).sum::<f64>()) / g[k][k];
    }
    b
}

/// The minimum of `F` by alternating dense solutions, with a ridge of the factors and the penalty `pull` of the
/// offsets.
fn oracle(table: &Incomplete, c: usize, ridge: f64, pull: f64) -> f64 {
    (0..4).map(|seed| oracle_from(seed, table, c, ridge, pull)).fold(f64::INFINITY, f64::min)
}

fn oracle_from(seed: u64, table: &Incomplete, c: usize, ridge: f64, pull: f64) -> f64 {
    let ((n, p), entries) = (table.shape(), table.entries(true));
    let mut rng = SplitMix64::new(seed);
    // Rows (a, 1, mu) and (s, b, 1).
    let mut a: Vec<Vec<f64>> = rng.normals(p, c).into_iter().map(|r| [r, vec![1.0, 0.0]].concat()).collect();
    let mut s: Vec<Vec<f64>> = rng.normals(n, c).into_iter().map(|r| [r, vec![0.0, 1.0]].concat()).collect();
    let mut cost = f64::INFINITY;
    for _ in 0..20_000 {
        for of_scores in [true, false] {
            // The fixed component.
            let held = if of_scores { c + 1 } else { c };
            let fitted: Vec<usize> = (0..c + 2).filter(|k| *k != held).collect();
            let (own, other) = if of_scores { (&mut s, &a) } else { (&mut a, &s) };
            for (line, row) in own.iter_mut().enumerate() {
                let (mut g, mut b) = (vec![vec![0.0; c + 1]; c + 1], vec![0.0; c + 1]);
                for (at, k) in fitted.iter().enumerate() {
                    g[at][at] = 1e-12
                        + if *k < c {
                            ridge
                        } else if of_scores {
                            pull
                        } else {
                            0.0
                        };
                }
                for (j, i, x) in &entries {
                    let (here, there) = if of_scores { (*j, *i) } else { (*i, *j) };
                    if here != line {
                        continue;
                    }
                    for (at, k) in fitted.iter().enumerate() {
                        b[at] += other[there][*k] * (x - other[there][held]);
                        for (to, l) in fitted.iter().enumerate() {
                            g[at][to] += other[there][*k] * other[there][*l];
                        }
                    }
                }
                for (k, x) in fitted.iter().zip(solve(g, b)) {
                    row[*k] = x;
                }
            }
        }
        let error =
            |(j, i, x): &(usize, usize, f64)| x - a[*i].iter().zip(&s[*j]).map(|(a, s)| a * s).sum::<f64>();
        let squares = |rows: &[Vec<f64>], from: usize, to: usize| {
            rows.iter().flat_map(|r| &r[from..to]).map(|x| x * x).sum::<f64>()
        };
        let fitted: f64 = entries.iter().map(|e| error(e).powi(2)).sum();
        let penalties = ridge * (squares(&a, 0, c) + squares(&s, 0, c)) + pull * squares(&s, c, c + 1);
        let before = std::mem::replace(&mut cost, fitted + penalties);
        if before - cost < 1e-14 * cost {
            break;
        }
    }
    cost
}

#[test]
fn least_squares_fits_agree_with_the_oracle() {
    let table = planted((30, 9), 1.0, 0.2, 3);
    let expected = oracle(&table, 2, 0.0, 0.0);
    for method in LEAST_SQUARES {
        let pca = IncompletePca { tol: 1e-14, max_iter: 200_000, n_starts: Some(2), ..options(method) };
        let cost = pca.fit(&observed(&table)).unwrap().convergence().cost;
        assert!((cost / expected - 1.0).abs() < 1e-8, "{}: {cost} instead of {expected}", method.name());
    }
}

/// Penalty of offsets under a ridge, from its definition: the penalty of a component with the norm of all offsets,
/// or the shrinkage that the data imply.
fn penalty_of(table: &Incomplete, ridge: f64) -> f64 {
    let ((n, p), entries) = (table.shape(), table.entries(true));
    let mean = |i: usize| {
        let of: Vec<f64> = entries.iter().filter(|e| e.1 == i).map(|e| e.2).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    let means: Vec<f64> = (0..p).map(mean).collect();
    let (mut products, mut pairs, mut squares) = (0.0, 0.0, 0.0);
    for (at, (j, i, x)) in entries.iter().enumerate() {
        squares += (x - means[*i]).powi(2) / entries.len() as f64;
        for (l, k, y) in entries.iter().skip(at + 1).filter(|e| e.0 == *j) {
            assert_eq!(l, j);
            products += (x - means[*i]) * (y - means[*k]);
            pairs += 1.0;
        }
    }
    let variance = products / pairs;
    let as_component = ridge * (p as f64).sqrt() / (n as f64 * variance).sqrt();
    as_component.min((squares - variance) / variance)
}

#[test]
fn ridge_fits_agree_with_the_oracle() {
    let table = planted((30, 9), 1.0, 0.3, 4);
    let pull = penalty_of(&table, 1.5);
    let expected = oracle(&table, 2, 1.5, pull);
    for method in [
        Method::Als,
        Method::Ridge,
        Method::Cg,
        Method::Newton,
        Method::Natural,
        Method::Gradient,
        Method::Ccd,
        Method::Soft,
    ] {
        let regularization = Some(Regularization::Ridge(1.5));
        let pca = IncompletePca { regularization, tol: 1e-14, max_iter: 200_000, ..options(method) };
        let cost = pca.fit(&observed(&table)).unwrap().convergence().cost;
        assert!(
            (cost / expected - 1.0).abs() < 1e-9,
            "{}: {cost} instead of {expected} ({pull})",
            method.name()
        );
    }
}

#[test]
fn complete_data_have_the_components_of_centred_rows() {
    let table = planted((50, 9), 2.0, 0.0, 5);
    let mut x = table.with_nan();
    let data = observed(&table);
    let means: Vec<f64> = x.chunks(9).map(|row| row.iter().sum::<f64>() / 9.0).collect();
    let total = means.iter().sum::<f64>() / 50.0;
    x.chunks_mut(9).zip(&means).for_each(|(row, m)| row.iter_mut().for_each(|x| *x -= m));
    let expected = Pca::new(2).fit(&Dense::row_major(&x, 50, 9).unwrap(), &Weights::default()).unwrap();
    for method in LEAST_SQUARES {
        let pca = IncompletePca { tol: 1e-15, max_iter: 100_000, ..options(method) };
        let (model, name) = (pca.fit(&data).unwrap(), method.name());
        for k in 0..2 {
            let (found, expected) = (model.explained_variance()[k], expected.explained_variance()[k]);
            assert!((found / expected - 1.0).abs() < 1e-7, "{name}: {found} instead of {expected}");
        }
        for (found, expected) in model.components().as_slice().iter().zip(expected.components().as_slice()) {
            assert!((found - expected).abs() < 1e-4, "{name}: {found} instead of {expected}");
        }
        for (found, mean) in offsets(&model).iter().zip(&means) {
            assert!((found - (mean - total)).abs() < 1e-5, "{name}: {found} instead of {}", mean - total);
        }
        for (found, mean) in model.mean().iter().zip(expected.mean()) {
            assert!((found - (mean + total)).abs() < 1e-5, "{name}: {found} instead of {}", mean + total);
        }
    }
}

#[test]
fn the_cost_never_rises() {
    let data = observed(&planted((60, 20), 1.0, 0.5, 3));
    for method in Method::ALL.into_iter().filter(|method| *method != Method::Online) {
        for mean_prior in [MeanPrior::default(), MeanPrior { count: 5.0, value: None }] {
            for weighted in [false, true] {
                let penalized = matches!(method, Method::Als | Method::Cg | Method::Newton | Method::Ccd);
                if weighted && !penalized {
                    continue;
                }
                let regularization = weighted.then_some(Regularization::Weighted(0.05));
                let pca = IncompletePca { regularization, mean_prior, ..options(method) };
                let pca = IncompletePca { max_iter: 40, tol: 0.0, ..pca };
                let trace = pca.fit(&data).unwrap().convergence().trace.clone();
                assert!(trace.len() > 10, "{}", method.name());
                for pair in trace.windows(2) {
                    let (before, after) = (pair[0].cost, pair[1].cost);
                    let place = (method.name(), mean_prior.count, weighted, pair[1].iteration);
                    assert!(after <= before + 1e-11 * before.abs(), "{place:?}: {after} after {before}");
                }
            }
        }
    }
}

#[test]
fn planted_offsets_are_found_and_reduce_the_error() {
    let table = planted((300, 30), 1.5, 0.6, 6);
    let data = observed(&table);
    // The offset of a row is the mean of its noise-free values, components included.
    let levels: Vec<f64> = table.noise_free.iter().map(|row| row.iter().sum::<f64>() / 30.0).collect();
    let mean = levels.iter().sum::<f64>() / 300.0;
    for method in Method::ALL {
        let with = options(method).fit(&data).unwrap();
        let without = IncompletePca { row_offsets: false, ..options(method) }.fit(&data).unwrap();
        let away = offsets(&with).iter().zip(&levels).map(|(b, level)| (b - level + mean).powi(2));
        let error = (away.sum::<f64>() / 300.0).sqrt();
        assert!(error < 0.45, "{}: {error}", method.name());
        let (with, without) = (test_rmse(&with, &table), test_rmse(&without, &table));
        assert!(with < 0.8 && with < 0.8 * without, "{}: {with} and {without}", method.name());
    }
}

#[test]
fn offsets_and_components_sum_to_zero_and_fitted_rows_transform_to_their_scores() {
    let table = planted((80, 15), 1.0, 0.2, 7);
    let data = observed(&table);
    let weights: Vec<f64> = (0..80).map(|j| [1.0, 0.5, 2.0][j % 3]).collect();
    for method in Method::ALL {
        for weights in [None, Some(&weights)].into_iter().filter(|w| method != Method::Online || w.is_none())
        {
            let data = weights.map_or(data.clone(), |w| data.clone().with_sample_weights(w).unwrap());
            let pca = IncompletePca { tol: 1e-13, max_iter: 5000, ..options(method) };
            let (model, name) = (pca.fit(&data).unwrap(), method.name());
            let of = |j: usize| weights.map_or(1.0, |w| w[j]);
            let sum: f64 = offsets(&model).iter().enumerate().map(|(j, b)| of(j) * b).sum();
            assert!(sum.abs() < 1e-9, "{name}: {sum}");
            for k in 0..model.n_components() {
                let sum: f64 = model.components().row(k).iter().sum();
                assert!(sum.abs() < 1e-10, "{name}: component {k} has the sum {sum}");
            }
            let found = model.row_scores(&data).unwrap();
            for (j, (b, expected)) in found.offsets.unwrap().iter().zip(offsets(&model)).enumerate() {
                assert!((b - expected).abs() < 2e-4, "{name}, row {j}: {b} instead of {expected}");
            }
            for (s, expected) in found.scores.as_slice().iter().zip(model.scores().as_slice()) {
                assert!((s - expected).abs() < 2e-3, "{name}: {s} instead of {expected}");
            }
        }
    }
}

#[test]
fn predictions_equal_the_sum_of_mean_offset_and_components() {
    let data = observed(&planted((40, 12), 1.0, 0.4, 8));
    let model = options(Method::VbFull).fit(&data).unwrap();
    let rows = model.row_scores(&data).unwrap();
    let mut values = vec![0.0; 40 * 12];
    model.values_into(&rows, &mut values, &Run::default()).unwrap();
    let scores_alone = model.inverse_transform(&rows.scores).unwrap();
    let filled = model.impute(&data).unwrap();
    let (again, covariances) = model.rows_with_covariances(&data, &Run::default()).unwrap();
    assert_eq!(again, rows);
    let mut deviations = vec![0.0; 40 * 12];
    model.deviations_into((&rows.scores, &covariances), true, &mut deviations, &Run::default()).unwrap();
    let of_rows = rows.offsets.as_ref().unwrap();
    for j in 0..40 {
        for i in 0..12 {
            let found = model.predict(j, i).unwrap();
            let value = values[j * 12 + i];
            assert!((value - found.value).abs() < 1e-4, "({j}, {i}): {value} and {}", found.value);
            assert!((value - scores_alone[(j, i)] - of_rows[j]).abs() < 1e-12);
            let deviation = found.std().unwrap();
            assert!((deviations[j * 12 + i] / deviation - 1.0).abs() < 1e-3, "({j}, {i})");
            if !data.row(j).0.contains(&(i as u32)) {
                assert!((filled[(j, i)] - value).abs() < 1e-12);
            }
        }
    }
    let wrong = karhunen::incomplete::RowScores { offsets: Some(vec![0.0; 3]), ..rows };
    let error = model.values_into(&wrong, &mut values, &Run::default()).unwrap_err().to_string();
    assert!(error.contains("offsets"), "{error}");
}

#[test]
fn rows_without_entries_have_no_offset() {
    let mut table = planted((40, 10), 1.0, 0.3, 9);
    table.observed[7].fill(false);
    // A row of one entry, and an empty column.
    table.observed[8].fill(false);
    table.observed[8][3] = true;
    table.observed.iter_mut().for_each(|row| row[5] = false);
    let data = observed(&table);
    for method in Method::ALL {
        let (model, name) = (options(method).fit(&data).unwrap(), method.name());
        assert!(offsets(&model)[7].abs() < 0.02, "{name}: {}", offsets(&model)[7]);
        assert!(model.parts().components.as_slice().iter().all(|x| x.is_finite()), "{name}");
        let (of_nothing, of_much) = (model.predict(7, 0).unwrap(), model.predict(9, 0).unwrap());
        assert!(of_nothing.value.is_finite() && of_nothing.std().unwrap() > of_much.std().unwrap(), "{name}");
        assert!(model.predict(8, 5).unwrap().std().unwrap().is_finite(), "{name}");
    }
}

#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn given_means_and_no_means_are_obeyed() {
    let table = planted((60, 10), 1.0, 0.3, 10);
    let data = observed(&table);
    for method in Method::ALL {
        for mean in [MeanMode::None, MeanMode::Fixed] {
            let n_components = if mean == MeanMode::None { 3 } else { 2 };
            let model = IncompletePca { mean, n_components, seed: 1, ..options(method) }.fit(&data).unwrap();
            let error = test_rmse(&model, &table);
            assert!(error < 1.6, "{} {mean:?}: {error}", method.name());
        }
    }
}

#[test]
fn row_offsets_equal_one_more_component_of_ones() {
    // Without noise and with no component but the offsets, observed entries are fitted exactly. The surplus
    // component may have any value at missing entries, where the offsets absorb a part of its start.
    let levels = SplitMix64::new(5).normals(20, 1);
    let x: Vec<f64> = (0..200)
        .map(|e| if e % 7 == 2 { f64::NAN } else { levels[e / 10][0] + 0.1 * (e % 10) as f64 })
        .collect();
    let data = Observed::from_dense(&Dense::row_major(&x, 20, 10).unwrap()).unwrap();
    let pca = IncompletePca { n_components: 1, tol: 1e-12, ..options(Method::Em) };
    let model = pca.fit(&data).unwrap();
    let mean = levels.iter().map(|b| b[0]).sum::<f64>() / 20.0;
    for (j, level) in levels.iter().enumerate() {
        let (found, expected) = (offsets(&model)[j], level[0] - mean);
        assert!((found - expected).abs() < 1e-4, "row {j}: {found} instead of {expected}");
        assert!((model.predict(j, 4).unwrap().value - level[0] - 0.4).abs() < 1e-4);
    }
    assert!(model.explained_variance()[0] < 1e-8);
}

#[test]
fn weights_equal_repeated_rows_and_entries() {
    let table = planted((40, 12), 1.0, 0.15, 11);
    let weights: Vec<f64> = (0..40).map(|j| [1.0, 3.0, 2.0][j % 3]).collect();
    let rows: Vec<usize> = (0..40).flat_map(|j| vec![j; weights[j] as usize]).collect();
    let pick = |x: &Vec<Vec<f64>>| rows.iter().map(|j| x[*j].clone()).collect();
    let repeated = Incomplete {
        complete: pick(&table.complete),
        noise_free: pick(&table.noise_free),
        observed: rows.iter().map(|j| table.observed[*j].clone()).collect(),
    };
    let (weighted, repeated) = (observed(&table).with_sample_weights(&weights).unwrap(), observed(&repeated));
    for method in Method::ALL.into_iter().filter(|method| *method != Method::Online) {
        let pca = IncompletePca { tol: 1e-13, max_iter: 20_000, ..options(method) };
        let (x, y) = (pca.fit(&weighted).unwrap(), pca.fit(&repeated).unwrap());
        for (at, row) in rows.iter().enumerate() {
            let (a, b) = (x.predict(*row, 2).unwrap(), y.predict(at, 2).unwrap());
            assert!((a.value - b.value).abs() < 1e-4, "{}: {} {}", method.name(), a.value, b.value);
            let (std, expected) = (a.std().unwrap(), b.std().unwrap());
            assert!((std / expected - 1.0).abs() < 1e-4, "{}: {std} {expected}", method.name());
            let (of_weighted, of_repeated) = (offsets(&x)[*row], offsets(&y)[at]);
            assert!(
                (of_weighted - of_repeated).abs() < 1e-4,
                "{}: {of_weighted} {of_repeated}",
                method.name()
            );
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let table = planted((200, 40), 1.0, 0.4, 12);
    let single: Vec<f32> = table.with_nan().iter().map(|x| *x as f32).collect();
    let data = Observed::from_dense(&Dense::row_major(&single, 200, 40).unwrap()).unwrap();
    for method in Method::ALL {
        let of = |n_threads| {
            let pca = IncompletePca { max_iter: 15, ..options(method) };
            let run = Run::threads(n_threads);
            let mut parts = pca.fit_with(&data, &FitContext::default(), &run).unwrap().parts().clone();
            parts.convergence.trace.clear();
            parts
        };
        assert!(of(1) == of(3), "{}", method.name());
    }
}

#[test]
fn cross_validation_prefers_offsets_if_planted() {
    let data = observed(&planted((60, 15), 2.0, 0.3, 13));
    let folds = CrossValidation { n_components: vec![1, 2], ..CrossValidation::default() };
    let error = |row_offsets: bool| {
        let pca = IncompletePca { row_offsets, ..options(Method::VbFull) };
        folds.run(&pca, &data, &Run::default()).unwrap().best().mean
    };
    assert!(error(true) < 0.8 * error(false));
}

#[test]
fn streams_learn_offsets() {
    let table = planted((200, 12), 2.0, 0.3, 14);
    let data = observed(&table);
    for rule in [OnlineRule::Diagonal, OnlineRule::Rls, OnlineRule::Oja] {
        let learn = |mut stream: IncompleteStream| {
            (0..40).for_each(|_| stream.partial_fit(&data).unwrap());
            stream.finish(&data, &IncompletePca::new(2)).unwrap()
        };
        let stream = IncompleteStream::new(2, 12, rule, 0).unwrap();
        let (without, with) = (learn(stream.clone()), learn(stream.with_row_offsets()));
        assert_eq!((without.row_offsets(), with.row_offsets().map(<[f64]>::len)), (None, Some(200)));
        let (without, with) = (test_rmse(&without, &table), test_rmse(&with, &table));
        assert!(with < 0.9 && with < 0.9 * without, "{rule:?}: {with} and {without}");
    }
}
