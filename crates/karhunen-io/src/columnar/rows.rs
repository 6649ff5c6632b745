//! Parquet and Arrow: the batches of the file, each converted to columns of numbers during the visit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use karhunen::Scalar;

use super::batches::{Batches, first_null, first_rounded, null};
use super::conversions::copy;
use super::roles::place;
use crate::file_rows::{AnyRows, BlockReader, FileRows, OwnedBlock};
use crate::mapped::Mapped;
use crate::{Cause, Error, ReadOptions, Result};

/// The columns of numbers of a file.
struct Table {
    path: PathBuf,
    schema: SchemaRef,
    n_rows: usize,
    batches: Arc<dyn Batches>,
    columns: Vec<usize>,
    /// If true, nulls become NaN; otherwise they are an error.
    missing: bool,
    mapped: Option<Mapped>,
}

/// The values of some columns, which stay in the file.
pub(crate) fn rows_of_columns(
    path: &Path,
    (schema, n_rows, batches): (SchemaRef, usize, Arc<dyn Batches>),
    columns: Vec<usize>,
    options: &ReadOptions,
    (n_bytes, mapped): (u64, Option<Mapped>),
) -> AnyRows {
    let shape = (n_rows, columns.len());
    let single = columns.iter().all(|&column| *schema.field(column).data_type() == DataType::Float32);
    let of_file = (n_bytes, mapped.clone());
    let (path, missing, memory_limit) = (path.to_owned(), options.missing, options.most_held());
    let table = Table { path, schema, n_rows, batches, columns, missing, mapped };
    if single {
        AnyRows::F32(FileRows::new(Box::new(table), shape, of_file, memory_limit))
    } else {
        AnyRows::F64(FileRows::new(Box::new(table), shape, of_file, memory_limit))
    }
}

impl Table {
    fn refused(&self, row: usize, column: usize, cause: Cause) -> Error {
        Error::at(&self.path, place(&self.schema, Some(row), column), cause)
    }

    fn miscounted(&self, found: usize) -> Error {
        let message = format!("{} rows are declared, {found} are there; the file is damaged", self.n_rows);
        Error::new(&self.path, Cause::format(message))
    }

    /// Converts a batch to column-major values; its first row is row `first` of the file.
    fn convert<T: Scalar>(&self, first: usize, batch: &RecordBatch) -> Result<Vec<T>> {
        let n_rows = batch.num_rows();
        let mut values = vec![T::default(); n_rows * self.columns.len()];
        if n_rows == 0 {
            return Ok(values);
        }
        for ((array, out), &column) in
            batch.columns().iter().zip(values.chunks_exact_mut(n_rows)).zip(&self.columns)
        {
            if let Some(row) = first_null(array).filter(|_| !self.missing) {
                return Err(self.refused(first + row, column, null()));
            }
            // The reader of whole tables only warns; a file that is read in every visit is refused.
            if let Some((row, text)) = first_rounded::<f64>(array) {
                let message = format!(
                    "{text} is not a number of double precision; convert the column, or read the whole table"
                );
                return Err(self.refused(first + row, column, Cause::value(message)));
            }
            copy(&self.path, array, out)?;
        }
        Ok(values)
    }
}

impl<T: Scalar> BlockReader<T> for Table {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        let mut goes_on = true;
        let mut end = 0;
        self.batches.visit_from(&self.columns, first, &mut |number, batch| {
            // Rows before `first` are passed over.
            let begin = first.saturating_sub(number).min(batch.num_rows());
            end = number + batch.num_rows();
            if end > self.n_rows {
                return Err(self.miscounted(end));
            }
            for start in (begin..batch.num_rows()).step_by(rows_at_once) {
                let n_rows = rows_at_once.min(batch.num_rows() - start);
                let values = self.convert(*reached, &batch.slice(start, n_rows))?;
                *reached += n_rows;
                goes_on = f(OwnedBlock::Dense { values, n_rows, column_major: true });
                if !goes_on {
                    break;
                }
            }
            if let Some(map) = &self.mapped {
                map.release();
            }
            Ok(goes_on)
        })?;
        if goes_on && end < self.n_rows { Err(self.miscounted(end)) } else { Ok(()) }
    }

    fn held(&self, _: usize) -> f64 {
        self.batches.held(&self.columns)
    }
}
