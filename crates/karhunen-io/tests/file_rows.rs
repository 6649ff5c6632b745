//! Fits of files that are read again in every visit, block by block, against fits of the tables in memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use karhunen::exec::{Fact, PassLog};
use karhunen::pca::Route;
use karhunen::source::Block;
use karhunen::{Matrix, NComponents, Pca, PcaModel, Run, Scalar, Source, Weights};
use karhunen_io::{
    BlockReader, Data, FileRows, NamedMatrix, ObservedData, OwnedBlock, PassLogFile, ReadOptions, Table,
    Values, read, read_tables, write_table,
};
use karhunen_testkit::{planted, power_law};

/// Writes a file in the format of the extension of `name`, with this matrix and, if `named`, a name for each row.
fn written<T: Scalar>(folder: &Path, name: &str, matrix: &Matrix<T>, named: bool) -> std::path::PathBuf {
    let path = folder.join(name);
    let columns: Vec<String> = (0..matrix.n_cols()).map(|j| format!("column {j}")).collect();
    let rows: Vec<String> = (0..matrix.n_rows()).map(|i| format!("row {i}")).collect();
    if name.ends_with(".arrow") {
        write_arrow(&path, matrix, &columns, named.then_some(&rows[..]));
        return path;
    }
    let table = NamedMatrix {
        matrix,
        row_names: named.then_some(&rows[..]),
        row_header: "id",
        labels: &[],
        column_names: &columns,
        numeric_ids: false,
    };
    write_table(&path, &table).unwrap();
    path
}

