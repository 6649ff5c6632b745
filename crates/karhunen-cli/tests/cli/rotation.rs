//! `rotate`, and the commands that take a rotated model.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::karhunen;

/// A folder with a model of all components of standardised wine.
fn fitted() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.model");
    run(folder.path(), &format!("fit wine.csv --label class --scale -k all -q -o {}", model.display()));
    folder
}

/// Runs a command that succeeds; `@` is the folder.
fn run(folder: &Path, arguments: &str) -> (String, String) {
    let arguments = arguments.replace('@', &folder.display().to_string());
    let done = karhunen(&arguments).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

/// The message of a command that fails with this exit code.
fn refused(folder: &Path, arguments: &str, code: i32) -> String {
    let arguments = arguments.replace('@', &folder.display().to_string());
    let done = karhunen(&arguments).assert().code(code);
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The names of columns and the numbers of a table with row names.
fn table(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut lines = text.lines();
    let header = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let numbers = |line: &str| line.split(',').filter_map(|cell| cell.parse().ok()).collect();
    (header, lines.map(numbers).collect())
}

fn numbers(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn scores_are_uncorrelated_and_reconstruct_the_rows_of_the_components() {
    let folder = fitted();
    let at = folder.path();
    let (text, _) = run(at, "rotate @/m.model -k 3 -o @/r.model --loadings @/pattern.csv");
    assert!(text.contains("rotated by varimax with Kaiser normalisation: 3 of 13 components"), "{text}");
    assert!(text.contains("RC3") && !text.contains("PC1") && !text.contains("correlations"), "{text}");
    let (header, scores) = table(&run(at, "transform @/r.model wine.csv").0);
    assert_eq!(header, ["RC1", "RC2", "RC3"]);
    for c in 0..3 {
        for d in 0..3 {
            let sum: f64 = scores.iter().map(|row| row[c] * row[d]).sum();
            assert!((sum / 177.0 - f64::from(u8::from(c == d))).abs() < 1e-10);
        }
    }
    // The pattern holds the correlations, whose squares sum to the communalities.
    let (header, pattern) = table(&std::fs::read_to_string(at.join("pattern.csv")).unwrap());
    assert_eq!(header, ["feature", "RC1", "RC2", "RC3"]);
    let found = json(&run(at, "inspect @/r.model --json=full").0);
    assert_eq!(found["method"], "varimax");
    for (j, row) in pattern.iter().enumerate() {
        let sum: f64 = row.iter().map(|x| x * x).sum();
        assert!((sum - found["communalities"][j].as_f64().unwrap()).abs() < 1e-12);
        assert_eq!(numbers(&found["pattern"])[j], *row);
    }
    // Rows through rotated scores, in memory and in the file, from rows and from scores.
    run(at, "fit wine.csv --label class --scale -k 3 -q -o @/three.model");
    let (_, expected) = table(&run(at, "reconstruct @/three.model wine.csv").0);
    run(at, "transform @/r.model wine.csv -o @/s.csv");
    for what in ["wine.csv", "@/s.csv", "wine.csv --memory-limit 20MB"] {
        let (_, rows) = table(&run(at, &format!("reconstruct @/r.model {what}")).0);
        assert_eq!(rows.len(), 178);
        for (row, expected) in rows.iter().flatten().zip(expected.iter().flatten()) {
            assert!((row - expected).abs() < 1e-9 * expected.abs().max(1.0), "{what}");
        }
    }
    let small = run(at, "transform @/r.model wine.csv --memory-limit 20MB").0;
    for (a, b) in table(&small).1.iter().flatten().zip(scores.iter().flatten()) {
        assert!((a - b).abs() < 1e-12);
    }
}

#[test]
fn methods_have_their_options_and_report_them() {
    let folder = fitted();
    let at = folder.path();
    for (options, told) in [
        ("--method quartimax", "quartimax: 3 of"),
        ("--method quartimax --kaiser", "quartimax with Kaiser normalisation"),
        ("--no-kaiser", "varimax: 3 of"),
        ("--method promax --power 3", "promax with power 3 and Kaiser normalisation"),
        ("--method oblimin --gamma -0.5", "oblimin with gamma -0.5"),
    ] {
        let (text, _) = run(at, &format!("rotate @/m.model -k 3 {options} -o @/r.model --force"));
        assert!(text.contains(told), "{options}: {text}");
        assert_eq!(
            text.contains("correlations of the components"),
            !told.contains("max:") && !told.contains("max with K")
        );
        let shown = run(at, "inspect @/r.model").0.replace("\n  ", " ");
        assert!(shown.contains(told) && shown.contains("178 rows x 13 columns"), "{shown}");
    }
    let found = json(&run(at, "rotate @/m.model -k 2 --method oblimin --json").0);
    let r = found["component_correlations"][0][1].as_f64().unwrap();
    assert!(r.abs() > 0.01 && found.get("pattern").is_none(), "{found}");
}

#[test]
fn a_target_is_matched_by_name_and_taken_from_an_earlier_rotation() {
    let folder = fitted();
    let at = folder.path();
    run(at, "rotate @/m.model -k 3 -q --loadings @/pattern.csv -o @/r.model");
    let text = std::fs::read_to_string(at.join("pattern.csv")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].reverse();
    std::fs::write(at.join("turned.csv"), lines.join("\n")).unwrap();
    let expected = numbers(&json(&run(at, "inspect @/r.model --json=full").0)["pattern"]);
    // An earlier rotation of the model takes no part.
    for model in ["m.model", "r.model"] {
        run(at, &format!("rotate @/{model} --target @/turned.csv -q -o @/again.model --force"));
        let found = json(&run(at, "inspect @/again.model --json=full").0);
        assert_eq!(found["method"], "procrustes");
        for (a, b) in numbers(&found["pattern"]).iter().flatten().zip(expected.iter().flatten()) {
            assert!((a - b).abs() < 1e-10);
        }
    }
    let message = refused(at, "rotate @/m.model --target @/turned.csv -k 2", 2);
    assert!(message.contains("-k 2 does not agree with the target, which has 3 columns"), "{message}");
    std::fs::write(at.join("few.csv"), lines[..9].join("\n")).unwrap();
    let message = refused(at, "rotate @/m.model --target @/few.csv", 3);
    assert!(message.contains("has no row for") && message.contains("few.csv"), "{message}");
}

#[test]
fn diagnostics_and_reports_are_of_the_rotated_components() {
    let folder = fitted();
    let at = folder.path();
    run(at, "fit wine.csv --label class --scale -k 3 -q -o @/three.model");
    run(at, "rotate @/m.model -k 3 -q -o @/r.model");
    let (rows, _) = run(at, "diagnose @/r.model wine.csv -q --features @/f.csv");
    let expected = table(&run(at, "diagnose @/three.model wine.csv -q").0).1;
    for (a, b) in table(&rows).1.iter().flatten().zip(expected.iter().flatten()) {
        assert!((a - b).abs() < 1e-9 * b.abs().max(1.0));
    }
    let (header, features) = table(&std::fs::read_to_string(at.join("f.csv")).unwrap());
    assert_eq!(header[1..4], ["correlation_RC1", "correlation_RC2", "correlation_RC3"]);
    let pattern = numbers(&json(&run(at, "inspect @/r.model --json=full").0)["structure"]);
    for (row, structure) in features.iter().zip(&pattern) {
        assert!((row[0] - structure[0]).abs() < 1e-12);
    }
    run(at, "diagnose @/r.model wine.csv -q --features @/f.csv -o @/d.csv --force");
    run(at, "report @/r.model wine.csv --label class -o @/r.html -q");
    let page = std::fs::read_to_string(at.join("r.html")).unwrap();
    for said in
        ["rotated by varimax with Kaiser normalisation", "RC1 rises with", "karhunen rotate fitted.model"]
    {
        assert!(page.contains(said), "{said}");
    }
    run(at, "report @/r.model -o @/r.html -q --force");
}

#[test]
fn what_cannot_be_rotated_is_refused_by_name() {
    let folder = fitted();
    let at = folder.path();
    run(at, "fit wine.csv --label class --kernel rbf -k 2 -q -o @/kernel.model");
    run(at, "rotate @/m.model -k 2 -q -o @/r.model");
    for (arguments, code, told) in [
        ("rotate @/kernel.model", 3, "is a model with a kernel"),
        ("rotate @/m.model -k 14", 2, "the model has 13 components"),
        ("rotate @/m.model --power 3", 2, "--power has no effect with --method varimax"),
        ("rotate @/m.model --method promax --power 1", 2, "power"),
        ("rotate @/m.model --method procrustes", 2, "needs --target"),
        ("rotate @/m.model --method oblimin --gamma 2", 2, "gamma"),
        ("rotate @/m.model --target @/none.csv", 4, "none.csv"),
        ("rotate wine.csv", 3, "is not a karhunen model file"),
        ("transform @/r.model wine.csv --whiten", 2, "have unit variance"),
        ("reconstruct @/r.model wine.csv --whiten", 2, "have unit variance"),
        ("impute @/r.model wine.csv", 3, "one that was fitted with --missing"),
        ("rotate @/m.model -k 2 -o @/m.model", 2, "m.model"),
    ] {
        let message = refused(at, arguments, code);
        assert!(message.contains(told), "{arguments}: {message}");
    }
}

#[test]
fn models_of_data_with_missing_values_are_rotated_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // Three cells of wine are missing.
    let text = std::fs::read_to_string("../../examples/data/wine.csv").unwrap();
    let missing: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if i % 50 == 7 {
                cells[1 + i / 50] = "";
            }
            cells.join(",") + "\n"
        })
        .collect();
    std::fs::write(at.join("missing.csv"), missing.concat()).unwrap();
    run(at, "fit @/missing.csv --label class --missing=ppca --scale -k 3 -q -o @/m.model");
    let (text, _) = run(at, "rotate @/m.model --method oblimin -o @/r.model --loadings @/pattern.csv");
    assert!(text.contains("rotated by oblimin with gamma 0: all components"), "{text}");
    let shown = run(at, "inspect @/r.model").0;
    assert!(shown.contains("of incomplete data") && shown.contains("rotated by oblimin"), "{shown}");
    let (header, scores) = table(&run(at, "transform @/r.model @/missing.csv").0);
    assert_eq!(header, ["RC1", "RC2", "RC3"]);
    assert_eq!(scores.len(), 178);
    let found = json(&run(at, "inspect @/r.model --json=full").0);
    assert_eq!((&found["n_samples"], &found["n_features"]), (&Value::from(178), &Value::from(13)));
    // Rows through rotated scores agree with the model; a rotation changes no prediction.
    run(at, "transform @/r.model @/missing.csv -o @/s.csv");
    let (_, expected) = table(&run(at, "reconstruct @/m.model @/missing.csv").0);
    for what in ["@/missing.csv", "@/s.csv", "@/missing.csv --memory-limit 20MB"] {
        let (_, rows) = table(&run(at, &format!("reconstruct @/r.model {what}")).0);
        for (row, expected) in rows.iter().flatten().zip(expected.iter().flatten()) {
            assert!((row - expected).abs() < 1e-9 * expected.abs().max(1.0), "{what}");
        }
    }
    assert_eq!(run(at, "impute @/r.model @/missing.csv").0, run(at, "impute @/m.model @/missing.csv").0);
    let rows = run(at, "diagnose @/r.model @/missing.csv -q --features @/f.csv").0;
    assert_eq!(rows, run(at, "diagnose @/m.model @/missing.csv -q").0);
    let (header, _) = table(&std::fs::read_to_string(at.join("f.csv")).unwrap());
    assert_eq!(header[1], "correlation_RC1");
    run(at, "report @/r.model @/missing.csv -q -o @/r.html");
    let page = std::fs::read_to_string(at.join("r.html")).unwrap();
    assert!(page.contains("rotated by oblimin") && page.contains("karhunen rotate fitted.model"));
    // An earlier rotation takes no part.
    run(at, "rotate @/r.model --target @/pattern.csv -q -o @/again.model");
    refused(at, "transform @/r.model @/missing.csv --whiten", 2);
}

