//! Writes a text table with its missing values filled in; all other characters are unchanged.

use std::io::Write;

use super::cells::Cell;
use super::columns::Role;
use super::fields::{Delimiter, Scanner};
use super::{Form, table_text};
use crate::Result;
use crate::input::Input;

impl Form {
    /// The delimiter, if it is one character.
    pub(crate) fn delimiter(&self) -> Option<u8> {
        match self.dialect.delimiter {
            Delimiter::Byte(byte) => Some(byte),
            Delimiter::Blanks => None,
        }
    }

    /// The text of `input` with each missing value of a feature replaced by `value(row, column)`, in the fewest
    /// digits that parse to the same bits.
    ///
    /// # Errors
    /// None, if the text was read before.
    pub(crate) fn fill(&self, input: &Input, value: &dyn Fn(usize, usize) -> f64) -> Result<Vec<u8>> {
        let bytes = input.as_slice();
        let text = table_text(&input.path, bytes)?;
        let before = bytes.len() - bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).len();
        let refuse = |fault: super::fields::Fault| {
            super::Refusal::from(fault).into_error(&input.path, text, self.columns.names.as_deref())
        };
        let mut filled = Vec::with_capacity(bytes.len() + bytes.len() / 8);
        filled.extend(&bytes[..before]);
        let mut scanner = Scanner::new(text, self.columns.first_row, self.dialect.delimiter);
        let (mut row, mut copied) = (0, 0);
        while scanner.begin_record(self.columns.blank_lines()) {
            let mut feature = 0;
            for role in &self.columns.roles {
                let field = scanner.field().map_err(refuse)?;
                if *role != Role::Value {
                    continue;
                }
                if Cell::of(&field.text, self.dialect.decimal_comma) == Cell::Missing {
                    filled.extend(&text[copied..field.offset]);
                    self.push(&mut filled, value(row, feature));
                    copied = field.end;
                }
                feature += 1;
            }
            row += 1;
        }
        // Copies the rest, including ignored blank lines.
        filled.extend(&bytes[before + copied..]);
        Ok(filled)
    }

    fn push(&self, filled: &mut Vec<u8>, value: f64) {
        let start = filled.len();
        write!(filled, "{value:?}").expect("writing to memory does not fail");
        if filled.ends_with(b".0") {
            filled.truncate(filled.len() - 2);
        }
        if self.dialect.decimal_comma {
            filled[start..].iter_mut().filter(|byte| **byte == b'.').for_each(|byte| *byte = b',');
        }
    }
}