/// An Arrow file with batches of 700 rows.
fn write_arrow<T: Scalar>(path: &Path, matrix: &Matrix<T>, columns: &[String], names: Option<&[String]>) {
    let batches: Vec<RecordBatch> = (0..matrix.n_rows())
        .step_by(700)
        .map(|first| {
            let rows = first..matrix.n_rows().min(first + 700);
            let mut arrays: Vec<(&str, ArrayRef)> = Vec::new();
            if let Some(names) = names {
                arrays.push(("id", Arc::new(StringArray::from_iter_values(&names[rows.clone()]))));
            }
            for (j, column) in columns.iter().enumerate() {
                let values = rows.clone().map(|i| matrix[(i, j)].to_f64());
                let array: ArrayRef = if T::NAME == f32::NAME {
                    Arc::new(Float32Array::from_iter_values(values.map(|value| value as f32)))
                } else {
                    Arc::new(Float64Array::from_iter_values(values))
                };
                arrays.push((column, array));
            }
            RecordBatch::try_from_iter(arrays).unwrap()
        })
        .collect();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = FileWriter::try_new(file, &batches[0].schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

fn bits(model: &PcaModel) -> Vec<u64> {
    let parts = [model.components().as_slice(), model.explained_variance(), model.mean(), model.scale()];
    parts.concat().iter().map(|value| value.to_bits()).collect()
}

fn fit_file(data: &Data, pca: &Pca, weights: &Weights<'_>, run: &Run<'_>) -> karhunen::Result<PcaModel> {
    match data {
        Data::F32(Values::InFile(rows)) => pca.fit_with(rows, weights, run),
        Data::F64(Values::InFile(rows)) => pca.fit_with(rows, weights, run),
        held => panic!("held in memory: {held:?}"),
    }
}

/// The table, whose values stay in the file.
fn open(path: &Path, options: &ReadOptions) -> karhunen_io::Result<Table> {
    read(path, &ReadOptions { memory_limit: Some(0), ..options.clone() })
}

/// The values of the file, read in blocks of so many bytes.
fn in_blocks(path: &Path, options: &ReadOptions, bytes: usize) -> Data {
    match open(path, options).unwrap().data {
        Data::F32(Values::InFile(rows)) => Data::F32(Values::InFile(rows.block_bytes(bytes))),
        Data::F64(Values::InFile(rows)) => Data::F64(Values::InFile(rows.block_bytes(bytes))),
        held => panic!("held in memory: {held:?}"),
    }
}

/// The values of a file in double precision.
fn double(data: Data) -> FileRows<f64> {
    let Data::F64(Values::InFile(rows)) = data else { panic!("{data:?}") };
    rows
}

fn fit_table(path: &Path, options: &ReadOptions, pca: &Pca, weights: &Weights<'_>) -> PcaModel {
    match read(path, options).unwrap().data {
        Data::F32(values) => pca.fit(&*values.source().unwrap(), weights).unwrap(),
        Data::F64(values) => pca.fit(&*values.source().unwrap(), weights).unwrap(),
    }
}

const ROUTES: [Route; 3] = [Route::Svd, Route::Covariance, Route::BlockKrylov];

/// Tests that variances agree to the tolerance of iteration, which takes other blocks for a file.
fn are_near(found: &PcaModel, expected: &PcaModel) -> bool {
    let (tol, largest) = (expected.convergence().tol, expected.explained_variance()[0]);
    let mut pairs = found.explained_variance().iter().zip(expected.explained_variance());
    found.convergence().converged() && pairs.all(|(a, b)| (a - b).abs() <= tol * largest)
}

/// The file is many times a block, no block holds whole pieces of any sum, and the fit has the bits of the
/// array's; block Krylov iteration, those of every number of threads.
fn check_bits(path: &Path, options: &ReadOptions, n: usize, what: &str) {
    let weights: Vec<f64> = (0..n).map(|i| 0.5 + (i % 3) as f64).collect();
    let file = in_blocks(path, options, 30_011);
    for route in ROUTES {
        for weights in [None, Some(&weights[..])] {
            let weights = Weights { samples: weights, features: None };
            let pca = Pca { solver: Some(route), scale: true.into(), ..Pca::new(2) };
            let mut expected = fit_table(path, options, &pca, &weights);
            if route == Route::BlockKrylov {
                let found = fit_file(&file, &pca, &weights, &Run::threads(3)).unwrap();
                assert!(are_near(&found, &expected), "{what}, {route}");
                expected = found;
            }
            for n_threads in [1, 2] {
                let found = fit_file(&file, &pca, &weights, &Run::threads(n_threads)).unwrap();
                assert!(bits(&found) == bits(&expected), "{what}, {route}, {n_threads} threads");
            }
        }
    }
}

#[test]
fn a_file_in_blocks_gives_the_bits_of_its_array() {
    let folder = tempfile::tempdir().unwrap();
    let (n, p) = (9_001, 7);
    let rows = planted(n, p, &power_law(p, 0.9), 2.0, 4).rows;
    let double = Matrix::from_fn(n, p, |i, j| rows[i][j]);
    let single = Matrix::from_fn(n, p, |i, j| rows[i][j] as f32);
    let options = ReadOptions::default();
    for name in ["x.npy", "x.parquet", "x.arrow", "x.csv"] {
        let path = written(folder.path(), name, &double, name != "x.npy");
        check_bits(&path, &options, n, &format!("f64 {name}"));
        let path = written(folder.path(), name, &single, false);
        check_bits(&path, &options, n, &format!("f32 {name}"));
        let data = open(&path, &options).unwrap().data;
        assert_eq!(data.dtype(), if name == "x.csv" { "f64" } else { "f32" }, "{name}");
    }
    // An array of columns: the rows of a block are read column by column.
    let turned = Matrix::from_fn(p, n, |j, i| rows[i][j]);
    let path = written(folder.path(), "t.npy", &turned, false);
    check_bits(&path, &ReadOptions { transpose: true, ..options }, n, "columns");
}

#[test]
fn blocks_hold_the_rows_of_the_file_and_no_more_than_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(1_000, 3, |i, j| (10 * i + j) as f64);
    for name in ["x.npy", "x.parquet", "x.arrow", "x.csv"] {
        let path = written(folder.path(), name, &matrix, name != "x.npy");
        let rows = double(in_blocks(&path, &ReadOptions::default(), 64 * 3 * 8));
        assert_eq!((rows.shape(), Source::n_stored(&rows)), ((1_000, 3), 3_000), "{name}");
        // Twice: every visit reads the file again.
        for _ in 0..2 {
            let (mut next, mut n_blocks) = (0, 0);
            rows.visit(&mut |first, block| {
                let Block::Dense(x) = block else { panic!("a sparse block") };
                assert_eq!(first, next, "{name}");
                assert!(x.n_rows() <= 64, "{name}");
                for i in 0..x.n_rows() {
                    for j in 0..3 {
                        assert_eq!(x.get(i, j), matrix[(first + i, j)], "{name}");
                    }
                }
                (next, n_blocks) = (next + x.n_rows(), n_blocks + 1);
                Ok(())
            })
            .unwrap();
            assert_eq!(next, 1_000, "{name}");
            assert!(n_blocks >= 16, "{name}: {n_blocks} blocks");
        }
    }
}

#[test]
fn errors_name_rows_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let matrix =
        Matrix::from_fn(200, 2, |i, j| if (i, j) == (150, 1) { f64::NAN } else { (i * (j + 1)) as f64 });
    let pca = Pca { n_components: NComponents::Count(1), ..Pca::default() };
    for name in ["x.npy", "x.parquet"] {
        let path = written(folder.path(), name, &matrix, false);
        let file = in_blocks(&path, &ReadOptions::default(), 40 * 16);
        let error = fit_file(&file, &pca, &Weights::default(), &Run::default()).unwrap_err();
        assert!(matches!(error, karhunen::Error::NonFinite { row: 150, column: 1, .. }), "{name}: {error}");
    }
    // Integers that double precision does not represent.
    let path = folder.path().join("large.npy");
    let mut large: Vec<i64> = (0..100).collect();
    large[77] = (1 << 53) + 1;
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (100, 1), }";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(large.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(&path, bytes).unwrap();
    let file = in_blocks(&path, &ReadOptions::default(), 160);
    let error = fit_file(&file, &pca, &Weights::default(), &Run::default()).unwrap_err().to_string();
    let expected = format!(
        "reading the data failed at row 60: {}: row 78: column 1: 9007199254740993 is no number of double precision; convert the \
         array, or read the whole table",
        path.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_file_that_changes_between_visits_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(200, 2, |i, j| (i * (j + 1)) as f64);
    let path = written(folder.path(), "x.npy", &matrix, false);
    let file = open(&path, &ReadOptions::default()).unwrap().data;
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 800]).unwrap();
    let error = fit_file(&file, &Pca::new(1), &Weights::default(), &Run::default()).unwrap_err();
    assert_eq!(error.kind(), karhunen::ErrorKind::Io);
    assert!(error.to_string().starts_with("reading the data failed at row 0: "), "{error}");
    assert!(error.to_string().contains("became shorter"), "{error}");
}

