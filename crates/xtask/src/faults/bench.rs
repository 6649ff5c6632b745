//! The program, its data, and its undisturbed outputs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use karhunen_testkit::SplitMix64;

use super::run::{Files, files, succeed};
use crate::workspace::{cargo, root};

/// Data and counters that all moments share.
pub(super) struct Bench {
    /// Emptied at the start; keeps the folders of failed moments.
    pub(super) folder: PathBuf,
    program: PathBuf,
    /// Number of folders of undisturbed runs.
    jobs: AtomicUsize,
}

/// A command, its undisturbed outputs, and its duration.
pub(super) struct Job {
    pub(super) arguments: Vec<String>,
    pub(super) outputs: Files,
    pub(super) length: Duration,
}

impl Bench {
    /// Builds the program as the step `tests` does, and writes the data.
    pub(super) fn new() -> Result<Self, String> {
        let program = program()?;
        let folder = root().join("target/faults");
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failed)?;
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        let bench = Self { folder, program, jobs: AtomicUsize::new(0) };
        bench.write("x.csv", &table(2000, 8, 0.0, 1))?;
        bench.write("other.csv", &table(2000, 8, 0.0, 2))?;
        bench.write("missing.csv", &table(400, 10, 0.3, 3))?;
        bench.write("x.npy", &array(20_000, 12, 4))?;
        bench.write("other.npy", &array(20_000, 12, 5))?;
        bench.make(&["fit", "x.csv", "-k", "3", "-q", "-o", "x.model"])?;
        bench.make(&["fit", "x.npy", "-k", "3", "-q", "-o", "npy.model"])?;
        bench.make(&["fit", "missing.csv", "--missing", "-k", "2", "-q", "-o", "missing.model"])?;
        bench.make(&["reconstruct", "x.model", "x.csv", "-q", "--from", "data", "-o", "x.parquet"])?;
        bench.make(&[
            "reconstruct",
            "x.model",
            "other.csv",
            "-q",
            "--from",
            "data",
            "-o",
            "other.parquet",
        ])?;
        Ok(bench)
    }

    /// The path of a file of the data.
    pub(super) fn data(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    /// The program, to be run in `folder`.
    pub(super) fn command(&self, folder: &Path, arguments: &[String]) -> Command {
        self.under(Command::new(&self.program), folder, arguments)
    }

    /// The program, run by a shell after `before`.
    pub(super) fn shell(&self, before: &str, folder: &Path, arguments: &[String]) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{before}; exec \"$@\""), "sh"]).arg(&self.program);
        self.under(shell, folder, arguments)
    }

    fn under(&self, mut command: Command, folder: &Path, arguments: &[String]) -> Command {
        command.args(arguments).current_dir(folder).env("LANG", "C.UTF-8").env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs a command twice; the second run is measured, because the first may warm the caches.
    pub(super) fn job(&self, name: &str, arguments: &[&str]) -> Result<Job, String> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let mut length = Duration::ZERO;
        let mut outputs = Files::new();
        for _ in 0..2 {
            let folder = self.folder.join(format!("{name}-{}", self.jobs.fetch_add(1, Ordering::Relaxed)));
            fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            let started = Instant::now();
            succeed(&mut self.command(&folder, &arguments), &self.folder.join(format!("{name}-errors")))?;
            length = started.elapsed();
            outputs = files(&folder)?;
        }
        Ok(Job { arguments, outputs, length })
    }

    fn make(&self, arguments: &[&str]) -> Result<(), String> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        succeed(&mut self.command(&self.folder, &arguments), &self.folder.join("make-errors"))
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), String> {
        let path = self.folder.join(name);
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// The program named by `KARHUNEN_PROGRAM`, as in the Python tests, or built by the step `tests`.
fn program() -> Result<PathBuf, String> {
    if let Some(given) = std::env::var_os("KARHUNEN_PROGRAM") {
        return Ok(given.into());
    }
    match cargo(&["test", "--release", "--workspace", "--no-run", "--quiet"]).status() {
        Ok(status) if status.success() => Ok(root().join("target/release/karhunen")),
        Ok(status) => Err(format!("the program cannot be built: cargo ended with {status}")),
        Err(error) => Err(format!("cargo cannot be run: {error}")),
    }
}

/// Rows with three dominant directions.
fn rows(n: usize, p: usize, seed: u64) -> impl Iterator<Item = Vec<f64>> {
    let mut random = SplitMix64::new(seed);
    let directions = random.normals(3, p);
    (0..n).map(move |_| {
        let scores: Vec<f64> = [3.0, 2.0, 1.0].iter().map(|size| size * random.normal()).collect();
        (0..p)
            .map(|j| {
                let planted: f64 =
                    scores.iter().zip(&directions).map(|(score, direction)| score * direction[j]).sum();
                planted + 0.3 * random.normal() + 1.0
            })
            .collect()
    })
}

/// A table with column names and a fraction of empty cells.
pub(super) fn table(n: usize, p: usize, missing: f64, seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(seed ^ 0xABCD);
    let mut text: Vec<String> = vec![(1..=p).map(|j| format!("v{j}")).collect::<Vec<_>>().join(",")];
    for row in rows(n, p, seed) {
        let mut cell = |x: f64| if random.uniform() < missing { String::new() } else { format!("{x:.6}") };
        text.push(row.into_iter().map(&mut cell).collect::<Vec<_>>().join(","));
    }
    text.push(String::new());
    text.join("\n").into_bytes()
}

/// An NPY file of f64.
fn array(n: usize, p: usize, seed: u64) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {p}), }}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(118u16.to_le_bytes());
    bytes.extend(format!("{header:<117}\n").bytes());
    rows(n, p, seed).flatten().for_each(|x| bytes.extend(x.to_le_bytes()));
    bytes
}
