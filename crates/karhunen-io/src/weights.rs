//! Reads weights of rows or columns, and numbers of columns, from a separate file.

use std::collections::HashMap;
use std::path::Path;

use karhunen::{Scalar, memory};

use crate::csv::{Cell, Notation};
use crate::format::{Format, sniff};
use crate::input::{Input, decompressed};
use crate::read::read_input;
use crate::{Cause, Data, Error, Place, ReadOptions, Result, Values};

/// Reads weights: a text file of one column, with or without a header, or an NPY file of one dimension.
///
/// # Errors
/// Same errors as [`crate::read`]; [`Cause::Format`] for more than one column, or a number of weights other than
/// `n_expected`; [`Cause::Value`] for a negative weight, with its line.
pub fn read_weights(path: &Path, n_expected: Option<usize>) -> Result<Vec<f64>> {
    let column = Column::read(path, n_expected, &WEIGHTS)?;
    if column.names.is_some() {
        return Err(refused(path, 2, &WEIGHTS));
    }
    if let Some(index) = column.numbers.iter().position(|weight| *weight < 0.0) {
        let weight = column.numbers[index];
        let message = format!("the weight {weight} is negative; weights must be finite and not negative");
        return Err(column.at(index, message));
    }
    column.check_length(n_expected, &WEIGHTS)?;
    Ok(column.numbers)
}

/// Reads one number for each of `n_expected` columns: as [`read_weights`] without the rule of their sign, or a text file
/// of two columns, the names of `columns` in any order and their numbers.
///
/// # Errors
/// As [`read_weights`]; [`Cause::Format`] for names if the columns have none, for names that differ, and for a name that
/// occurs twice.
pub fn read_column_numbers(path: &Path, columns: Option<&[String]>, n_expected: usize) -> Result<Vec<f64>> {
    let column = Column::read(path, Some(n_expected), &NUMBERS)?;
    let Some(names) = &column.names else {
        column.check_length(Some(n_expected), &NUMBERS)?;
        return Ok(column.numbers);
    };
    let refuse = |message: String| Err(Error::new(path, Cause::format(message)));
    let Some(columns) = columns else {
        return refuse(
            "names and numbers, but the columns of the data have no names; keep the numbers alone".into(),
        );
    };
    let mut by_name = HashMap::new();
    for (index, (name, number)) in names.iter().zip(&column.numbers).enumerate() {
        if by_name.insert(name.as_str(), *number).is_some() {
            return Err(column.at(index, format!("`{name}` is given twice; give each column one number")));
        }
    }
    let numbers: Vec<f64> = columns.iter().map_while(|name| by_name.get(name.as_str()).copied()).collect();
    if let Some(missing) = columns.get(numbers.len()) {
        return refuse(format!("no number for the column `{missing}`; give each column one number"));
    }
    let differs = names.len() != columns.len();
    match names.iter().position(|name| differs && !columns.contains(name)) {
        Some(index) => {
            let name = &names[index];
            Err(column.at(
                index,
                format!("`{name}` is not a column of the data; leave it out, or correct the name"),
            ))
        }
        None => Ok(numbers),
    }
}

/// The words of messages about a file.
struct Words {
    /// The numbers, in the plural.
    plural: &'static str,
    /// Advice for a missing number.
    missing: &'static str,
}

const WEIGHTS: Words =
    Words { plural: "weights", missing: "give a weight: zero leaves the row or column out" };
const NUMBERS: Words = Words { plural: "numbers of columns", missing: "give a number" };

/// Numbers of a separate file.
struct Column<'a> {
    path: &'a Path,
    numbers: Vec<f64>,
    /// The names of the numbers, if the file has two columns.
    names: Option<Vec<String>>,
    /// Lines before the first number, of a text.
    n_before: Option<usize>,
    has_header: bool,
}

/// The most bytes of `n` numbers: a line is short, even with a name and a number.
fn most_bytes(n: usize) -> u64 {
    (1 << 20) + 1024 * n as u64
}

