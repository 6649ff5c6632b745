//! Numbers with additional characters: units, currencies, thousands separators.

use karhunen::error::{OptionValue, Phrase};

use crate::names::printable;
use crate::option_names;

/// The characters next to a number in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit<'a> {
    /// None, or the cell holds no number.
    None,
    /// Thousands separators.
    Grouped,
    /// A percent sign or a currency.
    Sign,
    /// Characters that occur in no word: `<`, `*`, parentheses, a minus beyond ASCII, an exponent with `D`, units
    /// such as `°C` and `mg/l`.
    Mark,
    /// Letters, such as `kg`.
    Word(&'a [u8]),
}

/// Most characters of a cell in a note.
const SHOWN: usize = 40;
/// Currency signs, and the codes of the most traded currencies.
const CURRENCIES: [char; 13] = ['$', '€', '£', '¥', '₹', '₽', '₩', '₺', '₴', '₪', '₫', '₱', '₿'];
const CODES: [&str; 16] = [
    "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "BRL", "ZAR",
    "RUB",
];
/// Separators of groups of three digits besides commas and points: blanks of several widths, apostrophes.
const SEPARATORS: [char; 6] = [' ', '\u{a0}', '\u{2009}', '\u{202f}', '\'', '\u{2019}'];
/// The minus sign, and the dash used for it.
const MINUSES: [char; 2] = ['\u{2212}', '\u{2013}'];

impl<'a> Unit<'a> {
    /// Classifies a cell.
    pub(crate) fn of(cell: &'a [u8]) -> Self {
        if is_grouped_number(cell) {
            return Unit::Grouped;
        }
        let Ok(cell) = std::str::from_utf8(cell) else { return Unit::None };
        let unmarked = without_marks(cell);
        let marked = unmarked.is_some();
        let cell = unmarked.unwrap_or(cell);
        let unsigned = cell.strip_prefix(['-', '+']).unwrap_or(cell);
        let code = CODES.iter().find_map(|code| unsigned.strip_prefix(*code)?.strip_prefix(' '));
        let currency = unsigned.strip_prefix(CURRENCIES).or(code);
        let rest = currency.unwrap_or(unsigned).trim_start();
        let in_number = |c: char| c.is_ascii_digit() || ".,".contains(c) || SEPARATORS.contains(&c);
        let end = rest.find(|c: char| !in_number(c)).unwrap_or(rest.len());
        let (number, behind) = (rest[..end].trim_end(), rest[end..].trim());
        let is_number = is_digits_and(number.as_bytes(), b".,") || is_grouped_number(number.as_bytes());
        if !is_number {
            return Unit::None;
        }
        let is_code = |text: &str| CODES.contains(&text);
        match behind {
            "" if currency.is_some() => Unit::Sign,
            "" if marked => Unit::Mark,
            "" => Unit::None,
            "%" | "‰" => Unit::Sign,
            sign if is_code(sign) || sign.strip_prefix(CURRENCIES) == Some("") => Unit::Sign,
            mark if is_mark(mark) => Unit::Mark,
            word if !marked && word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                Unit::Word(word.as_bytes())
            }
            _ => Unit::None,
        }
    }

    /// The advice that makes the cell a number; `None` if it holds no number, or a word next to it.
    pub(crate) fn advice(cell: &[u8]) -> Option<&'static str> {
        let text = std::str::from_utf8(cell).unwrap_or_default();
        match Unit::of(cell) {
            Unit::None | Unit::Word(_) => None,
            Unit::Grouped => Some("remove the signs that group the thousands"),
            Unit::Sign => Some("remove the percent sign or the currency"),
            Unit::Mark if text.starts_with(MINUSES) => Some("write its minus as `-`"),
            Unit::Mark if text.contains(['D', 'd']) && text.ends_with(|c: char| c.is_ascii_digit()) => {
                Some("write its exponent with `e`")
            }
            Unit::Mark => Some("remove what is written next to the number"),
        }
    }
}

/// The index of the first cell which shows that a column holds numbers with additional characters and does not
/// name rows; `n_texts` of the cells are not numbers.
pub(crate) fn first_decorated(cells: &[&[u8]], n_texts: usize) -> Option<usize> {
    let units: Vec<Unit> = cells.iter().map(|cell| Unit::of(cell)).collect();
    let is_decoration = |unit: &Unit| matches!(unit, Unit::Sign | Unit::Mark);
    let grouped = units.iter().position(|unit| *unit == Unit::Grouped);
    let most = units.iter().filter(|unit| is_decoration(unit)).count() * 2 > n_texts;
    grouped.or_else(|| units.iter().position(is_decoration).filter(|_| most))
}

