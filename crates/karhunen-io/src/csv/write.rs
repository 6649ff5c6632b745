//! Writes tables as text: each number in the fewest digits that parse to the same bits.

use std::io::Write;
use std::ops::Range;

use karhunen::{Matrix, Scalar};
use rayon::prelude::*;

use super::cells::Cell;
use crate::NamedMatrix;
use crate::table::whole_numbers;

/// Number of values that a thread formats at a time, and number of such pieces held in memory.
const PIECE_VALUES: usize = 1 << 14;
const PIECES: usize = 64;

/// Writes a header and one line for each row.
pub(crate) fn write<T: Scalar>(
    sink: &mut (dyn Write + Send),
    table: &NamedMatrix<T>,
    delimiter: u8,
) -> std::io::Result<()> {
    let mut header = Vec::new();
    if table.row_names.is_some() {
        push_name(&mut header, table.row_header, delimiter);
        header.push(delimiter);
    }
    for name in table.labels.iter().map(|label| &label.name).chain(table.column_names) {
        push_name(&mut header, name, delimiter);
        header.push(delimiter);
    }
    end_line(&mut header);
    sink.write_all(&header)?;
    let numeric = numeric(table);
    let piece_rows = (PIECE_VALUES / table.matrix.shape().1.max(1)).max(1);
    let mut first = 0;
    table.matrix.each(&mut |block| {
        let n_rows = block.n_rows();
        for begin in (0..n_rows).step_by(PIECES * piece_rows) {
            let end = (begin + PIECES * piece_rows).min(n_rows);
            let starts: Vec<usize> = (begin..end).step_by(piece_rows).collect();
            let piece = |&start: &usize| {
                let rows = start..(start + piece_rows).min(n_rows);
                lines(table, (first, block), rows, &numeric, delimiter)
            };
            for lines in starts.par_iter().map(piece).collect::<Vec<_>>() {
                sink.write_all(&lines)?;
            }
        }
        first += n_rows;
        Ok(())
    })
}

/// Tests which text columns are integer ids, written without quotes.
fn numeric<T>(table: &NamedMatrix<T>) -> Vec<bool> {
    let texts = table.row_names.into_iter().chain(table.labels.iter().map(|label| &label.values[..]));
    texts.map(|texts| table.numeric_ids && whole_numbers(texts).is_some()).collect()
}

/// Lines of some rows of a block, whose first row is row `first` of the table.
fn lines<T: Scalar>(
    table: &NamedMatrix<T>,
    (first, block): (usize, &Matrix<T>),
    rows: Range<usize>,
    numeric: &[bool],
    delimiter: u8,
) -> Vec<u8> {
    let mut lines = Vec::new();
    for i in rows {
        let row = first + i;
        let texts = table.row_names.into_iter().chain(table.labels.iter().map(|label| &label.values[..]));
        for (texts, numeric) in texts.zip(numeric) {
            match numeric {
                true => lines.extend(texts[row].bytes()),
                false => push_name(&mut lines, &texts[row], delimiter),
            }
            lines.push(delimiter);
        }
        for value in block.row(i) {
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
    let looks_numeric = !name.is_empty() && Cell::of(bytes, false).is_numeric();
    if looks_numeric || bytes.iter().any(special) || name.trim_ascii().len() != name.len() {
        lines.push(b'"');
        lines.extend(name.replace('"', "\"\"").bytes());
        lines.push(b'"');
    } else {
        lines.extend(bytes);
    }
}
