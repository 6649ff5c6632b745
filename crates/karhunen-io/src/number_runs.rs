//! Sequences of numbers that may be names: years, wavelengths, counts.

/// Minimum length of a monotone sequence of numbers to count as names without other evidence.
pub(crate) const LONG_RUN: usize = 8;

/// Order of a sequence of numbers: names such as years or wavelengths are ordered, measurements are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Run {
    None,
    /// Eight or more, strictly increasing or decreasing.
    OneWay,
    /// Three or more, in equal steps.
    EqualSteps,
}

/// The order of `numbers`.
pub(crate) fn run(numbers: &[f64]) -> Run {
    let steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let Some(&first) = steps.first() else { return Run::None };
    let one_way = steps.iter().all(|step| step * first > 0.0);
    let equal = steps.iter().all(|step| (step - first).abs() <= 1e-6 * first.abs());
    if one_way && equal && numbers.len() >= 3 {
        Run::EqualSteps
    } else if one_way && numbers.len() >= LONG_RUN {
        Run::OneWay
    } else {
        Run::None
    }
}

/// Tests whether the numbers are 0, 1, 2, … or 1, 2, 3, …, at least two of them.
pub(crate) fn counts_from_the_start(numbers: &[f64]) -> bool {
    let counts_from = |start: usize| numbers.iter().enumerate().all(|(i, x)| *x == (start + i) as f64);
    numbers.len() > 1 && (counts_from(0) || counts_from(1))
}

/// Tests whether the number may be a year.
pub(crate) fn is_year(x: f64) -> bool {
    x.fract() == 0.0 && (1500.0..2200.0).contains(&x)
}

/// Tests whether the numbers, which have equal steps, are years.
pub(crate) fn are_years(numbers: &[f64]) -> bool {
    let step = (numbers[1] - numbers[0]).abs();
    [1.0, 2.0, 4.0, 5.0, 10.0].contains(&step) && numbers.iter().all(|x| is_year(*x))
}

/// Tests whether the numbers, two or more, are years in equal steps of 1, 2, 4, 5 or 10.
pub(crate) fn are_successive_years(numbers: &[f64]) -> bool {
    numbers.len() > 1
        && are_years(numbers)
        && numbers.windows(2).all(|pair| pair[1] - pair[0] == numbers[1] - numbers[0])
}

/// Tests whether all numbers, at least two, may be years that rise or fall, by any steps.
pub(crate) fn are_ordered_years(numbers: &[f64]) -> bool {
    let rises = |pair: &[f64]| pair[0] < pair[1];
    numbers.len() > 1
        && numbers.iter().all(|x| is_year(*x))
        && (numbers.windows(2).all(rises) || numbers.windows(2).all(|pair| pair[0] > pair[1]))
}

/// The fraction of the steps in the rows that have the direction of the first line.
pub(crate) fn share_of_steps(numbers: &[f64], rows: &[Vec<f64>]) -> f64 {
    let direction = numbers[1] - numbers[0];
    let steps: Vec<f64> = rows.iter().flat_map(|row| row.windows(2)).map(|pair| pair[1] - pair[0]).collect();
    steps.iter().filter(|step| **step * direction > 0.0).count() as f64 / (steps.len() as f64).max(1.0)
}