#[test]
fn mapped_files_that_change_are_refused_before_their_rows_are_lent() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(5000, 3, |i, j| (i * (j + 1)) as f64);
    for name in ["x.arrow", "x.parquet"] {
        let path = written(folder.path(), name, &matrix, false);
        let file = open(&path, &ReadOptions::default()).unwrap().data;
        let bytes = std::fs::read(&path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes.len() as u64 / 2).unwrap();
        let error = fit_file(&file, &Pca::new(1), &Weights::default(), &Run::default()).unwrap_err();
        assert_eq!(error.kind(), karhunen::ErrorKind::Io, "{name}: {error}");
        assert!(error.to_string().contains("became shorter"), "{name}: {error}");
    }
}

#[test]
fn packed_files_are_unpacked_to_a_temporary_file() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(500, 2, |i, j| (i * (j + 1)) as f64);
    for name in ["x.npy", "x.csv"] {
        let path = written(folder.path(), name, &matrix, false);
        let to = folder.path().join(format!("{name}.gz"));
        let mut encoder =
            flate2::write::GzEncoder::new(std::fs::File::create(&to).unwrap(), flate2::Compression::fast());
        encoder.write_all(&std::fs::read(path).unwrap()).unwrap();
        encoder.finish().unwrap();
        let cache = folder.path().join("cache");
        let options = ReadOptions { cache_dir: Some(cache.clone()), ..ReadOptions::default() };
        let error = open(&to, &options).unwrap_err().to_string();
        assert!(error.contains("writing failed: the temporary copy of its content in "), "{error}");
        std::fs::create_dir(&cache).unwrap();
        let Data::F64(values) = open(&to, &options).unwrap().data else { panic!("single precision") };
        let mut sum = 0.0;
        let source = values.source().unwrap();
        source
            .visit(&mut |_, block| {
                let Block::Dense(x) = block else { panic!("a sparse block") };
                sum += (0..x.n_rows()).map(|i| x.get(i, 0) + x.get(i, 1)).sum::<f64>();
                Ok(())
            })
            .unwrap();
        assert_eq!(sum, 3.0 * 499.0 * 250.0, "{name}");
        // The copy has no name.
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0, "{name}");
        std::fs::remove_dir(&cache).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_of_an_array_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let array = written(folder.path(), "x.npy", &Matrix::from_fn(50, 2, |i, j| (i + j) as f64), false);
    let pipe = folder.path().join("pipe.npy");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (to, bytes) = (pipe.clone(), std::fs::read(array).unwrap());
    let writer = std::thread::spawn(move || std::fs::write(to, bytes).unwrap());
    let table = open(&pipe, &ReadOptions::default()).unwrap();
    assert!(matches!(table.data, Data::F64(Values::Dense { .. })), "{:?}", table.data);
    writer.join().unwrap();
}

