//! Out of memory, every command ends with an error that says so, never with a signal, a panic or a hang.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::karhunen;

/// Megabytes of address space: from little more than the program itself takes to enough for some commands.
const LIMITS: [usize; 2] = [75, 130];
/// Exit code of a command without enough memory.
const OUT_OF_MEMORY: i32 = 6;
/// Longer than any of these runs on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn npy(path: &Path, n: usize, p: usize, mut value: impl FnMut(usize) -> f64) {
    let mut header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {p}), }}").into_bytes();
    header.resize(117, b' ');
    header.push(b'\n');
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(header);
    (0..n * p).for_each(|e| bytes.extend(value(e).to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

/// Numbers without low-rank structure.
fn noise(e: usize) -> f64 {
    let mixed = (e as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / 1e6
}

fn tables(folder: &Path) {
    npy(&folder.join("tall.npy"), 20_000, 60, noise);
    npy(&folder.join("square.npy"), 1500, 1200, noise);
    npy(&folder.join("rows.npy"), 3000, 30, noise);
    npy(&folder.join("missing.npy"), 20_000, 30, |e| if e % 4 == 1 { f64::NAN } else { noise(e) });
    let mut sparse = "%%MatrixMarket matrix coordinate real general\n40000 3000 40000\n".to_owned();
    (0..40_000).for_each(|i| sparse.push_str(&format!("{} {} {}\n", i + 1, i * 7 % 3000 + 1, noise(i))));
    std::fs::write(folder.join("sparse.mtx"), sparse).unwrap();
    let three = "%%MatrixMarket matrix coordinate real general\n3 2000000000 3\n1 1 1.5\n2 1 2\n3 1 2.5\n";
    std::fs::write(folder.join("declared.mtx"), three).unwrap();
    let mut csv = "a,b,c\n".to_owned();
    (0..60_000).for_each(|i| csv.push_str(&format!("{},{},{}\n", noise(i), noise(2 * i), noise(3 * i))));
    std::fs::write(folder.join("table.csv"), csv).unwrap();
}

/// Runs the program with `megabytes` of address space; returns its exit code, if it ended by itself in time, and
/// its standard error.
fn limited(folder: &Path, megabytes: usize, arguments: &str) -> (Option<i32>, String) {
    let program = assert_cmd::cargo::cargo_bin("karhunen");
    let mut child = Command::new("sh")
        .current_dir(folder)
        .env_remove("RUST_BACKTRACE")
        .args(["-c", &format!("ulimit -v {}; exec \"$0\" {arguments}", megabytes * 1000)])
        .arg(program)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    (status, text)
}

#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out_is_an_error_on_every_route() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path());
    karhunen("fit rows.npy -q -k 3 -o plain.model").current_dir(folder.path()).assert().success();
    karhunen("fit rows.npy -q --missing=als -k 3 --max-iter 3 -o missing.model")
        .current_dir(folder.path())
        .assert()
        .success();
    let mut commands: Vec<String> = [
        "fit tall.npy -k 5 --solver svd",
        "fit tall.npy -k 5 --solver covariance",
        "fit square.npy -k 5 --solver svd",
        "fit square.npy -k all --solver covariance",
        "fit square.npy -k 300 --solver gram",
        "fit tall.npy -k 5 --solver block-krylov",
        "fit sparse.mtx -k 10",
        "fit sparse.mtx -k 3 --solver covariance",
        "fit table.csv -k 2",
        "fit declared.mtx -k 1 --missing",
        "inspect declared.mtx",
        "cross-validate missing.npy --missing=als -k 2,4 --max-iter 2",
        "transform plain.model rows.npy --force -o scores.npy",
        "reconstruct plain.model rows.npy --force -o filled.npy",
        "impute missing.model rows.npy --force -o filled.npy",
    ]
    .map(str::to_owned)
    .to_vec();
    for solver in ["full", "stored", "tiles", "nystrom", "fourier"] {
        let features = if solver == "nystrom" || solver == "fourier" { " --kernel-features 300" } else { "" };
        commands.push(format!("fit rows.npy -k 4 --kernel rbf --solver {solver}{features}"));
    }
    for method in [
        "imputation",
        "soft",
        "em",
        "als",
        "ccd",
        "gradient",
        "natural",
        "newton",
        "cg",
        "online",
        "ridge",
        "map",
        "ppca",
        "vb",
        "vb-fixed",
        "vb-full",
    ] {
        commands.push(format!("fit missing.npy -k 6 --missing={method} --max-iter 2"));
    }
    let (mut wrong, mut asked, mut ended) = (Vec::new(), 0, 0);
    for command in &commands {
        for megabytes in LIMITS {
            let (code, text) = limited(folder.path(), megabytes, &format!("{command} --threads 2"));
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
            let told = lines.len() == 1 && lines[0].contains("memory") && !text.contains("panicked");
            match code {
                Some(0) => {}
                Some(OUT_OF_MEMORY) if told && lines[0].contains("not enough memory:") => ended += 1,
                Some(OUT_OF_MEMORY) if told => asked += 1,
                _ => wrong.push(format!("{megabytes} MB, {command}: {code:?}\n{text}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(asked > 5 * ended, "{asked} refused with their need, {ended} ended in the middle");
}

#[test]
fn a_limit_of_unpacked_bytes_is_kept_and_can_be_raised() {
    let folder = tempfile::tempdir().unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"a,b\n").unwrap();
    (0..5000).for_each(|i| writeln!(encoder, "{},{}", noise(i), noise(7 * i)).unwrap());
    let mut packed = encoder.finish().unwrap();
    // Padding is not damage.
    packed.extend([0; 512]);
    std::fs::write(folder.path().join("t.csv.gz"), packed).unwrap();
    let run = |arguments: &str| karhunen(arguments).current_dir(folder.path()).assert();
    run("fit t.csv.gz -q").success();
    run("fit t.csv.gz -q --max-unpacked 1MB").success();
    run("fit t.csv.gz -q --max-unpacked 10kB").code(2).stderr(
        "error: t.csv.gz: holds more than 10 kB once it is unpacked: stopped there; if that is right, raise the limit with \
         --max-unpacked, such as --max-unpacked 64GB\n",
    );
}

#[test]
fn absurd_numbers_of_threads_are_refused_before_any_is_started() {
    for command in ["fit iris.csv --label class", "inspect iris.csv"] {
        let began = Instant::now();
        let done = karhunen(&format!("{command} --threads 10000")).assert().code(2);
        let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(text.contains("at most 1024 threads can be asked for"), "{text}");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    }
    karhunen("fit iris.csv --label class -q --threads 1000").assert().success();
}

#[test]
fn every_limit_from_the_one_that_an_error_advises_fits_a_folder_of_parts() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    std::fs::create_dir(&parts).unwrap();
    (0..10).for_each(|part| npy(&parts.join(format!("{part}.npy")), 6000, 80, |e| noise(part * 480_000 + e)));
    let fit = |limit: &str| {
        let command = format!("fit parts -k 5 -q --memory-limit {limit}");
        let done = karhunen(&command).current_dir(folder.path()).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    let (code, error) = fit("72MB");
    assert_eq!(code, Some(2), "{error}");
    let advised: f64 = error.split("at least ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    for more in [0.1, 1.0, 4.0, 9.0, 14.0, 30.0, 45.0, 60.0, 100.0] {
        let (code, error) = fit(&format!("{}MB", advised + more));
        assert_eq!(code, Some(0), "{advised} + {more}: {error}");
    }
}

#[test]
fn inspect_keeps_within_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(b"a,b\n").unwrap();
    (0..5000).for_each(|i| writeln!(encoder, "{},{}", noise(i), noise(7 * i)).unwrap());
    std::fs::write(folder.path().join("t.csv.gz"), encoder.finish().unwrap()).unwrap();
    let run = |arguments: &str| karhunen(arguments).current_dir(folder.path()).output().unwrap();
    let (plain, limited) = (run("inspect t.csv.gz"), run("inspect t.csv.gz --memory-limit 50kB --cache ."));
    assert!(plain.status.success() && plain.stdout == limited.stdout, "{limited:?}");
    // The unpacked text goes to a temporary file.
    let refused = run("inspect t.csv.gz --memory-limit 50kB --cache nowhere");
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(4) && error.contains("the temporary copy"), "{error}");
}
