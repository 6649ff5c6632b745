//! Weighted mean and scatter of the rows of a dense array, in one pass over the memory.
//!
//! Products are formed about a provisional mean, the mean of the first rows, and then moved to the mean. This loses
//! digits only if the first rows have almost no weight or are outliers: then the piece is read again.

use std::ops::Range;

use crate::linalg::dense::pack::Mapped;
use crate::linalg::dense::rank_k::bands::add_rows;
use crate::linalg::dense::rank_k::{PANEL, PRIVATE_WIDTH, STRIP, add_products};
use crate::linalg::{ColumnMap, Dense, Matrix};
use crate::moments::dense_sums;
use crate::moments::exact_sum::{ColumnsMut, exact_sum};
use crate::scalar::Scalar;

/// Number of rows of the provisional mean: few, because they are read once more.
const FIRST: usize = 32;
/// The widest array whose pieces have private sums.
pub(crate) const WIDEST: usize = PRIVATE_WIDTH;

/// Number of rows of a piece.
pub(crate) fn piece_rows(n_cols: usize) -> usize {
    // Narrow arrays get longer pieces: fewer than a million multiply-adds do not repay a thread.
    4096.max(4_000_000 / (n_cols * n_cols)).next_multiple_of(PANEL)
}

/// Buffers reused from piece to piece.
#[derive(Default)]
pub(crate) struct Scratch {
    packed: Vec<f64>,
    sums: Vec<f64>,
}

