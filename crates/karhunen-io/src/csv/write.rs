//! Writes tables as text: each number in the fewest digits that parse to the same bits.

use std::io::Write;

use karhunen::Scalar;
use rayon::prelude::*;

use super::cells::Cell;
use crate::NamedMatrix;
use crate::table::whole_numbers;

/// Number of values that a thread formats at a time, and number of such pieces held in memory.
const PIECE_VALUES: usize = 1 << 14;
const PIECES: usize = 64;

/// Writes a header and one line for each row.
pub(crate) fn write<T: Scalar>(
    sink: &mut dyn Write,
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
    let (n_rows, n_cols) = table.matrix.shape();
    let numeric = numeric(table);
    let piece_rows = (PIECE_VALUES / n_cols.max(1)).max(1);
    let mut row = 0;
    while row < n_rows {
        let end = (row + PIECES * piece_rows).min(n_rows);
        let starts: Vec<usize> = (row..end).step_by(piece_rows).collect();
        let piece =
            |&start: &usize| lines(table, (start, (start + piece_rows).min(n_rows)), &numeric, delimiter);
        for lines in starts.par_iter().map(piece).collect::<Vec<_>>() {
            sink.write_all(&lines)?;
        }
        row = end;
    }
    Ok(())
}

/// Tests which text columns are integer ids, written without quotes.
fn numeric<T>(table: &NamedMatrix<T>) -> Vec<bool> {
    let texts = table.row_names.into_iter().chain(table.labels.iter().map(|label| &label.values[..]));
    texts.map(|texts| table.numeric_ids && whole_numbers(texts).is_some()).collect()
}

fn lines<T: Scalar>(
    table: &NamedMatrix<T>,
    (start, end): (usize, usize),
    numeric: &[bool],
    delimiter: u8,
) -> Vec<u8> {
    let mut lines = Vec::new();
    for row in start..end {
        let texts = table.row_names.into_iter().chain(table.labels.iter().map(|label| &label.values[..]));
        for (texts, numeric) in texts.zip(numeric) {
            match numeric {
                true => lines.extend(texts[row].bytes()),
                false => push_name(&mut lines, &texts[row], delimiter),
            }
            lines.push(delimiter);
        }
        for value in table.matrix.row(row) {
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
