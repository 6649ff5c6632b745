//! Missing values: from the file to the completed table and to predictions.

use tempfile::TempDir;

use crate::{assert_close, examples, json, karhunen};

/// A folder with files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// Standard output of a command that is run in `folder` and must succeed.
fn run(folder: &TempDir, arguments: &str) -> String {
    let done = karhunen(arguments).current_dir(folder.path()).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

/// The message of a command that is run in `folder` and must fail.
fn refusal(folder: &TempDir, arguments: &str, code: i32) -> String {
    let done = karhunen(arguments).current_dir(folder.path()).assert().code(code).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn read(folder: &TempDir, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).unwrap()
}

/// The wine table without its labels, and a copy with every eleventh value missing.
fn wine() -> (Vec<Vec<String>>, String) {
    let text = std::fs::read_to_string(examples().join("wine.csv")).unwrap();
    let whole: Vec<Vec<String>> =
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let mut with_missing = String::new();
    for (i, row) in whole.iter().enumerate() {
        let cells = row.iter().enumerate().map(|(j, cell)| {
            let gone = i > 0 && whole[0][j] != "class" && (i * row.len() + j) % 11 == 0;
            if gone { "" } else { cell.as_str() }
        });
        with_missing += &cells.collect::<Vec<_>>().join(",");
        with_missing.push('\n');
    }
    (whole, with_missing)
}

/// Scores of fitted rows agree to the single precision of the covariances in the model.
const SINGLE: f64 = 1e-7;

fn assert_same_scores(found: &str, expected: &str) {
    let (found, expected) = (crate::parse_csv(found), crate::parse_csv(expected));
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(&expected) {
        assert_close(a, b, SINGLE);
    }
}

const RATINGS: &str = "user,item,rating\nann,Heat,4\nbob,Heat,3\nann,Alien,5\nbob,Alien,2\ncid,Alien,4\n\
                       cid,\"Up, Up\",1\nann,\"Up, Up\",3\ndan,Heat,5\ndan,Alien,5\n";

#[test]
fn a_table_is_filled_and_keeps_all_else() {
    let (whole, with_missing) = wine();
    let folder = folder(&[("t.csv", &with_missing)]);
    run(&folder, "fit t.csv --missing -k 5 --label class -q -o m");
    let filled = run(&folder, "impute m t.csv --label class");
    let (mut squares, mut spread) = (0.0, 0.0);
    for j in (0..whole[0].len()).filter(|j| whole[0][*j] != "class") {
        let truth: Vec<f64> = whole[1..].iter().map(|row| row[j].parse().unwrap()).collect();
        let mean = truth.iter().sum::<f64>() / truth.len() as f64;
        let variance = truth.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / truth.len() as f64;
        for (i, (line, before)) in filled.lines().zip(with_missing.lines()).enumerate().skip(1) {
            let cell = |line: &str| line.split(',').nth(j).unwrap().to_owned();
            let (found, before) = (cell(line), cell(before));
            if before.is_empty() {
                squares += (found.parse::<f64>().unwrap() - truth[i - 1]).powi(2) / variance;
                spread += (mean - truth[i - 1]).powi(2) / variance;
            } else {
                assert_eq!(found, before, "line {i}, column {j}");
            }
        }
    }
    assert!(squares < 0.8 * spread, "{squares} {spread}");
    assert_eq!(filled.lines().count(), whole.len());
    // A separate output file, and the message about it.
    let done = karhunen("impute m t.csv -o f.csv").current_dir(folder.path()).assert().success().stdout("");
    let said = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("f.csv: ") && said.contains(" missing values filled ("), "{said}");
    assert_eq!(read(&folder, "f.csv"), filled);
}

