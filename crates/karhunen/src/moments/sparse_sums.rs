//! Means, sums of squares and dense rows of sparse data.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec};
use crate::linalg::sparse::lines::{Index, Lines, with_lines};
use crate::linalg::sparse::plan::Extent;
use crate::linalg::sparse::products::check_weights;
use crate::linalg::sparse::view::Indices;
use crate::linalg::{Major, Sparse};
use crate::moments::exact_sum::exact_sum;
use crate::scalar::Scalar;

/// Means and squares of columns, as in [`Moments`](crate::moments::Moments).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnMoments {
    pub(crate) mean: Vec<f64>,
    pub(crate) mean_rest: Vec<f64>,
    pub(crate) sum_of_squares: Vec<f64>,
}

impl ColumnMoments {
    fn zeros(p: usize) -> Self {
        Self { mean: vec![0.0; p], mean_rest: vec![0.0; p], sum_of_squares: vec![0.0; p] }
    }
}

/// For every column j its mean `sum_i w_i x_ij / s` and its sum of squares about it,
/// `sum_i w_i (x_ij - mean_j)^2`, in f64 and in two passes; `s` is `sum_of_weights`, and the weights are 1 where
/// `row_weights` is `None`. The second pass corrects the mean of the first (Chan, Golub & LeVeque 1983, equation 1.7).
///
/// Entries that are not stored have the total weight less the weight of the stored ones, by compensated summation: a
/// full column of large mean and small variance must not gain variance from the rounding of `s`.
///
/// # Errors
/// [`Error::Shape`] if the length of `row_weights` is wrong; [`Error::Stopped`].
pub(crate) fn moments<T: Scalar>(
    x: &Sparse<'_, T>,
    row_weights: Option<&[f64]>,
    sum_of_weights: f64,
    exec: &Exec<'_>,
) -> Result<ColumnMoments> {
    check_weights(x, row_weights)?;
    if x.major() == Major::Rows && x.n_stored() < x.n_cols() / 8 {
        return of_few_columns(x, row_weights, sum_of_weights, exec);
    }
    dense_enough(x, row_weights, sum_of_weights, exec)
}

/// [`moments`] with dense arrays over the columns.
fn dense_enough<T: Scalar>(
    x: &Sparse<'_, T>,
    row_weights: Option<&[f64]>,
    sum_of_weights: f64,
    exec: &Exec<'_>,
) -> Result<ColumnMoments> {
    let (sums, missing) = column_sums(x, row_weights, &exec.part(0.0, 0.5))?;
    // A block without weight has no mean; its sums, zero or NaN, take the place of means.
    let divisor = if sum_of_weights > 0.0 { sum_of_weights } else { 1.0 };
    let mean: Vec<f64> = sums.iter().map(|sum| sum / divisor).collect();
    let about = with_lines!(x, |lines| match x.major() {
        Major::Rows => sums_about_by_rows(&lines, row_weights, &mean, &exec.part(0.5, 1.0))?,
        Major::Columns => sums_about_by_columns(&lines, row_weights, &mean, &exec.part(0.5, 1.0))?,
    });
    let mut found = ColumnMoments { mean, ..ColumnMoments::zeros(about.len()) };
    for (j, (SumsAbout { first, square }, missing)) in about.into_iter().zip(missing).enumerate() {
        let mean = found.mean[j];
        let (first, square) = (first - missing * mean, square + missing * mean * mean);
        let shift = first / divisor;
        (found.mean[j], found.mean_rest[j]) = exact_sum(mean, shift);
        found.sum_of_squares[j] = without_rounding(square, first * shift);
        if found.sum_of_squares[j] == 0.0 {
            // Of a constant column, whose value f64 holds.
            found.mean_rest[j] = 0.0;
        }
    }
    Ok(found)
}

/// `square - moved`, zero if rounding has left it: in a constant column, whose mean of the first pass is rounded.
fn without_rounding(square: f64, moved: f64) -> f64 {
    const ROUNDING: f64 = 1e-13;
    let about_mean = square - moved;
    if about_mean <= ROUNDING * square { 0.0 } else { about_mean }
}

