//! Tables with missing values, and their completed copies.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use karhunen::source::Block;
use karhunen::{Dense, Matrix, Observed, Run, Scalar};

use crate::csv::Form;
use crate::format::{Format, sniff};
use crate::input::decompressed;
use crate::input::{Bytes, Input};
use crate::name_list::named;
use crate::read::{read_folder, read_input};
use crate::replace::{Staged, stage};
use crate::write::{Format as Written, format_of};
use crate::{
    Data, Error, NamedMatrix, ObservedData, ReadOptions, Result, RowWriter, RowsToWrite, Table, Values, csv,
    stage_table,
};

/// Most values of a dense block that is filled at a time.
const BLOCK_VALUES: usize = 1 << 22;

/// A table with missing values, and its text if it was read from one.
#[derive(Debug)]
pub struct TableWithMissing {
    /// The table: missing values are NaN, or not stored.
    pub table: Table,
    text: Option<(Input, Form)>,
}

/// Predicts missing values of a block: gets the number of its first row and its observed entries.
pub type Predict<'a> = dyn Fn(usize, &ObservedData) -> karhunen::Result<Predicted<'a>> + Sync + 'a;

/// Returns the value in a row, counted from the first of the block, and a column.
pub type Predicted<'a> = Box<dyn Fn(usize, usize) -> f64 + 'a>;

/// Reads a table whose values may be missing; `-` reads standard input. Values beyond the memory limit of `options` stay
/// in the file.
///
/// # Errors
/// As [`crate::read`].
pub fn read_with_missing(path: &Path, options: &ReadOptions) -> Result<TableWithMissing> {
    let options = &ReadOptions { missing: true, ..options.clone() };
    options.log1p_of_fit(path)?;
    if let Some(table) = read_folder(path, options)? {
        return Ok(TableWithMissing { table, text: None });
    }
    decompressed(Input::open_within(path, options.most_unpacked())?, options)?.through(|input| {
        if sniff(input.as_slice(), path) != Format::Text {
            return Ok(TableWithMissing {
                table: named(path, read_input(input, options)?, options)?,
                text: None,
            });
        }
        // Copies a small text, which is read a second time after the last check for changes.
        let input = match input.bytes.mapped().filter(|map| map.len() as u64 > options.most_held()) {
            Some(map) => Input { path: input.path, bytes: Bytes::Mapped(map) },
            None => Input { path: input.path, bytes: Bytes::Owned(input.bytes.into_owned()) },
        };
        let (table, form) = csv::read_form(&input, options)?;
        // Rows that become columns are written as a new table.
        let text = (!options.transpose).then_some((input, form));
        Ok(TableWithMissing { table: named(path, table, options)?, text })
    })
}

impl TableWithMissing {
    /// Prepares a file with the missing values replaced by those that `predict` returns for each block of rows, in the
    /// format of the extension of `path`. Observed values keep their bits. From text to text with the same delimiter (`-`
    /// accepts any), all other characters are unchanged; otherwise names and labels become the first columns, and other
    /// excluded columns are omitted. A table whose values stay in its file is never held whole.
    ///
    /// # Errors
    /// As [`stage_table`]; [`crate::Cause::Library`] for infinite values, and for errors of `predict`;
    /// [`crate::Cause::Changed`].
    pub fn stage_filled(&self, path: &Path, predict: &Predict<'_>, run: &Run<'_>) -> Result<Staged> {
        let format = format_of(path)?;
        let same = |form: &Form| {
            let kept = path.as_os_str() == "-" || matches!(path.extension(), Some(csv) if csv == "csv");
            match (format, form.delimiter()) {
                (Written::Text { delimiter }, Some(found)) => found == delimiter || (kept && found != b'\t'),
                _ => false,
            }
        };
        let failure = Failure(Mutex::new(None));
        let staged = match &self.text {
            Some((input, form)) if same(form) => {
                let mut filler = form.filler(input)?;
                stage(path, |sink| {
                    let filled = blocks_of(&self.table.data, run, &mut |first, observed| {
                        let value = predict(first, &observed)?;
                        Ok(filler.rows(observed.shape().0, &value, sink))
                    });
                    failure.or(filled)?;
                    filler.finish(sink)
                })
            }
            _ => match &self.table.data {
                Data::F32(values) => {
                    self.stage_matrix(path, &Filled { values, predict, run, failure: &failure })
                }
                Data::F64(values) => {
                    self.stage_matrix(path, &Filled { values, predict, run, failure: &failure })
                }
            },
        };
        let staged = match (staged, failure.0.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Err(_), Some(error)) => Err(Error::new(path, error.into())),
            (staged, _) => staged,
        };
        // A change of the file explains any other error.
        self.table.data.check_unchanged()?;
        if let Some(map) = self.text.as_ref().and_then(|(input, _)| input.mapped()) {
            map.check_unchanged()?;
        }
        staged
    }

    fn stage_matrix<T: Scalar>(&self, path: &Path, rows: &dyn RowsToWrite<T>) -> Result<Staged> {
        let table = &self.table;
        let numbered = || (1..=rows.shape().1).map(|j| format!("x{j}")).collect();
        let table = NamedMatrix {
            matrix: rows,
            row_names: table.sample_names.as_deref(),
            row_header: table.id_name.as_deref().unwrap_or("sample"),
            labels: &table.labels,
            column_names: &table.feature_names.clone().unwrap_or_else(numbered),
            numeric_ids: false,
        };
        stage_table(path, &table)
    }
}

