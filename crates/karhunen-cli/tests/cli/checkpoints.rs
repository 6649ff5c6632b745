//! Fits that are stopped and resumed.

use std::process::Stdio;
use std::time::Duration;

use crate::{examples, karhunen};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(examples().join("iris.csv")).unwrap();
    let with_missing: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if i > 0 {
                cells[i % 4] = "";
            }
            cells.join(",")
        })
        .collect();
    std::fs::write(folder.path().join("t.csv"), with_missing.join("\n")).unwrap();
    folder
}

const FIT: &str = "fit t.csv --missing=newton -k 2 --label class -q --tol 0 --scores -";

fn scores(folder: &tempfile::TempDir, arguments: &str) -> String {
    let done = karhunen(&format!("{FIT} {arguments}")).current_dir(folder.path()).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

fn refusal(folder: &tempfile::TempDir, arguments: &str) -> String {
    let done = karhunen(arguments).current_dir(folder.path()).assert().code(2).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

#[test]
fn a_fit_continues_where_it_was_to_the_same_scores() {
    let folder = folder();
    let whole = scores(&folder, "--max-iter 40");
    let kept = "--checkpoint c --checkpoint-every 0";
    assert_ne!(scores(&folder, &format!("--max-iter 11 {kept}")), whole);
    assert_eq!(scores(&folder, &format!("--max-iter 40 {kept} --resume")), whole);
    // Without a checkpoint, the same command starts the fit.
    assert_eq!(scores(&folder, "--max-iter 40 --checkpoint d --resume"), whole);
}

#[test]
fn ctrl_c_says_where_the_fit_continues() {
    let folder = folder();
    let arguments = format!("{FIT} --max-iter 100000000 --checkpoint c --checkpoint-every 0");
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("karhunen"))
        .args(arguments.split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !folder.path().join("c").exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(5));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130));
    let message = "error: stopped; --resume will continue from c\n";
    assert_eq!(String::from_utf8(done.stderr).unwrap(), message);
    assert!(!scores(&folder, "--max-iter 1 --checkpoint c --resume").is_empty());
}

#[test]
fn ctrl_c_writes_a_checkpoint_that_was_not_due() {
    let folder = folder();
    // Without a tolerance em continues forever, while newton ends when no step lowers the cost.
    let fit = FIT.replace("newton", "em");
    let arguments = format!("{fit} --max-iter 100000000 --checkpoint c --checkpoint-every 3600");
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("karhunen"))
        .args(arguments.split(' '))
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(130));
    let message = "error: stopped; --resume will continue from c\n";
    assert_eq!(String::from_utf8(done.stderr).unwrap(), message);
    assert!(folder.path().join("c").exists());
    let resumed = format!("{fit} --max-iter 1 --checkpoint c --resume");
    karhunen(&resumed).current_dir(folder.path()).assert().success();
}

#[test]
fn checkpoints_and_data_are_told_apart() {
    let folder = folder();
    scores(&folder, "--max-iter 3 --checkpoint c --checkpoint-every 0");
    let said = |arguments: &str| {
        let done = karhunen(arguments).current_dir(folder.path()).assert().code(3).stdout("");
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let resume = "this is a checkpoint, not data; continue its fit with `karhunen fit DATA --missing \
                  --checkpoint c --resume`";
    for command in ["fit c", "fit c --missing", "fit c --triples 1,2,3"] {
        let message = said(command);
        assert!(message.contains(resume), "{command}: {message}");
    }
    std::fs::write(folder.path().join("thesis.txt"), "Chapter 1: components\n").unwrap();
    let message = said("fit t.csv --missing=als --label class --checkpoint thesis.txt --resume");
    assert!(
        message.contains(
            "thesis.txt: is not a checkpoint; give one written by `karhunen fit --checkpoint`, or a new name"
        ),
        "{message}"
    );
}

#[test]
fn checkpoints_of_other_fits_are_refused_by_name() {
    let folder = folder();
    scores(&folder, "--max-iter 3 --checkpoint c --checkpoint-every 0");
    let message = refusal(&folder, &format!("{FIT} --seed 1 --checkpoint c --resume"));
    let expected = "error: c: the checkpoint was made with --seed 0, now there is --seed 1; resume with the same, or fit again\n";
    assert_eq!(message, expected);
    let message = refusal(&folder, &format!("{FIT} --early-stopping=0.05 --checkpoint c --resume"));
    assert!(
        message.contains("made with no --early-stopping, now there is --early-stopping=0.05;"),
        "{message}"
    );
    let cases = [
        ("fit t.csv --checkpoint c", "c: the file exists and holds the checkpoint of a fit"),
        ("fit t.csv --missing --checkpoint -", "--checkpoint - cannot be read again; give a file"),
        (
            "fit t.csv --missing --resume",
            "error: --resume needs the file that keeps the state of the fit; say which with --checkpoint FILE",
        ),
        ("fit t.csv --missing --checkpoint-every 5", "--checkpoint-every needs the file"),
        ("fit t.csv --resume", "--resume needs the file that keeps the state of the fit"),
        ("fit t.csv --missing --checkpoint .", "--checkpoint . is a folder; give a file"),
        ("fit t.csv --missing --checkpoint t.csv", "t.csv"),
        ("fit t.csv --missing --checkpoint m -o m", "--checkpoint"),
    ];
    for (arguments, part) in cases {
        let message = refusal(&folder, arguments);
        assert!(message.contains(part), "{arguments}: {message}");
    }
}