#[test]
fn rows_that_are_kept_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = Matrix::from_fn(1_000, 3, |i, j| (10 * i + j) as f64);
    for name in ["x.npy", "x.parquet", "x.arrow", "x.csv"] {
        let path = written(folder.path(), name, &matrix, false);
        let rows = double(in_blocks(&path, &ReadOptions::default(), 64 * 3 * 8));
        let bytes = || match rows.pass() {
            karhunen::source::Pass::Costly { bytes, .. } => bytes,
            pass => panic!("{pass:?}"),
        };
        let sum = || {
            let (mut sum, mut next) = (0.0, 0);
            rows.visit(&mut |first, block| {
                let Block::Dense(x) = block else { panic!("a sparse block") };
                assert_eq!(first, next, "{name}");
                next += x.n_rows();
                sum += (0..x.n_rows()).map(|i| x.get(i, 2)).sum::<f64>();
                Ok(())
            })
            .map(|()| (next, sum))
        };
        let expected = (1_000, 10.0 * 499_500.0 + 2_000.0);
        assert_eq!(sum().unwrap(), expected, "{name}");
        let whole = bytes();
        // Five blocks of 64 rows, then all.
        rows.keep(5.5 * 64.0 * 24.0);
        for _ in 0..3 {
            assert_eq!(sum().unwrap(), expected, "{name}");
            assert!(bytes() < whole && bytes() > 0.5 * whole, "{name}: {} of {whole}", bytes());
        }
        rows.keep(1e9);
        assert_eq!(sum().unwrap(), expected, "{name}");
        assert_eq!(bytes(), 0.0, "{name}");
        assert_eq!(sum().unwrap(), expected, "{name}");
    }
}

#[test]
fn quoted_texts_of_many_lines_are_copied_as_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let rows: String = (0..40_000).map(|i| format!("\"r\n{i}\",{i},\"{}\",c{}\n", 2 * i, i % 3)).collect();
    std::fs::write(&path, format!("id,a,b,class\n{rows}")).unwrap();
    let options = ReadOptions { labels: vec!["class".to_owned()], ..ReadOptions::default() };
    let (held, copied) = (read(&path, &options).unwrap(), open(&path, &options).unwrap());
    assert_eq!(copied.sample_names, held.sample_names);
    assert_eq!(copied.labels, held.labels);
    assert_eq!((copied.feature_names, copied.notes), (held.feature_names, held.notes));
    assert_eq!(copied.data.shape(), (40_000, 2));
    let fit = |data: &Data| match data {
        Data::F64(values) => Pca::new(1).fit(&*values.source().unwrap(), &Weights::default()).unwrap(),
        Data::F32(_) => panic!("single precision"),
    };
    assert!(bits(&fit(&copied.data)) == bits(&fit(&held.data)));
}

