//! Out-of-range predictions: where the entries do not determine a fit, its predictions may be far outside the
//! observed range.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::model::convergence::FarPredictions;
use crate::incomplete::updates::rotate::Rotated;
use crate::scalar::Scalar;

/// Least distance of an out-of-range prediction from the observed range of its column, in standard deviations.
const FAR: f64 = 10.0;
/// Weight of the common variance of all columns, in entries: the few entries of one column may agree by chance.
const COMMON_WEIGHT: f64 = 2.0;
/// Least number of multiplications spent on the search; a pass over the entries may raise it.
const LEAST_WORK: usize = 1 << 22;
/// Rows or columns per piece of work.
const LINES: usize = 64;

/// Observed range and standard deviation of a column.
#[derive(Clone, Copy, Default)]
struct Range {
    lowest: f64,
    highest: f64,
    /// Zero if the entries do not determine it.
    deviation: f64,
}

impl Range {
    /// Distance of a value from the observed range, in standard deviations.
    fn beyond(&self, value: f64) -> f64 {
        let away = (self.lowest - value).max(value - self.highest);
        if self.deviation > 0.0 { away / self.deviation } else { 0.0 }
    }
}

/// Finds out-of-range fills among all missing entries, by the value of each.
pub(crate) fn far_fills<T: Scalar>(
    data: &Observed<T>,
    value: impl Fn(usize, usize) -> f64,
) -> Option<FarPredictions> {
    let ranges = ranges(data);
    let in_row = |row: usize| {
        let filled = missing_of_row(data, row).map(|column| {
            let value = value(row, column);
            (row, column, (value, ranges[column].beyond(value)))
        });
        farthest(filled)
    };
    (0..data.n_samples()).filter_map(in_row).reduce(FarPredictions::and)
}

/// The columns in which a row has no entry.
fn missing_of_row<T: Scalar>(data: &Observed<T>, row: usize) -> impl Iterator<Item = usize> {
    let mut observed = data.row(row).0.iter().map(|column| *column as usize).peekable();
    (0..data.n_features()).filter(move |column| observed.next_if_eq(column).is_none())
}

/// Finds out-of-range predictions of missing entries.
pub(crate) fn far_predictions<T: Scalar>(
    data: &Observed<T>,
    fit: &Rotated,
    exec: &Exec<'_>,
) -> Result<Option<FarPredictions>> {
    let ((n, p), c) = (data.shape(), fit.loadings.n_cols().max(1));
    let ranges = ranges(data);
    let work = LEAST_WORK.max(data.n_observed().saturating_mul(c));
    let all = n.saturating_mul(p).saturating_mul(c) <= work;
    let offset = |row: usize| fit.offsets.as_ref().map_or(0.0, |offsets| offsets[row]);
    let beyond = |row: usize, column: usize| {
        let (s, a) = (fit.scores.row(row), fit.loadings.row(column));
        let dot: f64 = s.iter().zip(a).map(|(s, a)| s * a).sum();
        let value = fit.mean[column] + offset(row) + dot;
        (value, ranges[column].beyond(value))
    };
    // Cauchy-Schwarz: the product of both bounds the distance of a prediction.
    let of_row = |row: usize| norm(fit.scores.row(row)) + offset(row).abs();
    let of_column = |column: usize| match ranges[column].deviation {
        0.0 => 0.0,
        deviation => norm(fit.loadings.row(column)) / deviation,
    };
    let n_rows = if all { n } else { (work / 2 / (p * c)).clamp(1, n) };
    let n_columns = if all { 0 } else { (work / 2 / (n * c)).clamp(1, p) };
    let (rows, columns) = (largest(n, n_rows, of_row), largest(p, n_columns, of_column));
    let in_row =
        |row: usize| farthest(missing_of_row(data, row).map(|column| (row, column, beyond(row, column))));
    let looked_at: Vec<bool> = marked(n, &rows);
    let in_column = |column: usize| {
        let mut observed = data.column(column).0.iter().map(|row| *row as usize).peekable();
        let missing = (0..n).filter(move |row| observed.next_if_eq(row).is_none());
        let others = missing.filter(|row| !looked_at[*row]);
        farthest(others.map(|row| (row, column, beyond(row, column))))
    };
    let mut found: Vec<Option<FarPredictions>> = vec![None; rows.len() + columns.len()];
    exec.fill(&mut found, LINES, |piece, found| {
        for (at, found) in found.iter_mut().enumerate() {
            let line = piece * LINES + at;
            *found = match rows.get(line) {
                Some(row) => in_row(*row),
                None => in_column(columns[line - rows.len()]),
            };
        }
        Ok(())
    })?;
    Ok(found.into_iter().flatten().reduce(FarPredictions::and))
}

