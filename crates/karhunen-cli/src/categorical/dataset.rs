//! A table of categories for a command: read with a progress display, with messages in the user's terms.

use std::path::Path;
use std::time::Instant;

use karhunen::categorical::{CategoricalModel, Column, ColumnValues, are_many_categories};
use karhunen_io::{CategoryTable, ColumnKinds, ReadOptions, shortened};

use crate::data::dataset::neither_file_nor_column;
use crate::error::{Failure, Places, Result, with_flags};
use crate::figures::count;
use crate::files::outputs::print_warnings;
use crate::files::paths::input_name;
use crate::names::{self, visible};
use crate::progress::{Progress, check_stop};

/// A table of categories and its file.
pub(crate) struct CategoryDataset {
    /// The name of the file in messages.
    pub(crate) file: String,
    /// The content of the file.
    pub(crate) table: CategoryTable,
    /// Seconds of reading.
    pub(crate) seconds: f64,
    /// Hints about columns, from a fit.
    hints: Vec<String>,
}

impl CategoryDataset {
    /// Reads a table.
    ///
    /// # Errors
    /// Same errors as [`karhunen_io::read_categories`].
    pub(crate) fn read(
        path: &Path,
        kinds: ColumnKinds<'_>,
        options: &ReadOptions,
        progress: &Progress,
    ) -> Result<Self> {
        let file = input_name(path);
        let started = Instant::now();
        let read = || karhunen_io::read_categories(path, kinds, options);
        let table = progress
            .spin(format!("reading {}", visible(&file)), read)
            .map_err(|error| neither_file_nor_column(error, options))?;
        check_stop()?;
        print_warnings(&file, &with_flags(&table.warnings));
        Ok(Self { file, table, seconds: started.elapsed().as_secs_f64(), hints: Vec::new() })
    }

    /// Prints and keeps a hint about each column that probably holds no categories.
    pub(crate) fn hint(&mut self) {
        let n = self.table.n_rows;
        let hint = |column: &Column| match &column.values {
            ColumnValues::Categories { names, .. } if are_many_categories(names.len(), n) => Some(format!(
                "column `{}` has {} categories in {} rows: ids and measurements are not categories; exclude \
                     it with --label, bin it, or use --famd for numbers",
                shortened(&column.name),
                count(names.len()),
                count(n)
            )),
            _ => None,
        };
        self.hints = self.table.columns.iter().filter_map(hint).collect();
        print_warnings(&self.file, &self.hints);
    }

    /// All notes, warnings and hints about the file, for JSON.
    pub(crate) fn notes(&self) -> Vec<String> {
        [&self.table.notes, &with_flags(&self.table.warnings), &self.hints]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// Spells rows and options of the file.
    pub(crate) fn places(&self) -> Places<'_> {
        Places { file: &self.file, samples: self.table.sample_names.as_deref(), features: None }
    }

    /// Translates an error of the library.
    pub(crate) fn explain(&self, error: karhunen::Error) -> Failure {
        self.places().explain(error)
    }

    /// The columns in the order and with the names of a model's, matched by name if both have names; `named` is true if
    /// the model has names.
    ///
    /// # Errors
    /// Same errors as [`names::order`].
    pub(crate) fn aligned(&mut self, model: &CategoricalModel, named: bool) -> Result<Vec<Column>> {
        let known: Vec<String> =
            model.variables().iter().map(|variable| variable.name().to_owned()).collect();
        let mut columns = std::mem::take(&mut self.table.columns);
        let found: Option<Vec<String>> =
            self.table.has_names.then(|| columns.iter().map(|column| column.name.clone()).collect());
        let known_names = named.then_some(&known[..]);
        let order = names::order(known.len(), known_names, &self.file, found.as_deref(), columns.len())?;
        if let Some(order) = order {
            let mut placed: Vec<(usize, Column)> = order.into_iter().zip(columns).collect();
            placed.sort_by_key(|(place, _)| *place);
            columns = placed.into_iter().map(|(_, column)| column).collect();
        }
        columns.iter_mut().zip(known).for_each(|(column, name)| column.name = name);
        Ok(columns)
    }

    /// Format and shape: `titanic.csv: CSV, 24 rows x 4 columns of categories`.
    pub(crate) fn headline(&self) -> String {
        let numbers = |column: &&Column| matches!(column.values, ColumnValues::Numbers(_));
        let n_numbers = self.table.columns.iter().filter(numbers).count();
        let n_categories = self.table.columns.len() - n_numbers;
        let columns = |n: usize| if n == 1 { "column" } else { "columns" };
        let numbers = match n_numbers {
            0 => String::new(),
            n => format!(" and {n} {} of numbers", columns(n)),
        };
        format!(
            "{}: {}, {} {} x {} {} of categories{numbers}",
            self.file,
            self.table.format,
            count(self.table.n_rows),
            if self.table.n_rows == 1 { "row" } else { "rows" },
            count(n_categories),
            columns(n_categories)
        )
    }

    /// The notes of the reader in one line, if there are any.
    pub(crate) fn remarks(&self) -> Option<String> {
        let labels: Vec<String> =
            self.table.labels.iter().map(|label| format!("`{}`", shortened(label))).collect();
        let excluded = (!labels.is_empty()).then(|| format!("{} excluded", labels.join(", ")));
        let remarks: Vec<String> = self.table.notes.iter().cloned().chain(excluded).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}
