//! Splits a text table into fields; only this module interprets quotes, blanks and line ends.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2, memchr3, memmem};

/// A field delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// One character.
    Byte(u8),
    /// Any run of blanks and tabs; blanks at the ends of a line separate nothing.
    Blanks,
    /// Several characters.
    Word(Word),
}

/// A delimiter of a few characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    bytes: [u8; Word::MOST],
    length: usize,
}

impl Word {
    /// Most bytes.
    pub(super) const MOST: usize = 8;

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Delimiter {
    /// The delimiter that a value of [`crate::ReadOptions::delimiter`] denotes, of at most [`Word::MOST`] bytes.
    pub(super) fn of(text: &str) -> Self {
        match text.as_bytes() {
            b" " => Self::Blanks,
            [byte] => Self::Byte(*byte),
            several => {
                let length = several.len().min(Word::MOST);
                let mut bytes = [0; Word::MOST];
                bytes[..length].copy_from_slice(&several[..length]);
                Self::Word(Word { bytes, length })
            }
        }
    }
}

/// The end of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Another field follows.
    Field,
    /// The record ends: a new line or the end of the text follows.
    Record,
}

/// One field.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    /// Offset of its first byte, including its quote.
    pub(super) offset: usize,
    /// Offset of its end, without trailing blanks.
    pub(super) end: usize,
    /// Its text, without quotes or surrounding blanks.
    pub(crate) text: Cow<'a, [u8]>,
    /// True if the field is quoted.
    pub(crate) quoted: bool,
    /// Its ending.
    pub(super) ending: Ending,
}

/// An incorrectly closed quoted field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// No closing quote before the end of the text.
    Unclosed {
        /// Offset of the opening quote.
        offset: usize,
    },
    /// Text between the closing quote and the delimiter.
    AfterQuote {
        /// Offset of that text.
        offset: usize,
    },
}

/// Iterates over the fields of a text.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    delimiter: Delimiter,
    comment: Option<u8>,
}

impl<'a> Scanner<'a> {
    /// Starts at offset `at`, the start of a line.
    pub(super) fn new(text: &'a [u8], at: usize, delimiter: Delimiter) -> Self {
        Self { text, at, delimiter, comment: None }
    }

    /// Passes over lines that begin with `mark`, if there is one.
    pub(super) fn without_comments(self, mark: Option<u8>) -> Self {
        Self { comment: mark, ..self }
    }

    /// The current offset.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// Call at the start of a line: skips blank lines and returns whether a record follows.
    pub(super) fn begin_record(&mut self, blank_lines: BlankLines) -> bool {
        loop {
            self.skip_blanks();
            match &self.text[self.at..] {
                [] => return false,
                rest if at_line_end(rest) && blank_lines == BlankLines::Skipped => self.at += line_end(rest),
                [first, rest @ ..] if Some(*first) == self.comment => {
                    self.at += 1 + memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
                }
                _ => return true,
            }
        }
    }

