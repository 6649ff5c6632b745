//! `update`: fits that are updated with new rows.

use std::fmt::Write;
use std::path::Path;

use tempfile::TempDir;

use crate::{assert_close, json, karhunen, numbers};

/// Row `i` of the tables: values with three decimals, which CSV keeps.
fn row(i: usize) -> [f64; 4] {
    let t = i as f64;
    [0, 1, 2, 3].map(|j| {
        let wave = (t * [0.7, 1.3, 2.1, 0.2][j]).sin() * [9.0, 4.0, 2.0, 1.0][j] + 10.0 * j as f64;
        (wave * 1000.0).round() / 1000.0
    })
}

/// Writes the rows `rows` as a table with these columns.
fn table(folder: &TempDir, name: &str, columns: &str, rows: std::ops::Range<usize>) -> String {
    let mut text = format!("{columns}\n");
    for i in rows {
        let cells: Vec<String> = row(i).iter().map(f64::to_string).collect();
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    write(folder, name, &text)
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn succeeds(arguments: &str) -> (String, String) {
    let done = karhunen(arguments).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

/// The message of an update that is refused with this code; the state must stay as it was.
fn refused(state: &str, arguments: &str, code: i32) -> String {
    let before = std::fs::read(state).ok();
    let done = karhunen(&format!("update {state} {arguments}")).assert().code(code).stdout("");
    assert_eq!(std::fs::read(state).ok(), before, "{arguments}");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

#[test]
fn updates_equal_a_fit_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (state, model) = (at(&folder, "days.stream"), at(&folder, "days.model"));
    let parts = [
        table(&folder, "a.csv", "a,b,c,d", 0..3),
        table(&folder, "b.csv", "a,b,c,d", 3..50),
        table(&folder, "c.csv", "a,b,c,d", 50..80),
    ];
    let all = table(&folder, "all.csv", "a,b,c,d", 0..80);
    succeeds(&format!("update {state} {} -k 3 --scale -q", parts[0]));
    succeeds(&format!("update {state} {} {} -q -o {model}", parts[1], parts[2]));
    let expected = json(&format!("fit {all} -k 3 --scale --solver covariance --json"));
    let found = json(&format!("inspect {state} --json"));
    let of_model = json(&format!("inspect {model} --json"));
    for name in ["explained_variance", "explained_variance_ratio", "singular_values", "mean", "scale"] {
        assert_close(&numbers(&found[name]), &numbers(&expected[name]), 1e-12);
        assert_eq!(found[name], of_model[name], "{name}");
    }
    assert_eq!((found["n_samples_seen"].as_u64(), found["method"].as_str()), (Some(80), Some("scatter")));
    assert_eq!(found["feature_names"], expected["feature_names"]);
    assert_eq!(found["format"], "karhunen state of update");
    // Models and states are read alike.
    let (of_state, _) = succeeds(&format!("transform {state} {all}"));
    assert_eq!(of_state, succeeds(&format!("transform {model} {all}")).0);
    assert!(succeeds(&format!("reconstruct {state} {all}")).0.starts_with("a,b,c,d\n"));
    // In one update, the same bits.
    let at_once = at(&folder, "at_once.stream");
    succeeds(&format!("update {at_once} {all} -k 3 --scale -q"));
    assert_eq!(json(&format!("inspect {at_once} --json"))["explained_variance"], found["explained_variance"]);
}

#[test]
fn the_summary_says_what_was_added_and_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let state = at(&folder, "s.stream");
    let first = table(&folder, "a.csv", "a,b,c,d", 0..40);
    let (text, _) = succeeds(&format!("update {state} {first} -k 2 --half-life 30 --weighting importance"));
    for words in [
        "a.csv: CSV, 40 rows x 4 columns, f64",
        "s.stream: 40 rows x 4 columns so far, weights now",
        "centred, not scaled; 2 of 4 components",
        "PC1",
        "method    scatter matrix of all rows: exact",
        "memory    the weight of a row halves with every 30 of weight after it",
        "accuracy  worst residual",
        "written   state to",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let second = table(&folder, "b.csv", "a,b,c,d", 40..50);
    let summary = json(&format!("update {state} {second} --json=full -k 2"));
    assert_eq!((summary["n_samples"].as_u64(), summary["n_samples_seen"].as_u64()), (Some(10), Some(50)));
    assert_eq!(summary["options"]["half_life"], 30.0);
    assert_eq!(summary["components"].as_array().unwrap().len(), 2);
    assert_eq!(summary["written"]["state"], state);
    let (shown, _) = succeeds(&format!("inspect {state}"));
    for words in ["which update continues", "50 rows x 4 columns so far", "method", "PC2"] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn a_sketch_reports_its_error_and_its_options_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let state = at(&folder, "s.stream");
    let first = table(&folder, "a.csv", "a,b,c,d", 0..40);
    let scales = write(&folder, "scales.txt", "9\n4\n2\n1\n");
    let options = format!(
        "-k 1 --method sketch --oversamples 1 --batch-size 8 --seed 7 --scale --column-scale {scales} --no-center"
    );
    let (text, _) = succeeds(&format!("update {state} {first} {options}"));
    assert!(text.contains("method    sketch of 2 directions"), "{text}");
    assert!(text.contains("in 99% of cases"), "{text}");
    let summary = json(&format!("update {state} {first} {options} --json"));
    assert_eq!(summary["n_directions"].as_u64(), Some(2));
    assert_eq!(summary["residual_bounds"].as_array().unwrap().len(), 1);
    for (given, found) in [
        ("--oversamples 2", "--oversamples 2: the fit of"),
        ("--method scatter", "--method scatter: the fit of"),
        ("-k 2", "-k 2: the fit of"),
        ("--seed 8", "began with --seed 7, and its options hold for all rows"),
        ("--half-life 9", "--half-life 9: the fit of"),
    ] {
        let message = refused(&state, &format!("{first} {given}"), 2);
        assert!(message.contains(found), "{message}");
    }
    let others = write(&folder, "others.txt", "9\n4\n2\n2\n");
    let message = refused(&state, &format!("{first} --column-scale {others}"), 2);
    assert!(message.contains("--column-scale: the fit of"), "{message}");
}

#[test]
fn weights_are_repetitions_and_a_batch_is_what_one_update_adds() {
    let folder = tempfile::tempdir().unwrap();
    let (weighted, repeated) = (at(&folder, "w.stream"), at(&folder, "r.stream"));
    let data = write(&folder, "w.csv", "a,n,b\n1,2,5\n3,1,4\n7,3,1\n2,1,2\n");
    let rows = write(&folder, "r.csv", "a,b\n1,5\n1,5\n3,4\n7,1\n7,1\n7,1\n2,2\n");
    let halves = [
        write(&folder, "x.csv", "a,b\n1,5\n1,5\n3,4\n"),
        write(&folder, "y.csv", "a,b\n7,1\n7,1\n7,1\n2,2\n"),
    ];
    for _ in 0..2 {
        succeeds(&format!("update {weighted} {data} -k 2 --weights n --forget 0.5 -q"));
    }
    succeeds(&format!("update {repeated} {rows} -k 2 --forget 0.5 -q"));
    // Two files of one update are one batch.
    succeeds(&format!("update {repeated} {} {} --forget 0.5 -q", halves[0], halves[1]));
    let (a, b) = (json(&format!("inspect {weighted} --json")), json(&format!("inspect {repeated} --json")));
    assert_close(&numbers(&a["explained_variance"]), &numbers(&b["explained_variance"]), 1e-12);
    assert_eq!((a["sum_of_weights"].as_f64(), b["sum_of_weights"].as_f64()), (Some(10.5), Some(10.5)));
    let file = write(&folder, "weights.txt", "2\n1\n3\n1\n");
    let from_file = at(&folder, "f.stream");
    let plain = write(&folder, "plain.csv", "a,b\n1,5\n3,4\n7,1\n2,2\n");
    succeeds(&format!("update {from_file} {plain} -k 2 --weights {file} -q"));
    assert_eq!(json(&format!("inspect {from_file} --json"))["sum_of_weights"].as_f64(), Some(7.0));
}

#[test]
fn a_state_begins_only_with_k() {
    let folder = tempfile::tempdir().unwrap();
    let (state, data) = (at(&folder, "new.stream"), table(&folder, "a.csv", "a,b,c,d", 0..9));
    let message = refused(&state, &data, 4);
    assert!(message.contains("there is no such file; give -k to begin a fit there"), "{message}");
    assert!(!Path::new(&state).exists());
    let message = refused(&state, &format!("{data} -k 2 --oversamples 5"), 2);
    assert!(message.contains("--oversamples has no effect with the method scatter"), "{message}");
    let message = refused(&state, &format!("{data} -k 9"), 2);
    assert!(message.contains("-k 9: there are 4 columns"), "{message}");
    assert!(!Path::new(&state).exists());
    let message = refused("-", &format!("{data} -k 2"), 2);
    assert!(message.contains("the state is a file"), "{message}");
}

#[test]
fn rows_that_allow_no_components_yet_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let state = at(&folder, "s.stream");
    let one = table(&folder, "one.csv", "a,b,c,d", 0..1);
    let (text, notes) = succeeds(&format!("update {state} {one} -k 2"));
    assert!(notes.contains("no components yet: the data have one row"), "{notes}");
    assert!(text.contains("1 row x 4 columns so far"), "{text}");
    assert!(succeeds(&format!("inspect {state}")).0.contains("no components yet"));
    let model = at(&folder, "m");
    let weight = write(&folder, "w", "0\n");
    let message = refused(&state, &format!("{one} -o {model} -k 2 --weights {weight}"), 2);
    assert!(message.contains("they must sum to at least 2"), "{message}");
    assert!(!Path::new(&model).exists());
    let rest = table(&folder, "rest.csv", "a,b,c,d", 1..9);
    succeeds(&format!("update {state} {rest} -q"));
    assert_eq!(json(&format!("inspect {state} --json"))["n_samples_seen"].as_u64(), Some(9));
}

#[test]
fn batches_that_do_not_fit_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let state = at(&folder, "s.stream");
    succeeds(&format!("update {state} {} -k 2 -q", table(&folder, "a.csv", "a,b,c,d", 0..20)));
    let lacking = table(&folder, "l.csv", "a,b,c,x", 20..25);
    let message = refused(&state, &lacking, 3);
    assert!(message.contains("lacks `d`") && message.contains("holds `x`"), "{message}");
    let broken = write(&folder, "n.csv", "a,b,c,d\n1,2,3,4\n5,6,nan,8\n");
    let message = refused(&state, &broken, 3);
    assert!(message.contains("line 3") && message.contains("`c`"), "{message}");
    let unnamed = write(&folder, "u.csv", "1,2,3\n4,5,6\n");
    let message = refused(&state, &unnamed, 3);
    assert!(message.contains("3 columns"), "{message}");
}

/// The rows `rows` with the columns `c,a,d,b`.
fn shuffled(folder: &TempDir, name: &str, rows: std::ops::Range<usize>) -> String {
    let mut text = "c,a,d,b\n".to_owned();
    for [a, b, c, d] in rows.map(row) {
        writeln!(text, "{c},{a},{d},{b}").unwrap();
    }
    write(folder, name, &text)
}

#[test]
fn columns_in_another_order_are_matched_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let first = table(&folder, "a.csv", "a,b,c,d", 0..20);
    let more = table(&folder, "b.csv", "a,b,c,d", 20..6000);
    let other = shuffled(&folder, "c.csv", 20..6000);
    let state = |name: &str, more: &str, limit: &str| {
        let state = at(&folder, name);
        succeeds(&format!("update {state} {first} -k 2 -q"));
        let (text, _) = succeeds(&format!("update {state} {more} {limit}"));
        let found = json(&format!("inspect {state} --json=full"));
        assert_eq!(found["feature_names"], serde_json::json!(["a", "b", "c", "d"]));
        (["explained_variance", "components", "mean"].map(|part| found[part].clone()), text)
    };
    let (expected, text) = state("expected", &more, "");
    assert!(!text.contains("another order"), "{text}");
    for (name, limit) in [("held", ""), ("read", "--memory-limit 100kB")] {
        let (found, text) = state(name, &other, limit);
        assert_eq!(found, expected, "{name}");
        assert!(text.contains("columns in another order, matched by name"), "{text}");
    }
    // Sparse rows, by the names of a file; the other file has the columns of the state.
    let entries: Vec<String> =
        (0..40).map(|e| format!("{} {} {}", 1 + e % 20, 1 + e / 10, row(e)[0])).collect();
    let matrix = format!("%%MatrixMarket matrix coordinate real general\n20 4 40\n{}\n", entries.join("\n"));
    let sparse = write(&folder, "s.mtx", &matrix);
    let moved: Vec<String> = (0..40)
        // Columns a, b, c and d stand at 2, 4, 1 and 3 of the shuffled table.
        .map(|e| format!("{} {} {}", 1 + e % 20, [2, 4, 1, 3][e / 10], row(e)[0]))
        .collect();
    let matrix = format!("%%MatrixMarket matrix coordinate real general\n20 4 40\n{}\n", moved.join("\n"));
    let moved = write(&folder, "m.mtx", &matrix);
    let [straight, turned] =
        [("n.txt", "a\nb\nc\nd\n"), ("t.txt", "c\na\nd\nb\n")].map(|(name, text)| write(&folder, name, text));
    let (expected, _) = state("sparse", &sparse, &format!("--feature-names {straight}"));
    for limit in ["", "--memory-limit 1kB"] {
        let (found, _) = state("turned", &moved, &format!("--feature-names {turned} --force {limit}"));
        assert_eq!(found, expected, "{limit}");
        std::fs::remove_file(at(&folder, "turned")).unwrap();
    }
}

