//! Results of R and scikit-learn for the same data. `golden/` holds them and the scripts that made them.

use std::path::{Path, PathBuf};

use karhunen::matrix::SparseMatrix;
use karhunen::pca::Scaling;
use karhunen::{Dense, NComponents, Pca, PcaModel, Weighting, Weights};
use karhunen_testkit::{Rows, Tolerance, assert_close, largest};
use serde_json::Value;

use crate::fits::expect::{SOLVERS, components};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Golden(Value);

impl Golden {
    fn read(name: &str) -> Self {
        let path = repository().join(format!("golden/{name}.json"));
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn numbers(&self, key: &str) -> Vec<f64> {
        numbers(&self.0[key])
    }

    fn rows(&self, key: &str) -> Rows {
        self.0[key].as_array().unwrap().iter().map(numbers).collect()
    }

    /// The fitted columns of the data.
    fn data(&self) -> Rows {
        let kept: Vec<&str> =
            self.0["columns"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        read_csv(self.0["file"].as_str().unwrap(), &kept)
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn read_csv(file: &str, columns: &[&str]) -> Rows {
    let text = std::fs::read_to_string(repository().join(file)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let kept: Vec<usize> = columns.iter().map(|c| header.iter().position(|h| h == c).unwrap()).collect();
    lines.map(|fields| kept.iter().map(|&j| fields[j].parse().unwrap()).collect()).collect()
}

/// Fits by every solver and compares all results of the other package, whose variances are `factor` times ours.
fn assert_agrees(golden: &Golden, pca: &Pca, weights: &Weights<'_>, factor: f64) {
    let rows = golden.data();
    let (n, p) = (rows.len(), rows[0].len());
    let values = rows.concat();
    let x = Dense::row_major(&values, n, p).unwrap();
    for solver in SOLVERS {
        let model = Pca { solver, tol: Some(1e-12), ..pca.clone() }.fit(&x, weights).unwrap();
        let scores = model.transform(&x).unwrap();
        let head: Rows = (0..3).map(|i| scores.row(i).to_vec()).collect();
        assert_numbers(golden, &model, &head, factor);
    }
}

/// Rounding errors of LAPACK and of the library: a few units for n = 569 terms at most, about 1e-13.
const AGREEMENT: Tolerance = Tolerance { multiple: 600.0, epsilon: f64::EPSILON, norm: 1.0 };

fn assert_numbers(golden: &Golden, model: &PcaModel, head: &[Vec<f64>], factor: f64) {
    let largest = |values: &[f64]| largest(values.iter().copied());
    let assert = |what: &str, found: &[f64], expected: &[f64]| {
        assert_close(what, found, expected, Tolerance { norm: largest(expected), ..AGREEMENT });
    };
    assert("mean", model.mean(), &golden.numbers("mean"));
    assert("scale", model.scale(), &golden.numbers("scale"));
    let variance: Vec<f64> = model.explained_variance().iter().map(|v| v * factor).collect();
    assert("variance", &variance, &golden.numbers("explained_variance"));
    let expected = golden.rows("components");
    let variances = golden.numbers("explained_variance");
    for (j, (found, expected)) in components(model).iter().zip(&expected).enumerate() {
        // Signs may differ; angles grow as the gap to the neighbours shrinks.
        let sign = found.iter().zip(expected).map(|(a, b)| a * b).sum::<f64>().signum();
        let gap = (0..variances.len()).filter(|&i| i != j).map(|i| (variances[i] - variances[j]).abs());
        let norm = variances[0] / gap.fold(f64::INFINITY, f64::min);
        let expected: Vec<f64> = expected.iter().map(|x| x * sign).collect();
        assert_close(&format!("component {j}"), found, &expected, Tolerance { norm, ..AGREEMENT });
        let column = |rows: &[Vec<f64>], sign: f64| rows.iter().map(|row| row[j] * sign).collect::<Vec<_>>();
        let tolerance = Tolerance { norm: norm * variances[0].sqrt() * 10.0, ..AGREEMENT };
        let theirs = column(&golden.rows("scores_head"), sign);
        assert_close(&format!("scores {j}"), &column(head, 1.0), &theirs, tolerance);
    }
}

fn scaled(weighting: Weighting) -> Pca {
    Pca { scale: true.into(), weighting, ..Pca::default() }
}

#[test]
fn usarrests_agrees_with_r() {
    assert_agrees(&Golden::read("r_usarrests"), &Pca::default(), &Weights::default(), 1.0);
}

#[test]
fn scaled_usarrests_agrees_with_r() {
    let golden = Golden::read("r_usarrests_scaled");
    assert_agrees(&golden, &scaled(Weighting::Frequency), &Weights::default(), 1.0);
    let deviations: Vec<f64> = golden.numbers("explained_variance").iter().map(|v| v.sqrt()).collect();
    let printed = Tolerance { multiple: 0.5, epsilon: 1e-7, norm: 1.0 };
    assert_close("deviations", &deviations, &[1.5748783, 0.9948694, 0.5971291, 0.4164494], printed);
}

#[test]
fn scaled_wine_agrees_with_r() {
    assert_agrees(&Golden::read("r_wine_scaled"), &scaled(Weighting::Frequency), &Weights::default(), 1.0);
}

#[test]
fn given_centres_and_scales_agree_with_r() {
    let golden = Golden::read("r_usarrests_given");
    let pca = Pca::default().center(golden.numbers("mean")).scale(golden.numbers("scale"));
    assert_agrees(&golden, &pca, &Weights::default(), 1.0);
    let golden = Golden::read("r_usarrests_about_given");
    let pca = Pca::default().center(golden.numbers("mean")).scale(true);
    assert_agrees(&golden, &pca, &Weights::default(), 1.0);
}

#[test]
fn pareto_and_range_scaling_agree_with_r() {
    for (name, scale) in [("r_wine_pareto", Scaling::Pareto), ("r_wine_range", Scaling::Range)] {
        assert_agrees(&Golden::read(name), &Pca::default().scale(scale), &Weights::default(), 1.0);
    }
}

#[test]
fn iris_agrees_with_r() {
    let golden = Golden::read("r_iris");
    assert_agrees(&golden, &Pca::default(), &Weights::default(), 1.0);
    let published = [4.22824171, 0.24267075, 0.07820950, 0.02383509];
    let printed = Tolerance { multiple: 0.51, epsilon: 1e-8, norm: 1.0 };
    assert_close("variance", &golden.numbers("explained_variance"), &published, printed);
}

/// R repeats row i of iris 1 + (i mod 3) times; the library weights it.
#[test]
fn frequency_weights_agree_with_repeated_rows_in_r() {
    let golden = Golden::read("r_iris_repeated");
    let weights: Vec<f64> = (0..150).map(|i| f64::from(1 + i % 3)).collect();
    let rows = golden.data();
    let values = rows.concat();
    let x = Dense::row_major(&values, 150, 4).unwrap();
    for solver in SOLVERS {
        let pca = Pca { solver, tol: Some(1e-12), ..Pca::default() };
        let model = pca.fit(&x, &Weights::of_samples(&weights)).unwrap();
        let scores = model.transform(&x).unwrap();
        // The first three repeated rows are row 0 and twice row 1.
        let head: Rows = [0, 1, 1].iter().map(|&i| scores.row(i).to_vec()).collect();
        assert_numbers(&golden, &model, &head, 1.0);
    }
}

fn populations() -> Vec<f64> {
    read_csv("examples/data/midwest_counties.csv", &["poptotal"]).concat()
}

#[test]
fn counties_weighted_by_population_agree_with_r() {
    let weights = populations();
    let weights = Weights::of_samples(&weights);
    let fits = [
        ("r_counties_population", Pca { weighting: Weighting::Population, ..Pca::default() }),
        ("r_counties_importance", Pca { weighting: Weighting::Importance, ..Pca::default() }),
        ("r_counties_population_scaled", scaled(Weighting::Population)),
    ];
    for (name, pca) in fits {
        assert_agrees(&Golden::read(name), &pca, &weights, 1.0);
    }
}

#[test]
fn iris_agrees_with_scikit_learn() {
    assert_agrees(&Golden::read("sklearn_iris"), &Pca::default(), &Weights::default(), 1.0);
}

/// StandardScaler divides by n, as the library does for populations, but the PCA after it by n - 1.
#[test]
fn scaled_data_agree_with_scikit_learn() {
    let cases = [
        ("sklearn_usarrests_scaled", 50.0),
        ("sklearn_wine_scaled", 178.0),
        ("sklearn_breast_cancer_scaled", 569.0),
    ];
    for (name, n) in cases {
        assert_agrees(
            &Golden::read(name),
            &scaled(Weighting::Population),
            &Weights::default(),
            n / (n - 1.0),
        );
    }
}

#[test]
fn sparse_rust_docs_agree_with_scikit_learn() {
    let golden = Golden::read("sklearn_rust_docs");
    let text = std::fs::read_to_string(repository().join("golden/rust_docs_150x200.mtx")).unwrap();
    let mut entries = text
        .lines()
        .filter(|line| !line.starts_with('%'))
        .map(|line| line.split_whitespace().map(|field| field.parse::<u32>().unwrap()).collect::<Vec<_>>());
    let size = entries.next().unwrap();
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for entry in entries {
        rows.push(entry[0] - 1);
        columns.push(entry[1] - 1);
        values.push(f64::from(entry[2]));
    }
    assert_eq!(values.len(), size[2] as usize);
    let x = SparseMatrix::from_triples(size[0] as usize, size[1] as usize, &rows, &columns, &values).unwrap();
    for solver in SOLVERS {
        let pca = Pca { n_components: NComponents::Count(5), solver, tol: Some(1e-12), ..Pca::default() };
        let model = pca.fit(&x.view(), &Weights::default()).unwrap();
        let scores = model.transform(&x.view()).unwrap();
        let head: Rows = (0..3).map(|i| scores.row(i).to_vec()).collect();
        assert_numbers(&golden, &model, &head, 1.0);
        let ratios = golden.numbers("explained_variance_ratio");
        assert_close("ratio", model.explained_variance_ratio(), &ratios, AGREEMENT);
    }
}
