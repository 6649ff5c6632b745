//! Packed files, pipes, and the texts that accompany the numbers: names, labels, weights and missing values.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use karhunen::source::Block;
use karhunen::{Matrix, Pca, Weights};
use karhunen_io::{Data, ReadOptions, Values, read};

use crate::file_rows::fixtures::{bits, double, open, written};

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
fn weights_and_missing_values_are_as_in_the_whole_table() {
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
    // The Arrow file holds the same table. Empty fields are nulls.
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
fn names_from_other_files_match_a_table_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "x.npy", &Matrix::from_fn(50, 2, |i, j| (i + j) as f64), false);
    let names = folder.path().join("names.txt");
    std::fs::write(&names, "first\nsecond\n").unwrap();
    let options = ReadOptions { feature_names: Some(names), ..ReadOptions::default() };
    let table = open(&path, &options).unwrap();
    assert_eq!(table.feature_names.unwrap(), ["first", "second"]);
    assert!(matches!(table.data, Data::F64(Values::InFile(_))), "{:?}", table.data);
}
