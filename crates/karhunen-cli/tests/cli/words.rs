//! Compares the text and the JSON of the commands with the files in `golden/words`: a change of structure must not change
//! a word. Numbers are compared on the kind of processor that wrote the files, and times nowhere.
//! `KARHUNEN_WORDS=write` writes the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bits::{files, processor, program, write_tables};

/// Name and commands of each case. What the last one prints is compared; with `--json` too, if the command has it.
#[rustfmt::skip]
const CASES: [(&str, &[&str]); 33] = [
    ("fit", &["fit table.csv -k 3"]),
    ("fit-scaled-weighted", &["fit table.csv -k 3 --scale --weights weights.csv -o a.model --scores s.csv"]),
    ("fit-importance", &["fit table.csv -k 3 --weights weights.csv --weighting importance --feature-weights features.csv"]),
    ("fit-share", &["fit wide.npy -k 90%"]),
    ("fit-sparse", &["fit f64.mtx -k 3 --solver block-krylov --tol 1e-3"]),
    ("fit-stopped", &["fit f64.mtx -k 3 --solver block-krylov --block-size 3 --max-iter 1 --tol 1e-12"]),
    ("fit-cells", &["fit cells.h5ad --log1p=10000 -k 3"]),
    ("fit-genotypes", &["fit people.bed --scale=binomial -k 3 --missing=als"]),
    ("fit-missing", &["fit gaps.csv --missing -k 2"]),
    ("fit-missing-stopped", &["fit gaps.csv --missing=vb-full -k 2 --noise feature --max-iter 2"]),
    ("fit-missing-offsets", &["fit gaps.csv --missing=ppca -k 2 --row-offsets --conformal=20%"]),
    ("fit-online", &["fit gaps-f64.npy --missing=online -k 2 -o a.model"]),
    ("fit-triples", &["fit triples.csv --triples row,column,value -k 2 --missing=als"]),
    ("fit-kernel", &["fit table.csv --kernel rbf --gamma 0.02 -k 3"]),
    ("fit-nystrom", &["fit table.csv --kernel rbf --gamma 0.02 -k 3 --solver nystrom --kernel-features 20"]),
    ("fit-fourier", &["fit table.csv --kernel rbf --gamma 0.02 -k 3 --kernel-features 20 --solver fourier"]),
    ("fit-indefinite", &["fit table.csv --kernel sigmoid --gamma 0.01 -k 3 --no-center"]),
    ("fit-mca", &["fit votes.csv --mca -k 3 --label Class"]),
    ("fit-famd", &["fit titanic.csv --famd -k 3"]),
    ("fit-moments", &["moments table.csv -q -o a.scatter", "fit --from-moments a.scatter -k 3"]),
    ("moments", &["moments table.csv -o a.scatter"]),
    ("update", &["update a.state table.csv -k 3 --scale", "update a.state table.csv"]),
    ("inspect-table", &["inspect gaps.csv"]),
    ("inspect-sparse", &["inspect f64.mtx"]),
    ("inspect-pca", &["fit table.csv -k 3 --scale --limits -q -o a.model", "inspect a.model"]),
    ("inspect-incomplete", &["fit gaps.csv --missing=vb -k 2 -q -o a.model", "inspect a.model"]),
    ("inspect-kernel", &["fit table.csv --kernel rbf --gamma 0.02 -k 3 --pre-image ridge -q -o a.model", "inspect a.model"]),
    ("inspect-mca", &["fit votes.csv --mca -k 3 --label Class -q -o a.model", "inspect a.model"]),
    ("inspect-moments", &["moments table.csv -q -o a.scatter", "inspect a.scatter"]),
    ("rotate", &["fit table.csv -k 4 --scale -q -o a.model", "rotate a.model -k 3 --method promax -o b.model"]),
    ("select", &["select table.csv --draws 20"]),
    ("select-model", &["fit table.csv -k 4 --scale -q -o a.model", "select a.model"]),
    ("cross-validate", &["cross-validate gaps.csv --missing=als -k 1-3"]),
];

