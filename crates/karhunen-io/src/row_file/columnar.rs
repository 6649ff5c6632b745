//! Parquet and Arrow: the batches of the file, each converted to columns of numbers during the visit.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use karhunen::Scalar;

use super::{Blocks, FileRows, RowFile, Rows, Stop};
use crate::columns::{Batches, first_null, first_rounded};
use crate::conversions::copy;
use crate::input::Input;
use crate::option_names;
use crate::roles::{Role, Roles, place};
use crate::{Cause, Error, ReadOptions, Result, arrow, parquet};

/// The columns of numbers of a file.
struct Table<B> {
    path: PathBuf,
    schema: SchemaRef,
    n_rows: usize,
    batches: B,
    columns: Vec<usize>,
    /// Whether nulls become NaN; otherwise they are an error.
    holes: bool,
}

/// # Errors
/// Those of [`crate::read`] for the columns.
pub(super) fn open_parquet(input: Input, options: &ReadOptions) -> Result<RowFile> {
    let Input { path, bytes } = input;
    let (batches, schema, n_rows) = parquet::open(&path, bytes, options.most_unpacked())?;
    open(
        Table { path, schema, n_rows, batches, columns: Vec::new(), holes: options.missing },
        "Parquet",
        options,
    )
}

/// # Errors
/// Those of [`crate::read`] for the columns; [`Cause::Option`] for a stream.
pub(super) fn open_arrow(input: Input, options: &ReadOptions) -> Result<RowFile> {
    let Input { path, bytes } = input;
    let (batches, schema, n_rows) = arrow::open_batches(&path, bytes)?;
    open(
        Table { path, schema, n_rows, batches, columns: Vec::new(), holes: options.missing },
        "Arrow IPC file",
        options,
    )
}

fn open<B: Batches + Send + 'static>(
    mut table: Table<B>,
    format: &'static str,
    options: &ReadOptions,
) -> Result<RowFile> {
    let used = [option_names::ROW_NAMES, option_names::LABELS, option_names::WEIGHTS_COLUMN];
    options.allow_only(&table.path, format, &used)?;
    let roles = Roles::of(&table.path, &table.schema, options)?;
    table.columns = roles.columns(Role::Value);
    let weights = match roles.columns(Role::Weights)[..] {
        [column] => Some(table.weights(column)?),
        _ => None,
    };
    let single =
        table.columns.iter().all(|&column| *table.schema.field(column).data_type() == DataType::Float32);
    Ok(if single {
        RowFile::F32(table.into_rows(format, weights))
    } else {
        RowFile::F64(table.into_rows(format, weights))
    })
}

impl<B: Batches + Send + 'static> Table<B> {
    /// The values of a column of weights.
    fn weights(&self, column: usize) -> Result<Vec<f64>> {
        let mut weights = Vec::with_capacity(self.n_rows);
        self.batches.visit(&[column], &mut |batch| {
            if let Some(row) = first_null(batch.column(0)) {
                return Err(self.refused(weights.len() + row, column, Cause::null()));
            }
            let begin = weights.len();
            weights.resize(begin + batch.num_rows(), 0.0);
            copy(&self.path, batch.column(0), &mut weights[begin..])
        })?;
        Ok(weights)
    }

    fn refused(&self, row: usize, column: usize, cause: Cause) -> Error {
        Error::at(&self.path, place(&self.schema, Some(row), column), cause)
    }

    fn into_rows<T: Scalar>(self, format: &'static str, weights: Option<Vec<f64>>) -> FileRows<T> {
        let shape = (self.n_rows, self.columns.len());
        let name = |&column: &usize| self.schema.field(column).name().clone();
        let feature_names = Some(self.columns.iter().map(name).collect());
        FileRows::new(Box::new(self), shape, feature_names, weights, format)
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
            if let Some(row) = first_null(array).filter(|_| !self.holes) {
                return Err(self.refused(first + row, column, Cause::null()));
            }
            // The reader of whole tables only warns; a file that is read in every visit is refused.
            if let Some((row, text)) = first_rounded::<f64>(array) {
                let message = format!(
                    "{text} is no number of double precision; convert the column, or read the whole table"
                );
                return Err(self.refused(first + row, column, Cause::value(message)));
            }
            copy(&self.path, array, out)?;
        }
        Ok(values)
    }
}

impl<T: Scalar, B: Batches + Send + 'static> Blocks<T> for Table<B> {
    fn each(
        &self,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(Rows<T>) -> karhunen::Result<()>,
    ) -> std::result::Result<(), Stop> {
        let mut stopped = None;
        let outcome = self.batches.visit(&self.columns, &mut |batch| {
            for start in (0..batch.num_rows()).step_by(rows_at_once) {
                let n_rows = rows_at_once.min(batch.num_rows() - start);
                let values = self.convert(*reached, &batch.slice(start, n_rows))?;
                *reached += n_rows;
                if *reached > self.n_rows {
                    return Err(self.miscounted(*reached));
                }
                if let Err(error) = f(Rows { values, n_rows, column_major: true }) {
                    stopped = Some(error);
                    // Ends the visit; the error of the visitor replaces it below.
                    return Err(Error::new(&self.path, Cause::format("stopped".to_owned())));
                }
            }
            Ok(())
        });
        match (stopped, outcome) {
            (Some(error), _) => Err(Stop::Visitor(error)),
            (None, Err(error)) => Err(Stop::File(error)),
            (None, Ok(())) if *reached < self.n_rows => Err(Stop::File(self.miscounted(*reached))),
            (None, Ok(())) => Ok(()),
        }
    }
}

impl<B> Table<B> {
    fn miscounted(&self, found: usize) -> Error {
        let message = format!("{} rows are declared, {found} are there; the file is damaged", self.n_rows);
        Error::new(&self.path, Cause::format(message))
    }
}
