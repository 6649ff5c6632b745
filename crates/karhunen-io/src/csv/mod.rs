//! Text tables: values separated by commas, semicolons, tabs, bars or blanks.
//!
//! The first records determine the notation of the table ([`dialect`]) and the roles of its columns ([`columns`]);
//! then several threads parse blocks of whole lines ([`blocks`]). All of them read fields through [`fields`].

mod blocks;
mod categories;
mod columns;
mod dialect;
mod doubts;
mod fields;
mod fill;
mod first_line;
mod notation;
mod preamble;
#[cfg(test)]
mod question_tests;
pub(crate) mod refusal;
mod row_names;
#[cfg(test)]
mod tests;
mod triples;
mod write;

use std::collections::HashMap;
use std::path::Path;

use karhunen::Matrix;
use karhunen::error::{OptionValue, Phrase};

use blocks::{Rows, Stop};
pub(crate) use categories::read_categories;
use columns::{Columns, Role};
use dialect::Dialect;
use doubts::Doubts;
use fields::{Delimiter, Ending};
use notation::ask_sign;
pub(crate) use notation::{Cell, Notation};
use refusal::{Reason, Refusal};
pub(crate) use triples::{EntryForm, read_triples};
pub(crate) use write::write;

use crate::file_rows::Copy;
use crate::input::{Input, line_of};
use crate::mapped::Mapped;
use crate::names::shortened;
use crate::option_names;
use crate::rounded::{Rounded, rounded_text};
use crate::{Buffer, Cause, Data, Error, Label, Place, ReadOptions, Result, RowNames, Table, Values};

/// Number of bytes that a thread parses at a time.
const BLOCK_BYTES: usize = 4 << 20;

/// Reads a text table; all numbers become `f64`.
///
/// # Errors
/// [`Cause::Option`] for options that do not match the table; [`Cause::Format`] and [`Cause::Value`] with line and
/// column for the first cell that is not a finite number, and for a different number of fields.
pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table> {
    read_form(&input, options).map(|(table, _)| table)
}

/// Swaps the rows and columns of a table: the names of rows become names of columns.
///
/// # Errors
/// [`Cause::Option`] for a table that does not fit in memory, and for a column of weights.
fn transposed(path: &Path, table: Table, options: &ReadOptions) -> Result<Table> {
    let refuse = |text: &'static str| {
        let transpose = Phrase::default().option(option_names::TRANSPOSE);
        Err(Error::new(path, Cause::option(transpose.text(text))))
    };
    if options.weights_column.is_some() {
        return refuse(
            " makes features of the rows, which have no weights; give the weights of the rows apart, in a file or as numbers",
        );
    }
    let Data::F64(Values::Blocks(blocks)) = &table.data else {
        return refuse(
            " needs a table with rows, held in memory; raise the limit of memory, or transpose it before",
        );
    };
    let (n, p) = table.data.shape();
    let mut values = vec![0.0; n * p];
    let rows = blocks.iter().flat_map(|block| (0..block.n_rows()).map(|i| block.row(i)));
    for (i, row) in rows.enumerate() {
        row.iter().enumerate().for_each(|(j, x)| values[j * n + i] = *x);
    }
    let left_out = table.labels.iter().map(|label| format!("`{}` is left out", shortened(&label.name)));
    Ok(Table {
        data: Data::F64(Values::Dense {
            buffer: Buffer::Owned(values),
            n_rows: p,
            n_cols: n,
            column_major: false,
        }),
        notes: table.notes.iter().cloned().chain(left_out).collect(),
        sample_names: table.feature_names,
        feature_names: table.sample_names,
        id_name: None,
        labels: Vec::new(),
        left_out: Vec::new(),
        ..table
    })
}

fn check_options(path: &Path, options: &ReadOptions) -> Result<()> {
    use option_names as O;
    let used = [
        [O::DELIMITER, O::HEADER, O::COMMENT, O::SKIP, O::DECIMAL, O::THOUSANDS].as_slice(),
        &[O::NA, O::ROW_NAMES, O::LABELS, O::COLUMNS, O::WEIGHTS_COLUMN, O::TRANSPOSE],
    ];
    options.allow_only(path, "a text table", &used.concat())?;
    check_signs(path, options)
}

#[cfg(test)]
fn read_in_blocks(path: &Path, bytes: &[u8], options: &ReadOptions, block_bytes: usize) -> Result<Table> {
    read_with_form(path, bytes, options, (block_bytes, &|| {})).map(|(table, _)| table)
}