#[test]
fn a_fit_says_what_it_did_and_inspect_repeats_it() {
    let (_, with_missing) = wine();
    let folder = folder(&[("t.csv", &with_missing)]);
    let fitted = run(&folder, "fit t.csv --missing -k 3 --label class -o m --scores s.csv --loadings l.csv");
    for said in [
        "t.csv: CSV, 178 rows x 13 columns, f64; ",
        "`class` excluded",
        "method    vb-full: variances are learned",
        "stopped   after ",
        "error     RMSE ",
        "written   loadings to l.csv, model to m, scores to s.csv",
    ] {
        assert!(fitted.contains(said), "{said}\n{fitted}");
    }
    let inspected = run(&folder, "inspect m");
    assert!(inspected.starts_with("m: model of karhunen "), "{inspected}");
    let table = |text: &str| {
        text.lines().filter(|line| line.starts_with("PC")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(table(&fitted).len(), 3);
    assert_eq!(table(&fitted), table(&inspected));
    assert_same_scores(&run(&folder, "transform m t.csv"), &read(&folder, "s.csv"));
    let summary: serde_json::Value = serde_json::from_str(&run(&folder, "inspect m --json=full")).unwrap();
    assert_eq!(summary["method"], "vb-full");
    assert_eq!(summary["components"].as_array().unwrap().len(), 3);
    assert_eq!(summary["trace"].as_array().unwrap().len() as u64, summary["n_iter"].as_u64().unwrap());
}

#[test]
fn a_complete_table_fits_as_pca_does() {
    let whole = json("fit usarrests.csv -k 2 --json=full");
    let with_missing = json("fit usarrests.csv -k 2 --missing=em --tol 1e-12 --json=full");
    for key in ["explained_variance", "singular_values", "mean"] {
        let numbers = |value: &serde_json::Value| crate::numbers(&value[key]);
        assert_close(&numbers(&with_missing), &numbers(&whole), 1e-6);
    }
}

#[test]
fn ratings_become_predictions_with_errors() {
    let folder = folder(&[
        ("r.csv", RATINGS),
        ("p.csv", "user,item\nbob,\"Up, Up\"\n\nann,Heat\n"),
        ("unknown.csv", "user,item\nann,Heat\n\neve,Heat\nann,Jaws\n"),
    ]);
    let fitted = run(&folder, "fit r.csv --triples user,item,rating -k 1 --missing=ppca -o m");
    assert!(
        fitted.starts_with("r.csv: text triples, 4 rows x 3 columns, f32; 9 entries observed (75.00%),"),
        "{fitted}"
    );
    let predicted = run(&folder, "predict m p.csv");
    let lines: Vec<&str> = predicted.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], "user,item,value,std");
    assert!(lines[1].starts_with("bob,\"Up, Up\",") && lines[2].starts_with("ann,Heat,"), "{predicted}");
    let deviation =
        |text: &str| text.lines().nth(2).unwrap().rsplit_once(',').unwrap().1.parse::<f64>().unwrap();
    assert!(deviation(&predicted) > deviation(&run(&folder, "predict m p.csv --noise-free")));
    assert_eq!(
        refusal(&folder, "predict m unknown.csv", 3),
        "error: unknown.csv: line 4: the model does not know the user `eve`; drop the line, or use --unknown nan\n"
    );
    let done = karhunen("predict m unknown.csv --unknown nan").current_dir(folder.path()).assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(text.contains("\neve,Heat,NaN,NaN\nann,Jaws,NaN,NaN\n"), "{text}");
    done.stderr("note: 2 of 3 pairs have an id that the model does not know: NaN\n");
    // Columns by number, and another transform of the fitted rows.
    assert_eq!(run(&folder, "predict m p.csv --pairs 1,2 --header"), predicted);
    let scores = run(&folder, "transform m r.csv");
    assert_eq!(
        scores.lines().map(|line| line.split(',').next().unwrap()).collect::<Vec<_>>(),
        ["user", "ann", "bob", "cid", "dan"]
    );
    let inspected = run(&folder, "inspect m");
    assert!(inspected.contains("triples: `user` by rows, `item` by columns, of `rating`"), "{inspected}");
}

#[test]
fn ratings_that_repeat_are_named_or_averaged() {
    let folder = folder(&[("r.csv", &format!("{RATINGS}\nann,Heat,2\n"))]);
    assert_eq!(
        refusal(&folder, "fit r.csv --triples user,item,rating", 3),
        "error: r.csv: line 12: user `ann` has item `Heat` twice: here and on line 2; give each pair once, or average \
         them with --duplicates average\n"
    );
    run(&folder, "fit r.csv --triples user,item,rating --duplicates average");
}

