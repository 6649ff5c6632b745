//! Sums of two numbers without error, and columns whose means are such sums.

/// `a + b` rounded, and what the rounding has left (Knuth's exact addition of two numbers).
pub(crate) fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Means, what their rounding has left, and sums of squares about them, one entry of each for a column.
pub(super) struct ColumnsMut<'a> {
    pub(super) mean: &'a mut [f64],
    pub(super) mean_rest: &'a mut [f64],
    pub(super) sum_of_squares: &'a mut [f64],
}
