//! Reads the numbers of a Matrix Market file in order.

use memchr::memchr;

use super::{Field, Parsed, Refusal, refuse};
use crate::Cause;
use crate::rounded::{limit, rounded_text};

/// Iterates over the numbers of the file.
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Byte offset of the first integer that was rounded.
    pub(super) rounded: Option<usize>,
}

impl Cursor<'_> {
    fn skip_blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Call at the start of a line: skips comments and empty lines and returns whether another line follows.
    pub(super) fn next_line(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.bytes.get(self.at) {
                None => return false,
                Some(b'\n') => self.at += 1,
                Some(b'%') => {
                    let rest = &self.bytes[self.at..];
                    self.at += memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                }
                Some(_) => return true,
            }
        }
    }

    pub(super) fn integer(&mut self) -> Option<usize> {
        self.skip_blanks();
        let mut number: usize = 0;
        let start = self.at;
        while let Some(digit) =
            self.bytes.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|&d| d < 10)
        {
            number = number.checked_mul(10)?.checked_add(usize::from(digit))?;
            self.at += 1;
        }
        let ends = matches!(self.bytes.get(self.at), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
        (ends && self.at > start).then_some(number)
    }

    /// Reads a row or column number; returns it counted from zero.
    pub(super) fn index(&mut self, axis: &str, bound: usize) -> Parsed<u32> {
        self.skip_blanks();
        let start = self.at;
        match self.integer() {
            Some(number) if (1..=bound).contains(&number) => Ok((number - 1) as u32),
            Some(number) => {
                refuse(start, format!("{axis} {number} is outside 1..={bound}, which the size line allows"))
            }
            None => refuse(start, format!("`{}` is not a {axis} number", self.word(start))),
        }
    }

    pub(super) fn value(&mut self, field: Field) -> Parsed<f64> {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.bytes[start..];
        let parsed = fast_float2::parse_partial::<f64, _>(rest)
            .ok()
            .filter(|&(_, length)| matches!(rest.get(length), None | Some(b' ' | b'\t' | b'\r' | b'\n')));
        let refuse_value = |message: String| Err(Refusal { offset: start, cause: Cause::value(message) });
        let Some((value, length)) = parsed else {
            let word = self.word(start);
            return refuse_value(if word.is_empty() {
                "the value is missing".to_owned()
            } else {
                format!("`{word}` is not a number")
            });
        };
        if !value.is_finite() {
            let word = self.word(start);
            return refuse_value(format!("`{word}` is not a finite number; remove or replace the entry"));
        }
        if field == Field::Integer && value.fract() != 0.0 {
            return refuse_value(format!("`{}` is not an integer, as the first line says", self.word(start)));
        }
        if value.abs() >= limit::<f64>() && self.rounded.is_none() && rounded_text::<f64>(rest).is_some() {
            self.rounded = Some(start);
        }
        self.at += length;
        Ok(value)
    }

    pub(super) fn end_of_line(&mut self) -> Parsed<()> {
        self.skip_blanks();
        match self.bytes.get(self.at) {
            None => Ok(()),
            Some(b'\n') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => refuse(self.at, format!("`{}` is more than the line should hold", self.word(self.at))),
        }
    }

    fn word(&self, start: usize) -> String {
        let rest = &self.bytes[start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        String::from_utf8_lossy(&rest[..end.min(40)]).into_owned()
    }
}
