//! The files that `fit` writes, all or none.

use std::path::Path;

use crate::{assert_close, karhunen, output, parse_csv};

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn scores_and_loadings_keep_the_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = output(&format!(
        "fit usarrests.csv --scale -k 2 -o {} --scores {} --loadings {}",
        at("m").display(),
        at("s.csv").display(),
        at("l.tsv").display()
    ));
    let written = text.split("written").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = ["loadings to l.tsv", "model to m", "scores to s.csv"]
        .map(|entry| entry.replace(" to ", &format!(" to {}/", folder.path().display())));
    assert_eq!(written, expected.join(", "));
    assert_eq!(entries(folder.path()), ["l.tsv", "m", "s.csv"]);
    let scores = std::fs::read_to_string(at("s.csv")).unwrap();
    assert!(scores.starts_with("sample,PC1,PC2\nAlabama,0.97566"), "{scores}");
    assert_eq!(scores.lines().count(), 51);
    let loadings = std::fs::read_to_string(at("l.tsv")).unwrap();
    assert!(loadings.starts_with("feature\tPC1\tPC2\nMurder\t0.84397"), "{loadings}");
    assert_eq!(loadings.lines().count(), 5);
}

#[test]
fn whitened_scores_have_unit_variance() {
    let scores = parse_csv(&output("fit usarrests.csv --scale -k 3 --scores - --whiten --quiet"));
    assert_eq!(scores.len(), 50);
    for c in 0..3 {
        let (sum, squares) = scores.iter().fold((0.0, 0.0), |(s, q), row| (s + row[c], q + row[c] * row[c]));
        assert_close(&[sum / 50.0, squares / 49.0], &[0.0, 1.0], 1e-12);
    }
}

#[cfg(feature = "columnar")]
#[test]
fn every_format_that_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let expected = parse_csv(&output("fit usarrests.csv -k 2 --scale --scores - --quiet"));
    for name in ["s.csv", "s.tsv", "s.npy", "s.parquet"] {
        let path = folder.path().join(name).display().to_string();
        karhunen(&format!("fit usarrests.csv -k 2 --quiet --scale --scores {path}"))
            .assert()
            .success()
            .stdout("")
            .stderr("");
        // Scores are uncorrelated, so that a fit to them finds their axes.
        let again = parse_csv(&output(&format!("fit {path} --no-center --scores - --quiet")));
        for (row, expected) in again.iter().zip(&expected) {
            assert_close(
                &row.iter().map(|z| z.abs()).collect::<Vec<_>>(),
                &expected.iter().map(|z| z.abs()).collect::<Vec<_>>(),
                1e-9,
            );
        }
        assert_eq!(again.len(), 50, "{name}");
    }
}

#[test]
fn a_failed_run_leaves_the_old_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("m"), "old").unwrap();
    std::fs::write(at("bad.csv"), "a,b\n1,2\n3,\n").unwrap();
    let bad = format!("fit {} -o {} --force", at("bad.csv").display(), at("m").display());
    karhunen(&bad).assert().code(3);
    // The second output cannot be written, so the first is not replaced either.
    std::fs::create_dir(at("s.csv")).unwrap();
    let blocked = format!("fit iris.csv -o {} --scores {} --force", at("m").display(), at("s.csv").display());
    karhunen(&blocked).assert().code(4);
    assert_eq!(std::fs::read_to_string(at("m")).unwrap(), "old");
    assert_eq!(entries(folder.path()), ["bad.csv", "m", "s.csv"]);
    std::fs::remove_dir(at("s.csv")).unwrap();
    karhunen(&blocked).assert().success();
    assert!(std::fs::read(at("m")).unwrap().len() > 100);
    assert_eq!(entries(folder.path()), ["bad.csv", "m", "s.csv"]);
}

#[test]
fn names_come_from_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("m.mtx"), "%%MatrixMarket matrix array real general\n3 2\n1\n2\n4\n5\n1\n1\n").unwrap();
    std::fs::write(at("terms.txt"), "of the\n\u{1b}[31mred\n").unwrap();
    std::fs::write(at("rows.txt"), "x\ny\nz\n").unwrap();
    let names = format!("--feature-names {} --sample-names {}", at("terms.txt"), at("rows.txt"));
    let data = at("m.mtx");
    let text = output(&format!("fit {data} {names} --scores {} --loadings {}", at("s.csv"), at("l.csv")));
    assert!(text.contains("of the") && text.contains("\\u{1b}[31mred") && !text.contains('\u{1b}'), "{text}");
    assert!(std::fs::read_to_string(at("s.csv")).unwrap().contains("\ny,"));
    assert!(std::fs::read_to_string(at("l.csv")).unwrap().contains("\nof the,"));
    let inspected = crate::json(&format!("inspect {data} {names} --json"));
    assert_eq!(inspected["feature_names"][1], "\u{1b}[31mred");
    let refused = |arguments: &str, code: i32| {
        let done = karhunen(arguments).assert().code(code);
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let error = refused(&format!("fit {data} --feature-names {}", at("rows.txt")), 3);
    assert_eq!(error, format!("error: {}: holds 3 names, but the data have 2 columns\n", at("rows.txt")));
    let error = refused("fit - --feature-names -", 2);
    assert!(error.contains("`-` is given twice"), "{error}");
    let error = refused(&format!("fit usarrests.csv --feature-names {}/\u{1b}x", folder.path().display()), 4);
    assert!(error.contains("\\u{1b}x: opening failed") && !error.contains('\u{1b}'), "{error}");
}
