//! Rows of a file with their columns in another order.

use karhunen::Scalar;

use crate::file_rows::{BlockReader, FileRows, OwnedBlock};
use crate::{Error, Result};

/// Rows whose column `j` is moved to `places[j]`.
struct Moved<T> {
    rows: FileRows<T>,
    places: Vec<usize>,
}

/// Rows whose column `j` is at `places[j]`, which holds every column once.
pub(crate) fn moved<T: Scalar>(rows: FileRows<T>, places: Vec<usize>) -> FileRows<T> {
    rows.through(|rows| Box::new(Moved { rows, places }))
}

impl<T: Scalar> BlockReader<T> for Moved<T> {
    fn each(
        &self,
        first: usize,
        rows_at_once: usize,
        reached: &mut usize,
        f: &mut dyn FnMut(OwnedBlock<T>) -> bool,
    ) -> Result<()> {
        let mut failure = None;
        self.rows.each(first, rows_at_once, reached, &mut |block| {
            let block = match block {
                OwnedBlock::Dense { values, n_rows, column_major } => {
                    Ok(placed(&values, n_rows, column_major, &self.places))
                }
                OwnedBlock::Sparse(rows) => rows.with_columns_at(&self.places).map(OwnedBlock::Sparse),
            };
            match block {
                Ok(block) => f(block),
                Err(error) => {
                    // The places were checked: the path is never shown.
                    failure = Some(Error::new("-".as_ref(), error.into()));
                    false
                }
            }
        })?;
        failure.map_or(Ok(()), Err)
    }

    fn held(&self, block_bytes: usize) -> f64 {
        self.held_within(block_bytes, None)
    }

    fn held_within(&self, block_bytes: usize, limit: Option<u64>) -> f64 {
        // A block in its old order, and the block in the new order.
        block_bytes as f64 + self.rows.held_to_read_within(block_bytes, limit)
    }

    fn read_again(&self) {
        self.rows.read_again();
    }

    fn check_unchanged(&self) -> Result<()> {
        self.rows.check_unchanged()
    }
}

/// Dense rows in another type, with column `j` at `places[j]`.
pub(crate) fn placed<T: Scalar, U: Scalar>(
    values: &[T],
    n_rows: usize,
    column_major: bool,
    places: &[usize],
) -> OwnedBlock<U> {
    let convert = |value: T| U::from_f64(value.to_f64());
    let mut placed = vec![U::default(); values.len()];
    if column_major {
        for (column, &place) in values.chunks_exact(n_rows.max(1)).zip(places) {
            let out = &mut placed[place * n_rows..(place + 1) * n_rows];
            out.iter_mut().zip(column).for_each(|(out, &value)| *out = convert(value));
        }
    } else {
        let p = places.len().max(1);
        for (row, out) in values.chunks_exact(p).zip(placed.chunks_exact_mut(p)) {
            row.iter().zip(places).for_each(|(&value, &place)| out[place] = convert(value));
        }
    }
    OwnedBlock::Dense { values: placed, n_rows, column_major }
}
