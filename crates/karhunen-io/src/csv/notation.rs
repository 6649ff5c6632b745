//! How a text table writes its cells: numbers, missing values, or text.

use karhunen::error::{OptionName, OptionValue, Phrase};

use crate::option_names;
use crate::units::{is_grouped, is_same};
use crate::{Cause, ReadOptions};

/// Words for a missing value besides an empty cell, in any case. Any other needs [`ReadOptions::na`].
const MISSING: [&str; 6] = ["NA", "N/A", "#N/A", "<NA>", "NaN", "null"];

/// Words that other programs write for missing values, besides signs alone such as `---` and `?`.
const FOREIGN_MISSING: [&str; 10] =
    ["\\N", "n.a.", "n.d.", "nd", "nil", "missing", "unknown", "#DIV/0!", "#VALUE!", "#REF!"];

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
    /// Classifies a cell, without the blanks around it.
    pub(crate) fn of(text: &[u8], notation: &Notation) -> Self {
        if notation.is_missing_word(text) {
            return Cell::Missing;
        }
        match notation.parse(text) {
            Some(value) if notation.codes.contains(&value) => Cell::Missing,
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

/// Tests for a text that probably marks a missing value, though no option says so.
pub(crate) fn may_be_missing(text: &[u8]) -> bool {
    FOREIGN_MISSING.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(text))
        || !text.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}

/// The signs of numbers and the words for missing values of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Notation {
    /// True if a comma separates the decimals.
    pub(crate) decimal_comma: bool,
    /// The sign between groups of three digits, if there is one.
    pub(crate) thousands: Option<char>,
    /// True if nothing shows yet whether a point separates decimals or groups thousands.
    pub(crate) point_is_open: bool,
    /// Further words for missing values.
    pub(super) words: Vec<String>,
    /// Numbers that denote missing values.
    pub(crate) codes: Vec<f64>,
}

impl Notation {
    /// The notation of numbers with a decimal point, or comma.
    pub(crate) fn with_decimal_comma(decimal_comma: bool) -> Self {
        Self { decimal_comma, ..Self::default() }
    }

    /// Decides from the options, and otherwise from the first cells of columns of numbers. One number that has one reading
    /// decides for all; `comma_separates` states that the comma is the delimiter, so that points separate decimals.
    ///
    /// # Errors
    /// The first number with a comma, if all of them have two readings.
    pub(crate) fn of(options: &ReadOptions, cells: &[&[u8]], comma_separates: bool) -> Result<Self, Vec<u8>> {
        let mut signs = Signs::default();
        cells.iter().for_each(|cell| signs.look(cell));
        let (decimal_comma, thousands) = signs.decide(options, comma_separates)?;
        let of_fit = options.fitted.iter().flat_map(|fitted| &fitted.of_file.na);
        let words: Vec<String> = options.na.iter().chain(of_fit).cloned().collect();
        let number = |word: &String| fast_float2::parse(word.replace(',', ".")).ok();
        Ok(Self {
            decimal_comma,
            thousands,
            point_is_open: options.decimal.is_none()
                && options.thousands.is_none()
                && !(decimal_comma || thousands.is_some() || comma_separates || signs.point.decides()),
            codes: words.iter().filter_map(number).collect(),
            words,
        })
    }

    fn is_missing_word(&self, text: &[u8]) -> bool {
        text.is_empty()
            || (text.len() <= 4 && MISSING.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(text)))
            || self.words.iter().any(|word| word.as_bytes() == text)
    }

    /// Tests whether the cells need more than the usual notation.
    pub(crate) fn is_plain(&self) -> bool {
        !self.decimal_comma && self.thousands.is_none() && self.codes.is_empty()
    }

    fn parse(&self, text: &[u8]) -> Option<f64> {
        if let Some(sign) = self.thousands
            && let Ok(number) = std::str::from_utf8(text)
            && number.contains(|c| is_same(sign, c))
        {
            let decimal = if self.decimal_comma { ',' } else { '.' };
            let plain = number.replace(|c| is_same(sign, c), "").replace(decimal, ".");
            return is_grouped(number, sign, decimal).then(|| fast_float2::parse(plain).ok()).flatten();
        }
        if !self.decimal_comma {
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
}

/// The evidence on one sign, the comma or the point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// How many numbers have it as decimal sign only, such as `0,5`.
    decimal: usize,
    /// A number that has it between groups only, such as `1,234,567`.
    groups: bool,
    /// The first number that has both readings, such as `1,234`.
    either: Option<Vec<u8>>,
}

