//! Reasons to refuse a text table, and messages that state position and remedy.

use std::path::Path;

use karhunen::error::{OptionValue, Phrase};

use super::fields::Fault;
use super::notation::{Cell, Notation};
use crate::input::line_of;
use crate::names::printable;
use crate::option_names;
use crate::units::{Unit, is_grouped, is_grouped_number};
use crate::{Cause, Error, Place};

/// Maximum number of characters of a cell in a message.
const SHOWN: usize = 40;
/// Maximum number of columns of text in a message.
const MOST_LABELS: usize = 12;

/// The first fault of a table.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// Offset in bytes.
    pub(super) offset: usize,
    /// The column, from zero.
    pub(super) column: Option<usize>,
    /// The fault.
    pub(super) reason: Reason,
}

/// A fault.
#[derive(Clone, Debug)]
pub(super) enum Reason {
    /// A cell without a value, and its text.
    Missing(Vec<u8>),
    /// A number that is infinite or too large.
    Infinite(Vec<u8>),
    /// A number outside the range of the requested single precision.
    TooLarge(Vec<u8>),
    /// A value of a triple that is not a number.
    NoValue(Vec<u8>),
    /// An invalid weight of a triple.
    Weight(Vec<u8>),
    /// An id of a triple that is empty.
    EmptyId,
    /// More ids than 32 bits can count.
    TooManyIds,
    /// A cell that is not a number, and texts of such cells in columns of numbers.
    Text(Vec<u8>, Vec<String>),
    /// A cell in the last column, which has no name and is empty in the first rows.
    NotEmpty(Vec<u8>),
    /// Columns of text, with the first cell of the first column.
    TextColumns {
        /// The text of the cell.
        found: Vec<u8>,
        /// The columns, in the form of the option for labels.
        columns: Vec<String>,
    },
    /// A first column of text in which a text repeats.
    RepeatedId {
        /// The text.
        found: Vec<u8>,
        /// The line of its first occurrence.
        line: u64,
        /// The column, in the form of the option for labels.
        column: String,
    },
    /// A record with a different number of fields.
    Ragged {
        /// Its number of fields.
        found: usize,
        /// The number of fields of the first record.
        expected: usize,
    },
    /// Bytes that are not UTF-8 in a name or a label.
    Encoding,
    /// A quote that is never closed.
    Unclosed,
    /// Text after a closing quote.
    AfterQuote,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        let (offset, reason) = match fault {
            Fault::Unclosed { offset } => (offset, Reason::Unclosed),
            Fault::AfterQuote { offset } => (offset, Reason::AfterQuote),
        };
        Self { offset, column: None, reason }
    }
}

impl Refusal {
    /// A fault of a cell.
    pub(super) fn cell(offset: usize, column: usize, reason: Reason) -> Self {
        Self { offset, column: Some(column), reason }
    }

    /// The message, with the line of the offset in `text` and the name of the column.
    pub(super) fn into_error(self, path: &Path, text: &[u8], names: Option<&[String]>) -> Error {
        let name = self.column.and_then(|column| names?.get(column)).filter(|name| !name.is_empty());
        let place = Place {
            line: Some(line_of(text, self.offset)),
            row: None,
            column: self.column.map(|column| column as u64 + 1),
            name: name.cloned(),
        };
        let label = name.cloned().or(self.column.map(|column| (column + 1).to_string()));
        let is_comment = text.get(self.offset) == Some(&b'#');
        if let (Reason::Ragged { .. }, true) = (&self.reason, is_comment) {
            let message = Phrase::new(
                "the line begins with `#` below the first row, and has another number of fields; use ",
            )
            .setting(option_names::COMMENT, OptionValue::Text("#".to_owned()))
            .text(" if such lines are comments");
            return Error::at(path, place, Cause::format(message));
        }
        Error::at(path, place, self.reason.into_cause(&label.unwrap_or_default()))
    }
}

