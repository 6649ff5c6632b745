//! Moments of parts, merged: `karhunen moments` and `karhunen fit --from-moments`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{examples, karhunen, numbers};

/// Splits an example into parts of rows, the second with its columns in another order, and returns their moments.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(examples().join("iris.csv")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let orders: [&[usize]; 3] = [&[0, 1, 2, 3, 4], &[4, 2, 0, 3, 1], &[0, 1, 2, 3, 4]];
    let rows = [1..41, 41..100, 100..lines.len()];
    let write = |(i, (rows, order)): (usize, (std::ops::Range<usize>, &[usize]))| {
        let (part, sums) = (folder.join(format!("{i}.csv")), folder.join(format!("{i}.scatter")));
        let line = |cells: &Vec<&str>| order.iter().map(|&j| cells[j]).collect::<Vec<_>>().join(",") + "\n";
        let text: String = [&lines[0]].into_iter().chain(&lines[rows]).map(line).collect();
        std::fs::write(&part, text).unwrap();
        karhunen("moments --label class --quiet")
            .arg(&part)
            .arg("-o")
            .arg(&sums)
            .assert()
            .success()
            .stdout("");
        sums
    };
    rows.into_iter().zip(orders).enumerate().map(write).collect()
}

fn fit(arguments: &str, files: &[PathBuf]) -> Value {
    let done = karhunen("fit --json=full").args(arguments.split_whitespace()).args(files).assert().success();
    serde_json::from_slice(&done.get_output().stdout).unwrap()
}

fn close(found: &Value, expected: &Value) {
    let (found, expected) = (numbers(found), numbers(expected));
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(&expected) {
        assert!((a - b).abs() <= 1e-12 * expected[0].abs(), "{a} {b}");
    }
}

#[test]
fn parts_of_a_table_give_the_model_of_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let sums = parts(folder.path());
    for options in ["", "--scale -k 2", "--no-center --weighting population"] {
        let merged = fit(&format!("--from-moments {options}"), &sums);
        let whole = fit(&format!("--label class {options}"), &[examples().join("iris.csv")]);
        for name in ["explained_variance", "explained_variance_ratio", "singular_values", "mean", "scale"] {
            close(&merged[name], &whole[name]);
        }
        for (a, b) in
            merged["components"].as_array().unwrap().iter().zip(whole["components"].as_array().unwrap())
        {
            close(a, b);
        }
        assert_eq!(merged["feature_names"], whole["feature_names"]);
        assert_eq!((&merged["n_samples"], &merged["n_passes"]), (&whole["n_samples"], &Value::from(0)));
    }
}

#[test]
fn the_model_of_moments_transforms_the_table_with_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("all.model");
    let loadings = folder.path().join("loadings.csv");
    let done = karhunen("fit --from-moments")
        .args(parts(folder.path()))
        .args(["-o".as_ref(), model.as_os_str(), "--loadings".as_ref(), loadings.as_os_str()])
        .assert()
        .success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(text.contains("moments of 150 rows x 4 columns"), "{text}");
    assert!(std::fs::read_to_string(loadings).unwrap().starts_with("feature,PC1,PC2,PC3,PC4\n"));
    karhunen("transform").arg(&model).arg("iris.csv").assert().success();
}

#[test]
fn weights_are_summed_with_the_rows_and_kept_as_excluded_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("t.csv"), "a,b,w\n1,2,1\n3,4,2\n5,7,1\n").unwrap();
    std::fs::write(path("repeated.csv"), "a,b\n1,2\n3,4\n3,4\n5,7\n").unwrap();
    let done =
        karhunen("moments --weights w --json -o").args([path("t.scatter"), path("t.csv")]).assert().success();
    let summary: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!((&summary["n_samples"], &summary["sum_of_weights"]), (&3.into(), &4.0.into()));
    assert_eq!(numbers(&summary["mean"]), [3.0, 4.25]);
    let (merged, whole) = (fit("--from-moments", &[path("t.scatter")]), fit("", &[path("repeated.csv")]));
    close(&merged["explained_variance"], &whole["explained_variance"]);
    karhunen("fit --from-moments --quiet -o").args([path("m"), path("t.scatter")]).assert().success();
    karhunen("transform").args([path("m"), path("t.csv")]).assert().success();
}