/// Reconstructions from parts of the components, less the means, add up to that from all.
#[test]
fn rows_are_reconstructed_from_chosen_components() {
    let folder = fitted();
    let at = folder.path();
    run(at, "rotate @/m.model --method oblimin -k 3 -q -o @/r.model");
    run(at, "fit wine.csv --label class --missing=ppca -k 3 -q -o @/i.model");
    run(at, "rotate @/i.model --method promax -q -o @/ir.model");
    for model in ["m", "r", "i", "ir"] {
        run(at, &format!("transform @/{model}.model wine.csv -o @/{model}.csv"));
        for what in
            ["wine.csv".to_owned(), "wine.csv --memory-limit 1kB".to_owned(), format!("@/{model}.csv")]
        {
            let rows = |options: &str| {
                table(&run(at, &format!("reconstruct @/{model}.model {what} {options}")).0).1.concat()
            };
            let (all, first, others, none) =
                (rows(""), rows("--only 1"), rows("--only 2-3"), rows("--only 1-3"));
            let rest = if model == "m" { rows("--only 4-13") } else { Vec::new() };
            // Both parts contain the mean of each column.
            let surplus = |j: usize| first[j] + others[j] + rest.get(j).unwrap_or(&0.0) - all[j];
            for j in 0..all.len() {
                let (found, expected) = (surplus(j), surplus(j % 13));
                assert!((found - expected).abs() < 1e-8 * expected.abs().max(1.0), "{model} {what}: {found}");
            }
            assert_eq!(none == all, model != "m", "{model} {what}");
        }
    }
    assert!(refused(at, "reconstruct @/r.model wine.csv --only 4", 2).contains("the model has 3 components"));
    refused(at, "reconstruct @/r.model wine.csv --only 0", 2);
}
