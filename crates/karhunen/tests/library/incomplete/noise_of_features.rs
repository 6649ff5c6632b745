//! Fits with a noise variance of each feature.

use karhunen::error::options;
use karhunen::incomplete::{FitContext, MeanMode, Method, NoiseModel, Regularization};
use karhunen::pca::Scaling;
use karhunen::{Dense, IncompleteModel, IncompletePca, Matrix, Observed, Run};
use karhunen_testkit::{Incomplete, largest};

use crate::incomplete::feature_noise::{deviations, unequal};
use crate::incomplete::fixtures::observed;

fn by_feature(n_components: usize, method: Method) -> IncompletePca {
    IncompletePca { method, noise: NoiseModel::Feature, ..IncompletePca::new(n_components) }
}

/// The noise variance of each feature under the model.
fn noise(model: &IncompleteModel) -> Vec<f64> {
    model.scale().unwrap().iter().map(|d| model.noise_variance() * d * d).collect()
}

/// Root mean squared error of the missing values without noise.
fn error(model: &IncompleteModel, table: &Incomplete) -> f64 {
    let (n, p) = table.shape();
    let (mut squares, mut count) = (0.0, 0);
    for i in 0..n {
        for j in (0..p).filter(|j| !table.observed[i][*j]) {
            squares += (model.predict(i, j).unwrap().value - table.noise_free[i][j]).powi(2);
            count += 1;
        }
    }
    (squares / count as f64).sqrt()
}

/// Factor analysis of incomplete rows by the EM algorithm, row by row with dense matrices of the observed features.
struct Oracle {
    loadings: Vec<Vec<f64>>,
    mean: Vec<f64>,
    noise: Vec<f64>,
    spread: Vec<f64>,
}

/// The inverse of a symmetric positive definite matrix, by Gauss-Jordan elimination.
fn inverse(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut rows: Vec<Vec<f64>> = matrix
        .iter()
        .enumerate()
        .map(|(i, row)| row.iter().copied().chain((0..n).map(|j| f64::from(u8::from(i == j)))).collect())
        .collect();
    for k in 0..n {
        let pivot = rows[k][k];
        rows[k].iter_mut().for_each(|x| *x /= pivot);
        let of_pivot = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k];
            row.iter_mut().zip(&of_pivot).for_each(|(x, y)| *x -= factor * y);
        }
    }
    rows.into_iter().map(|row| row[n..].to_vec()).collect()
}

impl Oracle {
    /// Begins with loadings of a model.
    fn new(table: &Incomplete, loadings: &Matrix) -> Self {
        let (n, p) = table.shape();
        let of_column = |j: usize| -> Vec<f64> {
            (0..n).filter(|i| table.observed[*i][j]).map(|i| table.complete[i][j]).collect()
        };
        let mean: Vec<f64> =
            (0..p).map(|j| of_column(j).iter().sum::<f64>() / of_column(j).len() as f64).collect();
        let spread: Vec<f64> = (0..p)
            .map(|j| {
                let column = of_column(j);
                column.iter().map(|x| (x - mean[j]).powi(2)).sum::<f64>() / (column.len() as f64 - 1.0)
            })
            .collect();
        let noise = spread.iter().map(|s| 0.5 * s).collect();
        let loadings = (0..p).map(|j| loadings.row(j).to_vec()).collect();
        Self { loadings, mean, noise, spread }
    }

