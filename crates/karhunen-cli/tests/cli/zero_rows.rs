//! Tables without rows, in every format: a command that applies a model writes a table without rows, `inspect` describes
//! it, and a fit refuses it with its shape.

use std::path::{Path, PathBuf};

use crate::karhunen;

const COLUMNS: usize = 5;

/// A table of the columns a to e in every format, without a row.
fn tables(folder: &Path) -> Vec<PathBuf> {
    let binary = Path::new(env!("CARGO_MANIFEST_DIR")).join("../karhunen-io/tests/data/binary");
    let mut tables: Vec<PathBuf> = ["npy", "npz", "parquet", "feather"]
        .iter()
        .map(|end| binary.join(format!("zero_rows.{end}")))
        .collect();
    for (name, content) in [
        ("z.csv", "a,b,c,d,e\n"),
        ("z.tsv", "a\tb\tc\td\te"),
        ("z.mtx", "%%MatrixMarket matrix coordinate real general\n0 5 0\n"),
        ("array.mtx", "%%MatrixMarket matrix array real general\n0 5\n"),
    ] {
        std::fs::write(folder.join(name), content).unwrap();
        tables.push(folder.join(name));
    }
    tables
}

/// Models of complete data, of a kernel and of incomplete data, with the names of the columns.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..12)
        .map(|i| {
            (0..COLUMNS)
                .map(|j| format!("{}", (i * 7 + j * j * 5 + i * j) % 11))
                .collect::<Vec<_>>()
                .join(",")
                + "\n"
        })
        .collect();
    std::fs::write(folder.path().join("t.csv"), format!("a,b,c,d,e\n{rows}")).unwrap();
    for fit in [
        "-k 2 -o pca",
        "-k 2 --kernel rbf --gamma 0.1 --pre-image ridge -o kernel",
        "-k 2 --missing=als -o missing",
    ] {
        karhunen(&format!("fit t.csv -q {fit}")).current_dir(folder.path()).assert().success();
    }
    folder
}

fn output(folder: &Path, arguments: &str) -> String {
    let done = karhunen(arguments).current_dir(folder).assert().success().stderr("");
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[cfg(feature = "columnar")]
#[test]
fn models_turn_no_rows_into_no_rows() {
    // A regression: NPY, Parquet and Arrow panicked (`min > max. min = 1, max = 0`), text and Matrix Market were
    // refused.
    let folder = folder();
    let folder = folder.path();
    for table in tables(folder) {
        let table = table.display();
        for model in ["pca", "kernel", "missing"] {
            assert_eq!(output(folder, &format!("transform {model} {table}")), "PC1,PC2\n", "{model} {table}");
            assert_eq!(
                output(folder, &format!("reconstruct {model} {table} --from data")),
                "a,b,c,d,e\n",
                "{model} {table}"
            );
        }
        let filled = output(folder, &format!("impute missing {table}"));
        assert!(
            ["a,b,c,d,e\n", "x1,x2,x3,x4,x5\n", "a\tb\tc\td\te"].contains(&filled.as_str()),
            "{table}: {filled}"
        );
    }
    for (end, expected) in
        [("npy", "0 rows x 2 columns"), ("parquet", "0 rows x 2 columns"), ("csv", "0 rows x 2 columns")]
    {
        output(folder, &format!("transform pca z.csv -o s.{end}"));
        assert!(output(folder, &format!("inspect s.{end}")).contains(expected), "{end}");
        assert_eq!(output(folder, &format!("reconstruct pca s.{end} --from scores")), "a,b,c,d,e\n", "{end}");
        assert_eq!(
            output(folder, &format!("reconstruct missing s.{end} --from scores")),
            "a,b,c,d,e\n",
            "{end}"
        );
    }
}

#[test]
fn names_of_rows_are_known_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("t.csv"), "city,a,b\nx,1,2\ny,3,5\nz,2,7\n").unwrap();
    std::fs::write(folder.join("z.csv"), "city,a,b\n").unwrap();
    output(folder, "fit t.csv -k 1 -q -o m");
    assert_eq!(output(folder, "transform m z.csv"), "sample,PC1\n");
}

#[test]
fn no_pairs_are_predicted_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("r.csv"), "user,item,rating\nann,Heat,4\nann,Up,3\nbob,Heat,1\nbob,Up,2\n")
        .unwrap();
    std::fs::write(folder.join("p.csv"), "user,item\n").unwrap();
    output(folder, "fit r.csv --triples user,item,rating -k 1 --missing=vb -q -o m");
    assert_eq!(output(folder, "predict m p.csv"), "user,item,value,std\n");
}

#[test]
fn a_model_takes_no_triples_as_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("r.csv"), "1,10,4\n1,20,3\n2,10,1\n2,20,2\n").unwrap();
    std::fs::write(folder.join("t.csv"), "user,item,rating\n").unwrap();
    std::fs::write(folder.join("p.csv"), "user,item\n").unwrap();
    output(folder, "fit r.csv --triples 1,2,3 -k 1 --missing=als -q -o m");
    // A regression: the first was refused, and the names of the second were reported as an unknown id.
    assert_eq!(output(folder, "transform m t.csv").lines().count(), 1);
    assert_eq!(output(folder, "predict m p.csv --pairs 1,2"), "user,item,value,std\n");
    let done = karhunen("fit t.csv --triples 1,2,3").current_dir(folder).assert().code(3);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("has names but no rows"));
}

#[test]
fn a_column_too_many_is_refused_without_rows_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("t.csv"), "1.5,2,1\n2.5,1,3\n0.5,4,\n3,3,2\n").unwrap();
    std::fs::write(folder.join("z.csv"), "a,b,c,d\n").unwrap();
    output(folder, "fit t.csv -k 1 --missing=als -q -o m");
    // A regression: the first of four columns was read as row names.
    let done = karhunen("impute m z.csv").current_dir(folder).assert().code(3).stdout("");
    let message = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(message.contains("4 columns, but the model was fitted to 3"), "{message}");
}

#[test]
fn no_rows_are_described_and_refused_with_their_shape() {
    let folder = folder();
    let folder = folder.path();
    for table in tables(folder) {
        let table = table.display();
        let text = output(folder, &format!("inspect {table}"));
        assert!(text.contains("0 rows x 5 columns") && !text.contains("NaN"), "{text}");
        for fit in
            ["fit", "fit --missing", "fit --kernel rbf", "fit --missing=vb -k 1", "cross-validate -k 1"]
        {
            let (command, options) = fit.split_once(' ').unwrap_or((fit, ""));
            let done = karhunen(&format!("{command} {table} {options}"))
                .current_dir(folder)
                .assert()
                .code(3)
                .stdout("");
            let message = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
            assert!(
                message.contains("(0, 5) hold no values") && message.starts_with("error: "),
                "{fit}: {message}"
            );
        }
    }
}
