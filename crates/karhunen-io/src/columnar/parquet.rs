//! Parquet: typed columns in row groups; several threads decode different columns.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use karhunen::{Matrix, Scalar, memory};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::basic::{Compression, Type, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::batches::Batches;
use super::columns::{self, Columns};
use super::parquet_limits::{check_pages, check_schema};
use super::roles::place;
use super::triples;
use crate::categories::{CategoryTable, ColumnKinds};
use crate::csv::in_pool;
use crate::decoder::{self, damaged};
use crate::ids::{Ids, integer};
use crate::input::{Bytes, Input};
use crate::mapped::Mapped;
use crate::option_names;
use crate::packed;
use crate::table::{TextRows, Written};
use crate::triples::{Entries, Wanted};
use crate::{Cause, Error, ReadOptions, Result, Table};

/// Number of values that a thread decodes at a time.
const BATCH_VALUES: usize = 1 << 20;
/// Number of values of a row group on writing: its columns are held in memory until it is full.
const GROUP_VALUES: usize = 1 << 24;
/// Number of cells, texts included, after which a group of several blocks ends.
const FLUSHED_CELLS: usize = 1 << 20;

/// Reads the columns of numbers, the columns that the options exclude, and the names of the rows.
///
/// # Errors
/// Same errors as [`Columns::table`].
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    with_columns(input, options, |columns| columns.table(options))
}

/// Reads a table of categories and numbers.
///
/// # Errors
/// Same errors as [`Columns::categories`].
pub(crate) fn read_categories(
    input: Input,
    kinds: ColumnKinds<'_>,
    options: &ReadOptions,
) -> Result<CategoryTable> {
    with_columns(input, options, |columns| columns.categories(kinds, options))
}

/// Opens the file and passes its columns to `read`.
fn with_columns<R: Send>(
    input: Input,
    options: &ReadOptions,
    read: impl FnOnce(&Columns<'_>) -> Result<R> + Send,
) -> Result<R> {
    let n_bytes = input.as_slice().len() as u64;
    let Input { path, bytes } = input;
    options.allow_only(
        &path,
        "Parquet",
        &[option_names::ROW_NAMES, option_names::LABELS, option_names::WEIGHTS_COLUMN],
    )?;
    let mapped = bytes.mapped();
    let (file, schema, n_rows) = open(&path, bytes, options)?;
    let batches = Arc::new(file);
    let columns = Columns { path: &path, format: "Parquet", schema, n_rows, batches, n_bytes, mapped };
    in_pool(&path, options, || read(&columns))?
}

/// Reads a table of triples.
///
/// # Errors
/// Same errors as [`triples::File::entries`].
pub(crate) fn read_triples<T: Scalar>(
    input: Input,
    wanted: &Wanted,
    options: &ReadOptions,
) -> Result<Entries<T>> {
    let Input { path, bytes } = input;
    options.allow_for_triples(&path, &[])?;
    let (file, schema, n_rows) = open(&path, bytes, options)?;
    let file = triples::File { path: &path, schema: &schema, n_rows, batches: &file };
    in_pool(&path, options, || file.entries(wanted))?
}

/// The file, the names and types of its columns, and its number of rows.
pub(crate) fn open(path: &Path, bytes: Bytes, options: &ReadOptions) -> Result<(File, SchemaRef, usize)> {
    let mapped = bytes.mapped();
    let bytes = columns::shared(bytes);
    check_schema(&bytes).map_err(|error| damaged(path, &error))?;
    let metadata = decoder::run(path, || ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new()))?;
    let release = || mapped.iter().for_each(Mapped::release);
    let pages = check_pages(metadata.metadata(), &bytes, &release).map_err(|error| damaged(path, &error))?;
    check_unpacked(&metadata, options.most_unpacked()).map_err(|cause| Error::new(path, cause))?;
    let declared = metadata.metadata().file_metadata().num_rows();
    let n_rows = usize::try_from(declared).map_err(|_| damaged(path, &format!("{declared} rows")))?;
    let schema = metadata.schema().clone();
    let (path, most_held) = (path.to_owned(), options.most_held());
    Ok((File { path, bytes, metadata, pages, most_held }, schema, n_rows))
}

