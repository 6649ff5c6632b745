//! Names of rows and columns: one rule in every command, never against the model, never without a question or a note.

use std::path::Path;

use assert_cmd::Command;

use crate::karhunen;

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = karhunen(arguments);
    command.current_dir(folder);
    command
}

/// The output of a command that must succeed, on both streams.
fn run(folder: &Path, arguments: &str) -> (String, String) {
    let done = command(folder, arguments).assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

fn refusal(folder: &Path, arguments: &str, code: i32) -> String {
    let done = command(folder, arguments).assert().code(code);
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

/// Numbers between zero and one from a linear congruential generator.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n).map(|_| next()).collect()
}

fn csv(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row.join(",") + "\n").collect()
}

#[test]
fn no_row_is_taken_for_names_against_a_model_without_names() {
    // A regression: `transform` gave two scores for the three rows.
    let fitted = "1,5,2\n4,1,0\n2,2,5\n7,8,1\n0,3,3\n";
    let folder = folder(&[
        ("nh.csv", fitted),
        ("new.csv", "1,2,3\n1,1,5\n4,4,1\n"),
        ("up.csv", "2,4,6\n1,1,5\n4,4,1\n"),
    ]);
    let folder = folder.path();
    run(folder, "fit nh.csv -k 2 -q -o m");
    let note = "note: new.csv: the first line holds numbers that rise or fall throughout and is read as values; use --header \
                yes if it holds names\n";
    for arguments in ["transform m new.csv", "transform m new.csv -q", "reconstruct m new.csv --from data -q"]
    {
        let (out, err) = run(folder, arguments);
        assert_eq!(out.lines().count(), 4, "{arguments}: {out}");
        assert_eq!(err, note, "{arguments}");
    }
    let (out, err) = run(folder, "transform m up.csv");
    assert_eq!((out.lines().count(), err), (4, note.replace("new.csv", "up.csv")));
    assert_eq!(run(folder, "transform m new.csv --header no").1, "");
    assert_eq!(run(folder, "transform m new.csv --header yes").0.lines().count(), 3);
    // Text over numbers is a name in any case.
    std::fs::write(folder.join("named.csv"), "a,b,c\n1,2,3\n").unwrap();
    assert_eq!(run(folder, "transform m named.csv").0.lines().count(), 2);
}

#[test]
fn ratings_and_curves_keep_their_first_row() {
    // A regression: 13 of 300 tables of ratings and 40 of 200 tables of curves lost it, the latter even with a
    // model.
    let folder = folder(&[]);
    let folder = folder.path();
    let mut tables = Vec::new();
    for seed in 0..12 {
        let values = noise(60, seed);
        let rating = |x: &f64| (1.0 + x * 5.0).floor().to_string();
        let mut rows: Vec<Vec<String>> =
            values.chunks(3).map(|row| row.iter().map(rating).collect()).collect();
        rows[0] = [["1", "2", "3"], ["5", "4", "3"], ["3", "4", "5"]][seed as usize % 3]
            .map(str::to_owned)
            .to_vec();
        tables.push(rows);
        let values = noise(200, 100 + seed);
        let point = |(j, x): (usize, &f64)| format!("{:.3}", 0.4 * j as f64 + x * 0.9);
        let mut rows: Vec<Vec<String>> =
            values.chunks(10).map(|row| row.iter().enumerate().map(point).collect()).collect();
        rows[0].sort_by(|a, b| a.parse::<f64>().unwrap().total_cmp(&b.parse().unwrap()));
        tables.push(rows);
    }
    for rows in tables {
        std::fs::write(folder.join("t.csv"), csv(&rows)).unwrap();
        let found: serde_json::Value = serde_json::from_str(&run(folder, "inspect t.csv --json").0).unwrap();
        assert_eq!(found["n_samples"], rows.len(), "{:?}", rows[0]);
        run(folder, "fit t.csv -k 1 -q -o m --force");
        assert_eq!(run(folder, "transform m t.csv -q").0.lines().count(), rows.len() + 1, "{:?}", rows[0]);
    }
}

