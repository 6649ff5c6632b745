//! Counts words that are not plain English, so that they do not come back.

use std::fs;
use std::path::{Path, PathBuf};

/// A word or phrase, what to write instead, and the most occurrences, at most a tenth of version 0.2.0.
const WORDS: [(&str, &str, usize); 11] = [
    ("beside", "next to, with", 10),
    ("those of", "repeat the noun", 20),
    ("is no", "is not a", 5),
    ("are no", "are not", 5),
    ("in place of", "instead of", 2),
    ("set aside", "held out, excluded", 6),
    ("goes on", "continues", 3),
    ("tells", "shows, says", 1),
    ("anew", "again", 3),
    ("stands for", "denotes, represents", 1),
    ("hole holes", "missing entry", 25),
];
/// What follows or precedes `is no` and `are no` in plain English.
const AFTER: [&str; 8] = ["longer", "more", "less", "larger", "smaller", "wider", "other", "better"];
const FOLDERS: [&str; 9] = [
    "crates",
    "python/src",
    "python/py_src",
    "python/tests",
    "python/docs",
    "r",
    "docs",
    "benchmarks",
    "README.md",
];
const EXTENSIONS: [&str; 8] = ["rs", "py", "pyi", "md", "rst", "R", "Rd", "Rmd"];
/// Folders that are not read: dated notes, builds, files of earlier versions, and this list.
const LEFT_OUT: [&str; 6] =
    ["docs/log", "target", "golden_0_1_0", "golden_0_2_0", "node_modules", "layers/words.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn texts(path: &Path, found: &mut Vec<PathBuf>) {
    let name = path.to_string_lossy().replace('\\', "/");
    if LEFT_OUT.iter().any(|part| name.ends_with(part)) {
        return;
    }
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| texts(&entry.path(), found)),
        Err(_) if path.extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e == *known)) => {
            found.push(path.to_owned());
        }
        Err(_) => {}
    }
}

/// The words of a text in lower case. Parts of identifiers are words of their own, apart from the phrases of two words.
fn words(text: &str) -> Vec<String> {
    let split = |c: char| !c.is_alphanumeric() && c != '_';
    text.split(split).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The places of `phrase`, of one word, several alternatives of one word, or two or three words in a row.
fn n_of(phrase: &str, words: &[String]) -> usize {
    let wanted: Vec<&str> = phrase.split(' ').collect();
    if phrase == "hole holes" {
        return words.iter().flat_map(|word| word.split('_')).filter(|word| wanted.contains(word)).count();
    }
    let is_plain = |at: usize| {
        let [before, after] = [at.checked_sub(1), Some(at + 2)].map(|i| i.and_then(|i| words.get(i)));
        before.is_some_and(|word| word == "there") || after.is_some_and(|word| AFTER.contains(&word.as_str()))
    };
    let of_no = phrase.ends_with(" no");
    let places = words.windows(wanted.len()).enumerate().filter(|(_, run)| run.iter().eq(wanted.iter()));
    places.filter(|(at, _)| !of_no || !is_plain(*at)).count()
}

#[test]
fn words_that_are_not_plain_english_do_not_come_back() {
    let mut files = Vec::new();
    FOLDERS.iter().for_each(|folder| texts(&root().join(folder), &mut files));
    assert!(files.len() > 500, "only {} files", files.len());
    let read: Vec<(PathBuf, Vec<String>)> = files
        .into_iter()
        .map(|file| {
            let text = fs::read_to_string(&file).unwrap_or_default();
            (file, words(&text))
        })
        .collect();
    let mut problems = Vec::new();
    for (phrase, instead, most) in WORDS {
        let mut counts: Vec<(usize, &PathBuf)> =
            read.iter().map(|(file, words)| (n_of(phrase, words), file)).filter(|(n, _)| *n > 0).collect();
        let n: usize = counts.iter().map(|(n, _)| n).sum();
        if n > most {
            counts.sort_by(|a, b| b.cmp(a));
            let places: Vec<String> =
                counts.iter().take(8).map(|(n, file)| format!("  {n} in {}", file.display())).collect();
            problems.push(format!(
                "`{phrase}` {n} times, at most {most}: write {instead}\n{}",
                places.join("\n")
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn phrases_are_found_in_texts_and_identifiers() {
    let text = words(
        "It is no model. There is no model; it is no longer one. fn n_holes(hole: Holes) {} Those of\n/// it.",
    );
    // A comment mark between two words is not a word.
    for (phrase, n) in [("is no", 1), ("hole holes", 3), ("those of", 1), ("anew", 0)] {
        assert_eq!(n_of(phrase, &text), n, "{phrase}");
    }
}