/// Refuses columns that declare more than `most` bytes after decompression.
fn check_unpacked(metadata: &ArrowReaderMetadata, most: u64) -> std::result::Result<(), Cause> {
    let groups = metadata.metadata().row_groups().iter();
    let packed = groups
        .flat_map(|group| group.columns())
        .filter(|column| column.compression() != Compression::UNCOMPRESSED);
    let declared =
        packed.fold(0u64, |sum, column| sum.saturating_add(column.uncompressed_size().unsigned_abs()));
    if declared > most { Err(packed::too_much(most)) } else { Ok(()) }
}

/// A file whose footer was read.
pub(crate) struct File {
    path: PathBuf,
    bytes: bytes::Bytes,
    metadata: ArrowReaderMetadata,
    /// Most bytes of unpacked pages that a reader of each column holds at a time.
    pages: Vec<u64>,
    /// Most bytes of values to hold in memory.
    most_held: u64,
}

impl File {
    /// Refuses texts of which one page exceeds the memory limit: all of it is decoded at a time.
    ///
    /// # Errors
    /// [`Cause::Format`].
    fn check_texts(&self, columns: &[usize]) -> Result<()> {
        /// The page, its values, and the copies that they become.
        const COPIES: u64 = 4;
        /// Bytes too few to be counted.
        const FEW: u64 = 8 << 20;
        let schema = self.metadata.parquet_schema();
        for &column in columns.iter().filter(|&&column| column < schema.num_columns()) {
            let need = COPIES.saturating_mul(self.pages.get(column).copied().unwrap_or(0));
            if need > self.most_held.max(FEW) && schema.column(column).physical_type() == Type::BYTE_ARRAY {
                let message = format!(
                    "takes {} to read, more than the memory that may be used; write the file with smaller pages, or \
                     without the column",
                    memory::size(need as f64)
                );
                let place = place(self.metadata.schema(), None, column);
                return Err(Error::at(&self.path, place, Cause::format(message)));
            }
        }
        Ok(())
    }
}

impl Batches for File {
    fn visit(&self, columns: &[usize], f: &mut dyn FnMut(&RecordBatch) -> Result<bool>) -> Result<()> {
        self.visit_from(columns, 0, &mut |_, batch| f(batch))
    }

