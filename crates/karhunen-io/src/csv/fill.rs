//! Writes a text table with its missing values filled in; all other characters are unchanged.

use std::io::Write;

use super::columns::Role;
use super::fields::{Delimiter, Scanner};
use super::notation::Cell;
use super::{Form, table_text};
use crate::Result;
use crate::input::Input;
use crate::mapped::Mapped;

impl Form {
    /// The delimiter, if it is one character.
    pub(crate) fn delimiter(&self) -> Option<u8> {
        match self.dialect.delimiter {
            Delimiter::Byte(byte) => Some(byte),
            Delimiter::Blanks | Delimiter::Word(_) => None,
        }
    }

    /// Begins to copy the text of `input` with its missing values filled.
    ///
    /// # Errors
    /// None, if the text was read before.
    pub(crate) fn filler<'a>(&'a self, input: &'a Input) -> Result<Filler<'a>> {
        let bytes = input.as_slice();
        let text = table_text(&input.path, bytes)?;
        let mark = bytes.len() - bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).len();
        let scanner = self.dialect.scanner(text, self.columns.first_row);
        Ok(Filler { form: self, input, text, scanner, mark, copied: 0 })
    }

    /// Appends a number in the fewest digits that parse to the same bits.
    fn push(&self, filled: &mut Vec<u8>, value: f64) {
        let start = filled.len();
        write!(filled, "{value:?}").expect("writing to memory does not fail");
        if filled.ends_with(b".0") {
            filled.truncate(filled.len() - 2);
        }
        if self.dialect.numbers.decimal_comma {
            filled[start..].iter_mut().filter(|byte| **byte == b'.').for_each(|byte| *byte = b',');
        }
    }
}

/// Copies a text row by row.
pub(crate) struct Filler<'a> {
    form: &'a Form,
    input: &'a Input,
    /// The text without byte order mark and trailing blank lines.
    text: &'a [u8],
    scanner: Scanner<'a>,
    /// Bytes of the byte order mark.
    mark: usize,
    /// Bytes of the text that were copied or replaced.
    copied: usize,
}

impl Filler<'_> {
    /// Writes up to and with the last missing value of the next `n_rows` rows, each replaced by `value(row, column)`, where
    /// rows are counted from the first of these.
    ///
    /// # Errors
    /// Errors of `sink`.
    pub(crate) fn rows(
        &mut self,
        n_rows: usize,
        value: &dyn Fn(usize, usize) -> f64,
        sink: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut number = Vec::new();
        for row in 0..n_rows {
            if !self.scanner.begin_record(self.form.columns.blank_lines()) {
                break;
            }
            let mut feature = 0;
            for role in &self.form.columns.roles {
                let field = self.scanner.field().map_err(|fault| {
                    let names = self.form.columns.names.as_deref();
                    let error = super::Refusal::from(fault).into_error(&self.input.path, self.text, names);
                    std::io::Error::other(error)
                })?;
                if *role != Role::Value {
                    continue;
                }
                if Cell::of(&field.text, &self.form.dialect.numbers) == Cell::Missing {
                    self.copy_to(field.offset, sink)?;
                    number.clear();
                    self.form.push(&mut number, value(row, feature));
                    sink.write_all(&number)?;
                    self.copied = field.end;
                }
                feature += 1;
            }
        }
        self.copy_to(self.scanner.offset(), sink)?;
        // The text that was copied takes no memory any more.
        self.input.mapped().iter().for_each(Mapped::release);
        Ok(())
    }

    /// Writes the rest, ignored blank lines included.
    ///
    /// # Errors
    /// Errors of `sink`.
    pub(crate) fn finish(mut self, sink: &mut dyn Write) -> std::io::Result<()> {
        let bytes = self.input.as_slice();
        self.copy_to(bytes.len() - self.mark, sink)
    }

    /// Writes the text that was not yet copied, up to the byte `end` of the text.
    fn copy_to(&mut self, end: usize, sink: &mut dyn Write) -> std::io::Result<()> {
        let bytes = self.input.as_slice();
        // The mark is copied with the first bytes.
        let begin = if self.copied == 0 { 0 } else { self.mark + self.copied };
        let end = self.mark + end;
        if begin < end {
            sink.write_all(&bytes[begin..end])?;
            self.copied = end - self.mark;
        }
        Ok(())
    }
}
