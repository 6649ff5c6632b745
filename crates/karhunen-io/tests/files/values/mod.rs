//! The values of a table, as a visit gives them.

use karhunen::source::Block;
use karhunen::{Observed, Scalar};
use karhunen_io::{Data, Table, Values};

/// All values, row by row, or the error of a visit.
pub(crate) fn visited(table: &Table) -> Result<Vec<f64>, String> {
    fn of<T: Scalar>(values: &Values<T>) -> Result<Vec<f64>, String> {
        let (n, p) = values.shape();
        let mut all = vec![0.0; n * p];
        let source = values.source().map_err(|error| error.to_string())?;
        let visit = source.visit(&mut |first, block| {
            match &block {
                Block::Dense(rows) => (0..rows.n_rows()).for_each(|i| {
                    (0..p).for_each(|j| all[(first + i) * p + j] = rows.get(i, j).to_f64());
                }),
                Block::Sparse(rows) => {
                    let entries = Observed::from_sparse(rows, None)?;
                    for i in 0..rows.n_rows() {
                        let (columns, values) = entries.row(i);
                        let of_row = columns.iter().zip(values);
                        of_row.for_each(|(&j, value)| all[(first + i) * p + j as usize] = value.to_f64());
                    }
                }
            }
            Ok(())
        });
        visit.map(|()| all).map_err(|error| {
            std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
        })
    }
    match &table.data {
        Data::F32(values) => of(values),
        Data::F64(values) => of(values),
    }
}

/// All values, row by row.
#[cfg(feature = "hdf5")]
pub(crate) fn dense(table: &Table) -> Vec<f64> {
    visited(table).unwrap()
}
