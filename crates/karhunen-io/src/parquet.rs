//! Parquet: typed columns in row groups, decoded by several threads, each its own columns.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use karhunen::{Matrix, Scalar};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::columns::{self, Batches, Columns, damaged};
use crate::input::Input;
use crate::options::OptionName;
use crate::{ReadOptions, Result, Table};

/// Values that one thread decodes at a time.
const BATCH_VALUES: usize = 1 << 20;
/// Values of a row group that is written: its columns are held in memory until it is full.
const GROUP_VALUES: usize = 1 << 24;
/// Name of the column of sample names.
const NAME_COLUMN: &str = "sample";

/// Reads the columns of numbers, those that the options set aside, and the names of the rows.
///
/// # Errors
/// Those of [`Columns::table`].
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    let Input { path, bytes } = input;
    options.allow_only(
        &path,
        "Parquet",
        &[OptionName::IdColumn, OptionName::Labels, OptionName::WeightsColumn],
    )?;
    columns::guarded(&path, || {
        let bytes = columns::shared(bytes);
        let metadata = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new());
        let metadata = metadata.map_err(|error| damaged(&path, &error))?;
        let declared = metadata.metadata().file_metadata().num_rows();
        let n_rows = usize::try_from(declared).map_err(|_| damaged(&path, &format!("{declared} rows")))?;
        let schema = metadata.schema().clone();
        let file = File { path: &path, bytes, metadata };
        let columns = Columns { path: &path, format: "Parquet", schema: &schema, n_rows, batches: &file };
        columns::in_pool(&path, options.n_threads, || columns.table(options))
    })
}

struct File<'a> {
    path: &'a std::path::Path,
    bytes: bytes::Bytes,
    metadata: ArrowReaderMetadata,
}

impl Batches for File<'_> {
    fn visit(&self, columns: &[usize], f: &mut dyn FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone())
                .with_projection(mask)
                .with_batch_size((BATCH_VALUES / columns.len().max(1)).clamp(256, 1 << 16))
                .build()
                .map_err(|error| damaged(self.path, &error))?;
        for batch in reader {
            f(&batch.map_err(|error| damaged(self.path, &error))?)?;
        }
        Ok(())
    }
}

/// Writes a matrix in its own precision, compressed with zstd, the names of the rows in a first column of text.
/// Columns without names are called `column 1`, `column 2`, …
///
/// # Errors
/// Those of `sink`.
pub(crate) fn write<T: Scalar>(
    sink: &mut dyn Write,
    matrix: &Matrix<T>,
    row_names: Option<&[String]>,
    column_names: Option<&[String]>,
) -> std::io::Result<()> {
    let kind = if T::NAME == f32::NAME { DataType::Float32 } else { DataType::Float64 };
    let mut fields = Vec::with_capacity(matrix.n_cols() + 1);
    fields.extend(row_names.map(|_| Field::new(NAME_COLUMN, DataType::Utf8, false)));
    for column in 0..matrix.n_cols() {
        let name =
            column_names.map_or_else(|| format!("column {}", column + 1), |names| names[column].clone());
        fields.push(Field::new(name, kind.clone(), false));
    }
    let schema = Arc::new(Schema::new(fields));
    // Few numbers come twice: a dictionary of them would only be thrown away again.
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(ColumnPath::from(NAME_COLUMN), row_names.is_some())
        .set_created_by(concat!("karhunen ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let written = Written::default();
    let mut writer = ArrowWriter::try_new(written.clone(), schema.clone(), Some(properties))?;
    let per_group = (GROUP_VALUES / matrix.n_cols().max(1)).max(1);
    for begin in (0..matrix.n_rows()).step_by(per_group) {
        let rows = begin..(begin + per_group).min(matrix.n_rows());
        let names =
            row_names.map(|names| Arc::new(StringArray::from_iter_values(&names[rows.clone()])) as ArrayRef);
        let columns = (0..matrix.n_cols()).map(|column| column_array(matrix, rows.clone(), column));
        let batch = RecordBatch::try_new(schema.clone(), names.into_iter().chain(columns).collect());
        writer.write(&batch.map_err(std::io::Error::other)?)?;
        writer.flush()?;
        written.pass_on(sink)?;
    }
    writer.close()?;
    written.pass_on(sink)
}

fn column_array<T: Scalar>(matrix: &Matrix<T>, rows: std::ops::Range<usize>, column: usize) -> ArrayRef {
    let values = rows.map(|row| matrix[(row, column)]);
    if T::NAME == f32::NAME {
        Arc::new(Float32Array::from_iter_values(values.map(|value| value.to_f64() as f32)))
    } else {
        Arc::new(Float64Array::from_iter_values(values.map(Scalar::to_f64)))
    }
}

/// What the encoder has written and nobody has taken yet: the encoder wants a sink that can change threads.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_on(&self, sink: &mut dyn Write) -> std::io::Result<()> {
        let mut bytes = self.bytes();
        sink.write_all(&bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