    /// One iteration, with the prior of the noise.
    fn iterate(&mut self, table: &Incomplete) {
        let (n, p) = table.shape();
        let c = self.loadings[0].len();
        // Of each feature: moments of (scores, 1), with values, and the sum of squares.
        let mut moments = vec![vec![vec![0.0; c + 1]; c + 1]; p];
        let mut with_values = vec![vec![0.0; c + 1]; p];
        let mut squares = vec![0.0; p];
        let mut counts = vec![0.0; p];
        for i in 0..n {
            let seen: Vec<usize> = (0..p).filter(|j| table.observed[i][*j]).collect();
            let precision: Vec<Vec<f64>> = (0..c)
                .map(|k| {
                    (0..c)
                        .map(|l| {
                            f64::from(u8::from(k == l))
                                + seen
                                    .iter()
                                    .map(|j| self.loadings[*j][k] * self.loadings[*j][l] / self.noise[*j])
                                    .sum::<f64>()
                        })
                        .collect()
                })
                .collect();
            let covariance = inverse(&precision);
            let right: Vec<f64> = (0..c)
                .map(|k| {
                    seen.iter()
                        .map(|j| {
                            self.loadings[*j][k] * (table.complete[i][*j] - self.mean[*j]) / self.noise[*j]
                        })
                        .sum()
                })
                .collect();
            let mut scores: Vec<f64> =
                covariance.iter().map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum()).collect();
            scores.push(1.0);
            for j in seen {
                let x = table.complete[i][j];
                counts[j] += 1.0;
                squares[j] += x * x;
                for k in 0..=c {
                    with_values[j][k] += x * scores[k];
                    for l in 0..=c {
                        let spread = if k < c && l < c { covariance[k][l] } else { 0.0 };
                        moments[j][k][l] += scores[k] * scores[l] + spread;
                    }
                }
            }
        }
        let shares = |noise: &[f64]| (0..p).map(|j| self.spread[j] / noise[j]).sum::<f64>();
        let centre = p as f64 / shares(&self.noise);
        for j in 0..p {
            let solution: Vec<f64> = inverse(&moments[j])
                .iter()
                .map(|row| row.iter().zip(&with_values[j]).map(|(a, b)| a * b).sum())
                .collect();
            let fitted: f64 = solution.iter().zip(&with_values[j]).map(|(a, b)| a * b).sum();
            let expected = squares[j] - fitted;
            self.noise[j] = (expected + 2.0 * centre * self.spread[j]) / (counts[j] + 2.0);
            self.loadings[j] = solution[..c].to_vec();
            self.mean[j] = solution[c];
        }
    }
}

#[test]
fn the_noise_is_that_of_factor_analysis() {
    let table = unequal(150, &[2.0, 1.5], &deviations(8, 0.3, 1.5), 0.2, 1);
    let pca = IncompletePca { tol: 1e-12, max_iter: 20_000, ..by_feature(2, Method::Ppca) };
    let model = pca.fit(&observed(&table)).unwrap();
    let start = Matrix::from_fn(8, 2, |j, k| model.components()[(k, j)] * model.scale().unwrap()[j] + 0.1);
    let mut oracle = Oracle::new(&table, &start);
    (0..5000).for_each(|_| oracle.iterate(&table));
    let found = noise(&model);
    let away = largest((0..8).map(|j| (found[j] / oracle.noise[j]).ln().abs()));
    assert!(away < 1e-3, "{found:?} {:?}", oracle.noise);
    let away = largest((0..8).map(|j| (model.mean()[j] - oracle.mean[j]).abs()));
    assert!(away < 1e-3, "{away}");
}

#[test]
fn the_cost_of_ppca_never_rises() {
    let table = unequal(100, &[2.0, 1.5, 1.0], &deviations(30, 0.2, 1.4), 0.5, 3);
    let model = by_feature(3, Method::Ppca).fit(&observed(&table)).unwrap();
    let convergence = model.convergence();
    assert!(convergence.converged(), "{:?}", convergence.stop);
    let rise = convergence.trace.windows(2).map(|pair| pair[1].cost - pair[0].cost);
    assert!(rise.filter(|rise| *rise > 1e-6 * 1500.0).count() == 0 && convergence.trace.len() < 40);
    assert_eq!(convergence.cost, convergence.trace.last().unwrap().cost);
}