#[test]
fn other_files_are_not_taken_for_states() {
    let folder = tempfile::tempdir().unwrap();
    let data = table(&folder, "a.csv", "a,b,c,d", 0..20);
    let model = at(&folder, "m.model");
    succeeds(&format!("fit {data} -k 2 -q -o {model}"));
    for file in [&model, &table(&folder, "b.csv", "a,b,c,d", 0..3)] {
        let message = refused(file, &format!("{data} -k 2"), 2);
        assert!(message.contains("the file is not a state of `karhunen update`; give "), "{message}");
    }
    let state = at(&folder, "s.stream");
    succeeds(&format!("update {state} {data} -k 2 -q"));
    let message = refused(&state, &format!("{data} -o {state}"), 2);
    assert!(message.contains("STATE and -o both write to"), "{message}");
    let message = refused(&state, &state.clone(), 2);
    assert!(message.contains("would overwrite what is read"), "{message}");
    // A damaged state stays as it is.
    let mut bytes = std::fs::read(&state).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&state, bytes).unwrap();
    let message = refused(&state, &data, 3);
    assert!(message.contains("is damaged"), "{message}");
    let message = {
        let done = karhunen(&format!("fit {data} -k 2 -q -o {state}")).assert().code(2);
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    assert!(message.contains("the file exists; give another name, or use --force"), "{message}");
}

