//! Integers in a file that floating-point numbers cannot represent: usually ids of many digits, two of which may
//! become one number.

use crate::option_names;
use karhunen::Scalar;
use karhunen::error::{OptionValue, Phrase};

use crate::Place;
use crate::names::shortened;

/// The first such integer of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rounded {
    /// Its text in the file.
    pub(crate) text: String,
    /// Its place.
    pub(crate) place: Place,
}

impl Rounded {
    /// The warning that every command prints if values become `T`.
    pub(crate) fn warning<T: Scalar>(&self) -> Phrase {
        let Place { line, row, column, name } = &self.place;
        let name = name.as_ref().map_or_else(String::new, |name| format!(" (`{}`)", shortened(name)));
        let line = line.map(|line| format!("line {line}"));
        let row = row.map(|row| format!("row {row}"));
        let column = column.map(|column| format!("column {column}{name}"));
        let place: Vec<String> = [line, row, column].into_iter().flatten().collect();
        let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(", ")) };
        let (type_name, advice) = if T::NAME == f32::NAME {
            let read = Phrase::new("read 64-bit numbers with ")
                .setting(option_names::DOUBLE, OptionValue::Flag(true));
            ("32-bit", read.text(", or exclude ids"))
        } else {
            ("64-bit", Phrase::new("exclude ids, or subtract a constant before"))
        };
        Phrase::new(format!(
            "{place}the whole number {} was rounded, for a {type_name} floating-point number cannot hold it; ",
            self.text
        ))
        .then(advice)
    }
}

/// From this number on, not every integer is a floating-point number.
pub(crate) fn limit<T: Scalar>() -> f64 {
    if T::NAME == f32::NAME { 16_777_216.0 } else { 9_007_199_254_740_992.0 }
}

/// The integer at the start of `text`, up to a delimiter, if `T` cannot represent it.
pub(crate) fn rounded_text<T: Scalar>(text: &[u8]) -> Option<String> {
    let sign = usize::from(text.first().is_some_and(|byte| b"+-".contains(byte)));
    let n_digits = text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&text[..sign + n_digits]).ok()?;
    if n_digits == 0 || text.get(sign + n_digits).is_some_and(|byte| b".eE".contains(byte)) {
        return None;
    }
    let exact = number.strip_prefix('+').unwrap_or(number).parse::<i128>();
    let is_held = exact.is_ok_and(|exact| is_held::<T>(exact));
    (!is_held).then(|| number.to_owned())
}

/// Returns true if `T` represents the integer exactly.
pub(crate) fn is_held<T: Scalar>(exact: i128) -> bool {
    T::from_f64(exact as f64).to_f64() as i128 == exact
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_held_or_rounded() {
        for text in [
            "9007199254740993",
            "-9007199254740993",
            "+9007199254740993,5",
            "123456789012345678901234567890123456789012",
        ] {
            assert!(rounded_text::<f64>(text.as_bytes()).is_some(), "{text}");
        }
        for text in [
            "9007199254740992",
            "9007199254740994;",
            "1e300",
            "9007199254740993.5",
            "9007199254740993e1",
            "",
            "-",
            "x",
        ] {
            assert_eq!(rounded_text::<f64>(text.as_bytes()), None, "{text}");
        }
        assert_eq!(rounded_text::<f32>(b"16777217\n").as_deref(), Some("16777217"));
        assert_eq!(rounded_text::<f32>(b"16777218"), None);
    }

    #[test]
    fn warnings_say_where_and_what_to_do() {
        let place = Place { line: None, row: Some(3), column: Some(2), name: Some("id".to_owned()) };
        let rounded = Rounded { text: "9007199254740993".to_owned(), place };
        assert_eq!(
            rounded.warning::<f64>().to_string(),
            "row 3, column 2 (`id`): the whole number 9007199254740993 was rounded, for a 64-bit floating-point number cannot \
             hold it; exclude ids, or subtract a constant before"
        );
    }
}