impl Shown {
    /// Tests whether one number has one reading.
    pub(crate) fn decides(&self) -> bool {
        self.decimal > 0 || self.groups
    }
}

/// The evidence on commas and points in the numbers of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signs {
    pub(crate) comma: Shown,
    pub(crate) point: Shown,
}

impl Signs {
    /// Looks at one cell.
    pub(crate) fn look(&mut self, cell: &[u8]) {
        let is_number = |byte: &u8| byte.is_ascii_digit() || b",.+-eE".contains(byte);
        if !cell.iter().all(is_number) || !cell.iter().any(u8::is_ascii_digit) {
            return;
        }
        let text = str::from_utf8(cell).unwrap_or_default();
        let [commas, points] = [b',', b'.'].map(|sign| cell.iter().filter(|byte| **byte == sign).count());
        match (commas, points) {
            (0, 0) => {}
            (_, 0) => self.comma.look(text, commas, ','),
            (0, _) => self.point.look(text, points, '.'),
            _ if is_grouped(text, ',', '.') => {
                self.comma.groups = true;
                self.point.decimal += 1;
            }
            _ if is_grouped(text, '.', ',') => {
                self.point.groups = true;
                self.comma.decimal += 1;
            }
            _ => {}
        }
    }

    /// True if a comma separates the decimals, and the sign between groups.
    fn decide(&self, options: &ReadOptions, comma_separates: bool) -> Result<(bool, Option<char>), Vec<u8>> {
        let groups = |shown: &Shown, sign: char| (shown.groups || shown.either.is_some()).then_some(sign);
        let by_comma = || (true, options.thousands.or_else(|| groups(&self.point, '.')));
        let by_point = || (false, options.thousands.or_else(|| groups(&self.comma, ',')));
        let decimal_comma = match (options.decimal, options.thousands) {
            (Some(decimal), _) => Some(decimal == ','),
            (None, Some('.')) => Some(true),
            (None, Some(',')) => Some(false),
            _ if self.comma.decimal != self.point.decimal => Some(self.comma.decimal > self.point.decimal),
            _ if self.comma.groups || (comma_separates && self.comma.either.is_none()) => Some(false),
            _ if self.point.groups => Some(true),
            _ => None,
        };
        match (decimal_comma, &self.comma.either) {
            (Some(true), _) => Ok(by_comma()),
            (None, Some(either)) => Err(either.clone()),
            _ => Ok(by_point()),
        }
    }
}

impl Shown {
    /// Looks at a number in which the sign alone stands, `n` times.
    fn look(&mut self, text: &str, n: usize, sign: char) {
        let grouped = is_grouped(text, sign, '\0');
        match n {
            1 if grouped => self.either = self.either.take().or_else(|| Some(text.as_bytes().to_vec())),
            1 => self.decimal += usize::from(fast_float2::parse::<f64, _>(text.replace(sign, ".")).is_ok()),
            _ => self.groups |= grouped,
        }
    }
}

