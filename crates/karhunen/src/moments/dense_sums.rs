//! Weighted mean and squared deviations of the columns of a dense array, in one pass.
//!
//! Deviations are taken from the first row of the largest weight as provisional mean: a constant column has a variance of exactly zero,
//! and a large offset costs no digits. If that row is such an outlier that the sum of squares would lose
//! digits, the piece is read again about its mean.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::linalg::Dense;
use crate::linalg::simd::dispatch;
use crate::moments::exact_sum::{ColumnsMut, exact_sum};
use crate::scalar::{Scalar, largest};

/// Number of rows of a piece: enough to repay a thread, few enough to divide wide tables among threads.
pub(crate) fn piece_rows(n_cols: usize) -> usize {
    ((1 << 18) / n_cols.max(1)).clamp(16, 4096)
}

/// Number of columns summed at a time, whose sums stay in the first-level cache.
const TILE: usize = 1024;

/// Largest allowed ratio of the sums of squares about the provisional mean and about the mean: 2 digits are lost.
const WORST_RATIO: f64 = 100.0;

/// Sets `columns` to the moments of the rows of `x`, whose weights sum to `weight`. NaN and infinite values propagate into
/// the results.
pub(super) fn accumulate<T: Scalar>(
    x: &Dense<'_, T>,
    (weights, weight): (Option<&[f64]>, f64),
    columns: ColumnsMut<'_>,
) {
    let ColumnsMut { mean, mean_rest, sum_of_squares } = columns;
    let mut origin = heaviest_row(x, weights);
    for last in [false, true] {
        mean.fill(0.0);
        sum_of_squares.fill(0.0);
        dispatch(SumsAbout {
            x,
            weights,
            origin: &origin,
            sums: &mut *mean,
            squares: Some(&mut *sum_of_squares),
        });
        let mut far = false;
        for j in 0..mean.len() {
            let shift = if weight > 0.0 { mean[j] / weight } else { mean[j] };
            let about_mean = sum_of_squares[j] - mean[j] * shift;
            far |= sum_of_squares[j] > WORST_RATIO * about_mean;
            (mean[j], mean_rest[j]) = exact_sum(origin[j], shift);
            // Cancellation may leave a negative rounding error; NaN propagates.
            sum_of_squares[j] = if about_mean < 0.0 { 0.0 } else { about_mean };
        }
        if !far || last {
            break;
        }
        origin.copy_from_slice(mean);
    }
}

/// The first row of the largest weight. About it a column that is constant where rows have weight has deviations of exactly
/// zero, and its own deviations, which are zero, lose no digits of the others.
pub(super) fn heaviest_row<T: Scalar>(x: &Dense<'_, T>, weights: Option<&[f64]>) -> Vec<f64> {
    let largest = weights.map(|weights| largest(weights.iter().copied()));
    let row =
        weights.and_then(|weights| weights.iter().position(|&weight| Some(weight) == largest)).unwrap_or(0);
    (0..x.n_cols()).map(|j| x.get(row, j).to_f64()).collect()
}

/// Sets `mean` to the weighted means of the columns, which should be near `origin`; returns the sum of weights. If
/// it is zero, the mean is the origin.
pub(crate) fn mean_near<T: Scalar>(
    x: &Dense<'_, T>,
    weights: Option<&[f64]>,
    origin: &[f64],
    mean: &mut [f64],
) -> f64 {
    let weight = weights.map_or(x.n_rows() as f64, |w| w.iter().sum());
    mean.fill(0.0);
    dispatch(SumsAbout { x, weights, origin, sums: &mut *mean, squares: None });
    for (mean, origin) in mean.iter_mut().zip(origin) {
        *mean = origin + if weight > 0.0 { *mean / weight } else { *mean };
    }
    weight
}

/// Adds the weighted deviations from `origin` to `sums` and their weighted squares to `squares`.
struct SumsAbout<'r, 'a, T> {
    x: &'r Dense<'a, T>,
    weights: Option<&'r [f64]>,
    origin: &'r [f64],
    sums: &'r mut [f64],
    squares: Option<&'r mut [f64]>,
}

impl<T: Scalar> WithSimd for SumsAbout<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { x, weights, origin, sums, mut squares } = self;
        if x.contiguous_row(0).is_none() && x.t().contiguous_row(0).is_some() {
            for j in 0..x.n_cols() {
                let Some(column) = x.t().contiguous_row(j) else { continue };
                let (sum, square) = match weights {
                    None => column_sums(column, origin[j], |_| 1.0),
                    Some(w) => column_sums(column, origin[j], |i| w[i]),
                };
                sums[j] = sum;
                if let Some(squares) = &mut squares {
                    squares[j] = square;
                }
            }
            return;
        }
        visit_rows(x, |i, columns, row| {
            let weight = weights.map_or(1.0, |w| w[i]);
            let (origin, sums) = (&origin[columns.clone()], &mut sums[columns.clone()]);
            match &mut squares {
                Some(squares) => add_row(row, weight, origin, sums, &mut squares[columns]),
                None => {
                    for ((x, c), sum) in row.iter().zip(origin).zip(sums) {
                        *sum += (x.to_f64() - c) * weight;
                    }
                }
            }
        });
    }
}