    /// The next field as a number, if it is unquoted, finite and without leading blanks; otherwise `None`, and
    /// nothing is consumed. Reading spends most of its time here.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Option<(f64, Ending)> {
        let rest = &self.text[self.at..];
        let (value, length) = fast_float2::parse_partial::<f64, _>(rest).ok()?;
        if !value.is_finite() {
            return None;
        }
        Some((value, self.end_behind(length)?))
    }

    /// The next field as an integer, if it is unquoted, without leading blanks, in canonical form and of at most
    /// 18 digits; otherwise `None`, and nothing is consumed.
    #[inline(always)]
    pub(super) fn integer(&mut self) -> Option<(i64, Ending)> {
        let rest = &self.text[self.at..];
        let negative = rest.first() == Some(&b'-');
        let digits = &rest[usize::from(negative)..];
        let (mut number, mut n_digits) = (0_i64, 0);
        while let Some(digit) =
            digits.get(n_digits).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            if n_digits == 18 {
                return None;
            }
            number = number * 10 + i64::from(digit);
            n_digits += 1;
        }
        let unusual = n_digits == 0 || (digits[0] == b'0' && (n_digits > 1 || negative));
        if unusual {
            return None;
        }
        let ending = self.end_behind(usize::from(negative) + n_digits)?;
        Some((if negative { -number } else { number }, ending))
    }

    /// Consumes an unquoted field of `length` bytes and its ending, if an ending follows.
    #[inline(always)]
    fn end_behind(&mut self, length: usize) -> Option<Ending> {
        let rest = &self.text[self.at..];
        let (consumed, ending) = match rest.get(length) {
            Some(b'\n') => (length + 1, Ending::Record),
            None => (length, Ending::Record),
            Some(b'\r') if rest.get(length + 1) == Some(&b'\n') => (length + 2, Ending::Record),
            Some(&byte) => match self.delimiter {
                Delimiter::Byte(delimiter) if byte == delimiter => (length + 1, Ending::Field),
                Delimiter::Blanks if is_blank(byte) => {
                    self.at += length;
                    return Some(self.end_of_blanks());
                }
                Delimiter::Word(word) if rest[length..].starts_with(word.as_bytes()) => {
                    (length + word.length, Ending::Field)
                }
                _ => return None,
            },
        };
        self.at += consumed;
        Some(ending)
    }

    /// Consumes the next field.
    pub(super) fn field(&mut self) -> Result<Field<'a>, Fault> {
        self.skip_blanks();
        let offset = self.at;
        if self.text.get(offset) == Some(&b'"') {
            return self.quoted_field();
        }
        let rest = &self.text[offset..];
        let end = match self.delimiter {
            Delimiter::Byte(delimiter) => memchr2(delimiter, b'\n', rest),
            Delimiter::Blanks => memchr3(b' ', b'\t', b'\n', rest),
            Delimiter::Word(word) => {
                let line = memchr(b'\n', rest).unwrap_or(rest.len());
                Some(memmem::find(&rest[..line], word.as_bytes()).unwrap_or(line))
            }
        };
        self.at = offset + end.unwrap_or(rest.len());
        let text = self.text[offset..self.at].trim_ascii_end();
        let ending = self.end_of_field();
        Ok(Field { offset, end: offset + text.len(), text: Cow::Borrowed(text), quoted: false, ending })
    }

    /// Skips the rest of the record and counts its fields.
    pub(super) fn count_rest(&mut self) -> Result<usize, Fault> {
        let mut n_fields = 1;
        while self.field()?.ending == Ending::Field {
            n_fields += 1;
        }
        Ok(n_fields)
    }

    fn quoted_field(&mut self) -> Result<Field<'a>, Fault> {
        let offset = self.at;
        let close = closing_quote(self.text, offset).ok_or(Fault::Unclosed { offset })?;
        let inside = &self.text[offset + 1..close];
        let text = if memchr(b'"', inside).is_some() {
            let mut previous_is_quote = false;
            let undoubled = inside.iter().copied().filter(|&byte| {
                previous_is_quote = byte == b'"' && !previous_is_quote;
                byte != b'"' || previous_is_quote
            });
            Cow::Owned(undoubled.collect())
        } else {
            Cow::Borrowed(inside)
        };
        self.at = close + 1;
        let separated = self.text.get(self.at).is_some_and(|&byte| is_blank(byte));
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let delimited = match self.delimiter {
            Delimiter::Byte(delimiter) => rest.first() == Some(&delimiter),
            Delimiter::Blanks => separated,
            Delimiter::Word(word) => rest.starts_with(word.as_bytes()),
        };
        if !delimited && !at_line_end(rest) {
            return Err(Fault::AfterQuote { offset: self.at });
        }
        let ending = self.end_of_field();
        Ok(Field { offset, end: close + 1, text, quoted: true, ending })
    }

    /// Call after the text of a field: consumes its ending.
    fn end_of_field(&mut self) -> Ending {
        let rest = &self.text[self.at..];
        let length = match self.delimiter {
            Delimiter::Blanks => return self.end_of_blanks(),
            Delimiter::Byte(delimiter) => usize::from(rest.first() == Some(&delimiter)),
            Delimiter::Word(word) if rest.starts_with(word.as_bytes()) => word.length,
            Delimiter::Word(_) => 0,
        };
        if length > 0 {
            self.at += length;
            return Ending::Field;
        }
        self.at += line_end(rest);
        Ending::Record
    }

    fn end_of_blanks(&mut self) -> Ending {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        if at_line_end(rest) {
            self.at += line_end(rest);
            return Ending::Record;
        }
        Ending::Field
    }

    fn skip_blanks(&mut self) {
        let delimiter = self.delimiter;
        let rest = self.text[self.at..].iter();
        self.at += rest.take_while(|&&b| is_blank(b) && delimiter != Delimiter::Byte(b)).count();
    }
}

/// The interpretation of lines without text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlankLines {
    /// Blank lines are skipped.
    Skipped,
    /// Blank lines are records of one empty field, in a table of one column.
    Records,
}

fn at_line_end(rest: &[u8]) -> bool {
    matches!(rest, [] | [b'\n', ..] | [b'\r', b'\n', ..] | [b'\r'])
}

/// Length of the line end at the start of `rest`, or zero.
fn line_end(rest: &[u8]) -> usize {
    match rest {
        [b'\r', b'\n', ..] => 2,
        [] => 0,
        _ => 1,
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Offset of the closing quote of the field that opens at `open`: the next quote that is not doubled.
fn closing_quote(text: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        let quote = at + memchr(b'"', text.get(at..)?)?;
        if text.get(quote + 1) != Some(&b'"') {
            return Some(quote);
        }
        at = quote + 2;
    }
}

/// Start of the first record that begins after `target`. `from <= target` is the start of a record: the quotes
/// since then decide whether a newline ends a record.
pub(super) fn next_record(text: &[u8], from: usize, target: usize, delimiter: Delimiter) -> usize {
    let mut at = from;
    loop {
        let begin = at.max(target);
        let newline = memchr(b'\n', &text[begin..]).map_or(text.len(), |n| begin + n);
        // Skips the quoted fields that open before that newline: the last may contain it.
        loop {
            let Some(open) = opening_quote(text, at..newline, delimiter) else {
                return (newline + 1).min(text.len());
            };
            at = closing_quote(text, open).map_or(text.len(), |close| close + 1);
            if at > newline || at == text.len() {
                break;
            }
        }
        if at == text.len() {
            return at;
        }
    }
}

/// The first quote in `range` that opens a field: only blanks separate it from a delimiter or the start of a line.
fn opening_quote(text: &[u8], range: Range<usize>, delimiter: Delimiter) -> Option<usize> {
    let mut at = range.start;
    loop {
        let quote = at + memchr(b'"', text.get(at..range.end)?)?;
        let blanks = text[..quote].iter().rev();
        let n_blanks = blanks.take_while(|&&b| is_blank(b) && delimiter != Delimiter::Byte(b)).count();
        let opens = match (text[..quote - n_blanks].last(), delimiter) {
            (None | Some(b'\n'), _) => true,
            (Some(&byte), Delimiter::Byte(delimiter)) => byte == delimiter,
            (Some(_), Delimiter::Blanks) => n_blanks > 0,
            (Some(_), Delimiter::Word(word)) => text[..quote - n_blanks].ends_with(word.as_bytes()),
        };
        if opens {
            return Some(quote);
        }
        at = quote + 1;
    }
}
