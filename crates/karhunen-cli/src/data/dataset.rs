//! A table for a command: read with a progress display, with messages in the user's terms.

use std::path::{Path, PathBuf};
use std::time::Instant;

use karhunen::source::Block;
use karhunen::{Matrix, Scalar, Source};
use karhunen_io::{Cause, Content, ReadOptions, Table, option_names, shortened};

use crate::error::{Failure, Places, Result, with_flags};
use crate::figures::{count, share};
use crate::files::outputs::print_warnings;
use crate::files::paths::{input_name, input_names};
use crate::names;
use crate::names::visible;
use crate::progress::{Progress, check_stop};

/// A table and its file.
pub(crate) struct Dataset {
    /// The name of the file in messages.
    pub(crate) file: String,
    /// The content of the file.
    pub(crate) table: Table,
    /// Seconds of reading.
    pub(crate) seconds: f64,
    /// Hints about columns, from a fit.
    pub(crate) hints: Vec<String>,
}

impl Dataset {
    /// Reads a table from a file, or from the files of a folder.
    ///
    /// # Errors
    /// Same errors as [`karhunen_io::read_tables`].
    pub(crate) fn read(path: &Path, options: &ReadOptions, progress: &Progress) -> Result<Self> {
        Self::read_all(&[path.to_owned()], options, progress)
    }

    /// Reads a table from several files, one below the other.
    ///
    /// # Errors
    /// Same errors as [`karhunen_io::read_tables`].
    pub(crate) fn read_all(paths: &[PathBuf], options: &ReadOptions, progress: &Progress) -> Result<Self> {
        let file = input_names(paths);
        let started = Instant::now();
        let table = progress
            .spin(format!("reading {}", visible(&file)), || karhunen_io::read_tables(paths, options))
            .map_err(|error| neither_file_nor_column(error, options))?;
        check_stop()?;
        print_warnings(&file, &with_flags(&table.warnings));
        Ok(Self { file, table, seconds: started.elapsed().as_secs_f64(), hints: Vec::new() })
    }

    /// Prints hints about the fitted columns and keeps them for the summary.
    pub(crate) fn hint(&mut self, hints: impl IntoIterator<Item = String>) {
        let hints: Vec<String> = hints.into_iter().collect();
        print_warnings(&self.file, &hints);
        self.hints.extend(hints);
    }

    /// All notes, warnings and hints about the file, for JSON.
    pub(crate) fn notes(&self) -> Vec<String> {
        [&self.table.notes, &with_flags(&self.table.warnings), &self.hints]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// Rows and columns of library errors in the user's terms.
    pub(crate) fn places(&self) -> Places<'_> {
        Places::of(&self.file, &self.table)
    }

    /// Translates an error of the library; if the file changed while its values were used, that is the error.
    pub(crate) fn explain(&self, error: karhunen::Error) -> Failure {
        match (error, self.check_unchanged()) {
            (error @ karhunen::Error::Stopped { .. }, _) | (error, Ok(())) => self.places().explain(error),
            (_, Err(changed)) => changed,
        }
    }