/// Calls `f` with the row, the columns and the values of each row segment of at most [`TILE`] columns.
#[inline(always)]
fn visit_rows<T: Scalar>(x: &Dense<'_, T>, mut f: impl FnMut(usize, Range<usize>, &[T])) {
    let mut copy = Vec::new();
    for start in (0..x.n_cols()).step_by(TILE) {
        let columns = start..x.n_cols().min(start + TILE);
        for i in 0..x.n_rows() {
            match x.contiguous_row(i) {
                Some(row) => f(i, columns.clone(), &row[columns.clone()]),
                None => {
                    copy.clear();
                    copy.extend(columns.clone().map(|j| x.get(i, j)));
                    f(i, columns.clone(), &copy);
                }
            }
        }
    }
}

#[inline(always)]
fn add_row<T: Scalar>(row: &[T], weight: f64, origin: &[f64], sums: &mut [f64], squares: &mut [f64]) {
    for (((x, c), sum), square) in row.iter().zip(origin).zip(sums).zip(squares) {
        let deviation = x.to_f64() - c;
        let weighted = deviation * weight;
        *sum += weighted;
        *square += weighted * deviation;
    }
}

/// Eight interleaved sums, so that additions overlap.
#[inline(always)]
fn column_sums<T: Scalar>(column: &[T], origin: f64, weight: impl Fn(usize) -> f64) -> (f64, f64) {
    const LANES: usize = 8;
    let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |start: usize, values: &[T]| {
        for (lane, x) in values.iter().enumerate() {
            let deviation = x.to_f64() - origin;
            let weighted = deviation * weight(start + lane);
            sums[lane] += weighted;
            squares[lane] += weighted * deviation;
        }
    };
    let (groups, rest) = column.as_chunks::<LANES>();
    for (g, group) in groups.iter().enumerate() {
        add(g * LANES, group);
    }
    add(groups.len() * LANES, rest);
    (sums.iter().sum(), squares.iter().sum())
}

/// The first NaN or infinite entry in the order of rows, as (row, column, value).
pub(crate) fn first_non_finite<T: Scalar>(x: &Dense<'_, T>) -> Option<(usize, usize, f64)> {
    (0..x.n_rows()).find_map(|i| {
        (0..x.n_cols()).find_map(|j| {
            let value = x.get(i, j).to_f64();
            (!value.is_finite()).then_some((i, j, value))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(x: &Dense<'_, f64>, weights: Option<&[f64]>) -> (f64, Vec<f64>, Vec<f64>) {
        let (mut mean, mut rest, mut squares) =
            (vec![7.0; x.n_cols()], vec![7.0; x.n_cols()], vec![7.0; x.n_cols()]);
        let weight = weights.map_or(x.n_rows() as f64, |w| w.iter().sum());
        let columns = ColumnsMut { mean: &mut mean, mean_rest: &mut rest, sum_of_squares: &mut squares };
        accumulate(x, (weights, weight), columns);
        (weight, mean, squares)
    }

    #[test]
    fn every_memory_order_gives_the_same_moments() {
        let by_rows = [1.0, 10.0, 2.0, 20.0, 6.0, 0.0];
        let by_columns = [1.0, 2.0, 6.0, 10.0, 20.0, 0.0];
        let spread = [1.0, 9.9, 10.0, 9.9, 2.0, 9.9, 20.0, 9.9, 6.0, 9.9, 0.0, 9.9];
        for x in [
            Dense::row_major(&by_rows, 3, 2).unwrap(),
            Dense::column_major(&by_columns, 3, 2).unwrap(),
            Dense::strided(&spread, (3, 2), (4, 2), 0).unwrap(),
        ] {
            assert_eq!(moments(&x, None), (3.0, vec![3.0, 10.0], vec![14.0, 200.0]));
            let (weight, mean, squares) = moments(&x, Some(&[1.0, 0.0, 3.0]));
            assert_eq!((weight, mean), (4.0, vec![4.75, 2.5]));
            assert!((squares[0] - 18.75).abs() < 1e-13 && (squares[1] - 75.0).abs() < 1e-13);
        }
    }

    #[test]
    fn an_outlying_first_row_and_an_offset_cost_no_digits() {
        let mut column: Vec<f64> = (0..1000).map(|i| 1e8 + f64::from(i % 10)).collect();
        column[0] = -1e12;
        let x = Dense::column_major(&column[1..], 999, 1).unwrap();
        let (_, _, clean) = moments(&x, None);
        assert!((clean[0] / 8_229.7297297297 - 1.0).abs() < 1e-2, "{clean:?}");
        // The outlier has weight zero, but is the provisional mean.
        let mut weights = vec![1.0; 1000];
        weights[0] = 0.0;
        let (_, _, squares) = moments(&Dense::column_major(&column, 1000, 1).unwrap(), Some(&weights));
        assert!((squares[0] / clean[0] - 1.0).abs() < 1e-12, "{squares:?} {clean:?}");
    }

    #[test]
    fn a_constant_column_has_a_variance_of_exactly_zero() {
        let column = [0.1; 57];
        assert_eq!(moments(&Dense::row_major(&column, 57, 1).unwrap(), None), (57.0, vec![0.1], vec![0.0]));
    }

    #[test]
    fn non_finite_values_propagate_and_are_found() {
        for bad in [f64::NAN, f64::INFINITY] {
            for place in 0..4 {
                let mut values = [1.0, 2.0, 3.0, 4.0];
                values[place] = bad;
                let x = Dense::row_major(&values, 2, 2).unwrap();
                let (_, mean, squares) = moments(&x, Some(&[1.0, 0.0]));
                assert!(!mean[place % 2].is_finite() || !squares[place % 2].is_finite());
                let (row, column, _) = first_non_finite(&x).unwrap();
                assert_eq!((row, column), (place / 2, place % 2));
            }
        }
    }
}