/// The letters next to the numbers of all cells, if there are several cells.
pub(crate) fn common_word<'a>(cells: &[&'a [u8]]) -> Option<&'a [u8]> {
    let first: &'a [u8] = cells.first().copied()?;
    let Unit::Word(word) = Unit::of(first) else { return None };
    (cells.len() > 1 && cells.iter().all(|cell| Unit::of(cell) == Unit::Word(word))).then_some(word)
}

/// The text in parentheses, after `<` and similar signs, or after a minus that is not ASCII, if there is one.
fn without_marks(cell: &str) -> Option<&str> {
    let inside = || cell.strip_prefix('(')?.strip_suffix(')');
    let compared =
        || cell.strip_prefix(['<', '>', '≤', '≥', '~', '≈']).map(|rest| rest.trim_start_matches('='));
    inside().or_else(compared).or_else(|| cell.strip_prefix(MINUSES)).map(str::trim)
}

/// Tests whether the text after a number is a mark, an exponent with `D`, an error, or a unit that is not a word.
fn is_mark(behind: &str) -> bool {
    let is_unit_sign = |c: char| "°ºµμΩÅ²³/·^".contains(c);
    let stars = behind.chars().all(|c| "*†‡".contains(c));
    let exponent = || {
        let digits = behind.strip_prefix(['D', 'd'])?.strip_prefix(['+', '-'])?;
        Some(!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let error =
        || behind.strip_prefix('±').is_some_and(|rest| rest.trim().starts_with(|c: char| c.is_ascii_digit()));
    let unit = || {
        behind.chars().count() <= 8
            && behind.contains(is_unit_sign)
            && behind.chars().all(|c| c.is_ascii_alphabetic() || is_unit_sign(c) || "-23".contains(c))
            && behind.starts_with(|c: char| c.is_ascii_alphabetic() || "°ºµμΩÅ".contains(c))
            && !behind.ends_with('/')
    };
    stars || exponent().unwrap_or(false) || error() || unit()
}

/// Tests whether `c` is the sign of groups; a blank matches blanks of every width, an apostrophe both kinds.
pub(crate) fn is_same(sign: char, c: char) -> bool {
    match sign {
        ' ' => [' ', '\u{a0}', '\u{2009}', '\u{202f}'].contains(&c),
        '\'' => ['\'', '\u{2019}'].contains(&c),
        sign => sign == c,
    }
}

/// Tests whether `sign` separates groups of three digits before the decimals, if there are any. The first group does not
/// begin with a zero.
pub(crate) fn is_grouped(text: &str, sign: char, decimal: char) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, decimals) = unsigned.split_once(decimal).unwrap_or((unsigned, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(|c| is_same(sign, c));
    let first = groups.next().unwrap_or_default();
    let others: Vec<&str> = groups.collect();
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && are_digits(first)
        && !others.is_empty()
        && others.iter().all(|group| group.len() == 3 && are_digits(group))
        && are_digits(decimals)
}

/// Tests for a number in groups of three digits.
pub(crate) fn is_grouped_number(found: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(found) else { return false };
    [(',', '.'), ('.', ','), (' ', '.'), ('\'', '.'), (' ', ','), ('\'', ',')].iter().any(
        |(sign, decimal)| is_grouped(text, *sign, *decimal) && fast_float2::parse::<f64, _>(text).is_err(),
    )
}

/// The note for a column that names the rows although its cells are numbers with a unit of letters, or may be numbers in a
/// notation that is not read.
pub(crate) fn unit_warning(cells: &[&[u8]], column: &str) -> Option<Phrase> {
    let (holds, remedy) = match common_word(cells) {
        Some(unit) => (
            format!("numbers with `{}`", printable(&String::from_utf8_lossy(unit), SHOWN)),
            "remove the unit",
        ),
        None => {
            let odd = cells.iter().find(|cell| !is_of_digits_and(cell, "-/:"))?;
            let may_be = cells.len() > 1 && cells.iter().all(|cell| may_be_number(cell));
            let shown = may_be.then(|| printable(&String::from_utf8_lossy(odd), SHOWN))?;
            (format!("`{shown}` and the like"), "write the numbers plainly")
        }
    };
    let problem = format!("the first column holds {holds} and was taken as names of the rows; use ");
    let warning = Phrase::new(problem).setting(option_names::ROW_NAMES, OptionValue::Text(column.to_owned()));
    Some(warning.text(format!(" if it names them, or {remedy}")))
}

/// Tests for digits and signs without a letter, as of a number in a notation that is not read.
fn may_be_number(cell: &[u8]) -> bool {
    let text = String::from_utf8_lossy(cell);
    text.contains(char::is_numeric) && !text.contains(char::is_alphabetic)
}

/// Tests for a text of digits and `others` alone, as dates and ranges are.
fn is_of_digits_and(cell: &[u8], others: &str) -> bool {
    String::from_utf8_lossy(cell).chars().all(|c| c.is_ascii_digit() || others.contains(c))
}

/// Tests whether the cell begins with a digit after an optional sign, and holds only digits and `others`.
pub(crate) fn is_digits_and(found: &[u8], others: &[u8]) -> bool {
    let digits = found.strip_prefix(b"-").unwrap_or(found);
    digits.first().is_some_and(u8::is_ascii_digit)
        && digits.iter().all(|byte| byte.is_ascii_digit() || others.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_told_from_names() {
        for (cell, unit) in [
            ("12%", Unit::Sign),
            ("-3.5 %", Unit::Sign),
            ("$5", Unit::Sign),
            ("-€1,200", Unit::Sign),
            ("₹3", Unit::Sign),
            ("USD 3", Unit::Sign),
            ("3 000 €", Unit::Sign),
            ("3 EUR", Unit::Sign),
            ("10°C", Unit::Mark),
            ("10 °", Unit::Mark),
            ("10µm", Unit::Mark),
            ("10mg/l", Unit::Mark),
            ("10 m/s", Unit::Mark),
            ("2.5 m^2", Unit::Mark),
            ("<0.05", Unit::Mark),
            (">= 5", Unit::Mark),
            ("\u{2212}3.5", Unit::Mark),
            ("5*", Unit::Mark),
            ("(3)", Unit::Mark),
            ("1.5D+03", Unit::Mark),
            ("0.5±0.1", Unit::Mark),
            ("3'000", Unit::Grouped),
            ("3 000", Unit::Grouped),
            ("12\u{a0}500,5", Unit::Grouped),
            ("7 £", Unit::Sign),
            ("1,234.5", Unit::Grouped),
            ("1.234,5", Unit::Grouped),
            ("-1.234.567", Unit::Grouped),
            ("1.234", Unit::None),
            ("10.0.0.1", Unit::None),
            ("12kg", Unit::Word(b"kg")),
            ("3.5 mm", Unit::Word(b"mm")),
            ("12", Unit::None),
            ("kg", Unit::None),
            ("12_a", Unit::None),
            ("", Unit::None),
            ("a12", Unit::None),
            ("1D3", Unit::None),
            ("5'", Unit::None),
            ("12 34", Unit::None),
            ("12 Main Street", Unit::None),
            ("Day 3", Unit::None),
            ("2020-01-01", Unit::None),
            ("1/7", Unit::None),
            ("(a)", Unit::None),
            ("<none>", Unit::None),
        ] {
            assert_eq!(Unit::of(cell.as_bytes()), unit, "{cell}");
        }
    }

    #[test]
    fn numbers_with_other_characters_get_advice() {
        for (cell, advice) in [
            ("12%", Some("remove the percent sign or the currency")),
            ("3 000", Some("remove the signs that group the thousands")),
            ("10°C", Some("remove what is written next to the number")),
            ("\u{2212}3", Some("write its minus as `-`")),
            ("1.5D+03", Some("write its exponent with `e`")),
            ("12kg", None),
            ("x", None),
        ] {
            assert_eq!(Unit::advice(cell.as_bytes()), advice, "{cell}");
        }
        let decorated = |cells: &[&str]| {
            let cells: Vec<&[u8]> = cells.iter().map(|cell| cell.as_bytes()).collect();
            (first_decorated(&cells, cells.len()), common_word(&cells).is_some())
        };
        assert_eq!(decorated(&["x", "5*", "6*"]), (Some(1), false));
        assert_eq!(decorated(&["x", "y", "6*"]), (None, false));
        assert_eq!(decorated(&["x", "y", "6 000"]), (Some(2), false));
        assert_eq!(decorated(&["1kg", "2kg"]), (None, true));
        assert_eq!(decorated(&["1a", "2b"]), (None, false));
    }

    #[test]
    fn names_that_may_be_numbers_get_a_note() {
        let note = |cells: &[&str]| {
            let cells: Vec<&[u8]> = cells.iter().map(|cell| cell.as_bytes()).collect();
            unit_warning(&cells, "mass").map(|note| note.to_string())
        };
        for cells in [
            ["95,04,143", "15,54,476"],
            ["9_504_143", "1_554_476"],
            ["95.04\u{a0}", "15.54\u{a0}"],
            ["95.04 (0.31)", "15.54 (0.20)"],
            ["9\u{b7}50", "1\u{b7}25"],
        ] {
            let shown = cells[0].replace('\u{a0}', "\\u{a0}");
            assert_eq!(
                note(&cells).unwrap(),
                format!(
                    "the first column holds `{shown}` and the like and was taken as names of the rows; use row_names = \
                     mass if it names them, or write the numbers plainly"
                )
            );
        }
        for cells in [["2001-05-03", "2001-05-04"], ["83-88", "89-92"], ["r1", "r2"], ["10.1A", "10.2B"]] {
            assert_eq!(note(&cells), None);
        }
    }
}
