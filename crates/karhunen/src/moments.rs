//! Weighted first and second moments that merge: what makes batch, streamed and distributed fits one computation.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec};
use crate::linalg::{Dense, dense_moments, sparse_moments};
use crate::scalar::Scalar;
use crate::source::{Block, Source};

/// Weighted moments of rows about their mean.
///
/// `merge` is associative up to rounding and has [`Moments::empty`] as its neutral element.
/// Chan, Golub & LeVeque (1983), doi:10.1080/00031305.1983.10483115, equations 2.1.
///
/// ```
/// use karhunen::{Dense, Exec, Moments};
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let exec = Exec::sequential();
/// let mut top = Moments::of(&Dense::row_major(&x[..2], 1, 2)?, Some(&[1.0]), &exec)?;
/// let rest = Moments::of(&Dense::row_major(&x[2..], 2, 2)?, Some(&[2.0, 1.0]), &exec)?;
/// top.merge(&rest);
/// assert_eq!(top.mean, [3.0, 4.0]);
/// assert_eq!(top.sum_of_squares, [8.0, 8.0]);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Moments {
    /// Sum of the weights.
    pub weight: f64,
    /// Weighted mean of each column.
    pub mean: Vec<f64>,
    /// Weighted sum of squared deviations from the mean, of each column.
    pub sum_of_squares: Vec<f64>,
}

impl Moments {
    /// The moments of no rows.
    pub fn empty(n_features: usize) -> Self {
        Self { weight: 0.0, mean: vec![0.0; n_features], sum_of_squares: vec![0.0; n_features] }
    }

    /// Reads `x` once (sparse data twice). `weights` holds one weight for each row; all are one if `None`.
    ///
    /// # Errors
    /// [`Error::NonFinite`] names the first NaN or infinite value, [`Error::Overflow`] a column whose variance is
    /// beyond f64; [`Error::Empty`], and what reading raises.
    pub fn of<T: Scalar>(x: &dyn Source<T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        let (n_samples, n_features) = x.shape();
        if n_samples == 0 || n_features == 0 {
            return Err(Error::Empty { n_samples, n_features });
        }
        check_size((n_samples, n_features))?;
        let mut total = Self::empty(n_features);
        let mut done = 0.0;
        x.visit(&mut |first, block| {
            let rows = first..first + block.n_rows();
            let until = rows.end as f64 / n_samples as f64;
            let weights = weights.map(|w| &w[rows.clone()]);
            total.merge(&Self::of_block(&block, weights, &exec.part(done, until))?);
            done = until;
            Ok(())
        })?;
        total.check_finite(x)?;
        Ok(total)
    }

    fn of_block<T: Scalar>(block: &Block<'_, T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        match block {
            Block::Dense(x) => Self::of_dense(x, weights, exec),
            Block::Sparse(x) => {
                let weight = weights.map_or(x.n_rows() as f64, |w| w.iter().sum());
                let (mean, sum_of_squares) = sparse_moments::moments(x, weights, weight, exec)?;
                Ok(Self { weight, mean, sum_of_squares })
            }
        }
    }

    fn of_dense<T: Scalar>(x: &Dense<'_, T>, weights: Option<&[f64]>, exec: &Exec<'_>) -> Result<Self> {
        let piece_rows = dense_moments::piece_rows(x.n_cols());
        let n_pieces = x.n_rows().div_ceil(piece_rows);
        exec.fold(
            n_pieces,
            || Self::empty(x.n_cols()),
            |piece, part| {
                let rows = piece * piece_rows..((piece + 1) * piece_rows).min(x.n_rows());
                let weights = weights.map(|w| &w[rows.clone()]);
                part.weight = dense_moments::accumulate(
                    &x.rows(rows),
                    weights,
                    &mut part.mean,
                    &mut part.sum_of_squares,
                );
                Ok(())
            },
        )
    }

    /// Adds the rows behind `other`.
    ///
    /// # Panics
    /// If the numbers of columns differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.mean.len(), other.mean.len(), "moments of different numbers of columns");
        // An empty side must not turn into 0 / 0; what is not finite must stay so, to be found later.
        if other.weight == 0.0 && other.mean.iter().all(|m| *m == 0.0) {
            return;
        }
        if self.weight == 0.0 {
            self.clone_from(other);
            return;
        }
        let weight = self.weight + other.weight;
        let share = other.weight / weight;
        for j in 0..self.mean.len() {
            let delta = other.mean[j] - self.mean[j];
            self.mean[j] += delta * share;
            self.sum_of_squares[j] += other.sum_of_squares[j] + delta * delta * share * self.weight;
        }
        self.weight = weight;
    }

    /// The population variance of column `j` about its mean.
    pub fn variance(&self, j: usize) -> f64 {
        self.sum_of_squares[j] / self.weight
    }

    fn check_finite<T: Scalar>(&self, x: &dyn Source<T>) -> Result<()> {
        let mean = self.mean.iter().position(|m| !m.is_finite());
        let square = self.sum_of_squares.iter().position(|s| !s.is_finite());
        if mean.is_none() && square.is_none() {
            return Ok(());
        }
        x.visit(&mut |first, block| match first_non_finite(&block) {
            Some((row, column, value)) => Err(Error::NonFinite { row: first + row, column, value }),
            None => Ok(()),
        })?;
        Err(match (mean, square) {
            (Some(column), _) => Error::Overflow { statistic: "mean", column },
            (None, column) => Error::Overflow { statistic: "variance", column: column.unwrap_or(0) },
        })
    }
}

