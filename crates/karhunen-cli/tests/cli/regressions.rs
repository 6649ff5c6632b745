//! Files that once ended the program, or made it print a panic.

use std::path::{Path, PathBuf};

use karhunen_testkit::EXIT_CODES;

use crate::karhunen;

/// Findings of `karhunen-fuzz` and of users, with a folder for each reader.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../karhunen-fuzz/tests/regressions")
}

#[test]
fn files_that_were_trouble_get_an_answer() {
    let mut n_files = 0;
    for target in std::fs::read_dir(folder()).unwrap() {
        for file in std::fs::read_dir(target.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let done = karhunen("inspect").arg(&path).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.code().is_some_and(|code| EXIT_CODES.contains(&code)), "{path:?}: {done:?}");
            assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{path:?}: {said}");
            let mut lines = said.lines();
            if done.status.success() {
                assert!(lines.all(|line| line.starts_with("note: ")), "{path:?}: {said}");
            } else {
                assert!(lines.any(|line| line.starts_with("error: ")), "{path:?}: {said}");
            }
            n_files += 1;
        }
    }
    assert!(n_files >= 4, "{n_files} files in {:?}", folder());
}

#[cfg(feature = "columnar")]
#[test]
fn panics_of_decoders_are_not_printed() {
    let path = folder().join("table/brotli_page.parquet");
    let done = karhunen("inspect").arg(&path).assert().code(3);
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("error: ") && said.lines().count() == 1, "{said}");
    assert!(
        said.ends_with(
            ": is damaged or not supported (offset + len out of bounds); copy or write it again\n"
        ),
        "{said}"
    );
}

#[cfg(feature = "columnar")]
#[test]
fn columns_nested_without_end_are_refused() {
    let path = folder().join("table/nested_5000.parquet");
    let done = karhunen("inspect").arg(&path).assert().code(3);
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(
        said.ends_with(
            "is damaged or not supported (columns are nested over 64 levels deep); copy or write it again\n"
        ),
        "{said}"
    );
}

#[test]
fn files_of_other_programs_are_named_with_the_way_in() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[u8], &str); 3] = [
        ("t.dta", b"<stata_dta><header>", "is a Stata file, which is not read; write it as CSV: python -c"),
        (
            "t.sqlite",
            b"SQLite format 3\0\x10",
            "is an SQLite database, which is not read; write a table (NAME)",
        ),
        ("t.html", b"<!DOCTYPE html><html>", "is a page of HTML, which is not read; fetch the table itself"),
    ];
    for (name, content, message) in cases {
        std::fs::write(folder.path().join(name), content).unwrap();
        for command in ["inspect", "fit"] {
            let done = karhunen(command).arg(name).current_dir(folder.path()).assert().code(3);
            let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
            assert!(said.contains(&format!("{name}: {message}")), "{said}");
        }
    }
    let done = karhunen("inspect").arg(folder.path()).assert().code(3);
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.ends_with(": is a folder, which is not read; give a file in it\n"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.md"), "notes").unwrap();
    let done = karhunen("fit").arg(folder.path()).assert().code(3);
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.contains(": is a folder that holds no file whose name ends in .parquet, .arrow,"), "{said}");
}
