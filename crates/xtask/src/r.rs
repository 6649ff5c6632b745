//! The R package: a tarball with the crates that it needs, installed, tested and checked.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::steps::Counts;
use crate::workspace::{cargo, root};

/// Files and folders of `r/` that the package consists of.
const PARTS: [&str; 11] = [
    ".Rbuildignore",
    "DESCRIPTION",
    "LICENSE",
    "NAMESPACE",
    "R",
    "cleanup",
    "configure",
    "inst",
    "man",
    "src",
    "tests",
];

/// Runs the tests of the package; the last line has the numbers of those that passed and failed.
const TESTS: &str = "
library(karhunen, lib.loc = Sys.getenv('R_LIBS'))
results <- tinytest::run_test_dir(system.file('tinytest', package = 'karhunen'), verbose = 0)
passed <- vapply(results, isTRUE, NA)
for (result in results[!passed]) print(result)
cat(sprintf('%d passed, %d failed\\n', sum(passed), sum(!passed)))
quit(status = as.integer(!all(passed)))";

/// Installs the package into `target/r-library`, and runs its tests and `R CMD check`. Without R, or without the packages of
/// the tests, it says that they are skipped.
pub(crate) fn test(counts: &mut Counts) -> Result<(), String> {
    if let Some(reason) = missing() {
        println!("skipped: {reason}");
        return Ok(());
    }
    let tarball = package()?;
    let library = root().join("target/r-library");
    fs::create_dir_all(&library).map_err(|error| format!("{}: {error}", library.display()))?;
    // R takes no other form of this option, and without it installs for every user of the machine.
    let option = format!("--library={}", library.display());
    succeed(r(&["CMD", "INSTALL", "--no-docs", "--no-multiarch", &option]).arg(&tarball))?;
    let tested = run_tests(&library, counts);
    let checked = check(&tarball, &library);
    match (tested, checked) {
        (Err(tested), Err(checked)) => Err(format!("{tested}; {checked}")),
        (tested, checked) => tested.and(checked),
    }
}

/// Makes the tarball that `R CMD INSTALL` takes, with the crates of the engine; returns its path.
///
/// # Errors
/// Files that cannot be copied; a lock file that does not fit; errors of `R CMD build`.
pub(crate) fn package() -> Result<PathBuf, String> {
    let folder = root().join("target/r-package");
    let package = folder.join("karhunen");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    for part in PARTS {
        copy(&root().join("r").join(part), &package.join(part))?;
    }
    for made in ["Makevars", "init.o", "karhunen.so"] {
        // Files of a build in the repository.
        let _ = fs::remove_file(package.join("src").join(made));
    }
    copy_crates(&package.join("src"))?;
    succeed(r(&["CMD", "build", "karhunen"]).current_dir(&folder))?;
    let tarball = folder.join(format!("karhunen_{}.tar.gz", env!("CARGO_PKG_VERSION")));
    if tarball.exists() { Ok(tarball) } else { Err(format!("R CMD build left no {}", tarball.display())) }
}

/// The crates that the tarball holds.
const CRATES: [&str; 3] = ["karhunen", "karhunen-io", "karhunen-linalg"];

