//! Error messages and exit codes.

use crate::karhunen;

/// Runs in a folder with some files; returns the message without its `error: `.
fn refusal(files: &[(&str, &str)], arguments: &str, code: i32) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let done = karhunen(arguments).current_dir(folder.path()).assert().code(code).stdout("");
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    text.strip_prefix("error: ").unwrap_or_else(|| panic!("{text}")).trim_end().to_owned()
}

const TABLE: (&str, &str) = ("t.csv", "name,height,weight,sex\nann,1.6,60,f\nbob,1.8,81,m\ncid,1.7,70,m\n");

#[test]
fn a_missing_value_has_a_line_and_a_column() {
    assert_eq!(
        refusal(&[("t.csv", "a,b\n1,2\n3,\n5,6\n")], "fit t.csv", 3),
        "t.csv: line 3: column 2 (`b`): an empty cell is a missing value; PCA needs every value: drop the row or the \
         column, fill it in, or fit what was observed with --missing"
    );
}

/// The bytes of an NPY file of `n` rows.
fn array(values: &[f64], n: usize) -> Vec<u8> {
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let shape = (n, values.len() / n);
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape:?}, }}").into_bytes();
    header.resize(0x75, b' ');
    header.push(b'\n');
    npy.extend(header);
    npy.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    npy
}

#[test]
fn a_value_that_is_not_finite_in_an_array_has_a_row_and_a_column() {
    let npy = array(&[1.0, 2.0, f64::NAN, 4.0], 2);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.npy"), npy).unwrap();
    karhunen("fit x.npy").current_dir(folder.path()).assert().code(3).stdout("").stderr(
        "error: x.npy: row 2, column 1 is missing (NaN); remove or impute the row, or fit what was observed with \
         --missing\n",
    );
}

#[test]
fn columns_of_text_are_excluded_by_label() {
    let message = refusal(&[TABLE], "fit t.csv", 3);
    assert_eq!(
        message,
        "t.csv: line 2: column 4 (`sex`): `f` is not a number, and most of the column is text; exclude such \
         columns with --label sex; or analyse categories with --mca, categories and numbers with --famd"
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(TABLE.0), TABLE.1).unwrap();
    karhunen("fit t.csv --label sex --quiet")
        .current_dir(folder.path())
        .assert()
        .success()
        .stdout("")
        .stderr("");
}

#[test]
fn weights_that_are_neither_a_column_nor_a_file() {
    assert_eq!(
        refusal(&[TABLE], "fit t.csv --label sex --weights hight", 2),
        "t.csv: --weights hight: there is no such column; did you mean `height`?; and hight is not a file"
    );
}

#[test]
fn weights_that_are_both_a_column_and_a_file() {
    assert_eq!(
        refusal(&[TABLE, ("weight", "1\n2\n3\n")], "fit t.csv --label sex --weights weight", 2),
        "--weights weight is both a file and a column of t.csv; write ./weight for the file, or rename it"
    );
}

#[test]
fn weights_out_of_their_range() {
    let files = [("t.csv", "a,b,w\n1,2,1\n3,5,-2\n5,6,1\n"), ("w.txt", "w\n1\n2\n")];
    assert_eq!(
        refusal(&files, "fit t.csv --weights w", 3),
        "t.csv: the weight of row 2 is -2; weights must be finite and not negative"
    );
    assert_eq!(
        refusal(&files, "fit t.csv --weights w.txt", 3),
        "w.txt: 2 weights below a header, but 3 are needed"
    );
    let shares = [("t.csv", "a,b,w\n1,2,0.25\n3,5,0.5\n5,6,0.25\n")];
    assert_eq!(
        refusal(&shares, "fit t.csv --weights w", 2),
        "t.csv: the weights sum to 1.0, but as frequencies (the times each row was seen) they must sum to at least 2; \
         use --weighting importance for relative weights, or --weighting population"
    );
}

#[test]
fn more_components_than_there_are() {
    assert_eq!(
        refusal(&[("t.csv", "a,b\n1,2\n3,4\n5,7\n")], "fit t.csv -k 3", 2),
        "t.csv: -k 3 is more than the 3 x 2 table allows; ask for at most 2"
    );
}

#[test]
fn options_out_of_their_range() {
    let table = [("t.csv", "a,b\n1,2\n3,4\n5,7\n")];
    assert_eq!(
        refusal(&table, "fit t.csv --tol 2", 2),
        "--tol 2: a tolerance lies between 0 and 1, both excluded"
    );
    let message = refusal(&table, "fit t.csv -k 1.5", 2);
    let expected = "invalid value '1.5' for '--components <K>': give a number of at least 1, a fraction of the \
                    variance (0.95 or 95%), or all";
    assert!(message.starts_with(expected), "{message}");
    assert!(refusal(&table, "fit t.csv --whiten", 2).contains("--scores <FILE>"));
    assert!(refusal(&table, "fit t.csv --layer x", 2).starts_with("t.csv: --layer does not apply"));
}

#[test]
fn files_that_are_not_there_or_cannot_be_written() {
    let message = refusal(&[], "fit nope.csv", 4);
    assert!(message.starts_with("nope.csv: opening failed: "), "{message}");
    let message = refusal(&[("t.csv", "a,b\n1,2\n3,4\n")], "fit tt.csv", 4);
    assert!(message.ends_with("; did you mean t.csv?"), "{message}");
    assert_eq!(
        refusal(&[("t.csv", "a,b\n1,2\n3,4\n5,7\n")], "fit t.csv -o no/where", 4),
        "no/where: writing failed: there is no folder no; make it first"
    );
    assert_eq!(
        refusal(&[("t.csv", "a,b\n1,2\n3,4\n5,7\n")], "fit t.csv --scores s.xlsx", 2),
        "s.xlsx: the name ends in .xlsx; give one that ends in .csv, .tsv, .npy or .parquet"
    );
}

#[test]
fn usage_errors_are_two() {
    for arguments in ["", "fit", "transform a b c", "nonsense", "fit x --solver fast", "fit x --threads 0"] {
        karhunen(arguments).assert().code(2).stdout("");
    }
}

#[test]
fn a_missing_value_in_a_row_of_weight_zero_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let npy = array(&[1.0, 2.0, 3.0, 1.0, 2.0, 5.0, 4.0, f64::NAN, 4.0, 4.0], 5);
    std::fs::write(folder.path().join("x.npy"), npy).unwrap();
    std::fs::write(folder.path().join("w.txt"), "1\n1\n1\n0\n2\n").unwrap();
    for options in ["-k 1", "--kernel rbf -k 1"] {
        let fit = format!("fit x.npy --weights w.txt {options}");
        let done = karhunen(&fit).current_dir(folder.path()).assert().failure();
        let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
        assert!(text.contains("row 4, column 2 is NaN; the row has weight zero"), "{text}");
    }
}

#[test]
fn variances_below_the_range_of_numbers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), "a,b\n1e-200,2e-200\n3e-200,1e-200\n2e-200,5e-200\n")
        .unwrap();
    let done = karhunen("fit t.csv").current_dir(folder.path()).assert().failure();
    let text = String::from_utf8(done.get_output().stderr.clone()).unwrap();
    assert!(text.contains("below the range of f64, of which column 2 (`b`) has the largest"), "{text}");
    karhunen("fit t.csv --scale").current_dir(folder.path()).assert().success();
}