/// Sets `columns` to the moments of the rows of `x`, whose weights sum to `weight`, and `scatter` to the upper triangle of
/// their scatter. NaN and infinite values propagate into the results.
pub(super) fn accumulate<T: Scalar>(
    x: &Dense<'_, T>,
    (weights, weight): (Option<&[f64]>, f64),
    (mut columns, scatter): (ColumnsMut<'_>, &mut Matrix),
    scratch: &mut Scratch,
) {
    let roots: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
    let first = 0..x.n_rows().min(FIRST);
    let origin = dense_sums::heaviest_row(x, weights);
    dense_sums::mean_near(&x.rows(first.clone()), weights.map(|w| &w[first]), &origin, columns.mean);
    for last in [false, true] {
        let origin = columns.mean.to_vec();
        scatter.as_mut_slice().fill(0.0);
        products_about(&origin, x, roots.as_deref(), scatter, scratch);
        if move_to_mean(&origin, &scratch.sums, weight, (&mut columns, scatter)) || last {
            break;
        }
    }
}

/// Adds the products of deviations from `origin` to the upper triangle of `scatter`, and sums the deviations.
fn products_about<T: Scalar>(
    origin: &[f64],
    x: &Dense<'_, T>,
    roots: Option<&[f64]>,
    scatter: &mut Matrix,
    scratch: &mut Scratch,
) {
    let n = x.n_rows();
    let Scratch { packed, sums } = scratch;
    let map = ColumnMap { shift: origin, remainder: &[], factor: &vec![1.0; origin.len()] };
    sums.clear();
    sums.resize(origin.len().next_multiple_of(STRIP), 0.0);
    let panel = |start: usize| -> Range<usize> { start.min(n)..n.min(start + PANEL) };
    for start in (0..n).step_by(PANEL) {
        let rows = panel(start);
        let ahead = x.rows(panel(rows.end)).contiguous();
        let roots = roots.map(|r| &r[rows.clone()]);
        let packed = add_products(&Mapped::new(x.rows(rows), map, roots), ahead, packed, scatter);
        add_rows(packed, roots, sums);
    }
}

/// Tests whether sums of squares about another point lose no more than two digits when they are moved to the mean.
pub(super) fn is_near(about_pivot: f64, about_mean: f64) -> bool {
    const WORST: f64 = 100.0;
    about_pivot <= WORST * about_mean || about_pivot == 0.0
}

/// Turns sums about `origin` into the means and squares of `columns` and the upper triangle of the scatter about the means.
/// Returns false if that loses more than two digits.
pub(super) fn move_to_mean(
    origin: &[f64],
    sums: &[f64],
    weight: f64,
    (columns, scatter): (&mut ColumnsMut<'_>, &mut Matrix),
) -> bool {
    let ColumnsMut { mean, mean_rest, sum_of_squares } = columns;
    let mut near = true;
    for (i, &origin) in origin.iter().enumerate() {
        let shift = if weight > 0.0 { sums[i] / weight } else { sums[i] };
        (mean[i], mean_rest[i]) = exact_sum(origin, shift);
        let row = &mut scatter.row_mut(i)[i..];
        let about_pivot = row[0];
        row.iter_mut().zip(&sums[i..]).for_each(|(product, sum)| *product -= shift * sum);
        near &= is_near(about_pivot, row[0]);
        // Cancellation may leave a negative rounding error; NaN propagates.
        row[0] = if row[0] < 0.0 { 0.0 } else { row[0] };
        sum_of_squares[i] = row[0];
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::oracle::{cases, values};

    fn scatter<T: Scalar>(x: &Dense<'_, T>, weights: Option<&[f64]>) -> (f64, Vec<f64>, Matrix) {
        let p = x.n_cols();
        // Previous contents must not matter.
        let (mut mean, mut rest, mut squares) = (vec![7.0; p], vec![7.0; p], vec![7.0; p]);
        let mut scatter = Matrix::from_fn(p, p, |_, _| 7.0);
        let weight = weights.map_or(x.n_rows() as f64, |w| w.iter().sum());
        let columns = ColumnsMut { mean: &mut mean, mean_rest: &mut rest, sum_of_squares: &mut squares };
        accumulate(x, (weights, weight), (columns, &mut scatter), &mut Scratch::default());
        scatter.mirror_upper();
        (weight, mean, scatter)
    }

    /// Weighted means and products from the definition.
    fn by_definition<T: Scalar>(x: &Dense<'_, T>, weights: Option<&[f64]>) -> (f64, Vec<f64>, Matrix) {
        let (n, p) = (x.n_rows(), x.n_cols());
        let w = |i: usize| weights.map_or(1.0, |w| w[i]);
        let weight: f64 = (0..n).map(w).sum();
        let mean: Vec<f64> =
            (0..p).map(|j| (0..n).map(|i| w(i) * x.get(i, j).to_f64()).sum::<f64>() / weight).collect();
        let deviation = |i: usize, j: usize| x.get(i, j).to_f64() - mean[j];
        let products =
            Matrix::from_fn(p, p, |a, b| (0..n).map(|i| w(i) * deviation(i, a) * deviation(i, b)).sum());
        (weight, mean, products)
    }

    fn check<T: Scalar>(x: &Dense<'_, T>, weights: Option<&[f64]>, tolerance: f64, what: &str) {
        let ((weight, mean, found), (_, means, expected)) = (scatter(x, weights), by_definition(x, weights));
        assert!((weight - weights.map_or(x.n_rows() as f64, |w| w.iter().sum())).abs() <= 1e-12 * weight);
        for i in 0..x.n_cols() {
            assert!((mean[i] - means[i]).abs() <= 1e-13 * (1.0 + means[i].abs()), "{what}: mean {i}");
            for j in 0..x.n_cols() {
                let size = (expected[(i, i)] * expected[(j, j)]).sqrt();
                let error = (found[(i, j)] - expected[(i, j)]).abs();
                // For constant columns the definition leaves the square of a rounding error.
                assert!(
                    error <= tolerance * size + 1e-26,
                    "{what}: entry ({i}, {j}) is off by {error:e} of {size:e}"
                );
            }
        }
    }

    fn check_shapes<T: Scalar>() {
        for shape in [(2, 1), (7, 8), (33, 17), (2 * PANEL + 5, 13)] {
            let weights: Vec<f64> = (0..shape.0).map(|i| (i % 4) as f64 * 0.3 + 0.1).collect();
            for case in cases::<T>(shape) {
                for weights in [None, Some(&weights[..])] {
                    let what = format!("{} {shape:?} {} {}", T::NAME, case.layout, weights.is_some());
                    check(&case.view(), weights, 1e-12, &what);
                }
            }
        }
    }

    #[test]
    fn every_shape_order_and_weighting_agrees_with_the_definition() {
        check_shapes::<f64>();
        check_shapes::<f32>();
    }

    #[test]
    fn an_outlying_or_weightless_provisional_mean_costs_no_digits() {
        let (n, p) = (3 * PANEL, 3);
        let mut x = values::<f64>(n * p, 9);
        x[..PANEL * p].iter_mut().for_each(|v| *v += 1e9);
        let mut weights = vec![1.0; n];
        weights[..PANEL].fill(1e-30);
        check(&Dense::row_major(&x, n, p).unwrap(), Some(&weights), 1e-11, "next to no weight");
        weights[..PANEL].fill(0.0);
        check(&Dense::row_major(&x, n, p).unwrap(), Some(&weights), 1e-12, "no weight");
    }

    #[test]
    fn constant_columns_have_no_products_and_non_finite_values_propagate() {
        let n = PANEL + 3;
        let x: Vec<f64> = (0..n).flat_map(|i| [0.1, (i % 7) as f64]).collect();
        let (_, mean, constant) = scatter(&Dense::row_major(&x, n, 2).unwrap(), None);
        assert_eq!((mean[0], constant[(0, 0)], constant[(0, 1)]), (0.1, 0.0, 0.0));
        for bad in [f64::NAN, f64::INFINITY] {
            for place in [0, n, 2 * n - 2] {
                let mut x = x.clone();
                x[place] = bad;
                let (_, mean, scatter) = scatter(&Dense::row_major(&x, n, 2).unwrap(), None);
                let j = place % 2;
                assert!(!mean[j].is_finite() || !scatter[(j, j)].is_finite(), "{bad} at {place}");
            }
        }
    }
}
