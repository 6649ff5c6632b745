//! Assembles a table from batches of typed columns, as Parquet and Arrow files store them.
//!
//! Numbers are written into one buffer in column-major order, the order of the files: threads fill different
//! columns, and each value is copied once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use karhunen::error::Phrase;
use karhunen::{Scalar, memory};
use rayon::prelude::*;

use super::batches::{Batches, first_null, first_rounded, null};
use super::conversions;
use super::roles::{IdOrigin, Role, Roles, place};
use super::rows::rows_of_columns;
use crate::csv::refusal::{excluded, of_decorated};
use crate::csv::{Cell, Notation};
use crate::mapped::Mapped;
use crate::names::shortened;
use crate::rounded::Rounded;
use crate::units::{first_decorated, unit_warning};
use crate::{Buffer, Cause, Data, Error, Label, ReadOptions, Result, Table, Values};

/// Number of groups of columns per thread: several, to balance the load.
const GROUPS_PER_THREAD: usize = 4;

/// A file and the content of its header.
pub(crate) struct Columns<'a> {
    /// The file named in messages.
    pub(crate) path: &'a Path,
    /// The format as reported in a table.
    pub(crate) format: &'static str,
    /// Names and types of the columns.
    pub(crate) schema: SchemaRef,
    /// Number of rows.
    pub(crate) n_rows: usize,
    /// The data.
    pub(crate) batches: Arc<dyn Batches>,
    /// Length of the file in bytes.
    pub(crate) n_bytes: u64,
    /// The file, if it is mapped.
    pub(crate) mapped: Option<Mapped>,
}

/// First findings in a group of columns, ordered by row, then column, from zero.
#[derive(Debug, Default)]
struct First {
    /// A missing value in a column that must be complete.
    missing: Option<(usize, usize)>,
    /// An integer that was rounded.
    rounded: Option<(usize, usize, String)>,
}