#[test]
fn fits_with_the_same_seed_are_the_same_for_all_threads() {
    let folder = folder(&[("r.csv", RATINGS)]);
    let scores = |options: &str| {
        run(
            &folder,
            &format!("fit r.csv --triples user,item,rating -k 2 --missing=ridge -q --scores - {options}"),
        )
    };
    assert_eq!(scores("--threads 1"), scores("--threads 2"));
    assert_ne!(scores("--seed 1"), scores("--regularization 2"));
}

#[test]
fn a_matrix_market_file_holds_what_was_observed() {
    let matrix =
        "%%MatrixMarket matrix coordinate real general\n3 2 5\n1 1 0\n1 2 1\n2 1 2\n3 1 -1\n3 2 0.5\n";
    let folder = folder(&[("t.mtx", matrix), ("p.csv", "row,column\n2,2\n")]);
    let fitted = run(&folder, "fit t.mtx --missing=ppca -k 1 -o m");
    assert!(fitted.contains("5 entries observed (83.33%)"), "{fitted}");
    assert!(run(&folder, "predict m p.csv").starts_with("row,column,value,std\n2,2,"));
    let filled = run(&folder, "impute m t.mtx");
    let lines: Vec<&str> = filled.lines().collect();
    assert_eq!((lines[0], lines[1], lines[3]), ("x1,x2", "0,1", "-1,0.5"));
}

#[test]
fn columns_of_new_rows_may_be_missing_but_not_unknown() {
    let (_, with_missing) = wine();
    let folder = folder(&[
        ("t.csv", &with_missing),
        ("less.csv", "proline,ash\n1000,2.3\n,2\n"),
        ("more.csv", "ash,zinc\n1,2\n"),
    ]);
    run(&folder, "fit t.csv --missing -k 2 --label class -q -o m");
    assert_eq!(run(&folder, "transform m less.csv").lines().count(), 3);
    assert!(run(&folder, "impute m less.csv").starts_with("proline,ash\n1000,2.3\n"));
    assert_eq!(
        refusal(&folder, "transform m more.csv", 3),
        "error: more.csv: has columns that the model does not have (`zinc`); exclude non-features with \
         --label\n"
    );
    let rebuilt = run(&folder, "reconstruct m less.csv");
    assert_eq!(rebuilt.lines().next().unwrap().split(',').count(), 13);
}

#[test]
fn scores_reconstruct_to_the_same_as_their_rows() {
    let (_, with_missing) = wine();
    let folder = folder(&[("t.csv", &with_missing)]);
    run(&folder, "fit t.csv --missing -k 2 --label class -q -o m --scores s.csv --whiten");
    let rows = |text: String| crate::parse_csv(&text);
    let (from_rows, from_scores) =
        (rows(run(&folder, "reconstruct m t.csv")), rows(run(&folder, "reconstruct m s.csv --whiten")));
    for (a, b) in from_rows.iter().zip(&from_scores) {
        assert_close(a, b, SINGLE);
    }
}

