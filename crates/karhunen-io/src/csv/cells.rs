//! The content of a cell: a number, a missing value, or text.

/// Texts that stand for a missing value, besides an empty cell.
const MISSING: [&[u8]; 15] = [
    b"NA", b"N/A", b"n/a", b"#N/A", b"<NA>", b"NaN", b"nan", b"NAN", b"-nan", b"NULL", b"null", b"None",
    b"?", b"-", b".",
];

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A finite number.
    Number(f64),
    /// A missing value.
    Missing,
    /// An infinite number, or one beyond the range of `f64`.
    Infinite,
    /// Anything else.
    Text,
}

impl Cell {
    /// Classifies a cell, ignoring the blanks around it.
    pub(crate) fn of(text: &[u8], decimal_comma: bool) -> Self {
        if text.is_empty() || MISSING.contains(&text) {
            return Cell::Missing;
        }
        match parse(text, decimal_comma) {
            Some(value) if value.is_finite() => Cell::Number(value),
            Some(value) if value.is_nan() => Cell::Missing,
            Some(_) => Cell::Infinite,
            None => Cell::Text,
        }
    }

    /// Returns true if the cell may be part of a column of numbers, finite or not.
    pub(crate) fn is_numeric(self) -> bool {
        self != Cell::Text
    }
}

fn parse(text: &[u8], decimal_comma: bool) -> Option<f64> {
    if !decimal_comma {
        return fast_float2::parse(text).ok();
    }
    let mut point = [0; 64];
    let point = point.get_mut(..text.len())?;
    for (to, &from) in point.iter_mut().zip(text) {
        *to = match from {
            b',' => b'.',
            b'.' => return None,
            other => other,
        };
    }
    fast_float2::parse(&*point).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_missing_infinite_or_text() {
        let cases: [(&str, bool, Cell); 29] = [
            ("1", false, Cell::Number(1.0)),
            ("+1.5", false, Cell::Number(1.5)),
            ("-.5", false, Cell::Number(-0.5)),
            ("5.", false, Cell::Number(5.0)),
            ("1e5", false, Cell::Number(1e5)),
            ("1E-05", false, Cell::Number(1e-5)),
            ("4.9e-324", false, Cell::Number(5e-324)),
            ("1,5", true, Cell::Number(1.5)),
            ("-1,5e3", true, Cell::Number(-1500.0)),
            ("7", true, Cell::Number(7.0)),
            ("1.5", true, Cell::Text),
            ("1,5", false, Cell::Text),
            ("1,2,3", true, Cell::Text),
            ("", false, Cell::Missing),
            ("NA", false, Cell::Missing),
            ("n/a", false, Cell::Missing),
            ("<NA>", false, Cell::Missing),
            ("NaN", false, Cell::Missing),
            ("-nan", false, Cell::Missing),
            ("?", false, Cell::Missing),
            ("-", false, Cell::Missing),
            ("inf", false, Cell::Infinite),
            ("-Infinity", false, Cell::Infinite),
            ("1e999", false, Cell::Infinite),
            ("0x10", false, Cell::Text),
            ("1 2", false, Cell::Text),
            ("1e", false, Cell::Text),
            ("setosa", false, Cell::Text),
            ("12a", false, Cell::Text),
        ];
        for (text, decimal_comma, expected) in cases {
            assert_eq!(Cell::of(text.as_bytes(), decimal_comma), expected, "{text}");
        }
    }
}