#[test]
fn weights_and_holes_are_those_of_the_whole_table() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..300)
        .map(|i| match i % 7 {
            0 => format!("{i},,{},r{i}\n", i % 5),
            _ => format!("{i},{}.5,{},r{i}\n", i * i, i % 5),
        })
        .collect();
    let csv = folder.path().join("x.csv");
    std::fs::write(&csv, format!("a,b,w,id\n{text}")).unwrap();
    let options = ReadOptions {
        missing: true,
        weights_column: Some("w".to_owned()),
        labels: vec!["id".to_owned()],
        ..ReadOptions::default()
    };
    // The same as Arrow, with nulls where the text has no value.
    let array = |j: usize| -> ArrayRef {
        let value = |i: usize| match j {
            0 => Some(i as f64),
            1 => (!i.is_multiple_of(7)).then_some((i * i) as f64 + 0.5),
            _ => Some((i % 5) as f64),
        };
        Arc::new(Float64Array::from_iter((0..300).map(value)))
    };
    let ids = Arc::new(StringArray::from_iter_values((0..300).map(|i| format!("r{i}"))));
    let columns = [("a", array(0)), ("b", array(1)), ("w", array(2)), ("id", ids as ArrayRef)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let arrow = folder.path().join("x.arrow");
    let mut writer = FileWriter::try_new(std::fs::File::create(&arrow).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    for path in [csv, arrow] {
        let table = open(&path, &options).unwrap();
        let found_weights = table.weights.clone();
        let rows = double(table.data).block_bytes(16 * 40);
        assert_eq!(rows.shape(), (300, 2));
        let weights: Vec<f64> = (0..300).map(|i| f64::from(i % 5)).collect();
        assert_eq!(found_weights, Some(weights), "{}", path.display());
        let observed = karhunen::Observed::from_source(&rows).unwrap();
        for i in 0..300 {
            let (columns, values) = observed.row(i);
            let expected: &[f64] = &[i as f64, (i * i) as f64 + 0.5];
            let n = if i % 7 == 0 { 1 } else { 2 };
            assert_eq!((columns, values), (&[0, 1][..n], &expected[..n]), "{} row {i}", path.display());
        }
        let strict = ReadOptions { missing: false, ..options.clone() };
        let error = match open(&path, &strict) {
            Ok(table) => Pca::new(1).fit(&double(table.data), &Weights::default()).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(error.contains("missing"), "{error}");
    }
}

#[test]
fn names_from_other_files_are_those_of_a_table_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "x.npy", &Matrix::from_fn(50, 2, |i, j| (i + j) as f64), false);
    let names = folder.path().join("names.txt");
    std::fs::write(&names, "first\nsecond\n").unwrap();
    let options = ReadOptions { feature_names: Some(names), ..ReadOptions::default() };
    let table = open(&path, &options).unwrap();
    assert_eq!(table.feature_names.unwrap(), ["first", "second"]);
    assert!(matches!(table.data, Data::F64(Values::InFile(_))), "{:?}", table.data);
}

#[test]
fn what_a_visit_holds_counts_the_rows_that_there_are_and_parts_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let held = |rows: &FileRows<f64>| match rows.pass() {
        karhunen::source::Pass::Costly { held, .. } => held,
        pass => panic!("{pass:?}"),
    };
    let matrix = Matrix::from_fn(1_000, 3, |i, j| (10 * i + j) as f64);
    let files = ["a.csv", "b.csv"].map(|name| written(folder.path(), name, &matrix, false));
    let bytes = 1_000.0 * 3.0 * 8.0;
    // Three blocks, each of which is the whole table.
    assert_eq!(held(&double(open(&files[0], &ReadOptions::default()).unwrap().data)), 3.0 * bytes);
    // Parts in memory, three blocks of both, and a block of a part.
    let options = ReadOptions { memory_limit: Some(1 << 30), ..ReadOptions::default() };
    let stack = double(read_tables(&files, &options).unwrap().data);
    assert_eq!(stack.shape(), (2_000, 3));
    assert_eq!(held(&stack), 2.0 * bytes + 6.0 * bytes + 2.0 * bytes);
}

/// Blocks of one row, and the number of those that were read.
struct Counted {
    n_blocks: usize,
    n_read: Arc<AtomicUsize>,
}

impl BlockReader<f64> for Counted {
    fn each(
        &self,
        first: usize,
        _: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<f64>) -> bool,
    ) -> karhunen_io::Result<()> {
        for row in first..self.n_blocks {
            self.n_read.fetch_add(1, Ordering::SeqCst);
            *reached = row + 1;
            if !f(OwnedBlock::Dense { values: vec![row as f64, 1.0], n_rows: 1, column_major: false }) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, _: usize) -> f64 {
        0.0
    }
}

#[test]
fn the_next_block_is_read_while_one_is_used_and_no_more_than_two_are_ahead() {
    let (n_blocks, n_read) = (20, Arc::new(AtomicUsize::new(0)));
    let reader = Counted { n_blocks, n_read: Arc::clone(&n_read) };
    let rows = FileRows::of_reader(Box::new(reader), (n_blocks, 2), None);
    rows.visit(&mut |row, _| {
        // Without reading ahead, no further block would ever be read here.
        let begun = Instant::now();
        while n_read.load(Ordering::SeqCst) < n_blocks.min(row + 2) {
            assert!(begun.elapsed().as_secs() < 60, "block {} was not read ahead", row + 1);
            std::thread::yield_now();
        }
        assert!(n_read.load(Ordering::SeqCst) <= row + 3, "{row}");
        Ok(())
    })
    .unwrap();
    assert_eq!(n_read.load(Ordering::SeqCst), n_blocks);
}

