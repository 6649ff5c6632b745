//! Writes tables as text: each number in the fewest digits that parse to the same bits.

use std::io::Write;
use std::ops::Range;

use karhunen::{Matrix, Scalar};
use rayon::prelude::*;

use super::notation::{Cell, Notation};
use crate::table::{TextRows, Written};

/// Number of values that a thread formats at a time, and number of such pieces held in memory.
const PIECE_VALUES: usize = 1 << 14;
const PIECES: usize = 64;

/// Writes a header and one line for each row.
pub(crate) fn write<T: Scalar>(
    sink: &mut (dyn Write + Send),
    table: &dyn Written<T>,
    delimiter: u8,
) -> std::io::Result<()> {
    let (mut header, mut numeric) = (Vec::new(), Vec::new());
    for (name, whole) in table.text_columns() {
        push_name(&mut header, name, delimiter);
        header.push(delimiter);
        numeric.push(whole);
    }
    for name in table.column_names() {
        push_name(&mut header, name, delimiter);
        header.push(delimiter);
    }
    end_line(&mut header);
    sink.write_all(&header)?;
    let piece_rows = (PIECE_VALUES / table.column_names().len().max(1)).max(1);
    table.each_with_texts(&mut |texts, block| {
        let n_rows = block.n_rows();
        for begin in (0..n_rows).step_by(PIECES * piece_rows) {
            let end = (begin + PIECES * piece_rows).min(n_rows);
            let starts: Vec<usize> = (begin..end).step_by(piece_rows).collect();
            let piece = |&start: &usize| {
                let rows = start..(start + piece_rows).min(n_rows);
                lines((texts, block), rows, &numeric, delimiter)
            };
            for lines in starts.par_iter().map(piece).collect::<Vec<_>>() {
                sink.write_all(&lines)?;
            }
        }
        Ok(())
    })
}

/// Lines of some rows of a block. `numeric` columns of text are integers, written without quotes.
fn lines<T: Scalar>(
    (texts, block): (&[TextRows<'_>], &Matrix<T>),
    rows: Range<usize>,
    numeric: &[bool],
    delimiter: u8,
) -> Vec<u8> {
    let mut lines = Vec::new();
    for row in rows {
        for (texts, numeric) in texts.iter().zip(numeric) {
            let text = texts.text(row);
            match numeric {
                true => lines.extend(text.bytes()),
                false => push_name(&mut lines, &text, delimiter),
            }
            lines.push(delimiter);
        }
        for value in block.row(row) {
            // `Debug` gives the shortest text that parses to the same bits, with or without exponent.
            write!(lines, "{value:?}").expect("writing to memory does not fail");
            if lines.ends_with(b".0") {
                lines.truncate(lines.len() - 2);
            }
            lines.push(delimiter);
        }
        end_line(&mut lines);
    }
    lines
}

fn end_line(lines: &mut Vec<u8>) {
    lines.pop();
    lines.push(b'\n');
}

/// Writes a name, quoted if it would otherwise parse differently; this includes names that look like numbers.
fn push_name(lines: &mut Vec<u8>, name: &str, delimiter: u8) {
    let bytes = name.as_bytes();
    let special = |byte: &u8| [delimiter, b'"', b'\n', b'\r', b'\t', b';', b'|'].contains(byte);
    let looks_numeric = !name.is_empty() && Cell::of(bytes, &Notation::default()).is_numeric();
    let is_comment = bytes.first() == Some(&b'#');
    if looks_numeric || is_comment || bytes.iter().any(special) || name.trim_ascii().len() != name.len() {
        lines.push(b'"');
        lines.extend(name.replace('"', "\"\"").bytes());
        lines.push(b'"');
    } else {
        lines.extend(bytes);
    }
}
