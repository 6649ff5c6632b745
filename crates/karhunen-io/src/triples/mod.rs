//! Tables of triples: each line holds a row id, a column id and a value.
//!
//! Each thread numbers the ids that it reads ([`interner`]); after the last line, the ids are sorted and the
//! numbers replaced. An entry takes 12 bytes until then (`f32`), and is copied once.

pub(crate) mod interner;
pub(crate) mod lines;
pub(crate) mod pair_block;

use std::path::Path;

use karhunen::incomplete::{Duplicates, Triples};
use karhunen::{IncompletePca, Observed, Run, Scalar};
use serde::{Deserialize, Serialize};

use karhunen::error::{OptionName, OptionValue, Phrase};

use crate::ids::Ids;
use crate::names::{find_column, shortened};
use crate::option_names;
use crate::option_names::average;
use crate::{Cause, Error, Place, Result};
use interner::Interner;
use lines::LineNumbers;

/// The columns of a table of triples, by name or by number from one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripleColumns {
    /// The row ids, such as users.
    pub row: String,
    /// The column ids, such as items.
    pub column: String,
    /// The values, such as ratings.
    pub value: String,
    /// The weights of the entries, inverse variances up to a factor, if there are any.
    pub weight: Option<String>,
}

/// The role of a column of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Row,
    Column,
    Value,
    Weight,
    Unused,
}

/// The requested columns; pairs have no value.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The option that names them, for messages.
    pub(crate) option: OptionName,
    pub(crate) columns: Vec<(Role, String)>,
}

impl From<&TripleColumns> for Wanted {
    fn from(columns: &TripleColumns) -> Self {
        let mut wanted = vec![
            (Role::Row, columns.row.clone()),
            (Role::Column, columns.column.clone()),
            (Role::Value, columns.value.clone()),
        ];
        wanted.extend(columns.weight.iter().map(|name| (Role::Weight, name.clone())));
        Self { option: option_names::TRIPLES, columns: wanted }
    }
}

impl Wanted {
    /// Returns true if all are column names of the file, which take precedence over numbers.
    pub(crate) fn are_names(&self, names: &[String]) -> bool {
        self.columns.iter().all(|(_, wanted)| names.contains(wanted))
    }

    /// Returns true if all may be column numbers.
    pub(crate) fn are_numbers(&self) -> bool {
        self.columns.iter().all(|(_, wanted)| wanted.parse::<usize>().is_ok())
    }

    /// The role of each column.
    ///
    /// # Errors
    /// [`Cause::Option`] for a column that does not exist or is requested twice.
    pub(crate) fn roles(&self, path: &Path, names: Option<&[String]>, n_columns: usize) -> Result<Vec<Role>> {
        let mut roles = vec![Role::Unused; n_columns];
        // A first record of numbers does not name columns.
        let has_text = |names: &[String]| names.iter().any(|name| name.parse::<f64>().is_err());
        let by_name = names.filter(|names| self.are_names(names) || (!self.are_numbers() && has_text(names)));
        for (role, wanted) in &self.columns {
            let column = find_column(path, self.option, wanted, by_name, n_columns)?;
            if roles[column] != Role::Unused {
                let (option, wanted) = (self.option, wanted.clone());
                let problem = "the column is named twice".to_owned();
                return Err(Error::new(path, Cause::Column { option, wanted, problem }));
            }
            roles[column] = *role;
        }
        Ok(roles)
    }
}

/// The terms for rows and columns: the names of their id columns, if these have names.
pub(crate) fn axes(roles: &[Role], names: Option<&[String]>) -> [String; 2] {
    let name = |role, default: &str| {
        let column = roles.iter().position(|other| *other == role);
        let name = names.zip(column).map(|(names, column)| names[column].clone());
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| default.to_owned())
    };
    [name(Role::Row, "row"), name(Role::Column, "column")]
}

/// Entries in the order of the file, with rows and columns as numbers.
#[derive(Debug)]
pub(crate) struct Entries<T> {
    pub(crate) rows: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    /// NaN if the value is missing; empty if only pairs are read.
    pub(crate) values: Vec<T>,
    pub(crate) weights: Option<Vec<T>>,
    pub(crate) shape: (usize, usize),
    pub(crate) ids: Option<[Ids; 2]>,
    /// The terms for rows and columns in messages: `user` and `item`.
    pub(crate) axes: [String; 2],
    /// The unit of `lines`: `line`, or `row` in files without lines.
    pub(crate) unit: &'static str,
    pub(crate) lines: LineNumbers,
    /// Possible faults of the entries.
    pub(crate) warnings: Vec<Phrase>,
}

/// The entries of a block of lines, with the ids as numbered by their thread.
#[derive(Debug)]
pub(crate) struct Chunk<T> {
    /// Index of the thread.
    pub(crate) worker: usize,
    pub(crate) rows: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<T>,
    pub(crate) weights: Vec<T>,
}

