//! The output of `predict`: the requested ids, under the column names of the pairs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use karhunen::Run;
use karhunen_io::{AnyModel, Data, ReadOptions, Values, load_any_model, read};
use tempfile::TempDir;

use crate::karhunen;

/// Triples with integer ids, with and without a header.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let triples: String = (0..48)
        .filter(|e| e % 5 != 2)
        .map(|e| format!("{},{},{}\n", 100 + e / 4, 7 * (e % 4), (1 + e / 4) * (2 + e % 4)))
        .collect();
    for (name, header) in [("bare.csv", ""), ("named.csv", "user,item,rating\n")] {
        std::fs::write(folder.path().join(name), format!("{header}{triples}")).unwrap();
        let fit = format!("fit {name} --triples 1,2,3 --missing=em -k 1 -q -o {name}.model");
        karhunen(&fit).current_dir(folder.path()).assert().success();
    }
    folder
}

fn lines(folder: &TempDir, model: &str, pairs: &str, arguments: &str) -> Vec<String> {
    std::fs::write(folder.path().join("p.csv"), pairs).unwrap();
    let command = format!("predict {model}.model p.csv {arguments}");
    let done = karhunen(&command).current_dir(folder.path()).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn columns_by_number_have_the_names_of_the_file() {
    let folder = folder();
    for model in ["bare.csv", "named.csv"] {
        for (pairs, header) in
            [("100,7\n101,14\n", "row,column,value,std"), ("who,what\n100,7\n101,14\n", "who,what,value,std")]
        {
            let found = lines(&folder, model, pairs, "");
            assert_eq!((found.len(), &found[0][..]), (3, header), "{found:?}");
        }
        let found = lines(&folder, model, "what,who\n7,100\n", "--pairs 2,1");
        assert!(found[0] == "who,what,value,std" && found[1].starts_with("100,7,"), "{found:?}");
    }
}

#[test]
fn intervals_are_of_normal_errors_or_of_entries_held_out() {
    let folder = folder();
    let numbers = |model: &str, arguments: &str| -> Vec<f64> {
        let found = lines(&folder, model, "row,column\n100,7\n", arguments);
        assert_eq!(found[0], "row,column,value,std,lower,upper");
        found[1].split(',').skip(2).map(|x| x.parse().unwrap()).collect()
    };
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0));
    let [value, std, lower, upper] = numbers("named.csv", "--interval 95%")[..] else {
        panic!("four numbers")
    };
    near(lower, value - 1.959_963_984_540_054 * std);
    near(upper, value + 1.959_963_984_540_054 * std);
    let fit = "fit named.csv --triples 1,2,3 --missing=em -k 1 --conformal=0.4 -o aside.model";
    let done = karhunen(fit).current_dir(folder.path()).assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("too few entries were held out for 95%"), "{text}");
    let [value, std, lower, upper] = numbers("aside", "--interval 0.8")[..] else { panic!("four numbers") };
    near((upper - value) / std, (value - lower) / std);
    let refused = |command: &str| {
        let done = karhunen(command).current_dir(folder.path()).assert().code(2);
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    };
    let text = refused("predict aside.model p.csv --interval 0.99");
    assert!(text.contains("--interval 0.99: errors of") && text.contains("up to the level 0.9"), "{text}");
    assert!(
        refused("predict named.csv.model p.csv --interval 95")
            .contains("--interval 95: a level lies between")
    );
    let bare = "fit named.csv --triples user,item,rating -k 1 --no-error-bars -q -o n.model --conformal";
    assert!(refused(bare).contains("--conformal"));
}

#[cfg(feature = "columnar")]
#[test]
fn ids_that_are_whole_numbers_are_written_as_such() {
    let folder = folder();
    let found = lines(&folder, "named.csv", "user,item\n100,7\n101,14\n", "");
    assert!(found[1].starts_with("100,7,") && found[2].starts_with("101,14,"), "{found:?}");
    // An id that is not an integer makes its column text, which must be quoted.
    let found = lines(&folder, "named.csv", "user,item\n100,7\nnobody,14\n0101,14\n", "--unknown nan");
    assert!(found[1].starts_with("\"100\",7,") && found[2].starts_with("nobody,14,"), "{found:?}");
    assert!(found[3].starts_with("\"0101\",14,"), "{found:?}");
    // The output is valid input, also as Parquet.
    for file in ["o.csv", "o.parquet"] {
        let found = lines(&folder, "named.csv", "user,item\n100,7\n", &format!("-o {file}"));
        assert!(found.is_empty());
        let again = format!("predict named.csv.model {file} --pairs user,item");
        let done = karhunen(&again).current_dir(folder.path()).assert().success();
        let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
        assert!(text.starts_with("user,item,value,std\n100,7,"), "{text}");
    }
}

