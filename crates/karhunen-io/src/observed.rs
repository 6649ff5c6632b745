//! Data with missing values in any format: tables with missing values, sparse matrices whose stored values are the
//! observed ones, and triples.

use std::path::Path;

use karhunen::More;
use karhunen::error::{OptionName, OptionValue, Phrase};
use karhunen::incomplete::Duplicates;
use karhunen::{IncompletePca, Observed, Run, Scalar};

use crate::columnar::{arrow, parquet};
use crate::format::{Format, sniff};
use crate::ids::Ids;
use crate::input::Input;
use crate::input::decompressed;
use crate::name_list::{listed, named};
use crate::option_names;
use crate::option_names::average;
use crate::read::{NO_BANNER, no_data, read_folder, read_input};
use crate::triples::{Entries, TripleColumns, Wanted};
use crate::{Cause, Data, Error, Label, ReadOptions, Result, Table, Values, csv, matrix_market, npz};

/// Options for reading observed entries.
#[derive(Clone, Debug, Default)]
pub struct ObserveOptions {
    /// The columns of a table of triples; `None` for a table of features or a sparse matrix.
    pub triples: Option<TripleColumns>,
    /// Treatment of repeated (row, column) pairs in triples and in sparse matrices.
    pub duplicates: Duplicates,
    /// If true, triples and the entries of Matrix Market files become `f64`, otherwise `f32`.
    pub double: bool,
    /// The fit for which the entries are read: more than its `memory_limit` leaves room for are refused.
    pub fit: Option<IncompletePca>,
    #[doc(hidden)]
    pub more: More,
}

/// Observed entries in the type of the file.
#[derive(Clone, Debug)]
pub enum ObservedData {
    /// Single precision.
    F32(Observed<f32>),
    /// Double precision.
    F64(Observed<f64>),
}

impl ObservedData {
    /// (n_samples, n_features).
    pub fn shape(&self) -> (usize, usize) {
        match self {
            ObservedData::F32(observed) => observed.shape(),
            ObservedData::F64(observed) => observed.shape(),
        }
    }

    /// Number of observed entries.
    pub fn n_observed(&self) -> usize {
        match self {
            ObservedData::F32(observed) => observed.n_observed(),
            ObservedData::F64(observed) => observed.n_observed(),
        }
    }

    /// `"f32"` or `"f64"`.
    pub fn dtype(&self) -> &'static str {
        match self {
            ObservedData::F32(_) => f32::NAME,
            ObservedData::F64(_) => f64::NAME,
        }
    }
}

/// Observed entries as read from a file, and the ids of their rows and columns.
#[derive(Debug)]
pub struct ObservedTable {
    /// The entries.
    pub data: ObservedData,
    /// One id for each row, if the file has them, sorted: as integers if all ids are integers, otherwise as text.
    pub row_ids: Option<Ids>,
    /// One id for each column, likewise; of a table of features the column names, in the order of the file.
    pub column_ids: Option<Ids>,
    /// The name of the column of row ids, if the table has names.
    pub id_name: Option<String>,
    /// Columns excluded by [`ReadOptions::labels`].
    pub labels: Vec<Label>,
    /// The columns that [`ReadOptions::columns`] leaves out, in the form of that option.
    pub left_out: Vec<String>,
    /// The column excluded by [`ReadOptions::weights_column`]: one number for each row.
    pub weights: Option<Vec<f64>>,
    /// The columns of the triples, if the file holds triples.
    pub triples: Option<TripleColumns>,
    /// The detected format.
    pub format: &'static str,
    /// Choices made automatically.
    pub notes: Vec<String>,
    /// Possible faults: guesses that the content of the file does not settle, rounded values. Each states a
    /// remedy.
    pub warnings: Vec<Phrase>,
}

/// Reads observed entries; `-` reads standard input. Missing are, in a table, empty cells, marks such as `NA`,
/// nulls and NaN; in a sparse matrix, entries that are not stored; in triples, absent lines and lines without a
/// value. A table beyond the memory limit of `options` is read in blocks of rows and never held whole.
///
/// Triples take 12 bytes each (20 with `double`), and 4 or 8 more with weights, until the entries are sorted.
///
/// # Errors
/// Same errors as [`crate::read`]; [`Cause::Value`] with both lines for a repeated pair, if repeated pairs are refused.
pub fn read_observed(path: &Path, options: &ReadOptions, how: &ObserveOptions) -> Result<ObservedTable> {
    match read_observed_rows(path, options, how)? {
        ObservedRows::Entries(table) => Ok(*table),
        ObservedRows::InFile(table) => ObservedTable::of(*table, path, how, &options.run()),
    }
}

/// Observed entries, or rows that stay in their file.
#[derive(Debug)]
pub enum ObservedRows {
    /// Entries in memory.
    Entries(Box<ObservedTable>),
    /// A table beyond the memory limit ([`Values::InFile`]); missing values are NaN.
    InFile(Box<Table>),
}