impl FarPredictions {
    fn and(self, other: Self) -> Self {
        let farthest = if other.deviations > self.deviations { other } else { self };
        Self { count: self.count + other.count, ..farthest }
    }
}

/// Counts the out-of-range predictions among `(row, column, (value, deviations))` and keeps the farthest.
fn farthest(predictions: impl Iterator<Item = (usize, usize, (f64, f64))>) -> Option<FarPredictions> {
    predictions
        .filter(|(_, _, (_, deviations))| *deviations > FAR)
        .map(|(row, column, (value, deviations))| FarPredictions { count: 1, row, column, value, deviations })
        .reduce(FarPredictions::and)
}

fn ranges<T: Scalar>(data: &Observed<T>) -> Vec<Range> {
    let columns: Vec<(Range, f64, f64)> = (0..data.n_features())
        .map(|column| {
            let values = || data.column(column).1.iter().map(|x| x.to_f64());
            // Observed values are finite.
            let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
            for x in values() {
                (lowest, highest) = (lowest.min(x), highest.max(x));
            }
            let count = values().count() as f64;
            let mean = values().sum::<f64>() / count.max(1.0);
            let squares = values().map(|x| (x - mean).powi(2)).sum::<f64>();
            (Range { lowest, highest, deviation: 0.0 }, count, squares)
        })
        .collect();
    let several = || columns.iter().filter(|(_, count, _)| *count > 1.0);
    let freedom: f64 = several().map(|(_, count, _)| count - 1.0).sum();
    let common = several().map(|(.., squares)| squares).sum::<f64>() / freedom.max(1.0);
    let deviation = |count: f64, squares: f64| {
        let freedom = count - 1.0;
        // Columns in larger units must not widen a column with enough entries. Equal values determine no variance.
        let common = if squares > 0.0 { common.min(squares / freedom * at_most(freedom)) } else { common };
        ((squares + COMMON_WEIGHT * common) / (freedom + COMMON_WEIGHT)).sqrt()
    };
    columns
        .into_iter()
        .map(|(range, count, squares)| match count {
            // One entry determines no variance, and other columns may have other units.
            ..=1.0 => range,
            _ => Range { deviation: deviation(count, squares), ..range },
        })
        .collect()
}

/// Upper bound of the true variance as a multiple of a sample variance with `freedom` degrees of freedom, exceeded
/// with a probability below a thousandth for normal entries (Chernoff: the sample variance is below a fraction `x`
/// of the true variance with probability at most `(x e^(1 - x))^(d / 2) < (e x)^(d / 2)`).
fn at_most(freedom: f64) -> f64 {
    std::f64::consts::E * 1e-3f64.powf(-2.0 / freedom)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The `count` indices below `n` with the largest sizes, ascending.
fn largest(n: usize, count: usize, size: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut all: Vec<(f64, usize)> = (0..n).map(|i| (size(i), i)).collect();
    if count < n {
        all.select_nth_unstable_by(count, |x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        all.truncate(count);
    }
    let mut chosen: Vec<usize> = all.into_iter().map(|(_, i)| i).collect();
    chosen.sort_unstable();
    chosen
}

fn marked(n: usize, chosen: &[usize]) -> Vec<bool> {
    let mut marked = vec![false; n];
    chosen.iter().for_each(|i| marked[*i] = true);
    marked
}