/// Asks for the memory of a few vectors along both sides, and gives it back untouched: a sparse file of few bytes may
/// claim any shape.
pub(crate) fn check_size((n_samples, n_features): (usize, usize)) -> Result<()> {
    const VECTORS: usize = 8;
    let values = n_samples.saturating_add(n_features).saturating_mul(VECTORS);
    match Vec::<f64>::new().try_reserve_exact(values) {
        Ok(()) => Ok(()),
        Err(_) => Err(Error::TooLarge { n_samples, n_features }),
    }
}

/// Below this, squares of deviations have lost digits to underflow, or vanished.
const UNDERFLOW: f64 = 1e-280;

/// The standard deviation (population) of each column, also of columns whose squared deviations underflow: those are
/// read again, divided by their largest deviation.
///
/// # Errors
/// What reading raises.
pub(crate) fn deviations<T: Scalar>(
    moments: &Moments,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
) -> Result<Vec<f64>> {
    let p = moments.mean.len();
    let mut deviations: Vec<f64> = (0..p).map(|j| moments.variance(j).sqrt()).collect();
    let tiny: Vec<usize> = (0..p).filter(|&j| moments.variance(j) < UNDERFLOW).collect();
    if tiny.is_empty() {
        return Ok(deviations);
    }
    let n_rows = x.shape().0;
    let mut columns = vec![Tiny::default(); tiny.len()];
    visit_columns(x, &tiny, |_, c, value| {
        let column = &mut columns[c];
        column.largest = column.largest.max((value - moments.mean[tiny[c]]).abs());
        column.n_stored += 1;
    })?;
    for (column, &j) in columns.iter_mut().zip(&tiny) {
        if column.n_stored < n_rows {
            column.largest = column.largest.max(moments.mean[j].abs());
        }
    }
    visit_columns(x, &tiny, |row, c, value| {
        let column = &mut columns[c];
        if column.largest > 0.0 {
            let deviation = (value - moments.mean[tiny[c]]) / column.largest;
            let weight = weights.map_or(1.0, |w| w[row]);
            column.squares += weight * deviation * deviation;
            column.weight += weight;
        }
    })?;
    for (column, &j) in columns.iter().zip(&tiny) {
        let missing = if column.n_stored < n_rows { (moments.weight - column.weight).max(0.0) } else { 0.0 };
        let zero = if column.largest > 0.0 { moments.mean[j] / column.largest } else { 0.0 };
        deviations[j] = column.largest * ((column.squares + missing * zero * zero) / moments.weight).sqrt();
    }
    Ok(deviations)
}

/// What is gathered of a column of tiny deviations.
#[derive(Clone, Default)]
struct Tiny {
    /// The largest deviation from the mean, of what is not stored too.
    largest: f64,
    n_stored: usize,
    /// The weight of the stored entries.
    weight: f64,
    /// Their weighted squared deviations, in units of the largest.
    squares: f64,
}

/// Calls `f` with the row, the place in `columns` and the value of every stored entry of those columns.
fn visit_columns<T: Scalar>(
    x: &dyn Source<T>,
    columns: &[usize],
    mut f: impl FnMut(usize, usize, f64),
) -> Result<()> {
    x.visit(&mut |first, block| {
        match block {
            Block::Dense(x) => {
                for i in 0..x.n_rows() {
                    columns.iter().enumerate().for_each(|(c, &j)| f(first + i, c, x.get(i, j).to_f64()));
                }
            }
            Block::Sparse(x) => sparse_moments::visit_columns(&x, columns, |i, c, value| {
                f(first + i, c, value);
            }),
        }
        Ok(())
    })
}

/// The first entry, in the order of rows, that is NaN or infinite.
pub(crate) fn first_non_finite<T: Scalar>(block: &Block<'_, T>) -> Option<(usize, usize, f64)> {
    match block {
        Block::Dense(x) => dense_moments::first_non_finite(x),
        Block::Sparse(x) => sparse_moments::first_non_finite(x),
    }
}

impl Accumulate for Moments {
    fn reset(&mut self) {
        self.weight = 0.0;
        self.mean.fill(0.0);
        self.sum_of_squares.fill(0.0);
    }
    fn merge(&mut self, other: &Self) {
        Moments::merge(self, other);
    }
}
