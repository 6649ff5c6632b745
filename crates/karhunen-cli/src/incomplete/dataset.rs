//! Observed entries for a command: read with a progress display, matched with a model.

use std::path::Path;
use std::time::Instant;

use karhunen::error::MemoryLimit;
use karhunen::incomplete::{Duplicates, RowScores, Triples};
use karhunen::{IncompleteModel, Observed, Run, Scalar, Source};
use karhunen_io::{
    Cause, Ids, ObserveOptions, ObservedData, ObservedRows, ObservedTable, ReadOptions, Saved, shortened,
};

use crate::args::input::{InputArgs, MemoryArgs, ThreadArgs, read_options};
use crate::args::missing::TriplesArgs;
use crate::data::dataset::{Dataset, neither_file_nor_column};
use crate::data::weights::{RowWeights, sample_weights};
use crate::error::{Failure, Places, Result, with_flags};
use crate::figures::{count, share};
use crate::files::outputs::print_warnings;
use crate::files::paths::input_name;
use crate::hints::{self, ScaleAdvice};
use crate::incomplete::rows::IncompleteRows;
use crate::names::{list, visible};
use crate::progress::{Progress, check_stop};

/// Observed entries and their file.
pub(crate) struct ObservedDataset {
    /// The name of the file in messages.
    pub(crate) file: String,
    /// The content of the file.
    pub(crate) table: ObservedTable,
    /// Names of the rows and columns, as text.
    pub(crate) row_names: Option<Vec<String>>,
    pub(crate) column_names: Option<Vec<String>>,
    /// Seconds of reading.
    pub(crate) seconds: f64,
    /// Hints about columns, from a fit.
    pub(crate) hints: Vec<String>,
}

/// Observed entries, or rows that stay in their file.
pub(crate) enum ObservedContent {
    Entries(Box<ObservedDataset>),
    InFile(Box<Dataset>),
}

/// Observed entries, or rows whose entries are too many for the memory.
pub(crate) enum Within {
    Entries(Box<ObservedDataset>),
    /// The rows, and the bytes that a fit of all their entries needs.
    TooMany(Box<Dataset>, Option<f64>),
}

/// Reads a file; returns its name and the seconds.
fn timed<R: Send>(
    path: &Path,
    options: &ReadOptions,
    progress: &Progress,
    read: impl FnOnce() -> karhunen_io::Result<R> + Send,
) -> Result<(R, String, f64)> {
    let file = input_name(path);
    let started = Instant::now();
    let content = progress.spin(format!("reading {}", visible(&file)), read);
    let content = content.map_err(|error| match *error.cause {
        Cause::Library(error) => Places { file: &file, samples: None, features: None }.explain(*error),
        _ => neither_file_nor_column(error, options),
    })?;
    check_stop()?;
    Ok((content, file, started.elapsed().as_secs_f64()))
}

/// The arguments about rows for a model of data with missing values.
pub(crate) struct EntryArgs<'a> {
    pub(crate) input: &'a InputArgs,
    pub(crate) memory: &'a MemoryArgs,
    pub(crate) triples: &'a TriplesArgs,
    pub(crate) threads: ThreadArgs,
    pub(crate) weights: &'a RowWeights,
}

impl ObservedDataset {
    /// Reads rows for a model: from triples if it was fitted to triples or they are given, else from a table, whose entries
    /// alone are held in memory.
    ///
    /// # Errors
    /// As [`ObservedDataset::read`]; [`Failure::Usage`] for options about the memory of a table with triples.
    pub(crate) fn read_for(
        saved: &Saved<impl IncompleteRows>,
        path: &Path,
        args: &EntryArgs<'_>,
        progress: &Progress,
    ) -> Result<Self> {
        let asked = args.triples.options();
        let triples = asked.triples.clone().or_else(|| saved.extras.triples.clone());
        let how = ObserveOptions { triples, ..asked };
        let options = saved.read_options(read_options(args.input, &args.threads));
        let options = ReadOptions { weights_column: args.weights.column.clone(), ..options };
        let options = if how.triples.is_some() {
            args.weights.check_not_of_triples()?;
            args.memory.check_unused()?;
            options
        } else {
            args.memory.within_entries(options)
        };
        Self::read(path, &options, &how, progress)
    }

