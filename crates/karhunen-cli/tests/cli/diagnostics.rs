//! `diagnose`: diagnostics of rows and features, with limits.

use std::path::Path;

use tempfile::TempDir;

use crate::{examples, json, karhunen};

fn fitted(options: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.model");
    karhunen(&format!("fit wine.csv --label class -q -o {} {options}", model.display())).assert().success();
    folder
}

fn diagnose(folder: &Path, arguments: &str) -> (String, String) {
    let done =
        karhunen(&format!("diagnose {} {arguments}", folder.join("m.model").display())).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

fn table(text: &str) -> (Vec<String>, Vec<Vec<f64>>) {
    let mut lines = text.lines();
    let header = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let numbers = |line: &str| line.split(',').filter_map(|cell| cell.parse().ok()).collect();
    (header, lines.map(numbers).collect())
}

#[test]
fn rows_and_features_have_their_diagnostics() {
    let folder = fitted("--scale -k 3");
    let features = folder.path().join("features.csv");
    let (rows, summary) =
        diagnose(folder.path(), &format!("wine.csv --fitted --level 0.95 --features {}", features.display()));
    let (header, rows) = table(&rows);
    assert_eq!(header, ["T2", "SPE", "distance2"]);
    assert_eq!(rows.len(), 178);
    // Fitted rows have a mean T2 of k (n - 1) / n, and a mean squared distance of p (n - 1) / n.
    let mean = |column: usize| rows.iter().map(|row| row[column]).sum::<f64>() / 178.0;
    let expected = [3.0 * 177.0 / 178.0, 13.0 * 177.0 / 178.0];
    assert!((mean(0) - expected[0]).abs() < 1e-10 && (mean(2) - expected[1]).abs() < 1e-9);
    assert!(summary.contains("T2: ") && summary.contains("SPE: "), "{summary}");
    assert!(summary.contains("of 178 rows (") && summary.contains("the limit at level 0.95"), "{summary}");
    assert_eq!(
        summary.matches("is the limit for new rows, by rows left out of the fit").count(),
        2,
        "{summary}"
    );
    let (_, of_new) = diagnose(folder.path(), "wine.csv");
    assert!(of_new.contains("SPE: its limit follows from the rows of the fit"), "{of_new}");
    let (header, features) = table(&std::fs::read_to_string(features).unwrap());
    assert_eq!(header[0], "feature");
    assert_eq!(header[1], "correlation_PC1");
    assert_eq!(header.last().unwrap(), "communality");
    assert_eq!(features.len(), 13);
    let of_first: f64 = features.iter().map(|row| row[3]).sum();
    assert!((of_first - 1.0).abs() < 1e-12);
    for row in features {
        assert!((row[9] - row[6] - row[7] - row[8]).abs() < 1e-12);
    }
}

/// A model that keeps limits has the ones of its rows, for diagnose and report.
#[test]
fn limits_that_a_model_keeps_are_for_new_rows() {
    for options in ["--scale -k 3", "-k 2 --weights magnesium --weighting importance"] {
        let weights = if options.contains("magnesium") { "--weights magnesium" } else { "" };
        let (without, with) = (fitted(options), fitted(&format!("{options} --limits")));
        let [(_, of_rows), (_, again)] =
            [&without, &with].map(|folder| diagnose(folder.path(), &format!("wine.csv --fitted {weights}")));
        assert_eq!(of_rows, again);
        let (_, of_new) = diagnose(with.path(), "wine.csv");
        for name in ["T2", "SPE"] {
            let line = |text: &str, part: &str| -> String {
                let line = text.lines().find(|line| line.starts_with(name) && line.contains(part));
                line.unwrap_or_else(|| panic!("{part}: {text}")).to_owned()
            };
            let limit = line(&of_rows, "by rows left out of the fit");
            let limit = limit.split(' ').nth(1).unwrap();
            assert!(line(&of_new, "of 178 rows").contains(&format!("beyond {limit}, the limit")), "{of_new}");
        }
        let report = with.path().join("report.html");
        let half = with.path().join("half.csv");
        let wine = std::fs::read_to_string(examples().join("wine.csv")).unwrap();
        std::fs::write(&half, wine.lines().take(90).collect::<Vec<_>>().join("\n")).unwrap();
        let model = with.path().join("m.model").display().to_string();
        karhunen(&format!("report {model} {} -q -o {}", half.display(), report.display())).assert().success();
        let report = std::fs::read_to_string(report).unwrap();
        assert!(report.contains("SPE (squared distance from the components): "), "no limit for SPE");
    }
    karhunen("fit wine.csv --label class --limits").assert().code(2);
    karhunen("fit wine.csv --label class --kernel rbf --limits -o m.model").assert().code(2);
}

#[test]
fn rows_in_a_file_and_in_memory_have_the_same_diagnostics() {
    let folder = fitted("--scale -k 3");
    let all = diagnose(folder.path(), "wine.csv -q");
    assert!(all.1.is_empty(), "{}", all.1);
    let part = diagnose(folder.path(), "wine.csv -q --memory-limit 20MB --threads 1");
    assert_eq!(all.0, part.0);
    let again = folder.path().join("rows.csv");
    let (none, _) = diagnose(folder.path(), &format!("wine.csv -q -o {}", again.display()));
    assert!(none.is_empty());
    assert_eq!(std::fs::read_to_string(again).unwrap(), all.0);
}

#[test]
fn unsuitable_models_levels_and_outputs_are_refused() {
    let folder = fitted("-k 2");
    let refused = |arguments: &str, code: i32, text: &str| {
        let done = karhunen(arguments).assert().code(code);
        let error = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(error.contains(text), "{arguments}: {error}");
    };
    let model = folder.path().join("m.model");
    let model = model.display();
    refused(&format!("diagnose {model} wine.csv --level 1"), 2, "--level 1: a probability between 0 and 1");
    refused(&format!("diagnose {model} iris.csv"), 3, "lacks");
    let own = folder.path().join("own.csv");
    std::fs::copy(examples().join("iris.csv"), &own).unwrap();
    refused(&format!("diagnose {model} wine.csv -o {}", own.display()), 2, "--force");
    // Neither output may replace what is read, nor the other.
    let features = format!("--features {}", own.display());
    let forced = format!("diagnose {model} {} --label class --force", own.display());
    std::fs::copy(examples().join("wine.csv"), &own).unwrap();
    refused(&format!("{forced} {features}"), 2, "would overwrite what is read");
    refused(
        &format!("diagnose {model} wine.csv -o {} {features} --force", own.display()),
        2,
        "both write to",
    );
    let kernel = folder.path().join("kernel.model");
    karhunen(&format!("fit wine.csv --label class -q --kernel rbf -k 2 -o {}", kernel.display()))
        .assert()
        .success();
    refused(
        &format!("diagnose {} wine.csv", kernel.display()),
        3,
        "diagnostics are of models without a kernel",
    );
}

#[test]
fn limits_of_missing_values_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let fitted = |name: &str, options: &str| {
        let model = folder.path().join(name).display().to_string();
        let fit = "fit metabolite_missing.csv --missing=ppca --scale -k 3 -q --starts 1";
        karhunen(&format!("{fit} {options} -o {model}")).assert().success();
        model
    };
    let [without, with] = [fitted("without.model", ""), fitted("with.model", "--limits")];
    // The rows are the same, and their limits are not: T2 has a factor.
    let [plain, kept] = [&without, &with].map(|model| {
        let done = karhunen(&format!("diagnose {model} metabolite_missing.csv -q")).assert().success();
        table(&String::from_utf8(done.get_output().stdout.clone()).unwrap())
    });
    let column = |name: &str| plain.0.iter().position(|header| header == name).unwrap();
    let ratio = |name: &str, row: usize| kept.1[row][column(name)] / plain.1[row][column(name)];
    let factor = ratio("T2_limit", 0);
    assert!((0.3..3.0).contains(&factor) && (factor - 1.0).abs() > 1e-6, "{factor}");
    for row in 0..plain.1.len() {
        assert!((ratio("T2_limit", row) / factor - 1.0).abs() < 1e-9);
        assert!((ratio("T2", row) - 1.0).abs() < 1e-12);
    }
    for (model, keeps) in [(&without, false), (&with, true)] {
        assert_eq!(json(&format!("inspect {model} --json"))["keeps_limits"], keeps);
        let done = karhunen(&format!("inspect {model}")).assert().success();
        let shown = String::from_utf8(done.get_output().stdout.clone()).unwrap();
        // Lines are wrapped.
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(shown.contains("with limits for new rows"), keeps, "{shown}");
    }
}

