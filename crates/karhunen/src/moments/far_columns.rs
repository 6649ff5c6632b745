//! Columns of sparse data that lie far from zero: nearly all of their entries are stored, and their mean is large
//! compared with their deviation. Products that are centred after they are summed lose the digits of such columns, so
//! their values are centred first. They take about as much memory as their stored entries.

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::dense::rank_k;
use crate::linalg::{ColumnMap, Dense, Major, Matrix, Sparse};
use crate::scalar::Scalar;

/// Least ratio of the squared mean of such a column to its variance. A column of which half is stored has a ratio of at
/// most one.
const FAR: f64 = 100.0;
/// Number of columns far from zero whose products with other columns are summed at a time.
const AT_ONCE: usize = 16;

/// Recomputes the products of columns far from zero in `out`, `M' W M`, where M has the entries
/// `(x_ij - shift_j - remainder_j) * factor_j` and W is the diagonal matrix of `row_weights` (1 where `None`) of sum `total`.
///
/// # Errors
/// [`crate::Error::Memory`]; [`crate::Error::Stopped`].
pub(super) fn recompute<T: Scalar>(
    x: &Sparse<'_, T>,
    map: &ColumnMap<'_>,
    row_weights: Option<&[f64]>,
    total: f64,
    out: &mut Matrix,
    exec: &Exec<'_>,
) -> Result<()> {
    let moved = |j: usize| map.shift[j] * map.factor[j];
    // About the exact mean: the rounding of a mean may exceed the deviation.
    let remainder = |j: usize| map.remainder.get(j).copied().unwrap_or(0.0);
    let mapped = |value: f64, j: usize| (value - map.shift[j] - remainder(j)) * map.factor[j];
    // Squares that lost all digits may be negative.
    let is_far = |j: &usize| total * moved(*j).powi(2) > FAR * out[(*j, *j)].max(0.0);
    let far: Vec<usize> = (0..x.n_cols()).filter(|j| moved(*j) != 0.0).filter(is_far).collect();
    if far.is_empty() {
        return Ok(());
    }
    let (n, d) = (x.n_rows(), far.len());
    let mut place = vec![None; x.n_cols()];
    far.iter().enumerate().for_each(|(k, j)| place[*j] = Some(k));
    let mut values = Matrix::try_zeros("columns far from zero", n, d)?;
    for i in 0..n {
        for (value, &j) in values.row_mut(i).iter_mut().zip(&far) {
            *value = mapped(0.0, j);
        }
    }
    for_each(x, |i, j, value| {
        if let Some(k) = place[j] {
            values[(i, k)] = mapped(value, j);
        }
    });
    let (shift, factor) = (vec![0.0; d], vec![1.0; d]);
    let as_it_is = ColumnMap { shift: &shift, remainder: &[], factor: &factor };
    let rows = Dense::row_major(values.as_slice(), n, d)?;
    let among = rank_k::scatter(rows, as_it_is, row_weights, &exec.part(0.0, 0.5))?;
    for (k, &row) in far.iter().enumerate() {
        for (l, &column) in far.iter().enumerate() {
            out[(row, column)] = among[(k, l)];
        }
    }
    if let Some(weights) = row_weights {
        for (i, weight) in weights.iter().enumerate() {
            values.row_mut(i).iter_mut().for_each(|value| *value *= weight);
        }
    }
    // Products with the other columns, for some columns at a time: of the entries, and of their shift.
    let others: Vec<usize> = (0..x.n_cols()).filter(|j| place[*j].is_none()).collect();
    let mut products = vec![0.0; d.div_ceil(AT_ONCE) * AT_ONCE * x.n_cols()];
    exec.part(0.5, 1.0).fill(&mut products, AT_ONCE * x.n_cols(), |piece, products| {
        let columns = piece * AT_ONCE..d.min((piece + 1) * AT_ONCE);
        let mut sums = [0.0; AT_ONCE];
        for i in 0..n {
            sums.iter_mut().zip(&values.row(i)[columns.clone()]).for_each(|(sum, value)| *sum += value);
        }
        for_each(x, |i, j, value| {
            if place[j].is_none() {
                let of_row = &values.row(i)[columns.clone()];
                products[j * AT_ONCE..].iter_mut().zip(of_row).for_each(|(sum, far)| *sum += value * far);
            }
        });
        for &j in &others {
            for (product, sum) in products[j * AT_ONCE..].iter_mut().zip(sums) {
                *product = map.factor[j] * (*product - map.shift[j] * sum);
            }
        }
        Ok(())
    })?;
    for (k, &column) in far.iter().enumerate() {
        let of_column = &products[k / AT_ONCE * AT_ONCE * x.n_cols()..];
        for &j in &others {
            let product = of_column[j * AT_ONCE + k % AT_ONCE];
            (out[(j, column)], out[(column, j)]) = (product, product);
        }
    }
    Ok(())
}