/// Numbers of rows and columns of [`fit_table`].
const SHAPE: (usize, usize) = (500, 40);

/// Fits a table with names that are not integers, in `t.model`.
fn fit_table(folder: &Path, more: &[&str]) {
    let mut text = (0..SHAPE.1).fold("id".to_owned(), |line, j| line + &format!(",c{j}"));
    for i in 0..SHAPE.0 {
        write!(text, "\nr{i}").unwrap();
        for j in 0..SHAPE.1 {
            match (i * 7 + j * 3) % 5 {
                0 => text.push_str(",NA"),
                _ => write!(text, ",{}", (i % 11) * (j % 7) + (i * 31 + j * 17) % 13).unwrap(),
            }
        }
    }
    std::fs::write(folder.join("t.csv"), text + "\n").unwrap();
    let fit = ["fit", "t.csv", "--missing=als", "-k", "2", "--max-iter", "3", "-q", "-o", "t.model"];
    karhunen("").args(fit).args(more).current_dir(folder).assert().success();
}

/// Row and column of the pair with this number.
fn pair(e: usize) -> (usize, usize) {
    ((e * 7919 + e / 1000) % SHAPE.0, (e * 104_729 + e / 77) % SHAPE.1)
}

/// A text of several blocks.
fn wanted(folder: &Path, name: &str, n_pairs: usize) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(folder.join(name)).unwrap());
    file.write_all(b"row,column\n").unwrap();
    for (i, j) in (0..n_pairs).map(pair) {
        writeln!(file, "r{i},c{j}").unwrap();
    }
    file.flush().unwrap();
}

