//! Golden bits: models, checkpoints, states and tables of every method, element type and storage have the checksums in
//! `golden/bits`, which shows that a change of flags, crates or structure changes no result.
//!
//! Last bits depend on the processor ([docs/determinism.md]): each kind has a file of checksums, and a processor without
//! one has only its variances compared, with `variances.txt`. `KARHUNEN_BITS=write` writes both; `KARHUNEN_PROGRAM` names
//! another program than the one that these tests build, such as the program of an earlier version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use karhunen_testkit::without_times;
use serde_json::Value;

use crate::{assert_close, examples};

/// Rows and columns of the tables that the cases read.
const SHAPE: (usize, usize) = (61, 12);

/// Name and commands of each case, run in a folder with the tables of [`write_tables`]. `{}` is the name; all files
/// that the commands write are compared.
fn cases() -> Vec<(String, Vec<String>)> {
    let mut cases: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |name: String, commands: &[&str]| {
        let commands = commands.iter().map(|command| command.replace("{}", &name)).collect();
        cases.push((name, commands));
    };
    complete(&mut add);
    incomplete(&mut add);
    kernels(&mut add);
    other(&mut add);
    cases
}

/// The options that write the model and the scores.
const OUTPUT: &str = "-q -o {}.model --scores {}.csv";

/// Adds a case: its name and its commands.
type Add<'a> = dyn FnMut(String, &[&str]) + 'a;

/// Complete data: every solver, table and rule of scaling.
fn complete(add: &mut Add<'_>) {
    let tables = ["f64.npy", "f32.npy", "table.csv", "f64.mtx", "f32.parquet"];
    for solver in ["auto", "covariance", "gram", "svd", "block-krylov"] {
        for table in tables {
            add(
                format!("{solver}-{table}"),
                &[
                    &format!("fit {table} -k 4 --solver {solver} {OUTPUT} --loadings {{}}-loadings.csv"),
                    &format!("transform {{}}.model {table} -o {{}}-new.csv -q"),
                ],
            );
        }
        for table in ["f64.npy", "f32.npy", "f64.mtx"] {
            add(
                format!("{solver}-weighted-{table}"),
                &[&format!(
                    "fit {table} -k 4 --solver {solver} --scale --weights weights.csv --weighting population {OUTPUT}"
                )],
            );
        }
        add(
            format!("{solver}-cells"),
            &[&format!("fit cells.h5ad --log1p=10000 -k 3 --solver {solver} {OUTPUT}")],
        );
        add(format!("{solver}-share"), &[&format!("fit wide.npy -k 0.9 --solver {solver} {OUTPUT}")]);
    }
    for options in ["--scale=pareto", "--scale=range", "--no-center", "--feature-weights features.csv"] {
        let name = options.trim_start_matches("--").replace(['=', ' '], "-");
        add(name, &[&format!("fit f64.npy -k 3 {options} {OUTPUT}")]);
    }
}

/// Missing values: every method, with its checkpoint.
fn incomplete(add: &mut Add<'_>) {
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
        "ridge",
        "map",
        "ppca",
        "vb",
        "vb-fixed",
        "vb-full",
        "online",
    ] {
        for table in ["gaps-f64.npy", "gaps-f32.npy", "gaps.csv"] {
            add(
                format!("{method}-{table}"),
                &[
                    &format!(
                        "fit {table} -k 3 --missing={method} --max-iter 20 {OUTPUT} --loadings {{}}-loadings.csv"
                    ),
                    &format!("impute {{}}.model {table} -q -o {{}}-filled.csv"),
                ],
            );
        }
        let kept = "--checkpoint {}.part --checkpoint-every 0";
        if method != "online" {
            add(
                format!("{method}-checkpoint"),
                &[
                    &format!("fit gaps-f64.npy -k 3 --missing={method} --starts 1 --max-iter 5 -q {kept}"),
                    &format!(
                        "fit gaps-f64.npy -k 3 --missing={method} --starts 1 --max-iter 9 -q {kept} --resume -o {{}}.model"
                    ),
                ],
            );
        }
    }
    add(
        "rated".into(),
        &[
            "fit triples.csv --triples row,column,value -k 2 --missing=vb-full --max-iter 20 -q -o {}.model",
            "predict {}.model triples.csv -q -o {}.csv",
        ],
    );
}