/// Commands that print tables or notes alone.
#[rustfmt::skip]
const PLAIN: [(&str, &[&str]); 7] = [
    ("transform", &["fit table.csv -k 2 -q -o a.model", "transform a.model table.csv -o s.csv"]),
    ("diagnose", &["fit table.csv -k 2 --limits -q -o a.model", "diagnose a.model table.csv --fitted -o d.csv"]),
    ("report", &["fit table.csv -k 2 -q -o a.model", "report a.model table.csv -o r.html"]),
    ("impute", &["fit gaps.csv --missing -k 2 -q -o a.model", "impute a.model gaps.csv -o f.csv"]),
    ("complete", &["complete gaps.csv -k 2 -o f.csv"]),
    ("predict", &["fit triples.csv --triples row,column,value -k 2 --missing=vb -q -o a.model", "predict a.model triples.csv -o p.csv"]),
    ("reconstruct", &["fit table.csv -k 2 -q -o a.model --scores s.csv", "reconstruct a.model s.csv -o b.csv"]),
];

/// Times and memory: lines of text that begin with them, and keys of JSON, are left out.
const OF_MACHINE: [&str; 4] = ["time ", "seconds", "peak_memory_bytes", "read"];

/// Both output streams of a command, without times.
fn printed(folder: &Path, command: &str) -> String {
    let done = program().current_dir(folder).args(command.split_whitespace()).assert().success();
    let output = done.get_output();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let steady = |text: &str| -> String {
        let of_machine = |line: &&str| OF_MACHINE.iter().any(|word| line.starts_with(word));
        text.lines().filter(|line| !of_machine(line)).map(|line| line.to_owned() + "\n").collect()
    };
    // One line for each key.
    let out = match serde_json::from_str::<serde_json::Map<String, Value>>(&out) {
        Ok(json) => json.iter().map(|(key, value)| format!("{key}: {value}\n")).collect(),
        Err(_) => out.into_owned(),
    };
    format!("$ karhunen {command}\n{}{}", steady(&out), steady(&err))
}

/// The text without its numbers, of which last digits and counts of iterations depend on the processor.
fn without_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || ".e+-,# ".contains(c);
    let mut masked = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |end| start + end);
        masked += rest[..start].trim_end_matches(['-', '+']);
        masked.push('#');
        rest = &rest[end..];
    }
    masked + rest
}

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/words")
}

/// The golden files by name, each with the text of today, and the processor.
fn all() -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_tables(folder);
    let tables = files(folder);
    let mut found = BTreeMap::from([("processor".to_owned(), processor() + "\n")]);
    for (name, commands) in CASES.iter().chain(&PLAIN) {
        let has_json = CASES.iter().any(|(case, _)| case == name);
        let forms: &[&str] = if has_json { &["", " --json"] } else { &[""] };
        let [before @ .., last] = commands else { continue };
        let mut text = String::new();
        for form in forms {
            for command in before {
                program().current_dir(folder).args(command.split_whitespace()).assert().success();
            }
            text += &printed(folder, &format!("{last}{form}"));
            for file in files(folder).difference(&tables) {
                fs::remove_file(folder.join(file)).unwrap();
            }
        }
        found.insert((*name).to_owned(), text);
    }
    found
}

#[test]
fn words_match_the_golden_files() {
    let found = all();
    let path = |name: &String| goldens().join(format!("{name}.txt"));
    if std::env::var_os("KARHUNEN_WORDS").is_some_and(|word| word == "write") {
        fs::create_dir_all(goldens()).unwrap();
        found.iter().for_each(|(name, text)| fs::write(path(name), text).unwrap());
        return;
    }
    let expected: BTreeMap<String, String> =
        found.keys().map(|name| (name.clone(), fs::read_to_string(path(name)).unwrap_or_default())).collect();
    let is_other = |name: &&String| {
        let (was, is) = (&expected[*name], &found[*name]);
        let same_words = || without_numbers(was) == without_numbers(is);
        was != is && *name != "processor" && (expected["processor"] == found["processor"] || !same_words())
    };
    let first = |name: &String| {
        let mut lines = expected[name].lines().zip(found[name].lines());
        format!("{name}: {:?}", lines.find(|(was, is)| was != is))
    };
    let others: Vec<String> = found.keys().filter(is_other).map(first).collect();
    assert!(others.is_empty(), "other words, which KARHUNEN_WORDS=write writes:\n{}", others.join("\n"));
}