impl Reason {
    fn into_cause(self, label: &str) -> Cause {
        match self {
            Reason::Missing(found) => Cause::Missing(if found.is_empty() {
                "an empty cell is a missing value".to_owned()
            } else {
                format!("`{}` is a missing value", show(&found))
            }),
            Reason::Infinite(found) => Cause::value(format!(
                "`{}` is infinite or too large for a 64-bit number; drop the row or give a finite number",
                show(&found)
            )),
            Reason::TooLarge(found) => Cause::value(
                Phrase::new(format!(
                    "`{}` is too large for a 32-bit number; read 64-bit numbers with ",
                    show(&found)
                ))
                .setting(option_names::DOUBLE, OptionValue::Flag(true)),
            ),
            Reason::NoValue(found) if is_number(&found) => of_text(&found, Vec::new(), label),
            Reason::NoValue(found) => {
                Cause::value(format!("`{}` is not a number; correct it, or drop the line", show(&found)))
            }
            Reason::Weight(found) => Cause::value(format!(
                "{} is not a weight: weights are finite numbers that are not negative",
                if found.is_empty() { "an empty cell".into() } else { format!("`{}`", show(&found)) }
            )),
            Reason::EmptyId => {
                Cause::value("the id is empty; give each line the id of a row and of a column".to_owned())
            }
            Reason::TooManyIds => Cause::value("there are more than 2^32 - 1 different ids".to_owned()),
            Reason::Text(found, words) => of_text(&found, words, label),
            Reason::NotEmpty(found) => Cause::format(format!(
                "`{}` stands in a last column that has no name and is empty in the lines above; name the column, or remove \
                 what ends these lines",
                show(&found)
            )),
            Reason::TextColumns { found, .. } if is_number(&found) => of_text(&found, Vec::new(), label),
            Reason::TextColumns { found, columns } => of_text_columns(&found, columns, label),
            Reason::RepeatedId { found, line, column } => Cause::TextColumns(
                format!(
                    "`{}` is not a number, and the column does not name the rows, for the same text stands on line {line}",
                    show(&found)
                ),
                Phrase::new("exclude it with ").then(excluded(&column)),
            ),
            Reason::Ragged { found, expected } => Cause::format(format!(
                "{found} field{} where {expected} {} expected; complete or drop the line, or quote a field that \
                 holds the delimiter",
                if found == 1 { "" } else { "s" },
                if expected == 1 { "is" } else { "are" },
            )),
            Reason::Encoding => {
                Cause::format("the text is not UTF-8; convert the file, for example with iconv".to_owned())
            }
            Reason::Unclosed => Cause::format("the quote that opens here is never closed".to_owned()),
            Reason::AfterQuote => Cause::format(
                "text follows a closing quote; double the quotes inside a quoted field".to_owned(),
            ),
        }
    }
}

/// Tests for a number in another notation than the table.
fn is_number(found: &[u8]) -> bool {
    is_grouped_number(found)
        || [false, true]
            .iter()
            .any(|comma| matches!(Cell::of(found, &Notation::with_decimal_comma(*comma)), Cell::Number(_)))
}

fn of_text_columns(found: &[u8], mut columns: Vec<String>, label: &str) -> Cause {
    if let Some(cause) = of_decorated(found, label) {
        return cause;
    }
    let more = match columns.len().saturating_sub(MOST_LABELS) {
        0 => String::new(),
        more => format!(" and so on, of {more} more columns"),
    };
    columns.truncate(MOST_LABELS);
    Cause::TextColumns(
        format!("`{}` is not a number, and most of the column is text", show(found)),
        Phrase::new("exclude such columns with ")
            .setting(option_names::LABELS, OptionValue::Texts(columns))
            .text(more),
    )
}

/// The error of a number with a unit or mark, in a column of such cells.
pub(crate) fn of_decorated(found: &[u8], label: &str) -> Option<Cause> {
    let advice = Unit::advice(found)?;
    Some(Cause::Text(
        format!("`{}` is not a number here", show(found)),
        Phrase::new(format!("{advice}, or exclude the column with ")).then(excluded(label)),
    ))
}

/// The option that excludes a column.
pub(crate) fn excluded(column: &str) -> Phrase {
    Phrase::default().setting(option_names::LABELS, OptionValue::Texts(vec![column.to_owned()]))
}

fn of_text(found: &[u8], mut words: Vec<String>, label: &str) -> Cause {
    let shown = show(found);
    let text = String::from_utf8_lossy(found);
    let sign = [',', '.', ' ', '\''].into_iter().find(|sign| {
        is_grouped(&text, *sign, if *sign == '.' { ',' } else { '.' }) || is_grouped(&text, *sign, ',')
    });
    let decimal =
        |sign: char| Phrase::default().setting(option_names::DECIMAL, OptionValue::Text(sign.into()));
    if is_number(found) {
        let separates = if text.contains(',') { ',' } else { '.' };
        let may_separate = text.matches(separates).count() == 1;
        let problem = Phrase::new(format!("`{shown}` is not a number here; "));
        let by_decimal = problem
            .clone()
            .text(format!("if `{separates}` separates the decimals, use "))
            .then(decimal(separates));
        return Cause::value(match sign {
            None => by_decimal.text(", or correct it"),
            Some(sign) => if may_separate { by_decimal.text("; ") } else { problem }
                .text("if its digits are in groups of thousands, use ")
                .setting(option_names::THOUSANDS, OptionValue::Text(sign.into())),
        });
    }
    words.retain(|word| word.as_bytes() != found);
    words.insert(0, text.into_owned());
    let missing = Phrase::new("if it marks a missing value, use ")
        .setting(option_names::NA, OptionValue::Texts(words))
        .text("; else ");
    let advice = if found.len() <= SHOWN { missing } else { Phrase::default() };
    let correct = Unit::advice(found).unwrap_or("correct it");
    let advice = advice.text(format!("{correct}, or exclude the column with ")).then(excluded(label));
    Cause::Text(format!("`{shown}` is not a number"), advice)
}

fn show(found: &[u8]) -> String {
    printable(&String::from_utf8_lossy(found), SHOWN)
}