#[test]
fn rows_with_missing_values_have_their_own_limits() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    karhunen(&format!("fit metabolite_missing.csv --missing=ppca --scale -k 3 -q -o {}", at("m.model")))
        .assert()
        .success();
    let (rows, summary) = diagnose(
        folder.path(),
        &format!("metabolite_missing.csv --fitted --level 0.95 --features {}", at("features.csv")),
    );
    let (header, rows) = table(&rows);
    assert_eq!(
        header[header.len() - 7..],
        ["T2", "T2_degrees", "T2_limit", "SPE", "SPE_degrees", "SPE_limit", "distance2"]
    );
    assert_eq!(rows.len(), 154);
    let last = |row: &[f64], k: usize| row[row.len() - 7 + k];
    for row in &rows {
        assert_eq!(last(row, 1), 3.0);
        assert!(last(row, 0) >= 0.0 && last(row, 3) > 0.0 && last(row, 6) >= last(row, 3));
    }
    // 419 of the entries are missing: degrees of freedom are those that are left.
    let columns = 154.0 * 52.0 - 419.0;
    assert_eq!(rows.iter().map(|row| last(row, 1) + last(row, 4)).sum::<f64>(), columns);
    let beyond = rows.iter().filter(|row| last(row, 0) > last(row, 2)).count();
    assert!(summary.contains(&format!("T2: {beyond} of 154 rows")), "{summary}");
    let (header, features) = table(&std::fs::read_to_string(at("features.csv")).unwrap());
    assert_eq!((header[1].as_str(), header.last().unwrap().as_str()), ("correlation_PC1", "communality"));
    assert_eq!(features.len(), 52);
    karhunen(&format!("report {} metabolite_missing.csv -q -o {}", at("m.model"), at("m.html")))
        .assert()
        .success();
    assert!(
        std::fs::read_to_string(at("m.html")).unwrap().contains("419 of 8008 entries are missing (5.2%)")
    );
}

