//! Reads files that numpy, scipy, pandas and pyarrow wrote (`tests/data/make_binary.py`).

use std::path::{Path, PathBuf};

use karhunen::Matrix;

use crate::columnar::{arrow, parquet};
use crate::input::Input;
use crate::{Buffer, Data, ReadOptions, Result, RowNames, Table, Values, matrix_market, npy, npz};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/binary")
}

fn read_with(name: &str, options: &ReadOptions) -> Result<Table> {
    let mut input = Input::open(&folder().join(name))?;
    input.path = name.into();
    match name.split('.').next_back() {
        Some("npy") => npy::read(input, options),
        Some("npz") => npz::read(input, options),
        Some("parquet") => parquet::read(input, options),
        Some("mtx") => matrix_market::read(input, options),
        _ => arrow::read(input, options),
    }
}

fn read(name: &str) -> Table {
    read_with(name, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The values as `f64`, row after row.
fn dense(table: &Table) -> Matrix {
    fn of<T: karhunen::Scalar>(values: &Values<T>) -> Matrix {
        let Values::Dense { buffer, n_rows, n_cols, column_major } = values else { panic!("not dense") };
        let values = buffer.as_slice();
        Matrix::from_fn(*n_rows, *n_cols, |i, j| {
            values[if *column_major { j * n_rows + i } else { i * n_cols + j }].to_f64()
        })
    }
    match &table.data {
        Data::F32(values) => of(values),
        Data::F64(values) => of(values),
    }
}

fn x() -> Matrix {
    Matrix::from_vec(2, 3, vec![1.5, -2.0, 3.0, 4.0, 5.25, -6.0]).unwrap()
}

fn names(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|&name| name.to_owned()).collect())
}

#[test]
fn numpy_arrays() {
    for (name, dtype, is_mapped) in [
        ("float32.npy", "f32", true),
        ("float64.npy", "f64", true),
        ("fortran.npy", "f64", true),
        ("version3.npy", "f64", true),
        ("float16.npy", "f64", false),
        ("big_endian.npy", "f64", false),
        ("one.npz", "f64", false),
    ] {
        let table = read(name);
        assert_eq!(dense(&table), x(), "{name}");
        assert_eq!(table.data.dtype(), dtype, "{name}");
        let mapped = matches!(
            table.data,
            Data::F32(Values::Dense { buffer: Buffer::Mapped { .. }, .. })
                | Data::F64(Values::Dense { buffer: Buffer::Mapped { .. }, .. })
        );
        assert_eq!(mapped, is_mapped, "{name}");
    }
    assert_eq!(dense(&read("int16.npy")).as_slice(), [1.0, -2.0, 3.0, 4.0, 5.0, -6.0]);
    assert_eq!(dense(&read("bool.npy")).as_slice(), [1.0, 0.0, 1.0, 1.0, 1.0, 0.0]);
    assert_eq!(read("vector.npy").data.shape(), (3, 1));
    let options = ReadOptions { array: Some("weights".into()), ..Default::default() };
    assert_eq!(dense(&read_with("two.npz", &options).unwrap()).as_slice(), [1.5, -2.0, 3.0]);
}

#[test]
fn scipy_matrices() {
    let text = |table: &Table| match &table.data {
        Data::F64(Values::Sparse(matrix)) => format!("{matrix:?}"),
        Data::F32(Values::Sparse(matrix)) => format!("{matrix:?}"),
        other => panic!("not sparse: {other:?}"),
    };
    let by_rows = text(&read("csr.npz"));
    assert!(by_rows.contains("n_rows: 2, n_cols: 3, major: Rows, pointers: [0, 2, 3]"), "{by_rows}");
    assert!(by_rows.ends_with("indices: U32([0, 2, 1]), values: [1.5, 3.0, 5.25] }"), "{by_rows}");
    assert_eq!(text(&read("coo.npz")), by_rows);
    let by_columns = text(&read("csc.npz"));
    assert!(by_columns.contains("major: Columns, pointers: [0, 1, 2, 3]"), "{by_columns}");
    let unsorted = read("unsorted.npz");
    assert_eq!(unsorted.data.dtype(), "f32");
    assert_eq!(
        unsorted.notes,
        [
            "the indices were unsorted or repeated: sorted",
            "1 entry stood in the same place as another: added up"
        ]
    );
    assert!(text(&unsorted).ends_with("values: [1.0, 3.0, 5.0] }"), "{}", text(&unsorted));
}

