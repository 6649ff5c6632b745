//! A model passed through `fit`, `transform` and `reconstruct`.

use std::path::Path;

use tempfile::TempDir;

use crate::{assert_close, karhunen, output, parse_csv};

/// A folder with a model of USArrests and its scores.
fn fitted(options: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    karhunen(&format!("fit usarrests.csv --scale {options} -q -o {} --scores {}", at("m"), at("scores.csv")))
        .assert()
        .success();
    folder
}

fn at(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn refusal(arguments: &str, folder: &Path, code: i32) -> String {
    let done = karhunen(arguments).current_dir(folder).assert().code(code).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

#[test]
fn transform_gives_the_scores_of_the_fit() {
    let folder = fitted("-k 3");
    assert_eq!(
        output(&format!("transform {} usarrests.csv", at(&folder, "m"))),
        read(&at(&folder, "scores.csv"))
    );
    let to_file = at(&folder, "again.csv");
    karhunen(&format!("transform {} usarrests.csv -o {to_file}", at(&folder, "m")))
        .assert()
        .success()
        .stdout("");
    assert_eq!(read(&to_file), read(&at(&folder, "scores.csv")));
}

#[test]
fn whitening_is_an_option_of_the_transform_and_undone_by_reconstruct() {
    let folder = fitted("-k 4 --whiten");
    let model = at(&folder, "m");
    assert_eq!(
        output(&format!("transform {model} usarrests.csv --whiten")),
        read(&at(&folder, "scores.csv"))
    );
    let rows = output(&format!("reconstruct {model} {} --whiten", at(&folder, "scores.csv")));
    let original = read(&crate::examples().join("usarrests.csv").display().to_string());
    assert!(rows.starts_with("sample,Murder,Assault,UrbanPop,Rape\nAlabama,"), "{rows}");
    let original = original.replacen("State", "sample", 1).replace('"', "");
    for (row, expected) in parse_csv(&rows).iter().zip(parse_csv(&original)) {
        assert_close(row, &expected, 1e-12);
    }
}

#[cfg(feature = "columnar")]
#[test]
fn scores_are_reconstructed_where_names_of_rows_repeat_or_are_numbers() {
    for names in [["Berlin", "Berlin", "Rome", "Rome"], ["1.5", "1.5", "2.5", "2.5"]] {
        let folder = tempfile::tempdir().unwrap();
        let rows =
            names.iter().zip(["1,2", "2,5", "3,1", "5,5"]).map(|(name, row)| format!("{name},{row}\n"));
        std::fs::write(folder.path().join("t.csv"), format!("city,x,y\n{}", rows.collect::<String>()))
            .unwrap();
        for (scores, options) in [("s.csv", ""), ("s.parquet", ""), ("o.csv", "--missing")] {
            let run = |arguments: String| karhunen(&arguments).current_dir(folder.path()).assert().success();
            run(format!("fit t.csv --row-names city -k 1 {options} -q -o m --scores {scores} --force"));
            let done = run(format!("reconstruct m {scores}"));
            let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
            let found: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
            assert_eq!(found.iter().map(|name| name.trim_matches('"')).collect::<Vec<_>>(), names, "{text}");
            assert!(text.starts_with("sample,x,y\n"), "{text}");
        }
    }
}

#[test]
fn rows_and_their_scores_reconstruct_to_the_same() {
    let folder = fitted("-k 2");
    let model = at(&folder, "m");
    let from_scores = output(&format!("reconstruct {model} {}", at(&folder, "scores.csv")));
    let from_rows = output(&format!("reconstruct {model} usarrests.csv"));
    assert_eq!(from_scores.lines().count(), 51);
    for (a, b) in parse_csv(&from_scores).iter().zip(parse_csv(&from_rows)) {
        assert_close(a, &b, 1e-12);
    }
    let message = refusal(
        &format!("reconstruct m {} --whiten", crate::examples().join("usarrests.csv").display()),
        folder.path(),
        2,
    );
    assert!(message.contains("--whiten speaks of scores"), "{message}");
}

#[test]
fn columns_are_matched_by_name() {
    let folder = fitted("-k 2");
    let shuffled: String = read(&crate::examples().join("usarrests.csv").display().to_string())
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{},{},{}\n", cells[0], cells[4], cells[2], cells[1], cells[3])
        })
        .collect();
    std::fs::write(folder.path().join("shuffled.csv"), shuffled).unwrap();
    let scores = output(&format!("transform {} {}", at(&folder, "m"), at(&folder, "shuffled.csv")));
    for (row, expected) in parse_csv(&scores).iter().zip(parse_csv(&read(&at(&folder, "scores.csv")))) {
        assert_close(row, &expected, 1e-12);
    }
}