/// [`moments`] for data most of whose columns are empty: renumbers the others, so that the memory without the result is
/// proportional to the entries.
fn of_few_columns<T: Scalar>(
    x: &Sparse<'_, T>,
    row_weights: Option<&[f64]>,
    sum_of_weights: f64,
    exec: &Exec<'_>,
) -> Result<ColumnMoments> {
    let indices: Vec<usize> =
        with_lines!(x, |lines| (0..x.n_stored()).map(|entry| lines.index(entry)).collect());
    let mut columns = indices.clone();
    columns.sort_unstable();
    columns.dedup();
    let numbers: Vec<u64> =
        indices.iter().map(|column| columns.partition_point(|known| known < column) as u64).collect();
    // An extra empty column avoids a division by zero columns.
    let shape = (x.n_rows(), columns.len() + 1);
    let fewer = Sparse::of_parts(shape, Major::Rows, x.pointers(), Indices::U64(&numbers), x.values());
    let found = dense_enough(&fewer, row_weights, sum_of_weights, exec)?;
    let mut all = ColumnMoments::zeros(x.n_cols());
    for (number, column) in columns.into_iter().enumerate() {
        all.mean[column] = found.mean[number];
        all.mean_rest[column] = found.mean_rest[number];
        all.sum_of_squares[column] = found.sum_of_squares[number];
    }
    Ok(all)
}

/// Weighted sums of the columns, and for each the weight of the entries that are not stored.
pub(crate) fn column_sums<T: Scalar>(
    x: &Sparse<'_, T>,
    row_weights: Option<&[f64]>,
    exec: &Exec<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut all = Compensated::default();
    (0..x.n_rows()).for_each(|i| all.add(weight(row_weights, i)));
    with_lines!(x, |lines| match x.major() {
        Major::Rows => sums_by_rows(&lines, row_weights, all, exec),
        Major::Columns => sums_by_columns(&lines, row_weights, all, exec),
    })
}

/// The first NaN or infinite value in the order of rows, as (row, column, value).
pub(crate) fn first_non_finite<T: Scalar>(x: &Sparse<'_, T>) -> Option<(usize, usize, f64)> {
    // Blocks of finite values, almost all of them, are skipped as a whole.
    let finite = |values: &[T]| values.iter().fold(true, |all, value| all & value.to_f64().is_finite());
    let blocks = x.values().chunks(4096).enumerate().filter(|(_, block)| !finite(block));
    let entries = blocks.flat_map(|(index, block)| (index * 4096..).zip(block));
    let places = entries.filter(|(_, value)| !value.to_f64().is_finite()).map(|(entry, value)| {
        let line = x.pointers().partition_point(|&pointer| pointer <= entry) - 1;
        let minor = with_lines!(x, |lines| lines.index(entry));
        match x.major() {
            Major::Rows => (line, minor, value.to_f64()),
            Major::Columns => (minor, line, value.to_f64()),
        }
    });
    match x.major() {
        Major::Rows => places.into_iter().next(),
        Major::Columns => places.min_by_key(|&(row, column, _)| (row, column)),
    }
}

/// Calls `f` with the row, the index into `columns` (ascending) and the value of every stored entry of those
/// columns.
pub(crate) fn visit_columns<T: Scalar>(
    x: &Sparse<'_, T>,
    columns: &[usize],
    mut f: impl FnMut(usize, usize, f64),
) {
    with_lines!(x, |lines| match x.major() {
        Major::Columns => {
            for (place, &j) in columns.iter().enumerate() {
                let (indices, values) = lines.line(j);
                indices.iter().zip(values).for_each(|(i, value)| f(i.at(), place, value.to_f64()));
            }
        }
        Major::Rows => {
            let mut places = vec![None; x.n_cols()];
            columns.iter().enumerate().for_each(|(place, &j)| places[j] = Some(place));
            for i in 0..lines.len() {
                let (indices, values) = lines.line(i);
                for (j, value) in indices.iter().zip(values) {
                    if let Some(place) = places[j.at()] {
                        f(i, place, value.to_f64());
                    }
                }
            }
        }
    });
}

/// Writes the rows `rows`, zeros included, to `out`: row-major, shape (rows.len(), n_cols).
///
/// # Errors
/// [`Error::Shape`] if the length of `out` is wrong or `rows` end past the last row.
pub(crate) fn densify<T: Scalar>(x: &Sparse<'_, T>, rows: Range<usize>, out: &mut [f64]) -> Result<()> {
    if rows.end > x.n_rows() {
        let (found, expected) = (x.n_rows(), rows.end);
        return Err(Error::Shape { what: "the sparse matrix", axis: "rows", found, expected });
    }
    let (found, expected) = (out.len(), rows.len() * x.n_cols());
    if found != expected {
        return Err(Error::Shape { what: "the output", axis: "values", found, expected });
    }
    out.fill(0.0);
    if expected == 0 {
        return Ok(());
    }
    let n_cols = x.n_cols();
    with_lines!(x, |lines| match x.major() {
        Major::Rows => {
            for (i, row) in rows.zip(out.chunks_exact_mut(n_cols)) {
                let (indices, values) = lines.line(i);
                for (index, value) in indices.iter().zip(values) {
                    row[index.at()] = value.to_f64();
                }
            }
        }
        Major::Columns => {
            for j in 0..n_cols {
                let (indices, values) = lines.segment(j, &rows);
                for (index, value) in indices.iter().zip(values) {
                    out[(index.at() - rows.start) * n_cols + j] = value.to_f64();
                }
            }
        }
    });
    Ok(())
}