/// The notation of a table: sufficient to find its cells again.
#[derive(Debug)]
pub(crate) struct Form {
    dialect: Dialect,
    columns: Columns,
}

/// As [`read`]; also returns the notation of the table.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_form(input: &Input, options: &ReadOptions) -> Result<(Table, Form)> {
    check_options(&input.path, options)?;
    let release = || input.mapped().iter().for_each(Mapped::release);
    let read = |options: &ReadOptions| {
        read_with_form(&input.path, input.as_slice(), options, (BLOCK_BYTES, &release))
    };
    if !options.transpose {
        return read(options);
    }
    // The columns of the file are not the features of the fit.
    let (table, form) = read(&ReadOptions { fitted: None, ..options.clone() })?;
    Ok((transposed(&input.path, table, options)?, form))
}

/// Reads a table in blocks of about `block_bytes`; `release` gives the memory of the parsed text back.
fn read_with_form(
    path: &Path,
    bytes: &[u8],
    options: &ReadOptions,
    (block_bytes, release): (usize, &(dyn Fn() + Sync)),
) -> Result<(Table, Form)> {
    let text = table_text(path, bytes)?;
    if text.is_empty() {
        return Err(Error::new(path, Cause::format("the table is empty".to_owned())));
    }
    let (dialect, sample) = Dialect::detect(path, text, options)?;
    let columns = Columns::of(path, text, &dialect, &sample, options)?;
    let names = columns.names.as_deref();
    let layout = Layout { path, text, dialect: &dialect, columns: &columns };
    let (rows, copied) = layout.parse(options, block_bytes, release)?;
    let rounded = rows.iter().find_map(|rows| rows.rounded);
    let (mut points, mut doubts) = (blocks::Points::default(), Doubts::default());
    for rows in &rows {
        points.join(&rows.points);
        doubts.join(&rows.doubts);
    }
    let open_points = open_points(path, text, points)?;
    let mut table = assemble(rows, &columns, &dialect, options);
    table.warnings.extend(open_points);
    let values: Vec<usize> =
        (0..columns.roles.len()).filter(|column| columns.roles[*column] == Role::Value).collect();
    let (label, last) =
        (|j: usize| columns.label(values[j]), table.sample_names.as_ref().and_then(|names| names.last()));
    table.warnings.extend(doubts.notes(&label, last.map(String::as_str), &options.na));
    if let Some(data) = copied {
        table.data = data;
    }
    table.warnings.extend(rounded.map(|place| rounded_warning(text, names, place)));
    if columns.id_must_differ {
        check_ids(text, &dialect, &columns, table.sample_names.as_deref().unwrap_or_default())
            .map_err(|refusal| refusal.into_error(path, text, names))?;
    }
    Ok((table, Form { dialect, columns }))
}

/// A text, its notation and its columns.
struct Layout<'a> {
    path: &'a Path,
    text: &'a [u8],
    dialect: &'a Dialect,
    columns: &'a Columns,
}

impl Layout<'_> {
    /// Parses the rows in blocks of about `block_bytes`. Values beyond the memory limit are returned as data in a temporary
    /// copy; `release` gives the memory of the parsed text back.
    fn parse(
        &self,
        options: &ReadOptions,
        block_bytes: usize,
        release: &(dyn Fn() + Sync),
    ) -> Result<(Vec<Rows>, Option<Data>)> {
        let Self { path, text, dialect, columns } = *self;
        let refuse = |refusal: Refusal| refusal.into_error(path, text, columns.names.as_deref());
        let n_cols = columns.count(Role::Value);
        let expected = (blocks::expected_rows(text, columns.first_row), n_cols);
        if !options.stay_in_file(expected, 8) {
            blocks::ask(path, text, columns)?;
            let rows = in_pool(path, options, || blocks::parse(text, dialect, columns, block_bytes))?;
            return Ok((rows.map_err(refuse)?, None));
        }
        let mut copy = Copy::new(path, expected, options)?;
        let rows = in_pool(path, options, || {
            let mut without_values = Vec::new();
            blocks::parse_in_parts(text, dialect, columns, block_bytes, &mut |mut rows| {
                copy.push(&rows.values)?;
                rows.values = Matrix::zeros(0, n_cols);
                without_values.push(rows);
                release();
                Ok(())
            })?;
            Ok::<_, Stop>(without_values)
        })?;
        let rows = rows.map_err(|stop| match stop {
            Stop::Refusal(refusal) => refuse(refusal),
            Stop::Copy(error) => error,
        })?;
        Ok((rows, Some(copy.finish(options.most_held())?.into())))
    }
}

