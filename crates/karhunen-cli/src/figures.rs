//! Formats numbers.

/// Variances for one column of a table: six digits of the largest, aligned at the point; powers of ten if that
/// hides digits.
pub(crate) fn fixed(values: &[f64]) -> Vec<String> {
    let largest = values.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0);
    let magnitude = if largest > 0.0 { largest.log10().floor() } else { 0.0 };
    if !(-3.0..8.0).contains(&magnitude) {
        return values.iter().map(|v| format!("{v:.4e}")).collect();
    }
    let decimals = (5.0 - magnitude).clamp(0.0, 8.0) as usize;
    let smallest = 0.5 * 10f64.powi(1 - decimals as i32);
    values
        .iter()
        .map(|&v| if v != 0.0 && v < smallest { format!("{v:.1e}") } else { format!("{v:.decimals$}") })
        .collect()
}

/// A fraction as a percentage with two decimals.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p.is_nan() => "unknown".to_owned(),
        p if p > 0.0 && p < 0.005 => "<0.01%".to_owned(),
        p => format!("{p:.2}%"),
    }
}

/// Cells of a table as a percentage of all; the table may be empty.
pub(crate) fn share(cells: usize, (n_rows, n_columns): (usize, usize)) -> String {
    percent(cells as f64 / (n_rows as f64 * n_columns as f64).max(1.0))
}

/// A sum of weights, with all digits if they are few.
pub(crate) fn sum(value: f64) -> String {
    if value == 0.0 || (1e-5..1e15).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// A loading with its sign and three digits.
pub(crate) fn loading(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { '-' } else { '+' };
    let magnitude = if size > 0.0 { size.log10().floor() } else { 0.0 };
    if !(-4.0..6.0).contains(&magnitude) {
        return format!("{sign}{size:.1e}");
    }
    let decimals = (2.0 - magnitude.max(-1.0)).clamp(0.0, 3.0) as usize;
    format!("{sign}{size:.decimals$}")
}

/// A number with six significant digits.
pub(crate) fn significant(value: f64) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    if !(-5.0..9.0).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    let decimals = (5.0 - magnitude).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

/// Seconds in a suitable unit.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.00995 => format!("{:.1} ms", (s * 1e3).max(0.1)),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.95 => format!("{s:.1} s"),
        s => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
    }
}

/// A count with its digits in groups of three.
pub(crate) fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_cells_has_no_share_of_nan() {
        assert_eq!(share(0, (0, 5)), "0.00%");
        assert_eq!(share(0, (0, 0)), "0.00%");
        assert_eq!(share(3, (2, 3)), "50.00%");
    }

    #[test]
    fn variances_align() {
        assert_eq!(fixed(&[4.22824171, 0.2426707]), ["4.22824", "0.24267"]);
        assert_eq!(fixed(&[443614.2, 8.25, 0.00001]), ["443614", "8", "1.0e-5"]);
        assert_eq!(fixed(&[1.5e12, 2.0]), ["1.5000e12", "2.0000e0"]);
        assert_eq!(fixed(&[1e-9, 0.0]), ["1.0000e-9", "0.0000e0"]);
        assert_eq!(fixed(&[1.0, 0.0, 3e-33]), ["1.00000", "0.00000", "3.0e-33"]);
        assert_eq!(fixed(&[0.0]), ["0.00000"]);
        assert!(fixed(&[]).is_empty());
    }

    #[test]
    fn shares() {
        for (share, text) in
            [(1.0, "100.00%"), (0.92461872, "92.46%"), (1e-9, "<0.01%"), (0.0, "0.00%"), (5e-5, "0.01%")]
        {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn loadings_show_sign_and_three_digits() {
        let cases = [
            (0.8569, "+0.857"),
            (-12.345, "-12.3"),
            (1.7613, "+1.76"),
            (-0.0456, "-0.046"),
            (1234.5, "+1234"),
            (1e9, "+1.0e9"),
            (-3e-7, "-3.0e-7"),
        ];
        for (value, text) in cases {
            assert_eq!(loading(value), text);
        }
    }

    #[test]
    fn six_digits() {
        let cases = [(0.0, "0.00000"), (-5.84333, "-5.84333"), (123456.7, "123457"), (1e-9, "1.0000e-9")];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn durations_and_counts() {
        for (seconds, text) in [
            (3e-8, "0.1 ms"),
            (0.00234, "2.3 ms"),
            (0.0123, "12 ms"),
            (2.34, "2.3 s"),
            (754.0, "12 min 34 s"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(count(n), text);
        }
    }
}