/// Rows of wine.csv and the same rows repeated, with how often in a column of the first.
fn weighted_and_repeated(folder: &Path) {
    let wine = std::fs::read_to_string(examples().join("wine.csv")).unwrap();
    let mut lines = wine.lines();
    let header = lines.next().unwrap();
    let (mut weighted, mut repeated) = (format!("{header},times\n"), format!("{header}\n"));
    for (i, line) in lines.enumerate() {
        let times = 1 + i % 3;
        weighted += &format!("{line},{times}\n");
        repeated += &format!("{line}\n").repeat(times);
    }
    std::fs::write(folder.join("weighted.csv"), weighted).unwrap();
    std::fs::write(folder.join("repeated.csv"), repeated).unwrap();
}

#[test]
fn limits_of_spe_are_of_weighted_rows() {
    let folder = tempfile::tempdir().unwrap();
    weighted_and_repeated(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    for missing in ["", "--missing=ppca --tol 1e-9 --max-iter 2000"] {
        let limit = |data: &str, weights: &str| {
            let options = format!("--label class -k 3 {missing} -q --force -o {}", at("m.model"));
            karhunen(&format!("fit {} --scale {weights} {options}", at(data))).assert().success();
            let (rows, summary) =
                diagnose(folder.path(), &format!("{} --label class --fitted {weights}", at(data)));
            let said = summary.lines().find(|line| line.starts_with("SPE")).unwrap().to_owned();
            let (header, rows) = table(&rows);
            // Of rows with missing values limits are a column, otherwise a number in the summary.
            match header.iter().position(|name| name == "SPE_limit") {
                Some(column) => rows[0][column],
                None => said.split(' ').rev().nth(5).unwrap().trim_end_matches(',').parse().unwrap(),
            }
        };
        let (of_weights, of_repeated) = (limit("weighted.csv", "--weights times"), limit("repeated.csv", ""));
        let difference: f64 = (of_weights - of_repeated) / of_repeated;
        assert!(difference.abs() < 1e-3, "{missing}: {of_weights} {of_repeated}");
    }
}

#[test]
fn limits_know_what_dependent_rows_are_worth() {
    let folder = fitted("-k 3 --scale");
    let limit = |options: &str| -> f64 {
        let (_, text) = diagnose(folder.path(), &format!("wine.csv --label class {options}"));
        let line = text.lines().find(|line| line.starts_with("T2: ")).unwrap().to_owned();
        line.split("beyond ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    };
    assert_eq!(limit("--observations 178"), limit(""));
    assert!(limit("--observations 20") > 1.2 * limit(""));
}