    /// Reads observed entries.
    ///
    /// # Errors
    /// Same errors as [`karhunen_io::read_observed`].
    pub(crate) fn read(
        path: &Path,
        options: &ReadOptions,
        how: &ObserveOptions,
        progress: &Progress,
    ) -> Result<Self> {
        let read = || karhunen_io::read_observed(path, options, how);
        let (table, file, seconds) = timed(path, options, progress, read)?;
        Ok(Self::new(table, file, seconds))
    }

    /// Reads observed entries; the rows of a table beyond the memory limit of `options` stay in the file.
    ///
    /// # Errors
    /// Same errors as [`karhunen_io::read_observed_rows`].
    pub(crate) fn read_rows(
        path: &Path,
        options: &ReadOptions,
        how: &ObserveOptions,
        progress: &Progress,
    ) -> Result<ObservedContent> {
        let read = || karhunen_io::read_observed_rows(path, options, how);
        let (rows, file, seconds) = timed(path, options, progress, read)?;
        Ok(match rows {
            ObservedRows::Entries(table) => {
                ObservedContent::Entries(Box::new(Self::new(*table, file, seconds)))
            }
            ObservedRows::InFile(table) => {
                print_warnings(&file, &with_flags(&table.warnings));
                ObservedContent::InFile(Box::new(Dataset { file, table: *table, seconds, hints: Vec::new() }))
            }
        })
    }

    /// Reads observed entries. Rows of a table that stays in its file are returned as they are if their entries exceed the
    /// memory limit of `how.fit`, or the memory of the machine.
    ///
    /// # Errors
    /// As [`ObservedDataset::read`], without the error for too many entries.
    pub(crate) fn read_within(
        path: &Path,
        options: &ReadOptions,
        how: &ObserveOptions,
        progress: &Progress,
    ) -> Result<Within> {
        let dataset = match Self::read_rows(path, options, how, progress)? {
            ObservedContent::Entries(dataset) => return Ok(Within::Entries(dataset)),
            ObservedContent::InFile(dataset) => *dataset,
        };
        let started = Instant::now();
        let run = Run { n_threads: options.n_threads, ..Run::default() };
        let read = || dataset.table.data.observed_for(how.fit.as_ref(), &run);
        let found = progress.spin(format!("reading {}", visible(&dataset.file)), read);
        check_stop()?;
        match found {
            Ok(data) => {
                dataset.check_unchanged()?;
                let Dataset { file, table, seconds, .. } = dataset;
                let seconds = seconds + started.elapsed().as_secs_f64();
                Ok(Within::Entries(Box::new(Self::named(
                    ObservedTable::of_table(table, data),
                    file,
                    seconds,
                ))))
            }
            Err(karhunen::Error::Memory { bytes, available, .. }) => {
                // A shortage of the machine is not mended by a larger limit.
                let is_option = available.is_some_and(|found| found.limit == MemoryLimit::Option);
                Ok(Within::TooMany(Box::new(dataset), is_option.then_some(bytes)))
            }
            Err(error) => Err(dataset.explain(error)),
        }
    }

    fn new(table: ObservedTable, file: String, seconds: f64) -> Self {
        print_warnings(&file, &with_flags(&table.warnings));
        Self::named(table, file, seconds)
    }

    fn named(table: ObservedTable, file: String, seconds: f64) -> Self {
        let texts = |ids: &Option<Ids>| ids.as_ref().map(Ids::texts);
        let (row_names, column_names) = (texts(&table.row_ids), texts(&table.column_ids));
        Self { file, row_names, column_names, table, seconds, hints: Vec::new() }
    }

    /// Prints hints about the fitted columns and keeps them for the summary. Triples get none.
    pub(crate) fn hint(&mut self, scaled: bool) {
        if self.table.triples.is_some() {
            return;
        }
        let (data, names) = (&self.table.data, self.column_names.as_deref());
        let ObservedTable { labels, left_out, weights, row_ids, .. } = &self.table;
        // As of `hints::of_table`.
        let is_whole = labels.is_empty() && left_out.is_empty() && weights.is_none() && row_ids.is_none();
        let mut hints =
            if names.is_some() || is_whole { hints::of_observed(data, names) } else { Vec::new() };
        if !scaled {
            let variances = hints::variances(data);
            hints.extend(hints::of_variances(&variances, data.shape().0, names, ScaleAdvice::Option));
        }
        let empty: Vec<usize> =
            hints::n_values(data).iter().enumerate().filter(|(_, n)| **n == 0).map(|(j, _)| j).collect();
        // Data without any value are refused.
        if empty.len() < data.shape().1 {
            hints.extend(hints::of_empty_columns(&empty, names));
        }
        print_warnings(&self.file, &hints);
        self.hints = hints;
    }