/// A file of coordinates: by rows, by columns, or in no order.
fn coordinates(path: &Path, order: &str) {
    let (n, p) = (5000, 60);
    let mut lines = Vec::new();
    for i in 0..n {
        for j in (i % 7..p).step_by(3) {
            let value = ((i * 31 + j * 17) % 101) as f64 * 0.25 - 3.0;
            lines.push((i, j, format!("{} {} {value}\n", i + 1, j + 1)));
        }
    }
    match order {
        "columns" => lines.sort_by_key(|line| (line.1, line.0)),
        "none" => lines.sort_by_key(|line| ((line.0 * 7919 + line.1 * 104_729) % 65_537, line.0, line.1)),
        _ => {}
    }
    let text: String = lines.iter().map(|line| line.2.as_str()).collect();
    let size = format!("%%MatrixMarket matrix coordinate real general\n{n} {p} {}\n", lines.len());
    std::fs::write(path, size + &text).unwrap();
}

#[test]
fn coordinates_beyond_the_limit_are_copied_by_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    let small = ReadOptions {
        memory_limit: Some(1 << 20),
        cache_dir: Some(folder.path().to_owned()),
        ..ReadOptions::default()
    };
    let pca = Pca { solver: Some(Route::BlockKrylov), ..Pca::new(3) };
    for order in ["rows", "columns", "none"] {
        coordinates(&path, order);
        for transpose in [false, true] {
            let table =
                |options: &ReadOptions| read(&path, &ReadOptions { transpose, ..options.clone() }).unwrap();
            let (held, copied) = (table(&ReadOptions::default()), table(&small));
            assert!(matches!(&copied.data, Data::F64(Values::InFile(_))), "{order}");
            assert_eq!(copied.data.n_stored(), held.data.n_stored());
            let entries = |table: &Table| {
                let ObservedData::F64(observed) = table.data.observed(&Run::default()).unwrap() else {
                    panic!("single precision")
                };
                (0..observed.n_samples())
                    .map(|i| (observed.row(i).0.to_vec(), observed.row(i).1.to_vec()))
                    .collect()
            };
            let (expected, found): (Vec<_>, Vec<_>) = (entries(&held), entries(&copied));
            assert!(expected == found, "{order} {transpose}");
            let fit = |table: &Table| {
                let Data::F64(values) = &table.data else { panic!("single precision") };
                pca.fit(&*values.source().unwrap(), &Weights::default()).unwrap()
            };
            let (expected, found) = (fit(&held), fit(&copied));
            for (a, b) in expected.explained_variance().iter().zip(found.explained_variance()) {
                assert!((a - b).abs() < 1e-6 * a, "{order} {transpose}: {a} {b}");
            }
        }
    }
    // The copies are gone.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn faults_of_coordinates_beyond_the_limit_are_those_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.mtx");
    let small = ReadOptions { memory_limit: Some(1), ..ReadOptions::default() };
    for (body, n) in [("1 1 1\n2 2 x\n", 2), ("1 1 1\n9 1 1\n", 2), ("1 1 1\n", 2), ("1 1 1\n2 1 1\n", 1)] {
        std::fs::write(&path, format!("%%MatrixMarket matrix coordinate real general\n3 3 {n}\n{body}"))
            .unwrap();
        let message = |options: &ReadOptions| read(&path, options).unwrap_err().to_string();
        assert_eq!(message(&small), message(&ReadOptions::default()));
    }
    let repeated = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 1\n2 1 2.5\n3 3 4\n";
    std::fs::write(&path, repeated).unwrap();
    let (held, copied) = (read(&path, &ReadOptions::default()).unwrap(), read(&path, &small).unwrap());
    assert_eq!((&copied.notes, copied.data.n_stored()), (&held.notes, Some(3)));
    assert_eq!(copied.notes.len(), 1);
}

/// A log that ends the fit after it kept a part of a pass.
struct OnePart(PassLogFile);

