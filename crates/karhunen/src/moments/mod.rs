//! Weighted first and second moments that merge: the common basis of batch, streamed and distributed fits.

mod decay;
pub(crate) mod dense_scatter;
pub(crate) mod dense_sums;
mod deviations;
pub(crate) mod exact_sum;
mod far_columns;
mod few_entries;
mod of_covariance;
pub(crate) mod packed;
pub(crate) mod ranges;
#[cfg(feature = "serde")]
mod record;
mod row_sums;
mod scatter;
pub(crate) mod sparse_scatter;
pub(crate) mod sparse_sums;
mod wide_scatter;

use decay::check_decay;
pub(crate) use decay::{Aged, Cut};
pub(crate) use deviations::Columns;
pub(crate) use scatter::DenseRows;
pub use scatter::Scatter;

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec, Resumable, Run, State};
use crate::linalg::{Dense, Sparse};
use crate::memory;
use crate::scalar::{Scalar, compiled};
use crate::scaling::is_count;
use crate::source::{Block, Source};
use crate::weights::{Totals, importance_divisor};
use exact_sum::{ColumnsMut, exact_sum};
use row_sums::RowSums;
use sparse_sums::ColumnMoments;

/// Weighted moments of the rows about their mean, for each column separately. [`Scatter`] adds the products
/// between columns.
///
/// `merge` is associative up to rounding and has [`Moments::empty`] as its neutral element.
/// Chan, Golub & LeVeque (1983), doi:10.1080/00031305.1983.10483115, equations 2.1.
///
/// ```
/// use karhunen::moments::Moments;
/// use karhunen::{Dense, Run};
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let run = Run::default();
/// let mut top = Moments::of(&Dense::row_major(&x[..2], 1, 2)?, Some(&[1.0]), &run)?;
/// let rest = Moments::of(&Dense::row_major(&x[2..], 2, 2)?, Some(&[2.0, 1.0]), &run)?;
/// top.merge(&rest)?;
/// assert_eq!(top.mean, [3.0, 4.0]);
/// assert_eq!(top.sum_of_squares, [8.0, 8.0]);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Moments {
    /// Number of rows, including rows of weight zero.
    pub n_samples: usize,
    /// Sum of the weights.
    pub weight: f64,
    /// Sum of the squared weights.
    pub weight_squared: f64,
    /// The divisor of importance weights, `weight - weight_squared / weight`, as a sum of positive terms.
    #[cfg_attr(feature = "serde", serde(default))]
    pub divisor: f64,
    /// Weighted mean of each column.
    pub mean: Vec<f64>,
    /// The mean of each column less its rounded value in `mean`. Empty if the means are known to f64 alone.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mean_rest: Vec<f64>,
    /// Weighted sum of squared deviations from the mean, of each column.
    pub sum_of_squares: Vec<f64>,
    /// True if all weights are integers, so that they can count repetitions.
    #[cfg_attr(feature = "serde", serde(default))]
    pub whole: bool,
}

impl Moments {
    /// The moments of no rows.
    pub fn empty(n_features: usize) -> Self {
        Self {
            n_samples: 0,
            weight: 0.0,
            weight_squared: 0.0,
            divisor: 0.0,
            mean: vec![0.0; n_features],
            mean_rest: vec![0.0; n_features],
            sum_of_squares: vec![0.0; n_features],
            whole: true,
        }
    }

    /// The moments of `n` rows with these weights (1 where `None`) and no columns.
    pub fn of_weights(weights: Option<&[f64]>, n: usize) -> Self {
        let mut moments = Self::empty(0);
        moments.set_weights(weights, n);
        moments
    }

    /// Sets what does not depend on columns for `n` rows with these weights.
    pub(crate) fn set_weights(&mut self, weights: Option<&[f64]>, n: usize) {
        self.n_samples = n;
        self.weight = weights.map_or(n as f64, |w| w.iter().sum());
        self.weight_squared = weights.map_or(n as f64, |w| w.iter().map(|w| w * w).sum());
        self.divisor = weights.map_or(n.saturating_sub(1) as f64, |w| importance_divisor(w, self.weight));
        self.whole = weights.is_none_or(|w| w.iter().all(|w| w.fract() == 0.0));
    }

