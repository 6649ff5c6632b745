//! Tables larger than the memory limit, which stay in their files.

use std::io::Write;
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
    let path = folder.join(name);
    write_matrix(&path, &Matrix::from_fn(n_rows, SHAPE.1, value));
    path
}

fn write_matrix(path: &Path, matrix: &Matrix) {
    let names: Vec<String> = (0..matrix.n_cols()).map(|j| format!("x{j}")).collect();
    let table = NamedMatrix {
        matrix,
        row_names: None,
        row_header: "id",
        labels: &[],
        column_names: &names,
        numeric_ids: false,
    };
    write_table(path, &table).unwrap();
}

fn values_of(path: &Path) -> (Vec<f64>, (usize, usize)) {
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
        values_of(&scores)
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
        values_of(&output)
    };
    assert!(apply("transform", LIMIT) == held);
    assert!(apply("reconstruct", LIMIT) == apply("reconstruct", "4GB"));
}

#[test]
fn the_summary_says_what_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = written(folder.path(), "x.npy", SHAPE.0);
    let fit = |args: &[&str]| {
        let done = karhunen("fit")
            .arg(&data)
            .args(["-k", "3", "--solver", "covariance"])
            .args(args)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let summary = |limit| {
        serde_json::from_str::<serde_json::Value>(&fit(&["--json", "--memory-limit", limit])).unwrap()
    };
    let read = summary(LIMIT);
    let bytes = std::fs::metadata(&data).unwrap().len() as f64;
    assert_eq!((read["n_passes"].as_u64(), read["reading"]["bytes"].as_f64()), (Some(1), Some(bytes)));
    assert!(read["reading"]["seconds"].as_f64().unwrap() > 0.0);
    assert!(summary("4GB").get("reading").is_none());
    let text = fit(&["--memory-limit", LIMIT]);
    assert!(text.contains("56.0 MB read in all passes, in "), "{text}");
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

/// Rows of which every twentieth value is observed.
fn with_missing(folder: &Path, name: &str, (n_rows, n_cols): (usize, usize)) -> std::path::PathBuf {
    let value = |i: usize, j: usize| {
        let t = i as f64 * 0.001;
        let noise = ((i * 31 + j * 17) % 101) as f64 * 0.01;
        if (i * 7 + j * 3).is_multiple_of(20) { (t * (j % 7) as f64).sin() + noise } else { f64::NAN }
    };
    let path = folder.join(name);
    write_matrix(&path, &Matrix::from_fn(n_rows, n_cols, value));
    path
}

#[cfg(feature = "columnar")]
#[test]
fn entries_of_a_file_do_not_depend_on_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["x.npy", "x.parquet", "x.csv"] {
        let data = with_missing(folder.path(), name, (20_000, 200));
        let fit = |limit: &[&str], tag: &str| {
            let scores = path(&format!("{tag}.npy"));
            karhunen("fit")
                .arg(&data)
                .args(["--missing=als", "-k", "2", "--max-iter", "3", "--quiet", "--force", "--threads", "2"])
                .args(limit)
                .args(["--scores".as_ref(), scores.as_os_str()])
                .assert()
                .success();
            values_of(&scores)
        };
        // 32 MB of values, more than a sixteenth of the limit.
        let read = fit(&["--memory-limit", "120MB"], "read");
        assert_eq!(read.1, (20_000, 2));
        assert!(read == fit(&[], "held"), "{name}");
    }
}

