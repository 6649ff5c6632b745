//! Completion by iterated PCA, against missMDA (`golden/make_missmda.R`) and its definition.

use std::path::{Path, PathBuf};

use karhunen::completion::{IterativePca, Shrinkage, choose_n_components};
use karhunen::{Dense, Error, Flow, Matrix, NComponents, Observer, Pca, Run, Weighting, Weights};
use karhunen_testkit::gaussian;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    file: PathBuf,
    part: (usize, usize),
    cases: Vec<Case>,
    chosen: Vec<ChosenCase>,
}

#[derive(Deserialize)]
struct Case {
    table: String,
    scale: bool,
    method: String,
    ncp: usize,
    ridge: f64,
    weights: Option<Vec<f64>>,
    /// Values of the missing entries, column by column.
    filled: Vec<f64>,
    fitted_head: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct ChosenCase {
    scale: bool,
    ncp: usize,
    criterion: Vec<f64>,
}

fn golden() -> (Golden, Matrix) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let golden: Golden =
        serde_json::from_str(&std::fs::read_to_string(root.join("golden/missmda.json")).unwrap()).unwrap();
    let text = std::fs::read_to_string(root.join(&golden.file)).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect())
        .collect();
    let x = Matrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j]);
    (golden, x)
}

/// The first rows and columns.
fn part(x: &Matrix, (n, p): (usize, usize)) -> Matrix {
    Matrix::from_fn(n, p, |i, j| x[(i, j)])
}

fn close(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found}, not {expected}");
}

#[test]
fn fills_match_missmda() {
    let (golden, whole) = golden();
    for case in golden.cases {
        let x = if case.table == "whole" { whole.clone() } else { part(&whole, golden.part) };
        let shrinkage = if case.method == "em" { Shrinkage::Em } else { Shrinkage::Regularized };
        let options =
            IterativePca { scale: case.scale, shrinkage, ridge: case.ridge, ..IterativePca::new(case.ncp) };
        let found = options.complete(&x, case.weights.as_deref(), &Run::default()).unwrap();
        let (n, p) = x.shape();
        let missing = (0..p).flat_map(|j| (0..n).map(move |i| (i, j))).filter(|&e| x[e].is_nan());
        let filled: Vec<f64> = missing.map(|e| found.completed[e]).collect();
        assert_eq!(filled.len(), case.filled.len());
        // Values are of the size one; both stop at the same iteration.
        let name = format!("{} {} {}", case.table, case.scale, case.method);
        for (found, expected) in filled.iter().zip(&case.filled) {
            close(&name, *found, *expected, 1e-9);
        }
        for (i, row) in case.fitted_head.iter().enumerate() {
            for (j, expected) in row.iter().enumerate() {
                close(&name, found.fitted[(i, j)], *expected, 1e-9);
            }
        }
        for e in (0..n).flat_map(|i| (0..p).map(move |j| (i, j))).filter(|&e| !x[e].is_nan()) {
            assert_eq!(found.completed[e], x[e]);
        }
    }
}

#[test]
fn the_number_of_components_matches_missmda() {
    let (golden, whole) = golden();
    let x = part(&whole, golden.part);
    for case in golden.chosen {
        let options = IterativePca { scale: case.scale, ..IterativePca::new(0) };
        let found = choose_n_components(&options, &x, None, (0, 5), &Run::default()).unwrap();
        assert_eq!((found.n_components, found.least), (case.ncp, 0));
        for (found, expected) in found.criterion.iter().zip(&case.criterion) {
            close("criterion", *found, *expected, 1e-10);
        }
    }
}

fn incomplete(n: usize, p: usize) -> Matrix {
    let rows = gaussian(n, p, 4);
    let value = |i: usize, j: usize| rows[i][0] * (j + 1) as f64 + 0.2 * rows[i][j];
    Matrix::from_fn(n, p, |i, j| if (3 * i + 5 * j) % 7 == 0 { f64::NAN } else { value(i, j) })
}

#[test]
fn a_converged_completion_is_a_fixed_point() {
    let x = incomplete(40, 6);
    let options = IterativePca { tol: 1e-14, max_iter: 20_000, ..IterativePca::new(2) };
    let found = options.complete(&x, None, &Run::default()).unwrap();
    assert!(found.converged);
    // Plain PCA of the completed table, with the divisor n.
    let pca = Pca { weighting: Weighting::Population, ..Pca::default() }.scale(true);
    let model = pca.fit(&Dense::from(&found.completed), &Weights::default()).unwrap();
    let variances = model.explained_variance();
    let noise = 40.0 * 6.0 / 6.0 * variances[2..].iter().sum::<f64>() / ((39.0 - 2.0) * (6.0 - 2.0));
    close("noise", found.noise_variance, noise, 1e-5);
    let scores = model.transform(&Dense::from(&found.completed)).unwrap();
    for (i, j) in (0..40).flat_map(|i| (0..6).map(move |j| (i, j))) {
        let sum: f64 =
            (0..2).map(|c| scores[(i, c)] * (1.0 - noise / variances[c]) * model.components()[(c, j)]).sum();
        let fitted = model.mean()[j] + model.scale()[j] * sum;
        close("fitted", found.fitted[(i, j)], fitted, 1e-5);
        if x[(i, j)].is_nan() {
            close("filled", found.completed[(i, j)], fitted, 1e-5);
        }
    }
    assert_eq!(found.model.n_components(), 2);
    close("variance", found.model.explained_variance()[1], variances[1], 1e-12);
}