/// A warning about an integer that was rounded, given its byte offset and column.
fn rounded_warning(text: &[u8], names: Option<&[String]>, (offset, column): (usize, usize)) -> Phrase {
    let place = Place {
        line: Some(line_of(text, offset)),
        row: None,
        column: Some(column as u64 + 1),
        name: names.and_then(|names| names.get(column)).cloned(),
    };
    let text = rounded_text::<f64>(&text[offset..]).unwrap_or_default();
    Rounded { text, place }.warning::<f64>()
}

/// Refuses numbers whose points may group thousands, as `1.106` among whole numbers. Where all numbers of a column have one,
/// with three digits behind it, a note says how they are read.
fn open_points(path: &Path, text: &[u8], points: blocks::Points) -> Result<Option<Phrase>> {
    let Some(first) = points.first.filter(|_| !points.decided) else { return Ok(None) };
    if points.are_mixed() {
        let end = text[first..].iter().position(|byte| !(byte.is_ascii_digit() || b".-+".contains(byte)));
        let number = &text[first..first + end.unwrap_or(text.len() - first)];
        let place = Place { line: Some(line_of(text, first)), ..Place::default() };
        return Err(Error::at(path, place, ask_sign(number, '.')));
    }
    let note =
        Phrase::new("every number with a point has three digits behind it, and is read with decimals; use ");
    let option = note.setting(option_names::THOUSANDS, OptionValue::Text(".".to_owned()));
    Ok(Some(option.text(" if the points group thousands")))
}

/// The text without byte order mark and trailing blank lines.
fn table_text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a [u8]> {
    let refuse = |message: &str| Err(Error::new(path, Cause::format(message.to_owned())));
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let beginning = &text[..text.len().min(1 << 16)];
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return refuse("the text is UTF-16; convert the file to UTF-8, for example with iconv");
    }
    if memchr::memchr(0, beginning).is_some() {
        let known = if cfg!(feature = "columnar") {
            "NPY, NPZ, Matrix Market, Parquet and Arrow IPC"
        } else {
            "NPY, NPZ and Matrix Market"
        };
        return refuse(&format!(
            "neither text nor a known binary format; karhunen reads CSV and TSV, {known}"
        ));
    }
    if memchr::memchr(b'\r', beginning).is_some() && memchr::memchr(b'\n', text).is_none() && text.len() > 1 {
        let lone = text.trim_ascii_end();
        if memchr::memchr(b'\r', lone).is_some() {
            return refuse("lines end in carriage returns alone; convert them to newlines");
        }
    }
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r' | b' ')).map_or(0, |last| last + 1);
    Ok(&text[..end])
}

/// Refuses delimiters and signs that cannot be told from numbers, and signs that are the same.
fn check_signs(path: &Path, options: &ReadOptions) -> Result<()> {
    let refuse = |message: Phrase| Err(Error::new(path, Cause::option(message)));
    let delimiter = || Phrase::default().option(option_names::DELIMITER);
    let is_part = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "\"\n\r.-+\0".contains(c);
    match options.delimiter.as_deref() {
        Some("") => return refuse(delimiter().text(" is empty; give the character between the fields")),
        Some(text) if text.contains(is_part) => {
            return refuse(delimiter().text(
                " is made of characters of ASCII that are not letters, digits, quotes, signs, points or line ends",
            ));
        }
        Some(text) if text.len() > fields::Word::MOST || (text.len() > 1 && text.trim() != text) => {
            return refuse(delimiter().text(" has at most 8 characters, without blanks at its ends"));
        }
        _ => {}
    }
    if let Some(sign) = options.decimal.filter(|sign| ![',', '.'].contains(sign)) {
        let decimal = Phrase::default().setting(option_names::DECIMAL, OptionValue::Text(sign.to_string()));
        return refuse(decimal.text(": the decimal sign is a point or a comma"));
    }
    let thousands = || Phrase::default().option(option_names::THOUSANDS);
    match options.thousands {
        Some(sign) if sign.is_ascii_alphanumeric() || "+-\"\n\r".contains(sign) => {
            refuse(thousands().text(" is not a letter, digit, sign or quote"))
        }
        Some(sign) if options.decimal == Some(sign) => {
            refuse(thousands().text(" and ").option(option_names::DECIMAL).text(" are the same sign"))
        }
        _ => Ok(()),
    }
}