#[inline(always)]
fn weight(row_weights: Option<&[f64]>, i: usize) -> f64 {
    row_weights.map_or(1.0, |weights| weights[i])
}

/// A sum with about twice the digits of f64.
#[derive(Clone, Copy, Default)]
struct Compensated {
    high: f64,
    low: f64,
}

impl Compensated {
    #[inline(always)]
    fn add(&mut self, value: f64) {
        let (sum, rest) = exact_sum(self.high, value);
        self.high = sum;
        self.low += rest;
    }

    /// The difference; zero if it is rounding.
    fn minus(&self, other: &Self) -> f64 {
        const ROUNDING: f64 = 1e-26;
        let difference = (self.high - other.high) + (self.low - other.low);
        if difference.abs() <= ROUNDING * self.high { 0.0 } else { difference }
    }
}

/// Weighted sums of columns, and the weight of the stored entries of each.
struct SparseColumnSums {
    sums: Vec<f64>,
    stored: Vec<Compensated>,
}

impl Accumulate for SparseColumnSums {
    fn reset(&mut self) {
        self.sums.fill(0.0);
        self.stored.fill(Compensated::default());
    }
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.sums.iter_mut().zip(&other.sums) {
            *a += b;
        }
        for (a, b) in self.stored.iter_mut().zip(&other.stored) {
            a.add(b.high);
            a.low += b.low;
        }
    }
}

/// Weighted sum of the deviations of the stored entries of a column from a value, and of their squares.
#[derive(Clone, Copy, Default)]
struct SumsAbout {
    first: f64,
    square: f64,
}

impl SumsAbout {
    #[inline(always)]
    fn add(&mut self, weight: f64, deviation: f64) {
        let weighted = weight * deviation;
        self.first += weighted;
        self.square += weighted * deviation;
    }
}

/// Sums of all columns.
struct ColumnSumsAbout(Vec<SumsAbout>);

impl Accumulate for ColumnSumsAbout {
    fn reset(&mut self) {
        self.0.fill(SumsAbout::default());
    }
    fn merge(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            a.first += b.first;
            a.square += b.square;
        }
    }
}

/// Number of lines of a piece: few pieces if adding their sums would cost more than the entries.
fn lines_per_piece(extent: Extent) -> usize {
    let n_pieces = (extent.stored / (8 * extent.minors.max(1))).clamp(1, 64);
    extent.lines.div_ceil(n_pieces).max(1)
}

fn sums_by_rows<I: Index, T: Scalar>(
    lines: &Lines<'_, I, T>,
    row_weights: Option<&[f64]>,
    all: Compensated,
    exec: &Exec<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (n, p) = (lines.len(), lines.n_minor());
    let piece = lines_per_piece(lines.extent());
    let zero = || SparseColumnSums { sums: vec![0.0; p], stored: vec![Compensated::default(); p] };
    let total = exec.fold(n.div_ceil(piece), zero, |index, total| {
        for i in index * piece..n.min((index + 1) * piece) {
            let weight = weight(row_weights, i);
            let (indices, values) = lines.line(i);
            for (index, value) in indices.iter().zip(values) {
                total.sums[index.at()] += weight * value.to_f64();
                let stored = &mut total.stored[index.at()];
                if row_weights.is_none() {
                    // Integers are added without error.
                    stored.high += 1.0;
                } else {
                    stored.add(weight);
                }
            }
        }
        Ok(())
    })?;
    let missing = total.stored.iter().map(|stored| all.minus(stored)).collect();
    Ok((total.sums, missing))
}