#[test]
fn no_component_fills_with_means_and_a_complete_table_stays() {
    let x = incomplete(15, 4);
    let weights: Vec<f64> = (0..15).map(|i| f64::from(i as u8 % 3)).collect();
    let found = IterativePca::new(0).complete(&x, Some(&weights), &Run::default()).unwrap();
    for (i, j) in (0..15).flat_map(|i| (0..4).map(move |j| (i, j))).filter(|&e| x[e].is_nan()) {
        let observed = || (0..15).filter(|i| !x[(*i, j)].is_nan());
        let sum: f64 = observed().map(|i| weights[i] * x[(i, j)]).sum();
        close("mean", found.completed[(i, j)], sum / observed().map(|i| weights[i]).sum::<f64>(), 1e-13);
    }
    assert_eq!((found.n_iter, found.converged, found.model.n_components()), (0, true, 0));
    let complete = Matrix::from_fn(15, 4, |i, j| found.completed[(i, j)]);
    let again = IterativePca::new(2).complete(&complete, None, &Run::default()).unwrap();
    assert_eq!((&again.completed, again.n_iter), (&complete, 0));
    let expected =
        Pca { n_components: NComponents::Count(2), weighting: Weighting::Population, ..Pca::default() }
            .scale(true)
            .fit(&Dense::from(&complete), &Weights::default())
            .unwrap();
    assert_eq!(again.model, expected);
}

#[test]
fn repeated_rows_are_weights() {
    let x = incomplete(20, 5);
    let weights: Vec<f64> = (0..20).map(|i| f64::from(i as u8 % 3)).collect();
    let repeated: Vec<usize> = (0..20).flat_map(|i| vec![i; i % 3]).collect();
    let many = Matrix::from_fn(repeated.len(), 5, |i, j| x[(repeated[i], j)]);
    // Without shrinkage, whose degrees of freedom count rows.
    let options = IterativePca { shrinkage: Shrinkage::Em, tol: 1e-10, ..IterativePca::new(1) };
    let weighted = options.complete(&x, Some(&weights), &Run::default()).unwrap();
    let plain = options.complete(&many, None, &Run::default()).unwrap();
    for (line, &i) in repeated.iter().enumerate() {
        for j in 0..5 {
            close("fill", plain.completed[(line, j)], weighted.completed[(i, j)], 1e-9);
        }
    }
}

#[test]
fn unsuitable_options_and_tables_are_refused() {
    struct Stop;
    impl Observer for Stop {
        fn update(&self, _: &'static str, _: f64) -> Flow {
            Flow::Stop
        }
    }
    let x = incomplete(12, 4);
    let message = |options: IterativePca, x: &Matrix| {
        options.complete(x, None, &Run::default()).unwrap_err().to_string()
    };
    assert!(message(IterativePca::new(4), &x).contains("takes at most 3 components"));
    assert!(message(IterativePca { ridge: -1.0, ..IterativePca::default() }, &x).contains("ridge"));
    assert!(message(IterativePca { tol: 1.0, ..IterativePca::default() }, &x).contains("tol"));
    assert!(message(IterativePca { max_iter: 0, ..IterativePca::default() }, &x).contains("max_iter"));
    let empty = Matrix::from_fn(12, 4, |i, j| if j == 2 { f64::NAN } else { x[(i, j)] });
    assert!(message(IterativePca::new(1), &empty).contains("column 2 has no value"));
    let nothing = Matrix::from_fn(12, 4, |_, _| f64::NAN);
    let error = IterativePca::default().complete(&nothing, None, &Run::default());
    assert!(matches!(error, Err(Error::NothingObserved { .. })));
    let infinite = Matrix::from_fn(12, 4, |i, j| if (i, j) == (1, 3) { f64::INFINITY } else { x[(i, j)] });
    let error = IterativePca::default().complete(&infinite, None, &Run::default());
    assert!(matches!(error, Err(Error::NonFinite { row: 1, column: 3, .. })));
    let run = Run { observer: &Stop, ..Run::default() };
    assert!(matches!(IterativePca::default().complete(&x, None, &run), Err(Error::Stopped { .. })));
    let few = IterativePca { max_iter: 2, ..IterativePca::default() };
    assert!(!few.complete(&x, None, &Run::default()).unwrap().converged);
    let error = choose_n_components(&IterativePca::default(), &x, None, (5, 9), &Run::default());
    assert!(error.unwrap_err().to_string().contains("the largest number of components is 3"));
}