impl PassLog for OnePart {
    fn begin(&self, fit: &[Fact]) -> karhunen::Result<()> {
        self.0.begin(fit)
    }
    fn take(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        self.0.take(name)
    }
    fn keep(&self, name: &'static str, result: &[f64]) -> karhunen::Result<()> {
        self.0.keep(name, result)
    }
    fn wants_part(&self) -> bool {
        self.0.wants_part()
    }
    fn keep_part(&self, name: &'static str, part: &[f64]) -> karhunen::Result<()> {
        self.0.keep_part(name, part)?;
        Err(karhunen::Error::Stopped { phase: "test" })
    }
    fn take_part(&self, name: &'static str) -> karhunen::Result<Option<Vec<f64>>> {
        self.0.take_part(name)
    }
}

/// A fit that is interrupted after every part of a pass has the bits of one that is not, and its passes read hardly
/// more.
fn check_interrupted(path: &Path, options: &ReadOptions, pca: &Pca, folder: &Path, what: &str) {
    let open = || double(in_blocks(path, options, 30_011));
    let expected = pca.fit(&open(), &Weights::default()).unwrap();
    // A fit that is not interrupted would keep the rows in memory.
    let of_passes = (expected.convergence().n_passes as u64 * std::fs::metadata(path).unwrap().len()) as f64;
    let checkpoint = folder.join("c");
    let (mut n_parts, mut bytes) = (0, 0.0);
    let found = loop {
        let log = OnePart(PassLogFile::new(&checkpoint, true).unwrap().every(Duration::ZERO));
        let rows = open();
        let outcome = pca.fit_logged(&rows, &Weights::default(), &log, &Run::threads(1 + n_parts % 2));
        bytes += rows.reading().bytes;
        match outcome {
            Ok(model) => break model,
            Err(error) => assert!(matches!(error, karhunen::Error::Stopped { .. }), "{what}: {error}"),
        }
        n_parts += 1;
    };
    assert_eq!(found, expected, "{what}");
    assert!(n_parts >= expected.convergence().n_passes, "{what}: {n_parts} parts");
    assert!(bytes <= 1.05 * of_passes, "{what}: {bytes} bytes in place of {of_passes}");
    assert!(!folder.join("c.part").exists());
    std::fs::remove_file(checkpoint).unwrap();
}

#[test]
fn a_fit_that_ends_after_every_part_of_a_pass_goes_on_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (n, p) = (40_000, 60);
    let matrix = Matrix::from_fn(n, p, |i, j| ((i * 31 + j * j * 17 + i * j) % 1013) as f64 / (j + 1) as f64);
    let options = ReadOptions::default();
    let fits =
        [Route::Covariance, Route::BlockKrylov].map(|route| Pca { solver: Some(route), ..Pca::new(2) });
    for name in ["x.npy", "x.parquet", "x.arrow"] {
        let path = written(folder.path(), name, &matrix, false);
        for pca in &fits {
            check_interrupted(&path, &options, pca, folder.path(), name);
        }
    }
    let path = written(folder.path(), "t.npy", &matrix.transposed(), false);
    let turned = ReadOptions { transpose: true, ..options };
    check_interrupted(&path, &turned, &fits[1], folder.path(), "columns");
    let path = folder.path().join("x.mtx");
    coordinates(&path, "rows");
    let small = ReadOptions { memory_limit: Some(1 << 20), ..ReadOptions::default() };
    for pca in &fits {
        let open = || {
            let Data::F64(Values::InFile(rows)) = read(&path, &small).unwrap().data else { panic!("held") };
            rows
        };
        let expected = pca.fit(&open(), &Weights::default()).unwrap();
        let rows = open();
        let checkpoint = folder.path().join("c");
        let log = || PassLogFile::new(&checkpoint, true).unwrap().every(Duration::ZERO);
        let mut n_parts = 0;
        let found = loop {
            match pca.fit_logged(&rows, &Weights::default(), &OnePart(log()), &Run::threads(2)) {
                Ok(model) => break model,
                Err(error) => assert!(matches!(error, karhunen::Error::Stopped { .. }), "{error}"),
            }
            n_parts += 1;
        };
        assert_eq!(found, expected);
        assert!(n_parts >= expected.convergence().n_passes, "{n_parts}");
        std::fs::remove_file(checkpoint).unwrap();
    }
}