#[test]
fn rows_with_a_level_of_their_own() {
    // Rank one plus row offsets, which are far apart.
    let (level, score) = (|j: usize| (j * 7 % 12) as f64 * 5.0, |j: usize| (j * 5 % 9) as f64 - 4.0);
    let value = |j: usize, i: usize| level(j) + score(j) * [1.0, -1.0, 0.5, -0.5][i] + i as f64;
    let mut table = "a,b,c,d\n".to_owned();
    for j in 0..12 {
        let cell = |i: usize| if (j + 2 * i) % 9 == 4 { String::new() } else { value(j, i).to_string() };
        table += &((0..4).map(cell).collect::<Vec<_>>().join(",") + "\n");
    }
    let folder = folder(&[("levels.csv", &table)]);
    let fit = "fit levels.csv --missing=em --row-offsets --tol 1e-14 --max-iter 5000 -k 1 -o m.model";
    let text = run(&folder, &format!("{fit} --scores s.csv"));
    assert!(text.contains("a level of each row, standard deviation"), "{text}");
    let summary: serde_json::Value =
        serde_json::from_str(&run(&folder, "inspect m.model --json=full")).unwrap();
    let offsets: Vec<f64> =
        summary["row_offsets"].as_array().unwrap().iter().map(|b| b.as_f64().unwrap()).collect();
    let mean = (0..12).map(level).sum::<f64>() / 12.0;
    assert_close(&offsets, &(0..12).map(|j| level(j) - mean).collect::<Vec<_>>(), 1e-4);
    // Scores and offsets are read back, and together give the rows.
    run(&folder, "transform m.model levels.csv -o again.csv");
    assert!(read(&folder, "s.csv").starts_with("PC1,offset\n"), "{}", read(&folder, "s.csv"));
    assert_same_scores(&read(&folder, "again.csv"), &read(&folder, "s.csv"));
    run(&folder, "impute m.model levels.csv -o filled.csv");
    run(&folder, "reconstruct m.model s.csv -o rows.csv");
    let (filled, rows) = (read(&folder, "filled.csv"), read(&folder, "rows.csv"));
    for (j, (filled, rows)) in crate::parse_csv(&filled).iter().zip(crate::parse_csv(&rows)).enumerate() {
        let expected: Vec<f64> = (0..4).map(|i| value(j, i)).collect();
        assert_close(filled, &expected, 1e-3);
        assert_close(&rows[rows.len() - 4..], &expected, 1e-3);
    }
    let message = refusal(&folder, "fit levels.csv --row-offsets", 2);
    assert!(message.contains("--row-offsets has no effect on the fit of complete data"), "{message}");
}

#[test]
fn scaled_columns_are_filled_in_their_units() {
    let (_, with_missing) = wine();
    let folder = folder(&[("t.csv", &with_missing)]);
    let said = run(&folder, "fit t.csv --missing -k 3 --label class --scale -o m");
    assert!(
        said.contains("columns   divided by their standard deviations; variances and errors are of"),
        "{said}"
    );
    assert!(run(&folder, "inspect m").contains("divided by their standard deviations"));
    // Litres instead of millilitres: the same fills in other units.
    let litres: String = with_missing
        .lines()
        .enumerate()
        .map(|(i, line)| {
            let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
            if let (true, Ok(value)) = (i > 0, cells[0].parse::<f64>()) {
                cells[0] = (value * 1000.0).to_string();
            }
            cells.join(",") + "\n"
        })
        .collect();
    std::fs::write(folder.path().join("litres.csv"), litres).unwrap();
    run(&folder, "fit litres.csv --missing -k 3 --label class --scale -q -o n");
    let cells = |text: &str| -> Vec<Vec<f64>> {
        let rows =
            text.lines().skip(1).map(|line| line.split(',').filter_map(|cell| cell.parse().ok()).collect());
        rows.collect()
    };
    let one = cells(&run(&folder, "impute m t.csv --label class"));
    let other = cells(&run(&folder, "impute n litres.csv --label class"));
    for (a, b) in one.iter().zip(&other) {
        let mut b = b.clone();
        b[0] /= 1000.0;
        assert_close(a, &b, 1e-5);
    }
    let summary: serde_json::Value =
        serde_json::from_str(&run(&folder, "fit t.csv --missing -k 3 --label class --scale --json")).unwrap();
    assert_eq!(summary["scale"].as_array().unwrap().len(), 13);
    // Weights of columns; errors name the column.
    std::fs::write(folder.path().join("w.txt"), "2\n".repeat(13)).unwrap();
    let said = run(&folder, "fit t.csv --missing -k 3 --label class --feature-weights w.txt -o v");
    assert!(said.contains("columns   weighted;"), "{said}");
    std::fs::write(folder.path().join("z.txt"), "2\n".repeat(12) + "0\n").unwrap();
    let message = refusal(&folder, "fit t.csv --missing -k 3 --label class --feature-weights z.txt", 2);
    assert!(message.contains("column 12 is zero"), "{message}");
    let table = run(&folder, "cross-validate t.csv -k 1,2 --label class --scale --json");
    let table: serde_json::Value = serde_json::from_str(&table).unwrap();
    let mean = table["choices"][0]["mean"].as_f64().unwrap();
    assert!((0.7..1.0).contains(&mean), "{mean}");
}

