//! Parses the rows of a text table in blocks by several threads, directly into the matrices that a fit reads.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use karhunen::{Matrix, memory};
use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use super::columns::{Columns, Role};
use super::dialect::Dialect;
use super::doubts::Doubts;
use super::fields::{Ending, Field, Scanner, next_record};
use super::notation::{Cell, Signs};
use super::refusal::{Reason, Refusal};
use crate::Error;
use crate::rounded::{limit, rounded_text};

/// The rows of one block.
#[derive(Debug)]
pub(super) struct Rows {
    /// The columns of numbers.
    pub(super) values: Matrix<f64>,
    /// The id column.
    pub(super) ids: Vec<String>,
    /// The excluded columns, in the order of the options.
    pub(super) labels: Vec<Vec<String>>,
    /// The column of weights.
    pub(super) weights: Vec<f64>,
    /// Byte offset and column of the first integer that was rounded.
    pub(super) rounded: Option<(usize, usize)>,
    /// The meaning of points: decimals or groups of thousands.
    pub(super) points: Points,
    /// Codes and totals among the values.
    pub(super) doubts: Doubts,
}

/// The evidence on whether points separate decimals or group thousands, collected until one number decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    /// True if a number decides, or nothing asks.
    pub(super) decided: bool,
    /// Byte offset of the first number with a point.
    pub(super) first: Option<usize>,
    /// For each column, whether it has numbers with a point, and without.
    columns: Vec<[bool; 2]>,
}

impl Points {
    fn of(dialect: &Dialect, n_columns: usize) -> Self {
        let decided = !dialect.numbers.point_is_open;
        Self { decided, first: None, columns: vec![[false; 2]; if decided { 0 } else { n_columns }] }
    }

    /// Looks at a number that was read from the beginning of `read`, at an offset in a column.
    #[inline]
    fn see(&mut self, read: &[u8], value: f64, place: (usize, usize)) {
        // The shortest number in groups is `1.000`, before a delimiter.
        let may_have_point = value.fract() != 0.0 || (read.len() > 5 && memchr(b'.', read).is_some());
        if may_have_point {
            let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
            let end = read.iter().position(|byte| !is_of_number(byte)).unwrap_or(read.len());
            self.look(&read[..end], place);
        } else {
            self.columns[place.1][1] = true;
        }
    }

    /// Looks at the text of a number.
    #[cold]
    fn look(&mut self, text: &[u8], (offset, column): (usize, usize)) {
        let text = text.trim_ascii();
        let mut signs = Signs::default();
        signs.look(text);
        let pointed = text.contains(&b'.');
        self.decided |= signs.point.decides();
        self.columns[column][usize::from(!pointed)] = true;
        self.first = self.first.or(pointed.then_some(offset));
    }

    /// Adds what later rows show.
    pub(super) fn join(&mut self, other: &Self) {
        self.decided |= other.decided;
        self.first = self.first.or(other.first);
        self.columns.resize(other.columns.len(), [false; 2]);
        for (own, other) in self.columns.iter_mut().zip(&other.columns) {
            *own = [own[0] | other[0], own[1] | other[1]];
        }
    }

    /// Tests whether a column has numbers with a point and without.
    pub(super) fn are_mixed(&self) -> bool {
        self.columns.contains(&[true, true])
    }
}

/// Parses all rows, in blocks of about `block_bytes`. The block boundaries do not depend on the number of threads,
/// which comes from the current rayon pool.
///
/// # Errors
/// The refusal of the first row, in the order of the file, that cannot be read.
pub(super) fn parse(
    text: &[u8],
    dialect: &Dialect,
    columns: &Columns,
    block_bytes: usize,
) -> Result<Vec<Rows>, Refusal> {
    let blocks = cut(text, dialect, columns.first_row, block_bytes);
    let first_refused = AtomicUsize::new(usize::MAX);
    let parse_block = |(number, range): (usize, &Range<usize>)| {
        if number > first_refused.load(Ordering::Relaxed) {
            return None;
        }
        let rows = BlockParser::new(text, range.clone(), dialect, columns).parse();
        if rows.is_err() {
            first_refused.fetch_min(number, Ordering::Relaxed);
        }
        Some(rows)
    };
    let parsed: Vec<Option<Result<Rows, Refusal>>> = blocks.par_iter().enumerate().map(parse_block).collect();
    // Only blocks after a refused block are left out, and a refusal ends this function.
    parsed.into_iter().flatten().collect()
}

/// Probes whether the memory for the numbers can be allocated.
///
/// # Errors
/// [`karhunen::Error::Memory`], as a [`crate::Cause`].
pub(super) fn ask(path: &Path, text: &[u8], columns: &Columns) -> crate::Result<()> {
    let n_lines = memchr_iter(b'\n', text).count() + 1;
    let n_columns = columns.count(Role::Value);
    let n_values = (n_lines as f64 * n_columns as f64).min(text.len() as f64 / 2.0 + 1.0);
    memory::ask(&format!("a table of {n_lines} lines and {n_columns} columns"), 8.0 * n_values, || {
        vec!["fit a part of it".into(), "write it as an NPY array, which is not copied".into()]
    })
    .map_err(|error| Error::new(path, error.into()))
}