#[test]
fn unequal_noise_is_predicted_better() {
    for method in [Method::Ppca, Method::Vb, Method::VbFull, Method::Auto] {
        let table = unequal(300, &[2.0, 1.5, 1.0], &deviations(20, 0.18, 1.36), 0.2, 5);
        let data = observed(&table);
        let shared = error(&IncompletePca { method, ..IncompletePca::new(3) }.fit(&data).unwrap(), &table);
        let model = by_feature(3, method).fit(&data).unwrap();
        let found = error(&model, &table);
        assert!(found < 0.8 * shared, "{method}: {found} {shared}");
        let pairs = noise(&model).into_iter().zip(deviations(20, 0.18, 1.36));
        let away = largest(pairs.map(|(v, d)| (v.sqrt() / d).ln().abs()));
        assert!(away < 0.5, "{method} {away}");
    }
}

#[test]
fn units_and_repeated_rows_do_not_change_the_fit() {
    let table = unequal(60, &[2.0, 1.0], &deviations(8, 0.3, 1.2), 0.15, 2);
    let (n, p) = table.shape();
    let values = table.with_nan();
    let of =
        |values: &[f64], n: usize| Observed::from_dense(&Dense::row_major(values, n, p).unwrap()).unwrap();
    let pca = IncompletePca { tol: 1e-10, n_starts: Some(1), ..by_feature(2, Method::VbFull) };
    let model = pca.fit(&of(&values, n)).unwrap();
    let factor = |j: usize| if j == 3 { 1000.0 } else { 1.0 };
    let scaled: Vec<f64> = values.iter().enumerate().map(|(e, x)| x * factor(e % p)).collect();
    let other = pca.fit(&of(&scaled, n)).unwrap();
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
    let repeated: Vec<f64> = (0..n).flat_map(|i| values[i * p..(i + 1) * p].repeat(1 + i % 3)).collect();
    let weighted = pca.fit(&of(&values, n).with_sample_weights(&weights).unwrap()).unwrap();
    let repeated = pca.fit(&of(&repeated, repeated.len() / p)).unwrap();
    let first_of = |i: usize| (0..i).map(|i| 1 + i % 3).sum::<usize>();
    for i in 0..n {
        for j in 0..p {
            let value = |model: &IncompleteModel, i: usize| model.predict(i, j).unwrap().value;
            let away = (value(&model, i) - value(&other, i) / factor(j)).abs();
            assert!(away < 1e-4, "unit {away} at {i} {j}");
            let away = (value(&weighted, i) - value(&repeated, first_of(i))).abs();
            assert!(away < 1e-4, "weights {away} at {i} {j}");
        }
    }
}

#[test]
fn features_that_do_not_vary_keep_the_spread_of_the_others() {
    let mut table = unequal(80, &[2.0, 1.0], &deviations(9, 0.3, 1.2), 0.2, 4);
    table.observed.iter_mut().enumerate().for_each(|(i, row)| (row[2], row[5]) = (i == 7, false));
    table.complete.iter_mut().for_each(|row| row[6] = 3.0);
    for method in [Method::VbFull, Method::Ppca] {
        let model = by_feature(2, method).fit(&observed(&table)).unwrap();
        assert!(model.convergence().met_criterion(), "{:?}", model.convergence().stop);
        let scale = model.scale().unwrap();
        assert!(scale[2] == scale[5] && scale[2] == scale[6] && scale[2] > 0.5, "{scale:?}");
        let found = noise(&model);
        // The components can nearly be two of the six features that vary.
        assert!(found.iter().all(|v| *v > 1e-5 && *v < 10.0), "{method}: {found:?}");
        assert!((model.predict(7, 2).unwrap().value - table.complete[7][2]).abs() < 2.0);
        assert!((model.predict(3, 6).unwrap().value - 3.0).abs() < 0.1);
    }
}

#[test]
fn the_noise_is_learned_within_few_iterations_of_each_round() {
    let table = unequal(150, &[2.0, 1.5], &deviations(8, 0.3, 1.5), 0.2, 1);
    let pca = IncompletePca { max_iter: 6, ..by_feature(2, Method::Ppca) };
    let model = pca.fit(&observed(&table)).unwrap();
    assert_eq!((model.convergence().trace.len(), model.convergence().converged()), (6, false));
    let found = noise(&model);
    assert!(found[0] < 0.3 * found[7], "{found:?}");
}