    /// Checks that a file whose values are used in place is unchanged. Call it before writing any result.
    ///
    /// # Errors
    /// Same errors as [`karhunen_io::Data::check_unchanged`].
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        Ok(self.table.data.check_unchanged()?)
    }

    /// The values as one matrix; all must be finite. `what` names them in messages.
    ///
    /// # Errors
    /// [`Failure::Data`] for sparse values, and for those that are not finite.
    pub(crate) fn matrix<T: Scalar>(&self, source: &dyn Source<T>, what: &str) -> Result<Matrix<T>> {
        if source.is_sparse() {
            return Err(Failure::Data(format!(
                "{}: {what} must be dense; write them as CSV, NPY or Parquet",
                self.file
            )));
        }
        let (n, k) = source.shape();
        let mut matrix = Matrix::zeros(n, k);
        let outcome = source.visit(&mut |first, block| {
            let Block::Dense(block) = block else { return Ok(()) };
            for i in 0..block.n_rows() {
                for j in 0..k {
                    let value = block.get(i, j);
                    if !value.to_f64().is_finite() {
                        let (row, column, value) = (first + i, j, value.to_f64());
                        return Err(karhunen::Error::NonFinite { row, column, value });
                    }
                    matrix[(first + i, j)] = value;
                }
            }
            Ok(())
        });
        outcome.map_err(|error| self.explain(error))?;
        Ok(matrix)
    }

    /// Reads a table or a model, and returns the seconds of reading.
    ///
    /// # Errors
    /// Same errors as [`karhunen_io::read_any`].
    pub(crate) fn read_any(
        path: &Path,
        options: &ReadOptions,
        progress: &Progress,
    ) -> Result<(Content, f64)> {
        let started = Instant::now();
        let message = format!("reading {}", visible(&input_name(path)));
        let content = progress.spin(message, || karhunen_io::read_any(path, options))?;
        check_stop()?;
        if let Content::Table(table) = &content {
            print_warnings(&input_name(path), &with_flags(&table.warnings));
        }
        Ok((content, started.elapsed().as_secs_f64()))
    }

    /// For each column of this table, the index of the model's feature; `None` if the order is the same.
    ///
    /// # Errors
    /// Same errors as [`names::order`].
    pub(crate) fn order(&self, known: Option<&[String]>, n_features: usize) -> Result<Option<Vec<usize>>> {
        let (_, n_columns) = self.table.data.shape();
        let columns = self.table.feature_names.as_deref();
        names::order(n_features, known, &self.file, columns, n_columns).map_err(|failure| match failure {
            Failure::Data(message) if self.rows_are_features(known, n_features) => {
                Failure::Data(format!("{message}; use --transpose if its rows are the features of the model"))
            }
            failure => failure,
        })
    }

    /// Tests whether the rows have the names of the features, or their number where there are no names.
    fn rows_are_features(&self, known: Option<&[String]>, n_features: usize) -> bool {
        match (&self.table.sample_names, known) {
            (Some(rows), Some(known)) => known.iter().all(|name| rows.contains(name)),
            _ => self.table.data.shape().0 == n_features,
        }
    }

    /// Brings the columns into the order of the features `known`, where both have names.
    ///
    /// # Errors
    /// Same errors as [`Dataset::order`].
    pub(crate) fn aligned(
        self,
        known: Option<&[String]>,
        n_features: usize,
        options: &ReadOptions,
    ) -> Result<Self> {
        let Some(places) = self.order(known, n_features)? else { return Ok(self) };
        let Self { file, mut table, seconds, hints } = self;
        let data = table.data.with_columns_at(places, options.memory_limit);
        table.data = data.map_err(|error| Places::of_file(&file).explain(error))?;
        table.feature_names = known.map(<[String]>::to_vec);
        table.notes.push("columns in another order, matched by name".to_owned());
        Ok(Self { file, table, seconds, hints })
    }

    /// Format, shape and type: `iris.csv: CSV, 150 rows x 4 columns, f64`.
    pub(crate) fn headline(&self) -> String {
        let (n, p) = self.table.data.shape();
        let rows = if n == 1 { "row" } else { "rows" };
        let columns = if p == 1 { "column" } else { "columns" };
        let stored = self.table.data.n_stored().map_or_else(String::new, |stored| {
            let entries = if stored == 1 { "entry" } else { "entries" };
            format!(", sparse: {} {entries} ({})", count(stored), share(stored, (n, p)))
        });
        format!(
            "{}: {}, {} {rows} x {} {columns}, {}{stored}",
            self.file,
            self.table.format,
            count(n),
            count(p),
            self.table.data.dtype()
        )
    }

    /// The notes of the reader in one line, if there are any.
    pub(crate) fn remarks(&self) -> Option<String> {
        let labels: Vec<String> =
            self.table.labels.iter().map(|label| format!("`{}`", shortened(&label.name))).collect();
        let excluded = (!labels.is_empty()).then(|| format!("{} excluded", labels.join(", ")));
        let remarks: Vec<String> = self.table.notes.iter().cloned().chain(excluded).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}

/// The error for `--weights x` if `x` is neither a file nor a column: the message states both.
pub(crate) fn neither_file_nor_column(error: karhunen_io::Error, options: &ReadOptions) -> Failure {
    match (&*error.cause, &options.weights_column) {
        (Cause::Column { option: option_names::WEIGHTS_COLUMN, .. }, Some(name)) => {
            let path = if Path::new(name).is_dir() { "is a folder" } else { "is not a file" };
            Failure::Usage(format!("{}; and {name} {path}", error.text_for(&Places::of_file(""))))
        }
        _ => error.into(),
    }
}
