//! The result of a rule.

use crate::error::{Error, Result};
use crate::selection::Rule;

/// The number of components by one rule, and the numbers that it follows from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// The rule.
    pub rule: Rule,
    /// The number of components; `None` if the rule does not apply.
    pub n_components: Option<usize>,
    /// True if the number is the smallest or the largest that the rule could choose: the rule may have found no
    /// answer within its range.
    pub at_edge: bool,
    /// The smallest and the largest number that the rule could choose; (0, 0) if it does not apply.
    pub range: (usize, usize),
    /// Why this number, or why the rule does not apply.
    pub reason: String,
    /// The numbers that the rule compares.
    pub curve: Curve,
}

/// The numbers that a rule compares.
#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    /// Leading components are kept while their value exceeds their threshold. One value and one threshold for each
    /// component, from the first.
    Compared {
        /// Variances, shares or singular values.
        values: Vec<f64>,
        /// Thresholds of the values.
        thresholds: Vec<f64>,
    },
    /// A criterion of each number of components.
    Criterion {
        /// The number of components of the first value.
        first: usize,
        /// The criterion of `first`, `first + 1`, … components.
        values: Vec<f64>,
        /// True if the largest value is best, false if the smallest is.
        maximised: bool,
    },
    /// Nothing: the rule does not apply.
    Nothing,
}

/// Relative difference below which two variances count as equal.
const TIE: f64 = 1e-10;

impl Selection {
    /// A rule that does not apply.
    pub(super) fn not_applicable(rule: Rule, reason: impl Into<String>) -> Self {
        let (n_components, at_edge, range, curve) = (None, false, (0, 0), Curve::Nothing);
        Self { rule, n_components, at_edge, range, reason: reason.into(), curve }
    }

    /// Keeps the leading values that exceed their thresholds; `most` is the number of values of the complete
    /// spectrum, and `what` names a value.
    ///
    /// # Errors
    /// [`Error::Truncated`] if all values of a truncated spectrum exceed their thresholds.
    pub(super) fn compared(
        rule: Rule,
        what: &str,
        (values, thresholds): (Vec<f64>, Vec<f64>),
        most: usize,
    ) -> Result<Self> {
        let exceeds = |(value, threshold): (&f64, &f64)| *value > threshold * (1.0 + TIE);
        let n = values.iter().zip(&thresholds).take_while(|&pair| exceeds(pair)).count();
        if n == values.len() && n < most {
            return Err(Error::Truncated { rule: rule.name(), kept: n, all: most });
        }
        let next = values.get(n).map_or_else(
            || "all components exceed their thresholds".to_owned(),
            |value| format!("PC{}: {what} {} <= {}", n + 1, digits(*value), digits(thresholds[n])),
        );
        let last = n
            .checked_sub(1)
            .map(|k| format!("PC{n}: {what} {} > {}; ", digits(values[k]), digits(thresholds[k])));
        Ok(Self {
            rule,
            n_components: Some(n),
            at_edge: n == 0 || n == most,
            range: (0, most),
            reason: last.unwrap_or_default() + &next,
            curve: Curve::Compared { values, thresholds },
        })
    }

    /// Chooses the number of components `best` by the criterion `values`, whose first value is of `first` components.
    pub(super) fn by_criterion(
        rule: Rule,
        what: &str,
        (first, values): (usize, Vec<f64>),
        best: usize,
    ) -> Self {
        let last = first + values.len() - 1;
        let maximised = rule == Rule::Minka;
        let extreme = if maximised { "largest" } else { "least" };
        Self {
            rule,
            n_components: Some(best),
            at_edge: best == first || best == last,
            range: (first, last),
            reason: format!("{what} is {extreme}, {}, among {first} to {last}", digits(values[best - first])),
            curve: Curve::Criterion { first, values, maximised },
        }
    }
}

/// A number with four significant digits.
pub(super) fn digits(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    let before = if value == 0.0 { 1.0 } else { value.abs().log10().floor() + 1.0 };
    format!("{value:.*}", (4.0 - before).max(0.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_reasons_have_four_digits() {
        let shown = [0.0, 0.25, 2.480_24, 1234.56, 1e-7, -0.5, 123_456.7].map(digits);
        assert_eq!(shown, ["0.000", "0.2500", "2.480", "1235", "1.000e-7", "-0.5000", "1.235e5"]);
    }
}