impl<'a> Column<'a> {
    fn read(path: &'a Path, n_expected: Option<usize>, words: &Words) -> Result<Self> {
        let options = ReadOptions { max_unpacked: n_expected.map(most_bytes), ..ReadOptions::default() };
        let most = options.most_unpacked();
        let content = Input::open_within(path, most).and_then(|input| decompressed(input, &options));
        let limited = |error: Error| match (&*error.cause, n_expected) {
            (Cause::Option(_), Some(n)) => too_long(path, n, words),
            _ => error,
        };
        content.map_err(limited)?.through(|input| {
            if let Some(n) = n_expected.filter(|_| input.as_slice().len() as u64 > most) {
                return Err(too_long(path, n, words));
            }
            let is_text = sniff(input.as_slice(), path) == Format::Text;
            let header = if is_text { has_header(input.as_slice()) } else { None };
            let options = &ReadOptions { header, ..options };
            let leading_lines = input.as_slice().iter().take_while(|byte| byte.is_ascii_whitespace());
            let n_leading = leading_lines.filter(|&&byte| byte == b'\n').count();
            let table = read_input(input, options).map_err(|error| explained(error, words))?;
            let (n_rows, n_cols) = table.data.shape();
            if n_cols != 1 && (is_text || n_rows != 1) {
                return Err(refused(path, n_cols + usize::from(table.sample_names.is_some()), words));
            }
            let numbers = match table.data {
                Data::F64(values) => flatten(values, path, words)?,
                Data::F32(values) => flatten(values, path, words)?.into_iter().map(f64::from).collect(),
            };
            let has_header = table.feature_names.is_some();
            let n_before = is_text.then_some(n_leading + usize::from(has_header));
            Ok(Self { path, numbers, names: table.sample_names, n_before, has_header })
        })
    }

    /// The error of number `index`, with its line.
    fn at(&self, index: usize, message: String) -> Error {
        let line = self.n_before.map(|n_before| (n_before + index) as u64 + 1);
        Error::at(self.path, Place { line, ..Place::default() }, Cause::value(message))
    }

    fn check_length(&self, n_expected: Option<usize>, words: &Words) -> Result<()> {
        let found = self.numbers.len();
        match n_expected {
            Some(n) if n != found => {
                let header = if self.has_header { " below a header" } else { "" };
                let message = format!("{found} {}{header}, but {n} are needed", words.plural);
                Err(Error::new(self.path, Cause::format(message)))
            }
            _ => Ok(()),
        }
    }
}

/// Tests whether the first line ends in a text; `None` without a line.
fn has_header(text: &[u8]) -> Option<bool> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let is_line = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let line = text.split(|byte| *byte == b'\n').find(is_line)?;
    let last = line.trim_ascii().rsplit(|byte| b",;\t| ".contains(byte)).next()?;
    let last = last.strip_prefix(b"\"").and_then(|last| last.strip_suffix(b"\"")).unwrap_or(last);
    Some(Cell::of(last, &Notation::default()) == Cell::Text)
}

/// The error of a file that holds more than `n` numbers take.
fn too_long(path: &Path, n: usize, words: &Words) -> Error {
    let (what, most) = (words.plural, memory::size(most_bytes(n) as f64));
    let message = format!("holds more than {most}, too much for {n} {what}; keep the {what} alone");
    Error::new(path, Cause::format(message))
}

/// The error of a file with `n_found` columns.
fn refused(path: &Path, n_found: usize, words: &Words) -> Error {
    let what = words.plural;
    let message = format!("{n_found} columns, but a file of {what} has one; keep the {what} alone");
    Error::new(path, Cause::format(message))
}

/// Replaces advice for tables of data, which does not apply to a file of one column.
fn explained(mut error: Error, words: &Words) -> Error {
    let what = words.plural;
    let message = match &*error.cause {
        Cause::Missing(found) => format!("{found}; {}", words.missing),
        Cause::Text(found, _) | Cause::TextColumns(found, _) => format!(
            "{found}; a file of {what} has one column of numbers, with or without a name: keep the {what} alone"
        ),
        _ => return error,
    };
    *error.cause = Cause::value(message);
    error
}

fn flatten<T: Scalar>(values: Values<T>, path: &Path, words: &Words) -> Result<Vec<T>> {
    match values {
        Values::Dense { buffer, .. } => Ok(buffer.as_slice().to_vec()),
        Values::Blocks(blocks) => Ok(blocks.into_iter().flat_map(karhunen::Matrix::into_vec).collect()),
        Values::InFile(_) | Values::Sparse(_) => {
            let message = format!(
                "a sparse matrix, but {} are read from one column of text or an NPY array",
                words.plural
            );
            Err(Error::new(path, Cause::format(message)))
        }
    }
}