/// Kernels: every function and route.
fn kernels(add: &mut Add<'_>) {
    for kernel in ["linear", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2", "additive-chi2"] {
        for table in ["positive-f64.npy", "positive-f32.npy", "positive.mtx"] {
            let gamma =
                if ["linear", "cosine", "additive-chi2"].contains(&kernel) { "" } else { "--gamma 0.01" };
            add(
                format!("{kernel}-{table}"),
                &[&format!("fit {table} -k 3 --kernel {kernel} {gamma} {OUTPUT}")],
            );
        }
    }
    for (solver, options) in [
        ("full", "--pre-image ridge"),
        ("stored", "--pre-image auto"),
        ("tiles", "--pre-image auto"),
        ("nystrom", "--kernel-features 20 --pre-image auto"),
        ("fourier", "--kernel-features 20"),
    ] {
        let fit = format!("fit f64.npy -k 3 --kernel rbf --gamma 0.02 --solver {solver} {options} {OUTPUT}");
        if options.contains("pre-image") {
            add(format!("rbf-{solver}"), &[&fit, "reconstruct {}.model {}.csv -q -o {}-back.csv"]);
        } else {
            add(format!("rbf-{solver}"), &[&fit]);
        }
    }
}

/// Streams, sums, rotations, categories, genotypes and tables.
fn other(add: &mut Add<'_>) {
    for table in ["f64.npy", "f32.npy"] {
        for method in ["exact", "sketch"] {
            let options = if method == "sketch" { "--method sketch" } else { "" };
            add(
                format!("update-{method}-{table}"),
                &[
                    &format!("update {{}}.state {table} -k 3 --scale {options} -q"),
                    &format!("update {{}}.state {table} -q -o {{}}.model"),
                ],
            );
        }
        add(
            format!("moments-{table}"),
            &[
                &format!("moments {table} -q -o {{}}.scatter"),
                "fit --from-moments {}.scatter {}.scatter -k 3 -q -o {}.model",
            ],
        );
        add(
            format!("rotated-{table}"),
            &[
                &format!("fit {table} -k 4 -q -o {{}}.model"),
                "rotate {}.model -k 3 --method varimax -q -o {}-varimax.model",
                "rotate {}.model -k 3 --method promax -q -o {}-promax.model",
                &format!("diagnose {{}}.model {table} -q -o {{}}.csv --features {{}}-features.csv"),
                &format!("report {{}}.model {table} -q -o {{}}.html"),
            ],
        );
    }
    add("mca".into(), &["fit votes.csv --mca -k 3 -q -o {}.model --scores {}.csv --label Class"]);
    add("famd".into(), &["fit titanic.csv --famd -k 3 -q -o {}.model --scores {}.csv"]);
    add(
        "genotypes".into(),
        &["fit people.bed --scale=binomial -k 3 --missing=als --max-iter 9 -q -o {}.model --scores {}.csv"],
    );
    add("completed".into(), &["complete gaps.csv -k 2 -q -o {}.csv"]);
    add(
        "cross-validated".into(),
        &["cross-validate gaps-f64.npy --missing=als -k 1-3 --max-iter 9 -q -o {}.csv"],
    );
    add("selected".into(), &["select f64.npy --draws 20"]);
}

/// Value `(i, j)` of a table of rank three and noise, from whole numbers alone: the same on every machine.
fn value(i: usize, j: usize) -> f64 {
    let hash = |a: usize, b: usize| {
        let mut z = (a as u64 * 7919 + b as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % 2001) as f64 / 1000.0 - 1.0
    };
    let signal: f64 = (0..3).map(|c| [6.0, 3.0, 1.5][c] * hash(i, 5000 + c) * hash(j, 6000 + c)).sum();
    ((signal + 0.3 * hash(i, j) + j as f64) * 1024.0).round() / 1024.0
}