#[test]
fn rows_with_missing_values_are_mapped_from_file_to_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // 64 MB of values, more than half of the limit below.
    let data = with_missing(folder.path(), "x.npy", (40_000, 200));
    let fit = ["--missing=als", "-k", "2", "--max-iter", "3", "--quiet", "--no-error-bars", "-o"];
    karhunen("fit").arg(&data).args(fit).arg(path("x.model")).assert().success();
    let apply = |command: &str, limit: &str| {
        let output = path(&format!("{command}-{limit}.npy"));
        let args = ["--quiet", "--threads", "2", "--memory-limit", limit, "-o"];
        karhunen(command).arg(path("x.model")).arg(&data).args(args).arg(&output).assert().success();
        values_of(&output)
    };
    for command in ["transform", "reconstruct", "impute"] {
        let read = apply(command, LIMIT);
        assert_eq!(read.1, (40_000, if command == "transform" { 2 } else { 200 }), "{command}");
        assert!(read == apply(command, "4GB"), "{command}");
    }
    // A text keeps all its characters except in missing values.
    let [small, text] = ["small.csv", "filled.csv"].map(path);
    let table = with_missing(folder.path(), "small.csv", (9000, 200));
    assert_eq!(table, small);
    let fill = |limit: &str| {
        let args = ["--quiet", "--force", "--memory-limit", limit, "-o"];
        karhunen("impute").arg(path("x.model")).arg(&small).args(args).arg(&text).assert().success();
        std::fs::read_to_string(&text).unwrap()
    };
    let filled = fill("20MB");
    assert!(filled == fill("4GB"));
    let (kept, before) = (filled.lines().nth(1).unwrap(), std::fs::read_to_string(&small).unwrap());
    let observed = before.lines().nth(1).unwrap().split(',').next().unwrap();
    assert!(kept.starts_with(&format!("{observed},")), "{kept}");
}

#[test]
fn rows_are_mapped_by_a_kernel_from_file_to_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (few, many) = (written(folder.path(), "few.npy", 200), written(folder.path(), "many.npy", SHAPE.0));
    let fit = ["--kernel", "rbf", "-k", "2", "--pre-image", "auto", "--quiet", "-o"];
    karhunen("fit").arg(&few).args(fit).arg(path("x.model")).assert().success();
    let apply = |command: &str, limit: &str| {
        let output = path(&format!("{command}-{limit}.npy"));
        let args = ["--quiet", "--threads", "2", "--memory-limit", limit, "-o"];
        karhunen(command).arg(path("x.model")).arg(&many).args(args).arg(&output).assert().success();
        values_of(&output)
    };
    assert!(apply("transform", LIMIT) == apply("transform", "4GB"));
    assert!(apply("reconstruct", LIMIT) == apply("reconstruct", "4GB"));
}

