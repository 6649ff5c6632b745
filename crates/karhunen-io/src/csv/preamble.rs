//! Lines that are not records: the line `sep=;` of Excel, comments, and lines that [`ReadOptions::skip`] leaves out.

use std::ops::Range;

use crate::options::{Comment, SkippedLines};
use crate::{Cause, Error, ReadOptions, Result};

/// The lines above the records of a table, and lines left out below its names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Preamble {
    /// Offset of the first record.
    pub(super) start: usize,
    /// The last comment directly above the first record, without its mark.
    pub(super) comment: Option<Range<usize>>,
    /// Lines left out below the names.
    pub(super) left_out: Option<Range<usize>>,
    /// The delimiter that the line `sep=` names.
    pub(super) delimiter: Option<u8>,
    /// Number of comments that are skipped.
    pub(super) n_comments: usize,
}

impl Preamble {
    /// Finds the first record of `text`. Lines that begin with `#`, or with the mark that the option names, are comments
    /// above the records. A first cell `#N/A` or `#DIV/0!` of a spreadsheet is none.
    ///
    /// # Errors
    /// Lines to leave out that the text does not have.
    pub(super) fn of(path: &std::path::Path, text: &[u8], options: &ReadOptions) -> Result<Self> {
        let (mut start, mut left_out) = (0, None);
        for &SkippedLines { first, last } in &options.skip {
            let range = lines(text, first, last).ok_or_else(|| {
                let message = format!("the file has fewer than {last} lines to leave out");
                Error::new(path, Cause::option(message))
            })?;
            match first {
                1 => start = range.end,
                _ => left_out = Some(range),
            }
        }
        let (delimiter, mut at) =
            separator_line(&text[start..]).map_or((None, start), |(byte, end)| (Some(byte), start + end));
        let mark = match options.comment {
            Comment::Default => Some(b'#'),
            Comment::None => None,
            Comment::Mark(mark) => Some(mark),
        };
        let (mut comment, mut n_comments) = (None, 0);
        while at < text.len() {
            let end = line_end(text, at);
            let line = &text[at..end];
            if line.first().is_some_and(|byte| Some(*byte) == mark) && !is_of_spreadsheet(line) {
                let blank = |byte: &&u8| Some(**byte) == mark || **byte == b' ';
                comment = Some(at + line.iter().take_while(blank).count()..end);
                n_comments += 1;
            } else if line.trim_ascii().is_empty() {
                comment = None;
            } else {
                break;
            }
            at = end;
        }
        let start = if at == text.len() { start } else { at };
        Ok(Self { start, comment, left_out, delimiter, n_comments })
    }

    /// The notes for the report of a command.
    pub(super) fn notes(&self, options: &ReadOptions) -> Vec<String> {
        let named = self.delimiter.filter(|_| options.delimiter.is_none());
        let separator = named.map(|byte| {
            format!("the first line names the delimiter: `sep={}`", char::from(byte).escape_debug())
        });
        let comments = match self.n_comments {
            0 => None,
            1 => Some("skipped 1 comment above the table".to_owned()),
            n => Some(format!("skipped {n} comments above the table")),
        };
        separator.into_iter().chain(comments).collect()
    }
}

/// The bytes of the lines `first` to `last`, counted from one.
fn lines(text: &[u8], first: u64, last: u64) -> Option<Range<usize>> {
    let (mut at, mut begin) = (0, 0);
    for line in 1..=last {
        if at >= text.len() {
            return None;
        }
        if line == first {
            begin = at;
        }
        at = line_end(text, at);
    }
    Some(begin..at)
}

/// The offset of the line below the one at `at`.
fn line_end(text: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length + 1)
}

/// Tests for an error of a spreadsheet as the first cell.
fn is_of_spreadsheet(line: &[u8]) -> bool {
    ["#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"]
        .iter()
        .any(|word| line.starts_with(word.as_bytes()))
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(text: &str) -> Preamble {
        Preamble::of(Path::new("t"), text.as_bytes(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn the_first_record_is_below_the_comments() {
        // The text, the beginning of the first record, the number of comments, the comment directly above.
        let cases = [
            ("a,b\n1,2\n", "a,b\n", 0, None),
            ("# by x\n# on, 2020\na,b\n1,2\n", "a,b\n", 2, Some("on, 2020\n")),
            ("# by x\n\n  \na,b\n1,2\n", "a,b\n", 1, None),
            ("# by x\r\n1,2\r\n3,4\r\n", "1,2\r\n", 1, Some("by x\r\n")),
            ("##x=1\n#CHROM\tPOS\n1\t2\n", "1\t2", 2, Some("CHROM\tPOS\n")),
            ("#N/A,1\n2,3\n4,5\n", "#N/A", 0, None),
            ("#1,2\n#3,4\n", "#1,2\n", 2, Some("3,4\n")),
            ("a,b\n#1,2\n3,4\n", "a,b\n", 0, None),
            ("sep=;\n# by x\na;b\n1;2\n", "a;b\n", 1, Some("by x\n")),
            ("\"sep=;\"\r\na;b\r\n1;2\r\n", "a;b\r\n", 0, None),
        ];
        for (text, first, n_comments, comment) in cases {
            let found = of(text);
            assert!(text[found.start..].starts_with(first), "{text:?}: {:?}", &text[found.start..]);
            let above = found.comment.map(|range| &text[range]);
            assert_eq!((found.n_comments, above), (n_comments, comment), "{text:?}");
        }
    }

    #[test]
    fn lines_are_left_out_by_number() {
        let text = b"a title\nx,y\nm,s\n1,2\n";
        let of = |first, last| {
            let options = ReadOptions { skip: vec![SkippedLines { first, last }], ..ReadOptions::default() };
            Preamble::of(Path::new("t"), text, &options)
        };
        assert_eq!(of(1, 1).unwrap().start, 8);
        assert_eq!(of(3, 3).unwrap().left_out, Some(12..16));
        let error = of(3, 9).unwrap_err().to_string();
        assert_eq!(error, "t: the file has fewer than 9 lines to leave out");
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
}