impl<T: Scalar> Entries<T> {
    /// Concatenates blocks in the order of the file; each is freed after it is copied.
    pub(crate) fn assemble(
        chunks: Vec<Chunk<T>>,
        interners: [Vec<Interner>; 2],
        axes: [String; 2],
        lines: LineNumbers,
    ) -> Self {
        let [(row_ids, row_places), (column_ids, column_places)] =
            interners.map(|interners| Interner::merge(&interners));
        let (mut rows, mut columns) = (Vec::new(), Vec::new());
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        for chunk in chunks {
            rows.push((chunk.worker, chunk.rows));
            columns.push((chunk.worker, chunk.columns));
            values.push(chunk.values);
            weights.push(chunk.weights);
        }
        let (rows, (columns, (values, weights))) = rayon::join(
            || placed(rows, &row_places),
            || rayon::join(|| placed(columns, &column_places), || (joined(values), joined(weights))),
        );
        let weights = Some(weights).filter(|weights| weights.len() == rows.len() && !weights.is_empty());
        let shape = (row_ids.len(), column_ids.len());
        Self {
            rows,
            columns,
            values,
            weights,
            shape,
            ids: Some([row_ids, column_ids]),
            axes,
            unit: "line",
            lines,
            warnings: Vec::new(),
        }
    }

    /// The entries by rows and by columns, within the memory limit of `fit`.
    ///
    /// # Errors
    /// [`Cause::Value`] with the lines of a repeated pair; [`Cause::Library`].
    pub(crate) fn observed(
        &self,
        path: &Path,
        duplicates: Duplicates,
        fit: Option<&IncompletePca>,
        run: &Run<'_>,
    ) -> Result<Observed<T>> {
        if let Some(fit) = fit {
            fit.ask_for_entries::<T>(self.values.len(), self.shape, self.bytes(), run)
                .map_err(|error| Error::new(path, error.into()))?;
        }
        let triples = Triples {
            rows: &self.rows,
            columns: &self.columns,
            values: &self.values,
            weights: self.weights.as_deref(),
        };
        let observed = Observed::from_triples_with(&triples, self.shape, duplicates, run);
        observed.map_err(|error| match error {
            karhunen::Error::DuplicateEntry { row, column } => self.repeated(path, row, column),
            other => Error::new(path, other.into()),
        })
    }

    /// Bytes of the triples.
    fn bytes(&self) -> f64 {
        let values = self.values.len() + self.weights.as_ref().map_or(0, Vec::len);
        (2 * self.rows.len() * size_of::<u32>() + values * size_of::<T>()) as f64
    }

    /// The error for a repeated pair of row and column.
    fn repeated(&self, path: &Path, row: usize, column: usize) -> Error {
        let is_it = |entry: &usize| {
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[*entry].to_f64());
            let observed = !self.values[*entry].to_f64().is_nan() && weight > 0.0;
            observed && self.rows[*entry] as usize == row && self.columns[*entry] as usize == column
        };
        let lines: Vec<u64> =
            (0..self.rows.len()).filter(is_it).take(2).map(|entry| self.lines.line(entry)).collect();
        let [row, column] = match &self.ids {
            Some([rows, columns]) => [rows.text(row).into_owned(), columns.text(column).into_owned()],
            None => [(row + 1).to_string(), (column + 1).to_string()],
        };
        let shown = |id: &str| shortened(id).escape_debug().to_string();
        let problem = format!(
            "{} `{}` has {} `{}` twice: here and {} {}; give each pair once, or average them with ",
            self.axes[0],
            shown(&row),
            self.axes[1],
            shown(&column),
            if self.unit == "row" { "in row" } else { "on line" },
            lines.first().copied().unwrap_or_default(),
        );
        let message = Phrase::new(problem).then(average());
        let second = lines.get(1).copied();
        let place = match self.unit {
            "row" => Place { row: second, ..Place::default() },
            _ => Place { line: second, ..Place::default() },
        };
        Error::at(path, place, Cause::value(message))
    }
}

/// The error of an infinite value.
pub(crate) fn infinite(value: f64) -> Cause {
    let problem = format!("`{value:?}`: values are finite, and within the range of their type (");
    let double = Phrase::new(problem).setting(option_names::DOUBLE, OptionValue::Flag(true));
    Cause::value(double.text(" has the larger)"))
}

/// Replaces the numbers that each thread gave its ids by the positions of the ids.
fn placed(chunks: Vec<(usize, Vec<u32>)>, places: &[Vec<u32>]) -> Vec<u32> {
    let mut all = Vec::with_capacity(chunks.iter().map(|(_, chunk)| chunk.len()).sum());
    for (worker, chunk) in chunks {
        let places = &places[worker];
        all.extend(chunk.iter().map(|number| places[*number as usize]));
    }
    all
}

fn joined<T: Copy>(chunks: Vec<Vec<T>>) -> Vec<T> {
    let mut all = Vec::with_capacity(chunks.iter().map(Vec::len).sum());
    for chunk in chunks {
        all.extend_from_slice(&chunk);
    }
    all
}