#[test]
fn years_and_wavelengths_are_asked_about_or_noted() {
    let spectra: Vec<Vec<String>> =
        noise(120, 7).chunks(12).map(|row| row.iter().map(f64::to_string).collect()).collect();
    let wavelengths: Vec<String> = (0..12).map(|j| (900 + 2 * j).to_string()).collect();
    let nm = csv(&[vec![wavelengths], spectra.clone()].concat());
    let years = "country,1990,1991,1992\nFrance,5000,3,2000\nItaly,7,4000,2\nSpain,8,1,6000\n";
    let folder = folder(&[("nm.csv", &nm), ("years.csv", years)]);
    let folder = folder.path();
    let (out, err) = run(folder, "inspect nm.csv");
    assert!(out.contains("11 rows x 12 columns"), "{out}");
    assert!(err.contains("rise or fall throughout and is read as values; use --header yes"), "{err}");
    let (out, err) = run(folder, "inspect nm.csv --header yes");
    assert!(out.contains("10 rows x 12 columns") && out.contains("900 ") && err.is_empty(), "{out} {err}");
    // Each answer to the question is read, with the model as without.
    for command in ["inspect", "fit", "select", "cross-validate"] {
        assert_eq!(
            refusal(folder, &format!("{command} years.csv"), 3),
            "error: years.csv: line 1: `country, 1990, 1991, 1992` may name the columns or be the first row; use --header yes or \
             --header no\n",
            "{command}"
        );
    }
    assert!(run(folder, "inspect years.csv --header yes").0.contains("3 rows x 3 columns"));
    assert!(run(folder, "inspect years.csv --header no").0.contains("4 rows x 3 columns"));
    run(folder, "fit years.csv --header yes -k 1 -q -o m");
    assert_eq!(run(folder, "transform m years.csv").0.lines().count(), 4);
}

#[test]
fn a_first_line_of_rising_numbers_is_said_by_every_command() {
    let folder = folder(&[("t.csv", "0,1,2\n0.5,0.1,0.3\n0.25,0.5,0.125\n0.75,0.5,0.375\n")]);
    let folder = folder.path();
    let note = "note: t.csv: the first line holds numbers that rise or fall throughout and is read as values; use --header yes if \
                it holds names\n";
    for arguments in [
        "inspect t.csv",
        "fit t.csv -k 1",
        "fit t.csv -k 1 -q -o m",
        "fit t.csv -k 1 --missing=als -q -o h",
        "cross-validate t.csv -k 1 -q --folds 2",
        "fit t.csv --kernel rbf -k 1 -q",
    ] {
        assert_eq!(run(folder, arguments).1, note, "{arguments}");
    }
    let found: serde_json::Value = serde_json::from_str(&run(folder, "fit t.csv -k 1 --json").0).unwrap();
    assert_eq!((found["n_samples"].as_u64(), found["notes"].as_array().unwrap().len()), (Some(4), 1));
    for switch in ["--header=yes", "--header yes", "--header"] {
        let (out, err) = run(folder, &format!("inspect {switch} t.csv"));
        assert!(out.contains("3 rows x 3 columns") && err.is_empty(), "{switch}: {out} {err}");
    }
    for switch in ["--header=no", "--header no"] {
        let (out, err) = run(folder, &format!("inspect {switch} t.csv"));
        assert!(out.contains("4 rows x 3 columns") && err.is_empty(), "{switch}: {out} {err}");
    }
}

