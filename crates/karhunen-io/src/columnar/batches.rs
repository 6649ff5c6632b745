//! Batches of typed columns, as Parquet and Arrow files store them.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use karhunen::Scalar;

use super::conversions;
use crate::rounded::{is_held, limit};
use crate::{Cause, Result};

/// A file whose columns can be visited a few at a time.
pub(crate) trait Batches: Send + Sync {
    /// Visits all rows of some columns, given as ascending positions, batch by batch, until `f` returns false.
    ///
    /// # Errors
    /// Errors of `f`, and [`crate::Cause::Format`] for damaged files.
    fn visit(&self, columns: &[usize], f: &mut dyn FnMut(&RecordBatch) -> Result<bool>) -> Result<()>;

    /// As [`Batches::visit`], from the batch that holds row `first` on, or from an earlier one; `f` receives the number
    /// of the first row of each batch.
    ///
    /// # Errors
    /// As [`Batches::visit`].
    fn visit_from(
        &self,
        columns: &[usize],
        _first: usize,
        f: &mut dyn FnMut(usize, &RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        let mut end = 0;
        self.visit(columns, &mut |batch| {
            let begin = end;
            end += batch.num_rows();
            f(begin, batch)
        })
    }

    /// Bytes that a visit of these columns holds at a time.
    fn held(&self, columns: &[usize]) -> f64;
}

/// The first row that holds no value.
pub(crate) fn first_null(array: &ArrayRef) -> Option<usize> {
    let nulls = array.logical_nulls()?;
    (0..array.len()).find(|&row| nulls.is_null(row))
}

/// A null where every value is needed.
pub(super) fn null() -> Cause {
    Cause::Missing("a null is a missing value".to_owned())
}

/// The first integer that `T` cannot represent, and its row.
pub(crate) fn first_rounded<T: Scalar>(array: &ArrayRef) -> Option<(usize, String)> {
    let limit = limit::<T>() as u64;
    let first = |numbers: &mut dyn Iterator<Item = i128>| {
        let (row, number) =
            numbers.enumerate().find(|(row, number)| !array.is_null(*row) && !is_held::<T>(*number))?;
        Some((row, number.to_string()))
    };
    match array.data_type() {
        DataType::Int64 => {
            let values = array.as_primitive::<Int64Type>().values();
            // Usually there is none; this test is fast.
            let small = values.iter().all(|value| value.unsigned_abs() <= limit);
            if small { None } else { first(&mut values.iter().map(|value| i128::from(*value))) }
        }
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values();
            let small = values.iter().all(|value| *value <= limit);
            if small { None } else { first(&mut values.iter().map(|value| i128::from(*value))) }
        }
        DataType::Dictionary(_, values) if values.is_integer() => {
            first_rounded::<T>(&conversions::unpacked(array).ok()?)
        }
        kind if kind.is_integer() && limit < u64::from(u32::MAX) => {
            first_rounded::<T>(&conversions::integers(array))
        }
        _ => None,
    }
}