#[test]
fn costs_of_several_runs_are_compared() {
    let table = unequal(100, &[2.0, 1.5], &deviations(12, 0.3, 1.2), 0.3, 3);
    for (n_starts, n) in [(None, 2), (Some(1), 1), (Some(3), 3)] {
        let model = IncompletePca { n_starts, ..by_feature(2, Method::Ppca) }.fit(&observed(&table)).unwrap();
        let found = model.convergence();
        assert_eq!(found.runs.len(), n);
        let lowest = found.runs.iter().map(|run| run.cost).fold(f64::INFINITY, f64::min);
        assert!(found.cost <= lowest + 1e-3 * 840.0);
        assert_eq!(found.starts.map(|starts| (starts.n_starts, starts.n_lowest)), (n > 1).then_some((n, n)));
    }
}

#[test]
fn intervals_cover_in_every_column() {
    let (p, n) = (12, 400);
    let mut inside = vec![0.0; p];
    let mut count = vec![0.0; p];
    for seed in 0..4 {
        let table = unequal(n, &[2.0, 1.5], &deviations(p, 0.2, 1.4), 0.2, 20 + seed);
        let model = by_feature(2, Method::VbFull).fit(&observed(&table)).unwrap();
        for i in 0..n {
            for j in (0..p).filter(|j| !table.observed[i][*j]) {
                let found = model.predict(i, j).unwrap();
                count[j] += 1.0;
                let away = (found.value - table.complete[i][j]).abs();
                inside[j] += f64::from(u8::from(away < 1.96 * found.std().unwrap()));
            }
        }
    }
    let covered: Vec<f64> = inside.iter().zip(&count).map(|(x, n)| x / n).collect();
    assert!(covered.iter().all(|share| (0.91..0.98).contains(share)), "{covered:?}");
}

#[test]
fn what_a_noise_of_each_feature_rules_out_is_refused() {
    let table = unequal(30, &[2.0], &deviations(5, 0.3, 1.2), 0.1, 1);
    let data = observed(&table);
    let plain = by_feature(1, Method::Ppca);
    for (pca, part) in [
        (by_feature(1, Method::Em), "the methods ppca, vb, vb-fixed and vb-full"),
        (
            IncompletePca { regularization: Some(Regularization::Ridge(1.0)), ..by_feature(1, Method::Auto) },
            "ppca, vb",
        ),
        (IncompletePca { scale: Scaling::Deviation, ..plain.clone() }, "leave `scale` out"),
        (IncompletePca { row_offsets: true, ..plain.clone() }, "a common unit"),
        (IncompletePca { early_stopping: Some(0.1), ..plain.clone() }, "leave `early_stopping` out"),
        (IncompletePca { angle_tol: Some(0.1), ..plain.clone() }, "end by `tol`"),
        (
            IncompletePca { learn_mean_prior: true, ..by_feature(1, Method::VbFull) },
            "leave `learn_mean_prior` out",
        ),
    ] {
        let error = pca.fit(&data).unwrap_err();
        assert!(matches!(error, karhunen::Error::Option { option: options::NOISE, .. }), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = plain.fit(&data.clone().with_feature_weights(&[1.0; 5]).unwrap()).unwrap_err();
    assert!(error.to_string().contains("the noise of each feature is its weight"), "{error}");
    let start = karhunen::incomplete::Start {
        loadings: Matrix::from_fn(5, 1, |_, _| 1.0),
        scores: Matrix::from_fn(30, 1, |i, _| i as f64),
        mean: None,
    };
    let context = FitContext { start: Some(&start), ..FitContext::default() };
    let pca = IncompletePca { n_starts: Some(1), mean: MeanMode::Joint, ..plain };
    let error = pca.fit_with(&data, &context, &Run::default()).unwrap_err().to_string();
    assert!(error.contains("starts of their own"), "{error}");
}