/// Reason for the early end of parsing in parts.
pub(super) enum Stop {
    /// A row cannot be read.
    Refusal(Refusal),
    /// The rows cannot be copied.
    Copy(crate::Error),
}

impl From<crate::Error> for Stop {
    fn from(error: crate::Error) -> Self {
        Stop::Copy(error)
    }
}

/// Parses all rows, a few blocks of about `block_bytes` at a time, and calls `f` with each in order.
///
/// # Errors
/// The refusal of the first row that cannot be read; errors of `f`.
pub(super) fn parse_in_parts(
    text: &[u8],
    dialect: &Dialect,
    columns: &Columns,
    block_bytes: usize,
    f: &mut (dyn FnMut(Rows) -> Result<(), Stop> + Send),
) -> Result<(), Stop> {
    /// Blocks of a thread, to balance the load.
    const PER_THREAD: usize = 2;
    let mut start = columns.first_row;
    while start < text.len() {
        let mut ranges = Vec::new();
        while start < text.len() && ranges.len() < PER_THREAD * rayon::current_num_threads() {
            let end = block_end(text, start, block_bytes, dialect);
            ranges.push(start..end);
            start = end;
        }
        let parse = |range: Range<usize>| BlockParser::new(text, range, dialect, columns).parse();
        let parsed: Vec<Result<Rows, Refusal>> = ranges.into_par_iter().map(parse).collect();
        for rows in parsed {
            f(rows.map_err(Stop::Refusal)?)?;
        }
    }
    Ok(())
}

/// Cuts the rows into ranges of whole records.
pub(super) fn cut(text: &[u8], dialect: &Dialect, first_row: usize, block_bytes: usize) -> Vec<Range<usize>> {
    let quoted = text[first_row..].par_chunks(block_bytes).any(|chunk| memchr(b'"', chunk).is_some());
    // A quote in a comment would be taken for the quote of a field.
    let block_bytes = if quoted && dialect.comment.is_some() { text.len() } else { block_bytes };
    let mut blocks = Vec::new();
    let mut start = first_row;
    while start < text.len() {
        let target = (start + block_bytes).min(text.len());
        let end = if quoted {
            next_record(text, start, target, dialect.delimiter)
        } else {
            memchr(b'\n', &text[target..]).map_or(text.len(), |newline| target + newline + 1)
        };
        blocks.push(start..end);
        start = end;
    }
    blocks
}

/// The end of the block of whole records that begins at `start`.
pub(super) fn block_end(text: &[u8], start: usize, block_bytes: usize, dialect: &Dialect) -> usize {
    let target = (start + block_bytes).min(text.len());
    let end = memchr(b'\n', &text[target..]).map_or(text.len(), |newline| target + newline + 1);
    match memchr(b'"', &text[start..end]) {
        Some(_) if dialect.comment.is_some() => text.len(),
        Some(_) => next_record(text, start, target, dialect.delimiter),
        None => end,
    }
}

/// Returns the number of rows expected from the mean length of the first ones.
pub(super) fn expected_rows(text: &[u8], first_row: usize) -> usize {
    const SAMPLE: usize = 1 << 20;
    let rows = &text[first_row.min(text.len())..];
    let sample = &rows[..rows.len().min(SAMPLE)];
    let n_lines = memchr_iter(b'\n', sample).count().max(1);
    (rows.len() as f64 / sample.len().max(1) as f64 * n_lines as f64) as usize
}

struct BlockParser<'a> {
    text: &'a [u8],
    scanner: Scanner<'a>,
    dialect: &'a Dialect,
    columns: &'a Columns,
    values: Vec<f64>,
    ids: Vec<String>,
    labels: Vec<Vec<String>>,
    weights: Vec<f64>,
    rounded: Option<(usize, usize)>,
    points: Points,
    /// True if [`Scanner::number`] suffices for the numbers.
    is_plain: bool,
}

impl<'a> BlockParser<'a> {
    fn new(text: &'a [u8], range: Range<usize>, dialect: &'a Dialect, columns: &'a Columns) -> Self {
        let n_lines = memchr_iter(b'\n', &text[range.clone()]).count() + 1;
        // A number and its delimiter take two bytes at least.
        let n_values = (n_lines * columns.count(Role::Value)).min(range.len() / 2 + 1);
        let n_labels = columns.roles.iter().filter(|role| matches!(role, Role::Label(_))).count();
        Self {
            text,
            scanner: dialect.scanner(&text[..range.end], range.start),
            dialect,
            columns,
            values: Vec::with_capacity(n_values),
            ids: Vec::new(),
            labels: vec![Vec::new(); n_labels],
            weights: Vec::new(),
            rounded: None,
            points: Points::of(dialect, columns.roles.len()),
            is_plain: dialect.numbers.is_plain(),
        }
    }