/// As [`read_observed`], but the rows of a table beyond the memory limit of `options` stay in the file.
///
/// # Errors
/// Same errors as [`read_observed`].
pub fn read_observed_rows(path: &Path, options: &ReadOptions, how: &ObserveOptions) -> Result<ObservedRows> {
    let entries = |table| Ok(ObservedRows::Entries(Box::new(table)));
    let options = &ReadOptions { missing: true, ..options.clone() };
    options.log1p_of_fit(path)?;
    if how.triples.is_some() && path.is_dir() {
        let message = "is a folder; triples are read from one file of CSV, TSV, Parquet or Arrow";
        return Err(Error::new(path, Cause::format(message.to_owned())));
    }
    if how.triples.is_none()
        && let Some(table) = read_folder(path, options)?
    {
        check_duplicates(path, how)?;
        return match &table.data {
            Data::F32(Values::InFile(_)) | Data::F64(Values::InFile(_)) => {
                Ok(ObservedRows::InFile(Box::new(table)))
            }
            _ => entries(ObservedTable::of(table, path, how, &options.run())?),
        };
    }
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        let format = sniff(input.as_slice(), path);
        if how.triples.is_none() && format != Format::MatrixMarket {
            let averaged = format == Format::Npz && how.duplicates == Duplicates::Average && !how.double;
            if averaged && let Some(data) = npz::averaged(&input, options)? {
                return entries(ObservedTable::averaged(data, options)?);
            }
            check_duplicates(path, how)?;
            let table = named(path, read_input(input, options)?, options)?;
            // Genotypes stay in their file in any case.
            let held = format == Format::Bed && !options.stay_in_file(table.data.shape(), size_of::<f32>());
            return match &table.data {
                Data::F32(Values::InFile(_)) | Data::F64(Values::InFile(_)) if !held => {
                    Ok(ObservedRows::InFile(Box::new(table)))
                }
                _ => entries(ObservedTable::of(table, path, how, &options.run())?),
            };
        }
        entries(if how.double {
            read_as::<f64>(input, format, options, how)?
        } else {
            read_as::<f32>(input, format, options, how)?
        })
    })
}

/// Refuses averages except for triples and sparse matrices, `double` except for triples and Matrix Market files.
fn check_duplicates(path: &Path, how: &ObserveOptions) -> Result<()> {
    let refused = [
        (
            how.double,
            Phrase::default().setting(option_names::DOUBLE, OptionValue::Flag(true)),
            "Matrix Market",
        ),
        (how.duplicates == Duplicates::Average, average(), "sparse matrices"),
    ];
    match refused.into_iter().find(|(refused, ..)| *refused) {
        None => Ok(()),
        Some((_, option, formats)) => {
            let message = option.text(format!(" applies to triples and {formats} alone; leave it out"));
            Err(Error::new(path, Cause::option(message)))
        }
    }
}

fn read_as<T: Scalar>(
    input: Input,
    format: Format,
    options: &ReadOptions,
    how: &ObserveOptions,
) -> Result<ObservedTable>
where
    ObservedData: From<Observed<T>>,
{
    let path = input.path.clone();
    let (entries, format) = match &how.triples {
        // The input, such as the text, is freed before the entries are sorted.
        Some(columns) => read_entries::<T>(input, format, &columns.into(), options)?,
        None => match matrix_market::read_entries::<T>(&input, options)? {
            Some(entries) => (entries, "Matrix Market"),
            None => {
                check_duplicates(&path, how)?;
                let table = named(&path, matrix_market::read(input, options)?, options)?;
                return ObservedTable::of(table, &path, how, &options.run());
            }
        },
    };
    let observed = entries.observed(&path, how.duplicates, how.fit.as_ref(), &options.run())?;
    let n_missing = entries.values.iter().filter(|value| value.to_f64().is_nan()).count();
    let lines = if n_missing == 1 { "1 line has" } else { &format!("{n_missing} lines have") };
    let note = (n_missing > 0).then(|| format!("{lines} no value: not observed"));
    let (n, p) = entries.shape;
    let [mut row_ids, mut column_ids] = entries.ids.map_or([None, None], |ids| ids.map(Some));
    if how.triples.is_none() {
        let (samples, features) = listed(options, n, p)?;
        (row_ids, column_ids) = (samples.map(Ids::Texts), features.map(Ids::Texts));
    }
    Ok(ObservedTable {
        data: observed.into(),
        row_ids,
        column_ids,
        id_name: None,
        labels: Vec::new(),
        left_out: Vec::new(),
        weights: None,
        triples: how.triples.clone(),
        format,
        notes: note.into_iter().collect(),
        warnings: entries.warnings,
    })
}

