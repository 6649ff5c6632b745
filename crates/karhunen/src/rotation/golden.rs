//! Rotations of base R, psych and GPArotation. `golden/` holds them and the script that made them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::linalg::{Dense, Matrix};
use crate::pca::Pca;
use crate::rotation::{Oblimin, Orthomax, Promax, Rotation};
use crate::testing::test_matrices::max_difference;
use crate::weights::Weights;

const CASES: [&str; 3] = ["usarrests", "wine", "breast_cancer"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn golden(name: &str) -> Value {
    let path = repository().join(format!("golden/r_rotation_{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn matrix(value: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Matrix::from_vec(rows.len(), rows[0].len(), rows.concat()).unwrap()
}

/// For each column of `found` the column of `expected` nearest to it up to sign, and that sign.
fn matched(found: &Matrix, expected: &Matrix) -> Vec<(usize, f64)> {
    let distance = |c: usize, d: usize, sign: f64| {
        (0..found.n_rows()).map(|j| (found[(j, c)] - sign * expected[(j, d)]).powi(2)).sum::<f64>()
    };
    (0..found.n_cols())
        .map(|c| {
            let pairs = (0..expected.n_cols()).flat_map(|d| [(d, 1.0), (d, -1.0)]);
            pairs.min_by(|a, b| distance(c, a.0, a.1).total_cmp(&distance(c, b.0, b.1))).unwrap()
        })
        .collect()
}

fn assert_agrees(what: &str, found: &Rotation, expected: &Value, tolerance: f64) {
    let pattern = matrix(&expected["pattern"]);
    let matches = matched(&found.pattern, &pattern);
    let moved =
        |a: &Matrix| Matrix::from_fn(a.n_rows(), a.n_cols(), |j, c| a[(j, matches[c].0)] * matches[c].1);
    let close = |name: &str, found: &Matrix, expected: &Matrix| {
        let difference = max_difference(found, expected);
        assert!(difference < tolerance, "{what} {name}: {difference:e}");
    };
    close("pattern", &found.pattern, &moved(&pattern));
    if !expected["structure"].is_null() {
        close("structure", &found.structure, &moved(&matrix(&expected["structure"])));
    }
    if !expected["phi"].is_null() {
        let phi = moved(&moved(&matrix(&expected["phi"])).transposed());
        close("correlations", &found.component_correlations, &phi);
    }
    if !expected["variances"].is_null() {
        let variances = numbers(&expected["variances"]);
        for (c, variance) in found.variances.iter().enumerate() {
            let difference = (variance - variances[matches[c].0]).abs();
            assert!(difference < tolerance * 10.0, "{what} variances: {difference:e}");
        }
    }
}

#[test]
fn rotations_agree_with_r() {
    for name in CASES {
        let golden = golden(name);
        let loadings = matrix(&golden["loadings"]);
        for (kaiser, suffix) in [(true, ""), (false, "_raw")] {
            let of = |rule: &str| &golden[format!("{rule}{suffix}")];
            let varimax = Orthomax { kaiser, ..Orthomax::varimax() };
            // The criterion of R's varimax is flat to its square root of rounding.
            assert_agrees(name, &varimax.rotate(&loadings).unwrap(), of("varimax"), 2e-7);
            let quartimax = Orthomax { kaiser, ..Orthomax::quartimax() };
            assert_agrees(name, &quartimax.rotate(&loadings).unwrap(), of("quartimax"), 1e-6);
            let promax = Promax { orthomax: varimax, ..Promax::default() };
            assert_agrees(name, &promax.rotate(&loadings).unwrap(), of("promax"), 1e-6);
            let oblimin = Oblimin { kaiser, tol: 1e-8, ..Oblimin::default() };
            assert_agrees(name, &oblimin.rotate(&loadings).unwrap(), of("oblimin"), 1e-6);
        }
        let oblimin = Oblimin { gamma: -0.5, kaiser: false, tol: 1e-8, ..Oblimin::default() };
        assert_agrees(name, &oblimin.rotate(&loadings).unwrap(), &golden["oblimin_gamma"], 1e-6);
        // R's own tolerance of 1e-5 of the criterion.
        assert_agrees(name, &Promax::default().rotate(&loadings).unwrap(), &golden["promax_default"], 2e-2);
    }
}

#[test]
fn loadings_communalities_and_scores_agree_with_psych() {
    for name in CASES {
        let golden = golden(name);
        let loadings = matrix(&golden["loadings"]);
        let columns: Vec<&str> =
            golden["columns"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let text = std::fs::read_to_string(repository().join(golden["file"].as_str().unwrap())).unwrap();
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let kept: Vec<usize> = columns
            .iter()
            .map(|c| header.iter().position(|h| *h == c.replace('.', " ") || h == c).unwrap())
            .collect();
        let values: Vec<f64> = lines
            .flat_map(|fields| kept.iter().map(|&j| fields[j].parse().unwrap()).collect::<Vec<f64>>())
            .collect();
        let x = Dense::row_major(&values, values.len() / kept.len(), kept.len()).unwrap();
        let model = Pca::new(loadings.n_cols()).scale(true).fit(&x, &Weights::default()).unwrap();
        assert!(max_difference(&model.loadings(), &loadings) < 1e-10, "{name}");
        let rotated = Orthomax::varimax().rotate(&model.loadings()).unwrap();
        // psych stops varimax at R's default tolerance of 1e-5.
        let expected = &golden["psych_varimax"];
        assert_agrees(name, &rotated, expected, 2e-2);
        for (found, expected) in rotated.communalities.iter().zip(numbers(&expected["communalities"])) {
            assert!((found - expected).abs() < 1e-10);
        }
        let scores = model.transform(&x.rows(0..3)).unwrap();
        let check = |rotated: &Rotation, expected: &Value| {
            let found = rotated.scores(&scores, model.explained_variance()).unwrap();
            let head = matrix(&expected["scores_head"]);
            let matches = matched(&rotated.pattern, &matrix(&expected["pattern"]));
            for i in 0..3 {
                for (c, (d, sign)) in matches.iter().enumerate() {
                    assert!((found[(i, c)] - sign * head[(i, *d)]).abs() < 5e-2, "{name} {i} {c}");
                }
            }
        };
        check(&rotated, expected);
        let promax = Promax::default().rotate(&model.loadings()).unwrap();
        assert_agrees(name, &promax, &golden["psych_promax"], 3e-2);
        check(&promax, &golden["psych_promax"]);
    }
}