    fn columns_mut(&mut self) -> ColumnsMut<'_> {
        let Self { mean, mean_rest, sum_of_squares, .. } = self;
        ColumnsMut { mean, mean_rest, sum_of_squares }
    }

    /// Reads `x` once (sparse data twice). `weights` holds one weight for each row; all are one if `None`. The
    /// moments of rows whose weights are all zero can be merged, but have no mean.
    ///
    /// # Errors
    /// [`Error::NonFinite`] names the first NaN or infinite value, [`Error::Overflow`] a column whose variance is
    /// beyond f64; [`Error::WeightLength`], [`Error::WeightValue`] and [`Error::WeightSum`] refuse weights;
    /// [`Error::Empty`]; errors of `x` while it is read; [`Error::Stopped`] if the observer cancels.
    pub fn of<T: Scalar>(x: &dyn Source<T>, weights: Option<&[f64]>, run: &Run<'_>) -> Result<Self> {
        Exec::run(run, |exec| Self::within(x, weights, &exec.phase("means and variances")))
    }

    /// As [`Moments::of`], within running work.
    pub(crate) fn within<T: Scalar>(
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let of = compiled!(T, Moments::of_source::<T>
            => fn(&dyn Source<T>, Option<&[f64]>, &Exec<'_>) -> Result<Moments>);
        of(x, weights, exec)
    }

    fn of_source<T: Scalar>(x: &dyn Source<T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        let mut total = None;
        row_sums::add_source(&mut total, x, weights, exec)?;
        let total = total.unwrap_or_else(|| Self::empty(x.shape().1));
        total.check()?;
        Ok(total)
    }

    fn of_sparse<T: Scalar>(x: &Sparse<'_, T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        let of_weights = Self::of_weights(weights, x.n_rows());
        let ColumnMoments { mean, mean_rest, sum_of_squares } =
            sparse_sums::moments(x, weights, of_weights.weight, exec)?;
        Ok(Self { mean, mean_rest, sum_of_squares, ..of_weights })
    }

    /// Adds the rows of `x`, the first of which begins a piece.
    fn add_dense<T: Scalar>(
        total: &mut Option<Self>,
        x: &Dense<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let piece_rows = dense_sums::piece_rows(x.n_cols());
        let zero = || Self::empty(x.n_cols());
        exec.fold_into(total, x.n_rows().div_ceil(piece_rows), zero, |piece, part| {
            let rows = piece * piece_rows..((piece + 1) * piece_rows).min(x.n_rows());
            let weights = weights.map(|w| &w[rows.clone()]);
            part.set_weights(weights, rows.len());
            let weight = part.weight;
            dense_sums::accumulate(&x.rows(rows), (weights, weight), part.columns_mut());
            Ok(())
        })
    }

    /// Adds the rows of a block to `total`; `first` is the number of its first row in the source. The first row of a
    /// dense block begins a piece.
    ///
    /// # Errors
    /// [`Error::NonFinite`]; [`Error::Stopped`].
    pub(crate) fn add_block<T: Scalar>(
        total: &mut Option<Self>,
        first: usize,
        block: &Block<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        row_sums::add_checked(total, first, block, weights, exec)
    }

    /// Multiplies the weight of every row by `factor`, above 0 and at most 1: older rows count less than those that are
    /// added later. The means do not change. Sums that would leave the range of f64 become zero: such rows are
    /// forgotten, except their number.
    ///
    /// ```
    /// use karhunen::moments::Moments;
    /// use karhunen::{Dense, Run};
    /// let run = Run::default();
    /// let mut moments = Moments::of(&Dense::row_major(&[1.0, 5.0], 2, 1)?, None, &run)?;
    /// moments.decay(0.5)?;
    /// moments.merge(&Moments::of(&Dense::row_major(&[6.0], 1, 1)?, None, &run)?)?;
    /// assert_eq!((moments.weight, moments.mean[0]), (2.0, 4.5));
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Option`] for any other factor.
    pub fn decay(&mut self, factor: f64) -> Result<()> {
        check_decay(factor)?;
        self.fade(factor);
        Ok(())
    }

    /// As [`Moments::decay`], for a factor from 0 to 1.
    pub(crate) fn fade(&mut self, factor: f64) {
        if factor == 1.0 || self.weight == 0.0 {
            return;
        }
        let weight_squared = self.weight_squared * factor * factor;
        let factor = if weight_squared.is_normal() { factor } else { 0.0 };
        self.weight *= factor;
        self.weight_squared *= factor * factor;
        self.divisor *= factor;
        self.sum_of_squares.iter_mut().for_each(|sum| *sum *= factor);
        self.whole = false;
    }

    /// Adds the rows summed in `other`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the numbers of columns differ.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let (found, expected) = (other.mean.len(), self.mean.len());
        if found != expected {
            return Err(Error::Shape { what: "one of the moments", axis: "columns", found, expected });
        }
        self.add(other);
        Ok(())
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.n_samples += other.n_samples;
        self.weight_squared += other.weight_squared;
        self.whole &= other.whole;
        let weight = self.weight + other.weight;
        if other.weight > 0.0 {
            let (mine, others) = (self.weight / weight, other.weight / weight);
            self.divisor = self.divisor * mine + other.divisor * others + 2.0 * self.weight * others;
        }
        // Rows without weight must not give 0 / 0; non-finite values must propagate, to be found later.
        if other.weight == 0.0 && other.mean.iter().all(|m| m.is_finite()) {
            return;
        }
        if self.weight == 0.0 {
            for (mean, other) in self.mean.iter_mut().zip(&other.mean) {
                *mean = if mean.is_finite() { *other } else { *mean };
            }
            self.mean_rest.clone_from(&other.mean_rest);
            self.sum_of_squares.iter_mut().zip(&other.sum_of_squares).for_each(|(sum, other)| *sum += other);
            self.weight = other.weight;
            return;
        }
        let share = other.weight / weight;
        let is_exact = !self.mean_rest.is_empty() && !other.mean_rest.is_empty();
        for j in 0..self.mean.len() {
            let delta = self.to_mean_of(other, j);
            let (mean, rest) = exact_sum(self.mean[j], self.rest(j) + delta * share);
            self.mean[j] = mean;
            if is_exact {
                self.mean_rest[j] = rest;
            }
            self.sum_of_squares[j] += other.sum_of_squares[j] + delta * delta * share * self.weight;
        }
        if !is_exact {
            self.mean_rest = Vec::new();
        }
        self.weight = weight;
    }

    /// The difference `d` of the means and the weight `w` with which the products of two sums merge: the products of
    /// all rows are the products of both plus `w d d'` (Chan, Golub & LeVeque 1983). `w` is zero if one of them has no
    /// weight, whose means may be undefined.
    pub(crate) fn between(&self, other: &Self) -> (Vec<f64>, f64) {
        let weight = if self.weight > 0.0 && other.weight > 0.0 {
            self.weight * (other.weight / (self.weight + other.weight))
        } else {
            0.0
        };
        ((0..self.mean.len()).map(|j| self.to_mean_of(other, j)).collect(), weight)
    }

    /// The difference of the means of column `j`, to about all digits of f64.
    fn to_mean_of(&self, other: &Self, j: usize) -> f64 {
        (other.mean[j] - self.mean[j]) + (other.rest(j) - self.rest(j))
    }

    fn rest(&self, j: usize) -> f64 {
        self.mean_rest.get(j).copied().unwrap_or(0.0)
    }

    /// The rests of the means of all columns; empty if they are within the rounding of the deviations
    /// everywhere. Rows about rounded means have a direction of these rests.
    pub(crate) fn remainder(&self) -> &[f64] {
        const NEGLIGIBLE: f64 = 4.0 * f64::EPSILON;
        let matters = |j: usize| {
            let deviation = (self.sum_of_squares[j] / self.weight).sqrt();
            deviation > 0.0 && self.rest(j).abs() > NEGLIGIBLE * deviation
        };
        if (0..self.mean_rest.len()).any(matters) { &self.mean_rest } else { &[] }
    }

    /// Totals of the weights.
    pub(crate) fn totals(&self) -> Totals {
        let sum_of_squares = self.weight_squared / self.weight / self.weight;
        Totals {
            n_samples: self.n_samples,
            sum: self.weight,
            root_sum: self.weight.sqrt(),
            sum_of_squares,
            rest_of_squares: self.divisor / self.weight,
            heaviest: None,
            whole: self.whole,
        }
    }

    /// The population variance of column `j` about its mean.
    pub fn variance(&self, j: usize) -> f64 {
        self.sum_of_squares[j] / self.weight
    }

    /// The error for the first column whose mean or sum of squares is NaN or infinite.
    fn first_overflow(&self) -> Option<Error> {
        self.first_beyond(f64::MAX, f64::MAX)
    }

    /// The error for the first column whose mean or sum of squares is NaN or beyond a bound.
    fn first_beyond(&self, largest_mean: f64, largest_sum: f64) -> Option<Error> {
        let of = |statistic, values: &[f64], largest: f64| {
            let is_within = |value: &f64| value.abs() <= largest;
            let column = values.iter().position(|value| !is_within(value))?;
            Some(Error::Overflow { statistic, column })
        };
        of("mean", &self.mean, largest_mean).or_else(|| of("variance", &self.sum_of_squares, largest_sum))
    }

    /// Refuses NaN, means beyond `largest` and sums of squares beyond its square.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(crate) fn check_within(&self, largest: f64) -> Result<()> {
        self.first_beyond(largest, largest * largest).map_or(Ok(()), Err)
    }

    /// Refuses moments beyond f64.
    pub(crate) fn check(&self) -> Result<()> {
        let squared = self.weight_squared;
        if !self.weight.is_finite() || !squared.is_finite() || (self.weight > 0.0 && !squared.is_normal()) {
            return Err(Error::WeightSum { weight: self.weight, weight_squared: squared });
        }
        self.first_overflow().map_or(Ok(()), Err)
    }
}

