//! Standard streams that close or are full, and signals.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{examples, json, karhunen, output};

#[test]
fn a_table_comes_from_the_standard_input() {
    let table = std::fs::read(examples().join("usarrests.csv")).unwrap();
    let done = karhunen("fit - --scale --json").write_stdin(table).assert().success().stderr("");
    let found: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(found["file"], "standard input");
    assert_eq!(found["explained_variance"], json("fit usarrests.csv --scale --json")["explained_variance"]);
    let done = karhunen("fit -").write_stdin("a,b\n1,x\n").assert().code(3).stdout("");
    let message = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(message.starts_with("error: standard input: line "), "{message}");
}

#[test]
fn a_model_passes_through_a_pipe() {
    let fitted = karhunen("fit usarrests.csv -k 2 --scale -o - -q").assert().success().stderr("");
    let model = fitted.get_output().stdout.clone();
    let scores = karhunen("transform - usarrests.csv").write_stdin(model).assert().success();
    let scores = String::from_utf8(scores.get_output().stdout.clone()).unwrap();
    assert_eq!(scores, output("fit usarrests.csv -k 2 --scale --scores - -q"));
}

#[test]
fn the_summary_makes_way_for_scores() {
    let done = karhunen("fit usarrests.csv -k 2 --scale --scores -").assert().success();
    let (out, err) = (&done.get_output().stdout, &done.get_output().stderr);
    assert!(out.starts_with(b"sample,PC1,PC2\nAlabama,"));
    let summary = String::from_utf8(err.clone()).unwrap();
    assert!(summary.starts_with("usarrests.csv: CSV, 50 rows x 4 columns, f64\n"), "{summary}");
}

fn spawn(arguments: &str) -> std::process::Child {
    Command::new(assert_cmd::cargo::cargo_bin("karhunen"))
        .current_dir(examples())
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m");
    let arguments = [
        "fit rust_docs_bow.mtx.gz -k 5 --scores - -q".to_owned(),
        format!("fit rust_docs_bow.mtx.gz -k 5 --scores - -q -o {}", model.display()),
        "fit rust_docs_bow.mtx.gz -k 2 --json=full".to_owned(),
    ];
    for arguments in arguments {
        let mut child = spawn(&arguments);
        drop(child.stdout.take());
        let mut message = String::new();
        child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        assert_eq!(message, "", "{arguments}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments}");
    }
    assert!(model.exists());
}

#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    signal(child, "INT");
}

#[cfg(unix)]
fn signal(child: &std::process::Child, name: &str) {
    let status = Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status().unwrap();
    assert!(status.success());
}

/// A fit that does not end by itself, in a separate folder, started by a shell after `before`.
#[cfg(unix)]
fn endless(before: &str, options: &str) -> (tempfile::TempDir, std::process::Child) {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..40).map(|i| format!("{},,{}\n,{},{}.5\n", i % 7, i % 5, i, i * i % 11)).collect();
    std::fs::write(folder.path().join("t.csv"), format!("a,b,c\n{rows}")).unwrap();
    let program = assert_cmd::cargo::cargo_bin!("karhunen").display().to_string();
    let fit = "fit t.csv --missing=em --tol 0 --max-iter 100000000 -k 1 -q -o m";
    let child = Command::new("sh")
        .current_dir(folder.path())
        .arg("-c")
        .arg(format!("{before} exec {program} {fit} {options}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    (folder, child)
}

#[cfg(unix)]
#[test]
fn each_signal_has_its_exit_code() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        // The limit ends a fit whose signal is ignored, as SIGHUP is under nohup.
        let (folder, child) = endless("", "--time-limit 30");
        std::thread::sleep(Duration::from_millis(800));
        signal(&child, name);
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(code), "{name}");
        assert_eq!(String::from_utf8(done.stderr).unwrap(), "error: stopped; nothing was written\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    // A start as under nohup.
    let (_folder, child) = endless("trap '' HUP;", "--time-limit 3");
    std::thread::sleep(Duration::from_millis(800));
    signal(&child, "HUP");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_checkpoint_that_cannot_be_written_is_a_warning() {
    let options = "--time-limit 3 --checkpoint sub/c --checkpoint-every 0";
    let (folder, mut child) = endless("mkdir sub gone;", options);
    let (sub, gone) = (folder.path().join("sub"), folder.path().join("gone/sub"));
    let wait = || std::thread::sleep(Duration::from_millis(400));
    while !sub.join("c").exists() {
        assert_eq!(child.try_wait().unwrap(), None);
        wait();
    }
    std::fs::rename(&sub, &gone).unwrap();
    wait();
    std::fs::rename(&gone, &sub).unwrap();
    wait();
    std::fs::rename(&sub, &gone).unwrap();
    let done = child.wait_with_output().unwrap();
    let message = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(0), "{message}");
    assert!(folder.path().join("m").exists());
    // An interrupted fit may also warn of out-of-range predictions.
    let lines: Vec<&str> = message.lines().filter(|line| line.contains("checkpoint")).collect();
    let failed = "warning: no checkpoint was kept: sub/c: writing failed: ";
    assert_eq!(lines.len(), 4, "{message}");
    assert!(
        lines[0].starts_with(failed) && lines[0].ends_with("; the fit continues without one"),
        "{message}"
    );
    assert_eq!(lines[1], "note: sub/c: the checkpoint could be written again");
    assert!(lines[2].starts_with(failed), "{message}");
    assert!(lines[3].starts_with("warning: the last checkpoint that was kept is of iteration "), "{message}");
}