fn write_npy(path: &Path, (n, p): (usize, usize), single: bool, of: impl Fn(usize, usize) -> f64) {
    let dtype = if single { "<f4" } else { "<f8" };
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({n}, {p}), }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    for i in 0..n {
        for x in (0..p).map(|j| of(i, j)) {
            if single { bytes.extend((x as f32).to_le_bytes()) } else { bytes.extend(x.to_le_bytes()) }
        }
    }
    fs::write(path, bytes).unwrap();
}

/// Writes the tables that the cases read.
pub(crate) fn write_tables(folder: &Path) {
    let at = |name: &str| folder.join(name);
    let sparse = |i: usize, j: usize| if (i * 5 + j * 3).is_multiple_of(4) { value(i, j) } else { 0.0 };
    let gap =
        |i: usize, j: usize| if (i * 7 + j * 5 + i * j).is_multiple_of(6) { f64::NAN } else { value(i, j) };
    let positive = |i: usize, j: usize| value(i, j).abs();
    for (name, single) in [("f64", false), ("f32", true)] {
        write_npy(&at(&format!("{name}.npy")), SHAPE, single, value);
        write_npy(&at(&format!("gaps-{name}.npy")), SHAPE, single, gap);
        write_npy(&at(&format!("positive-{name}.npy")), SHAPE, single, positive);
    }
    write_npy(&at("wide.npy"), (23, 90), false, value);
    let matrix = |name: &str, of: &dyn Fn(usize, usize) -> f64| {
        let (mut lines, mut count) = (String::new(), 0);
        for (i, j) in (0..SHAPE.0).flat_map(|i| (0..SHAPE.1).map(move |j| (i, j))) {
            if of(i, j) != 0.0 {
                writeln!(lines, "{} {} {}", i + 1, j + 1, of(i, j)).unwrap();
                count += 1;
            }
        }
        let head =
            format!("%%MatrixMarket matrix coordinate real general\n{} {} {count}\n", SHAPE.0, SHAPE.1);
        fs::write(at(name), head + &lines).unwrap();
    };
    matrix("f64.mtx", &sparse);
    matrix("positive.mtx", &|i, j| sparse(i, j).abs());
    let names: Vec<String> = (0..SHAPE.1).map(|j| format!("x{j}")).collect();
    let table = |name: &str, of: &dyn Fn(usize, usize) -> f64| {
        let mut text = names.join(",") + "\n";
        for i in 0..SHAPE.0 {
            let cells = (0..SHAPE.1).map(|j| of(i, j));
            let cells: Vec<String> =
                cells.map(|x| if x.is_nan() { String::new() } else { x.to_string() }).collect();
            writeln!(text, "{}", cells.join(",")).unwrap();
        }
        fs::write(at(name), text).unwrap();
    };
    table("table.csv", &value);
    table("gaps.csv", &gap);
    let mut triples = "row,column,value\n".to_owned();
    for (i, j) in (0..SHAPE.0).flat_map(|i| (0..SHAPE.1).map(move |j| (i, j))) {
        if !gap(i, j).is_nan() {
            writeln!(triples, "r{i},c{j},{}", value(i, j)).unwrap();
        }
    }
    fs::write(at("triples.csv"), triples).unwrap();
    let column =
        |n: usize, of: fn(usize) -> usize| (0..n).map(|i| format!("{}\n", of(i))).collect::<String>();
    fs::write(at("weights.csv"), column(SHAPE.0, |i| i % 4 + 1)).unwrap();
    fs::write(at("features.csv"), column(SHAPE.1, |j| j % 3 + 1)).unwrap();
    copy_tables(folder);
}

/// Copies the tables that are files of the repository, and writes one as Parquet.
fn copy_tables(folder: &Path) {
    for (name, from) in [
        ("votes.csv", "house_votes_84.csv"),
        ("titanic.csv", "titanic.csv"),
        ("people.bed", "../genotypes/people.bed"),
        ("people.bim", "../genotypes/people.bim"),
        ("people.fam", "../genotypes/people.fam"),
        ("cells.h5ad", "../../golden/scanpy_cells.h5ad"),
    ] {
        fs::copy(examples().join(from), folder.join(name)).unwrap();
    }
    run(folder, "fit f32.npy -k 12 -q --scores f32.parquet");
}

