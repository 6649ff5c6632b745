//! R² and Q² against pcaMethods (`golden/make_pcamethods.R`).

use std::path::Path;

use karhunen::diagnostics::r2;
use karhunen::incomplete::{CrossValidation, Method};
use karhunen::{Dense, IncompletePca, NComponents, Observed, Pca, Run, Weights};
use karhunen_testkit::largest_difference;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    file: String,
    columns: Vec<String>,
    n_rows: usize,
    fold: usize,
    scaled: bool,
    /// For 1, 2, … components, with five digits.
    r2cum: Vec<f64>,
    /// For 1, 2, … components.
    r2: Vec<f64>,
    /// Of each feature for 1, 2, … components.
    r2_features: Vec<Vec<f64>>,
    /// For 1, 2, … components: of each repetition.
    q2: Vec<Vec<f64>>,
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Case {
    fn rows(&self) -> Vec<f64> {
        let text = std::fs::read_to_string(root().join(&self.file)).unwrap();
        let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        let header = cells(text.lines().next().unwrap());
        let kept: Vec<usize> =
            self.columns.iter().map(|name| header.iter().position(|cell| cell == name).unwrap()).collect();
        let rows = text.lines().skip(1).take(self.n_rows).map(cells);
        rows.flat_map(|row| kept.iter().map(|j| row[*j].parse().unwrap()).collect::<Vec<f64>>()).collect()
    }
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(root().join("golden/pcamethods.json")).unwrap();
    serde_json::from_str::<Golden>(&text).unwrap().cases
}

#[test]
fn r2_matches_pcamethods() {
    for case in cases() {
        let (values, p) = (case.rows(), case.columns.len());
        let dense = Dense::row_major(&values, case.n_rows, p).unwrap();
        let pca = Pca { n_components: NComponents::All, scale: case.scaled.into(), ..Pca::default() };
        let found = r2(&pca.fit(&dense, &Weights::default()).unwrap()).unwrap();
        assert!(largest_difference(&found.total, &case.r2cum) <= 5.1e-6, "{}", case.file);
        assert!(largest_difference(&found.total[..case.r2.len()], &case.r2) < 1e-10, "{}", case.file);
        for (j, expected) in case.r2_features.iter().enumerate() {
            let of_feature = &found.features.row(j)[..expected.len()];
            assert!(largest_difference(of_feature, expected) < 1e-10, "{} {j}", case.file);
        }
    }
}

/// Folds are random here and diagonals in random order there; both hold out every entry once, and have as many folds and the
/// same denominator.
#[test]
#[ignore = "seconds: cargo xtask test slow"]
fn q2_matches_pcamethods_within_its_spread() {
    const REPETITIONS: u64 = 5;
    for case in cases() {
        let values = case.rows();
        let dense = Dense::row_major(&values, case.n_rows, case.columns.len()).unwrap();
        let data = Observed::from_dense(&dense).unwrap();
        let grid = CrossValidation {
            n_folds: case.fold,
            n_components: (1..=case.q2.len()).collect(),
            ..CrossValidation::default()
        };
        let mut found = vec![Vec::new(); case.q2.len()];
        for seed in 0..REPETITIONS {
            let pca = IncompletePca {
                method: Method::Ppca,
                scale: case.scaled.into(),
                seed,
                ..IncompletePca::default()
            };
            let table = grid.run(&pca, &data, &Run::default()).unwrap();
            found.iter_mut().zip(table.choices()).for_each(|(all, choice)| all.push(choice.q2));
        }
        for (k, (found, expected)) in found.iter().zip(&case.q2).enumerate() {
            let ((mean, spread), (expected, their_spread)) =
                (mean_and_spread(found), mean_and_spread(expected));
            let allowed = 2.0 * (spread + their_spread);
            assert!(
                (mean - expected).abs() < allowed,
                "{}, {} components: {mean} and {expected}, {allowed} apart at most",
                case.file,
                k + 1
            );
        }
    }
}

/// The mean of some numbers and their standard deviation.
fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}
