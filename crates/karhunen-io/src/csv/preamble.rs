//! Lines before a text table: the line `sep=;` of Excel, and comments that begin with `#`.

use karhunen::error::Phrase;

use super::cells::Cell;
use super::dialect::{Dialect, Sample, sample};
use super::fields::Field;
use crate::ReadOptions;
use crate::name_rule::{leaves_out_id, usual_n_fields};

/// The lines before a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Preamble {
    /// Offset of the first record.
    pub(super) start: usize,
    /// True if the first record is the last comment, which holds the names of the columns.
    pub(super) holds_names: bool,
    /// The delimiter that the line `sep=` names.
    pub(super) delimiter: Option<u8>,
    /// Number of comments that are skipped.
    n_comments: usize,
    /// The number of the first comment that looks like a row of numbers, from one.
    row_like: Option<usize>,
}

impl Preamble {
    /// Finds the first record of `text`. Comments are the lines that begin with `#` before the first other line. The last
    /// of them holds the names of the columns if the line below holds none, and the comment as many texts as the table has
    /// columns.
    pub(super) fn of(text: &[u8], options: &ReadOptions, named_tsv: bool) -> Self {
        let (delimiter, top) = separator_line(text).map_or((None, 0), |(byte, end)| (Some(byte), end));
        let (comments, below) = comments(text, top);
        let plain = Self { start: top, delimiter, ..Self::default() };
        // A table whose rows all begin so has no comments.
        let Some((&last, others)) = comments.split_last().filter(|_| below < text.len()) else {
            return plain;
        };
        let skipping = Self { start: below, ..plain };
        let header = options.header.filter(|header| !header);
        let auto = ReadOptions { header, ..options.clone() };
        let (dialect, rows) = Dialect::detect_after(&skipping, text, &auto, named_tsv);
        let line_of = |at: usize| &text[at..below.max(at)];
        let fields =
            |at: usize| sample(line_of(at), 0, dialect.delimiter).into_iter().next().unwrap_or_default();
        let may_hold_names = options.header != Some(false) && !dialect.first_line.holds_names();
        let start = last + mark_length(line_of(last), options);
        let names = may_hold_names.then(|| fields(start)).filter(|names| are_names(names, &rows));
        let skipped = if names.is_some() { others } else { &comments[..] };
        let looks_like_row = |at: &usize| is_row(&fields(*at + 1), &rows, dialect.decimal_comma);
        let row_like = skipped.iter().position(looks_like_row).map(|at| line_number(text, skipped[at]));
        let found = Self { n_comments: skipped.len(), row_like, ..skipping };
        match names {
            Some(_) => Self { start, holds_names: true, ..found },
            None => found,
        }
    }

    /// The notes for the report of a command.
    pub(super) fn notes(&self) -> Vec<String> {
        let separator = self.delimiter.map(|byte| {
            format!("the first line names the delimiter: `sep={}`", char::from(byte).escape_debug())
        });
        let comments = match self.n_comments {
            0 => None,
            1 => Some("skipped 1 line above the table that begins with `#`".to_owned()),
            n => Some(format!("skipped {n} lines above the table that begin with `#`")),
        };
        separator.into_iter().chain(comments).collect()
    }

    /// The warning that every command prints, since a row may be lost.
    pub(super) fn warning(&self) -> Option<Phrase> {
        let line = self.row_like?;
        Some(Phrase::new(format!(
            "line {line} begins with `#` and was skipped as a comment, but looks like a row of the table; if it is one, \
             remove the `#`, or give the table a line of names"
        )))
    }
}

/// The delimiter in a first line `sep=;`, which may be quoted, and the offset of the next line.
fn separator_line(text: &[u8]) -> Option<(u8, usize)> {
    let end = memchr::memchr(b'\n', text)?;
    let line = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (key, value) = line.split_at_checked(4)?;
    match value {
        [byte @ (b',' | b';' | b'\t' | b'|' | b':' | b' ')] if key.eq_ignore_ascii_case(b"sep=") => {
            Some((*byte, end + 1))
        }
        _ => None,
    }
}

/// The offsets of the lines from `top` on that begin with `#`, and that of the first other line, blank ones left out.
fn comments(text: &[u8], top: usize) -> (Vec<usize>, usize) {
    let (mut found, mut at) = (Vec::new(), top);
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length + 1);
        if text[at] == b'#' {
            found.push(at);
        } else if !text[at..end].trim_ascii().is_empty() {
            break;
        }
        at = end;
    }
    (found, at)
}

