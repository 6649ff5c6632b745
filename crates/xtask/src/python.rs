//! The Python package, built once as a wheel and tested in clean environments with the newest and the oldest numpy and
//! with Spark, and its documentation site.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::steps::Counts;
use crate::workspace::{cargo, root};

/// The environment that builds the wheel, tests the engine against definitions, checks style and builds the documentation.
/// The packages of an environment are in `python/requirements-NAME.txt`; it lies under `target/python-NAME`.
const NEWEST: &str = "newest";

/// Tests of the engine against definitions, which other versions of numpy would only repeat.
const OF_ENGINE: &str = "--ignore-glob=tests/test_definitions_*";

/// Tests with clocks, which run alone: fits that take all threads are interrupted within a second or two.
const WITH_CLOCKS: [&str; 3] =
    ["tests/test_interruption.py", "tests/test_incomplete_interruption.py", "tests/test_kernel_work.py"];

/// The tests of `karhunen.spark`.
const OF_SPARK: [&str; 4] = [
    "tests/test_spark.py",
    "tests/test_spark_columns.py",
    "tests/test_spark_entries.py",
    "tests/test_spark_parameters.py",
];

/// Checks the style of the package and tests the wheel with the newest versions.
pub(crate) fn test(counts: &mut Counts) -> Result<(), String> {
    let newest = Environment::prepared(NEWEST)?;
    for arguments in [["check", "."].as_slice(), &["format", "--check", "."]] {
        newest.run("ruff", arguments)?;
    }
    newest.test_all(&[], counts)
}

/// Tests the wheel with the oldest versions that it works with.
pub(crate) fn test_oldest(counts: &mut Counts) -> Result<(), String> {
    Environment::prepared("oldest")?.test_all(&[OF_ENGINE], counts)
}

/// Builds the documentation with the wheel, and checks its links.
pub(crate) fn test_site(_: &mut Counts) -> Result<(), String> {
    let newest = Environment::prepared(NEWEST)?;
    newest.install_wheel()?;
    build_site(&newest)
}

/// Runs the tests of Spark in an environment with pyspark, which needs Java. Without Java they say that they are skipped.
pub(crate) fn test_spark(counts: &mut Counts) -> Result<(), String> {
    let spark = Environment::prepared("spark")?;
    spark.install_wheel()?;
    spark.test(1, &OF_SPARK, counts)
}

/// The path of the wheel, which one run of `cargo xtask` builds once.
fn wheel() -> Result<&'static str, String> {
    static WHEEL: OnceLock<Result<String, String>> = OnceLock::new();
    WHEEL.get_or_init(build_wheel).as_deref().map_err(Clone::clone)
}

/// Compiles the wheel, and the command line, which tests of the package call, as the step `tests` does.
fn build_wheel() -> Result<String, String> {
    run(&mut cargo(&["test", "--release", "--workspace", "--no-run", "--quiet"]))?;
    let folder = root().join("target/wheels");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let builder = Environment::prepared(NEWEST)?;
    builder.run("maturin", &["build", "--release", "--quiet", "--out", &text(&folder)])?;
    let mut wheels = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    match wheels.next() {
        Some(Ok(wheel)) => Ok(text(&wheel.path())),
        _ => Err(format!("maturin left no wheel in {}", folder.display())),
    }
}

/// Builds the documentation and executes its gallery, into `target/python-site`; warnings are errors. Downloads
/// nothing. Checks the links of the result, and deletes the files that the gallery made.
fn build_site(environment: &Environment) -> Result<(), String> {
    let site = text(&root().join("target/python-site"));
    let temporary = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let mut build = environment.command("sphinx-build");
    build.args(["-W", "--keep-going", "-q", "-E", "docs", &site]).env("TMPDIR", temporary.path());
    run(&mut build)?;
    environment.run("python", &["docs/check_site.py", &site])
}

/// A virtual environment with pinned packages.
pub(crate) struct Environment {
    name: &'static str,
    folder: PathBuf,
    requirements: PathBuf,
}