/// The error of the library that ended the writing.
struct Failure(Mutex<Option<karhunen::Error>>);

impl Failure {
    /// Keeps an error of the library, and returns one that ends the writing.
    fn or(&self, outcome: karhunen::Result<std::io::Result<()>>) -> std::io::Result<()> {
        outcome.unwrap_or_else(|error| {
            let message = error.to_string();
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Err(std::io::Error::other(message))
        })
    }
}

/// Rows whose missing values are predicted while they are written.
struct Filled<'a, 'p, T> {
    values: &'a Values<T>,
    predict: &'a Predict<'p>,
    run: &'a Run<'a>,
    failure: &'a Failure,
}

impl<T: Scalar> RowsToWrite<T> for Filled<'_, '_, T>
where
    ObservedData: From<Observed<T>>,
{
    fn shape(&self) -> (usize, usize) {
        self.values.shape()
    }

    fn each(&self, f: &mut RowWriter<'_, T>) -> std::io::Result<()> {
        self.failure.or(blocks(self.values, self.run, &mut |first, observed| {
            let data = ObservedData::from(observed.clone());
            let value = (self.predict)(first, &data)?;
            Ok(f(&filled(&observed, &value)))
        }))
    }
}

/// Receives the number of the first row of a block and its entries; an error of writing ends the visit.
type Receive<'f, O> = dyn FnMut(usize, O) -> karhunen::Result<std::io::Result<()>> + 'f;

fn blocks_of(
    data: &Data,
    run: &Run<'_>,
    f: &mut Receive<'_, ObservedData>,
) -> karhunen::Result<std::io::Result<()>> {
    match data {
        Data::F32(values) => blocks(values, run, &mut |first, observed| f(first, observed.into())),
        Data::F64(values) => blocks(values, run, &mut |first, observed| f(first, observed.into())),
    }
}

/// Visits the observed entries of a few rows at a time.
fn blocks<T: Scalar>(
    values: &Values<T>,
    run: &Run<'_>,
    f: &mut Receive<'_, Observed<T>>,
) -> karhunen::Result<std::io::Result<()>> {
    let mut written = Ok(());
    let mut receive = |first: usize, observed: karhunen::Result<Observed<T>>| {
        let observed = observed.map_err(|error| error.of_rows_from(first))?;
        written = f(first, observed)?;
        // Ends the visit; the error of writing is returned below.
        if written.is_ok() { Ok(()) } else { Err(karhunen::Error::Stopped { phase: "writing" }) }
    };
    let visited = values.source()?.visit(&mut |first, block| match block {
        Block::Sparse(rows) => receive(first, Observed::from_sparse_with(&rows, None, run)),
        Block::Dense(rows) => {
            let at_once = (BLOCK_VALUES / rows.n_cols().max(1)).max(1);
            (0..rows.n_rows()).step_by(at_once).try_for_each(|begin| {
                let some: Dense<'_, T> = rows.rows(begin..rows.n_rows().min(begin + at_once));
                receive(first + begin, Observed::from_dense_with(&some, run))
            })
        }
    });
    if written.is_err() { Ok(written) } else { visited.map(|()| Ok(())) }
}