    fn visit_from(
        &self,
        columns: &[usize],
        first: usize,
        f: &mut dyn FnMut(usize, &RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        self.check_texts(columns)?;
        // Groups of rows before `first` are not decoded.
        let (mut end, mut n_passed) = (0, 0);
        for group in self.metadata.metadata().row_groups() {
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            if end + rows > first {
                break;
            }
            (end, n_passed) = (end + rows, n_passed + 1);
        }
        let groups = (n_passed..self.metadata.metadata().num_row_groups()).collect();
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
        let mut reader = decoder::run(&self.path, || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone())
                .with_projection(mask)
                .with_row_groups(groups)
                .with_batch_size(batch_rows(columns.len()))
                .build()
        })?;
        while let Some(batch) = decoder::run(&self.path, || reader.next().transpose())? {
            let begin = end;
            end += batch.num_rows();
            if !f(begin, &batch)? {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, columns: &[usize]) -> f64 {
        let pages = columns.iter().filter_map(|&column| self.pages.get(column));
        let pages: f64 = pages.map(|&bytes| bytes as f64).sum();
        pages + 8.0 * batch_rows(columns.len()) as f64 * columns.len() as f64
    }
}

/// Rows of a batch of so many columns.
fn batch_rows(n_columns: usize) -> usize {
    (BATCH_VALUES / n_columns.max(1)).clamp(256, 1 << 16)
}

/// Writes numbers in their own precision, compressed with zstd; columns of text come first.
///
/// # Errors
/// Errors of `sink`.
pub(crate) fn write<T: Scalar>(sink: &mut (dyn Write + Send), table: &dyn Written<T>) -> std::io::Result<()> {
    write_groups(sink, table, (GROUP_VALUES / table.column_names().len().max(1)).max(1))
}

fn write_groups<T: Scalar>(
    sink: &mut (dyn Write + Send),
    table: &dyn Written<T>,
    rows_per_group: usize,
) -> std::io::Result<()> {
    let kind = if T::NAME == f32::NAME { DataType::Float32 } else { DataType::Float64 };
    let text_columns = table.text_columns();
    let text_fields = text_columns
        .iter()
        .map(|(name, whole)| Field::new(*name, if *whole { DataType::Int64 } else { DataType::Utf8 }, false));
    let fields = table.column_names().iter().map(|name| Field::new(name, kind.clone(), false));
    let schema = Arc::new(Schema::new(text_fields.chain(fields).collect::<Vec<_>>()));
    // Few numbers and no row names repeat: a dictionary of them would be discarded.
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .set_created_by(concat!("karhunen ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let encoded = Encoded::default();
    let mut writer = ArrowWriter::try_new(encoded.clone(), schema.clone(), Some(properties))?;
    table.each_with_texts(&mut |texts, block| {
        for begin in (0..block.n_rows()).step_by(rows_per_group) {
            let here = begin..(begin + rows_per_group).min(block.n_rows());
            let texts = texts.iter().zip(&text_columns);
            let texts = texts.map(|(texts, (_, whole))| text_array(texts, here.clone(), *whole));
            let columns = (0..block.n_cols()).map(|column| Ok(column_array(block, here.clone(), column)));
            let arrays = texts.chain(columns).collect::<std::io::Result<Vec<_>>>()?;
            let batch = RecordBatch::try_new(schema.clone(), arrays);
            writer.write(&batch.map_err(std::io::Error::other)?)?;
            let n_rows = writer.in_progress_rows();
            // Short blocks share a group.
            if n_rows >= rows_per_group || n_rows * schema.fields().len() >= FLUSHED_CELLS {
                writer.flush()?;
            }
            encoded.pass_on(sink)?;
        }
        Ok(())
    })?;
    writer.close()?;
    encoded.pass_on(sink)
}

fn text_array(texts: &TextRows<'_>, rows: Range<usize>, whole: bool) -> std::io::Result<ArrayRef> {
    if !whole {
        return Ok(Arc::new(StringArray::from_iter_values(rows.map(|row| texts.text(row)))));
    }
    let number = |row| {
        let not_whole = || std::io::Error::other(format!("`{}` is not an integer", texts.text(row)));
        whole_number(texts, row).ok_or_else(not_whole)
    };
    Ok(Arc::new(Int64Array::from(rows.map(number).collect::<std::io::Result<Vec<i64>>>()?)))
}

/// The text of a row as an integer, if it is one in canonical form.
fn whole_number(texts: &TextRows<'_>, row: usize) -> Option<i64> {
    match texts {
        TextRows::Names(names) => integer(names[row].as_bytes()),
        TextRows::Ids(Ids::Integers(ids)) => Some(ids[row]),
        TextRows::Ids(Ids::Texts(ids)) => integer(ids[row].as_bytes()),
    }
}

fn column_array<T: Scalar>(matrix: &Matrix<T>, rows: Range<usize>, column: usize) -> ArrayRef {
    let values = rows.map(|row| matrix[(row, column)]);
    if T::NAME == f32::NAME {
        Arc::new(Float32Array::from_iter_values(values.map(|value| value.to_f64() as f32)))
    } else {
        Arc::new(Float64Array::from_iter_values(values.map(Scalar::to_f64)))
    }
}

/// The output of the encoder, not yet taken: the encoder requires a sink that can move between threads.
#[derive(Clone, Default)]
struct Encoded(Arc<Mutex<Vec<u8>>>);

impl Encoded {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass_on(&self, sink: &mut (dyn Write + Send)) -> std::io::Result<()> {
        let mut bytes = self.bytes();
        sink.write_all(&bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Write for Encoded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Data, NamedMatrix, RowNames, Values};

    fn read_bytes(bytes: Vec<u8>, options: &ReadOptions) -> Table {
        read(Input { path: "x.parquet".into(), bytes: Bytes::Owned(bytes) }, options).unwrap()
    }

    fn round_trip<T: Scalar>(
        matrix: &Matrix<T>,
        row_names: Option<&[String]>,
        rows_per_group: usize,
    ) -> Table {
        let column_names: Vec<_> = (0..matrix.n_cols()).map(|column| format!("PC {column}")).collect();
        let table = NamedMatrix {
            matrix,
            row_names,
            row_header: "city",
            labels: &[],
            column_names: &column_names,
            numeric_ids: false,
        };
        let mut bytes = Vec::new();
        write_groups(&mut bytes, &table, rows_per_group).unwrap();
        let read = read_bytes(bytes, &ReadOptions::default());
        assert_eq!(read.feature_names, Some(column_names));
        assert_eq!(read.sample_names.as_deref(), row_names);
        read
    }

    proptest! {
        #[test]
        fn bits_survive_a_round_trip(n_rows in 0usize..9, n_cols in 1usize..9, group in 1usize..5, seed: [u64; 81]) {
            let double = Matrix::from_fn(n_rows, n_cols, |i, j| f64::from_bits(seed[i * 9 + j]));
            let table = round_trip(&double, None, group);
            let Data::F64(Values::Dense { buffer, column_major: true, .. }) = &table.data else { panic!("{table:?}") };
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(buffer.as_slice()), bits(double.transposed().as_slice()));
            let single = Matrix::from_fn(n_rows, n_cols, |i, j| seed[i * 9 + j] as f32);
            let names: Vec<String> = (0..n_rows).map(|row| format!("row {row}")).collect();
            let table = round_trip(&single, Some(&names), group);
            let Data::F32(Values::Dense { buffer, .. }) = &table.data else { panic!("{table:?}") };
            prop_assert!(buffer.as_slice() == single.transposed().as_slice());
        }
    }

    #[test]
    fn names_that_repeat_are_refused_as_names_of_rows() {
        let names = ["a", "b", "a"].map(str::to_owned);
        let (matrix, columns) = (Matrix::from_fn(3, 1, |i, _| i as f64), ["x".to_owned()]);
        let table = NamedMatrix {
            matrix: &matrix,
            row_names: Some(&names),
            row_header: "my city",
            labels: &[],
            column_names: &columns,
            numeric_ids: false,
        };
        let mut bytes = Vec::new();
        write(&mut bytes, &table).unwrap();
        let input = Input { path: "x.parquet".into(), bytes: Bytes::Owned(bytes.clone()) };
        assert_eq!(
            read(input, &ReadOptions::default()).unwrap_err().to_string(),
            "x.parquet: row 3: column 1 (`my city`): holds text, and does not name the rows, for the same stands in \
             row 1; exclude it with labels = [\"my city\"]"
        );
        let named =
            ReadOptions { row_names: RowNames::Column("my city".to_owned()), ..ReadOptions::default() };
        assert_eq!(read_bytes(bytes, &named).sample_names.as_deref(), Some(&names[..]));
    }

    #[test]
    fn texts_that_exceed_the_memory_limit_are_refused() {
        let names = ["x".repeat(3_000_000), "y".to_owned()];
        let (matrix, columns) = (Matrix::from_fn(2, 1, |i, _| i as f64), ["x".to_owned()]);
        let table = NamedMatrix {
            matrix: &matrix,
            row_names: Some(&names),
            row_header: "text",
            labels: &[],
            column_names: &columns,
            numeric_ids: false,
        };
        let mut bytes = Vec::new();
        write(&mut bytes, &table).unwrap();
        let within = |limit| {
            let input = Input { path: "x.parquet".into(), bytes: Bytes::Owned(bytes.clone()) };
            read(input, &ReadOptions { memory_limit: Some(limit), ..ReadOptions::default() })
        };
        assert_eq!(within(13_000_000).unwrap().sample_names.unwrap()[0].len(), 3_000_000);
        assert_eq!(
            within(10_000_000).unwrap_err().to_string(),
            "x.parquet: column 1 (`text`): takes 12.0 MB to read, more than the memory that may be used; write the file \
             with smaller pages, or without the column"
        );
    }
}