#[test]
fn every_kind_of_column() {
    let options = ReadOptions {
        labels: vec!["day".into(), "group".into()],
        weights_column: Some("weight".into()),
        ..Default::default()
    };
    for name in
        ["kinds.parquet", "kinds_uncompressed.arrow", "kinds_lz4.arrow", "kinds_zstd.arrow", "kinds.arrows"]
    {
        for n_threads in [None, Some(1), Some(3)] {
            let table = read_with(name, &ReadOptions { n_threads, ..options.clone() }).unwrap();
            assert_eq!(table.sample_names, names(&["a", "b", "c"]), "{name}");
            let columns = ["int8", "uint64", "float16", "float32", "bool", "decimal", "coded"];
            assert_eq!(table.feature_names, names(&columns), "{name}");
            let expected = [
                [1.0, 1.0, 0.5, 0.5, 1.0, 1.25, 7.5],
                [-2.0, 2.0, 1.0, 1.0, 0.0, -3.5, 8.5],
                [3.0, 9223372036854775808.0, 2.0, 2.0, 1.0, 0.0, 7.5],
            ];
            assert_eq!(dense(&table).as_slice(), expected.concat(), "{name}");
            let labels: Vec<_> = table.labels.iter().map(|label| (&*label.name, &label.values[..])).collect();
            let days = ["2024-01-01", "2024-01-02", "2024-01-03"].map(str::to_owned);
            let groups = ["x", "y", "x"].map(str::to_owned);
            assert_eq!(labels, [("day", &days[..]), ("group", &groups[..])], "{name}");
            assert_eq!(table.weights, Some(vec![1.0, 2.0, 0.5]), "{name}");
            assert_eq!(table.notes, ["the column `cell` names the rows"], "{name}");
        }
    }
}

#[test]
fn whole_numbers_that_are_rounded_are_said_in_every_format() {
    let advice = "the whole number 9007199254740993 was rounded, for a 64-bit floating-point number cannot hold it; \
                  exclude ids, or subtract a constant before";
    for (name, place) in [
        ("rounded.parquet", "row 2, column 2 (`b`): "),
        ("rounded.feather", "row 2, column 2 (`b`): "),
        ("rounded.npz", "row 2, column 2: "),
        ("rounded_csr.npz", ""),
        ("rounded_coo.npz", ""),
        ("rounded.mtx", "line 7: "),
    ] {
        assert_eq!(read(name).warnings[0].to_string(), format!("{place}{advice}"), "{name}");
    }
}

#[test]
fn every_compression_and_single_precision() {
    for name in ["gzip", "brotli", "lz4", "snappy", "zstd", "none", "float32"] {
        let table = read(&format!("{name}.parquet"));
        assert_eq!(dense(&table).as_slice(), [1.5, 4.0, -2.0, 5.25, 3.0, -6.0], "{name}");
        assert_eq!(table.data.dtype(), if name == "float32" { "f32" } else { "f64" });
    }
}

#[test]
fn options_choose_the_columns() {
    let read = |options: &ReadOptions| read_with("kinds.parquet", options).map_err(|error| error.to_string());
    let labels = |labels: &[&str]| labels.iter().map(|&label| label.to_owned()).collect::<Vec<_>>();
    let named = ReadOptions {
        row_names: RowNames::Column("int8".into()),
        labels: labels(&["cell", "group", "day"]),
        ..Default::default()
    };
    assert_eq!(read(&named).unwrap().sample_names, names(&["1", "-2", "3"]));
    let refused = [
        (
            ReadOptions::default(),
            "column 9 (`group`): holds text; exclude such columns with labels = [\"group\", \"day\"]",
        ),
        (
            ReadOptions { row_names: RowNames::None, ..Default::default() },
            "column 1 (`cell`): holds text; exclude such columns with labels = [\"cell\", \"group\", \"day\"]",
        ),
        (
            ReadOptions { labels: labels(&["group"]), ..Default::default() },
            "column 10 (`day`): holds Date32 values, not numbers; exclude such columns with labels = [\"day\"]",
        ),
        (
            ReadOptions { labels: labels(&["grup"]), ..Default::default() },
            "labels = grup: there is no such column; did you mean `group`?",
        ),
        (
            ReadOptions {
                weights_column: Some("cell".into()),
                labels: labels(&["group", "day"]),
                ..Default::default()
            },
            "column 1 (`cell`): holds Utf8 values; weights are numbers",
        ),
        (
            ReadOptions {
                weights_column: Some("weight".into()),
                labels: labels(&["weight"]),
                ..Default::default()
            },
            "labels = weight: another option already uses the column",
        ),
        (
            ReadOptions { transpose: true, ..Default::default() },
            "`transpose` does not apply to Parquet, which is read with its samples in rows; leave it out",
        ),
    ];
    for (options, expected) in refused {
        let found = read(&options).map(|table| table.notes);
        assert_eq!(found, Err(format!("kinds.parquet: {expected}")));
    }
}