/// Checks the memory of a few vectors along both sides: a small sparse file may declare any shape.
pub(crate) fn check_size((n_samples, n_features): (usize, usize)) -> Result<()> {
    const VECTORS: f64 = 8.0;
    let bytes = 8.0 * VECTORS * (n_samples as f64 + n_features as f64);
    memory::ask(
        &format!("keeping a few numbers for each of {n_samples} rows and {n_features} columns"),
        bytes,
        || vec!["check the shape".into(), "leave out rows and columns without entries".into()],
    )
}

/// Refuses a block with NaN or infinite values; `first` is the number of its first row in the source.
///
/// # Errors
/// [`Error::NonFinite`] for the first such value, in the order of rows; [`Error::NonFiniteUnweighted`] if its row has weight
/// zero.
pub(crate) fn check_finite<T: Scalar>(
    block: &Block<'_, T>,
    first: usize,
    weights: Option<&[f64]>,
) -> Result<()> {
    match first_non_finite(block) {
        Some((row, column, value)) if weights.is_some_and(|w| w[row] == 0.0) => {
            Err(Error::NonFiniteUnweighted { row: first + row, column, value })
        }
        Some((row, column, value)) => Err(Error::NonFinite { row: first + row, column, value }),
        None => Ok(()),
    }
}