#[test]
fn columns_that_do_not_match_are_refused_by_name() {
    let folder = fitted("-k 2");
    std::fs::write(folder.path().join("less.csv"), "Murder,Assault,Rape\n1,2,3\n").unwrap();
    std::fs::write(folder.path().join("more.csv"), "Murder,Assault,Rape,UrbanPop,Theft\n1,2,3,4,5\n")
        .unwrap();
    assert_eq!(
        refusal("transform m less.csv", folder.path(), 3),
        "error: less.csv: lacks `UrbanPop`, which the model was fitted to; every feature of the model is needed\n"
    );
    assert_eq!(
        refusal("transform m more.csv", folder.path(), 3),
        "error: more.csv: has columns that the model does not have (`Theft`); exclude non-features with \
         --label Theft\n"
    );
    karhunen("transform m more.csv --label Theft").current_dir(folder.path()).assert().success();
}

#[test]
fn scores_of_another_model_are_refused() {
    let folder = fitted("-k 2");
    std::fs::write(folder.path().join("s.csv"), "PC1,PC2,PC3\n1,2,3\n").unwrap();
    assert_eq!(
        refusal("reconstruct m s.csv", folder.path(), 3),
        "error: s.csv: 3 columns, but scores under this model have 2: PC1 to PC2\n"
    );
    std::fs::write(folder.path().join("s.csv"), "PC2,PC1\n1,2\n").unwrap();
    assert_eq!(
        refusal("reconstruct m s.csv", folder.path(), 3),
        "error: s.csv: the scores must stand in the order PC1 to PC2\n"
    );
}

#[test]
fn scores_of_earlier_versions_are_read() {
    let folder = fitted("-k 2");
    let reconstructed = |header: &str| {
        std::fs::write(folder.path().join("s.csv"), format!("{header}\n1,2\n-3,0.5\n")).unwrap();
        let done = karhunen("reconstruct m s.csv").current_dir(folder.path()).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    let rows = reconstructed("PC1,PC2");
    assert_eq!(rows.lines().count(), 3);
    assert_eq!(reconstructed("pc1,pc2"), rows);
}

#[test]
fn files_that_are_not_models() {
    let folder = fitted("-k 2");
    std::fs::write(folder.path().join("t.csv"), "Murder,Assault,Rape,UrbanPop\n1,2,3,4\n").unwrap();
    assert_eq!(
        refusal("transform t.csv t.csv", folder.path(), 3),
        "error: t.csv: is not a karhunen model file; give a file that `karhunen fit -o` wrote\n"
    );
    let whole = std::fs::read(folder.path().join("m")).unwrap();
    std::fs::write(folder.path().join("half"), &whole[..whole.len() / 2]).unwrap();
    let message = refusal("transform half t.csv", folder.path(), 3);
    assert!(message.starts_with("error: half: is truncated"), "{message}");
    let message = refusal("transform m m", folder.path(), 3);
    assert!(message.starts_with("error: m: "), "{message}");
}

#[test]
fn what_was_no_feature_in_the_fit_is_none_in_the_transform() {
    let folder = tempfile::tempdir().unwrap();
    let (model, scores) = (at(&folder, "m"), at(&folder, "s.csv"));
    let rows: String = (1..=6).map(|i| format!("{i},{}.5,{},{}.25,g{}\n", i * i, i, 7 - i, i % 2)).collect();
    std::fs::write(at(&folder, "t.csv"), format!("w,a,id,b,group\n{rows}")).unwrap();
    let data = at(&folder, "t.csv");
    karhunen(&format!(
        "fit {data} --weights w --label group --row-names id -k 1 -q -o {model} --scores {scores}"
    ))
    .assert()
    .success();
    assert_eq!(output(&format!("transform {model} {data}")), read(&scores));
    assert!(read(&scores).starts_with("sample,PC1\n\"1\","), "{}", read(&scores));
    // Excluded columns may be absent from new data.
    std::fs::write(at(&folder, "less.csv"), "b,a\n6.25,1.5\n").unwrap();
    let found = output(&format!("transform {model} {}", at(&folder, "less.csv")));
    assert_close(&parse_csv(&found)[0], &parse_csv(&read(&scores))[0], 1e-12);
    let rebuilt = output(&format!("reconstruct {model} {data}"));
    assert!(rebuilt.starts_with("sample,a,b\n\"1\","), "{rebuilt}");
}
