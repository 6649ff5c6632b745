//! Standard streams, pipes that close, and Ctrl-C.

use std::io::{Read, Write};
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
    let fitted = karhunen("fit usarrests.csv -k 2 -o - -q").assert().success().stderr("");
    let model = fitted.get_output().stdout.clone();
    let scores = karhunen("transform - usarrests.csv").write_stdin(model).assert().success();
    let scores = String::from_utf8(scores.get_output().stdout.clone()).unwrap();
    assert_eq!(scores, output("fit usarrests.csv -k 2 --scores - -q"));
}

#[test]
fn the_summary_makes_way_for_scores() {
    let done = karhunen("fit usarrests.csv -k 2 --scores -").assert().success();
    let (out, err) = (&done.get_output().stdout, &done.get_output().stderr);
    assert!(out.starts_with(b"sample,pc1,pc2\nAlabama,"));
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
fn a_reader_that_goes_away_is_no_failure() {
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
    let status = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status().unwrap();
    assert!(status.success());
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
        // Half a second of grace, and what a busy machine adds.
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
    // Kept open, as by a program that has not finished.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a,b\n1,2\n").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(stdin);
}
