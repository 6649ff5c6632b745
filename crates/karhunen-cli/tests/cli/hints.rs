//! Hints about columns that are probably not features: given where needed, and nowhere else.

use crate::{examples, karhunen};

/// The notes of a fit on standard error.
fn notes(arguments: &str) -> String {
    let done = karhunen(arguments).assert().success();
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn table(name: &str, header: &str, row: impl Fn(usize) -> String) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let rows: String = (0..60).map(|i| row(i) + "\n").collect();
    std::fs::write(&path, format!("{header}{rows}")).unwrap();
    (folder, path.display().to_string())
}

fn x(i: usize) -> String {
    format!("{},{}", (i * 17 % 13) as f64 / 4.0, (i * i % 11) as f64 + 0.5)
}

#[test]
fn examples_as_they_should_be_fitted_get_none() {
    for fit in [
        "usarrests.csv --scale",
        "iris.csv --label class",
        "wine.csv --label class --scale",
        "breast_cancer.csv --label class --scale",
        "digits_8x8.csv.gz --label class",
        "midwest_counties.csv --label state --label county --scale",
        "rust_docs_bow.mtx.gz -k 3",
        "house_votes_84.csv --label Class --missing -k 2",
        "metabolite_missing.csv --missing=als -k 2",
        "metabolite_complete.csv",
        "worldbank_fertility.csv --header yes --missing=als -k 2 --label 2012 --label 2013",
    ] {
        let arguments = format!("fit {fit} -q");
        let done = karhunen(&arguments).output().unwrap();
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{fit}: {text}");
        assert!(!text.contains("note:"), "{fit}: {text}");
    }
}

#[test]
fn units_that_drown_the_others_are_said_once() {
    // The classical case: proline has 99.8% of the variance of the wines.
    let text = notes("fit wine.csv --label class -q");
    assert!(text.starts_with("note: wine.csv: column `proline` has 99."), "{text}");
    assert!(text.contains("use --scale") && text.lines().count() == 1, "{text}");
    // No note suppresses another.
    let text = notes("fit wine.csv -q");
    assert!(
        text.contains("column `class` holds 3 whole numbers") && text.contains("column `proline` has 99."),
        "{text}"
    );
    assert!(notes("fit usarrests.csv -q").contains("column `Assault` has 95."));
    let text = notes("fit breast_cancer.csv --label class -q");
    assert!(text.contains("columns `worst_area`, `mean_area` have 9"), "{text}");
    assert!(notes("fit wine.csv --label class --missing=als -k 2 -q").contains("use --scale"));
    assert_eq!(notes("fit wine.csv --label class --missing=als -k 2 --scale -q"), "");
    assert!(
        notes("fit wine.csv --label class --kernel rbf -k 2 -q")
            .contains("divide the columns by their standard")
    );
    assert!(examples().join("wine.csv").exists());
}

#[test]
fn a_correlation_matrix_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.csv");
    let fit = |corner: &str, options: &str| {
        let text = format!(",a,b,c\na,1.0,0.57,0.16\nb,0.57,1.0,0.79\nc,{corner},0.79,1.0\n");
        std::fs::write(&path, text).unwrap();
        notes(&format!("fit {} -q {options}", path.display()))
    };
    let note = fit("0.16", "");
    assert!(note.contains("the table is symmetric, as a matrix of correlations or covariances is"), "{note}");
    assert!(note.contains("use --from-covariance and --rows N"), "{note}");
    let note = fit("0.16", "--from-covariance --rows 20");
    assert!(note.starts_with(&format!("note: {}: the means are not known", path.display())), "{note}");
    assert_eq!(note.lines().count(), 1, "{note}");
    assert_eq!(fit("0.17", ""), "");
}