#[test]
fn options_without_use_are_refused() {
    let folder = folder(&[("t.csv", "a,b\n1,2\n2,\n3,1\n"), ("u.csv", "a,b\n1,2\n2,1\n3,1\n")]);
    let cases = [
        (
            "fit u.csv --alpha 0.5",
            "--alpha has no effect on the fit of complete data; use --missing, or leave it out",
        ),
        (
            "fit t.csv --missing --scale --mean-prior 2:5",
            "--mean-prior 2: columns that are divided by numbers of their own (--scale) have no common unit, and so no common \
             value of their means; leave it out",
        ),
        ("fit t.csv --missing --no-center", "--no-center does not go with missing values: use --mean none"),
        (
            "fit t.csv --missing --solver svd",
            "--solver does not go with missing values: use --missing=METHOD",
        ),
        (
            "fit t.csv --missing=em --alpha 0.5",
            "--alpha 0.5: only the methods newton, cg and ridge have this power",
        ),
        ("fit t.csv --missing -k 5", "t.csv: -k 5 is more than the 3 x 2 table allows; ask for at most 2"),
        (
            "fit t.csv --missing --duplicates average",
            "t.csv: --duplicates average applies to triples and sparse matrices alone; leave it out",
        ),
    ];
    for (arguments, message) in cases {
        assert_eq!(refusal(&folder, arguments, 2), format!("error: {message}\n"));
    }
    run(&folder, "fit u.csv -q -o complete");
    run(&folder, "fit t.csv --missing -q --no-error-bars -o bare");
    let cases = [
        (
            "impute complete t.csv",
            3,
            "complete: the model is of complete data, and `karhunen impute` needs one that was fitted with --missing",
        ),
        (
            "transform complete u.csv --dtype f64",
            2,
            "--dtype has no effect on a model of complete data; leave it out",
        ),
        (
            "predict bare t.csv --noise-free",
            2,
            "--noise-free: bare has no error bars, for it was fitted with --no-error-bars; leave it out",
        ),
    ];
    for (arguments, code, message) in cases {
        assert_eq!(refusal(&folder, arguments, code), format!("error: {message}\n"));
    }
}

#[test]
fn weights_repeat_rows() {
    let (_, with_missing) = wine();
    let rows: Vec<&str> = with_missing.lines().collect();
    let times = |i: usize| [2, 1, 0, 3][i % 4];
    let (mut weighted, mut repeated) = (format!("{},times\n", rows[0]), format!("{}\n", rows[0]));
    let mut file = String::from("times\n");
    for (i, row) in rows[1..].iter().enumerate() {
        weighted += &format!("{row},{}\n", times(i));
        repeated += &format!("{row}\n").repeat(times(i));
        file += &format!("{}\n", times(i));
    }
    let files = [("w.csv", &weighted[..]), ("r.csv", &repeated), ("t.csv", &with_missing), ("w.txt", &file)];
    let folder = folder(&files);
    let loadings = |arguments: &str| {
        run(
            &folder,
            &format!("fit {arguments} --missing -k 3 --label class -q --loadings l.csv -o m --force"),
        );
        let text = read(&folder, "l.csv");
        let numbers = text.lines().skip(1).flat_map(|line| line.split(',').skip(1));
        numbers.map(|x| x.parse().unwrap()).collect::<Vec<f64>>()
    };
    let expected = loadings("r.csv");
    for arguments in ["t.csv --weights w.txt", "w.csv --weights times"] {
        assert_close(&loadings(arguments), &expected, 1e-9);
    }
    // The model records that the weights are not a feature; rows of weight zero have scores.
    let scores = run(&folder, "transform m w.csv");
    assert_eq!(scores.lines().count(), rows.len());
    let text = run(&folder, "fit w.csv --missing --label class --weights times");
    let sum: usize = (0..rows.len() - 1).map(times).sum();
    let line = format!("\nweights from column `times`: times each row was seen, sum {sum}\n");
    assert!(text.contains(&line), "{text}");
}

