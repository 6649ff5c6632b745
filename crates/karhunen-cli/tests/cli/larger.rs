//! Tables larger than the memory limit, which stay in their files.

use std::path::Path;

use karhunen::Matrix;
use karhunen_io::{Data, NamedMatrix, ReadOptions, Values, read, write_table};

use crate::karhunen;

/// 56 MB of values, more than half of the limit below.
const SHAPE: (usize, usize) = (70_000, 100);
const LIMIT: &str = "110MB";

fn written(folder: &Path, name: &str, n_rows: usize) -> std::path::PathBuf {
    let value = |i: usize, j: usize| {
        let (t, wave) = (i as f64 * 0.001, (j % 7) as f64 + 1.0);
        1.0 + (t * wave).sin() * wave + ((i * 31 + j * 17) % 101) as f64 * 0.01
    };
    let matrix = Matrix::from_fn(n_rows, SHAPE.1, value);
    let names: Vec<String> = (0..SHAPE.1).map(|j| format!("x{j}")).collect();
    let path = folder.join(name);
    let table = NamedMatrix {
        matrix: &matrix,
        row_names: None,
        row_header: "id",
        labels: &[],
        column_names: &names,
        numeric_ids: false,
    };
    write_table(&path, &table).unwrap();
    path
}

fn values(path: &Path) -> (Vec<f64>, (usize, usize)) {
    let table = read(path, &ReadOptions::default()).unwrap();
    let shape = table.data.shape();
    let Data::F64(values) = table.data else { panic!("single precision") };
    match values {
        Values::Dense { buffer, column_major: false, .. } => (buffer.as_slice().to_vec(), shape),
        other => panic!("{other:?}"),
    }
}

#[test]
fn fits_scores_and_reconstructions_do_not_depend_on_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |name: &str| folder.path().join(name);
    let data = written(folder.path(), "x.npy", SHAPE.0);
    let fit = |limit: &str, tag: &str| {
        let (model, scores) = (in_folder(&format!("{tag}.model")), in_folder(&format!("{tag}.npy")));
        karhunen("fit")
            .arg(&data)
            .args([
                "-k",
                "3",
                "--solver",
                "covariance",
                "--quiet",
                "--force",
                "--threads",
                "2",
                "--memory-limit",
                limit,
            ])
            .args(["-o".as_ref(), model.as_os_str(), "--scores".as_ref(), scores.as_os_str()])
            .assert()
            .success();
        values(&scores)
    };
    let (held, read) = (fit("4GB", "held"), fit(LIMIT, "read"));
    assert_eq!(held.1, (SHAPE.0, 3));
    assert!(held == read);
    let apply = |command: &str, limit: &str| {
        let output = in_folder(&format!("{command}-{limit}.npy"));
        karhunen(command)
            .arg(in_folder("read.model"))
            .arg(&data)
            .args(["--quiet", "--force", "--threads", "2", "--memory-limit", limit, "-o"])
            .arg(&output)
            .assert()
            .success();
        values(&output)
    };
    assert!(apply("transform", LIMIT) == held);
    assert!(apply("reconstruct", LIMIT) == apply("reconstruct", "4GB"));
}

#[test]
fn a_limit_that_is_too_small_names_the_smallest_before_any_reading() {
    let folder = tempfile::tempdir().unwrap();
    let data = written(folder.path(), "x.npy", SHAPE.0);
    let fit =
        |limit: &str| karhunen("fit").arg(&data).args(["-k", "3", "--memory-limit", limit]).output().unwrap();
    let done = fit("20MB");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("but --memory-limit is 20.0 MB; ") && said.contains("set --memory-limit to at least "),
        "{said}"
    );
}

#[test]
fn several_files_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("1.csv"), "a,b\n1,2\n3,5\n").unwrap();
    std::fs::write(path("2.csv"), "b,a\n4,2\n7,9\n").unwrap();
    std::fs::write(path("all.csv"), "a,b\n1,2\n3,5\n2,4\n9,7\n").unwrap();
    let loadings = |files: &[&str]| {
        let files: Vec<_> = files.iter().map(|name| path(name)).collect();
        let done =
            karhunen("fit").args(files).args(["-k", "1", "--quiet", "--loadings", "-"]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    assert_eq!(loadings(&["1.csv", "2.csv"]), loadings(&["all.csv"]));
    std::fs::write(path("3.csv"), "a,c\n4,2\n").unwrap();
    let done = karhunen("fit").arg(path("1.csv")).arg(path("3.csv")).assert().code(3);
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.contains("3.csv: has another column `c` than "), "{said}");
    let done = karhunen("fit").arg(path("1.csv")).arg(path("2.csv")).arg("--missing").assert().code(2);
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.contains("2 data files are given, but a fit with missing values reads one"), "{said}");
}

/// The peak of the memory of a process that is still running, in bytes.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kilobytes| 1024.0 * kilobytes)
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_limit_holds() {
    let folder = tempfile::tempdir().unwrap();
    // 200 MB of values, alone and as two files.
    let whole = written(folder.path(), "x.npy", 250_000);
    let parts = folder.path().join("parts");
    std::fs::create_dir(&parts).unwrap();
    written(&parts, "1.npy", 125_000);
    written(&parts, "2.npy", 125_000);
    for data in [whole, parts] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_karhunen"))
            .arg("fit")
            .arg(&data)
            .args(["-k", "3", "--quiet", "--threads", "2", "--memory-limit", "130MB"])
            .spawn()
            .unwrap();
        let mut most: f64 = 0.0;
        let status = loop {
            most = peak(child.id()).map_or(most, |now| if now > most { now } else { most });
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        };
        assert!(status.success(), "{}", data.display());
        assert!(most > 1e7 && most < 130e6, "{}: {most} bytes", data.display());
    }
}
