//! The command line as a user meets it: what it prints, writes and answers.

mod checkpoints;
mod cross_validation;
mod errors;
mod files;
mod fit;
mod inspect;
mod kernel;
mod missing;
mod model;
mod outputs;
mod predictions;
mod readme;
mod streams;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
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

/// Refuses values that differ by more than `tolerance`, relative to the largest.
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * largest, "{found:?} {expected:?}");
    }
}

/// A CSV with a header and a column of names as numbers, row by row.
fn parse_csv(text: &str) -> Vec<Vec<f64>> {
    let skip = usize::from(text.starts_with("sample,"));
    text.lines()
        .skip(1)
        .map(|line| line.split(',').skip(skip).map(|cell| cell.parse().unwrap()).collect())
        .collect()
}