fn zipped(folder: &Path, from: &str, to: &str) {
    let file = std::fs::File::create(folder.join(to)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    std::io::copy(&mut std::fs::File::open(folder.join(from)).unwrap(), &mut gzip).unwrap();
    gzip.finish().unwrap();
}

fn predict(folder: &Path, pairs: &str, output: &str, more: &str) {
    let command = format!("predict t.model {pairs} -q --force -o {output} {more}");
    karhunen(&command).current_dir(folder).assert().success();
}

#[cfg(feature = "columnar")]
#[test]
fn predictions_of_many_blocks_agree_with_the_library() {
    const N: usize = 500_000;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit_table(folder, &[]);
    wanted(folder, "p.csv", N);
    assert!(std::fs::metadata(folder.join("p.csv")).unwrap().len() > 3 << 20);
    let AnyModel::Incomplete(saved) = load_any_model(&folder.join("t.model")).unwrap() else {
        panic!("complete data")
    };
    let place = |ids: &Option<karhunen_io::Ids>, name: String| {
        ids.as_ref().unwrap().texts().iter().position(|id| *id == name).unwrap() as u64
    };
    let rows: Vec<u64> = (0..SHAPE.0).map(|i| place(&saved.extras.row_ids, format!("r{i}"))).collect();
    let columns: Vec<u64> = (0..SHAPE.1).map(|j| place(&saved.extras.column_ids, format!("c{j}"))).collect();
    let (rows, columns): (Vec<u64>, Vec<u64>) = (0..N).map(pair).map(|(i, j)| (rows[i], columns[j])).unzip();
    let expected = saved.model.predict_pairs(&rows, &columns, Some(true), &Run::default()).unwrap();
    predict(folder, "p.csv", "o.npy", "");
    let Data::F64(Values::Dense { buffer, .. }) =
        read(&folder.join("o.npy"), &ReadOptions::default()).unwrap().data
    else {
        panic!("not an array of f64")
    };
    assert!(buffer.as_slice() == expected.as_slice());
    predict(folder, "p.csv", "o.csv", "");
    let text = std::fs::read_to_string(folder.join("o.csv")).unwrap();
    assert_eq!(text.lines().count(), N + 1);
    for (e, line) in text.lines().skip(1).enumerate().step_by(9973) {
        let (i, j) = pair(e);
        let [value, std] = [0, 1].map(|k| expected[(e, k)]);
        assert_eq!(line, format!("r{i},c{j},{value:?},{std:?}").replace(".0,", ","), "{e}");
    }
    // Neither threads, limit, compression nor format change a byte; predictions are pairs again.
    zipped(folder, "p.csv", "p.csv.gz");
    predict(folder, "p.csv", "o.parquet", "");
    for (pairs, more) in [
        ("p.csv", "--threads 1"),
        ("p.csv", "--threads 2 --memory-limit 40MB"),
        ("p.csv.gz", "--memory-limit 4MB"),
        ("o.parquet", "--pairs row,column"),
        ("o.parquet", "--pairs row,column --memory-limit 40MB --threads 1"),
    ] {
        predict(folder, pairs, "again.csv", more);
        assert!(std::fs::read_to_string(folder.join("again.csv")).unwrap() == text, "{pairs} {more}");
    }
    predict(folder, "p.csv", "again.parquet", "--threads 1");
    let bytes = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(bytes("o.parquet") == bytes("again.parquet"));
}

#[test]
fn an_id_that_is_not_an_integer_in_a_late_block_makes_its_column_text() {
    let folder = folder();
    let pairs: String = (0..250_000).map(|e| format!("{},{}\n", 100 + e % 12, 7 * (e % 4))).collect();
    assert!(pairs.len() > 3 << 19);
    let last = |more: &str| {
        let found = lines(&folder, "named.csv", &format!("user,item\n{pairs}{more}"), "--unknown nan -q");
        (found[1].clone(), found.last().unwrap().clone())
    };
    let (first, end) = last("");
    assert!(first.starts_with("100,0,") && end.starts_with("103,21,"), "{first} {end}");
    let (first, end) = last("0101,14\n");
    assert!(first.starts_with("\"100\",0,"), "{first}");
    assert_eq!(end, "\"0101\",14,NaN,NaN");
}

#[test]
fn a_wrong_pair_in_a_late_block_leaves_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit_table(folder, &["--no-error-bars"]);
    wanted(folder, "p.csv", 400_000);
    let pairs = std::fs::read_to_string(folder.join("p.csv")).unwrap();
    let names = || -> Vec<String> {
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    let before = names().len();
    for (line, said) in [
        ("r1,nowhere\n", "p.csv: line 400002: the model does not know the column `nowhere`; drop the line"),
        ("r1,c2,c3\n", "p.csv: line 400002: "),
        (",c3\n", "p.csv: line 400002: column 1 (`row`): "),
    ] {
        std::fs::write(folder.join("p.csv"), format!("{pairs}{line}r1,c1\n")).unwrap();
        for output in ["o.csv", "-"] {
            let command = format!("predict t.model p.csv -o {output}");
            let done = karhunen(&command).current_dir(folder).assert().code(3);
            let error = String::from_utf8(done.get_output().stderr.clone()).unwrap();
            assert!(error.contains(said), "{error}");
            assert!(done.get_output().stdout.is_empty());
            assert_eq!(names().len(), before, "{:?}", names());
        }
    }
}

#[cfg(feature = "columnar")]
#[cfg(target_os = "linux")]
#[test]
fn the_memory_does_not_grow_with_the_pairs() {
    use std::process::{Command, Stdio};
    /// Bytes: a third of the text, and less than the pairs as two numbers of 4 bytes.
    const MOST: f64 = 48e6;
    /// Parquet is packed and unpacked in groups of rows.
    const MOST_OF_PARQUET: f64 = 72e6;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fit_table(folder, &["--no-error-bars"]);
    wanted(folder, "p.csv", 16_000_000);
    assert!(std::fs::metadata(folder.join("p.csv")).unwrap().len() as f64 > 2.8 * MOST);
    zipped(folder, "p.csv", "p.csv.gz");
    let predict = |pairs: &str, output: &str, most_allowed: f64| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_karhunen"));
        let command = command.current_dir(folder).stdout(Stdio::null());
        command.args([
            "predict",
            "t.model",
            pairs,
            "-q",
            "--threads",
            "2",
            "--memory-limit",
            "40MB",
            "--force",
            "-o",
            output,
        ]);
        let (status, most) = crate::larger::run_to_its_peak(command);
        assert!(status.success(), "{pairs}");
        assert!(most > 5e6 && most < most_allowed, "{pairs} {output}: {most} bytes");
    };
    predict("p.csv", "p.parquet", MOST_OF_PARQUET);
    predict("p.csv", "o.npy", MOST);
    predict("p.csv.gz", "o.npy", MOST);
    predict("p.parquet", "-", MOST_OF_PARQUET);
}

#[test]
fn a_noise_of_each_column_needs_no_scale() {
    let fit = "fit wine.csv --label class --missing=ppca --noise feature -k 2";
    let done = karhunen(fit).assert().success();
    let (told, hints) = (&done.get_output().stdout, &done.get_output().stderr);
    assert!(String::from_utf8_lossy(told).contains("divided by the deviations of their noise"));
    // Columns of unlike units hide one another only where they have one noise.
    assert!(!String::from_utf8_lossy(hints).contains("--scale"));
    let refused = karhunen(&format!("{fit} --scale")).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        message.contains("--noise feature: features are divided by their noise: leave --scale out"),
        "{message}"
    );
}