impl Environment {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            folder: root().join(format!("target/python-{name}")),
            requirements: root().join(format!("python/requirements-{name}.txt")),
        }
    }

    /// The environment with its packages installed.
    fn prepared(name: &'static str) -> Result<Self, String> {
        let environment = Self::new(name);
        environment.prepare().map(|()| environment)
    }

    /// Makes the environment unless it exists with the same requirements.
    pub(crate) fn prepare(&self) -> Result<(), String> {
        let wanted = fs::read_to_string(&self.requirements)
            .map_err(|error| format!("{}: {error}", self.requirements.display()))?;
        let stamp = self.folder.join("requirements.txt");
        if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            return Ok(());
        }
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&self.folder))?;
        let requirements = text(&self.requirements);
        self.run("pip", &["install", "--quiet", "--disable-pip-version-check", "-r", &requirements])?;
        fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
    }

    /// A program of the environment, to be run in the folder of the package.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(program));
        command.current_dir(root().join("python")).stdin(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Result<(), String> {
        run(self.command(program).args(arguments))
    }

    fn install_wheel(&self) -> Result<(), String> {
        self.run("pip", &["install", "--quiet", "--no-deps", "--force-reinstall", wheel()?])
    }

    /// Installs the wheel and runs the tests, with these arguments of pytest, in a process for each of up to four processors,
    /// and the tests with clocks after them.
    fn test_all(&self, arguments: &[&str], counts: &mut Counts) -> Result<(), String> {
        self.install_wheel()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        let ignored: Vec<String> = WITH_CLOCKS.iter().map(|file| format!("--ignore={file}")).collect();
        let others: Vec<&str> = arguments.iter().copied().chain(ignored.iter().map(String::as_str)).collect();
        let outcome = self.test(processors, &others, counts);
        outcome.and(self.test(1, &WITH_CLOCKS, counts))
    }

    /// Runs tests with these arguments of pytest in so many processes. Adds their numbers to `counts`.
    fn test(&self, processes: usize, arguments: &[&str], counts: &mut Counts) -> Result<(), String> {
        println!("pytest with the {} versions", self.name);
        let before = counts.failed;
        let processes = if processes == 1 { "0".to_owned() } else { processes.to_string() };
        let mut command = self.command("pytest");
        command
            .args([
                "--quiet",
                "-p",
                "no:cacheprovider",
                "--durations=20",
                "-n",
                &processes,
                "--dist",
                "worksteal",
            ])
            .args(arguments)
            .env("KARHUNEN_PROGRAM", root().join("target/release/karhunen"))
            .stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("pytest cannot be run: {error}"))?;
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).lines() {
                let line = line.map_err(|error| error.to_string())?;
                println!("{line}");
                counts.failures.extend(failed_test(&line).map(|test| format!("{test} ({})", self.name)));
                if let Some(found) = pytest_result(&line) {
                    counts.add(found);
                }
            }
        }
        match child.wait().map_err(|error| error.to_string())? {
            status if status.success() => Ok(()),
            status => Err(format!(
                "{} tests failed with the {} versions ({status})",
                counts.failed - before,
                self.name
            )),
        }
    }
}

/// The numbers in a line such as `2 failed, 260 passed, 5 skipped in 7.14s`; errors count as failures.
fn pytest_result(line: &str) -> Option<Counts> {
    let (numbers, time) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    if !time.split(' ').next()?.ends_with('s') {
        return None;
    }
    let mut counts = Counts::default();
    for part in numbers.split(", ") {
        let (number, what) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            _ => {}
        }
    }
    Some(counts)
}

/// The name in a line such as `FAILED tests/test_pca.py::test_zero - AssertionError: …`.
fn failed_test(line: &str) -> Option<&str> {
    let (outcome, test) = line.split_once(' ')?;
    let test = test.split(" - ").next()?.trim_end();
    (matches!(outcome, "FAILED" | "ERROR") && test.starts_with("tests/")).then_some(test)
}

/// Prints the command and runs it.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let program =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    println!("{program} {}", words.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {} ended with {status}", words.join(" "))),
        Err(error) => Err(format!("{program} cannot be run: {error}")),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_pytest_are_parsed() {
        let result = |line| pytest_result(line);
        let counts = |passed, failed| Some(Counts { passed, failed, failures: Vec::new() });
        assert_eq!(result("12 passed in 0.05s"), counts(12, 0));
        assert_eq!(
            result("== 2 failed, 260 passed, 5 skipped, 1 error in 67.14s (0:01:07) =="),
            counts(260, 3)
        );
        assert_eq!(result("tests/test_inputs.py ...... [ 12%]"), None);
        assert_eq!(result("the 3 numbers in words"), None);
        assert_eq!(
            failed_test("FAILED tests/test_a.py::test_b[1 2] - ValueError: x - y"),
            Some("tests/test_a.py::test_b[1 2]")
        );
        assert_eq!(failed_test("ERROR tests/test_a.py"), Some("tests/test_a.py"));
        assert_eq!(failed_test("E   FAILED tests/test_a.py"), None);
    }
}