#[test]
fn more_entries_than_the_limit_leaves_room_for_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let data = with_missing(folder.path(), "x.npy", (20_000, 200));
    let fit = |limit: &str| {
        let args = ["--missing=als", "-k", "2", "--max-iter", "3", "--threads", "2", "--memory-limit"];
        karhunen("fit").arg(&data).args(args).arg(limit).output().unwrap()
    };
    let done = fit("66MB");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    let counted = "a fit of 200000 observed entries of 20000 rows and 200 columns needs ";
    assert!(said.contains(counted) && said.contains(" but --memory-limit is 66.0 MB; "), "{said}");
    let least = said.split("set --memory-limit to at least ").nth(1).expect(&said);
    let least = least.split([',', '\n']).next().expect(&said).replace(' ', "");
    let done = fit(&least);
    assert!(done.status.success(), "{least}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Rows of which every second value is observed: two components and noise.
fn half_observed(folder: &Path, name: &str, (n_rows, n_cols): (usize, usize)) -> std::path::PathBuf {
    let value = |i: usize, j: usize| {
        let (t, u) = ((i * 37 % 1009) as f64 * 0.01, (j + 1) as f64);
        let noise = ((i * 31 + j * 17) % 101) as f64 * 0.001;
        if (i * 7 + j * 3 + i / 50).is_multiple_of(2) {
            3.0 * t.sin() * u.sqrt() + (2.0 * t).cos() * (0.7 * u).sin() + noise
        } else {
            f64::NAN
        }
    };
    let path = folder.join(name);
    write_matrix(&path, &Matrix::from_fn(n_rows, n_cols, value));
    path
}

#[test]
fn rows_with_more_entries_than_the_limit_are_learned_block_by_block() {
    use karhunen::incomplete::{IncompleteStream, OnlineRule};
    use karhunen::{IncompletePca, Run};
    use karhunen_io::{AnyModel, Ids, load_any_model};
    const LIMIT: u64 = 110_000_000;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // 48 MB of values, and 3 million entries, which take 72 MB.
    let data = half_observed(folder.path(), "x.npy", (60_000, 100));
    let fit = |args: &[&str]| {
        let args: Vec<&str> =
            ["--memory-limit", "110MB", "-k", "2"].into_iter().chain(args.iter().copied()).collect();
        let done = karhunen("fit").arg(&data).args(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    // Other methods refuse, and name this one.
    let (code, _, said) = fit(&["--missing=als"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("set --memory-limit to at least ") && said.contains("--missing=online"), "{said}");
    let [model, scores] = ["x.model", "x.npy.scores.npy"].map(|name| path(name).display().to_string());
    for (passes, more) in [(1, &[][..]), (2, &["--max-iter", "2", "--seed", "5", "--threads", "1"])] {
        let options = ReadOptions { memory_limit: Some(LIMIT / 16), ..ReadOptions::default() };
        let Data::F64(values) = read(&data, &options).unwrap().data else { panic!("single precision") };
        let source = values.source().unwrap();
        let mut stream =
            IncompleteStream::new(2, 100, OnlineRule::Diagonal, if passes == 1 { 0 } else { 5 }).unwrap();
        let mut last = stream.partial_fit_source(&*source, &Run::default()).unwrap();
        if passes == 2 {
            last = stream.partial_fit_source(&*source, &Run::default()).unwrap();
        }
        let expected = stream.finish(&last, &IncompletePca::new(2)).unwrap();
        let outputs = ["--missing=online", "-o", &model, "--scores", &scores, "--force"];
        let (code, text, said) = fit(&[&outputs[..], more].concat());
        assert_eq!(code, Some(0), "{said}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let counted = if passes == 1 { "in 1 pass," } else { "in 2 passes," };
        for part in
            [counted, "docs/missing-values-methods.md", "the model holds the last", "MB read in all passes"]
        {
            assert!(words.contains(part), "{part}: {text}");
        }
        let AnyModel::Incomplete(found) = load_any_model(model.as_ref()).unwrap() else {
            panic!("complete data")
        };
        assert!(found.model.components() == expected.components(), "{passes}");
        assert!(found.model.mean() == expected.mean() && found.model.scores() == expected.scores());
        // The rows that the model holds have their numbers in the file, by which `predict` knows them.
        let n_held = found.model.n_samples() as i64;
        let numbers = Ids::Integers((60_001 - n_held..=60_000).collect());
        assert_eq!(found.extras.row_ids, Some(numbers));
        // There are scores of all rows, as `transform` has them.
        let of_fit = values_of(&path("x.npy.scores.npy"));
        assert_eq!(of_fit.1, (60_000, 2));
        let again = path("again.npy");
        karhunen("transform")
            .arg(&model)
            .arg(&data)
            .args(["-q", "--force", "-o"])
            .arg(&again)
            .assert()
            .success();
        assert!(of_fit == values_of(&again));
    }
    let (_, summary, _) = fit(&["--missing=online", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(
        (summary["online"]["n_samples"].as_u64(), summary["online"]["n_passes"].as_u64()),
        (Some(60_000), Some(1))
    );
    assert!(summary["online"]["n_samples_held"] == summary["n_samples"]);
    // Options that a stream cannot obey are refused. The limit in the message suffices for them.
    let (code, _, said) = fit(&["--missing=online", "--tol", "0.1"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("--tol: the observed entries of ") && said.contains("learned block by block"),
        "{said}"
    );
    let least = said.split("set --memory-limit to at least ").nth(1).expect(&said).trim().replace(' ', "");
    let args = [
        "--missing=online",
        "--tol",
        "0.1",
        "-k",
        "2",
        "--max-iter",
        "2",
        "--json",
        "--memory-limit",
        &least,
    ];
    let done = karhunen("fit").arg(&data).args(args).output().unwrap();
    assert!(done.status.success(), "{least}: {}", String::from_utf8_lossy(&done.stderr));
    assert!(!String::from_utf8_lossy(&done.stdout).contains("n_samples_held"));
    // A limit that is too small for a block names the least.
    let done = karhunen("fit")
        .arg(&data)
        .args(["--missing=online", "-k", "2", "--memory-limit", "60MB"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("learning 2 components of 100 columns block by block needs "), "{said}");
}

/// Entries of a sparse matrix, column by column.
fn coordinates(folder: &Path, name: &str, (n_rows, n_cols): (usize, usize)) -> std::path::PathBuf {
    let path = folder.join(name);
    let every = 10;
    let n_entries: usize = (0..n_cols).map(|j| (n_rows - j % every).div_ceil(every)).sum();
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "%%MatrixMarket matrix coordinate real general\n{n_rows} {n_cols} {n_entries}").unwrap();
    for j in 0..n_cols {
        for i in (j % every..n_rows).step_by(every) {
            writeln!(file, "{} {} {}", i + 1, j + 1, (i * 7 + j * 3) % 11).unwrap();
        }
    }
    file.flush().unwrap();
    path
}

/// The peak of the memory of a process that is still running, in bytes.
#[cfg(target_os = "linux")]
fn peak(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<f64>().ok().map(|kilobytes| 1024.0 * kilobytes)
}

/// Runs a command; returns its status and the peak of its memory in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn run_to_its_peak(command: &mut std::process::Command) -> (std::process::ExitStatus, f64) {
    let mut child = command.spawn().unwrap();
    let mut most: f64 = 0.0;
    loop {
        most = peak(child.id()).map_or(most, |now| if now > most { now } else { most });
        if let Some(status) = child.try_wait().unwrap() {
            return (status, most);
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

#[cfg(feature = "columnar")]
#[cfg(target_os = "linux")]
#[test]
fn the_memory_limit_holds() {
    let folder = tempfile::tempdir().unwrap();
    // 240 MB of values, alone and as two files.
    let whole = written(folder.path(), "all.npy", 300_000);
    let parts = folder.path().join("parts");
    std::fs::create_dir(&parts).unwrap();
    written(&parts, "1.npy", 150_000);
    written(&parts, "2.npy", 150_000);
    // 256 MB of values and 38 MB of entries.
    let incomplete =
        ["x.npy", "x.parquet", "x.csv"].map(|name| with_missing(folder.path(), name, (160_000, 200)));
    // 192 MB of values, 12 million entries, which take 288 MB, learned block by block.
    let half = ["h.npy", "h.parquet"].map(|name| half_observed(folder.path(), name, (240_000, 100)));
    // 6 million entries, which take 72 MB, and 260 MB while they are sorted.
    let sparse = coordinates(folder.path(), "x.mtx", (60_000, 1000));
    let all = [&whole, &parts, &sparse].map(|data| (data, &["-k", "3"][..])).into_iter();
    let missing = ["-k", "2", "--missing=als", "--max-iter", "2"];
    let online = ["-k", "2", "--missing=online"];
    let missing =
        incomplete.iter().map(|data| (data, &missing[..])).chain(half.iter().map(|data| (data, &online[..])));
    for (data, args) in all.chain(missing) {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_karhunen"));
        command.arg("fit").arg(data).args(args);
        command.args(["--quiet", "--threads", "2", "--memory-limit", "200MB"]);
        let (status, most) = run_to_its_peak(&mut command);
        assert!(status.success(), "{}", data.display());
        assert!(most > 1e7 && most < 200e6, "{}: {most} bytes", data.display());
    }
}