#[test]
fn weights_that_are_none_are_refused() {
    let table = "a,b,w\n1,2,1\n2,,x\n3,1,2\n";
    let negative = "a,b,w\n1,2,1\n2,,-1\n3,1,2\n";
    let folder = folder(&[("t.csv", table), ("n.csv", negative), ("s.txt", "1\n2\n"), ("r.csv", RATINGS)]);
    let cases = [
        (
            "fit n.csv --missing --weights w",
            3,
            "n.csv: the weight of row 2 is -1; weights must be finite and not negative",
        ),
        ("fit n.csv --missing --label w --weights s.txt", 3, "s.txt: 2 weights, but 3 are needed"),
        (
            "fit n.csv --missing --weights v",
            2,
            "n.csv: --weights v: there is no such column; there are `a`, `b`, `w`; and v is not a file",
        ),
        (
            "fit n.csv --missing --label w --weights s.txt --weighting population",
            2,
            "--weighting does not go with missing values: weights count how often a row was seen",
        ),
        (
            "fit r.csv --triples user,item,rating --weights s.txt",
            2,
            "--weights with --triples does not go with missing values: entries have weights: --triples \
             ROW,COLUMN,VALUE,WEIGHT",
        ),
        (
            "fit u.csv --missing=online --weights w",
            2,
            "--missing=online: rows that are learned one after the other have no weights; repeat them",
        ),
    ];
    std::fs::write(folder.path().join("u.csv"), "a,b,w\n1,2,1\n2,,1\n3,1,2\n").unwrap();
    for (arguments, code, message) in cases {
        assert_eq!(refusal(&folder, arguments, code), format!("error: {message}\n"));
    }
    assert!(refusal(&folder, "fit t.csv --missing --weights w", 3).contains("`x`"));
}

#[test]
fn a_fit_that_stops_at_its_limit_warns_or_fails() {
    let (_, with_missing) = wine();
    let folder = folder(&[("t.csv", &with_missing)]);
    let arguments = "fit t.csv --missing=em --label class -k 2 -q --max-iter 2";
    let message = "t.csv: the cost was still falling after 2 iterations; raise --max-iter or --tol\n";
    let note = "note: t.csv: column `proline` has 99.77% of the variance, so that the others hardly count; if that is only its \
                unit, use --scale\n";
    let warned = karhunen(arguments).current_dir(folder.path()).assert().success();
    warned.stderr(format!("{note}warning: {message}"));
    assert_eq!(refusal(&folder, &format!("{arguments} --strict -o m"), 5), format!("{note}error: {message}"));
    assert!(!folder.path().join("m").exists());
}

#[test]
fn entries_that_cannot_be_held_out_are_an_error() {
    let folder = folder(&[("t.csv", "a,b,c\n1,2,3\n4,,6\n7,8,10\n1,0,2\n"), ("d.csv", "a,b\n1,\n,2\n")]);
    let few = "t.csv: --early-stopping=0.01 holds out none of the 11 observed entries: 0.01 of them is 0.11, less than half an \
               entry; ask for at least 4.55e-2 of them";
    for options in ["", " --refit", " --regularization path"] {
        let method = if options.contains("path") { "als" } else { "em" };
        let arguments = format!("fit t.csv --missing={method} -k 1 --early-stopping=0.01{options}");
        assert_eq!(refusal(&folder, &arguments, 2), format!("error: {few}\n"));
    }
    let alone = "error: d.csv: --early-stopping=0.2 holds out none of the 2 observed entries: each is alone in its row or \
                 column, which would have none left; give more entries, or hold none out\n";
    assert_eq!(refusal(&folder, "fit d.csv --missing=em -k 1 --early-stopping", 2), alone);
    // The default share is larger for a small table: two of eleven entries.
    let said = run(&folder, "fit t.csv --missing=em -k 1 --early-stopping --json");
    let found: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(found["held_out_rmse"].is_number(), "{found}");
}

