//! Fits of files in blocks have the bits of fits of their arrays.

use std::path::Path;

use karhunen::pca::Route;
use karhunen::{Matrix, Pca, PcaModel, Run, Weights};
use karhunen_io::{Data, ReadOptions, read};
use karhunen_testkit::{planted, power_law};

use crate::file_rows::fixtures::{bits, fit_file, in_blocks, open, written};

fn fit_table(path: &Path, options: &ReadOptions, pca: &Pca, weights: &Weights<'_>) -> PcaModel {
    match read(path, options).unwrap().data {
        Data::F32(values) => pca.fit(&*values.source().unwrap(), weights).unwrap(),
        Data::F64(values) => pca.fit(&*values.source().unwrap(), weights).unwrap(),
    }
}

const ROUTES: [Route; 3] = [Route::Svd, Route::Covariance, Route::BlockKrylov];

/// Tests that variances agree to the tolerance of iteration, which takes other blocks for a file.
fn are_near(found: &PcaModel, expected: &PcaModel) -> bool {
    let (tol, largest) = (expected.convergence().tol, expected.explained_variance()[0]);
    let mut pairs = found.explained_variance().iter().zip(expected.explained_variance());
    found.convergence().converged() && pairs.all(|(a, b)| (a - b).abs() <= tol * largest)
}

/// The file is many times a block, no block holds whole pieces of any sum, and the fit has the bits of the
/// array's; block Krylov iteration, the same bits for every number of threads.
fn check_bits(path: &Path, options: &ReadOptions, n: usize, what: &str) {
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
    let file = in_blocks(path, options, 30_011);
    for route in ROUTES {
        for weights in [None, Some(&weights[..])] {
            let weights = Weights { samples: weights, features: None };
            let pca = Pca { solver: Some(route), scale: true.into(), ..Pca::new(2) };
            let mut expected = fit_table(path, options, &pca, &weights);
            if route == Route::BlockKrylov {
                let found = fit_file(&file, &pca, &weights, &Run::threads(3)).unwrap();
                assert!(are_near(&found, &expected), "{what}, {route}");
                expected = found;
            }
            for n_threads in [1, 2] {
                let found = fit_file(&file, &pca, &weights, &Run::threads(n_threads)).unwrap();
                assert!(bits(&found) == bits(&expected), "{what}, {route}, {n_threads} threads");
            }
        }
    }
}

#[test]
fn a_file_in_blocks_gives_the_bits_of_its_array() {
    let folder = tempfile::tempdir().unwrap();
    let (n, p) = (9_001, 7);
    let rows = planted(n, p, &power_law(p, 0.9), 2.0, 4).rows;
    let double = Matrix::from_fn(n, p, |i, j| rows[i][j]);
    let single = Matrix::from_fn(n, p, |i, j| rows[i][j] as f32);
    let options = ReadOptions::default();
    for name in ["x.npy", "x.parquet", "x.arrow", "x.csv"] {
        let path = written(folder.path(), name, &double, name != "x.npy");
        check_bits(&path, &options, n, &format!("f64 {name}"));
        let path = written(folder.path(), name, &single, false);
        check_bits(&path, &options, n, &format!("f32 {name}"));
        let data = open(&path, &options).unwrap().data;
        assert_eq!(data.dtype(), if name == "x.csv" { "f64" } else { "f32" }, "{name}");
    }
    // An array of columns: the rows of a block are read column by column.
    let turned = Matrix::from_fn(p, n, |j, i| rows[i][j]);
    let path = written(folder.path(), "t.npy", &turned, false);
    check_bits(&path, &ReadOptions { transpose: true, ..options }, n, "columns");
}
