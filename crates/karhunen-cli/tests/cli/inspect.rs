//! `inspect` and `completions`.

use crate::{assert_close, json, karhunen, numbers, output};

#[test]
fn a_data_file_is_described_column_by_column() {
    let text = output("inspect usarrests.csv");
    let expected = "\
usarrests.csv: CSV, 50 rows x 4 columns, f64
column 1 (`State`) names the rows

                  mean     deviation
Murder         7.78800       4.35551
Assault        170.760       83.3377
UrbanPop       65.5400       14.4748
Rape           21.2320       9.36638
";
    assert_eq!(text, expected);
}

#[test]
fn missing_values_are_counted_column_by_column() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "id,a,b,c,d\nx,1,,NA,5\ny,2,4,,7\nz,,6,,9\n").unwrap();
    let text = output(&format!("inspect {}", path.display()));
    let expected = "\
t.csv: CSV, 3 rows x 4 columns, f64
column 1 (`id`) names the rows
5 values missing (41.67%), in 3 of 4 columns; karhunen fit --missing fits what
  was observed

           mean     deviation       missing
a       1.50000      0.707107             1
b       5.00000       1.41421             1
c          none          none             3
d       7.00000       2.00000             0
";
    assert_eq!(text.replace(&path.display().to_string(), "t.csv"), expected);
    let found = json(&format!("inspect {} --json", path.display()));
    assert_eq!(found["n_missing"], serde_json::json!([1, 1, 3, 0]));
    assert_eq!(found["mean"], serde_json::json!([1.5, 5.0, null, 7.0]));
    assert_eq!(found["problem"], serde_json::Value::Null);
    assert_eq!(json("inspect usarrests.csv --json")["n_missing"], serde_json::Value::Null);
    // Infinite values are not missing values.
    std::fs::write(&path, "a,b\n1,\ninf,2\n").unwrap();
    let refused = karhunen(&format!("inspect {}", path.display())).assert().code(3);
    let message = String::from_utf8_lossy(&refused.get_output().stderr);
    assert!(message.contains("line 3: column 1 (`a`): `inf` is infinite"), "{message}");
}

#[test]
fn json_of_a_data_file() {
    let found = json("inspect usarrests.csv --json");
    assert_eq!(found["format"], "CSV");
    assert_eq!(found["n_samples"], 50);
    assert_eq!(found["has_sample_names"], true);
    assert_eq!(found["problem"], serde_json::Value::Null);
    assert_close(&numbers(&found["mean"]), &[7.788, 170.76, 65.54, 21.232], 1e-12);
    let sparse = json("inspect rust_docs_bow.mtx.gz --json");
    assert_eq!(sparse["format"], "Matrix Market");
    assert_eq!(sparse["n_stored"], 651_171);
}

#[test]
fn a_model_is_described_as_by_the_fit() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m").display().to_string();
    let fitted = output(&format!("fit usarrests.csv --scale -k 3 -o {model}"));
    let text = output(&format!("inspect {model}"));
    let version = env!("CARGO_PKG_VERSION");
    let start = format!("{model}: model of karhunen {version}, fitted to 50 rows x 4 columns, f64 weights: ");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").starts_with(&start), "{text}");
    assert!(text.contains("\nweights: frequency, sum 50\ncentred and scaled; 3 of 4 components\n"), "{text}");
    let table =
        |text: &str| text[text.find("     variance").unwrap()..text.find("accuracy").unwrap()].to_owned();
    assert_eq!(table(&text), table(&fitted));
    let fitted = json("fit usarrests.csv --scale -k 3 --json=full");
    let found = json(&format!("inspect {model} --json=full"));
    for key in [
        "explained_variance",
        "components",
        "mean",
        "scale",
        "options",
        "solver",
        "residuals",
        "feature_names",
    ] {
        assert_eq!(found[key], fitted[key], "{key}");
    }
    assert_eq!(found["karhunen"], version);
    karhunen(&format!("inspect {model} --label x")).assert().code(2);
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = output(&format!("completions {shell}"));
        for word in ["karhunen", "reconstruct", "feature-weights"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    karhunen("completions tcsh").assert().code(2);
}
