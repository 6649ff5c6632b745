//! The steps of `cargo xtask test`, run in sequence, also after one has failed.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::licences;
use crate::processor;
use crate::python;
use crate::r;
use crate::workspace::{Package, cargo, compiled_twice, packages};

type Step = (&'static str, fn(&mut Counts) -> Result<(), String>);

/// The first ring, which `cargo xtask test` runs: what a change is tested with. All code compiles in the release profile, with
/// the same features in every step: dependencies once for checks, once for programs.
const FIRST: [Step; 4] = [
    ("format", format_is_kept),
    ("clippy", clippy_is_silent),
    ("tests", tests_pass),
    ("python", python::test),
];

/// The second ring, which `cargo xtask test all` runs after the first: long tests, other versions, other programs, and the
/// rest.
const SECOND: [Step; 11] = [
    ("slow", slow_tests_pass),
    ("licences", licences_are_allowed),
    ("oldest", python::test_oldest),
    ("site", python::test_site),
    ("spark", python::test_spark),
    ("r", r::test),
    ("features", each_feature_compiles_alone),
    ("docs", docs_build),
    ("benches", benches_run),
    ("faults", faults_lose_nothing),
    ("fuzz", no_input_breaks_an_invariant),
];

/// The word that runs both rings.
const ALL: &str = "all";

/// Numbers of passed and failed tests, and the names of those that failed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) failures: Vec<String>,
}

impl Counts {
    /// Adds the counts of other tests.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
    }
}

/// The names of the steps.
pub(crate) fn names() -> Vec<&'static str> {
    steps().map(|(name, _)| name).collect()
}

fn steps() -> impl Iterator<Item = Step> {
    FIRST.into_iter().chain(SECOND)
}

/// Tests whether a word names a step, or all of them.
pub(crate) fn is_step(word: &str) -> bool {
    word == ALL || names().contains(&word)
}

/// The steps that these words name: the first ring without a word.
fn chosen(words: &[String]) -> Vec<Step> {
    if words.is_empty() {
        return FIRST.into();
    }
    steps().filter(|(name, _)| words.iter().any(|word| word == name || word == ALL)).collect()
}

