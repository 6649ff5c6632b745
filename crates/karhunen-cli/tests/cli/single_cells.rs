//! Files of single cells: names, masks and normalisation, against scanpy.

use std::path::Path;

use karhunen_testkit::largest;
use serde_json::Value;

use crate::{json, karhunen, numbers, output};

const CELLS: &str = "../../golden/scanpy_cells.h5ad";

fn of_scanpy() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/scanpy.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn counts_in_a_file_give_the_components_of_scanpy_and_new_cells_their_scores() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let options = "--layer counts --log1p --mask highly_variable";
    let fitted = json(&format!(
        "fit {CELLS} -k 8 {options} --json -o {} --scores {}",
        path("m.model"),
        path("scores.csv")
    ));
    let expected = &of_scanpy()["cases"]["highly_variable"];
    let variances = numbers(&expected["variance"]);
    let errors =
        numbers(&fitted["explained_variance"]).into_iter().zip(&variances).map(|(a, b)| (a / b - 1.0).abs());
    assert!(largest(errors) < 1e-6);
    let scores = std::fs::read_to_string(path("scores.csv")).unwrap();
    let lines: Vec<&str> = scores.lines().collect();
    assert!(lines[0].starts_with("sample,PC1,") && lines[1].starts_with("CELL000-1,"), "{}", lines[1]);
    for (line, row) in lines[1..].iter().zip(expected["X_pca"].as_array().unwrap()) {
        let found = line.split(',').skip(1).map(|number| number.parse::<f64>().unwrap().abs());
        assert!(largest(found.zip(numbers(row)).map(|(a, b)| (a - b.abs()).abs())) < 1e-5);
    }
    let target = json(&format!("inspect {} --json", path("m.model")))["log1p"].as_f64().unwrap();
    let shown = output(&format!("inspect {}", path("m.model")));
    let line = format!("counts: divided by the sum of their row, times {target}, then ln(1 + x)");
    assert!(shown.lines().any(|shown| shown == line), "{shown}");
    // The model has the genes and the target of the normalisation.
    let again = output(&format!("transform {} {CELLS} --layer counts", path("m.model")));
    assert_eq!(again.trim_end(), scores.trim_end());
    let again = output(&format!("transform {} {CELLS} --layer raw", path("m.model")));
    assert_eq!(again.trim_end(), scores.trim_end());
}

#[test]
fn counts_in_a_zarr_store_give_what_counts_in_hdf5_do() {
    let store = "../../crates/karhunen-io/tests/data/zarr/cells_v3.zarr.zip";
    let options = "-k 8 --layer counts --log1p --mask highly_variable --json";
    let [found, expected] = [store, CELLS].map(|file| json(&format!("fit {file} {options}")));
    assert_eq!(numbers(&found["explained_variance"]), numbers(&expected["explained_variance"]));
    let text = output(&format!("fit {store} -k 2"));
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("AnnData Zarr, 150 rows x 110 columns"), "{text}");
    let refused =
        karhunen("fit ../../crates/karhunen-io/tests/data/zarr/tables_v2.zarr.zip -k 1").assert().failure();
    let text = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(text.contains("choose one with --array: `filled`"), "{text}");
}

#[test]
fn counts_in_a_folder_have_names() {
    let folder = "../../crates/karhunen-io/tests/data/single_cell/10x/integer_ids";
    let text = output(&format!("fit {folder} -k 1 --log1p=10000"));
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("Cell Ranger folder, 5 rows x 6 columns"), "{text}");
    assert!(text.contains("Gpr17"), "{text}");
}

#[test]
fn what_does_not_fit_is_refused_with_the_flag() {
    let refused = |arguments: &str| {
        let done = karhunen(arguments).assert().failure();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let text = refused(&format!("fit {CELLS} -k 1 --mask highly"));
    assert!(text.contains("--mask highly"), "{text}");
    let text = refused(&format!("fit {CELLS} -k 1 --layer count"));
    assert!(text.contains("--layer count") && text.contains("`counts`"), "{text}");
    let text = refused("fit usarrests.csv --mask x");
    assert!(text.contains("--mask does not apply to a text table"), "{text}");
    let text = refused("fit usarrests.csv --missing --log1p -k 1");
    assert!(text.contains("--log1p"), "{text}");
    let text = refused(&format!("fit {CELLS} -k 1 --log1p=0"));
    assert!(text.contains("give a positive number, such as 10000, or median"), "{text}");
}

#[test]
fn moments_of_another_normalisation_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, options) in [("a", "--log1p=40"), ("b", "--log1p=50"), ("c", ""), ("d", "--log1p=40")] {
        output(&format!("moments {CELLS} --layer counts {options} -q -o {}", path(name)));
    }
    for other in ["b", "c"] {
        let fit = format!("fit --from-moments {} {} -k 2", path("a"), path(other));
        let done = karhunen(&fit).assert().failure();
        let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(text.contains("normalised to 40, with ln(1 + x)"), "{text}");
    }
    output(&format!("fit --from-moments {} {} -k 2", path("a"), path("d")));
    assert_eq!(json(&format!("inspect {} --json", path("a")))["log1p"], 40.0);
    assert!(output(&format!("inspect {}", path("a"))).contains("times 40, then ln(1 + x)"));
    assert!(!output(&format!("inspect {}", path("c"))).contains("ln(1 + x)"));
    assert_eq!(json(&format!("inspect {} --json", path("c"))).get("log1p"), None);
}

#[test]
fn values_that_are_normalised_already_are_not_normalised_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    output(&format!("fit {CELLS} -k 2 --layer counts --log1p=40 -q -o {}", path("m")));
    for command in ["transform", "diagnose"] {
        let done = karhunen(&format!("{command} {} {CELLS}", path("m"))).assert().failure();
        let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(text.contains("is not a whole number, and the model normalises counts"), "{text}");
        assert!(text.contains("--layer") && text.contains("--log1p"), "{text}");
    }
    // Counts with fractions, which the user vouches for.
    std::fs::write(folder.path().join("f.csv"), "a,b,c\n0.5,2,1\n1,2.5,3\n4,1,0.5\n2,2,2.5\n").unwrap();
    output(&format!("fit {} -k 1 --log1p=4 -q -o {}", path("f.csv"), path("f.model")));
    karhunen(&format!("transform {} {}", path("f.model"), path("f.csv"))).assert().failure();
    output(&format!("transform {} {} --log1p=4", path("f.model"), path("f.csv")));
}

#[test]
fn a_page_of_normalised_counts_says_so_and_repeats_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for kernel in ["", "--kernel linear"] {
        output(&format!("fit {CELLS} -k 2 --layer counts --log1p=40 {kernel} -q -o {} --force", path("m")));
        output(&format!("report {} {CELLS} --layer counts -o {} --force", path("m"), path("rows.html")));
        output(&format!("report {} -o {} --force", path("m"), path("model.html")));
        for (page, words) in [("rows.html", "--layer counts --log1p=40"), ("model.html", "--log1p=40")] {
            let page = std::fs::read_to_string(path(page)).unwrap();
            assert_eq!(page.matches(words).count(), if words.contains("layer") { 2 } else { 1 }, "{words}");
            assert!(page.contains("divided by the sum of their row, multiplied by 40"));
            assert!(page.contains("karhunen.anndata.Cells("));
        }
    }
    let page = std::fs::read_to_string(path("rows.html")).unwrap();
    assert!(page.contains("layer=") && page.contains("log1p=40.0"));
}