/// Runs a shell command in the folder of the example data, with `karhunen` instead of `K`; returns the exit code
/// and standard error.
#[cfg(unix)]
fn shell(line: &str) -> (Option<i32>, String) {
    let program = assert_cmd::cargo::cargo_bin!("karhunen").display().to_string();
    let line = line.replace("K ", &format!("{program} "));
    let done = Command::new("sh").current_dir(examples()).arg("-c").arg(line).output().unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m").display().to_string();
    assert_eq!(shell(&format!("K fit iris.csv --label class -q -o {model} >&-")), (Some(0), String::new()));
    let commands = [
        "fit iris.csv --label class",
        "fit iris.csv --label class --json",
        "fit iris.csv --label class --scores - -q",
        &format!("transform {model} iris.csv"),
        &format!("reconstruct {model} iris.csv"),
        &format!("inspect {model}"),
        "inspect iris.csv",
        "cross-validate iris.csv --label class -k 1 --max-iter 2",
        "completions bash",
        "--help",
        "fit --help",
        "fit --help kernel",
        "fit -h",
        "help fit",
        "--version",
    ];
    let full = Path::new("/dev/full").exists();
    for command in commands {
        let closed = "error: standard output: writing failed: it is closed; give an output file, or /dev/null for what is not \
                      wanted\n";
        assert_eq!(shell(&format!("K {command} >&-")), (Some(4), closed.to_owned()), "{command}");
        if full {
            let (code, message) = shell(&format!("K {command} >/dev/full"));
            assert_eq!(code, Some(4), "{command}: {message}");
            assert!(
                message.starts_with("error: standard output: writing failed: No space left"),
                "{message}"
            );
        }
        // The message is lost, but not the output.
        assert_eq!(shell(&format!("K {command} >/dev/null 2>&-")).0, Some(0), "{command}");
    }
    assert_eq!(shell("K fit no_such.csv 2>&-").0, Some(4));
    assert_eq!(shell("K fit no_such.csv >&- 2>&-").0, Some(4));
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_a_fit_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (n, p) = (1500_usize, 1500_usize);
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let mut header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {p}), }}").into_bytes();
    header.resize(0x75, b' ');
    header.push(b'\n');
    npy.extend(header);
    let mut state = 1_u64;
    for _ in 0..n * p {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        npy.extend(((state >> 11) as f64 / (1_u64 << 53) as f64).to_le_bytes());
    }
    std::fs::write(folder.path().join("x.npy"), npy).unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for options in
        ["-k all --solver svd", "--kernel laplacian -k 200 --solver tiles --tol 1e-12 --block-size 1"]
    {
        let mut child = spawn(&format!("fit {} {options} --threads 1 -o {}", at("x.npy"), at("m")));
        std::thread::sleep(Duration::from_millis(400));
        assert!(child.try_wait().unwrap().is_none(), "the fit was over before it could be stopped");
        let asked = Instant::now();
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        // Half a second of grace, plus the delays of a busy machine.
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        let mut message = String::new();
        child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        assert_eq!(message, "error: stopped; nothing was written\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_waiting_for_input() {
    let mut child = spawn("fit -");
    // Kept open, like the output of a program that has not finished.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a,b\n1,2\n").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
}
