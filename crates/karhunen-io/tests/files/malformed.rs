//! Files that must be refused, each with its exact message; a folder for each reader.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use karhunen_io::{ObserveOptions, ReadOptions, TripleColumns, load_model, read, read_observed};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/malformed");

#[test]
fn each_malformed_text_gets_its_message() {
    check("text", table);
}

#[test]
fn each_malformed_matrix_market_file_gets_its_message() {
    check("matrix_market", table);
}

#[test]
fn each_malformed_npy_file_gets_its_message() {
    check("npy", table);
}

#[test]
fn each_malformed_npz_archive_gets_its_message() {
    check("npz", table);
}

#[cfg(feature = "columnar")]
#[test]
fn each_malformed_parquet_file_gets_its_message() {
    check("parquet", table);
}

#[cfg(feature = "columnar")]
#[test]
fn each_malformed_arrow_file_gets_its_message() {
    check("arrow", table);
}

#[test]
fn each_malformed_model_gets_its_message() {
    check("model", |path| {
        load_model::<karhunen::PcaModel>(path)
            .map(|saved| format!("{} components", saved.model.n_components()))
    });
}

#[test]
fn each_malformed_table_of_triples_gets_its_message() {
    check("triples", |path| {
        let weight = path.to_string_lossy().contains("weight").then(|| "weight".to_owned());
        let [row, column, value] = ["user", "item", "rating"].map(str::to_owned);
        let how = ObserveOptions {
            triples: Some(TripleColumns { row, column, value, weight }),
            ..Default::default()
        };
        read_observed(path, &ReadOptions::default(), &how).map(|table| format!("{:?}", table.data.shape()))
    });
}

fn table(path: &Path) -> karhunen_io::Result<String> {
    read(path, &ReadOptions::default()).map(|table| format!("{:?}", table.data.shape()))
}

/// `expected.tsv` has a line for each file of the folder: its name, a tab, and the message without the path.
fn check(folder: &str, read: impl Fn(&Path) -> karhunen_io::Result<String>) {
    let folder = Path::new(FOLDER).join(folder);
    let expected = lines(&folder.join("expected.tsv"));
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "expected.tsv" || name.starts_with('.') {
            continue;
        }
        let message = match read(&path) {
            Ok(content) => format!("read as {content}"),
            Err(error) => {
                let shown = path.display().to_string();
                error.to_string().replace(&format!("{shown}: "), "").replace(&shown, &name)
            }
        };
        found.insert(name, message);
    }
    let changed: Vec<String> = found
        .iter()
        .filter(|(name, message)| expected.get(*name) != Some(message))
        .map(|(name, message)| format!("{name}\t{message}"))
        .collect();
    assert!(changed.is_empty(), "these differ from expected.tsv:\n{}", changed.join("\n"));
    let gone: Vec<&String> = expected.keys().filter(|name| !found.contains_key(*name)).collect();
    assert!(gone.is_empty(), "expected.tsv has lines without a file: {gone:?}");
}

fn lines(path: &Path) -> BTreeMap<String, String> {
    let line = |line: &str| {
        line.split_once('\t').map(|(name, message)| (name.to_owned(), message.to_owned())).unwrap()
    };
    std::fs::read_to_string(path).unwrap().lines().map(line).collect()
}
