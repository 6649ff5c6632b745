//! `select`: the number of components by all rules.

use serde_json::Value;

use crate::karhunen;

fn run(arguments: &str) -> String {
    let done = karhunen(arguments).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

fn refused(arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).assert().code(code);
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn rules(text: &str) -> (Value, Vec<(String, Option<u64>)>) {
    let found: Value = serde_json::from_str(text).unwrap();
    let rules = found["rules"].as_array().unwrap().iter();
    let rules =
        rules.map(|row| (row["rule"].as_str().unwrap().to_owned(), row["n_components"].as_u64())).collect();
    (found, rules)
}

#[test]
fn a_table_has_all_rules_and_parallel_analysis() {
    let text = run("select wine.csv --label class --scale");
    for told in ["parallel-permutation", "kaiser", "bai-ng-pc3", "178 observations", "suggested", "sampling"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (found, table) = rules(&run("select wine.csv --label class --scale --json"));
    assert_eq!(table[0], ("parallel-permutation".to_owned(), Some(3)));
    assert_eq!(table[1], ("kaiser".to_owned(), Some(3)));
    assert_eq!(found["explained_variance"].as_array().unwrap().len(), 13);
    let first = &found["rules"][0];
    for c in 0..13 {
        let exceeds = first["values"][c].as_f64() > first["thresholds"][c].as_f64();
        assert!(exceeds == (c < 3) || c > 3);
    }
    let groups = found["groups"].as_array().unwrap();
    assert!(!groups.is_empty() && groups.iter().all(|group| group[0].as_u64() < group[1].as_u64()));
}

#[test]
fn a_model_of_all_components_has_the_same_rules() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.model");
    let model = model.display();
    karhunen(&format!("fit wine.csv --label class --scale -k all -q -o {model}")).assert().success();
    let (_, of_table) = rules(&run("select wine.csv --label class --scale --no-parallel --json"));
    let (_, of_model) = rules(&run(&format!("select {model} --json")));
    assert_eq!(of_table, of_model);
    let (found, _) = rules(&run(&format!("select {model} --observations 20 --json")));
    assert_eq!(found["n_observations"], 20.0);
    let few = rules(&run(&format!("select {model} --observations 20 --json"))).1;
    assert_ne!(few, of_model);
}

#[test]
fn options_of_parallel_analysis_change_it() {
    let threshold = |options: &str| {
        let text = run(&format!("select wine.csv --label class --scale --draws 20 {options} --json"));
        rules(&text).0["rules"][0]["thresholds"][0].as_f64().unwrap()
    };
    let usual = threshold("");
    for options in ["--null normal", "--level mean", "--level 0.5", "--seed 7"] {
        assert_ne!(threshold(options), usual, "{options}");
    }
    assert_eq!(threshold("--threads 1"), usual);
    let pareto = run("select wine.csv --label class --scale=pareto --no-parallel --json");
    let plain = run("select wine.csv --label class --no-parallel --json");
    assert_ne!(rules(&pareto).0["explained_variance"], rules(&plain).0["explained_variance"]);
    let weighted = run(
        "select midwest_counties.csv --weights poptotal --weighting importance --label county --label state --json --draws 5",
    );
    assert!(rules(&weighted).0["n_observations"].as_f64().unwrap() < 437.0);
}

#[test]
fn cross_validation_adds_its_rules() {
    let arguments = "select wine.csv --label class --scale --no-parallel --cross-validate";
    let (found, table) = rules(&run(&format!("{arguments} --json")));
    let names: Vec<&str> = table.iter().take(2).map(|row| &row.0[..]).collect();
    assert_eq!(names, ["cross-validation", "cross-validation-1se"]);
    let number = table[0].1.unwrap();
    assert!((2..=10).contains(&number) && (2..=number).contains(&table[1].1.unwrap()), "{table:?}");
    assert_eq!(found["rules"][0]["range"], serde_json::json!([0, 10]));
    // `karhunen cross-validate` finds the same errors.
    let options = "cross-validate wine.csv --label class --scale --missing=ppca -k 1-10 --json";
    let other: Value = serde_json::from_str(&run(options)).unwrap();
    assert_eq!(found["rules"][0]["values"], other["rules"][0]["values"]);
    let value = |options: &str| {
        rules(&run(&format!("{arguments} -k 3 {options} --json"))).0["rules"][0]["values"][1].as_f64()
    };
    for options in ["--folds 7", "--seed 1", "--weights alcohol"] {
        assert_ne!(value(options), value(""), "{options}");
    }
    let few = rules(&run(&format!("{arguments} -k 1 --json"))).0;
    assert_eq!(few["rules"][0]["at_edge"], true);
    for (options, told) in [
        ("--folds 7", "--cross-validate"),
        ("--no-parallel --seed 3", "--seed has no effect"),
        ("--cross-validate --folds 1", "at least two folds"),
    ] {
        let message = refused(&format!("select wine.csv --label class {options}"), 2);
        assert!(message.contains(told), "{options}: {message}");
    }
}

#[test]
fn a_table_with_missing_values_has_parallel_analysis() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing.csv");
    // Every eleventh entry is missing.
    let wine = std::fs::read_to_string(crate::examples().join("wine.csv")).unwrap();
    let mut entry = 0;
    let lines: Vec<String> = wine
        .lines()
        .enumerate()
        .map(|(row, line)| {
            let cells = line.split(',').enumerate().map(|(column, cell)| {
                entry += 1;
                if row > 0 && column < 13 && entry % 11 == 0 { "" } else { cell }
            });
            cells.collect::<Vec<_>>().join(",")
        })
        .collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let path = path.display();
    let text = run(&format!("select {path} --label class --scale --draws 40"));
    assert!(
        text.contains("values are missing") && text.contains("parallel-permutation           3"),
        "{text}"
    );
    assert!(!text.contains("kaiser") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (found, table) = rules(&run(&format!("select {path} --label class --scale --draws 40 --json")));
    assert_eq!(table, [("parallel-permutation".to_owned(), Some(3))]);
    assert_eq!(found["n_features"], 13);
}

#[test]
fn what_has_no_rules_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    karhunen(&format!("fit wine.csv --label class -k 2 -q -o {}", path("m.model"))).assert().success();
    karhunen(&format!("fit wine.csv --label class --kernel rbf -k 2 -q -o {}", path("kernel.model")))
        .assert()
        .success();
    karhunen(&format!("fit metabolite_missing.csv --missing -k 2 -q -o {}", path("missing.model")))
        .assert()
        .success();
    for (arguments, code, told) in [
        (format!("select {}", path("kernel.model")), 3, "is a model with a kernel"),
        (format!("select {}", path("missing.model")), 3, "karhunen cross-validate"),
        (format!("select {} --scale", path("m.model")), 2, "--scale has no effect on a model"),
        (format!("select {} --draws 5", path("m.model")), 2, "--draws has no effect on a model"),
        (format!("select {} --observations 1", path("m.model")), 2, "at least 2 observations"),
        (
            "select wine.csv --label class --draws 2 --observations 1e18".to_owned(),
            6,
            "a random table of shape",
        ),
        ("select metabolite_missing.csv --no-parallel".to_owned(), 3, "--cross-validate choose"),
        (
            "select metabolite_missing.csv --no-parallel --cross-validate --folds 2 -k 1 --observations 9"
                .to_owned(),
            2,
            "--observations 9 has no effect",
        ),
        ("select metabolite_missing.csv --scale=range".to_owned(), 2, "--scale"),
        ("select wine.csv --label class --no-center".to_owned(), 2, "center"),
        ("select wine.csv --no-parallel --draws 5".to_owned(), 2, "cannot be used with"),
        ("select none.csv".to_owned(), 4, "none.csv"),
    ] {
        let message = refused(&arguments, code);
        assert!(message.contains(told), "{arguments}: {message}");
    }
    let (_, few) = rules(&run(&format!("select {} --json", path("m.model"))));
    assert!(few.iter().all(|(_, n)| n.is_some()), "{few:?}");
    let iterated = format!("fit wine.csv --label class -k 2 --solver block-krylov -q -o {}", path("i.model"));
    karhunen(&iterated).assert().success();
    let (_, few) = rules(&run(&format!("select {} --json", path("i.model"))));
    assert!(few.iter().any(|(_, n)| n.is_none()), "{few:?}");
}