impl Columns<'_> {
    /// Reads the table.
    ///
    /// # Errors
    /// Columns that are not numbers, missing values, options that match no column, damaged files.
    pub(crate) fn table(&self, options: &ReadOptions) -> Result<Table> {
        let mut roles = Roles::of(self.path, &self.schema, options)?;
        let mut notes = std::mem::take(&mut roles.notes);
        let mut warnings = Vec::new();
        let sample_names = self.sample_names(&roles, &mut notes, &mut warnings)?;
        let mut labels = Vec::new();
        for &column in &roles.labels {
            labels.push(Label { name: self.name(column), values: self.text(column)? });
        }
        let weights = match roles.columns(Role::Weights)[..] {
            [column] => Some(self.numbers::<f64>(&[column], false)?.0),
            _ => None,
        };
        let columns = roles.columns(Role::Value);
        let single =
            columns.iter().all(|&column| *self.schema.field(column).data_type() == DataType::Float32);
        let (data, rounded) =
            if options.stay_in_file((self.n_rows, columns.len()), if single { 4 } else { 8 }) {
                (self.in_file(columns.clone(), options), None)
            } else if single {
                let (values, rounded) = self.numbers(&columns, options.missing)?;
                (Data::F32(self.values(values, columns.len())), rounded)
            } else {
                let (values, rounded) = self.numbers(&columns, options.missing)?;
                (Data::F64(self.values(values, columns.len())), rounded)
            };
        let feature_names = Some(columns.iter().map(|&column| self.name(column)).collect());
        let id_name = match roles.columns(Role::Id)[..] {
            [column] if sample_names.is_some() => Some(self.name(column)),
            _ => None,
        };
        let format = self.format;
        warnings.extend(rounded);
        Ok(Table {
            data,
            sample_names,
            id_name,
            feature_names,
            labels,
            weights,
            left_out: roles.left_out.iter().map(|column| self.name(*column)).collect(),
            log1p: None,
            format,
            notes,
            warnings,
        })
    }

    /// The values of some columns, which stay in the file.
    fn in_file(&self, columns: Vec<usize>, options: &ReadOptions) -> Data {
        let content = (self.schema.clone(), self.n_rows, self.batches.clone());
        let of_file = (self.n_bytes, self.mapped.clone());
        rows_of_columns(self.path, content, columns, options, of_file).into()
    }

    pub(crate) fn name(&self, column: usize) -> String {
        self.schema.field(column).name().clone()
    }

    fn values<T>(&self, values: Vec<T>, n_cols: usize) -> Values<T> {
        Values::Dense { buffer: Buffer::Owned(values), n_rows: self.n_rows, n_cols, column_major: true }
    }

    /// The names of the rows; `None` for an index that only counts them.
    pub(crate) fn sample_names(
        &self,
        roles: &Roles,
        notes: &mut Vec<String>,
        warnings: &mut Vec<Phrase>,
    ) -> Result<Option<Vec<String>>> {
        let [column] = roles.columns(Role::Id)[..] else { return Ok(None) };
        let names = self.text(column)?;
        match roles.id {
            IdOrigin::Asked => {}
            IdOrigin::Index if counts_rows(&names) => {
                notes.push(format!(
                    "left out the pandas index `{}`, which counts the rows",
                    shortened(&self.name(column))
                ));
                return Ok(None);
            }
            IdOrigin::Index => {
                notes.push(format!("the pandas index `{}` names the rows", shortened(&self.name(column))));
            }
            IdOrigin::FirstText => {
                if let Some((row, earlier)) = first_repetition(&names) {
                    let problem = format!(
                        "holds text, and does not name the rows, for the same stands in row {}",
                        earlier + 1
                    );
                    let advice = Phrase::new("exclude it with ").then(excluded(&self.name(column)));
                    return Err(self.error_at(row, column, Cause::TextColumns(problem, advice)));
                }
                let cells: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
                let n_texts =
                    cells.iter().filter(|cell| Cell::of(cell, &Notation::default()) == Cell::Text).count();
                if let Some(row) = first_decorated(&cells, n_texts)
                    && let Some(cause) = of_decorated(cells[row], &self.name(column))
                {
                    return Err(self.error_at(row, column, cause));
                }
                warnings.extend(unit_warning(&cells, &self.name(column)));
                notes.push(format!("the column `{}` names the rows", shortened(&self.name(column))));
            }
        }
        Ok(Some(names))
    }

    fn error_at(&self, row: usize, column: usize, cause: Cause) -> Error {
        Error::at(self.path, place(&self.schema, Some(row), column), cause)
    }

    /// A column as text; nulls are empty.
    fn text(&self, column: usize) -> Result<Vec<String>> {
        let mut values = Vec::new();
        self.batches.visit(&[column], &mut |batch| {
            let text = conversions::text(self.path, batch.column(0))?;
            values.extend(text.iter().map(|text| text.unwrap_or_default().to_owned()));
            Ok(true)
        })?;
        self.check_count(values.len())?;
        Ok(values)
    }

    /// Reads columns of numbers into one column-major buffer; nulls become NaN if `missing`. Also returns a warning
    /// about the first integer that was rounded.
    pub(crate) fn numbers<T: Scalar>(
        &self,
        columns: &[usize],
        missing: bool,
    ) -> Result<(Vec<T>, Option<Phrase>)> {
        let what = format!("a table of {} rows and {} columns", self.n_rows, columns.len());
        let bytes = self.n_rows as f64 * columns.len() as f64 * size_of::<T>() as f64;
        let advice = || vec!["fit a part of it".into()];
        memory::ask(&what, bytes, advice).map_err(|error| Error::new(self.path, error.into()))?;
        let mut values = vec![T::default(); self.n_rows * columns.len()];
        let n_groups = rayon::current_num_threads() * GROUPS_PER_THREAD;
        let per_group = columns.len().div_ceil(n_groups).max(1);
        let firsts: Vec<Result<First>> = values
            .par_chunks_mut((self.n_rows * per_group).max(1))
            .zip(columns.par_chunks(per_group))
            .map(|(out, group)| self.fill(group, out, missing))
            .collect();
        let firsts = firsts.into_iter().collect::<Result<Vec<_>>>()?;
        let rounded = firsts.iter().filter_map(|first| first.rounded.clone()).min();
        let rounded = rounded.map(|(row, column, text)| {
            Rounded { text, place: place(&self.schema, Some(row), column) }.warning::<f64>()
        });
        match firsts.into_iter().filter_map(|first| first.missing).min() {
            Some((row, column)) => Err(self.error_at(row, column, null())),
            None => Ok((values, rounded)),
        }
    }

    /// Fills `out` with the columns of `group`; returns the first missing value, unless `missing`, and the first
    /// integer that was rounded.
    fn fill<T: Scalar>(&self, group: &[usize], out: &mut [T], missing: bool) -> Result<First> {
        let (mut begin, mut found) = (0, First::default());
        if self.n_rows == 0 {
            return Ok(found);
        }
        self.batches.visit(group, &mut |batch| {
            let end = begin + batch.num_rows();
            self.check_count(end.max(self.n_rows))?;
            for ((array, out), &column) in
                batch.columns().iter().zip(out.chunks_exact_mut(self.n_rows)).zip(group)
            {
                if let Some((row, text)) = first_rounded::<f64>(array) {
                    let here = (begin + row, column, text);
                    found.rounded = found.rounded.take().into_iter().chain([here]).min();
                }
                if let Some(row) = first_null(array).filter(|_| !missing) {
                    found.missing = found.missing.into_iter().chain([(begin + row, column)]).min();
                } else {
                    conversions::copy(self.path, array, &mut out[begin..end])?;
                }
            }
            begin = end;
            Ok(true)
        })?;
        self.check_count(begin)?;
        Ok(found)
    }

    pub(crate) fn check_count(&self, found: usize) -> Result<()> {
        if found == self.n_rows {
            return Ok(());
        }
        let message = format!("{} rows are declared, {found} are there; the file is damaged", self.n_rows);
        Err(Error::new(self.path, Cause::format(message)))
    }
}

/// Tests whether the names are 0, 1, 2, …
fn counts_rows(names: &[String]) -> bool {
    names.iter().enumerate().all(|(row, name)| name.parse() == Ok(row))
}

/// The first row with a repeated name, and the row of its first occurrence.
fn first_repetition(names: &[String]) -> Option<(usize, usize)> {
    let mut seen = HashMap::with_capacity(names.len());
    names.iter().enumerate().find_map(|(row, name)| seen.insert(name, row).map(|earlier| (row, earlier)))
}

/// Wraps the content of a file for the decoders without a copy.
pub(crate) fn shared(bytes: crate::input::Bytes) -> bytes::Bytes {
    match bytes {
        crate::input::Bytes::Mapped(map) => bytes::Bytes::from_owner(map),
        crate::input::Bytes::Owned(bytes) => bytes.into(),
    }
}