#[test]
fn numbers_that_name_features_are_known_again() {
    let files = [
        ("t.csv", "3,1,2\n0.5,0.1,0.3\n0.25,0.5,0.125\n0.75,0.5,0.375\n"),
        ("moved.csv", "1,2,3\n0.1,0.3,0.5\n0.5,0.125,0.25\n"),
        ("rows.csv", "1,1,2\n0.1,0.3,0.5\n"),
    ];
    let folder = folder(&files);
    let folder = folder.path();
    run(folder, "fit t.csv --header yes -k 1 -q -o m");
    let known = |file: &str| {
        format!(
            "note: {file}: the first line holds the numbers that name the model's features and is read as names; use --header no if it is data\n"
        )
    };
    let (out, err) = run(folder, "transform m t.csv");
    assert_eq!((out.lines().count(), err), (4, known("t.csv")));
    let (moved, err) = run(folder, "transform m moved.csv");
    assert_eq!(err, known("moved.csv"));
    let digits = |text: &str| text.lines().skip(1).map(|x| x.parse::<f64>().unwrap()).collect::<Vec<_>>();
    crate::assert_close(&digits(&moved), &digits(&out)[..2], 1e-9);
    assert_eq!(run(folder, "transform m rows.csv").0.lines().count(), 3);
}