#[test]
fn inspect_describes_moments() {
    let folder = tempfile::tempdir().unwrap();
    let sums = folder.path().join("iris.scatter");
    karhunen("moments iris.csv --label class -q -o").arg(&sums).assert().success();
    let done = karhunen("inspect").arg(&sums).assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    let table = String::from_utf8(
        karhunen("inspect iris.csv --label class").assert().success().get_output().stdout.clone(),
    );
    assert!(text.contains("moments of 150 rows x 4 columns"), "{text}");
    // Means and standard deviations are as in the table.
    for line in table.unwrap().lines().filter(|line| line.contains("_length") || line.contains("_width")) {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let done = karhunen("inspect --json").arg(&sums).assert().success();
    let summary: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!((&summary["format"], &summary["n_samples"]), (&"karhunen moments".into(), &150.into()));
}

#[test]
fn moments_and_options_of_rows_are_refused_where_they_do_not_belong() {
    let folder = tempfile::tempdir().unwrap();
    let sums = folder.path().join("iris.scatter");
    karhunen("moments iris.csv --label class -q -o").arg(&sums).assert().success();
    let refused = |arguments: &str, code: i32, words: &str| {
        let assert = karhunen(arguments).arg(&sums).assert().code(code);
        let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert!(message.contains(words), "{arguments}: {message}");
    };
    refused("fit", 3, "these are moments, not data; fit them by `karhunen fit --from-moments");
    refused("fit --from-moments --scores s.csv", 2, "--scores does not go with --from-moments");
    refused("fit --from-moments --weights w", 2, "--weights does not go with --from-moments: it belongs to");
    refused("fit --from-moments --label w", 2, "--label does not go with --from-moments: it belongs to");
    refused("fit --from-moments --missing", 2, "--missing does not go with --from-moments");
    refused("fit --from-moments --kernel rbf", 2, "--kernel does not go with --from-moments");
    refused("fit --from-moments --cache .", 2, "--cache does not go with --from-moments");
    refused("fit --from-moments --solver gram", 2, "--solver does not go with --from-moments");
    refused("fit --from-moments --max-iter 3", 2, "--max-iter has no effect");
    refused("fit --from-moments iris.csv", 3, "iris.csv: holds data, not moments");
    refused("fit --from-moments -k 5", 2, "-k 5 is more than the 150 x 4 table allows");
    refused("fit --from-moments --memory-limit 1kB", 2, "set --memory-limit to at least");
    refused("moments iris.csv --weights nowhere --force -o", 2, "nowhere");
    let assert = karhunen("transform").arg(&sums).arg("iris.csv").assert().code(3);
    let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    assert!(message.contains("holds the moments of rows, not a model"), "{message}");
    let assert =
        karhunen("moments iris.csv --label class -q --memory-limit 1kB --force -o").arg(&sums).assert();
    assert.code(2);
}

/// The correlations of three columns, with names of rows and columns as R writes them.
fn correlations(folder: &Path, second: &str, mirrored: &str) -> PathBuf {
    let file = folder.join("correlations.csv");
    let text = format!(
        "\"\",\"a\",\"b\",\"c\"\n\"a\",1,0.572065,0.158916\n\"{second}\",{mirrored},1,0.789859\n\"c\",0.158916,0.789859,1\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_covariance_matrix_is_fitted_with_its_number_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let file = correlations(folder.path(), "b", "0.572065");
    let (model, means) = (folder.path().join("m"), folder.path().join("means.csv"));
    std::fs::write(&means, "column,mean\nc,30\na,10\nb,20\n").unwrap();
    let output = format!("-o {} --center-values {}", model.display(), means.display());
    let fitted = fit(&format!("--from-covariance --rows 12 {output}"), std::slice::from_ref(&file));
    close(
        &fitted["explained_variance"],
        &Value::from(vec![2.0547724677345642, 0.8494176675772923, 0.09580986468814283]),
    );
    assert_eq!(
        (&fitted["n_samples"], &fitted["format"]),
        (&Value::from(12), &Value::from("covariance matrix"))
    );
    // Means of rows as measured, next to correlations.
    let notes = fitted["notes"].as_array().unwrap();
    assert!(notes.len() == 1 && notes[0].as_str().unwrap().contains("ones on its diagonal"), "{notes:?}");
    assert_eq!(numbers(&fitted["mean"]), [10.0, 20.0, 30.0]);
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "a,b,c\n10,20,30\n11,20,30\n").unwrap();
    let scores =
        karhunen(&format!("transform {} {} -o -", model.display(), rows.display())).assert().success();
    let scores = String::from_utf8(scores.get_output().stdout.clone()).unwrap();
    assert_eq!(scores.lines().nth(1), Some("0,0,0"));
    // The page cannot repeat the fit of a matrix that it does not have.
    let page = folder.path().join("r.html");
    karhunen(&format!("report {} -o {} -q", model.display(), page.display())).assert().success();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("karhunen report ") && !page.contains("karhunen fit "), "the calls");
    assert!(page.contains("pca = karhunen.PCA.load("), "the calls");
}

