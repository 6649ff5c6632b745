//! MCA and FAMD from the file to the model and back, against FactoMineR.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::{assert_close, json, karhunen, numbers, output};

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/factominer_categories.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// FactoMineR prints 15 digits; both have rounding errors of a decomposition.
const AGREEMENT: f64 = 1e-9;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

/// The message of a command that must fail, without its `error: `.
fn refusal(arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).assert().code(code).stdout("");
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    text.strip_prefix("error: ").unwrap_or_else(|| panic!("{text}")).trim_end().to_owned()
}

/// Writes a table of the golden file, with a column of weights.
fn write_table(folder: &TempDir, table: &Value, columns: &[&str], weights: &Value) -> PathBuf {
    let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut text = format!("{},weight\n", columns.join(","));
    for (i, weight) in weights.as_array().unwrap().iter().enumerate() {
        let cells: Vec<String> = columns.iter().map(|name| cell(&table[*name][i])).collect();
        text.push_str(&format!("{},{weight}\n", cells.join(",")));
    }
    let path = folder.path().join("table.csv");
    std::fs::write(&path, text).unwrap();
    path
}

/// Compares coordinates and v-tests, up to signs, contributions and squared cosines of categories of these names.
fn assert_categories(found: &Value, expected: &Value) {
    let names: Vec<&str> =
        expected["categories"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let found: Vec<&Value> = names
        .iter()
        .map(|name| {
            let all = found["categories"].as_array().unwrap();
            let is_so =
                |category: &&Value| category["name"].as_str().unwrap().split_once('=').unwrap().1 == *name;
            all.iter().find(is_so).unwrap()
        })
        .collect();
    let k = expected["coord"][0].as_array().unwrap().len();
    let column =
        |rows: &[Value], c: usize| rows.iter().map(|row| row[c].as_f64().unwrap()).collect::<Vec<_>>();
    for c in 0..k {
        let of = |name: &str| found.iter().map(|row| row[name][c].as_f64().unwrap()).collect::<Vec<_>>();
        let expected_of = |name: &str| column(expected[name].as_array().unwrap(), c);
        let products = of("coordinates").iter().zip(expected_of("coord")).map(|(a, b)| a * b).sum::<f64>();
        let signed = |values: Vec<f64>| values.into_iter().map(|x| x * products.signum()).collect::<Vec<_>>();
        assert_close(&signed(of("coordinates")), &expected_of("coord"), AGREEMENT);
        assert_close(&signed(of("v_tests")), &expected_of("v_test"), AGREEMENT);
        assert_close(&of("contributions"), &expected_of("contrib"), AGREEMENT);
        assert_close(&of("cos2"), &expected_of("cos2"), AGREEMENT);
    }
}

#[test]
fn mca_of_the_titanic_agrees_with_factominer() {
    let expected = &golden()["titanic"]["weighted"];
    let found = json("fit titanic.csv --mca --weights passengers --json");
    assert_close(&numbers(&found["explained_variance"]), &numbers(&expected["eigenvalues"]), AGREEMENT);
    assert_categories(&found, expected);
    let eta2: Vec<f64> =
        found["variables"].as_array().unwrap().iter().flat_map(|v| numbers(&v["eta2"])).collect();
    let expected_eta2: Vec<f64> = expected["eta2"].as_array().unwrap().iter().flat_map(numbers).collect();
    assert_close(&eta2, &expected_eta2, AGREEMENT);
    assert!((numbers(&found["corrected"]["greenacre"])[0] - 0.767_780_563).abs() < 1e-8);
}

#[test]
fn famd_of_a_file_agrees_with_factominer() {
    let (golden, folder) = (golden(), folder());
    let cars = &golden["mtcars"];
    let columns = ["mpg", "disp", "hp", "wt", "cyl", "gear", "am"];
    let path = write_table(&folder, &cars["table"], &columns, &cars["weights"]);
    for (case, options) in [("plain", "--label weight"), ("weighted", "--weights weight")] {
        let found = json(&format!("fit {} --famd --json -k 3 {options}", path.display()));
        let expected = &cars[case];
        assert_close(
            &numbers(&found["explained_variance"]),
            &numbers(&expected["eigenvalues"])[..3],
            AGREEMENT,
        );
        assert_categories(&found, expected);
        let squares = |value: &Value| numbers(value).iter().map(|x| x * x).collect::<Vec<_>>();
        for (found, expected) in
            found["numbers"].as_array().unwrap().iter().zip(expected["number_cor"].as_array().unwrap())
        {
            assert_close(&squares(&found["correlations"]), &squares(expected), AGREEMENT);
        }
    }
}

#[test]
fn a_model_encodes_new_rows_and_is_described() {
    let folder = folder();
    let (model, scores, again) = (at(&folder, "m"), at(&folder, "s.csv"), at(&folder, "a.csv"));
    let categories = at(&folder, "c.csv");
    let fit = format!("fit titanic.csv --mca --weights passengers -q -o {model} --scores {scores}");
    karhunen(&format!("{fit} --categories {categories}")).assert().success();
    output(&format!("transform {model} titanic.csv -o {again}"));
    assert_eq!(std::fs::read_to_string(&scores).unwrap(), std::fs::read_to_string(&again).unwrap());
    let table = std::fs::read_to_string(&categories).unwrap();
    assert!(table.starts_with("category,share,coordinate_PC1,"), "{table}");
    assert_eq!(table.lines().count(), 11);
    let described = output(&format!("inspect {model}")).split_whitespace().collect::<Vec<_>>().join(" ");
    for text in ["fitted to 24 rows x 4 columns", "sum 2201", "sex=Female", "Greenacre: PC1 76.78%"] {
        assert!(described.contains(text), "{text}: {described}");
    }
    let of_fit = json("fit titanic.csv --mca --weights passengers --json");
    let of_file = json(&format!("inspect {model} --json"));
    assert_eq!(of_fit["categories"], of_file["categories"]);

    // Columns in another order are matched by name.
    let text = std::fs::read_to_string(crate::examples().join("titanic.csv")).unwrap();
    let swapped: String = text
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .map(|cells| format!("{},{},{},{}\n", cells[3], cells[1], cells[0], cells[2]))
        .collect();
    let new = at(&folder, "new.csv");
    std::fs::write(&new, &swapped).unwrap();
    output(&format!("transform {model} {new} -o {again} --force"));
    assert_eq!(std::fs::read_to_string(&scores).unwrap(), std::fs::read_to_string(&again).unwrap());

    // A category that no row of the fit had is named with its column and row.
    std::fs::write(&new, swapped.replacen("Yes", "Perhaps", 1)).unwrap();
    assert_eq!(
        refusal(&format!("transform {model} {new}"), 3),
        format!(
            "{new}: column `survived`: row 11 is `Perhaps`, which no row of the fit was; its categories are `No`, `Yes`"
        )
    );
    std::fs::write(&new, "survived,sex,class,age\n").unwrap();
    assert_eq!(output(&format!("transform {model} {new}")).lines().count(), 1);
    std::fs::write(&new, "survived,sex,class\nNo,Male,3rd\n").unwrap();
    let lacks = refusal(&format!("transform {model} {new}"), 3);
    assert!(lacks.contains("lacks `age`, which the model was fitted to"), "{lacks}");

    let page = format!("titanic.csv -o {}", at(&folder, "page.html"));
    for (command, rest) in [
        ("diagnose", "titanic.csv"),
        ("report", &page),
        ("reconstruct", "titanic.csv"),
        ("impute", "titanic.csv"),
        ("select", ""),
        ("rotate", ""),
    ] {
        let message = refusal(&format!("{command} {model} {rest}"), 3);
        assert!(message.contains("is a model of categories"), "{command}: {message}");
    }
}

#[test]
fn cells_decide_what_is_a_category() {
    let folder = folder();
    let (path, model) = (at(&folder, "t.csv"), at(&folder, "m"));
    let names = |found: &Value| {
        let categories = found["categories"].as_array().unwrap();
        categories.iter().map(|category| category["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    // Integers are categories of MCA, sorted by value; empty cells are missing; the first column names the rows.
    std::fs::write(&path, "who,n,answer\nann,10,yes\nbob,9,\ncid,9,no\ndan,10,NA\neve,2,yes\n").unwrap();
    let found = json(&format!("fit {path} --mca --json -o {model}"));
    assert_eq!(names(&found), ["n=2", "n=9", "n=10", "answer=no", "answer=yes", "answer=missing"]);
    assert!(found["notes"].to_string().contains("names the rows"), "{}", found["notes"]);
    let scores = output(&format!("transform {model} {path}"));
    assert!(scores.starts_with("sample,PC1") && scores.contains("\nann,"), "{scores}");
    // Numbers are numbers of FAMD.
    let found = json(&format!("fit {path} --famd --json"));
    assert_eq!(names(&found), ["answer=no", "answer=yes", "answer=missing"]);
    assert_eq!(found["numbers"][0]["name"], "n");
    // A table of text alone has names in its first line; without them, columns are numbered.
    std::fs::write(&path, "a,b\nx,u\ny,v\nx,v\ny,u\nx,u\n").unwrap();
    assert_eq!(names(&json(&format!("fit {path} --mca --json"))), ["a=x", "a=y", "b=u", "b=v"]);
    std::fs::write(&path, "x,u\ny,v\nx,v\ny,u\nx,u\n").unwrap();
    let bare = json(&format!("fit {path} --mca --json --header no -o {model} --force"));
    assert_eq!(names(&bare), ["x1=x", "x1=y", "x2=u", "x2=v"]);
    assert_eq!(output(&format!("transform {model} {path} --header no")).lines().count(), 6);
}

#[test]
fn refusals_say_what_to_do() {
    let folder = folder();
    let (path, model) = (at(&folder, "t.csv"), at(&folder, "m"));
    // A plain fit of text names the analyses of categories.
    let plain = refusal("fit titanic.csv", 3);
    let advice = "or analyse categories with --mca, categories and numbers with --famd";
    assert!(plain.ends_with(advice), "{plain}");
    for (table, options, code, message) in [
        ("a,b\nx,1\ny,2\nx,\ny,4\n", "--famd", 3, "column `b`: row 3 is missing; complete the numbers first"),
        (
            "a,b\nx,u\ny,v\nx,v\n",
            "--famd",
            3,
            "all columns hold categories; use multiple correspondence analysis (MCA)",
        ),
        ("a,b\n1,2\n3,4\n2,2\n", "--famd", 3, "all columns hold numbers; use PCA of scaled columns"),
        ("a,b\nx,u\nx,u\nx,u\n", "--mca", 3, "all rows are alike: there is nothing to analyse"),
        ("a,b\nx,u\ny,v\nx,v\n", "--mca -k 9", 2, "-k 9: categories and rows have 2 dimensions"),
        ("a,b\nx,u\ny\n", "--mca", 3, "line 3: 1 field where 2 are expected"),
        ("a,b\n", "--mca", 3, "hold no values"),
        ("a,w\nx,1\ny,-2\nx,2\n", "--mca --weights w", 3, "the weight of row 2 is -2"),
        ("a,w\nx,1\ny,z\nx,2\n", "--mca --weights w", 3, "line 3: column 2 (`w`): `z` is not a weight"),
        ("a,b\nx,u\ny,v\n", "--mca --weights nobody", 2, "there is no such column"),
        ("a,b\nx,u\ny,v\n", "--mca --layer y", 2, "--layer does not apply to a text table"),
    ] {
        std::fs::write(&path, table).unwrap();
        let found = refusal(&format!("fit {path} {options}"), code);
        assert!(found.contains(message), "{options}: {found}");
    }
    let binary = Path::new(env!("CARGO_MANIFEST_DIR")).join("../karhunen-io/tests/data/binary/float64.npy");
    let found = refusal(&format!("fit {} --mca", binary.display()), 3);
    assert!(found.contains("holds numbers alone; tables of categories are read from CSV"), "{found}");
    // New rows of other kinds than in the fit.
    std::fs::write(&path, "a,b\nx,1\ny,2\nx,5\ny,4\n").unwrap();
    karhunen(&format!("fit {path} --famd -q -o {model}")).assert().success();
    std::fs::write(&path, "a,b\nx,one\n").unwrap();
    let found = refusal(&format!("transform {model} {path}"), 3);
    assert!(found.contains("line 2: column 2 (`b`): `one` is not a number"), "{found}");
    std::fs::write(&path, "a,b\n7,1\n").unwrap();
    let found = refusal(&format!("transform {model} {path}"), 3);
    assert!(found.contains("column `a`: row 1 is `7`, which no row of the fit was"), "{found}");
    assert!(refusal(&format!("transform {model} {path} --unshrunk"), 2).contains("--unshrunk has no effect"));
}

#[test]
fn ids_are_not_categories() {
    let folder = folder();
    let path = at(&folder, "t.csv");
    let rows: String = (0..60).map(|i| format!("{},{},id{}\n", i % 3, i % 4, i / 2)).collect();
    std::fs::write(&path, format!("a,b,id\n{rows}")).unwrap();
    let done = karhunen(&format!("fit {path} --mca -q")).assert().success();
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(!text.contains("categories in"), "{text}");
    let rows: String = (0..60).map(|i| format!("{},{},id{i}\n", i % 3, i % 4)).collect();
    std::fs::write(&path, format!("a,b,id\n{rows}")).unwrap();
    let done = karhunen(&format!("fit {path} --mca -q")).assert().success();
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(
        text.contains("column `id` has 60 categories in 60 rows: ids and measurements are not categories"),
        "{text}"
    );
}

#[test]
fn rows_of_a_table_without_names_are_all_transformed() {
    let folder = folder();
    let (data, model) = (at(&folder, "a.csv"), at(&folder, "a.model"));
    let rows = ["red,big", "red,small", "blue,big", "blue,small", "green,big", "red,big"];
    std::fs::write(&data, rows.join("\n")).unwrap();
    karhunen(&format!("fit {data} --mca --header=no -o {model} -q")).assert().success();
    let found = refusal(&format!("transform {model} {data}"), 3);
    assert!(found.contains("`red, big` may name the columns or be the first row"), "{found}");
    let scores = output(&format!("transform {model} {data} --header no"));
    assert_eq!(scores.lines().count(), 1 + rows.len(), "{scores}");
}

#[test]
fn a_text_is_not_the_category_of_missing_values() {
    let folder = folder();
    let (data, new, model) = (at(&folder, "a.csv"), at(&folder, "new.csv"), at(&folder, "a.model"));
    std::fs::write(&data, "a,b\nx,u\ny,u\n,v\nx,v\ny,v\n").unwrap();
    std::fs::write(&new, "a,b\nx,u\nmissing,u\n").unwrap();
    karhunen(&format!("fit {data} --mca -o {model} -q")).assert().success();
    let found = refusal(&format!("transform {model} {new}"), 3);
    assert!(found.contains("column `a`: row 2 is `missing`, which no row of the fit was"), "{found}");
}

#[test]
fn other_tables_are_not_overwritten_and_no_option_is_ignored() {
    let folder = folder();
    let (data, budget) = (at(&folder, "a.csv"), at(&folder, "budget.csv"));
    std::fs::write(&data, "a,b\nx,u\ny,u\nx,v\n").unwrap();
    std::fs::write(&budget, "category,share\nfood,0.3\n").unwrap();
    let found = refusal(&format!("fit {data} --mca --categories {budget}"), 2);
    assert!(found.contains("--force"), "{found}");
    assert_eq!(std::fs::read_to_string(&budget).unwrap(), "category,share\nfood,0.3\n");
    let found = refusal(&format!("fit {data} --mca --log1p"), 2);
    assert_eq!(found, "--log1p does not go with --mca: it is for counts, not for categories; leave it out");
}