#[test]
fn an_update_reads_beyond_the_limit_in_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let data = table(&folder, "a.csv", "a,b,c,d", 0..6000);
    let (held, read) = (at(&folder, "held.stream"), at(&folder, "read.stream"));
    succeeds(&format!("update {held} {data} -k 2 -q"));
    succeeds(&format!("update {read} {data} -k 2 -q --memory-limit 100kB"));
    let of = |state: &str| json(&format!("inspect {state} --json"))["explained_variance"].clone();
    assert_eq!(of(&held), of(&read));
}

/// Updates of one state at the same time wait for one another.
#[test]
fn updates_at_the_same_time_lose_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let state = at(&folder, "days.stream");
    let parts: Vec<String> =
        (0..6).map(|i| table(&folder, &format!("{i}.csv"), "a,b,c,d", 50 * i..50 * (i + 1))).collect();
    succeeds(&format!("update {state} {} -k 2 -q", parts[0]));
    std::thread::scope(|scope| {
        for part in &parts[1..] {
            let state = &state;
            scope.spawn(move || karhunen(&format!("update {state} {part} -q")).assert().success());
        }
    });
    let (shown, _) = succeeds(&format!("inspect {state}"));
    assert!(shown.contains("300 rows"), "{shown}");
}

/// A state that another update begins while this one reads is not overwritten.
#[test]
#[cfg(unix)]
fn a_state_that_was_begun_meanwhile_is_kept() {
    use std::io::Write as _;
    let folder = tempfile::tempdir().unwrap();
    let state = at(&folder, "days.stream");
    let part = table(&folder, "a.csv", "a,b,c,d", 0..50);
    let mut slow = std::process::Command::new(assert_cmd::cargo::cargo_bin!("karhunen"))
        .args(["update", &state, "-", "-k", "2", "-q"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut rows = slow.stdin.take().unwrap();
    rows.write_all(b"a,b,c,d\n1,2,3,4\n").unwrap();
    rows.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    succeeds(&format!("update {state} {part} -k 2 -q"));
    let before = std::fs::read(&state).unwrap();
    rows.write_all(b"2,3,5,4\n4,4,3,1\n7,2,3,1\n").unwrap();
    drop(rows);
    let done = slow.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(3));
    let error = String::from_utf8(done.stderr).unwrap();
    assert!(error.contains("another update began the state meanwhile"), "{error}");
    assert_eq!(std::fs::read(&state).unwrap(), before);
}

#[test]
fn rows_without_weights_after_rows_with_them_get_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..40).map(|i| format!("{},{},{}\n", i % 7, i * i % 11, 1 + i % 3)).collect();
    std::fs::write(folder.path().join("t.csv"), format!("a,b,w\n{rows}")).unwrap();
    let notes = |arguments: &str| {
        let done = karhunen(arguments).current_dir(folder.path()).assert().success();
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let said = "the rows before had weights, and these count once each; use --weights for theirs";
    assert!(!notes("update s.state t.csv -k 1 --weights w -q").contains(said));
    assert!(notes("update s.state t.csv -q").contains(said));
    assert!(!notes("update s.state t.csv --weights w -q").contains(said));
    // These sum to the number of rows.
    let even: String = (0..40).map(|i| format!("{}\n", [0.5, 1.5][i % 2])).collect();
    std::fs::write(folder.path().join("w.txt"), even).unwrap();
    notes("update even.state t.csv -k 1 --label w --weights w.txt -q");
    assert!(notes("update even.state t.csv -q").contains(said));
    notes("update plain.state t.csv -k 1 --label w -q");
    assert!(!notes("update plain.state t.csv -q").contains(said));
}