#[test]
fn what_is_not_a_covariance_matrix_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |file: &Path, options: &str| {
        let done = karhunen(&format!("fit {options}")).arg(file).assert().failure();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let file = correlations(folder.path(), "x", "0.572065");
    let other = refusal(&file, "--from-covariance --rows 12");
    assert!(other.contains("row `x` is where the columns have `b`"), "{other}");
    let file = correlations(folder.path(), "b", "0.5");
    let other = refusal(&file, "--from-covariance --rows 12");
    assert!(other.contains("the covariance matrix is not symmetric"), "{other}");
    for (options, message) in [
        ("--from-covariance", "--from-covariance needs --rows N, the number of rows"),
        ("--from-covariance --rows 12 --log1p", "--log1p does not go with --from-covariance"),
        ("--from-covariance --rows 12 --scale=range", "--scale does not go with --from-covariance"),
        ("--rows 12", "--from-covariance"),
        ("--from-covariance --rows 1", "--rows 1: a covariance matrix comes from two rows or more"),
        ("--from-covariance --rows 12 --no-center", "--no-center does not go with --from-covariance"),
        ("--from-covariance --rows 12 --scores s.csv", "--scores does not go with --from-covariance"),
        ("--from-covariance --rows 12 --weights w", "--weights does not go with --from-covariance"),
    ] {
        let found = refusal(&file, options);
        assert!(found.contains(message), "{options}: {found}");
    }
}

#[test]
fn a_triangle_of_a_covariance_matrix_is_refused_by_its_first_empty_cell() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("r.csv"), ",a,b,c\na,1,,\nb,0.5,1,\nc,0.2,0.3,1\n").unwrap();
    let run = karhunen("fit r.csv --from-covariance --rows 50").current_dir(folder.path()).assert();
    run.code(3).stderr(
        "error: r.csv: row 1 (`a`), column 2 (`b`) is missing; a covariance matrix has a finite number in every cell of both \
         triangles\n",
    );
}

#[test]
fn correlations_with_scales_or_means_get_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("r.csv"), ",a,b\na,1,0.5\nb,0.5,1\n").unwrap();
    std::fs::write(at("c.csv"), ",a,b\na,4,3\nb,3,9\n").unwrap();
    std::fs::write(at("d.txt"), "2\n3\n").unwrap();
    let notes = |arguments: &str| {
        let done = karhunen(&format!("fit {arguments} --from-covariance --rows 50 -q"))
            .current_dir(folder.path())
            .assert();
        String::from_utf8(done.success().get_output().stderr.clone()).unwrap()
    };
    for (arguments, expected) in [
        ("r.csv", false),
        ("r.csv --scale-values d.txt", true),
        ("r.csv --center-values d.txt", true),
        ("c.csv --scale --center-values d.txt", false),
    ] {
        let found = notes(arguments);
        assert_eq!(found.contains("the matrix has ones on its diagonal"), expected, "{arguments}: {found}");
    }
}
