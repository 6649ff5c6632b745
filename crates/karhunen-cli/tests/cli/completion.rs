//! `complete`: fills by iterated PCA, with the values of missMDA, and by means.

use std::path::Path;

use serde_json::Value;

use crate::karhunen;

/// The filled table on the standard output, and the summary.
fn complete(arguments: &str) -> (String, String) {
    let done = karhunen(&format!("complete {arguments}")).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

fn refused(arguments: &str, code: i32) -> String {
    let done = karhunen(&format!("complete {arguments}")).assert().code(code);
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn numbers(text: &str) -> Vec<Vec<f64>> {
    let parse = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    text.lines().skip(1).map(|line| line.split(',').map(parse).collect()).collect()
}

#[test]
fn fills_agree_with_missmda_and_other_cells_stay() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let golden: Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("golden/missmda.json")).unwrap()).unwrap();
    let before = std::fs::read_to_string(root.join("examples/data/metabolite_missing.csv")).unwrap();
    for (case, options) in [(0, ""), (1, "--method em"), (2, "--no-scale")] {
        let case = &golden["cases"][case];
        assert_eq!(case["table"], "whole");
        let (text, summary) = complete(&format!("metabolite_missing.csv -k 2 {options}"));
        assert!(
            summary.contains("missing values filled") && summary.contains("by 2 components, in"),
            "{summary}"
        );
        let (incomplete, filled) = (numbers(&before), numbers(&text));
        let (n, p) = (incomplete.len(), incomplete[0].len());
        let missing =
            (0..p).flat_map(|j| (0..n).map(move |i| (i, j))).filter(|&(i, j)| incomplete[i][j].is_nan());
        for ((i, j), expected) in missing.zip(case["filled"].as_array().unwrap()) {
            assert!((filled[i][j] - expected.as_f64().unwrap()).abs() < 1e-9, "{options} {i} {j}");
        }
        for (cell, filled) in before.split([',', '\n']).zip(text.split([',', '\n'])) {
            assert!(cell == filled || cell.parse::<f64>().is_err(), "{cell} {filled}");
        }
    }
}

#[test]
fn the_number_of_components_is_chosen_and_means_have_none() {
    let (_, summary) = complete("metabolite_missing.csv --most 3");
    assert!(summary.contains("chosen by generalized cross-validation"), "{summary}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "a,b,w\n1,5,1\n3,,1\n,9,2\n").unwrap();
    let (text, summary) = complete(&format!("{} --method mean", path.display()));
    assert_eq!(text, "a,b,w\n1,5,1\n3,7,1\n2,9,2\n");
    assert!(
        summary.contains("2 missing values filled") && summary.contains("by the means of the columns"),
        "{summary}"
    );
    let filled = folder.path().join("filled.csv");
    let (text, _) =
        complete(&format!("{} --method mean --weights w -o {} -q", path.display(), filled.display()));
    assert!(text.is_empty());
    let rows = numbers(&std::fs::read_to_string(&filled).unwrap());
    assert!((rows[1][1] - 23.0 / 3.0).abs() < 1e-14 && rows[2][0] == 2.0);
}

#[test]
fn idle_options_and_unsuitable_numbers_are_refused() {
    for (arguments, code, told) in [
        ("metabolite_missing.csv --method mean -k 2", 2, "-k has no effect with --method mean"),
        ("metabolite_missing.csv --method em --ridge 2", 2, "--ridge has no effect with --method em"),
        ("metabolite_missing.csv -k 2 --most 3", 2, "cannot be used with"),
        ("metabolite_missing.csv -k 60", 2, "at most 51 components"),
        ("metabolite_missing.csv --weighting importance", 2, "--weighting has no effect"),
        ("none.csv", 4, "none.csv"),
        ("metabolite_missing.csv -o metabolite_missing.csv", 2, "metabolite_missing.csv"),
    ] {
        let message = refused(arguments, code);
        assert!(message.contains(told), "{arguments}: {message}");
    }
    let (_, told) = complete("metabolite_missing.csv -k 2 --max-iter 3");
    assert!(told.contains("stopped after 3 iterations"), "{told}");
}