/// Number of bytes of a mark `# ` before names. The `#` of `#CHROM` is a part of the name, and any `#` that a model knows.
fn mark_length(line: &[u8], options: &ReadOptions) -> usize {
    let known = options.fitted.as_ref().and_then(|fitted| fitted.feature_names.as_ref());
    let is_known = known.into_iter().flatten().any(|name| name.starts_with("# "));
    let marks = line.iter().take_while(|byte| **byte == b'#').count();
    let blanks = line[marks..].iter().take_while(|byte| **byte == b' ').count();
    if blanks == 0 || is_known { 0 } else { marks + blanks }
}

/// Tests for texts alone, as many as the rows have fields, or one fewer as R writes them.
fn are_names(fields: &[Field], rows: &Sample) -> bool {
    let n_fields = usual_n_fields(rows);
    let cells = || fields.iter().map(|field| Cell::of(&field.text, false));
    (n_fields > 1 && fields.len() == n_fields || leaves_out_id(fields.len(), rows))
        && cells().all(|cell| !matches!(cell, Cell::Number(_) | Cell::Infinite))
        && cells().any(|cell| cell == Cell::Text)
        && fields.iter().skip(1).all(|field| !field.text.is_empty())
}

/// Tests for as many fields as the rows have, all of them numbers but perhaps the first.
fn is_row(fields: &[Field], rows: &Sample, decimal_comma: bool) -> bool {
    let n_fields = usual_n_fields(rows);
    let is_number = |field: &Field| matches!(Cell::of(&field.text, decimal_comma), Cell::Number(_));
    n_fields > 1 && fields.len() == n_fields && fields[1..].iter().all(is_number)
}

fn line_number(text: &[u8], offset: usize) -> usize {
    crate::input::line_of(text, offset) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Preamble {
        Preamble::of(text.as_bytes(), &ReadOptions::default(), false)
    }

    #[test]
    fn the_first_record_is_below_the_comments_or_is_the_last_of_them() {
        // The text, the beginning of the first record, the number of comments skipped.
        let cases = [
            ("a,b\n1,2\n", "a,b\n", 0),
            ("# by x\n# on, 2020\na,b\n1,2\n", "a,b\n", 2),
            ("# by x\n\n  \na,b\n1,2\n", "a,b\n", 1),
            ("# by x\r\n1,2\r\n3,4\r\n", "1,2\r\n", 1),
            // A header that is itself a comment.
            ("# a b\n1 2\n3 4\n", "a b\n", 0),
            ("# a,b\n1,2\n3,4\n", "a,b\n", 0),
            ("#a,b\n1,2\n3,4\n", "#a,b\n", 0),
            ("##x=1\n##y=2,3\n#CHROM\tPOS\n1\t2\n3\t4\n", "#CHROM", 2),
            ("# about\n#x\ty\ns1\t2\t3\ns2\t3\t4\n", "#x\ty\n", 1),
            ("#\tx\ty\ns1\t2\t3\ns2\t3\t4\n", "#\tx\ty\n", 0),
            // As many fields as the table has, but the names are below, or they are no names.
            ("# made, today\na,b\n1,2\n", "a,b\n", 1),
            ("# made, 2020\n1,2\n3,4\n", "1,2\n", 1),
            // All rows begin so.
            ("#1,2\n#3,4\n", "#1,2\n", 0),
            // Only above the table.
            ("a,b\n#1,2\n3,4\n", "a,b\n", 0),
            ("sep=;\n# by x\na;b\n1;2\n", "a;b\n", 1),
            ("\"sep=;\"\r\na;b\r\n1;2\r\n", "a;b\r\n", 0),
        ];
        for (text, first, n_comments) in cases {
            let found = of(text);
            assert!(text[found.start..].starts_with(first), "{text:?}: {:?}", &text[found.start..]);
            assert_eq!(found.n_comments, n_comments, "{text:?}");
        }
    }

    #[test]
    fn the_line_of_the_delimiter_is_found() {
        let cases = [
            ("sep=;\n1;2\n", Some(b';')),
            ("SEP=,\r\n1,2\r\n", Some(b',')),
            ("sep=\t\n1\t2\n", Some(b'\t')),
            ("sep=\n1\n", None),
            ("sep=;x\n1;2\n", None),
            ("sep=a\n1a2\n", None),
            ("separator\n1\n", None),
            ("sep=;", None),
        ];
        for (text, delimiter) in cases {
            assert_eq!(of(text).delimiter, delimiter, "{text:?}");
        }
    }

    #[test]
    fn a_comment_that_looks_like_a_row_is_reported() {
        assert_eq!(of("# by x\n#fff,1,2\nred,3,4\nblue,5,6\n").row_like, Some(2));
        assert_eq!(of("#1.5,1,2\n2.5,3,4\n3.5,5,6\n").row_like, Some(1));
        assert_eq!(of("# by x, on, monday\n1.5,3,4\n2.5,5,6\n").row_like, None);
    }
}
