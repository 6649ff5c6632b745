//! Inputs that once broke an invariant; none does now.

use std::process::Command;

use karhunen_fuzz::corpus::home;
use karhunen_fuzz::targets::Target;

#[test]
fn no_regression_input_breaks_an_invariant() {
    let mut files = Vec::new();
    for folder in std::fs::read_dir(home().join("tests/regressions")).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        assert!(Target::named(&name).is_some(), "{name} is not a target");
        files.extend(std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()));
    }
    assert!(files.len() >= 6, "{files:?}");
    let done = Command::new(env!("CARGO_BIN_EXE_karhunen-fuzz")).arg("replay").args(&files).output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let broken: Vec<&str> = said.lines().filter(|line| !line.ends_with(": answered")).collect();
    assert!(broken.is_empty() && said.lines().count() == files.len(), "{broken:#?}");
}

#[test]
fn every_kind_of_failure_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let trial = folder.path().join("trial");
    std::fs::create_dir(&trial).unwrap();
    for (how, expected) in [
        ("panic", "panic: "),
        ("abort", "ended by signal 6"),
        ("stack", "has overflowed its stack"),
        ("memory", "memory allocation of 1073741824 bytes failed"),
        ("hang", "hangs: "),
        ("invariant", "1 rows are 2"),
        ("nothing", "answered"),
    ] {
        let path = trial.join("input");
        std::fs::write(&path, how).unwrap();
        let done =
            Command::new(env!("CARGO_BIN_EXE_karhunen-fuzz")).arg("replay").arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(said.contains(expected), "{how}: {said} {}", String::from_utf8_lossy(&done.stderr));
    }
}
