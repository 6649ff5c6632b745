//! Files that must be refused, each with the exact message.

use std::collections::BTreeMap;
use std::path::Path;

use karhunen_io::{ReadOptions, read};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/malformed");

/// `expected.tsv` has a line for each file: its name, a tab, and the message without the folder.
#[test]
fn each_malformed_text_file_gets_its_message() {
    let expected = std::fs::read_to_string(Path::new(FOLDER).join("expected.tsv")).unwrap();
    let expected: BTreeMap<String, String> = expected
        .lines()
        .map(|line| {
            line.split_once('\t').map(|(name, message)| (name.to_owned(), message.to_owned())).unwrap()
        })
        .collect();
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == "expected.tsv" || name.starts_with('.') {
            continue;
        }
        let message = match read(&path, &ReadOptions::default()) {
            Ok(table) => format!("read as {:?}", table.data.shape()),
            Err(error) => error.to_string().replace(&format!("{}: ", path.display()), ""),
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