    /// All notes, warnings and hints about the file, for JSON.
    pub(crate) fn notes(&self) -> Vec<String> {
        [&self.table.notes, &with_flags(&self.table.warnings), &self.hints]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// The weights of the rows and their origin, if any, from a file or column.
    ///
    /// # Errors
    /// Same errors as [`sample_weights`].
    pub(crate) fn row_weights(
        &self,
        file: Option<&Path>,
        column: Option<&str>,
    ) -> Result<Option<(Vec<f64>, String)>> {
        let table = &self.table;
        let labels = table.labels.iter().map(|label| &label.name);
        let columns = self.column_names.iter().flatten().chain(labels);
        sample_weights((file, column), table.weights.clone(), (&self.file, table.data.shape().0), columns)
    }

    /// The entries with the multiplicities `weights` of their rows.
    ///
    /// # Errors
    /// Same errors as [`Observed::with_sample_weights`].
    pub(crate) fn weighed(self, weights: &[f64]) -> Result<Self> {
        let data = match self.table.data.clone() {
            ObservedData::F32(observed) => observed.with_sample_weights(weights).map(ObservedData::from),
            ObservedData::F64(observed) => observed.with_sample_weights(weights).map(ObservedData::from),
        };
        self.with_data(data)
    }

    /// The data with column weights.
    ///
    /// # Errors
    /// Same errors as [`Observed::with_feature_weights`].
    pub(crate) fn with_feature_weights(self, weights: &[f64]) -> Result<Self> {
        let data = match self.table.data.clone() {
            ObservedData::F32(observed) => observed.with_feature_weights(weights).map(ObservedData::from),
            ObservedData::F64(observed) => observed.with_feature_weights(weights).map(ObservedData::from),
        };
        self.with_data(data)
    }

    fn with_data(self, data: karhunen::Result<ObservedData>) -> Result<Self> {
        let data = data.map_err(|error| self.places().explain(error))?;
        Ok(Self { table: ObservedTable { data, ..self.table }, ..self })
    }

    /// Rows and columns of library errors in the user's terms.
    pub(crate) fn places(&self) -> Places<'_> {
        Places {
            file: &self.file,
            samples: self.row_names.as_deref(),
            features: self.column_names.as_deref(),
        }
    }

