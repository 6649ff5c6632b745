//! Commands: start, signals, and checks of their results.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use karhunen_testkit::without_times;

/// Limit of the duration of a command.
const HANG: Duration = Duration::from_secs(60);

/// Result of a command.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) status: ExitStatus,
    pub(super) errors: String,
}

/// Starts `command` with its standard error stream written to the file `errors`.
pub(super) fn start(command: &mut Command, errors: &Path) -> Result<Child, String> {
    let file = fs::File::create(errors).map_err(|error| format!("{}: {error}", errors.display()))?;
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn();
    spawned.map_err(|error| format!("{command:?} cannot be run: {error}"))
}

/// Waits until the child ends.
///
/// # Errors
/// If the command hangs.
pub(super) fn finish(mut child: Child, errors: &Path) -> Result<Done, String> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            let mut text = Vec::new();
            let read = fs::File::open(errors).and_then(|mut file| file.read_to_end(&mut text));
            read.map_err(|error| format!("{}: {error}", errors.display()))?;
            return Ok(Done { status, errors: String::from_utf8_lossy(&text).into_owned() });
        }
        if started.elapsed() > HANG {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("hangs: still running after {} s", HANG.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a command to its end.
pub(super) fn run(command: &mut Command, errors: &Path) -> Result<Done, String> {
    finish(start(command, errors)?, errors)
}

/// Runs a command that must succeed.
pub(super) fn succeed(command: &mut Command, errors: &Path) -> Result<(), String> {
    let done = run(command, errors)?;
    if done.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} ended with {}: {}", done.status, done.errors))
    }
}

/// Sends a signal to a child that was not waited for; no error if the child has ended.
pub(super) fn signal(child: &Child, name: &str) -> Result<(), String> {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
    status.map(|_| ()).map_err(|error| format!("kill cannot be run: {error}"))
}

impl Done {
    /// Checks the properties of every command: it ends by itself, with a documented code, without the text of a
    /// panic, and an error is one message.
    pub(super) fn check(&self, codes: &[i32]) -> Result<i32, String> {
        let told = self.errors.trim();
        let Some(code) = self.status.code() else {
            let signal = self.status.signal().unwrap_or(0);
            return Err(format!("ended by signal {signal}: {told}"));
        };
        if told.contains("panicked at") || told.contains("RUST_BACKTRACE") {
            return Err(format!("panicked: {told}"));
        }
        if !codes.contains(&code) {
            return Err(format!("ended with code {code}, expected one of {codes:?}: {told}"));
        }
        if code != 0 && told.lines().filter(|line| line.starts_with("error:")).count() != 1 {
            return Err(format!("ended with code {code} and not one message: {told}"));
        }
        Ok(code)
    }
}

/// The names and contents of the files of a folder.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Reads every file of a folder.
pub(super) fn files(folder: &Path) -> Result<Files, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found = Files::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.insert(name, without_times(fs::read(&path).map_err(failed)?));
        }
    }
    Ok(found)
}

/// Checks that a folder holds exactly these files.
pub(super) fn check_files(folder: &Path, expected: &Files) -> Result<(), String> {
    let found = files(folder)?;
    for (name, content) in &found {
        match expected.get(name) {
            None => return Err(format!("{name} was left behind")),
            Some(wanted) if wanted != content => return Err(format!("{name} is not what it should be")),
            Some(_) => {}
        }
    }
    match expected.keys().find(|name| !found.contains_key(*name)) {
        Some(name) => Err(format!("{name} is missing")),
        None => Ok(()),
    }
}
