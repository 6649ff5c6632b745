//! Trials in clean environments: a new virtual environment, or a program without any variable, each in a temporary
//! folder outside the repository.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::place::VERSION;
use crate::workspace::root;

const TRY_PACKAGE: &str = "crates/xtask/src/dist/try_package.py";

/// Data whose fit the README shows.
const DATA: &str = "midwest_counties.csv";
const FIT: [&str; 11] =
    ["fit", DATA, "--weights", "poptotal", "--scale", "--label", "county", "--label", "state", "-k", "4"];
/// The share of the first component, as the README shows it.
const SHARE: &str = "38.44%";

/// The data of the README, the arguments of its fit, and a text that the fit prints.
pub(super) fn data() -> (PathBuf, &'static [&'static str], &'static str) {
    (root().join("examples/data").join(DATA), &FIT, SHARE)
}

/// A temporary folder.
pub(super) fn folder() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("there is no temporary folder: {error}"))
}

/// Installs a wheel or an unpacked source distribution, with its dependencies alone, in a new virtual environment, and
/// tries it; returns the versions that it was tried with.
pub(super) fn python_package(package: &Path, target_folder: Option<&Path>) -> Result<String, String> {
    let folder = folder()?;
    let environment = folder.path().join("environment");
    output(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let program = |name: &str| {
        let mut command = Command::new(environment.join("bin").join(name));
        command.current_dir(folder.path()).stdin(Stdio::null());
        command
    };
    let mut pip = program("pip");
    pip.args(["install", "--quiet", "--disable-pip-version-check"]).arg(package);
    if let Some(target_folder) = target_folder {
        pip.env("CARGO_TARGET_DIR", target_folder);
    }
    output(&mut pip)?;
    output(program("pip").args(["check", "--disable-pip-version-check"]))?;
    let tried = output(program("python").arg("-I").arg(root().join(TRY_PACKAGE)).arg(VERSION))?;
    Ok(String::from_utf8_lossy(&tried.stdout).trim().to_owned())
}

/// A program in a folder with the data of the README, without environment variables.
pub(super) struct Bare<'a> {
    /// An emulator and its arguments, or nothing.
    before: &'a [&'a OsStr],
    program: PathBuf,
    folder: TempDir,
}

impl<'a> Bare<'a> {
    pub(super) fn new(program: &Path, before: &'a [&'a OsStr]) -> Result<Self, String> {
        let folder = folder()?;
        let (data, ..) = data();
        fs::copy(&data, folder.path().join(DATA)).map_err(|error| format!("{}: {error}", data.display()))?;
        Ok(Self { before, program: program.to_owned(), folder })
    }

    /// The output of the program.
    pub(super) fn prints(&self, arguments: &[&str]) -> Result<String, String> {
        let words = self.before.iter().copied().chain([self.program.as_os_str()]);
        let mut words = words.chain(arguments.iter().map(OsStr::new));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env_clear().current_dir(self.folder.path()).stdin(Stdio::null());
        Ok(String::from_utf8_lossy(&output(&mut command)?.stdout).into_owned())
    }

    /// Fits, reads the model back, transforms, fits with missing values; returns what was tried.
    pub(super) fn try_all(&self) -> Result<(), String> {
        self.wants(&["--version"], &format!("karhunen {VERSION}"))?;
        self.wants(&FIT, SHARE)?;
        self.wants(&[&FIT[..], &["-o", "a.model", "--quiet"]].concat(), "")?;
        self.wants(&["inspect", "a.model"], "437")?;
        self.wants(&["transform", "a.model", DATA, "-o", "scores.csv"], "")?;
        let scores = fs::read_to_string(self.folder.path().join("scores.csv"));
        let lines = scores.map_err(|error| format!("scores.csv: {error}"))?.lines().count();
        if lines != 438 {
            return Err(format!("transform wrote {lines} lines of scores, not 438"));
        }
        let missing = ["fit", DATA, "--missing", "--label", "county", "--label", "state", "-k", "2"];
        self.wants(&missing, "PC2")
    }

    fn wants(&self, arguments: &[&str], text: &str) -> Result<(), String> {
        let printed = self.prints(arguments)?;
        if printed.contains(text) {
            return Ok(());
        }
        Err(format!("`karhunen {}` printed no `{text}`:\n{printed}", arguments.join(" ")))
    }
}

/// Prints a command and runs it; an error holds what it wrote.
pub(super) fn output(command: &mut Command) -> Result<Output, String> {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let words: Vec<_> = command.get_args().map(OsStr::to_string_lossy).collect();
    let name = format!("{program} {}", words.join(" "));
    println!("{name}");
    let output = command.output().map_err(|error| format!("{name} cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    Err(format!("{name} ended with {}:\n{out}{err}", output.status))
}