    /// Format, shape and share of observed entries.
    pub(crate) fn headline(&self) -> String {
        let (n, p) = self.table.data.shape();
        let observed = self.table.data.n_observed();
        let rows = if n == 1 { "row" } else { "rows" };
        let columns = if p == 1 { "column" } else { "columns" };
        let entries = if observed == 1 { "entry" } else { "entries" };
        let format = match &self.table.triples {
            Some(_) => format!("{} triples", self.table.format),
            None => self.table.format.to_owned(),
        };
        format!(
            "{}: {format}, {} {rows} x {} {columns}, {}; {} {entries} observed ({}), {} missing",
            self.file,
            count(n),
            count(p),
            self.table.data.dtype(),
            count(observed),
            share(observed, (n, p)),
            share(n.saturating_mul(p) - observed, (n, p)),
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

    /// The entries with their columns in the order of the model.
    ///
    /// # Errors
    /// As [`matched`].
    pub(crate) fn align(self, saved: &Saved<impl IncompleteRows>) -> Result<ObservedData> {
        let (_, p) = self.table.data.shape();
        let advice = if self.table.triples.is_some() { Advice::Lines } else { Advice::Columns };
        let places = matched(saved, &self.file, self.column_names.as_deref(), p, advice)?;
        let placed = placed(self.table.data, &places, saved.model.fitted().n_features());
        placed.map_err(|error| Places { file: &self.file, samples: None, features: None }.explain(error))
    }
}

/// The entries with column `j` moved to `places[j]`, in a matrix of `n_features` columns.
///
/// # Errors
/// Same errors as [`Observed::from_triples`].
pub(crate) fn placed(
    data: ObservedData,
    places: &[usize],
    n_features: usize,
) -> karhunen::Result<ObservedData> {
    if places.iter().copied().eq(0..n_features) {
        return Ok(data);
    }
    Ok(match data {
        ObservedData::F32(observed) => moved(&observed, places, n_features)?.into(),
        ObservedData::F64(observed) => moved(&observed, places, n_features)?.into(),
    })
}

/// The advice for columns that a model does not know.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Advice {
    /// Exclude them.
    Columns,
    /// Drop their lines.
    Lines,
}

/// The position of each column in a model: by name if both have names, by position otherwise. Columns of the model
/// that are absent from the data are missing.
///
/// # Errors
/// [`Failure::Data`] for a column that the model does not have, or, without names, a different number of columns.
pub(crate) fn matched(
    saved: &Saved<impl IncompleteRows>,
    file: &str,
    columns: Option<&[String]>,
    n_columns: usize,
    advice: Advice,
) -> Result<Vec<usize>> {
    let n_features = saved.model.fitted().n_features();
    let (Some(known), Some(columns)) = (&saved.extras.column_ids, columns) else {
        if n_columns != n_features {
            return Err(Failure::Data(format!(
                "{file}: {n_columns} columns, but the model was fitted to {n_features}; columns without names are matched \
                 by position"
            )));
        }
        return Ok((0..n_features).collect());
    };
    if known.len() == columns.len()
        && columns.iter().enumerate().all(|(j, name)| known.text(j) == name.as_str())
    {
        return Ok((0..n_features).collect());
    }
    let repeated = || {
        Failure::Data(format!(
            "{file}: the columns cannot be matched with the model's by name, for names of the model repeat; bring the \
             columns into the order of the fit, or rename them and fit again"
        ))
    };
    let lookup = known.lookup().ok_or_else(repeated)?;
    let unknown: Vec<&String> = columns.iter().filter(|name| lookup.find(name).is_none()).collect();
    if !unknown.is_empty() {
        let advice = match advice {
            Advice::Columns => "exclude non-features with --label",
            Advice::Lines => "drop the lines with these columns",
        };
        return Err(Failure::Data(format!(
            "{file}: has columns that the model does not have ({}); {advice}",
            list(&unknown)
        )));
    }
    let places: Vec<usize> = columns.iter().filter_map(|name| lookup.find(name)).collect();
    let mut taken = vec![false; n_features];
    for (place, name) in places.iter().zip(columns) {
        if std::mem::replace(&mut taken[*place], true) {
            return Err(Failure::Data(format!(
                "{file}: two columns are called `{}`; rename or drop one",
                shortened(name)
            )));
        }
    }
    Ok(places)
}

fn moved<T: Scalar>(
    observed: &Observed<T>,
    places: &[usize],
    n_features: usize,
) -> karhunen::Result<Observed<T>> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut weights = observed.is_weighted().then(Vec::new);
    for row in 0..observed.n_samples() {
        let (found, x) = observed.row(row);
        rows.extend(std::iter::repeat_n(row as u32, x.len()));
        columns.extend(found.iter().map(|column| places[*column as usize] as u32));
        values.extend_from_slice(x);
        if let (Some(weights), Some(w)) = (&mut weights, observed.row_weights(row)) {
            weights.extend_from_slice(w);
        }
    }
    let triples = Triples { rows: &rows, columns: &columns, values: &values, weights: weights.as_deref() };
    Observed::from_triples(&triples, (observed.n_samples(), n_features), Duplicates::Refuse)
}

/// Scores (and offsets) of a block of rows, whose column `j` is column `places[j]` of the model.
///
/// # Errors
/// Same errors as [`Observed::from_source_with`], [`placed`] and [`scores`].
pub(crate) fn block_scores<T: Scalar>(
    model: &IncompleteModel,
    rows: &dyn Source<T>,
    places: &[usize],
    run: &Run<'_>,
) -> karhunen::Result<RowScores>
where
    ObservedData: From<Observed<T>>,
{
    let observed = Observed::from_source_with(rows, run)?;
    scores(model, &placed(observed.into(), places, model.n_features())?, run)
}

/// Scores (and offsets) of observed entries of either type.
///
/// # Errors
/// Same errors as [`IncompleteModel::row_scores_with`].
pub(crate) fn scores(
    model: &IncompleteModel,
    data: &ObservedData,
    run: &Run<'_>,
) -> karhunen::Result<RowScores> {
    match data {
        ObservedData::F32(observed) => model.row_scores_with(observed, run),
        ObservedData::F64(observed) => model.row_scores_with(observed, run),
    }
}