/// A column in another unit, whose noise is so large that the component of the others does not count.
#[test]
fn a_column_that_hides_components_is_warned_of() {
    let mut table = String::from("a,b,c,d\n");
    for i in 0..40 {
        let wave = |rate: f64| (f64::from(i) * rate).sin();
        let (s, noise) = (wave(1.7), |rate: f64| 0.1 * wave(rate));
        let cell = if i == 7 { String::new() } else { (s + noise(5.3)).to_string() };
        table += &format!("{},{cell},{},{}\n", s + noise(7.1), noise(9.7) - s, 1e6 * wave(2.9));
    }
    let folder = folder(&[("units.csv", &table)]);
    let said = |arguments: &str| {
        let arguments = format!("fit units.csv --missing -k 2 -q -o m --force {arguments}");
        let done = karhunen(&arguments).current_dir(folder.path()).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let warned = said("");
    let start = "warning: units.csv: a component has no variance: apart from column 4 (`d`), all columns";
    assert!(warned.contains(start) && warned.contains("; give --scale if columns"), "{warned}");
    assert!(!said("--scale").contains("no variance"));
}

/// A column that is ten times a difference of two others, with one row whose difference is larger than any before.
#[test]
fn values_filled_far_outside_what_was_observed_are_warned_of() {
    let mut table = String::from("a,b,c\n");
    for i in 0..12 {
        let (a, c) = ((f64::from(i) * 1.7).sin() * 2.0, (f64::from(i) * 2.3).cos());
        table +=
            &if i == 7 { "0.5,10.5,\n".to_owned() } else { format!("{a:.6},{:.6},{c:.6}\n", a + 0.1 * c) };
    }
    let folder = folder(&[("far.csv", &table)]);
    let said = |method: &str| {
        let arguments = format!("fit far.csv --missing={method} -k 2 -q -o m --force --max-iter 5000");
        let done = karhunen(&arguments).current_dir(folder.path()).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let warned = said("em");
    let start = "warning: far.csv: a missing value is filled far outside what was observed: row 8, column 3 (`c`) gets ";
    assert!(warned.contains(start), "{warned}");
    let filled = run(&folder, "impute m far.csv -q");
    let value: f64 = filled.lines().nth(8).unwrap().rsplit(',').next().unwrap().parse().unwrap();
    assert!(value.abs() > 50.0, "{value}");
    for method in ["als", "vb-full"] {
        assert!(!said(method).contains("far outside"), "{method}");
    }
}

#[test]
fn columns_without_a_value_are_said() {
    // A regression: such values were filled with the mean of the other columns without a note.
    let folder = tempfile::tempdir().unwrap();
    let rows = "1.5,,10\n2.5,,12\n0.5,,9\n3,,14\n2,,11\n";
    std::fs::write(folder.path().join("t.csv"), format!("a,b,c\n{rows}")).unwrap();
    let note = "note: t.csv: column 2 (`b`) holds no value: what fills it comes from the other columns (the mean of all entries, \
                unless --mean or --mean-prior say otherwise); exclude it with --label b\n";
    for command in ["fit t.csv --missing=als -k 1 -q -o m", "impute m t.csv -q"] {
        let done = karhunen(command).current_dir(folder.path()).assert().success();
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.contains(note), "{command}: {said}");
    }
    // An excluded column is not part of the fit.
    let fit = "fit t.csv --missing=als -k 1 -q --label b -o n";
    let done = karhunen(fit).current_dir(folder.path()).assert().success();
    assert!(!String::from_utf8_lossy(&done.get_output().stderr).contains("holds no value"));
}

#[test]
fn words_for_missing_values_are_kept_for_later_files() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..20)
        .map(|i| {
            let a = if i == 4 || i == 9 { "-999".to_owned() } else { format!("{}", i * 3 % 11) };
            format!("{a},{},{}\n", i * 5 % 13, if i == 7 { "n.d.".to_owned() } else { format!("{i}.5") })
        })
        .collect();
    std::fs::write(folder.path().join("t.csv"), format!("a,b,c\n{rows}")).unwrap();
    let run = |arguments: &str| {
        let done = karhunen(arguments).current_dir(folder.path()).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    run("fit t.csv --missing=ppca -k 1 --na -999,n.d. -q -o m");
    for command in ["transform", "impute"] {
        let told = run(&format!("{command} m t.csv --na -999,n.d."));
        assert_eq!(run(&format!("{command} m t.csv")), told, "{command}");
        assert!(!told.contains("-999"), "{told}");
    }
    // Without them, codes are named under a model, too.
    run("fit t.csv --missing=ppca -k 1 --na n.d. -q -o plain");
    let done = karhunen("impute plain t.csv").current_dir(folder.path()).assert().success();
    let notes = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(notes.contains("-999 in 2 rows of `a`"), "{notes}");
}