/// Runs the steps that are named. The end lists them with their time and processor time, why they failed and the
/// tests that failed; the last line gives the numbers of passed and failed tests. A failed step without tests counts as one
/// failure.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let mut counts = Counts::default();
    let mut report = Vec::new();
    for (name, step) in chosen(words) {
        println!("\n==> {name}");
        let (start, used, failed_before) = (Instant::now(), processor::time_of_children(), counts.failed);
        let outcome = step(&mut counts);
        if let Err(message) = &outcome {
            eprintln!("{name} failed: {message}");
            counts.failed = counts.failed.max(failed_before + 1);
        }
        let used = processor::time_of_children().saturating_sub(used);
        report.push((name, [start.elapsed(), used], outcome));
    }
    println!("\nstep          wall  processor");
    for (name, times, outcome) in &report {
        println!("{}", summary_line(name, *times, outcome));
    }
    for failure in &counts.failures {
        println!("failed: {failure}");
    }
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if report.iter().all(|(_, _, outcome)| outcome.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary_line(name: &str, [wall, used]: [Duration; 2], outcome: &Result<(), String>) -> String {
    let outcome = outcome.as_ref().map_or_else(|message| format!("FAILED: {message}"), |()| "ok".into());
    format!("{name:<10} {:>5.0} s  {:>7.0} s  {outcome}", wall.as_secs_f64(), used.as_secs_f64())
}

fn format_is_kept(_: &mut Counts) -> Result<(), String> {
    has_component("fmt", "rustfmt")?;
    succeed(&mut cargo(&["fmt", "--all", "--check"]))
}

fn licences_are_allowed(_: &mut Counts) -> Result<(), String> {
    let checked = licences::check(&packages()?)?;
    println!("{checked} dependencies, all under allowed licences");
    Ok(())
}

fn clippy_is_silent(_: &mut Counts) -> Result<(), String> {
    has_component("clippy", "clippy")?;
    let targets = ["--lib", "--bins", "--tests", "--examples"];
    let mut command = cargo(&["clippy", "--release", "--workspace"]);
    succeed(command.args(targets).args(["--", "-D", "warnings"]))
}

/// Unit tests, integration tests and doctests, each binary even after another has failed.
fn tests_pass(counts: &mut Counts) -> Result<(), String> {
    cargo_test(&["--workspace"], counts)
}

/// The simulations and the trials of every place that take more than four seconds each, with the programs of the step `tests`.
/// Those that take minutes are left to `cargo xtask calibrate`.
fn slow_tests_pass(counts: &mut Counts) -> Result<(), String> {
    cargo_test(&["--workspace", "--test", "library", "--", "--ignored", "--skip", "rates_of_"], counts)
}

/// Runs `cargo test` with further arguments, and adds the numbers of its tests.
fn cargo_test(arguments: &[&str], counts: &mut Counts) -> Result<(), String> {
    let before = counts.failed;
    let mut command = cargo(&["test", "--release", "--no-fail-fast"]);
    command.args(arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line.map_err(|error| error.to_string())?;
            println!("{line}");
            counts.failures.extend(failed_test(&line));
            if let Some(result) = test_result(&line) {
                counts.add(result);
            }
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{} tests failed ({status})", counts.failed - before)) }
}

/// The numbers in a line such as `test result: ok. 3 passed; 0 failed; …`.
fn test_result(line: &str) -> Option<Counts> {
    let numbers = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let count =
        |name: &str| numbers.split("; ").find_map(|part| part.strip_suffix(name)?.trim().parse().ok());
    Some(Counts { passed: count(" passed")?, failed: count(" failed")?, failures: Vec::new() })
}

/// The name in a line such as `test units::zero ... FAILED`.
fn failed_test(line: &str) -> Option<String> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(String::from)
}

/// Fault injection: a few moments of each kind, with a fixed seed.
#[cfg(unix)]
fn faults_lose_nothing(counts: &mut Counts) -> Result<(), String> {
    crate::faults::step(counts)
}

#[cfg(not(unix))]
fn faults_lose_nothing(_: &mut Counts) -> Result<(), String> {
    println!("skipped: there are no signals here");
    Ok(())
}

/// A run of the fuzzer on fixed inputs.
#[cfg(unix)]
fn no_input_breaks_an_invariant(_: &mut Counts) -> Result<(), String> {
    crate::fuzz::search(&[])
}

#[cfg(not(unix))]
fn no_input_breaks_an_invariant(_: &mut Counts) -> Result<(), String> {
    println!("skipped: the search starts its processes through a shell");
    Ok(())
}

/// The programs whose dependencies are compiled once for all.
const PROGRAMS: [&str; 4] = ["karhunen-cli", "karhunen-python", "karhunen-r", "xtask"];

/// Compiles each package without its default features, and with each of its features alone; runs the README's first command
/// and the tests of what such a build says. Compares the features of dependencies between programs.
fn each_feature_compiles_alone(counts: &mut Counts) -> Result<(), String> {
    let twice = compiled_twice(&PROGRAMS)?;
    if !twice.is_empty() {
        return Err(format!("dependencies are compiled twice, add their features: {}", twice.join("; ")));
    }
    for Package { name, features, .. } in members()?.iter().filter(|package| !package.features.is_empty()) {
        for feature in std::iter::once("").chain(features.iter().map(String::as_str)) {
            let package = ["clippy", "--release", "-p", name, "--no-default-features", "--features", feature];
            succeed(cargo(&package).args(["--", "-D", "warnings"]))?;
        }
    }
    // In one command, which compiles the library once.
    let packages = ["-p", "karhunen-cli", "-p", "karhunen-io", "-p", "karhunen-device"];
    let light = ["--no-default-features", "--tests", "--", "left_out", "readme", "a_build_without"];
    cargo_test(&[packages.as_slice(), &light].concat(), counts)
}

fn docs_build(_: &mut Counts) -> Result<(), String> {
    succeed(cargo(&["doc", "--release", "--no-deps", "--workspace"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Checks the code of the benchmarks, and runs each once, as a test, in one command for the workspace, which reuses the
/// dependencies of the step `tests`.
fn benches_run(_: &mut Counts) -> Result<(), String> {
    succeed(&mut cargo(&["clippy", "--release", "--workspace", "--benches", "--", "-D", "warnings"]))?;
    let mut command = cargo(&["bench", "--workspace"]);
    for bench in members()?.iter().flat_map(|package| &package.benches) {
        command.args(["--bench", bench]);
    }
    succeed(command.args(["--", "--test"]))
}

fn members() -> Result<Vec<Package>, String> {
    Ok(packages()?.into_iter().filter(|package| package.source.is_none()).collect())
}

fn has_component(subcommand: &str, component: &str) -> Result<(), String> {
    let mut command = cargo(&[subcommand, "--version"]);
    match command.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("{component} is not installed; get it with `rustup component add {component}`")),
    }
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    println!("cargo {}", words.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("cargo {} ended with {status}", words.join(" "))),
        Err(error) => Err(format!("cargo cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_results_are_parsed() {
        let ok =
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.05s";
        let counts = |passed, failed| Some(Counts { passed, failed, failures: Vec::new() });
        assert_eq!(test_result(ok), counts(12, 0));
        let failed = "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(test_result(failed), counts(3, 2));
        assert_eq!(test_result("test compare::tests::passed ... ok"), None);
        assert_eq!(test_result("test result: strange"), None);
        assert_eq!(failed_test("test units::zero ... FAILED").unwrap(), "units::zero");
        assert_eq!(failed_test("test units::zero ... ok"), None);
    }

    #[test]
    fn steps_are_found_by_name() {
        assert!(is_step("clippy") && is_step("all") && !is_step("pedantry"));
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            chosen(&words).iter().map(|(name, _)| *name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["format", "clippy", "tests", "python"]);
        assert_eq!(names(&["fuzz", "tests"]), ["tests", "fuzz"]);
        assert_eq!(names(&["all"]).len(), FIRST.len() + SECOND.len());
        let times = [1250, 2600].map(Duration::from_millis);
        assert_eq!(summary_line("docs", times, &Ok(())), "docs           1 s        3 s  ok");
        assert_eq!(
            summary_line("docs", times, &Err("why".into())),
            "docs           1 s        3 s  FAILED: why"
        );
    }
}