/// The error for numbers whose comma or point has two readings; `number` is the first.
pub(crate) fn ask_sign(number: &[u8], sign: char) -> Cause {
    let (shown, name) = (String::from_utf8_lossy(number), if sign == ',' { "comma" } else { "point" });
    let setting = |option: OptionName| Phrase::default().setting(option, OptionValue::Text(sign.to_string()));
    Cause::format(
        Phrase::new(format!("the {name} of `{shown}` may separate decimals or group thousands; use "))
            .then(setting(option_names::DECIMAL))
            .text(" or ")
            .then(setting(option_names::THOUSANDS)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_missing_infinite_or_text() {
        let cases: [(&str, bool, Cell); 33] = [
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
            ("na", false, Cell::Missing),
            ("n/a", false, Cell::Missing),
            ("<NA>", false, Cell::Missing),
            ("NaN", false, Cell::Missing),
            ("-nan", false, Cell::Missing),
            ("None", false, Cell::Text),
            ("NULL", false, Cell::Missing),
            ("?", false, Cell::Text),
            ("-", false, Cell::Text),
            (".", false, Cell::Text),
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
            let notation = Notation::with_decimal_comma(decimal_comma);
            assert_eq!(Cell::of(text.as_bytes(), &notation), expected, "{text}");
        }
    }

    /// The decimal sign, the sign between groups, or the number that has two readings.
    fn read(cells: &str, options: &ReadOptions) -> Result<(char, Option<char>), String> {
        let cells: Vec<&[u8]> = cells.split(' ').map(str::as_bytes).collect();
        let notation = Notation::of(options, &cells, false);
        let signs = |notation: Notation| (if notation.decimal_comma { ',' } else { '.' }, notation.thousands);
        notation.map(signs).map_err(|number| String::from_utf8(number).unwrap())
    }

    #[test]
    fn one_number_decides_about_commas_and_points_or_none_does() {
        let cases = [
            ("1 2", Ok(('.', None))),
            ("1.5 2", Ok(('.', None))),
            ("1,5 1,234", Ok((',', None))),
            ("0,123 1,234", Ok((',', None))),
            ("1,234 2,345", Err("1,234".to_owned())),
            ("1,234 999", Err("1,234".to_owned())),
            ("1,234 1,234,567", Ok(('.', Some(',')))),
            ("1,234 0.5", Ok(('.', Some(',')))),
            ("1,234.5", Ok(('.', Some(',')))),
            ("1.234,5", Ok((',', Some('.')))),
            ("1.234.567", Ok((',', Some('.')))),
            ("1.234 12,5", Ok((',', Some('.')))),
            ("10.0.0.1", Ok(('.', None))),
        ];
        for (cells, expected) in cases {
            assert_eq!(read(cells, &ReadOptions::default()), expected, "{cells}");
        }
        let decimal = |decimal| ReadOptions { decimal: Some(decimal), ..ReadOptions::default() };
        assert_eq!(read("1,234", &decimal(',')), Ok((',', None)));
        assert_eq!(read("1,234", &decimal('.')), Ok(('.', Some(','))));
        let thousands = |sign| ReadOptions { thousands: Some(sign), ..ReadOptions::default() };
        assert_eq!(read("1,234", &thousands(',')), Ok(('.', Some(','))));
        assert_eq!(read("1.234", &thousands('.')), Ok((',', Some('.'))));
    }

    #[test]
    fn groups_are_read_where_a_sign_separates_them() {
        let number = |text: &str, decimal_comma, sign| {
            let notation = Notation { decimal_comma, thousands: Some(sign), ..Notation::default() };
            Cell::of(text.as_bytes(), &notation)
        };
        assert_eq!(number("1,234,567.5", false, ','), Cell::Number(1_234_567.5));
        assert_eq!(number("-1.234,5", true, '.'), Cell::Number(-1234.5));
        assert_eq!(number("12\u{202f}500", false, ' '), Cell::Number(12500.0));
        assert_eq!(number("3\u{2019}000", false, '\''), Cell::Number(3000.0));
        for text in ["12,34", "1,2345", "0,123", ",123", "1,234,5"] {
            assert_eq!(number(text, false, ','), Cell::Text, "{text}");
        }
    }

    #[test]
    fn words_and_numbers_of_the_option_are_missing() {
        let options = ReadOptions { na: vec!["n.d.".into(), "-99.99".into()], ..ReadOptions::default() };
        let notation = Notation::of(&options, &[], true).unwrap();
        for text in ["n.d.", "-99.99", "-99.990", "NA"] {
            assert_eq!(Cell::of(text.as_bytes(), &notation), Cell::Missing, "{text}");
        }
        assert_eq!(Cell::of(b"N.D.", &notation), Cell::Text);
    }
}
