//! Text tables, Matrix Market and weights from files, and tables written and read back.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::values::visited;
use karhunen::Matrix;
use karhunen::matrix::{Major, SparseMatrix};
use karhunen::source::Block;
use karhunen_io::{
    Buffer, Data, ErrorKind, NamedMatrix, ReadOptions, Table, Values, read, read_weights, write_table,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/text").join(name)
}

/// The rows of a dense table, read as a fit reads them.
fn rows(table: &Table) -> Vec<Vec<f64>> {
    let Data::F64(values) = &table.data else { panic!("not f64: {table:?}") };
    let mut rows = Vec::new();
    let mut push = |_: usize, block: Block<'_, f64>| {
        let Block::Dense(block) = block else { panic!("a sparse block") };
        for i in 0..block.n_rows() {
            rows.push((0..block.n_cols()).map(|j| block.get(i, j)).collect());
        }
        Ok(())
    };
    values.source().unwrap().visit(&mut push).unwrap();
    rows
}

fn read_text(name: &str, content: &[u8], options: &ReadOptions) -> karhunen_io::Result<Table> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    read(&path, options)
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn real_tables_have_their_published_means() {
    let iris =
        read(&data("iris.csv"), &ReadOptions { labels: vec!["class".into()], ..ReadOptions::default() })
            .unwrap();
    let mean = |rows: &[Vec<f64>], j: usize| rows.iter().map(|row| row[j]).sum::<f64>() / rows.len() as f64;
    let values = rows(&iris);
    assert_eq!(iris.data.shape(), (150, 4));
    for (j, published) in [5.8433, 3.0573, 3.7580, 1.1993].into_iter().enumerate() {
        assert!((mean(&values, j) - published).abs() < 5.1e-5, "column {j}");
    }
    assert_eq!(iris.labels[0].values.iter().filter(|class| *class == "2").count(), 50);
    let wine = read(&data("wine.csv"), &ReadOptions::default()).unwrap();
    assert_eq!(wine.data.shape(), (178, 14));
    assert!((mean(&rows(&wine), 0) - 13.0006).abs() < 5.1e-5);
    assert_eq!(wine.feature_names.unwrap()[0], "alcohol");
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_packed_file_is_read_as_the_file_inside() {
    let plain = std::fs::read(data("wine.csv")).unwrap();
    let expected = rows(&read(&data("wine.csv"), &ReadOptions::default()).unwrap());
    let packed = [
        ("wine.csv.gz", gzip(&plain)),
        ("wine.csv.zip", zipped(&[("wine.csv", &plain)])),
        #[cfg(feature = "compression")]
        ("wine.csv.zst", zstd::encode_all(&plain[..], 1).unwrap()),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in packed {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        for memory_limit in [None, Some(1)] {
            let options = ReadOptions { memory_limit, ..ReadOptions::default() };
            assert_eq!(visited(&read(&path, &options).unwrap()).unwrap(), expected.concat(), "{name}");
        }
    }
    // The packed files of a folder are its parts.
    let parts = karhunen_io::read_tables(&[folder.path().to_owned()], &ReadOptions::default()).unwrap();
    let n_parts = if cfg!(feature = "compression") { 3 } else { 2 };
    assert_eq!(parts.data.shape(), (n_parts * expected.len(), expected[0].len()));
}

#[test]
fn a_format_that_is_not_read_is_refused_before_all_of_it_is_unpacked() {
    let variants = [&b"##fileformat=VCFv4.2\n"[..], &vec![b'#'; 1 << 20]].concat();
    let options = ReadOptions { max_unpacked: Some(100_000), ..ReadOptions::default() };
    for (name, content) in [("x.vcf.gz", gzip(&variants)), ("x.zip", zipped(&[("x.vcf", &variants)]))] {
        let message = read_text(name, &content, &options).unwrap_err().to_string();
        assert!(message.contains("is a VCF file of variants, which is not read"), "{message}");
        assert!(message.contains("--max-alleles 2 --make-bed"), "{message}");
    }
    let two = zipped(&[("a.csv", b"1,2\n"), ("b.csv", b"1,2\n")]);
    let message = read_text("x.zip", &two, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("is a zip archive without arrays, which is not read"), "{message}");
}

#[test]
fn numbers_of_rows_and_columns_are_read_to_what_they_may_take() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w");
    std::fs::write(&path, gzip(&vec![b'1'; 4 << 20])).unwrap();
    let message = read_weights(&path, Some(3)).unwrap_err().to_string();
    assert!(
        message.ends_with("w: holds more than 1.1 MB, too much for 3 weights; keep the weights alone"),
        "{message}"
    );
    std::fs::write(&path, vec![b'1'; 4 << 20]).unwrap();
    assert_eq!(read_weights(&path, Some(3)).unwrap_err().to_string(), message);
    #[cfg(unix)]
    {
        let message = read_weights("/dev/zero".as_ref(), Some(3)).unwrap_err().to_string();
        assert!(message.starts_with("/dev/zero: holds more than 1.1 MB, too much"), "{message}");
        let message = karhunen_io::load_any_model("/dev/zero".as_ref()).unwrap_err().to_string();
        assert!(message.starts_with("/dev/zero: is not a karhunen model file"), "{message}");
        let message = karhunen_io::load_checkpoint("/dev/zero".as_ref()).unwrap_err().to_string();
        assert!(message.starts_with("/dev/zero: is not a checkpoint"), "{message}");
    }
    let message = karhunen_io::load_any_model(folder.path()).unwrap_err().to_string();
    assert!(
        message.ends_with("is a folder, not a model; give a file that `karhunen fit -o` wrote"),
        "{message}"
    );
}

#[test]
fn a_name_that_a_text_cannot_hold_is_refused_on_writing() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_vec(2, 1, vec![1.0, 4.0]).unwrap();
    let table = NamedMatrix {
        matrix: &matrix,
        row_names: None,
        row_header: "",
        labels: &[],
        column_names: &["n\0ul".to_owned()],
        numeric_ids: false,
    };
    let path = folder.path().join("x.csv");
    let message = write_table(&path, &table).unwrap_err().to_string();
    assert!(message.contains("a name holds a NUL byte, which no text table can"), "{message}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    write_table(&folder.path().join("x.npy"), &table).unwrap();
}

#[test]
fn a_file_named_tsv_is_cut_at_tabs() {
    // By the numbers alone, commas would score higher.
    let content = b"n,1,2\ta\nx,3,4\tb\ny,5,6\tb\nn,5,6\tb\n";
    let fields = |name: &str| match read_text(name, content, &ReadOptions::default()) {
        Ok(table) => format!("{:?}", table.feature_names),
        Err(error) => error.to_string(),
    };
    assert!(fields("t.tsv").contains("column 2 (`a`): `b` is not a number"), "{}", fields("t.tsv"));
    assert!(fields("t.txt").contains("line 1: column 1: `n` is not a number"), "{}", fields("t.txt"));
}

/// Compares sparse matrices by their debug text, since the public API does not list stored entries.
fn assert_sparse(table: &Table, n_rows: usize, n_cols: usize, entries: &[(u32, u32, f64)]) {
    let Data::F64(Values::Sparse(found)) = &table.data else { panic!("not sparse: {table:?}") };
    let rows: Vec<u32> = entries.iter().map(|e| e.0).collect();
    let columns: Vec<u32> = entries.iter().map(|e| e.1).collect();
    let values: Vec<f64> = entries.iter().map(|e| e.2).collect();
    let expected = SparseMatrix::from_triples(n_rows, n_cols, &rows, &columns, &values).unwrap();
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    assert_eq!(found.view().major(), Major::Rows);
}

#[test]
fn coordinates_of_every_kind_are_read() {
    let default = ReadOptions::default;
    let read = |kind: &str, body: &str, options: &ReadOptions| {
        let content = format!("%%MatrixMarket matrix coordinate {kind}\n% a comment\n\n{body}");
        read_text("m.mtx", content.as_bytes(), options).unwrap()
    };
    let general = "2 3 3\n1 1 1.5\n2 3 -2e0\n1 2 4\n";
    assert_sparse(
        &read("real general", general, &default()),
        2,
        3,
        &[(0, 0, 1.5), (0, 1, 4.0), (1, 2, -2.0)],
    );
    let transpose = ReadOptions { transpose: true, ..default() };
    assert_sparse(
        &read("real general", general, &transpose),
        3,
        2,
        &[(0, 0, 1.5), (1, 0, 4.0), (2, 1, -2.0)],
    );
    let crlf = general.replace('\n', "\r\n");
    assert_sparse(&read("REAL General", &crlf, &default()), 2, 3, &[(0, 0, 1.5), (0, 1, 4.0), (1, 2, -2.0)]);
    let pattern = read("pattern general", "2 2 2\n1 2\n2\t1\n", &default());
    assert_sparse(&pattern, 2, 2, &[(0, 1, 1.0), (1, 0, 1.0)]);
    let symmetric = read("integer symmetric", "2 2 2\n1 1 3\n2 1 5\n", &default());
    assert_sparse(&symmetric, 2, 2, &[(0, 0, 3.0), (0, 1, 5.0), (1, 0, 5.0)]);
    let skew = read("real skew-symmetric", "2 2 1\n2 1 5\n", &default());
    assert_sparse(&skew, 2, 2, &[(0, 1, -5.0), (1, 0, 5.0)]);
    let repeated = read("real general", "2 2 3\n2 1 5\n1 1 1\n2 1 0.5", &default());
    assert_sparse(&repeated, 2, 2, &[(0, 0, 1.0), (1, 0, 5.5)]);
    assert_eq!(repeated.notes, ["1 entry repeats the place of another and was added to it"]);
    assert!(symmetric.notes.is_empty());
    assert_sparse(&read("real general", "2 2 0\n", &default()), 2, 2, &[]);
}

#[test]
fn arrays_of_every_kind_are_read() {
    let read = |kind: &str, body: &str, transpose: bool| {
        let content = format!("%%MatrixMarket matrix array {kind}\n{body}");
        rows(
            &read_text("m.mtx", content.as_bytes(), &ReadOptions { transpose, ..Default::default() })
                .unwrap(),
        )
    };
    let general = "2 3\n1\n2\n3\n4\n5\n6\n";
    assert_eq!(read("real general", general, false), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
    assert_eq!(read("integer general", general, true), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    let triangle = "3 3\n1\n2\n3\n4\n5\n6\n";
    let full = [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]];
    assert_eq!(read("real symmetric", triangle, false), full);
    let skew = [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]];
    assert_eq!(read("real skew-symmetric", "3 3\n1\n2\n3\n", false), skew);
    let transposed = [[0.0, 1.0, 2.0], [-1.0, 0.0, 3.0], [-2.0, -3.0, 0.0]];
    assert_eq!(read("real skew-symmetric", "3 3\n1\n2\n3\n", true), transposed);
}

#[test]
fn a_real_sparse_matrix_is_read_in_either_orientation() {
    for (transpose, shape) in [(false, (1850, 712)), (true, (712, 1850))] {
        let options = ReadOptions { transpose, ..ReadOptions::default() };
        let table = read(&data("propack_1850x712.mtx.gz"), &options).unwrap();
        let Data::F64(Values::Sparse(matrix)) = &table.data else { panic!("not sparse") };
        assert_eq!((table.data.shape(), matrix.view().n_stored()), (shape, 8636));
    }
    let options = ReadOptions { labels: vec!["x".into()], ..ReadOptions::default() };
    let error = read(&data("propack_1850x712.mtx.gz"), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
}

#[test]
fn weights_are_one_column_of_text_or_an_array() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w");
    let weights = |content: &[u8], n| {
        std::fs::write(&path, content).unwrap();
        read_weights(&path, n)
            .map_err(|error| error.to_string().replace(&format!("{}: ", path.display()), ""))
    };
    assert_eq!(weights(b"1\n0.5\n2\n", Some(3)), Ok(vec![1.0, 0.5, 2.0]));
    assert_eq!(weights(b"weight\r\n1\r\n0.5\r\n", None), Ok(vec![1.0, 0.5]));
    assert_eq!(weights(&gzip(b"3\n"), Some(1)), Ok(vec![3.0]));
    let refused: [(&[u8], &str); 8] = [
        (
            b"w\n1\nNA\n3\n",
            "line 3: column 1 (`w`): `NA` is a missing value; give a weight: zero leaves the row or column out",
        ),
        (
            b"w,kind\n1,x\n2,y\n3,x\n",
            "line 2: column 2 (`kind`): `x` is not a number, and most of the column is text; a file of weights has one column of \
             numbers, with or without a name: keep the weights alone",
        ),
        (b"1\n2\n", "2 weights, but 3 are needed"),
        (b"w\n1\n2\n3\n4\n", "4 weights below a header, but 3 are needed"),
        (b"\nw\n1\n-2\n3\n", "line 4: the weight -2 is negative; weights must be finite and not negative"),
        (b"1,2\n3,4\n5,6\n", "2 columns, but a file of weights has one; keep the weights alone"),
        (b"n,w\nx,4\ny,6\n", "2 columns, but a file of weights has one; keep the weights alone"),
        (
            b"w\n1\ntwo\n3\n",
            "line 3: column 1 (`w`): `two` is not a number; a file of weights has one column of numbers, with or without a name: \
             keep the weights alone",
        ),
    ];
    for (content, message) in refused {
        assert_eq!(weights(content, Some(3)), Err(message.to_owned()));
    }
    let names = ["w".to_owned()];
    let matrix = Matrix::from_vec(2, 1, vec![1.0, 4.0]).unwrap();
    let npy = folder.path().join("w.npy");
    write_table(
        &npy,
        &NamedMatrix {
            matrix: &matrix,
            row_names: None,
            row_header: "",
            labels: &[],
            column_names: &names,
            numeric_ids: false,
        },
    )
    .unwrap();
    assert_eq!(read_weights(&npy, Some(2)).unwrap(), [1.0, 4.0]);
}

#[test]
fn names_of_extensions_and_shapes_are_checked_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_vec(1, 2, vec![1.0, 4.0]).unwrap();
    let names = ["a".to_owned(), "b".to_owned()];
    let write = |name: &str, column_names: &[String], row_names: Option<&[String]>| {
        let table = NamedMatrix {
            matrix: &matrix,
            row_names,
            row_header: "sample",
            labels: &[],
            column_names,
            numeric_ids: false,
        };
        let error = write_table(Path::new(name), &table).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument);
        error.to_string()
    };
    let listed = "give one that ends in .csv, .tsv, .npy or .parquet";
    assert_eq!(write("s.xlsx", &names, None), format!("s.xlsx: the name ends in .xlsx; {listed}"));
    assert_eq!(write("scores", &names, None), format!("scores: the name has no extension; {listed}"));
    let path = folder.path().join("s.csv");
    let name = path.to_str().unwrap();
    assert!(write(name, &names[..1], None).ends_with("the column names: 1 column, but 2 are needed"));
    assert!(write(name, &names, Some(&names)).ends_with("the row names: 2 rows, but 1 is needed"));
    assert!(!path.exists());
}

