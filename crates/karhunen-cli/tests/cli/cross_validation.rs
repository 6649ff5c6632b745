//! Selection by the error of held-out entries.

use serde_json::Value;
use tempfile::TempDir;

use crate::{assert_close, karhunen, numbers, parse_csv};

/// A 60 x 8 table of rank two with noise and every fifth value missing.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 7u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut text = String::from("a,b,c,d,e,f,g,h,times\n");
    let mut triples = String::from("row,column,value\n");
    for i in 0..60 {
        let (s, t) = (4.0 * noise(), 3.0 * noise());
        for j in 0..8 {
            let angle = f64::from(j) * 0.8;
            let value = s * angle.cos() + t * (2.0 * angle).sin() + 0.3 * noise();
            if (i * 8 + j) % 5 != 2 {
                text += &value.to_string();
                triples += &format!("r{i},c{j},{value}\n");
            }
            text.push(',');
        }
        text += &format!("{}\n", 1 + i % 3);
    }
    std::fs::write(folder.path().join("t.csv"), text).unwrap();
    std::fs::write(folder.path().join("triples.csv"), triples).unwrap();
    folder
}

fn run(folder: &TempDir, arguments: &str) -> String {
    let done = karhunen(&format!("cross-validate {arguments}")).current_dir(folder.path()).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

fn json(folder: &TempDir, arguments: &str) -> Value {
    serde_json::from_str(&run(folder, &format!("{arguments} --json"))).unwrap()
}

#[test]
fn the_planted_rank_is_advised() {
    let folder = folder();
    let text = run(&folder, "t.csv --label times --missing=ppca -k 1-4");
    assert!(text.contains("\n5 folds of the entries, method ppca, seed 0\n"), "{text}");
    assert!(text.contains("\ncomponents       RMSE  standard error      Q2      R2\n         1  "), "{text}");
    assert!(text.contains("\nchoose    -k 2: "), "{text}");
    let found = json(&folder, "t.csv --label times --missing=ppca -k 1-4");
    let choices = found["choices"].as_array().unwrap();
    assert_eq!(choices.iter().map(|c| c["n_components"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(found["simplest"]["n_components"], 2);
    assert_eq!((&found["n_samples"], &found["n_folds"]), (&Value::from(60), &Value::from(5)));
    for choice in choices {
        let errors = numbers(&choice["errors"]);
        assert_close(&[errors.iter().sum::<f64>() / 5.0], &[choice["mean"].as_f64().unwrap()], 1e-12);
    }
    // The bits depend on the seed, not on threads.
    let errors =
        |arguments: &str| json(&folder, &format!("t.csv --label times -k 2 {arguments}"))["choices"].clone();
    assert_eq!(errors("--threads 1"), errors("--threads 3"));
    assert_ne!(errors("--seed 1"), errors(""));
}

#[test]
fn shares_of_complete_tables_by_feature() {
    let arguments = "cross-validate wine.csv --label class --scale --missing=em -k 1-4 --folds 7";
    let text = String::from_utf8(karhunen(arguments).assert().success().get_output().stdout.clone()).unwrap();
    assert!(text.contains("   0.665  ") && text.contains("\nfeatures  Q2 from "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let printed = karhunen(&format!("{arguments} --json")).assert().success().get_output().stdout.clone();
    let found: Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(found["feature_names"][0], "alcohol");
    let choices = found["choices"].as_array().unwrap();
    let (q2, r2): (Vec<f64>, Vec<f64>) =
        choices.iter().map(|c| (c["q2"].as_f64().unwrap(), c["r2"].as_f64().unwrap())).unzip();
    assert!(q2.iter().zip(&r2).all(|(q2, r2)| q2 < r2) && r2.is_sorted() && !q2.is_sorted(), "{q2:?} {r2:?}");
    for choice in choices {
        // All columns are scaled: the share of all is the mean of the shares of features.
        let of_features = numbers(&choice["features"]["q2"]);
        assert_eq!(of_features.len(), 13);
        assert_close(&[of_features.iter().sum::<f64>() / 13.0], &[choice["q2"].as_f64().unwrap()], 1e-9);
    }
    let rules = found["rules"].as_array().unwrap();
    assert_eq!(rules[0]["rule"], "cross-validation");
    assert_eq!(rules[0]["n_components"], found["best"]["n_components"]);
    assert_eq!(rules[1]["n_components"], found["simplest"]["n_components"]);
    assert_eq!(rules[0]["values"][0], found["without_components"]["msep"]);
}

#[test]
fn the_edge_of_the_numbers_is_told() {
    let folder = folder();
    let text = run(&folder, "t.csv --label times --missing=em -k 1,2");
    let warning = "\nedge      the lowest error is at the largest number compared; compare more\n";
    assert!(text.contains(warning), "{text}");
    let text = run(&folder, "t.csv --label times --missing=em -k 1-4");
    assert!(!text.contains("\nedge"), "{text}");
}

#[test]
fn penalties_are_compared_and_written() {
    let folder = folder();
    let arguments =
        "t.csv --label times --missing=ridge --regularization 0.1,1,weighted:0.2,100 -k 2,3 --folds 3";
    let csv = run(&folder, &format!("{arguments} -o -"));
    let header = "components,regularization,weighted_regularization,mean,standard_error,msep,msep_standard_error,q2,r2,fold1,fold2,fold3\n";
    assert!(csv.starts_with(header), "{csv}");
    let found = json(&folder, arguments);
    let choices = found["choices"].as_array().unwrap();
    assert_eq!((csv.lines().count(), choices.len()), (9, 8));
    assert_eq!(choices[2]["regularization"], serde_json::json!({"weighted": 0.2}));
    for (line, choice) in csv.lines().skip(1).zip(choices) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], choice["n_components"].to_string());
        assert_eq!(cells[3].parse::<f64>().unwrap(), choice["mean"].as_f64().unwrap());
    }
    assert_ne!(found["best"]["regularization"], serde_json::json!({"ridge": 100.0}));
    let text = run(&folder, &format!("{arguments} -o curve.csv"));
    assert!(text.contains("weighted:0.2") && text.contains("\nwritten   errors to curve.csv\n"), "{text}");
    assert_eq!(std::fs::read_to_string(folder.path().join("curve.csv")).unwrap(), csv);
    // Without penalties the table has no column for them.
    let csv = run(&folder, "t.csv --label times -k 1 -o - -q");
    assert!(csv.starts_with("components,mean,standard_error,msep,msep_standard_error,q2,r2,fold1"), "{csv}");
    assert_eq!(parse_csv(&csv).len(), 1);
}

#[test]
fn triples_and_weights_are_read_as_by_fit() {
    let folder = folder();
    let triples = json(&folder, "triples.csv --triples row,column,value --dtype f64 -k 1,2");
    let table = json(&folder, "t.csv --label times -k 1,2");
    assert_eq!(triples["n_observed"], table["n_observed"]);
    assert!(
        triples["choices"][1]["mean"].as_f64().unwrap() < triples["choices"][0]["mean"].as_f64().unwrap()
    );
    let weighted = json(&folder, "t.csv --weights times -k 1,2");
    assert_eq!(weighted["n_features"], 8);
    assert_ne!(weighted["choices"], table["choices"]);
    let text = run(&folder, "t.csv --weights times -k 1");
    assert!(text.contains("\nweights from column `times`: times each row was seen, sum 120\n"), "{text}");
}

#[test]
fn refusals() {
    let folder = folder();
    for (arguments, code, message) in [
        (
            "t.csv --label times -k 9",
            2,
            "t.csv: -k 9 is more than the 60 x 8 table allows; ask for at most 8",
        ),
        ("t.csv --label times --folds 1", 2, "--folds 1: at least two folds are needed"),
        (
            "t.csv --label times --folds 385",
            2,
            "t.csv: --folds 385 is more than the 384 entries that can be held out; ask for at most 384",
        ),
        (
            "t.csv --label times --folds 4294967296",
            2,
            "t.csv: --folds 4294967296 is more than the 384 entries that can be held out; ask for at most 384",
        ),
        (
            "t.csv --label times --folds 9223372036854775807",
            2,
            "t.csv: --folds 9223372036854775807 is more than the 384 entries that can be held out; ask for at most 384",
        ),
        (
            "t.csv --label times --starts 9223372036854775807",
            2,
            "--starts 9223372036854775807: more than a million starts are more than a fit has time for",
        ),
        (
            "t.csv --label times --early-stopping=0.001",
            2,
            // 307, 308 or all 384 entries, depending on the fit that is first.
            "t.csv: --early-stopping=0.001 holds out none of the 3",
        ),
        ("t.csv -k 1-9999999999", 2, "more than 1000 numbers; give fewer"),
        ("t.csv --label times -o curve.xlsx", 4, "curve.xlsx: "),
    ] {
        let done =
            karhunen(&format!("cross-validate {arguments}")).current_dir(folder.path()).assert().stdout("");
        let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(text.contains(message), "{text}");
        if message.len() > 20 {
            done.code(code);
        }
    }
    karhunen("cross-validate t.csv -k 0").current_dir(folder.path()).assert().code(2);
}

/// Of columns that are unrelated none is predicted better than by its mean, and no component is advised.
#[test]
fn unrelated_columns_need_no_component() {
    let folder = tempfile::tempdir().unwrap();
    let rows = karhunen_testkit::gaussian(100, 8, 3);
    let lines = rows.iter().map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(","));
    let text = ["a,b,c,d,e,f,g,h".to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n");
    std::fs::write(folder.path().join("noise.csv"), text).unwrap();
    let arguments = "noise.csv --missing=ppca -k 1-3 --scale";
    let said = run(&folder, arguments);
    assert!(said.contains("choose    none (the means of the columns, RMSE "), "{said}");
    let json: Value = serde_json::from_str(&run(&folder, &format!("{arguments} --json"))).unwrap();
    assert_eq!(json["simplest"]["n_components"], 0);
}