/// Refuses finite values beyond 0 and 2 in rows of positive weight; `first` is the number of the first row in the source.
///
/// # Errors
/// [`Error::NoCount`] for the first such value, in the order of rows.
pub(crate) fn check_counts<T: Scalar>(
    block: &Block<'_, T>,
    first: usize,
    weights: Option<&[f64]>,
) -> Result<()> {
    let is_refused =
        |i: usize, value: f64| value.is_finite() && !is_count(value) && weights.is_none_or(|w| w[i] > 0.0);
    match first_entry(block, is_refused) {
        Some((row, column, value)) => Err(Error::NoCount { row: first + row, column, value }),
        None => Ok(()),
    }
}

/// The first entry in the order of rows that `f` holds for, by its row and value, as (row, column, value). Zeros that sparse
/// rows do not store are passed over.
pub(crate) fn first_entry<T: Scalar>(
    block: &Block<'_, T>,
    f: impl Fn(usize, f64) -> bool,
) -> Option<(usize, usize, f64)> {
    let mut found: Option<(usize, usize, f64)> = None;
    let mut look = |i: usize, j: usize, value: f64| {
        if f(i, value) && found.is_none_or(|(row, column, _)| (i, j) < (row, column)) {
            found = Some((i, j, value));
        }
    };
    match block {
        Block::Dense(x) if x.n_rows() > 0 && x.contiguous_row(0).is_none() => {
            (0..x.n_cols()).for_each(|j| (0..x.n_rows()).for_each(|i| look(i, j, x.get(i, j).to_f64())))
        }
        Block::Dense(x) => {
            (0..x.n_rows()).for_each(|i| (0..x.n_cols()).for_each(|j| look(i, j, x.get(i, j).to_f64())))
        }
        Block::Sparse(x) => far_columns::for_each(x, look),
    }
    found
}

/// The first NaN or infinite entry in the order of rows, as (row, column, value).
fn first_non_finite<T: Scalar>(block: &Block<'_, T>) -> Option<(usize, usize, f64)> {
    match block {
        Block::Dense(x) => dense_sums::first_non_finite(x),
        Block::Sparse(x) => sparse_sums::first_non_finite(x),
    }
}

impl RowSums for Option<Moments> {
    fn is_finite(&self) -> bool {
        self.as_ref().is_none_or(|total| total.first_overflow().is_none())
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
        match block {
            Block::Dense(x) => Moments::add_dense(self, x, weights, exec),
            Block::Sparse(x) => {
                row_sums::add(self, Moments::of_sparse(x, weights, exec)?);
                Ok(())
            }
        }
    }
}

impl Resumable for Moments {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        let Self { n_samples, weight, weight_squared, divisor, mean, mean_rest, sum_of_squares, whole } =
            self;
        n_samples.exchange(state)?;
        state.number(weight)?;
        state.number(weight_squared)?;
        state.number(divisor)?;
        state.flag(whole)?;
        state.slice(mean)?;
        state.slice(mean_rest)?;
        state.slice(sum_of_squares)
    }
}

impl Accumulate for Moments {
    fn reset(&mut self) {
        (self.n_samples, self.weight, self.weight_squared, self.divisor) = (0, 0.0, 0.0, 0.0);
        self.mean.fill(0.0);
        self.mean_rest.clear();
        self.mean_rest.resize(self.mean.len(), 0.0);
        self.sum_of_squares.fill(0.0);
    }
    fn merge(&mut self, other: &Self) {
        self.add(other);
    }
}
