//! Rows of a text table that are parsed again in every visit.

use std::ops::Range;
use std::path::PathBuf;

use rayon::prelude::*;

use super::blocks::{self, Rows};
use super::columns::{Columns, Role};
use super::dialect::Dialect;
use super::{BLOCK_BYTES, check_options, in_pool, named_tsv, rounded_warning, table_text};
use crate::input::{Bytes, Input};
use crate::{Cause, Error, ReadOptions, Result};

/// A text table: its dialect, its columns, and the ranges of its blocks of whole lines.
pub(crate) struct RowText {
    path: PathBuf,
    bytes: Bytes,
    dialect: Dialect,
    columns: Columns,
    ranges: Vec<Range<usize>>,
    n_rows: usize,
    weights: Option<Vec<f64>>,
}

impl RowText {
    /// Parses the whole table once, to count its rows.
    ///
    /// # Errors
    /// Those of [`super::read`], but repeated row names are not refused; [`Cause::Value`] for an integer that
    /// `f64` does not represent.
    pub(crate) fn open(input: Input, options: &ReadOptions) -> Result<Self> {
        let Input { path, bytes } = input;
        check_options(&path, options)?;
        let text = table_text(&path, as_slice(&bytes))?;
        if text.is_empty() {
            return Err(Error::new(&path, Cause::format("the table is empty".to_owned())));
        }
        let (dialect, sample) = Dialect::detect(text, options, named_tsv(&path));
        let columns = Columns::of(&path, text, &dialect, &sample, options)?;
        let ranges = blocks::cut(text, &dialect, columns.first_row, BLOCK_BYTES);
        let mut table = Self { path, bytes, dialect, columns, ranges, n_rows: 0, weights: None };
        let parts: Vec<Result<(usize, Vec<f64>)>> = in_pool(&table.path, options, || {
            let parse = |range: &Range<usize>| {
                table.parse(range.clone()).map(|rows| (rows.values.n_rows(), rows.weights))
            };
            table.ranges.par_iter().map(parse).collect()
        })?;
        let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        table.n_rows = parts.iter().map(|(n_rows, _)| n_rows).sum();
        table.weights =
            options.weights_column.as_ref().map(|_| parts.into_iter().flat_map(|(_, w)| w).collect());
        Ok(table)
    }

    /// (rows, columns of numbers).
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.n_rows, self.columns.count(Role::Value))
    }

    /// The names of the columns of numbers, if the table has such.
    pub(crate) fn feature_names(&self) -> Option<Vec<String>> {
        self.columns.value_names()
    }

    /// The column of weights, if one was asked for.
    pub(crate) fn take_weights(&mut self) -> Option<Vec<f64>> {
        self.weights.take()
    }

    /// The format, as a table names it.
    pub(crate) fn format(&self) -> &'static str {
        super::format_name(self.dialect.delimiter)
    }

    /// Calls `f` with the rows of every block of lines, row-major, and their number.
    ///
    /// # Errors
    /// Those of the file; those of `f`.
    pub(crate) fn visit<E: From<Error>>(
        &self,
        f: &mut dyn FnMut(Vec<f64>, usize) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        for range in &self.ranges {
            let rows = self.parse(range.clone())?;
            let n_rows = rows.values.n_rows();
            f(rows.values.into_vec(), n_rows)?;
        }
        Ok(())
    }

    fn parse(&self, range: Range<usize>) -> Result<Rows> {
        let text = table_text(&self.path, as_slice(&self.bytes))?;
        let names = self.columns.names.as_deref();
        let rows = blocks::parse_range(text, range, &self.dialect, &self.columns)
            .map_err(|refusal| refusal.into_error(&self.path, text, names))?;
        match rows.rounded {
            None => Ok(rows),
            Some(place) => {
                let message = format!(
                    "{}; convert the column, or read the whole table",
                    rounded_warning(text, names, place)
                );
                Err(Error::new(&self.path, Cause::value(message)))
            }
        }
    }
}

fn as_slice(bytes: &Bytes) -> &[u8] {
    match bytes {
        Bytes::Mapped(map) => map,
        Bytes::Owned(bytes) => bytes,
    }
}