/// Runs a command in the folder; it must succeed. What it prints becomes a file.
fn run(folder: &Path, arguments: &str) {
    let done = program().current_dir(folder).args(arguments.split_whitespace()).assert().success();
    if !done.get_output().stdout.is_empty() {
        fs::write(folder.join("printed"), &done.get_output().stdout).unwrap();
    }
}

pub(crate) fn program() -> Command {
    let given = std::env::var_os("KARHUNEN_PROGRAM").map(PathBuf::from);
    Command::new(given.unwrap_or_else(|| assert_cmd::cargo::cargo_bin("karhunen")))
}

/// A checksum of 64 bits (FNV-1a).
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The kind of this processor: its vendor, family, model and instruction set.
pub(crate) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().unwrap_or("").trim() == name);
        line.and_then(|line| line.split(':').nth(1)).unwrap_or("unknown").trim().to_owned()
    };
    let level = if std::is_x86_feature_detected!("avx512f") { "avx512" } else { "avx2" };
    [field("vendor_id"), field("cpu family"), field("model"), level.to_owned()].join("-")
}

/// The file of checksums for this processor. None that the system does not describe has one.
fn of_processor() -> PathBuf {
    goldens().join(format!("{}.txt", processor()))
}

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/bits")
}

/// Lines `name value …` as a map.
fn read_lines(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    lines.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
}

/// The names of the files in a folder.
pub(crate) fn files(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The variances that a model file holds, as text.
fn variances(folder: &Path, model: &str) -> Option<Vec<f64>> {
    let done = program().current_dir(folder).args(["inspect", model, "--json"]).output().unwrap();
    let summary: Value = serde_json::from_slice(&done.stdout).ok()?;
    let key = ["explained_variance", "eigenvalues"].into_iter().find(|key| summary[key].is_array())?;
    Some(crate::numbers(&summary[key]))
}

#[test]
fn bits_match_the_golden_files() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_tables(folder);
    let tables = files(folder);
    let (mut sums, mut values) = (BTreeMap::new(), BTreeMap::new());
    for (name, commands) in cases() {
        commands.iter().for_each(|command| run(folder, command));
        for file in files(folder).difference(&tables) {
            let path = folder.join(file);
            let file = if file == "printed" { format!("{name}.txt") } else { file.clone() };
            sums.insert(file.clone(), format!("{:016x}", checksum(&without_times(fs::read(&path).unwrap()))));
            if file.ends_with(".model") {
                values.extend(variances(folder, &file).map(|found| (file, found)));
            }
            fs::remove_file(path).unwrap();
        }
    }
    let text = |values: &[f64]| values.iter().map(|v| format!("{v:e}")).collect::<Vec<_>>().join(" ");
    if std::env::var_os("KARHUNEN_BITS").is_some_and(|word| word == "write") {
        let lines = |all: &BTreeMap<String, String>| {
            all.iter().map(|(name, rest)| format!("{name} {rest}\n")).collect::<String>()
        };
        assert!(!of_processor().to_string_lossy().contains("unknown"), "this processor is not described");
        fs::write(of_processor(), lines(&sums)).unwrap();
        let values = values.iter().map(|(name, found)| (name.clone(), text(found))).collect();
        fs::write(goldens().join("variances.txt"), lines(&values)).unwrap();
        return;
    }
    let expected = read_lines(&goldens().join("variances.txt"));
    assert_eq!(expected.keys().collect::<Vec<_>>(), values.keys().collect::<Vec<_>>(), "other models");
    for (name, found) in &values {
        let expected: Vec<f64> = expected[name].split(' ').map(|v| v.parse().unwrap()).collect();
        assert_close(found, &expected, if name.contains("f32") { 1e-4 } else { 1e-6 });
    }
    if of_processor().exists() {
        let expected = read_lines(&of_processor());
        let other: Vec<&String> = sums.keys().filter(|name| expected.get(*name) != sums.get(*name)).collect();
        let missing: Vec<&String> = expected.keys().filter(|name| !sums.contains_key(*name)).collect();
        assert!(other.is_empty() && missing.is_empty(), "other bits: {other:?}; not written: {missing:?}");
    }
}
