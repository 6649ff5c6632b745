//! Files, their values block by block, and fits of them.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use karhunen::{Matrix, Pca, PcaModel, Run, Scalar, Weights};
use karhunen_io::{Data, FileRows, NamedMatrix, ReadOptions, Table, Values, read, write_table};

/// Writes a file in the format of the extension of `name`, with this matrix and, if `named`, a name for each row.
pub(crate) fn written<T: Scalar>(
    folder: &Path,
    name: &str,
    matrix: &Matrix<T>,
    named: bool,
) -> std::path::PathBuf {
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

/// The bits of the numbers of a model.
pub(crate) fn bits(model: &PcaModel) -> Vec<u64> {
    let parts = [model.components().as_slice(), model.explained_variance(), model.mean(), model.scale()];
    parts.concat().iter().map(|value| value.to_bits()).collect()
}

/// A fit of values that are in a file.
pub(crate) fn fit_file(
    data: &Data,
    pca: &Pca,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> karhunen::Result<PcaModel> {
    match data {
        Data::F32(Values::InFile(rows)) => pca.fit_with(rows, weights, run),
        Data::F64(Values::InFile(rows)) => pca.fit_with(rows, weights, run),
        held => panic!("held in memory: {held:?}"),
    }
}

/// The table, whose values stay in the file.
pub(crate) fn open(path: &Path, options: &ReadOptions) -> karhunen_io::Result<Table> {
    read(path, &ReadOptions { memory_limit: Some(0), ..options.clone() })
}

/// The values of the file, read in blocks of so many bytes.
pub(crate) fn in_blocks(path: &Path, options: &ReadOptions, bytes: usize) -> Data {
    match open(path, options).unwrap().data {
        Data::F32(Values::InFile(rows)) => Data::F32(Values::InFile(rows.block_bytes(bytes))),
        Data::F64(Values::InFile(rows)) => Data::F64(Values::InFile(rows.block_bytes(bytes))),
        held => panic!("held in memory: {held:?}"),
    }
}

/// The values of a file in double precision.
pub(crate) fn double(data: Data) -> FileRows<f64> {
    let Data::F64(Values::InFile(rows)) = data else { panic!("{data:?}") };
    rows
}