/// Copies the crates of the engine and makes a workspace of them and of the crate of the package, with the locked versions.
fn copy_crates(src: &Path) -> Result<(), String> {
    for name in CRATES {
        let (from, to) = (root().join("crates").join(name), src.join("crates").join(name));
        copy(&from.join("src"), &to.join("src"))?;
        let manifest = read(&from.join("Cargo.toml"))?;
        write(&to.join("Cargo.toml"), &without_tables(&manifest, &["[dev-dependencies]", "[[bench]]"]))?;
    }
    let own = src.join("rust/Cargo.toml");
    let aligned = ["[target.'cfg(all())'.dependencies]", "[build-dependencies]"];
    write(&own, &without_tables(&read(&own)?, &aligned))?;
    let workspace =
        without_tables(&read(&root().join("Cargo.toml"))?, &["[workspace]", "[profile.release.package]"]);
    let members = CRATES.map(|name| format!(", \"crates/{name}\"")).concat();
    let members = format!("[workspace]\nresolver = \"3\"\nmembers = [\"rust\"{members}]\n\n");
    write(&src.join("Cargo.toml"), &format!("{members}{workspace}"))?;
    copy(&root().join("Cargo.lock"), &src.join("Cargo.lock"))?;
    // Drops the packages that only other crates need from the lock file, and fails if a crate is missing.
    let mut metadata = cargo(&["metadata", "--format-version", "1", "--manifest-path"]);
    let output = metadata.arg(src.join("Cargo.toml")).output().map_err(|error| format!("cargo: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// A manifest without some of its tables, whose headers are given.
fn without_tables(manifest: &str, tables: &[&str]) -> String {
    let mut kept = String::new();
    let mut keeps = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            keeps = !tables.contains(&line);
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The reason why the tests cannot run here, if there is one.
fn missing() -> Option<String> {
    let quiet = |command: &mut Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !quiet(&mut r(&["--version"])).is_ok_and(|status| status.success()) {
        return Some("the R package needs R, which is not on the path (Debian: r-base-dev)".to_owned());
    }
    for (name, debian) in [("tinytest", "r-cran-tinytest"), ("Matrix", "r-cran-matrix")] {
        let load = format!("quit(status = as.integer(!requireNamespace('{name}', quietly = TRUE)))");
        if !quiet(&mut script(&load)).is_ok_and(|status| status.success()) {
            return Some(format!("the tests of the R package need R's package {name} (Debian: {debian})"));
        }
    }
    None
}

/// Runs the tests with the package of `library`.
fn run_tests(library: &Path, counts: &mut Counts) -> Result<(), String> {
    let mut command = script(TESTS);
    let mut child = command
        .env("R_LIBS", library)
        .current_dir(library)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("Rscript cannot be run: {error}"))?;
    let mut found = None;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line.map_err(|error| error.to_string())?;
            println!("{line}");
            counts.failures.extend(failed_test(&line));
            found = numbers(&line).or(found);
        }
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let Some(found) = found else { return Err(format!("the tests of R ended with {status}")) };
    let failed = found.failed;
    counts.add(found);
    if status.success() { Ok(()) } else { Err(format!("{failed} tests of R failed ({status})")) }
}

/// Checks the tarball as CRAN does, but for the tests, which have run, and the manual, which needs LaTeX. Notes are shown,
/// warnings are errors.
fn check(tarball: &Path, library: &Path) -> Result<(), String> {
    let folder = root().join("target/r-package");
    let mut command = r(&["CMD", "check", "--no-manual", "--no-tests", "--no-multiarch"]);
    // Without network, dates of files cannot be compared with the time of a server.
    command.env("_R_CHECK_SYSTEM_CLOCK_", "0").env("R_LIBS", library).current_dir(&folder);
    let outcome = succeed(command.arg(tarball));
    let log = read(&folder.join("karhunen.Rcheck/00check.log"))?;
    let status = log.lines().rev().find(|line| line.starts_with("Status:")).unwrap_or("no status");
    outcome?;
    if status.contains("WARNING") || status.contains("ERROR") {
        Err(format!("R CMD check: {status}"))
    } else {
        Ok(())
    }
}

/// A command of R that takes the crates of this repository and what is compiled of them, not the crates of the tarball.
fn r(arguments: &[&str]) -> Command {
    let mut command = Command::new("R");
    command.args(arguments).env("KARHUNEN_WORKSPACE", root()).current_dir(root()).stdin(Stdio::null());
    command
}

fn script(program: &str) -> Command {
    let mut command = Command::new("Rscript");
    command.args(["--vanilla", "-e", program]).stdin(Stdio::null());
    command
}

/// The numbers in a line such as `120 passed, 2 failed`.
fn numbers(line: &str) -> Option<Counts> {
    let (passed, failed) = line.strip_suffix(" failed")?.split_once(" passed, ")?;
    Some(Counts { passed: passed.parse().ok()?, failed: failed.parse().ok()?, failures: Vec::new() })
}

/// The place in a line of tinytest such as `----- FAILED[data]: test_pca.R<7--7>`.
fn failed_test(line: &str) -> Option<String> {
    let (_, place) = line.strip_prefix("----- FAILED[")?.split_once("]: ")?;
    Some(place.to_owned())
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let at = |error: std::io::Error| format!("{}: {error}", from.display());
    if from.is_dir() {
        fs::create_dir_all(to).map_err(at)?;
        for entry in fs::read_dir(from).map_err(at)? {
            let name = entry.map_err(at)?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(at)?;
    }
    fs::copy(from, to).map(drop).map_err(at)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
    println!("R {}", words.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("R {} ended with {status}", words.join(" "))),
        Err(error) => Err(format!("R cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_tinytest_are_parsed() {
        let counts = |passed, failed| Some(Counts { passed, failed, failures: Vec::new() });
        assert_eq!(numbers("120 passed, 2 failed"), counts(120, 2));
        assert_eq!(numbers("many passed, 2 failed"), None);
        assert_eq!(failed_test("----- FAILED[data]: test_pca.R<7--7>").unwrap(), "test_pca.R<7--7>");
        assert_eq!(failed_test(" call| FAILED"), None);
    }

    #[test]
    fn tables_are_left_out() {
        let manifest = "[a]\nx = 1\n[dev-dependencies]\ny = 2\n\n[b]\nz = 3\n[[bench]]\nname = 'c'\n";
        assert_eq!(
            without_tables(manifest, &["[dev-dependencies]", "[[bench]]"]),
            "[a]\nx = 1\n[b]\nz = 3\n"
        );
    }
}