#[test]
fn columns_known_to_be_no_features_are_left_out_where_they_exist() {
    let options = ReadOptions {
        fitted: Some(crate::FittedTable {
            of_file: crate::OfFile {
                set_aside: ["group", "day", "weight", "gone"].map(str::to_owned).to_vec(),
                id_column: Some("int8".into()),
                ..crate::OfFile::default()
            },
            ..crate::FittedTable::default()
        }),
        ..Default::default()
    };
    let labels = vec!["cell".to_owned()];
    for name in ["kinds.parquet", "kinds.arrows"] {
        let table = read_with(name, &ReadOptions { labels: labels.clone(), ..options.clone() }).unwrap();
        let columns = ["uint64", "float16", "float32", "bool", "decimal", "coded"];
        assert_eq!(table.feature_names, names(&columns), "{name}");
        assert_eq!(table.sample_names, names(&["1", "-2", "3"]), "{name}");
    }
}

#[test]
fn the_index_of_pandas() {
    for (name, samples, note) in [
        ("range_index", None, None),
        (
            "stored_range_index",
            None,
            Some("left out the pandas index `__index_level_0__`, which counts the rows"),
        ),
        ("text_index", names(&["r", "s"]), Some("the pandas index `__index_level_0__` names the rows")),
        ("number_index", names(&["20", "10"]), Some("the pandas index `sample` names the rows")),
    ] {
        let table = read(&format!("{name}.parquet"));
        assert_eq!(dense(&table), x(), "{name}");
        assert_eq!(table.feature_names, names(&["a", "b", "c"]), "{name}");
        assert_eq!(table.sample_names, samples, "{name}");
        assert_eq!(table.notes.first().map(String::as_str), note, "{name}");
    }
    let options = ReadOptions { row_names: RowNames::None, ..Default::default() };
    let table = read_with("text_index.parquet", &options).unwrap();
    assert_eq!((table.sample_names, table.notes.len()), (None, 1));
    let options = ReadOptions { row_names: RowNames::Column("a".into()), ..Default::default() };
    let table = read_with("text_index.parquet", &options).unwrap();
    assert_eq!((table.sample_names, table.data.shape()), (names(&["1.5", "4.0"]), (2, 2)));
}

/// Changes every byte of small files of every format, and truncates every file at every length.
#[test]
fn damaged_files_never_panic() {
    for name in
        ["snappy.parquet", "float32.parquet", "kinds_lz4.arrow", "kinds.arrows", "two.npz", "float16.npy"]
    {
        let whole = std::fs::read(folder().join(name)).unwrap();
        let read = |bytes: Vec<u8>| {
            let input = Input { path: name.into(), bytes: crate::input::Bytes::Owned(bytes) };
            match name.split('.').next_back() {
                Some("npy") => npy::read(input, &ReadOptions::default()),
                Some("npz") => npz::read(input, &ReadOptions::default()),
                Some("parquet") => parquet::read(input, &ReadOptions::default()),
                _ => arrow::read(input, &ReadOptions::default()),
            }
        };
        for at in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= flip;
                let _ = read(bytes);
            }
            assert!(read(whole[..at].to_vec()).is_err(), "{name} cut at {at}");
        }
    }
}
