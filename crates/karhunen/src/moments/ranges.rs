//! The largest less the smallest value of each column.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec, Resumable, State};
use crate::linalg::Dense;
use crate::moments::dense_sums;
use crate::moments::far_columns::for_each;
use crate::moments::row_sums::{self, RowSums};
use crate::scalar::{Scalar, compiled};
use crate::source::{Block, Source};

/// The smallest and the largest value of each column, among the rows of positive weight. Zeros that sparse rows do not
/// store count.
#[derive(Clone, Debug)]
pub(crate) struct Extremes {
    /// Infinite while there are no rows.
    least: Vec<f64>,
    /// Minus infinity while there are no rows.
    largest: Vec<f64>,
}

impl Extremes {
    /// The extremes of no rows.
    pub(crate) fn empty(p: usize) -> Self {
        Self { least: vec![f64::INFINITY; p], largest: vec![f64::NEG_INFINITY; p] }
    }

    /// The extremes of `x`, in one visit.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for NaN and infinite values of rows of positive weight; errors of the weights and of `x`.
    pub(crate) fn within<T: Scalar>(
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let of = compiled!(T, Extremes::of_source::<T>
            => fn(&dyn Source<T>, Option<&[f64]>, &Exec<'_>) -> Result<Extremes>);
        of(x, weights, exec)
    }

    fn of_source<T: Scalar>(x: &dyn Source<T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        let mut total = None;
        row_sums::add_source(&mut total, x, weights, exec)?;
        Ok(total.unwrap_or_else(|| Self::empty(x.shape().1)))
    }

    /// The largest less the smallest value of each column; zero without rows.
    ///
    /// # Errors
    /// [`Error::Overflow`] for a range beyond f64.
    pub(crate) fn ranges(&self) -> Result<Vec<f64>> {
        let pairs = self.least.iter().zip(&self.largest);
        let ranges: Vec<f64> =
            pairs.map(|(least, largest)| if largest >= least { largest - least } else { 0.0 }).collect();
        match ranges.iter().position(|range| !range.is_finite()) {
            Some(column) => Err(Error::Overflow { statistic: "range", column }),
            None => Ok(ranges),
        }
    }

    fn add(&mut self, j: usize, value: f64) {
        // NaN stays.
        if value < self.least[j] || value.is_nan() {
            self.least[j] = value;
        }
        if value > self.largest[j] {
            self.largest[j] = value;
        }
    }
}

impl RowSums for Option<Extremes> {
    fn is_finite(&self) -> bool {
        let within = |least: &f64, largest: &f64| *least > f64::NEG_INFINITY && *largest < f64::INFINITY;
        self.as_ref().is_none_or(|all| all.least.iter().zip(&all.largest).all(|(a, b)| within(a, b)))
    }

    fn piece_rows(n_cols: usize) -> usize {
        dense_sums::piece_rows(n_cols)
    }

    fn add_rows<T: Scalar>(
        &mut self,
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let (n, p) = (block.n_rows(), block.n_cols());
        let counts = |i: usize| weights.is_none_or(|w| w[i] > 0.0);
        match block {
            Block::Dense(x) => {
                let piece = dense_sums::piece_rows(p);
                exec.fold_into(
                    self,
                    n.div_ceil(piece),
                    || Extremes::empty(p),
                    |index, all| {
                        let first = index * piece;
                        add_dense(all, &x.rows(first..(first + piece).min(n)), |i| counts(first + i));
                        Ok(())
                    },
                )
            }
            Block::Sparse(x) => {
                let n_rows = (0..n).filter(|i| counts(*i)).count();
                let (all, mut n_stored) = (self.get_or_insert_with(|| Extremes::empty(p)), vec![0; p]);
                for_each(x, |i, j, value| {
                    if counts(i) {
                        all.add(j, value);
                        n_stored[j] += 1;
                    }
                });
                (0..p).filter(|j| n_stored[*j] < n_rows).for_each(|j| all.add(j, 0.0));
                Ok(())
            }
        }
    }
}

/// Adds the rows for which `counts` returns true, by rows or by columns as memory holds them.
fn add_dense<T: Scalar>(all: &mut Extremes, x: &Dense<'_, T>, counts: impl Fn(usize) -> bool) {
    if x.contiguous_row(0).is_none() && x.t().contiguous_row(0).is_some() {
        for j in 0..x.n_cols() {
            (0..x.n_rows()).filter(|i| counts(*i)).for_each(|i| all.add(j, x.get(i, j).to_f64()));
        }
        return;
    }
    for i in (0..x.n_rows()).filter(|i| counts(*i)) {
        (0..x.n_cols()).for_each(|j| all.add(j, x.get(i, j).to_f64()));
    }
}

impl Resumable for Extremes {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        let Self { least, largest } = self;
        state.slice(least)?;
        state.slice(largest)
    }
}

impl Accumulate for Extremes {
    fn reset(&mut self) {
        self.least.fill(f64::INFINITY);
        self.largest.fill(f64::NEG_INFINITY);
    }

    fn merge(&mut self, other: &Self) {
        for j in 0..self.least.len() {
            self.add(j, other.least[j]);
            self.add(j, other.largest[j]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Sparse;

    fn of(source: &dyn Source<f64>, weights: Option<&[f64]>) -> Result<Vec<f64>> {
        Extremes::within(source, weights, &Exec::sequential())?.ranges()
    }

    #[test]
    fn rows_of_weight_zero_do_not_count_and_zeros_that_are_not_stored_do() {
        // Columns: of both signs, positive and full, positive with a zero in the row of weight zero alone, empty.
        let rows = [-1.0, 5.0, 3.0, 0.0, 100.0, 50.0, 0.0, 0.0, 2.0, 7.5, 4.0, 0.0];
        let by_columns = [-1.0, 100.0, 2.0, 5.0, 50.0, 7.5, 3.0, 0.0, 4.0, 0.0, 0.0, 0.0];
        let (pointers, indices) = ([0usize, 3, 5, 8], [0u32, 1, 2, 0, 1, 0, 1, 2]);
        let stored = [-1.0, 5.0, 3.0, 100.0, 50.0, 2.0, 7.5, 4.0];
        let sources: [&dyn Source<f64>; 3] = [
            &Dense::row_major(&rows, 3, 4).unwrap(),
            &Dense::column_major(&by_columns, 3, 4).unwrap(),
            &Sparse::csr(3, 4, &pointers, &indices, &stored).unwrap(),
        ];
        for source in sources {
            assert_eq!(of(source, None).unwrap(), [101.0, 45.0, 4.0, 0.0]);
            assert_eq!(of(source, Some(&[1.0, 0.0, 0.5])).unwrap(), [3.0, 2.5, 1.0, 0.0]);
        }
    }

    #[test]
    fn values_that_are_not_finite_and_ranges_beyond_f64_are_errors() {
        let error = |values: [f64; 2]| {
            let x = Dense::column_major(&values, 2, 1).unwrap();
            of(&x, None).unwrap_err()
        };
        for bad in [f64::NEG_INFINITY, f64::INFINITY, f64::NAN] {
            assert!(matches!(error([0.0, bad]), Error::NonFinite { row: 1, column: 0, .. }));
            assert!(matches!(error([bad, 0.0]), Error::NonFinite { row: 0, column: 0, .. }));
        }
        assert!(matches!(error([-1e308, 1e308]), Error::Overflow { statistic: "range", column: 0 }));
    }
}