/// Runs `work` on the threads of the options.
pub(crate) fn in_pool<R: Send>(
    path: &Path,
    options: &ReadOptions,
    work: impl FnOnce() -> R + Send,
) -> Result<R> {
    options.run().in_pool(work).map_err(|error| Error::new(path, error.into()))
}

fn assemble(blocks: Vec<Rows>, columns: &Columns, dialect: &Dialect, options: &ReadOptions) -> Table {
    let mut labels: Vec<Label> = Vec::new();
    for (label, option) in options.labels.iter().enumerate() {
        let column = columns.roles.iter().position(|&role| role == Role::Label(label));
        let name = column.and_then(|c| columns.names.as_ref().map(|names| names[c].clone()));
        labels.push(Label { name: name.unwrap_or_else(|| option.clone()), values: Vec::new() });
    }
    let (mut values, mut ids, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for rows in blocks {
        ids.extend(rows.ids);
        weights.extend(rows.weights);
        for (label, texts) in labels.iter_mut().zip(rows.labels) {
            label.values.extend(texts);
        }
        if rows.values.n_rows() > 0 {
            values.push(rows.values);
        }
    }
    let data = if values.is_empty() {
        let (buffer, n_cols) = (Buffer::Owned(Vec::new()), columns.count(Role::Value));
        Values::Dense { buffer, n_rows: 0, n_cols, column_major: false }
    } else {
        Values::Blocks(values)
    };
    Table {
        data: Data::F64(data),
        sample_names: columns.id().map(|_| ids),
        id_name: columns.id().and_then(|id| Some(columns.names.as_ref()?[id].clone())),
        feature_names: columns.value_names(),
        labels,
        weights: options.weights_column.as_ref().map(|_| weights),
        left_out: columns.left_out.clone(),
        log1p: None,
        format: format_name(dialect.delimiter),
        notes: notes(columns, dialect, options),
        warnings: dialect.first_line.warning().into_iter().chain(columns.warning.clone()).collect(),
    }
}

fn format_name(delimiter: Delimiter) -> &'static str {
    match delimiter {
        Delimiter::Byte(b',') => "CSV",
        Delimiter::Byte(b';') => "CSV (semicolons)",
        Delimiter::Byte(b'\t') => "TSV",
        Delimiter::Blanks => "text table (blanks)",
        Delimiter::Byte(_) | Delimiter::Word(_) => "text table",
    }
}

fn notes(columns: &Columns, dialect: &Dialect, options: &ReadOptions) -> Vec<String> {
    let mut notes = dialect.preamble.notes(options);
    if options.decimal.is_none() && options.thousands.is_none() && dialect.numbers.decimal_comma {
        notes.push("a comma separates the decimals".to_owned());
    }
    if let Some(sign) = dialect.numbers.thousands.filter(|_| options.thousands.is_none()) {
        notes.push(format!("`{sign}` groups the thousands"));
    }
    if columns.roles.contains(&Role::Empty) {
        notes.push("lines end in a delimiter, whose empty last column is left out".to_owned());
    }
    if let Some(column) = columns.id().filter(|_| options.row_names == RowNames::Auto) {
        let name = columns.names.as_ref().map(|names| &names[column]).filter(|name| !name.is_empty());
        let name = name.map(|name| format!(" (`{}`)", shortened(name))).unwrap_or_default();
        notes.push(format!("column {}{name} names the rows", column + 1));
    }
    notes
}

/// Refuses an id column found automatically whose texts repeat: it is a label.
fn check_ids(
    text: &[u8],
    dialect: &Dialect,
    columns: &Columns,
    ids: &[String],
) -> std::result::Result<(), Refusal> {
    let mut rows: HashMap<&str, usize> = HashMap::with_capacity(ids.len());
    let repeated = ids.iter().enumerate().find_map(|(row, id)| Some((rows.insert(id, row)?, row)));
    let Some((before, row)) = repeated else { return Ok(()) };
    let mut scanner = dialect.scanner(text, columns.first_row);
    let mut first_line = 0;
    for passed in 0..=row {
        scanner.begin_record(columns.blank_lines());
        if passed == before {
            first_line = line_of(text, scanner.offset());
        }
        if passed < row {
            while scanner.field()?.ending == Ending::Field {}
        }
    }
    let column = columns.names.as_ref().map_or_else(|| "1".to_owned(), |names| names[0].clone());
    let reason = Reason::RepeatedId { found: ids[row].clone().into_bytes(), line: first_line, column };
    Err(Refusal::cell(scanner.offset(), 0, reason))
}
