//! Mutations of text: fields, lines, delimiters and cells.

use super::Rng;
use super::bytes::{choose, position};

/// Cells that are easily misread.
const TOKENS: [&str; 72] = [
    "",
    "NA",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "null",
    "none",
    "-",
    "+",
    ".",
    "?",
    "0",
    "-0",
    "1",
    "2",
    "3",
    "-1",
    "1.",
    ".5",
    "1e",
    "1e5",
    "1e308",
    "1e309",
    "-1e308",
    "1e-320",
    "5e-324",
    "0x10",
    "1_000",
    "1,5",
    "1.5",
    "1.234,5",
    "1,234.5",
    "12%",
    "$5",
    "3 kg",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "4294967296",
    "2147483648",
    "99999999999999999999",
    "4000000",
    "100000000",
    "\"",
    "\"\"",
    "\"a\"",
    "\"a",
    "a\"",
    "'",
    ",",
    ";",
    "\t",
    "|",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\0",
    "é",
    "\u{202e}x",
    "\u{feff}",
    "=1+1",
    "a",
    "id",
    "x1",
    "PC1",
    "sample",
    "user",
    "%%MatrixMarket matrix",
    "%",
];

const DELIMITERS: [u8; 6] = [b',', b';', b'\t', b'|', b' ', b'\n'];

/// Makes one mutation.
pub(super) fn change(rng: &mut Rng, bytes: &mut Vec<u8>) {
    match rng.gen_u8() % 12 {
        0..=4 => {
            let field = field(rng, bytes);
            bytes.splice(field, choose(rng, &TOKENS).bytes());
        }
        5 => {
            let at = field(rng, bytes).start;
            bytes.splice(at..at, choose(rng, &TOKENS).bytes());
        }
        6 => {
            let from = field(rng, bytes);
            let copy = bytes[from].to_vec();
            let into = field(rng, bytes);
            bytes.splice(into, copy);
        }
        7 => {
            let line = line(rng, bytes);
            bytes.drain(line);
        }
        8 => {
            let copy = bytes[line(rng, bytes)].to_vec();
            let at = line(rng, bytes).start;
            let times = choose(rng, &[1, 1, 1, 2, 9, 40]);
            bytes.splice(at..at, copy.repeat(times));
        }
        9 => {
            let (old, new) = (choose(rng, &DELIMITERS), choose(rng, &DELIMITERS));
            bytes.iter_mut().filter(|byte| **byte == old).for_each(|byte| *byte = new);
        }
        10 => {
            let field = field(rng, bytes);
            digit(rng, &mut bytes[field]);
        }
        _ => {
            // Removes the end of a line.
            let end = line(rng, bytes).end;
            if end > 0 {
                bytes.remove(end - 1);
            }
        }
    }
}

fn digit(rng: &mut Rng, field: &mut [u8]) {
    if !field.is_empty() {
        let at = position(rng, field.len());
        field[at] = choose(rng, b"0123456789.-eE+,");
    }
}

/// The range of a field between delimiters.
pub(super) fn field(rng: &mut Rng, bytes: &[u8]) -> std::ops::Range<usize> {
    let at = position(rng, bytes.len().max(1)).min(bytes.len());
    let is_end = |byte: &u8| DELIMITERS.contains(byte) || *byte == b'\r';
    let begin = bytes[..at].iter().rposition(is_end).map_or(0, |at| at + 1);
    let end = bytes[at..].iter().position(is_end).map_or(bytes.len(), |n| at + n);
    begin..end
}

/// The range of a line, with its end.
fn line(rng: &mut Rng, bytes: &[u8]) -> std::ops::Range<usize> {
    let at = position(rng, bytes.len().max(1)).min(bytes.len());
    let begin = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let end = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |n| at + n + 1);
    begin..end
}
