//! Lines before a text table: the line `sep=;` of Excel, and comments that begin with `#`.

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
}

impl Preamble {
    /// Finds the first record of `text`. Lines that begin with `#` above the first other line are comments where they
    /// cannot be records: they have another number of fields than the table, or stand above its names and hold a text
    /// where the table has numbers. The last of them holds the names of the columns if the table has none, and the line
    /// as many texts after its mark as the table has columns.
    pub(super) fn of(text: &[u8], options: &ReadOptions, named_tsv: bool) -> Self {
        let (delimiter, top) = separator_line(text).map_or((None, 0), |(byte, end)| (Some(byte), end));
        let plain = Self { start: top, delimiter, ..Self::default() };
        let (marked, below) = marked_lines(text, top);
        // A table whose lines all begin so has no comments.
        let Some(&(offset, last)) = marked.last().filter(|_| below < text.len()) else { return plain };
        if marked.iter().any(|(_, line)| opens_quotes(line)) {
            return plain;
        }
        let skipping = Self { start: below, n_comments: marked.len(), ..plain };
        let header = options.header.filter(|header| !header);
        let auto = ReadOptions { header, ..options.clone() };
        let (dialect, rows) = Dialect::detect_after(&skipping, text, &auto, named_tsv);
        let has_names = dialect.first_line.holds_names();
        let mark = mark_length(last, options);
        if !has_names
            && options.header != Some(false)
            && mark > 0
            && are_names(&fields_of(&last[mark..], &dialect), &rows)
        {
            return Self { start: offset + mark, holds_names: true, n_comments: marked.len() - 1, ..plain };
        }
        let is_comment = |(_, line): &&(usize, &[u8])| {
            let fields = fields_of(line, &dialect);
            let is_record = fields.len() == usual_n_fields(&rows) || leaves_out_id(fields.len(), &rows);
            !is_record || has_names && stands_above_numbers(&fields, &rows, dialect.decimal_comma)
        };
        let n_comments = marked.iter().take_while(is_comment).count();
        let start = marked.get(n_comments).map_or(below, |(at, _)| *at);
        Self { start, n_comments, ..plain }
    }

    /// The notes for the report of a command.
    pub(super) fn notes(&self, options: &ReadOptions) -> Vec<String> {
        let named = self.delimiter.filter(|_| options.delimiter.is_none());
        let separator = named.map(|byte| {
            format!("the first line names the delimiter: `sep={}`", char::from(byte).escape_debug())
        });
        let comments = match self.n_comments {
            0 => None,
            1 => Some("skipped 1 line above the table that begins with `#`".to_owned()),
            n => Some(format!("skipped {n} lines above the table that begin with `#`")),
        };
        separator.into_iter().chain(comments).collect()
    }
}

/// The fields of a line.
fn fields_of<'a>(line: &'a [u8], dialect: &Dialect) -> Vec<Field<'a>> {
    sample(line, 0, dialect.delimiter).into_iter().next().unwrap_or_default()
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

/// The lines from `top` on that begin with `#`, with their offsets, and the offset of the first other line, blank ones
/// left out.
fn marked_lines(text: &[u8], top: usize) -> (Vec<(usize, &[u8])>, usize) {
    let (mut found, mut at) = (Vec::new(), top);
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length + 1);
        if text[at] == b'#' {
            found.push((at, &text[at..end]));
        } else if !text[at..end].trim_ascii().is_empty() {
            break;
        }
        at = end;
    }
    (found, at)
}

/// Tests for a quoted field that may go on in the next line.
fn opens_quotes(line: &[u8]) -> bool {
    line.iter().filter(|byte| **byte == b'"').count() % 2 == 1
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

/// Tests for a text in a column whose other cells are numbers.
fn stands_above_numbers(fields: &[Field], rows: &Sample, decimal_comma: bool) -> bool {
    let cell = |field: &Field| Cell::of(&field.text, decimal_comma);
    let is_number =
        |row: &Vec<Field>, j: usize| row.get(j).is_some_and(|field| matches!(cell(field), Cell::Number(_)));
    let holds_numbers = |j: usize| !rows.is_empty() && rows.iter().all(|row| is_number(row, j));
    fields.iter().enumerate().any(|(j, field)| cell(field) == Cell::Text && holds_numbers(j))
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
            // As many fields as the table has: a comment only if the names are below.
            ("# made, today\na,b\n1,2\n", "a,b\n", 1),
            ("# made, 2020\n1,2\n3,4\n", "# made", 0),
            ("#id,2019,2020\na,1,2\nb,3,4\n", "#id", 0),
            // Rows that begin so.
            ("#N/A,1\n2,3\n4,5\n", "#N/A", 0),
            ("#N/A\n1\n2\n", "#N/A", 0),
            ("#fff,,2\nred,3,4\nblue,5,6\n", "#fff", 0),
            ("# by x\n#1,5.1,setosa\n2,4.9,setosa\n3,4.7,other\n", "#1", 1),
            ("#cats\tu1\t3\n#dogs\tu2\t1\nplain\tu3\t2\n", "#cats", 0),
            ("#a,b\nc,d\ne,f\n", "#a", 0),
            // A name of two lines.
            ("#a,\"b\nc\",d\n1,2,3\n", "#a", 0),
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
}