/// Calls `f` with the row, the column and the value of every stored entry.
pub(super) fn for_each<T: Scalar>(x: &Sparse<'_, T>, mut f: impl FnMut(usize, usize, f64)) {
    let indices = x.indices();
    for (line, ends) in x.pointers().windows(2).enumerate() {
        for e in ends[0]..ends[1] {
            let value = x.values()[e].to_f64();
            match x.major() {
                Major::Rows => f(line, indices.at(e), value),
                Major::Columns => f(indices.at(e), line, value),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moments::sparse_scatter::scatter;
    use crate::testing::test_matrices::gaussian;

    /// Three full columns far from zero, one of zeros and ones, one that is rarely stored.
    fn rows(n: usize, far: f64) -> Matrix {
        let noise = gaussian(n, 5, 3, 0);
        Matrix::from_fn(n, 5, |i, j| match j {
            0 => far + noise[(i, 0)],
            1 => -3.0 * far + 5.0 * noise[(i, 1)],
            2 => far + 1e-3 * noise[(i, 2)],
            3 => f64::from(u8::from(noise[(i, 3)] > 0.0)),
            _ if i % 11 == 4 => noise[(i, 4)],
            _ => 0.0,
        })
    }

    #[test]
    fn columns_far_from_zero_keep_their_digits() {
        let n = 400;
        let weights: Vec<f64> = (0..n).map(|i| [1.0, 0.0, 2.5][i % 3]).collect();
        for far in [1e3, 1e9, 1e12] {
            let x = rows(n, far);
            for weights in [None, Some(&weights[..])] {
                let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
                let total: f64 = (0..n).map(weight).sum();
                // About a first value, which is exact.
                let from_first: Vec<f64> = (0..5)
                    .map(|j| (0..n).map(|i| weight(i) * (x[(i, j)] - x[(0, j)])).sum::<f64>() / total)
                    .collect();
                let mean: Vec<f64> = (0..5).map(|j| x[(0, j)] + from_first[j]).collect();
                let remainder: Vec<f64> = (0..5).map(|j| (x[(0, j)] - mean[j]) + from_first[j]).collect();
                let factor = [1.0, 2.0, 30.0, 0.5, 1.0];
                let expected = |j: usize, k: usize| -> f64 {
                    let at = |i: usize, j: usize| (x[(i, j)] - x[(0, j)] - from_first[j]) * factor[j];
                    (0..n).map(|i| weight(i) * at(i, j) * at(i, k)).sum()
                };
                let map = ColumnMap { shift: &mean, remainder: &remainder, factor: &factor };
                let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
                for i in 0..n {
                    for j in (0..5).filter(|j| x[(i, *j)] != 0.0) {
                        indices.push(j);
                        values.push(x[(i, j)]);
                    }
                    pointers.push(values.len());
                }
                let by_rows = Sparse::csr(n, 5, &pointers, &indices, &values).unwrap();
                let found = scatter(&by_rows, &map, weights, &Exec::sequential()).unwrap();
                for j in 0..5 {
                    for k in j..5 {
                        let size = (expected(j, j) * expected(k, k)).sqrt();
                        let error = (found[(j, k)] - expected(j, k)).abs() / size;
                        assert!(error < 1e-11, "{far} {j} {k}: {error:e}");
                    }
                }
            }
        }
    }
}
