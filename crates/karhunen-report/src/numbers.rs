//! Numbers as the page shows them.

/// A number with `digits` significant digits; with an exponent if it is very large or small.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    if !value.is_finite() {
        return "not defined".to_owned();
    }
    if !(-4.0..7.0).contains(&magnitude) {
        let places = usize::try_from(digits - 1).unwrap_or(0);
        return format!("{value:.places$e}");
    }
    let decimals = (f64::from(digits) - 1.0 - magnitude).max(0.0) as usize;
    format!("{value:.decimals$}")
}

/// A share as a percentage with one decimal.
pub(crate) fn percent(share: f64) -> String {
    if share.is_nan() { "unknown".to_owned() } else { format!("{:.1}%", 100.0 * share) }
}

/// A level such as 0.95 as a percentage without rounding.
pub(crate) fn level(level: f64) -> String {
    let digits = format!("{:.6}", 100.0 * level);
    format!("{}%", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A count with thin groups of three digits: `12 345`.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) && digits.len() > 4 {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun, in the plural unless it is one.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A correlation or loading with its sign.
pub(crate) fn signed(value: f64) -> String {
    format!("{value:+.2}").replace('-', "−")
}

/// The value with five significant digits, for the pictures: shorter in JSON, and beyond what a screen shows.
pub(crate) fn rounded(value: f64) -> f64 {
    // The text of a number is a number: the value itself is the answer for NaN.
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// As [`rounded`], of many values.
pub(crate) fn all_rounded(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| rounded(*value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(significant(1234.567, 4), "1235");
        assert_eq!(significant(0.012_345_6, 3), "0.0123");
        assert_eq!(significant(1.5e-12, 2), "1.5e-12");
        assert_eq!(significant(f64::INFINITY, 2), "not defined");
        assert_eq!([level(0.95), level(0.999), level(0.5)], ["95%", "99.9%", "50%"]);
        assert_eq!([count(1234), count(12_345)], ["1234", "12\u{a0}345"]);
        assert_eq!([counted(1, "row"), counted(0, "row")], ["1 row", "0 rows"]);
        assert_eq!(signed(-0.5), "−0.50");
        assert_eq!(rounded(1.234_567_89), 1.2346);
        assert!(rounded(f64::NAN).is_nan());
    }
}
