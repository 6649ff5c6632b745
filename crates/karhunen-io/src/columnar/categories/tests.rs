//! Tables of categories in Parquet and Arrow files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray,
};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use karhunen::categorical::{Column, ColumnValues, Variable};
use parquet::arrow::arrow_writer::ArrowWriter;

use crate::{CategoryTable, ColumnKinds, ReadOptions, Result, read_categories};

/// Writes a batch as Parquet, as an Arrow file and as an Arrow stream.
fn written(folder: &Path, batch: &RecordBatch) -> [PathBuf; 3] {
    let paths = ["t.parquet", "t.arrow", "t.arrows"].map(|name| folder.join(name));
    let [parquet, file, stream] = paths.each_ref().map(|path| std::fs::File::create(path).unwrap());
    let schema = batch.schema();
    let mut parquet = ArrowWriter::try_new(parquet, schema.clone(), None).unwrap();
    let mut file = FileWriter::try_new(file, &schema).unwrap();
    let mut stream = StreamWriter::try_new(stream, &schema).unwrap();
    parquet.write(batch).unwrap();
    file.write(batch).unwrap();
    stream.write(batch).unwrap();
    parquet.close().unwrap();
    file.finish().unwrap();
    stream.finish().unwrap();
    paths
}

fn batch() -> RecordBatch {
    let keys = Int32Array::from(vec![Some(0), Some(2), None, Some(2)]);
    let sizes = StringArray::from(vec!["small", "medium", "large"]);
    let sizes: DictionaryArray<Int32Type> = DictionaryArray::new(keys, Arc::new(sizes));
    let columns: [(&str, ArrayRef); 6] = [
        ("who", Arc::new(StringArray::from(vec!["ann", "bob", "cid", "dan"]))),
        ("size", Arc::new(sizes)),
        ("answer", Arc::new(StringArray::from(vec![Some("yes"), Some("no"), None, Some("yes")]))),
        ("n", Arc::new(Int64Array::from(vec![10, 9, 10, 2]))),
        ("x", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::NAN), Some(2.0)]))),
        ("is", Arc::new(BooleanArray::from(vec![true, false, true, true]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

fn read(path: &Path, kinds: ColumnKinds<'_>) -> Result<CategoryTable> {
    read_categories(path, kinds, &ReadOptions::default())
}

/// The name of a column, its categories and the codes of its rows.
fn categories(column: &Column) -> (&str, Vec<&str>, Vec<Option<u32>>) {
    let ColumnValues::Categories { names, codes } = &column.values else { panic!("{column:?}") };
    (&column.name, names.iter().map(String::as_str).collect(), codes.clone())
}

#[test]
fn types_decide_and_dictionaries_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    for path in written(folder.path(), &batch()) {
        let table = read(&path, ColumnKinds::ByContent).unwrap();
        assert_eq!(table.sample_names.as_deref().unwrap(), ["ann", "bob", "cid", "dan"]);
        assert_eq!((table.id_name.as_deref(), table.n_rows), (Some("who"), 4));
        let (name, names, codes) = categories(&table.columns[0]);
        assert_eq!((name, codes[2]), ("size", None));
        // The order is the order of the dictionary, whether or not the file keeps a value that no row has.
        let used: Vec<&str> = names.iter().copied().filter(|name| *name != "medium").collect();
        assert_eq!(used, ["small", "large"]);
        assert_eq!(names[codes[1].unwrap() as usize], "large");
        assert_eq!(
            categories(&table.columns[1]),
            ("answer", vec!["no", "yes"], vec![Some(1), Some(0), None, Some(1)])
        );
        assert_eq!(table.columns[2], Column::of_numbers("n", vec![10.0, 9.0, 10.0, 2.0]));
        let ColumnValues::Numbers(x) = &table.columns[3].values else { panic!() };
        assert!(x[0] == 0.5 && x[1].is_nan() && x[2].is_nan() && x[3] == 2.0);
        assert_eq!(categories(&table.columns[4]).1, ["false", "true"]);

        let table = read(&path, ColumnKinds::Categories).unwrap();
        assert_eq!(categories(&table.columns[2]).1, ["2", "9", "10"]);
        assert_eq!(categories(&table.columns[3]).2, [Some(0), None, None, Some(1)]);
    }
}

#[test]
fn a_fit_decides_the_kinds_of_new_rows() {
    let folder = tempfile::tempdir().unwrap();
    let of_categories = |name: &str| Variable::Categories {
        name: name.to_owned(),
        categories: vec!["2".to_owned()],
        has_missing: false,
    };
    let variables = [
        Variable::Numbers { name: "x".to_owned(), mean: 0.0, deviation: 1.0 },
        of_categories("n"),
        of_categories("size"),
        of_categories("answer"),
        of_categories("is"),
        of_categories("who"),
    ];
    for path in written(folder.path(), &batch()) {
        let table = read(&path, ColumnKinds::OfFit { variables: &variables, named: true }).unwrap();
        let numbers: Vec<&str> = table
            .columns
            .iter()
            .filter(|column| matches!(column.values, ColumnValues::Numbers(_)))
            .map(|column| column.name.as_str())
            .collect();
        assert_eq!(numbers, ["x"]);
        let mut wrong = variables.clone();
        wrong[3] = Variable::Numbers { name: "answer".to_owned(), mean: 0.0, deviation: 1.0 };
        let kinds = ColumnKinds::OfFit { variables: &wrong, named: true };
        let message = read(&path, kinds).unwrap_err().to_string();
        assert!(
            message.ends_with("column 3 (`answer`): holds text, and the fit had numbers there"),
            "{message}"
        );
    }
}

#[test]
fn lists_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), Some([Some(2)])]);
    let batch = RecordBatch::try_from_iter([("l", Arc::new(lists) as ArrayRef)]).unwrap();
    let [path, ..] = written(folder.path(), &batch);
    let message = read(&path, ColumnKinds::Categories).unwrap_err().to_string();
    assert!(
        message
            .ends_with("column 1 (`l`): holds List values, which are not categories; leave the column out"),
        "{message}"
    );
}