/// Reads triples in any format.
fn read_entries<T: Scalar>(
    input: Input,
    format: Format,
    wanted: &Wanted,
    options: &ReadOptions,
) -> Result<(Entries<T>, &'static str)> {
    check_entries(&input, format, wanted.option)?;
    match format {
        Format::Parquet => Ok((parquet::read_triples(input, wanted, options)?, "Parquet")),
        Format::Arrow => Ok((arrow::read_triples(input, wanted, options)?, "Arrow IPC")),
        _ => Ok((csv::read_triples(&input, wanted, options)?, "text")),
    }
}

/// Refuses formats that hold neither triples nor pairs, which `option` names the columns of.
///
/// # Errors
/// [`Cause::Option`] for numbers without ids; [`Cause::Format`] for content that is not data.
pub(crate) fn check_entries(input: &Input, format: Format, option: OptionName) -> Result<()> {
    let refuse = |message: &'static str| {
        let message = Phrase::default().option(option).text(message);
        Err(Error::new(&input.path, Cause::option(message)))
    };
    match format {
        Format::Text | Format::Parquet | Format::Arrow => Ok(()),
        Format::MatrixMarket => {
            refuse(" does not apply to Matrix Market, which has no columns; leave it out")
        }
        Format::Npy | Format::Npz | Format::Hdf5 => {
            refuse(" does not apply to arrays, whose columns hold no ids; write them as CSV or Parquet")
        }
        Format::Bed => refuse(" does not apply to genotypes, which have a row for each sample; leave it out"),
        Format::Model => Err(no_data(input)),
        Format::Foreign(kind) => Err(Error::new(&input.path, Cause::format(kind.message(&input.path)))),
        Format::NoBanner => Err(Error::new(&input.path, Cause::format(NO_BANNER.to_owned()))),
    }
}