#[test]
fn a_line_of_names_that_the_model_does_not_know_is_kept_with_a_note() {
    // A regression: `transform` gave more scores than rows, without a note.
    let rows = "1.5,0.25,2.5\n0.5,1.25,0.75\n2.5,1.5,0.125\n0.25,2.5,1.5\n";
    let files = [
        ("bare.csv", rows.to_owned()),
        ("y18.csv", format!("2018,2019,2020\n{rows}")),
        ("y19.csv", format!("2019,2020,2021\n{rows}")),
        ("g.csv", "0,1,2\n2,1,0\n1,2,1\n0,0,2\n2,2,0\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &text[..])).collect();
    let folder = folder(&files);
    let folder = folder.path();
    run(folder, "fit bare.csv -k 1 -q -o bare");
    run(folder, "fit y18.csv --header yes -k 1 -q -o named");
    let note = |file: &str| {
        format!(
            "note: {file}: the first line holds numbers that rise or fall throughout and is read as values; use --header yes if it \
             holds names\n"
        )
    };
    for (arguments, file) in [
        ("transform bare y18.csv -q", "y18.csv"),
        ("transform named y19.csv", "y19.csv"),
        ("reconstruct named y19.csv --from data", "y19.csv"),
    ] {
        let (out, err) = run(folder, arguments);
        assert_eq!((out.lines().count(), err), (6, note(file)), "{arguments}");
    }
    let known = "the numbers that name the model's features and is read as names";
    assert!(run(folder, "transform named y18.csv").1.contains(known));
    assert_eq!(run(folder, "transform named y18.csv --header yes").1, "");
    assert_eq!(run(folder, "transform bare bare.csv").1, "");
    // Names that are integers over integers of the same range, like a row.
    run(folder, "fit g.csv --header yes -k 1 -q -o g");
    let (out, err) = run(folder, "transform g g.csv -q");
    assert_eq!(out.lines().count(), 5);
    assert!(err.contains(known), "{err}");
    assert_eq!(run(folder, "transform g g.csv --header yes").1, "");
}

#[test]
fn a_row_written_with_decimals_is_not_a_line_of_whole_numbers() {
    // A regression: ten columns with steps of three lost their first row, with a note in the report only.
    let line = |values: &[f64]| values.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>();
    let first: Vec<f64> = (0..10).map(|j| 100.0 + 3.0 * f64::from(j)).collect();
    let mut rows = vec![line(&first)];
    rows.extend(noise(200, 11).chunks(10).map(line));
    let folder = folder(&[("t.csv", &csv(&rows)), ("w.csv", "7.0,3.0,9.0\n1.2,0.5,2.1\n0.7,1.5,0.1\n")]);
    let folder = folder.path();
    let (_, err) = run(folder, "fit t.csv -k 1 -q");
    assert!(err.contains("is read as values; use --header yes if it holds names"), "{err}");
    let (out, err) = run(folder, "inspect w.csv");
    assert!(out.contains("3 rows x 3 columns") && err.is_empty(), "{out} {err}");
}

#[test]
fn a_hole_in_the_corner_is_no_name() {
    // A regression: the table lost its first row and its first column.
    let mut rows: Vec<Vec<String>> =
        noise(120, 3).chunks(4).map(|row| row.iter().map(|x| format!("{:.2}", 10.0 * x)).collect()).collect();
    rows[0][0].clear();
    let folder = folder(&[("t.csv", &csv(&rows))]);
    let folder = folder.path();
    assert!(
        refusal(folder, "fit t.csv --missing=als -k 1 -q -o m", 3).contains("--header yes or --header no")
    );
    for fit in [
        "fit t.csv --missing=als -k 1 -q -o m --force --header no",
        "fit t.csv --missing=als -k 1 -q -o m --force --header no --row-names none",
    ] {
        run(folder, fit);
        let (out, err) = run(folder, "impute m t.csv --header no");
        let cells: Vec<usize> = out
            .lines()
            .map(|line| line.split(',').filter(|cell| cell.parse::<f64>().is_ok()).count())
            .collect();
        assert_eq!((cells, err.as_str()), (vec![4; 30], ""), "{fit}: {out}");
    }
    // An empty corner next to names in all other columns belongs to row names; next to numbers it is asked about.
    std::fs::write(folder.join("r.csv"), ",a,b\n7,5,7\n9,6,8\n8,1,2\n").unwrap();
    std::fs::write(folder.join("pandas.csv"), ",0,1,2\n0,5,7,7\n1,6,8,3\n2,1,9,4\n").unwrap();
    assert!(run(folder, "inspect r.csv").0.contains("3 rows x 2 columns"));
    assert!(refusal(folder, "inspect pandas.csv", 3).contains("--header yes or --header no"));
    assert!(run(folder, "inspect pandas.csv --header yes").0.contains("3 rows x 3 columns"));
    assert!(run(folder, "inspect r.csv --row-names none").0.contains("3 rows x 3 columns"));
    // Decimals without a name above may be data.
    std::fs::write(folder.join("d.csv"), ",a,b\n1.5,5,7\n2.5,6,8\n").unwrap();
    let (out, err) = run(folder, "inspect d.csv");
    assert!(out.contains("2 rows x 2 columns"), "{out}");
    assert!(
        err.contains("the first column has no name, holds numbers, and was taken as names of the rows"),
        "{err}"
    );
}

#[test]
fn a_row_cut_short_is_not_a_line_of_names() {
    let folder = folder(&[("t.csv", "1,2\n3,4,5\n6,7,8\n")]);
    let message = refusal(folder.path(), "fit t.csv", 3);
    assert!(
        message.contains(
            "line 1: `1, 2` has 2 fields and the lines below 3: complete it, or, if it names all columns but the first, use \
             --header yes"
        ),
        "{message}"
    );
}

#[test]
fn units_are_not_names_of_rows() {
    let files = [
        ("percent.csv", "share,a\n12%,1.5\n15%,2.5\n9%,0.5\n"),
        ("dollar.csv", "price,a\n$5,1.5\n$7,2.5\n$1,0.5\n"),
        ("kg.csv", "mass,a,b\n12kg,1.5,2\n15kg,2.5,1\n9kg,0.5,7\n"),
        ("ids.csv", "well,a,b\n1a,1.5,2\n1b,2.5,1\n2c,0.5,7\n"),
    ];
    let folder = folder(&files);
    let folder = folder.path();
    let message = refusal(folder, "fit percent.csv", 3);
    assert!(
        message.contains("`12%` is not a number here; remove the percent sign or the currency, or exclude the column with --label share"),
        "{message}"
    );
    assert!(refusal(folder, "fit dollar.csv", 3).contains("`$5` is not a number here"));
    let (out, err) = run(folder, "inspect kg.csv");
    assert!(out.contains("3 rows x 2 columns"), "{out}");
    assert!(
        err.contains("the first column holds numbers with `kg` and was taken as names of the rows"),
        "{err}"
    );
    assert_eq!(run(folder, "inspect ids.csv").1, "");
    assert_eq!(run(folder, "inspect kg.csv --row-names mass").1, "");
}

#[cfg(feature = "columnar")]
#[test]
fn numbers_with_marks_are_not_names_of_rows() {
    // A regression: each of these columns named the rows without a note.
    let folder = folder(&[]);
    let folder = folder.path();
    for (cell, advice) in [
        ("#°C", "remove what is written next to the number"),
        ("# °", "remove what is written next to the number"),
        ("#µm", "remove what is written next to the number"),
        ("#mg/l", "remove what is written next to the number"),
        ("# m/s", "remove what is written next to the number"),
        ("<0.0#", "remove what is written next to the number"),
        (">#", "remove what is written next to the number"),
        ("#*", "remove what is written next to the number"),
        ("(#)", "remove what is written next to the number"),
        ("#'000", "if its digits are in groups of thousands, use --thousands \"'\""),
        ("# 000", "if its digits are in groups of thousands, use --thousands space"),
        ("#\u{a0}000", "if its digits are in groups of thousands, use --thousands space"),
        ("₹#", "remove the percent sign or the currency"),
        ("USD #", "remove the percent sign or the currency"),
        ("\u{2212}#", "write its minus as `-`"),
        ("1.#D+03", "write its exponent with `e`"),
    ] {
        let rows: String =
            (3..9).map(|i| format!("{},{}.5,{}\n", cell.replace('#', &i.to_string()), i, i * i)).collect();
        std::fs::write(folder.join("t.csv"), format!("p,a,b\n{rows}")).unwrap();
        let message = refusal(folder, "fit t.csv", 3);
        let shown = cell.replace('#', "3").replace('\u{a0}', "\\u{a0}");
        assert!(
            message.contains(&format!(
                "t.csv: line 2: column 1 (`p`): `{shown}` is not a number here; {advice}"
            )),
            "{message}"
        );
        // Parquet stores this column as text.
        run(folder, "fit t.csv --row-names p -k 1 -q --scores s.parquet");
        let message = refusal(folder, "fit s.parquet", 3);
        let advice = match advice.contains("--thousands") {
            true => "remove the signs that group the thousands",
            false => advice,
        };
        assert!(message.contains(&format!("`{shown}` is not a number here; {advice}")), "{message}");
        std::fs::remove_file(folder.join("s.parquet")).unwrap();
    }
}

#[test]
fn names_of_rows_are_found_again_wherever_they_stand() {
    let files = [
        ("t.csv", "city,a,b\nx,1.5,2\ny,2.5,1\nz,0.5,7\n"),
        ("last.csv", "a,b,city\n1.5,2,x\n2.5,1,y\n"),
        ("bare.csv", "1.5,7,2,g\n2.5,8,1,g\n0.5,9,7,h\n"),
    ];
    let folder = folder(&files);
    let folder = folder.path();
    run(folder, "fit t.csv -k 1 -q -o m");
    let (out, _) = run(folder, "transform m last.csv");
    assert!(out.starts_with("sample,PC1\nx,"), "{out}");
    // By number, if columns have no names.
    run(folder, "fit bare.csv --row-names 2 --label 4 -k 1 -q -o n --scores s.csv");
    let (out, err) = run(folder, "transform n bare.csv");
    assert_eq!(
        (out.as_str(), err.as_str()),
        (std::fs::read_to_string(folder.join("s.csv")).unwrap().as_str(), "")
    );
    assert!(out.starts_with("sample,PC1\n\"7\","), "{out}");
    let (out, _) = run(folder, "transform n bare.csv --row-names auto");
    assert!(out.starts_with("sample,PC1\n\"7\","), "{out}");
}

#[test]
fn triples_keep_a_first_line_with_a_fault() {
    let folder =
        folder(&[("r.csv", "1,1,bad\n2,2,3\n1,2,4\n"), ("named.csv", "u,i,r\n1,1,2\n2,2,3\n1,2,4\n")]);
    let message = refusal(folder.path(), "fit r.csv --triples 1,2,3 -k 1", 3);
    assert!(message.contains("line 1: column 3: `bad` is not a number"), "{message}");
    run(folder.path(), "fit named.csv --triples 1,2,3 -k 1 --missing=als -q");
}

#[test]
fn triples_by_number_note_a_line_that_counts_columns() {
    let lines: String = (0..12).map(|e| format!("{},{},{}.5\n", e / 3, e % 3, e)).collect();
    let (counted, bare) = (format!("0,1,2\n{lines}"), lines.replacen(".5", "", 1));
    let folder = folder(&[("counted.csv", &counted), ("bare.csv", &bare)]);
    let fit = |file: &str| {
        run(folder.path(), &format!("fit {file} --triples 1,2,3 -k 1 --missing=als -q --duplicates average"))
    };
    // The fit may print more notes.
    let note = "note: counted.csv: the first line holds numbers that rise or fall throughout and is read as values; use --header \
                yes if it holds names\n";
    let said = fit("counted.csv").1;
    assert!(said.contains(note), "{said}");
    let said = fit("bare.csv").1;
    assert!(!said.contains("the first line"), "{said}");
}

#[test]
fn pairs_by_number_say_which_column_was_taken_for_what() {
    let files = [
        ("r.csv", "1,10,4\n1,20,3\n2,10,1\n2,20,2\n"),
        ("turned.csv", "column,row\n10,1\n"),
        ("item.csv", "item,user\n1,10\n"),
        ("row.csv", "row,column\n1,10\n"),
    ];
    let folder = folder(&files);
    let folder = folder.path();
    run(folder, "fit r.csv --triples 1,2,3 -k 1 --missing=als -q -o m");
    // A regression: contradicting names were ignored.
    assert!(refusal(folder, "predict m turned.csv", 2).contains("use --pairs row,column, or --pairs 1,2"));
    assert_eq!(
        run(folder, "predict m item.csv -q").1,
        "note: item.csv: `item` was taken for the rows and `user` for the columns of the model, for these are columns 1 and 2, as \
         in the fit; use --pairs item,user if that is right, --pairs user,item if not\n"
    );
    for settled in
        ["item.csv --pairs item,user", "item.csv --pairs 1,2", "row.csv", "turned.csv --pairs row,column"]
    {
        assert_eq!(run(folder, &format!("predict m {settled}")).1, "", "{settled}");
    }
}

#[test]
fn pairs_without_names_are_refused_in_the_words_that_were_typed() {
    let files = [
        ("r.csv", "user,item,rating\nann,Heat,4\nann,Up,3\nbob,Heat,1\nbob,Up,2\n"),
        ("p.csv", "ann,Heat\nbob,Up\n"),
    ];
    let folder = folder(&files);
    run(folder.path(), "fit r.csv --triples user,item,rating -k 1 --missing=als -q -o m");
    assert_eq!(
        refusal(folder.path(), "predict m p.csv", 2),
        "error: p.csv: there are no columns `user` and `item`, which hold the ids if nothing else is said; say which do, such \
         as --pairs 1,2\n"
    );
    assert_eq!(run(folder.path(), "predict m p.csv --pairs 1,2").0.lines().count(), 3);
}

#[test]
fn features_called_as_scores_are_told_from_scores() {
    let files = [("t.csv", "PC1,PC2\n1,2\n2,1.5\n0.5,7\n3,3\n"), ("s.csv", "PC1\n1\n2\n")];
    let folder = folder(&files);
    let folder = folder.path();
    run(folder, "fit t.csv -k 2 -q -o all");
    run(folder, "fit t.csv -k 1 -q -o one");
    // A regression: the rows were read as scores without a note.
    assert_eq!(
        refusal(folder, "reconstruct all t.csv", 2),
        "error: t.csv: the columns are called as the scores are, and as the features of the model; use --from scores or --from \
         data\n"
    );
    let (out, _) = run(folder, "reconstruct all t.csv --from data");
    crate::assert_close(&crate::parse_csv(&out)[1], &[2.0, 1.5], 1e-9);
    let (out, _) = run(folder, "reconstruct one t.csv");
    assert_eq!(out.lines().count(), 5);
    assert!(refusal(folder, "reconstruct one s.csv", 2).contains("use --from scores or --from data"));
    assert_eq!(run(folder, "reconstruct one s.csv --from scores").0.lines().count(), 3);
}

#[test]
fn sums_of_weights_are_short() {
    let folder = folder(&[("t.csv", "a,b,w\n1,2,1e300\n2,1,1e300\n3,7,1e300\n")]);
    let (out, _) = run(folder.path(), "fit t.csv --weights w --weighting population -k 1 -o m");
    assert!(out.contains("sum 3e300\n"), "{out}");
    assert!(run(folder.path(), "inspect m").0.contains("sum 3e300\n"));
}

#[test]
fn whole_numbers_that_are_rounded_are_said() {
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let mut header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }".to_vec();
    header.resize(0x75, b' ');
    header.push(b'\n');
    npy.extend(header);
    for value in [1_i64, 2, 3, 9_007_199_254_740_993, 5, -9_007_199_254_740_995] {
        npy.extend(value.to_le_bytes());
    }
    let matrix = "%%MatrixMarket matrix array integer general\n2 2\n1\n9007199254740993\n3\n5\n";
    let files = [
        ("t.csv", "id,b\n1,2\n3,\"9007199254740993\"\n9007199254740995,7\n"),
        ("fine.csv", "id,b\n9007199254740992,2\n9007199254740994,1e300\n9007199254740993.5,7\n"),
        ("r.csv", "u,i,r\n1,1,16777217\n2,2,3\n1,2,4\n"),
        ("t.mtx", matrix),
    ];
    let folder = folder(&files);
    let folder = folder.path();
    std::fs::write(folder.join("t.npy"), npy).unwrap();
    let note = |file: &str, place: &str, number: &str| {
        format!(
            "note: {file}: {place}: the whole number {number} was rounded, for a 64-bit floating-point number cannot hold \
             it; exclude ids, or subtract a constant before\n"
        )
    };
    let odd = "9007199254740993";
    assert_eq!(run(folder, "inspect t.csv").1, note("t.csv", "line 3, column 2 (`b`)", odd));
    assert_eq!(run(folder, "fit t.csv -k 1 -q").1, note("t.csv", "line 3, column 2 (`b`)", odd));
    assert_eq!(run(folder, "inspect t.npy").1, note("t.npy", "row 2, column 2", odd));
    assert_eq!(run(folder, "inspect t.mtx").1, note("t.mtx", "line 4", odd));
    assert_eq!(run(folder, "inspect fine.csv").1, "");
    let (_, err) = run(folder, "fit r.csv --triples u,i,r -k 1 --missing=als -q");
    assert!(
        err.contains("line 2, column 3 (`r`): the whole number 16777217 was rounded, for a 32-bit"),
        "{err}"
    );
    assert_eq!(run(folder, "fit r.csv --triples u,i,r -k 1 --missing=als -q --dtype f64").1, "");
}

#[test]
fn rows_that_are_the_features_of_a_model_are_named_with_transpose() {
    let lines: String = (0..4)
        .map(|j| {
            format!("g{j},{}\n", (0..7).map(|i| (i * (j + 2) % 5).to_string()).collect::<Vec<_>>().join(","))
        })
        .collect();
    let table = format!("gene,{}\n{lines}", (0..7).map(|i| format!("s{i}")).collect::<Vec<_>>().join(","));
    let folder = folder(&[("t.csv", &table)]);
    let folder = folder.path();
    run(folder, "fit t.csv --transpose -k 1 -q -o m");
    let message = refusal(folder, "transform m t.csv", 3);
    assert!(message.contains("use --transpose if its rows are the features of the model"), "{message}");
    let scores = run(folder, "transform m t.csv --transpose").0;
    assert_eq!(scores.lines().count(), 8, "{scores}");
}

#[test]
fn a_square_file_without_names_under_a_model_of_columns_is_asked_about() {
    let square = "1.5,2.25,4.5\n3.5,1.25,0.5\n2.5,2.5,1.75\n";
    let named = format!("a,b,c\n{square}");
    let folder = folder(&[("t.csv", square), ("named.csv", &named), ("list.txt", "a\nb\nc\n")]);
    let folder = folder.path();
    run(folder, "fit t.csv --transpose -k 1 -q -o m --scores s.csv");
    let message = refusal(folder, "transform m t.csv", 2);
    let question = "the model was fitted to a file with its samples in columns, and this one has as many rows as \
                    columns, without names; use --transpose if its samples are columns too; if they are rows, give its \
                    columns names";
    assert!(message.contains(question), "{message}");
    let of_columns = run(folder, "transform m t.csv --transpose").0;
    assert_eq!(of_columns, std::fs::read_to_string(folder.join("s.csv")).unwrap());
    let of_rows = run(folder, "transform m named.csv").0;
    assert_ne!(of_rows, of_columns);
    assert_eq!(run(folder, "transform m t.csv --feature-names list.txt").0, of_rows);
}

#[test]
fn words_and_names_with_commas_are_in_quotes() {
    let table = "\"a,b\";c\n1;2\n\"<0,5\";3\n4;1\n2;5\n3;3.5\n";
    let folder = folder(&[("t.csv", table)]);
    let folder = folder.path();
    let message = refusal(folder, "fit t.csv --missing=als -k 1", 3);
    assert!(message.contains("use --na '\"<0,5\"'"), "{message}");
    let fitted = run(folder, "fit t.csv --missing=als -k 1 --columns \"a,b\",c --na \"<0,5\" --json").0;
    let fitted: serde_json::Value = serde_json::from_str(&fitted).unwrap();
    assert_eq!(fitted["n_observed"], 9);
}

#[test]
fn signs_of_thousands_quotes_and_titles_do_not_change_the_columns() {
    let folder = folder(&[
        ("tabs.txt", "5 166,6\t4 359,4\n7 480,3\t3 697,2\n6 833,1\t3 255,3\n"),
        ("french.csv", "sales;stock\n5 166,6;4 359,4\n7 480,3;3 697,2\n6 833,1;3 255,3\n"),
        ("title.csv", "Weights of pigs\n\"1.5\",\"2.5\"\n\"1.7\",\"2.1\"\n\"1.1\",\"2.9\"\n"),
        ("plain.csv", "Results\n1.1,2\n1.5,3\n1.7,5\n"),
        ("quoted.csv", "pop,age\n\"83,644\",33\n\"48,993\",89\n\"61,201\",45\n"),
    ]);
    let folder = folder.path();
    let grouped = "if its digits are in groups of thousands, use --thousands space";
    for (name, advice, options) in [
        ("tabs.txt", grouped, "--decimal , --thousands space"),
        ("french.csv", grouped, "--decimal , --thousands space"),
        ("title.csv", "use --skip 1 if it is a title", "--skip 1"),
        ("plain.csv", "use --skip 1 if it is a title", "--skip 1"),
        ("quoted.csv", "use --decimal ',' or --thousands ','", "--thousands ,"),
    ] {
        let message = refusal(folder, &format!("inspect {name}"), 3);
        assert!(message.contains(advice), "{name}: {message}");
        let (out, _) = run(folder, &format!("inspect {name} {options}"));
        assert!(out.contains("3 rows x 2 columns"), "{name}: {out}");
    }
}

#[test]
fn advice_is_whole() {
    let words =
        ["none found", "not measured", "below the limit of detection", "sample lost on the way", "#DIV/0!"];
    let rows: String = words
        .iter()
        .enumerate()
        .map(|(i, word)| format!("{word},{i}\n{i}.5,{}\n7,8\n9,{i}\n", i + 3))
        .collect();
    let name =
        "how_satisfied_are_you_with_the_services_of_the_office_in_general_if_you_think_of_the_last_year";
    let folder =
        folder(&[("t.csv", &format!("a,b\n{rows}")), ("long.csv", &format!("a,{name}\n1,x\n2,y\n3,x\n"))]);
    let folder = folder.path();
    let message = refusal(folder, "fit t.csv --missing", 3);
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
    let message = refusal(folder, "fit long.csv", 3);
    assert!(message.contains(&format!("--label {name}")), "{message}");
}