fn sums_about_by_rows<I: Index, T: Scalar>(
    lines: &Lines<'_, I, T>,
    row_weights: Option<&[f64]>,
    mean: &[f64],
    exec: &Exec<'_>,
) -> Result<Vec<SumsAbout>> {
    let n = lines.len();
    let piece = lines_per_piece(lines.extent());
    let total = exec.fold(
        n.div_ceil(piece),
        || ColumnSumsAbout(vec![SumsAbout::default(); mean.len()]),
        |index, total| {
            for i in index * piece..n.min((index + 1) * piece) {
                let weight = weight(row_weights, i);
                let (indices, values) = lines.line(i);
                for (index, value) in indices.iter().zip(values) {
                    total.0[index.at()].add(weight, value.to_f64() - mean[index.at()]);
                }
            }
            Ok(())
        },
    )?;
    Ok(total.0)
}

/// Number of columns of a piece.
const COLUMNS: usize = 16;

fn sums_by_columns<I: Index, T: Scalar>(
    lines: &Lines<'_, I, T>,
    row_weights: Option<&[f64]>,
    all: Compensated,
    exec: &Exec<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut pairs = vec![(0.0, 0.0); lines.len()];
    exec.fill(&mut pairs, COLUMNS, |piece, pairs| {
        for (j, pair) in (piece * COLUMNS..).zip(pairs) {
            let (indices, values) = lines.line(j);
            let (mut sum, mut stored) = (0.0, Compensated::default());
            for (index, value) in indices.iter().zip(values) {
                let weight = weight(row_weights, index.at());
                sum += weight * value.to_f64();
                stored.add(weight);
            }
            *pair = (sum, all.minus(&stored));
        }
        Ok(())
    })?;
    Ok(pairs.into_iter().unzip())
}