impl ObservedTable {
    /// Observed entries of a sparse NPZ archive.
    fn averaged(data: ObservedData, options: &ReadOptions) -> Result<Self> {
        let (n, p) = data.shape();
        let (samples, features) = listed(options, n, p)?;
        Ok(Self {
            data,
            row_ids: samples.map(Ids::Texts),
            column_ids: features.map(Ids::Texts),
            id_name: None,
            labels: Vec::new(),
            left_out: Vec::new(),
            weights: None,
            triples: None,
            format: "NPZ (sparse)",
            notes: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn of(table: Table, path: &Path, how: &ObserveOptions, run: &Run<'_>) -> Result<Self> {
        let data = table.data.observed_for(how.fit.as_ref(), run);
        let data = data.map_err(|error| Error::new(path, error.into()))?;
        table.data.check_unchanged()?;
        Ok(Self::of_table(table, data))
    }

    /// The observed entries `data` of a table, as [`Data::observed_for`] returns them, with its names.
    pub fn of_table(table: Table, data: ObservedData) -> Self {
        Self {
            data,
            row_ids: table.sample_names.map(Ids::Texts),
            id_name: table.id_name,
            column_ids: table.feature_names.map(Ids::Texts),
            labels: table.labels,
            left_out: table.left_out,
            weights: table.weights,
            triples: None,
            format: table.format,
            notes: table.notes,
            warnings: table.warnings,
        }
    }
}

impl Data {
    /// The values that are not NaN; of a sparse matrix, the stored values.
    ///
    /// # Errors
    /// [`karhunen::Error::NonFinite`] for infinite values; [`karhunen::Error::Threads`]; [`karhunen::Error::Stopped`] if
    /// the observer cancels.
    pub fn observed(&self, run: &Run<'_>) -> karhunen::Result<ObservedData> {
        self.observed_for(None, run)
    }

    /// As [`Data::observed`], within the memory limit of `fit`.
    ///
    /// # Errors
    /// Same errors as [`Data::observed`] and [`IncompletePca::observe`].
    pub fn observed_for(&self, fit: Option<&IncompletePca>, run: &Run<'_>) -> karhunen::Result<ObservedData> {
        /// Entries within no limit but the memory of the machine.
        fn of<T: Scalar>(
            values: &Values<T>,
            fit: Option<&IncompletePca>,
            run: &Run<'_>,
        ) -> karhunen::Result<Observed<T>> {
            let source = values.source()?;
            match fit {
                Some(fit) => fit.observe(&*source, run),
                None => Observed::from_source_with(&*source, run),
            }
        }
        Ok(match self {
            Data::F32(values) => of(values, fit, run)?.into(),
            Data::F64(values) => of(values, fit, run)?.into(),
        })
    }
}

impl From<Observed<f32>> for ObservedData {
    fn from(observed: Observed<f32>) -> Self {
        ObservedData::F32(observed)
    }
}

impl From<Observed<f64>> for ObservedData {
    fn from(observed: Observed<f64>) -> Self {
        ObservedData::F64(observed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;

    fn read(name: &str, content: &[u8], how: &ObserveOptions) -> Result<ObservedTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        read_observed(&path, &ReadOptions::default(), how)
    }

    fn triples() -> ObserveOptions {
        let [row, column, value] = ["user", "item", "rating"].map(str::to_owned);
        ObserveOptions {
            triples: Some(TripleColumns { row, column, value, weight: None }),
            ..Default::default()
        }
    }

    /// The values row by row, NaN where missing.
    fn dense(data: &ObservedData) -> Vec<f64> {
        fn of<T: Scalar>(observed: &Observed<T>) -> Vec<f64> {
            let (n, p) = observed.shape();
            let mut all = vec![NAN; n * p];
            for i in 0..n {
                let (columns, values) = observed.row(i);
                columns.iter().zip(values).for_each(|(j, x)| all[i * p + *j as usize] = x.to_f64());
            }
            all
        }
        match data {
            ObservedData::F32(observed) => of(observed),
            ObservedData::F64(observed) => of(observed),
        }
    }

    fn assert_same(found: &[f64], expected: &[f64]) {
        let bits = |values: &[f64]| {
            values.iter().map(|x| if x.is_nan() { None } else { Some(x.to_bits()) }).collect()
        };
        let (found, expected): (Vec<_>, Vec<_>) = (bits(found), bits(expected));
        assert_eq!(found, expected);
    }

    #[test]
    fn empty_cells_of_text_are_missing() {
        let text = b"id,a,b,c\nx,1,,NA\ny,NULL,-0,3.5\nz,nan,2,\"\"\n";
        let table = read("t.csv", text, &ObserveOptions::default()).unwrap();
        assert_same(&dense(&table.data), &[1.0, NAN, NAN, NAN, -0.0, 3.5, NAN, 2.0, NAN]);
        assert_eq!(table.row_ids.unwrap().texts(), ["x", "y", "z"]);
        assert_eq!(table.column_ids.unwrap().texts(), ["a", "b", "c"]);
        assert_eq!((table.data.dtype(), table.data.n_observed()), ("f64", 4));
    }

    #[test]
    fn stored_zeros_are_observed() {
        let text = b"%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 0\n2 3 1.5\n1 2 -2\n";
        let table = read("t.mtx", text, &ObserveOptions::default()).unwrap();
        assert_same(&dense(&table.data), &[0.0, -2.0, NAN, NAN, NAN, 1.5]);
        assert_eq!((table.data.dtype(), table.row_ids), ("f32", None));
        let double = read("t.mtx", text, &ObserveOptions { double: true, ..Default::default() }).unwrap();
        assert_eq!(double.data.dtype(), "f64");
        let array = b"%%MatrixMarket matrix array real general\n2 1\n1\n2\n";
        assert_same(&dense(&read("a.mtx", array, &ObserveOptions::default()).unwrap().data), &[1.0, 2.0]);
    }

    #[test]
    fn entries_that_repeat_are_named_or_averaged() {
        let text = b"user,item,rating\nann,Heat,4\n\nbob,Heat,1\nann,Heat,3\n";
        let error = read("t.csv", text, &triples()).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "t.csv: line 5: user `ann` has item `Heat` twice: here and on line 2; give each pair once, or average \
                 them with duplicates = average"
            ),
            "{error}"
        );
        let average = ObserveOptions { duplicates: Duplicates::Average, ..triples() };
        assert_same(&dense(&read("t.csv", text, &average).unwrap().data), &[3.5, 1.0]);
        let matrix = b"%%MatrixMarket matrix coordinate real symmetric\n%\n2 2 2\n2 1 1\n2 1 2\n";
        let error = read("t.mtx", matrix, &ObserveOptions::default()).unwrap_err().to_string();
        assert!(
            error.contains("t.mtx: line 5: row `1` has column `2` twice: here and on line 4;"),
            "{error}"
        );
        // A repeated pair without a value is not a duplicate.
        let text = b"user,item,rating\nann,Heat,4\nann,Heat,NA\n";
        let table = read("t.csv", text, &triples()).unwrap();
        assert_eq!(
            (table.data.n_observed(), &table.notes[..]),
            (1, &["1 line has no value: not observed".to_owned()][..])
        );
    }

    #[test]
    fn options_without_use_are_refused() {
        let table = b"a,b\n1,\n2,3\n";
        for how in [
            ObserveOptions { double: true, ..Default::default() },
            ObserveOptions { duplicates: Duplicates::Average, ..Default::default() },
        ] {
            let error = read("t.csv", table, &how).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Argument, "{error}");
        }
        let matrix = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n";
        let error = read("t.mtx", matrix, &triples()).unwrap_err().to_string();
        assert!(
            error.ends_with("`triples` does not apply to Matrix Market, which has no columns; leave it out"),
            "{error}"
        );
    }
}
