//! Numbers with something beside them: units, currencies, signs that group the thousands.

/// What stands beside a number in a cell of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit<'a> {
    /// Nothing, or the cell holds no number.
    None,
    /// Signs that group the thousands.
    Grouped,
    /// A percent sign or a currency.
    Sign,
    /// Letters, such as `kg`.
    Word(&'a [u8]),
}

impl<'a> Unit<'a> {
    /// That of a cell.
    pub(crate) fn of(cell: &'a [u8]) -> Self {
        const CURRENCIES: [&str; 4] = ["$", "€", "£", "¥"];
        if is_grouped_number(cell) {
            return Unit::Grouped;
        }
        let unsigned = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
        let currency = CURRENCIES.iter().find_map(|sign| unsigned.strip_prefix(sign.as_bytes()));
        let rest = currency.unwrap_or(unsigned).trim_ascii_start();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || b".,".contains(byte)).count();
        if !rest.first().is_some_and(u8::is_ascii_digit) {
            return Unit::None;
        }
        let behind = rest[digits..].trim_ascii();
        let is_sign =
            |behind: &[u8]| ["%", "‰"].iter().chain(&CURRENCIES).any(|sign| behind == sign.as_bytes());
        match behind {
            [] if currency.is_some() => Unit::Sign,
            behind if is_sign(behind) => Unit::Sign,
            behind
                if !behind.is_empty() && behind.len() <= 4 && behind.iter().all(u8::is_ascii_alphabetic) =>
            {
                Unit::Word(behind)
            }
            _ => Unit::None,
        }
    }
}

/// Digits with commas and points among them: a number in a notation that is not read.
pub(crate) fn is_grouped_number(found: &[u8]) -> bool {
    found.contains(&b',') && is_digits_and(found, b".,")
}

/// Whether the cell begins with a digit, behind a sign, and holds digits and `others` alone.
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
            ("7 £", Unit::Sign),
            ("1,234.5", Unit::Grouped),
            ("12kg", Unit::Word(b"kg")),
            ("3.5 mm", Unit::Word(b"mm")),
            ("12", Unit::None),
            ("kg", Unit::None),
            ("12_a", Unit::None),
            ("", Unit::None),
            ("a12", Unit::None),
        ] {
            assert_eq!(Unit::of(cell.as_bytes()), unit, "{cell}");
        }
    }
}