fn sums_about_by_columns<I: Index, T: Scalar>(
    lines: &Lines<'_, I, T>,
    row_weights: Option<&[f64]>,
    mean: &[f64],
    exec: &Exec<'_>,
) -> Result<Vec<SumsAbout>> {
    let mut sums = vec![SumsAbout::default(); lines.len()];
    exec.fill(&mut sums, COLUMNS, |piece, sums| {
        for (j, sum) in (piece * COLUMNS..).zip(sums) {
            let (indices, values) = lines.line(j);
            for (index, value) in indices.iter().zip(values) {
                sum.add(weight(row_weights, index.at()), value.to_f64() - mean[j]);
            }
        }
        Ok(())
    })?;
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::testing::cases::{assert_near, cases, for_all_threads};

    /// Means and sums of squares of the dense matrix.
    fn naive(dense: &Matrix, weights: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
        let (n, p) = dense.shape();
        let total = |f: &dyn Fn(usize) -> f64| -> f64 { (0..n).map(|i| weight(weights, i) * f(i)).sum() };
        let sum = total(&|_| 1.0);
        let mean: Vec<f64> = (0..p).map(|j| total(&|i| dense[(i, j)]) / sum).collect();
        let squares = (0..p).map(|j| total(&|i| (dense[(i, j)] - mean[j]).powi(2))).collect();
        (mean, squares)
    }

    #[test]
    fn moments_agree_with_the_dense_matrix_for_any_number_of_threads() {
        for case in &cases() {
            for major in [Major::Rows, Major::Columns] {
                for weights in [None, Some(case.weights.as_slice())] {
                    let n = case.dense.n_rows();
                    let sum: f64 = (0..n).map(|i| weight(weights, i)).sum();
                    let (mean, squares) = naive(&case.dense, weights);
                    let (single, double) = (case.sparse::<f32>(major), case.sparse::<f64>(major));
                    let both = |found: ColumnMoments| [found.mean, found.sum_of_squares].concat();
                    let found = for_all_threads(case.name, |exec| {
                        moments(&single.view(), weights, sum, exec).map(both)
                    });
                    let of_double = moments(&double.view(), weights, sum, &Exec::sequential()).unwrap();
                    assert_eq!(found, both(of_double), "{}", case.name);
                    let expected = [mean, squares].concat();
                    // Values are below 5, so no term is above 25 times the sum of weights.
                    assert_near(case.name, &found, &expected, &[25.0 * sum + 5.0], 1e-14);
                }
            }
        }
    }

    #[test]
    fn empty_columns_change_nothing() {
        let pointers = [0usize, 2, 2, 5, 6];
        let values = [3.0, -1.0, 2.5, 1e8, 4.0, 0.5];
        let few = Sparse::csr(4, 4, &pointers, &[0u32, 2, 0, 2, 3, 2], &values).unwrap();
        let places = |j: u32| [7u32, 0, 5000, 99_999][j as usize];
        let many = [0u32, 2, 0, 2, 3, 2].map(places);
        let many = Sparse::csr(4, 100_000, &pointers, &many, &values).unwrap();
        for weights in [None, Some([0.5, 2.0, 0.0, 1.25])] {
            let weights = weights.as_ref().map(|w| w.as_slice());
            let sum = weights.map_or(4.0, |w| w.iter().sum());
            let at = |found: &ColumnMoments, j: usize| {
                (found.mean[j], found.mean_rest[j], found.sum_of_squares[j])
            };
            let expected = moments(&few, weights, sum, &Exec::sequential()).unwrap();
            let found = moments(&many, weights, sum, &Exec::sequential()).unwrap();
            assert_eq!((found.mean.len(), found.sum_of_squares.len()), (100_000, 100_000));
            for (j, place) in [(0, 7), (2, 5000), (3, 99_999)] {
                assert_eq!(at(&found, place), at(&expected, j), "{j}");
            }
            let n_means = |found: &ColumnMoments| found.mean.iter().filter(|mean| **mean != 0.0).count();
            assert_eq!(n_means(&found), n_means(&expected));
            assert_eq!(at(&found, 0), (0.0, 0.0, 0.0));
        }
    }

    #[test]
    fn a_full_column_far_from_zero_keeps_its_variance() {
        // Rows of weight zero are missing; the others hold 1e8 and 1e8 + 1.
        let n = 3000;
        let weights: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 0.0 } else { 0.1 }).collect();
        let kept = (0..n).filter(|i| i % 3 != 0).collect::<Vec<usize>>();
        let values: Vec<f64> = kept.iter().map(|i| 1e8 + (i % 3 - 1) as f64).collect();
        let columns: Vec<u64> = kept.iter().map(|&i| i as u64).collect();
        let by_columns = Sparse::csc(n, 1, &[0u64, 2000], &columns, &values).unwrap();
        let pointers: Vec<usize> = (0..=n).map(|i| kept.partition_point(|&k| k < i)).collect();
        let zeros = vec![0u32; 2000];
        let by_rows = Sparse::csr(n, 1, &pointers, &zeros, &values).unwrap();
        for x in [by_columns, by_rows] {
            let ColumnMoments { mean, mean_rest, sum_of_squares } =
                moments(&x, Some(&weights), 200.0, &Exec::sequential()).unwrap();
            assert!((mean[0] - (1e8 + 0.5) + mean_rest[0]).abs() < 1e-14, "{} {}", mean[0], mean_rest[0]);
            assert!((sum_of_squares[0] - 50.0).abs() < 1e-12, "{}", sum_of_squares[0]);
        }
    }

    #[test]
    fn non_finite_values_are_found_in_the_order_of_rows() {
        let mut values = vec![1.0f32; 6];
        // [[1, 1, 0], [0, inf, NaN], [1, 0, 1]]: by columns the NaN comes last.
        let by_rows = |values: &[f32]| {
            first_non_finite(&Sparse::csr(3, 3, &[0, 2, 4, 6], &[0, 1, 1, 2, 0, 2], values).unwrap())
        };
        assert_eq!(by_rows(&values), None);
        (values[2], values[3]) = (f32::INFINITY, f32::NAN);
        assert_eq!(by_rows(&values), Some((1, 1, f64::INFINITY)));
        let columns = [1.0, f32::NAN, 1.0, f32::NEG_INFINITY, f32::NAN, 1.0];
        let x = Sparse::csc(3, 3, &[0, 2, 4, 6], &[0, 2, 0, 1, 1, 2], &columns).unwrap();
        assert_eq!(first_non_finite(&x), Some((1, 1, f64::NEG_INFINITY)));
    }

    #[test]
    fn sparse_rows_are_densified() {
        for case in &cases() {
            let (n, p) = case.dense.shape();
            for major in [Major::Rows, Major::Columns] {
                let x = case.sparse::<f32>(major);
                for rows in [0..n, n / 3..n / 2, n..n] {
                    let mut out = vec![f64::NAN; rows.len() * p];
                    densify(&x.view(), rows.clone(), &mut out).unwrap();
                    assert_eq!(out, case.dense.as_slice()[rows.start * p..rows.end * p], "{}", case.name);
                }
            }
        }
        let x = cases()[0].sparse::<f64>(Major::Rows);
        let error = densify(&x.view(), 0..1501, &mut []).unwrap_err();
        assert_eq!(error.to_string(), "the sparse matrix: 1500 rows, but 1501 are needed");
        let error = densify(&x.view(), 0..1, &mut [0.0]).unwrap_err();
        assert_eq!(error.to_string(), "the output: 1 value, but 20 are needed");
    }
}
