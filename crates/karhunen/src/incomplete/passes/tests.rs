//! Compares gradients with finite differences, and line searches and gauge steps with the cost.

use crate::exec::Exec;
use crate::incomplete::data::{Duplicates, Observed, Triples};
use crate::incomplete::factors::objective::{Diagonal, MeanRule, Objective};
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::passes::gradient::{gradient_pass, squares};
use crate::incomplete::passes::line_search::{best_step, polynomial};
use crate::incomplete::passes::residuals::residuals;
use crate::incomplete::updates::invariance::{gauge, penalties};
use crate::linalg::Matrix;
use crate::testing::test_matrices::gaussian;

const N: usize = 11;
const P: usize = 7;

fn data(weighted: bool) -> Observed<f64> {
    let x = gaussian(N, P, 1, 0);
    let entries: Vec<(u32, u32)> =
        (0..N * P).filter(|e| e % 3 != 1).map(|e| ((e / P) as u32, (e % P) as u32)).collect();
    let rows: Vec<u32> = entries.iter().map(|e| e.0).collect();
    let columns: Vec<u32> = entries.iter().map(|e| e.1).collect();
    let values: Vec<f64> = entries.iter().map(|e| x[(e.0 as usize, e.1 as usize)] + 2.0).collect();
    let weights: Vec<f64> = (0..values.len()).map(|e| 0.5 + (e % 5) as f64).collect();
    let triples = Triples {
        rows: &rows,
        columns: &columns,
        values: &values,
        weights: weighted.then_some(weights.as_slice()),
    };
    Observed::from_triples(&triples, (N, P), Duplicates::Refuse).unwrap()
}

fn factors(c: usize, seed: u64) -> Factors<f64> {
    let mean = gaussian(1, P, seed, 2).into_vec();
    Factors::new(&gaussian(P, c, seed, 0), &gaussian(N, c, seed, 1), &mean)
}

fn directions(c: usize) -> Factors<f64> {
    let mut directions = factors(c, 9);
    (0..N).for_each(|i| directions.s.row_mut(i)[c] = 0.0);
    directions
}

fn problem(data: &Observed<f64>, c: usize) -> Objective<'_, f64> {
    Objective {
        data,
        loadings: Diagonal::Full((0..P * c).map(|e| 0.1 * (e % 4) as f64).collect()),
        scores: Diagonal::ByComponent((0..c).map(|k| 0.5 + k as f64).collect()),
        mean: MeanRule { kappa: 1.5, prior: 0.7, ..MeanRule::FLAT },
        offsets: None,
        c,
    }
}

fn cost(problem: &Objective<'_, f64>, factors: &Factors<f64>) -> f64 {
    let exec = Exec::sequential();
    squares(problem, factors, &exec).unwrap() + penalties(problem, factors, &exec).unwrap()
}

/// Row widths that select different inner loops: one to four vectors, and more.
const WIDTHS: [usize; 5] = [2, 9, 17, 30, 45];

#[test]
fn gradients_and_curvatures_agree_with_finite_differences() {
    for weighted in [false, true] {
        let data = data(weighted);
        for c in WIDTHS {
            let (problem, factors) = (problem(&data, c), factors(c, 3));
            for side in [FactorSide::Scores, FactorSide::Loadings] {
                let mut g = factors.of(side).zeros_like();
                let mut h = factors.of(side).zeros_like();
                let found = gradient_pass(
                    &problem,
                    &factors,
                    side,
                    [&mut g, &mut h],
                    &Exec::sequential(),
                    |g, h, [g_row, h_row]| {
                        g_row[..g.len()].copy_from_slice(g);
                        h_row[..h.len()].copy_from_slice(h);
                    },
                )
                .unwrap();
                let other = problem.side_penalty(side.other(), &factors, &Exec::sequential()).unwrap();
                let here = cost(&problem, &factors);
                assert!((found.squares + found.penalty + other - here).abs() < 1e-10 * here);
                for i in [0, 3, factors.of(side).n_rows() - 1] {
                    for k in [0, 1, c - 1, problem.n_fitted(side) - 1] {
                        let at = |step: f64| {
                            let mut moved = factors.clone();
                            let factor = if side == FactorSide::Scores { &mut moved.s } else { &mut moved.a };
                            factor.row_mut(i)[k] += step;
                            cost(&problem, &moved)
                        };
                        // F is quadratic in one value: finite differences of any step are exact to rounding.
                        let (up, down) = (at(0.5), at(-0.5));
                        assert!(
                            (-0.5 * (up - down) - g.row(i)[k]).abs() < 1e-10 * here,
                            "{side:?} {c} {i} {k}"
                        );
                        assert!((2.0 * (up + down - 2.0 * here) - h.row(i)[k]).abs() < 1e-9 * here);
                    }
                }
            }
        }
    }
}

