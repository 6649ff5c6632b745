//! Writes tables to files in the format of the extension.

use std::io::Write;
use std::path::Path;

use karhunen::Scalar;

use crate::columnar::parquet;
use crate::replace::{Staged, stage};
use crate::table::Written;
use crate::{Cause, Error, NamedMatrix, Result, RowsToWrite, csv, npy};

/// Formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text { delimiter: u8 },
    Npy,
    Parquet,
}

/// Writes a table: `.csv`, `.tsv`, `.npy` (without names and labels) or `.parquet` by the extension of `path`, or
/// CSV to standard output for `-`. Numbers in text parse to the same bits. A file is written next to the target and
/// renamed, so that the target is never half-written.
///
/// # Errors
/// [`Cause::Option`] for another extension, [`Cause::Library`] unless there is one name for each row and column,
/// [`Cause::Io`] if writing fails; the target is then unchanged.
pub fn write_table<T: Scalar>(path: &Path, table: &NamedMatrix<T>) -> Result<()> {
    stage_table(path, table)?.commit()
}

/// As [`write_table`], but leaves the file next to the target until [`Staged::commit`]: for several files that must
/// appear together. Standard output is written at once.
///
/// # Errors
/// As [`write_table`].
pub fn stage_table<T: Scalar>(path: &Path, table: &NamedMatrix<T>) -> Result<Staged> {
    let format = format_of(path)?;
    let (n_rows, n_cols) = table.matrix.shape();
    check_names("the row names", "rows", table.row_names.map(<[_]>::len), n_rows, path)?;
    check_names("the column names", "columns", Some(table.column_names.len()), n_cols, path)?;
    for label in table.labels {
        check_names("a column of labels", "rows", Some(label.values.len()), n_rows, path)?;
    }
    stage_written(path, format, table, table.matrix)
}

/// Writes `table` next to its target; NPY holds its `numbers` alone.
///
/// # Errors
/// Same errors as [`stage`].
pub(crate) fn stage_written<T: Scalar>(
    path: &Path,
    format: Format,
    table: &dyn Written<T>,
    numbers: &dyn RowsToWrite<T>,
) -> Result<Staged> {
    stage(path, |mut sink| match format {
        Format::Text { delimiter } => csv::write(&mut WithoutZeros(sink), table, delimiter),
        Format::Npy => npy::write(&mut sink, numbers),
        Format::Parquet => parquet::write(sink, table),
    })
}

/// A text. A zero byte, which only a name can bring, is an error: no reader takes it for text.
struct WithoutZeros<'a>(&'a mut (dyn Write + Send));

impl Write for WithoutZeros<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if memchr::memchr(0, bytes).is_some() {
            let message =
                "a name holds a NUL byte, which no text table can; rename it, or write .npy or .parquet";
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Writes a file of these bytes next to its target until [`Staged::commit`], like [`stage_table`].
///
/// # Errors
/// [`Cause::Io`]; the target is then unchanged.
pub fn stage_bytes(path: &Path, bytes: &[u8]) -> Result<Staged> {
    stage(path, |sink| sink.write_all(bytes))
}

/// Checks, before any work, that [`write_table`] supports the extension of `path`.
///
/// # Errors
/// [`Cause::Option`] for an unsupported extension; [`Cause::LeftOut`] for one that this build leaves out.
pub fn check_table_path(path: &Path) -> Result<()> {
    format_of(path).map(|_| ())
}

fn check_names(
    what: &'static str,
    axis: &'static str,
    found: Option<usize>,
    expected: usize,
    path: &Path,
) -> Result<()> {
    match found {
        Some(found) if found != expected => {
            Err(Error::new(path, Cause::from(karhunen::Error::Shape { what, axis, found, expected })))
        }
        _ => Ok(()),
    }
}

/// The format of the extension of a path.
///
/// # Errors
/// [`Cause::Option`] for an unsupported extension; [`Cause::LeftOut`] for one that this build leaves out.
pub(crate) fn format_of(path: &Path) -> Result<Format> {
    if path.as_os_str() == "-" {
        return Ok(Format::Text { delimiter: b',' });
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "csv" => Ok(Format::Text { delimiter: b',' }),
        "tsv" => Ok(Format::Text { delimiter: b'\t' }),
        "npy" => Ok(Format::Npy),
        "parquet" if cfg!(feature = "columnar") => Ok(Format::Parquet),
        "parquet" => Err(Error::new(path, Cause::LeftOut { what: "Parquet", feature: "columnar" })),
        other => {
            let found =
                if other.is_empty() { "has no extension".into() } else { format!("ends in .{other}") };
            let known = if cfg!(feature = "columnar") {
                ".csv, .tsv, .npy or .parquet"
            } else {
                ".csv, .tsv or .npy"
            };
            let message = format!("the name {found}; give one that ends in {known}");
            Err(Error::new(path, Cause::option(message)))
        }
    }
}