    fn parse(mut self) -> Result<Rows, Refusal> {
        let blank_lines = self.columns.blank_lines();
        let mut n_rows = 0;
        while self.scanner.begin_record(blank_lines) {
            self.record()?;
            n_rows += 1;
        }
        let n_cols = self.columns.count(Role::Value);
        let values = Matrix::from_vec(n_rows, n_cols, self.values).expect("each record adds n_cols values");
        let Self { ids, labels, weights, rounded, points, .. } = self;
        let doubts = Doubts::of(&values);
        Ok(Rows { values, ids, labels, weights, rounded, points, doubts })
    }

    #[inline]
    fn record(&mut self) -> Result<(), Refusal> {
        let start = self.scanner.offset();
        let expected = self.columns.roles.len();
        for (column, &role) in self.columns.roles.iter().enumerate() {
            let ending = match role {
                Role::Value => {
                    let (value, ending) = self.number(column)?;
                    self.values.push(value);
                    ending
                }
                Role::Weight => {
                    let (value, ending) = self.number(column)?;
                    self.weights.push(value);
                    ending
                }
                Role::Id => {
                    let (text, ending) = self.text(column)?;
                    self.ids.push(text);
                    ending
                }
                Role::Label(label) => {
                    let (text, ending) = self.text(column)?;
                    self.labels[label].push(text);
                    ending
                }
                Role::Unused => self.scanner.field()?.ending,
                Role::Empty => {
                    let field = self.scanner.field()?;
                    if !field.text.is_empty() {
                        return Err(Refusal::cell(
                            field.offset,
                            column,
                            Reason::NotEmpty(field.text.to_vec()),
                        ));
                    }
                    field.ending
                }
            };
            let is_last = column + 1 == expected;
            if is_last == (ending == Ending::Record) {
                continue;
            }
            let rest = if is_last { self.scanner.count_rest()? } else { 0 };
            let reason = Reason::Ragged { found: column + 1 + rest, expected };
            return Err(Refusal { offset: start, column: None, reason });
        }
        Ok(())
    }

    #[inline(always)]
    fn number(&mut self, column: usize) -> Result<(f64, Ending), Refusal> {
        let start = self.scanner.offset();
        if self.is_plain
            && let Some(number) = self.scanner.number()
        {
            if number.0.abs() >= limit::<f64>() {
                self.note_rounding(start, column);
            }
            if !self.points.decided {
                let read = &self.text[start..self.scanner.offset()];
                self.points.see(read, number.0, (start, column));
            }
            return Ok(number);
        }
        self.unusual_number(column)
    }

    /// Records the first integer that `f64` cannot represent; `start` is the offset of its first digit or quote.
    #[cold]
    fn note_rounding(&mut self, start: usize, column: usize) {
        if self.rounded.is_none() && rounded_text::<f64>(&self.text[start..]).is_some() {
            self.rounded = Some((start, column));
        }
    }

    /// Parses a cell that the fast path rejects: quoted, padded with blanks, with a decimal comma, or no number.
    #[cold]
    fn unusual_number(&mut self, column: usize) -> Result<(f64, Ending), Refusal> {
        let start = self.scanner.clone();
        let field = self.scanner.field()?;
        let reason = match Cell::of(&field.text, &self.dialect.numbers) {
            Cell::Number(value) => {
                if value.abs() >= limit::<f64>() {
                    self.note_rounding(field.offset + usize::from(field.quoted), column);
                }
                if !self.points.decided {
                    self.points.look(&field.text, (field.offset, column));
                }
                return Ok((value, field.ending));
            }
            Cell::Missing if self.columns.missing && self.columns.roles[column] == Role::Value => {
                return Ok((f64::NAN, field.ending));
            }
            Cell::Missing => Reason::Missing(field.text.to_vec()),
            Cell::Infinite => Reason::Infinite(field.text.to_vec()),
            Cell::Text => Reason::Text(field.text.to_vec(), self.columns.words.clone()),
        };
        Err(self.refuse_cell(start, column, &field, reason))
    }

    /// Returns the refusal of a record with a wrong number of fields, or else of the cell.
    fn refuse_cell(&self, mut rest: Scanner, column: usize, field: &Field, reason: Reason) -> Refusal {
        let expected = self.columns.roles.len();
        match rest.count_rest() {
            Ok(n) if column + n != expected => {
                let reason = Reason::Ragged { found: column + n, expected };
                Refusal { offset: field.offset, column: None, reason }
            }
            _ => Refusal::cell(field.offset, column, reason),
        }
    }

    fn text(&mut self, column: usize) -> Result<(String, Ending), Refusal> {
        let field = self.scanner.field()?;
        let text = std::str::from_utf8(&field.text)
            .map_err(|_| Refusal::cell(field.offset, column, Reason::Encoding))?;
        Ok((text.to_owned(), field.ending))
    }
}