/// Lines of several groups and runs, with a rest.
#[test]
fn gradients_of_long_lines_are_sums_over_their_entries() {
    let (n, p) = (700, 3);
    let x = gaussian(n, p, 4, 0);
    let kept: Vec<(usize, usize)> =
        (0..n * p).map(|e| (e / p, e % p)).filter(|(i, j)| (i + j) % 9 > 0).collect();
    let rows: Vec<u32> = kept.iter().map(|e| e.0 as u32).collect();
    let columns: Vec<u32> = kept.iter().map(|e| e.1 as u32).collect();
    let values: Vec<f64> = kept.iter().map(|e| x[*e]).collect();
    let weights: Vec<f64> = (0..values.len()).map(|e| 0.5 + (e % 5) as f64).collect();
    for weighted in [false, true] {
        let of_entries = weighted.then_some(weights.as_slice());
        let triples = Triples { rows: &rows, columns: &columns, values: &values, weights: of_entries };
        let data = Observed::from_triples(&triples, (n, p), Duplicates::Refuse).unwrap();
        for c in WIDTHS {
            let mean = gaussian(1, p, 5, 2).into_vec();
            let factors = Factors::<f64>::new(&gaussian(p, c, 5, 0), &gaussian(n, c, 5, 1), &mean);
            let none = Diagonal::Same(0.0);
            let problem = Objective {
                data: &data,
                loadings: none.clone(),
                scores: none,
                mean: MeanRule::FLAT,
                offsets: None,
                c,
            };
            let (mut g, mut h) = (factors.a.zeros_like(), factors.a.zeros_like());
            let outs = [&mut g, &mut h];
            let copy = |g: &[f64], h: &[f64], [g_row, h_row]: &mut [&mut [f64]; 2]| {
                g_row[..g.len()].copy_from_slice(g);
                h_row[..h.len()].copy_from_slice(h);
            };
            let exec = Exec::sequential();
            let found = gradient_pass(&problem, &factors, FactorSide::Loadings, outs, &exec, copy).unwrap();
            let mut squares = 0.0;
            let mut sums = vec![vec![(0.0, 0.0, 0.0); c + 1]; p];
            for (e, (i, j)) in kept.iter().enumerate() {
                let (s, a) = (factors.s.row(*i), factors.a.row(*j));
                let weight = if weighted { weights[e] } else { 1.0 };
                let residual = values[e] - (0..=c).map(|k| s[k] * a[k]).sum::<f64>();
                squares += weight * residual * residual;
                for (k, (g, h, size)) in sums[*j].iter_mut().enumerate() {
                    *g += weight * residual * s[k];
                    *h += weight * s[k] * s[k];
                    *size += (weight * residual * s[k]).abs();
                }
            }
            // Rounding of sums of some 600 products.
            assert!((found.squares / squares - 1.0).abs() < 1e-12, "{weighted} {c}");
            for (j, sums) in sums.iter().enumerate() {
                for (k, (of_g, of_h, size)) in sums.iter().enumerate() {
                    assert!((g.row(j)[k] - of_g).abs() < 1e-12 * size, "{weighted} {c} {j} {k}");
                    assert!((h.row(j)[k] / of_h - 1.0).abs() < 1e-12, "{weighted} {c} {j} {k}");
                }
            }
        }
    }
}

#[test]
fn the_polynomial_is_the_cost_along_the_line() {
    for weighted in [false, true] {
        let data = data(weighted);
        for c in WIDTHS {
            let (problem, factors, directions) = (problem(&data, c), factors(c, 3), directions(c));
            let exec = Exec::sequential();
            let p = polynomial(&problem, &factors, &directions, &exec).unwrap();
            let along = |t: f64| {
                let mut moved = factors.clone();
                moved.a.set_step(&factors.a, t, &directions.a, &exec).unwrap();
                moved.s.set_step(&factors.s, t, &directions.s, &exec).unwrap();
                cost(&problem, &moved)
            };
            let here = cost(&problem, &factors);
            for t in [-1.0, 0.3, 2.0] {
                let expected = along(t);
                let found = here + t * (p[0] + t * (p[1] + t * (p[2] + t * p[3])));
                assert!((found - expected).abs() < 1e-11 * (here + expected), "{c} {t}: {found} {expected}");
            }
            if let Some(t) = best_step(p) {
                assert!(along(t) < here && along(t) <= along(0.9 * t) && along(t) <= along(1.1 * t));
            }
        }
    }
}

#[test]
fn residuals_are_what_is_left() {
    let data = data(false);
    let (problem, factors) = (problem(&data, 9), factors(9, 3));
    for side in [FactorSide::Scores, FactorSide::Loadings] {
        let e = residuals(&problem, &factors, side, &Exec::sequential()).unwrap();
        let sum: f64 = e.iter().map(|e| e * e).sum();
        let expected = squares(&problem, &factors, &Exec::sequential()).unwrap();
        assert!((sum - expected).abs() < 1e-11 * expected);
    }
}

#[test]
fn gauge_steps_lower_penalties_and_keep_predictions() {
    let data = data(false);
    let c = 4;
    let full = problem(&data, c);
    let same = Objective { loadings: Diagonal::Same(2.0), scores: Diagonal::Same(0.5), ..full.clone() };
    let plain_mean = MeanRule { kappa: 0.0, ..full.mean };
    let by_row = |n: usize| Diagonal::ByRow((0..n).map(|i| 0.1 * (3 + i % 4) as f64).collect());
    let weighted = Objective { loadings: by_row(P), scores: by_row(N), ..full.clone() };
    for problem in [&full, &same, &weighted, &Objective { mean: plain_mean, ..same.clone() }] {
        let before = factors(c, 3);
        let mut after = before.clone();
        gauge(problem, &mut after, &Exec::sequential()).unwrap();
        let predictions = |f: &Factors<f64>| -> Matrix {
            Matrix::from_fn(N, P, |i, j| f.s.row(i).iter().zip(f.a.row(j)).map(|(s, a)| s * a).sum())
        };
        let (x, y): (Matrix, Matrix) = (predictions(&before), predictions(&after));
        for (x, y) in x.as_slice().iter().zip(y.as_slice()) {
            // Predictions are about 10.
            assert!((x - y).abs() < 1e-11, "{x} {y}");
        }
        let gained = cost(problem, &before) - cost(problem, &after);
        assert!(gained > 0.0);
        // A second step gains less, and nothing if the first was exact.
        let mut again = after.clone();
        gauge(problem, &mut again, &Exec::sequential()).unwrap();
        let more = cost(problem, &after) - cost(problem, &again);
        assert!((-1e-10..0.5 * gained).contains(&more), "{more} after {gained}");
    }
}
