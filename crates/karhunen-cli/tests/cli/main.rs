//! The command line from the user's side: output, files and exit codes.

// Without a feature its tests are left out, and nothing calls what they alone use.
#![cfg_attr(
    not(all(feature = "columnar", feature = "cuda", feature = "hdf5", feature = "zarr")),
    allow(dead_code, unused_imports)
)]

#[cfg(all(target_arch = "x86_64", feature = "columnar", feature = "hdf5"))]
mod bits;
mod categories;
#[cfg(target_os = "linux")]
mod changes;
mod checkpoints;
mod completion;
mod cross_validation;
mod device;
mod diagnostics;
mod errors;
mod files;
mod fit;
mod genotypes;
mod help;
mod hints;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(debug_assertions)))]
mod inlined;
mod inspect;
mod kernel;
mod larger;
#[cfg(not(all(feature = "columnar", feature = "cuda", feature = "hdf5", feature = "zarr")))]
mod left_out;
mod memory;
mod missing;
mod model;
mod moments;
mod outputs;
mod predictions;
mod readme;
mod regressions;
mod report;
mod resumed_passes;
mod rotation;
mod selection;
#[cfg(all(feature = "hdf5", feature = "zarr"))]
mod single_cells;
mod streams;
mod tables;
mod updates;
#[cfg(all(target_arch = "x86_64", feature = "columnar", feature = "hdf5"))]
mod words;
mod zero_rows;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use karhunen_testkit::{Tolerance, largest};
use serde_json::Value;

/// The folder of the example data.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data")
}

/// `karhunen` with arguments separated by blanks, run in the folder of the example data.
fn karhunen(arguments: &str) -> Command {
    let mut command = Command::cargo_bin("karhunen").unwrap();
    command
        .current_dir(examples())
        .args(arguments.split_whitespace())
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL");
    command
}

/// The standard output of a command that must succeed.
fn output(arguments: &str) -> String {
    let done = karhunen(arguments).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

/// The JSON of a command that must succeed.
fn json(arguments: &str) -> Value {
    serde_json::from_str(&output(arguments)).unwrap()
}

/// An array of numbers in JSON.
fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Fails if values differ by more than `tolerance`, relative to the largest.
#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    let norm = largest(expected.iter().copied());
    karhunen_testkit::assert_close(
        "number",
        found,
        expected,
        Tolerance { multiple: 1.0, epsilon: tolerance, norm },
    );
}

/// A CSV with a header and a column of names as numbers, row by row.
fn parse_csv(text: &str) -> Vec<Vec<f64>> {
    let skip = usize::from(text.starts_with("sample,"));
    text.lines()
        .skip(1)
        .map(|line| line.split(',').skip(skip).map(|cell| cell.parse().unwrap()).collect())
        .collect()
}