#[test]
fn ids_and_classes_are_said_by_every_fit() {
    let (_folder, ids) = table("t.csv", "row,a,b\n", |i| {
        format!("{},{},{}", i + 1, 10.5 * (i * 17 % 13) as f64, 30.5 * (i * i % 11) as f64)
    });
    let expected = format!(
        "note: {ids}: column `row` counts the rows and is fitted as a feature; if it only numbers them, use --label row\n"
    );
    for fit in ["fit", "fit --missing=als -k 1", "fit --kernel rbf -k 1", "cross-validate -k 1 --folds 2"] {
        let (command, options) = fit.split_once(' ').unwrap_or((fit, ""));
        assert_eq!(notes(&format!("{command} {ids} -q {options}")), expected, "{fit}");
        assert_eq!(notes(&format!("{command} {ids} -q --label row {options}")), "", "{fit}");
    }
    let done = karhunen(&format!("fit {ids} --json")).assert().success();
    let summary: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(summary["notes"].as_array().unwrap().len(), 1);
    let (_folder, classes) = table("c.csv", "a,b,class\n", |i| format!("{},{}", x(i), i % 3));
    let text = notes(&format!("fit {classes} -q"));
    assert!(
        text.contains(
            "column `class` holds 3 whole numbers and is fitted as a feature; if they denote classes"
        ),
        "{text}"
    );
    let (_folder, bare) = table("b.csv", "", |i| format!("{},{}", x(i), i % 3));
    assert!(notes(&format!("fit {bare} -q")).contains("use --label 3"));
}

#[test]
fn fractional_counts_are_said() {
    let (_folder, file) = table("t.csv", "a,b,w\n", |i| format!("{},{}.5", x(i), 100 + i * 7));
    let said = "the weights are not whole numbers, and count as ";
    for command in ["fit", "select"] {
        let text = notes(&format!("{command} {file} --weights w -q"));
        assert!(text.contains(said) && text.contains("need --weighting importance, and count as "), "{text}");
        assert!(!notes(&format!("{command} {file} --weights w --weighting importance -q")).contains(said));
    }
    let (_folder, file) = table("m.csv", "a,b,w\n", |i| format!("{},{},{}.25", i % 3, i % 2, 100 + i));
    assert!(notes(&format!("fit {file} --mca --weights w -q")).contains(said));
    // Numbers of people in cells.
    assert!(!notes("fit titanic.csv --mca --weights passengers -q").contains(said));
}

#[test]
fn whole_numbers_that_f64_rounds_are_said() {
    let (_folder, path) =
        table("ids.csv", "id,a,b\n", |i| format!("{},{}", 1_152_921_504_606_846_976 + i % 4, x(i)));
    let text = notes(&format!("fit {path} --scale -q"));
    assert!(text.contains("column `id` has no variance, and its numbers are of 2^53 and more"), "{text}");
    let (_folder, path) = table("c.csv", "c,a,b\n", |i| format!("7,{}", x(i)));
    assert!(!notes(&format!("fit {path} --scale -q")).contains("2^53"));
}

/// The first feature is the second column of the file: a hint with its number would leave another column out.
#[test]
fn features_without_names_are_not_named_by_number_next_to_labels() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String =
        (1..=20).map(|i| format!("{},{i},{}.5,{}\n", ["x", "y"][i % 2], i * i % 7, i % 3)).collect();
    std::fs::write(folder.path().join("t.csv"), &rows).unwrap();
    let plain: String = rows.lines().map(|line| format!("{}\n", &line[2..])).collect();
    std::fs::write(folder.path().join("plain.csv"), plain).unwrap();
    for method in ["", "--missing=ppca"] {
        let notes = |arguments: &str| {
            let done =
                karhunen(&format!("fit {arguments} {method} -k 1 -q")).current_dir(folder.path()).assert();
            String::from_utf8(done.success().get_output().stderr.clone()).unwrap()
        };
        assert!(notes("plain.csv --header no").contains("column 1 counts the rows"), "{method}");
        assert!(!notes("t.csv --header no --label 1").contains("counts the rows"), "{method}");
    }
}