#[test]
fn numbers_are_written_in_the_fewest_digits_and_names_in_quotes_where_needed() {
    let folder = tempfile::tempdir().unwrap();
    let columns = ["PC1".to_owned(), "a,\"b\"".to_owned()];
    let row_names = ["x".to_owned(), "7".to_owned()];
    let matrix = Matrix::from_vec(2, 2, vec![0.1f32, 3.0, -1e-30, f32::MAX]).unwrap();
    let table = NamedMatrix {
        matrix: &matrix,
        row_names: Some(&row_names),
        row_header: "sample",
        labels: &[],
        column_names: &columns,
        numeric_ids: false,
    };
    for (name, expected) in [
        ("s.csv", "sample,PC1,\"a,\"\"b\"\"\"\nx,0.1,3\n\"7\",-1e-30,3.4028235e38\n"),
        ("s.TSV", "sample\tPC1\t\"a,\"\"b\"\"\"\nx\t0.1\t3\n\"7\"\t-1e-30\t3.4028235e38\n"),
    ] {
        let path = folder.path().join(name);
        write_table(&path, &table).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    }
}

/// Existing maps are guarded, and only some dozens of guards exist.
#[test]
fn more_files_than_can_be_mapped_are_read_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.npy");
    let matrix = Matrix::from_fn(2, 2, |i, j| (2 * i + j) as f64);
    let names: Vec<String> = vec!["a".into(), "b".into()];
    let table = NamedMatrix {
        matrix: &matrix,
        row_names: None,
        row_header: "",
        labels: &[],
        column_names: &names,
        numeric_ids: false,
    };
    write_table(&path, &table).unwrap();
    let tables: Vec<Table> = (0..80).map(|_| read(&path, &ReadOptions::default()).unwrap()).collect();
    assert!(tables.iter().all(|table| rows(table) == [[0.0, 1.0], [2.0, 3.0]]));
    let is_mapped =
        |table: &Table| matches!(&table.data, Data::F64(Values::Dense { buffer: Buffer::Mapped { .. }, .. }));
    assert!(is_mapped(&tables[0]) && !is_mapped(&tables[79]));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/text.txt"))),
        ..ProptestConfig::with_cases(64)
    })]

    #[test]
    fn what_is_written_reads_back_bit_for_bit(
        n_rows in 1..30usize,
        n_cols in 1..6usize,
        seed in prop::collection::vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 180),
        ids in prop::collection::hash_set("[ -~äß\n]{1,6}", 30),
        tabs in any::<bool>(),
        named in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let matrix = Matrix::from_vec(n_rows, n_cols, seed[..n_rows * n_cols].to_vec()).unwrap();
        let column_names: Vec<String> = (1..=n_cols).map(|k| format!("PC{k}")).collect();
        let ids: Vec<String> = ids.into_iter().take(n_rows).collect();
        let table = NamedMatrix {
            matrix: &matrix,
            row_names: named.then_some(ids.as_slice()),
            row_header: "", labels: &[],
            column_names: &column_names, numeric_ids: false };
        let path = folder.path().join(if tabs { "t.tsv" } else { "t.csv" });
        write_table(&path, &table).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&rows(&back).concat()), bits(matrix.as_slice()));
        prop_assert_eq!(back.sample_names, named.then_some(ids));
        prop_assert_eq!(back.feature_names, Some(column_names));
    }
}