/// The observed values, and `value` elsewhere.
fn filled<T: Scalar>(observed: &Observed<T>, value: &dyn Fn(usize, usize) -> f64) -> Matrix<T> {
    let (n, p) = observed.shape();
    let mut matrix = Matrix::zeros(n, p);
    for i in 0..n {
        let (columns, values) = observed.row(i);
        let mut seen = columns.iter().zip(values).peekable();
        for (j, x) in matrix.row_mut(i).iter_mut().enumerate() {
            *x = match seen.next_if(|(column, _)| **column as usize == j) {
                Some((_, value)) => *value,
                None => T::from_f64(value(i, j)),
            };
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the table with `value(row, column)` instead of missing values.
    fn fill(with_missing: &TableWithMissing, to: &Path, value: fn(usize, usize) -> f64) {
        let predict = |first: usize, _: &ObservedData| {
            Ok(Box::new(move |row, column| value(first + row, column)) as Predicted<'_>)
        };
        with_missing.stage_filled(to, &predict, &Run::default()).unwrap().commit().unwrap();
    }

    fn filled_text(input: &str, name: &str, output: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join(name), folder.path().join(output));
        std::fs::write(&from, input).unwrap();
        let options = ReadOptions { labels: vec!["kind".to_owned()], ..ReadOptions::default() };
        let with_missing = read_with_missing(&from, &options).unwrap();
        fill(&with_missing, &to, |row, column| (10 * row + column) as f64 + 0.25);
        std::fs::read_to_string(to).unwrap()
    }

    #[test]
    fn text_keeps_every_letter_but_missing_values() {
        let cases = [
            (
                "id,a,kind,b\nx,1.50, k ,\ny, NA ,\"l\",2e0\n\n",
                "id,a,kind,b\nx,1.50, k ,1.25\ny, 10.25 ,\"l\",2e0\n\n",
            ),
            ("a;kind;b\r\n1,5;k;\r\n\"\";k;2,5", "a;kind;b\r\n1,5;k;1,25\r\n10,25;k;2,5"),
            ("\u{feff}a,kind\n1,k\n,k\n", "\u{feff}a,kind\n1,k\n10.25,k\n"),
        ];
        for (input, expected) in cases {
            assert_eq!(filled_text(input, "t.csv", "u.csv"), expected);
        }
    }

    #[test]
    fn a_text_beyond_the_limit_is_filled_in_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["t.csv", "u.csv"].map(|name| folder.path().join(name));
        let row = |i: usize, missing: &str| {
            let values: Vec<String> = (0..50)
                .map(|j| if (i + j).is_multiple_of(7) { missing.into() } else { j.to_string() })
                .collect();
            values.join(",")
        };
        let text = |missing: &dyn Fn(usize) -> String| {
            let names: Vec<String> = (0..50).map(|j| format!("c{j}")).collect();
            let rows: Vec<String> = (0..9000).map(|i| row(i, &missing(i))).collect();
            format!("\u{feff}{}\n{}\n\n", names.join(","), rows.join("\n"))
        };
        std::fs::write(&from, text(&|_| "NA".to_owned())).unwrap();
        let options = ReadOptions { memory_limit: Some(1 << 20), ..ReadOptions::default() };
        let with_missing = read_with_missing(&from, &options).unwrap();
        assert!(matches!(&with_missing.table.data, Data::F64(Values::InFile(_))));
        assert!(with_missing.text.as_ref().is_some_and(|(input, _)| input.mapped().is_some()));
        fill(&with_missing, &to, |row, _| row as f64 + 0.5);
        assert!(std::fs::read_to_string(to).unwrap() == text(&|i| format!("{i}.5")));
    }

    #[test]
    fn another_format_keeps_names_and_labels() {
        let input = "city,a,kind,b\nx,1.50,k,\ny,,l,2\n";
        let expected = "city\tkind\ta\tb\nx\tk\t1.5\t1.25\ny\tl\t10.25\t2\n";
        assert_eq!(filled_text(input, "t.csv", "u.tsv"), expected);
    }

    #[cfg(feature = "columnar")]
    #[test]
    fn parquet_keeps_bits_names_and_labels() {
        let folder = tempfile::tempdir().unwrap();
        let [csv, parquet] = ["t.csv", "t.parquet"].map(|name| folder.path().join(name));
        std::fs::write(&csv, "city,a,kind,b\nx,0.1,k,\ny,,l,2\n").unwrap();
        let options = ReadOptions { labels: vec!["kind".to_owned()], ..ReadOptions::default() };
        fill(&read_with_missing(&csv, &options).unwrap(), &parquet, |_, _| f64::NAN);
        let with_missing = read_with_missing(&parquet, &options).unwrap();
        assert_eq!(with_missing.table.id_name.as_deref(), Some("city"));
        let again = folder.path().join("u.csv");
        fill(&with_missing, &again, |row, _| row as f64);
        assert_eq!(std::fs::read_to_string(&again).unwrap(), "city,kind,a,b\nx,k,0.1,0\ny,l,1,2\n");
    }
}
