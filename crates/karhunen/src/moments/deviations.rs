//! Means and standard deviations of columns, accurate even if squared deviations underflow.

use crate::error::Result;
use crate::moments::exact_sum::exact_sum;
use crate::moments::{Moments, sparse_sums};
use crate::scalar::Scalar;
use crate::scaling::Centring;
use crate::source::{Block, Source};

/// Squared deviations below this have lost digits to underflow, or vanished.
const UNDERFLOW: f64 = 1e-280;
/// Below this the squares that add up to a variance have lost digits.
const LOST: f64 = f64::MIN_POSITIVE / f64::EPSILON;
/// Values of a larger mean differ by more than squares need, or are equal.
const SMALLEST_MEAN: f64 = 1e-124;
/// A deviation from a mean that is known to f64 alone, or of a constant column from a given centre, counts as zero up to this
/// many units of rounding of the mean.
const CONSTANT_UNITS: f64 = 4.0;

/// Tests whether squares of such deviations have lost digits.
fn underflows(deviation: f64) -> bool {
    deviation > 0.0 && deviation * deviation < UNDERFLOW
}

/// Means and population standard deviations of all columns.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) mean: Vec<f64>,
    /// The exact mean less `mean`, for columns that need it; empty if none does.
    pub(crate) remainder: Vec<f64>,
    pub(crate) deviation: Vec<f64>,
    /// The first column of which sums of squares do not show whether it varies.
    pub(crate) lost: Option<usize>,
}

impl Columns {
    /// The first column that deviates from its mean more than counts out of two can.
    pub(crate) fn first_beyond_counts(&self) -> Option<usize> {
        const ROUNDING: f64 = 0.01;
        let most = |mean: f64| mean * (2.0 - mean) + ROUNDING;
        (0..self.mean.len()).find(|&j| self.deviation[j].powi(2) > most(self.mean[j]))
    }

    /// Takes means and variances from `moments`. Reads columns again whose squared deviations underflow: about the value of
    /// the heaviest row and in units of their largest difference from it. A constant column has a deviation of exactly zero.
    ///
    /// # Errors
    /// Errors of `x` while it is read.
    pub(crate) fn new<T: Scalar>(
        moments: &Moments,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        let p = moments.mean.len();
        let mut columns = Self { lost: None, ..Self::of_moments(moments) };
        let tiny: Vec<usize> = (0..p).filter(|j| moments.variance(*j) < UNDERFLOW).collect();
        for (&j, column) in tiny.iter().zip(read_again(&tiny, moments.weight, x, weights)?) {
            columns.deviation[j] = column.deviation();
            let (mean, rest) = exact_sum(column.origin, column.largest * column.mean);
            columns.mean[j] = mean;
            let rest = if columns.deviation[j] > 0.0 { rest } else { 0.0 };
            if rest != 0.0 {
                columns.remainder.resize(p, 0.0);
            }
            // The rest of the mean from the moments does not belong to this mean.
            if let Some(remainder) = columns.remainder.get_mut(j) {
                *remainder = rest;
            }
        }
        Ok(columns)
    }

    /// Takes means and variances from `moments` alone. Where means are known to f64 alone, deviations at the level of their
    /// rounding count as zero.
    pub(crate) fn of_moments(moments: &Moments) -> Self {
        let units = if moments.mean_rest.is_empty() { CONSTANT_UNITS } else { 0.0 };
        let deviation = |j: usize| {
            let deviation = moments.variance(j).sqrt();
            if deviation <= units * f64::EPSILON * moments.mean[j].abs() { 0.0 } else { deviation }
        };
        let p = moments.mean.len();
        let is_lost = |j: &usize| {
            let (mean, variance) = (moments.mean[*j].abs(), moments.variance(*j));
            variance < LOST && (variance > 0.0 || (mean > 0.0 && mean < SMALLEST_MEAN))
        };
        Self {
            mean: moments.mean.clone(),
            remainder: moments.remainder().to_vec(),
            deviation: (0..p).map(deviation).collect(),
            lost: (0..p).find(is_lost),
        }
    }

    /// The deviation of column `j` about its mean, about zero without centring, or about a given centre.
    pub(crate) fn spread(&self, j: usize, center: &Centring) -> f64 {
        match center {
            Centring::Mean => self.deviation[j],
            Centring::None => self.deviation[j].hypot(self.mean[j]),
            Centring::Given(values) => {
                let remainder = self.remainder.get(j).copied().unwrap_or(0.0);
                let offset = (self.mean[j] - values[j]) + remainder;
                // The mean of a constant column may have been rounded.
                let equals = offset.abs() <= CONSTANT_UNITS * f64::EPSILON * self.mean[j].abs();
                if self.deviation[j] == 0.0 && equals { 0.0 } else { self.deviation[j].hypot(offset) }
            }
        }
    }

    /// Bounds the variance along a component, of columns with these factors, that comes from the rounding of the `n_rows`
    /// values of each column. A value `x` is rounded by half a unit at most, with a mean square of up to `(epsilon x)^2 / 12`,
    /// and the largest variance of `n` independent rows is `(1 + sqrt(p / n))^2` times as large (Marchenko & Pastur 1967,
    /// doi:10.1070/SM1967v001n04ABEH001994). `epsilon` refers to a deviation from the mean, smaller where one row has
    /// nearly all weight.
    pub(crate) fn rounding_along(
        &self,
        component: &[f64],
        factor: &[f64],
        (epsilon, n_rows): (f64, f64),
    ) -> f64 {
        // A twelfth, and some room for chance.
        const OF_ROUNDING: f64 = 1.0 / 8.0;
        let largest = (1.0 + (component.len() as f64 / n_rows).sqrt()).powi(2);
        let of_column =
            |j: usize| (component[j] * epsilon * self.mean[j].hypot(self.deviation[j]) * factor[j]).powi(2);
        OF_ROUNDING * largest * (0..component.len()).map(of_column).sum::<f64>()
    }

    /// Tests whether products about the means, without scaling, have lost digits.
    pub(crate) fn need_care(&self) -> bool {
        self.deviation.iter().any(|&deviation| underflows(deviation))
    }
}

/// Sums over one column of the differences from `origin` in units of `largest`, without rows of weight zero.
#[derive(Clone, Default)]
struct Differences {
    /// The value of the first row of the largest weight, among stored values; zero if nothing is stored.
    origin: f64,
    /// That weight.
    heaviest: f64,
    lowest: f64,
    highest: f64,
    n_stored: usize,
    largest: f64,
    /// Sum of the weights of the stored entries.
    weight: f64,
    mean: f64,
    variance: f64,
}

impl Differences {
    fn of(&self, value: f64) -> f64 {
        if self.largest > 0.0 { (value - self.origin) / self.largest } else { 0.0 }
    }

    fn see(&mut self, weight: f64, value: f64) {
        if self.n_stored == 0 {
            (self.lowest, self.highest) = (value, value);
        }
        if weight > self.heaviest {
            (self.heaviest, self.origin) = (weight, value);
        }
        self.n_stored += 1;
        self.lowest = self.lowest.min(value);
        self.highest = self.highest.max(value);
    }

    fn deviation(&self) -> f64 {
        self.largest * self.variance.sqrt()
    }
}

fn read_again<T: Scalar>(
    columns: &[usize],
    total: f64,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
) -> Result<Vec<Differences>> {
    let mut sums = vec![Differences::default(); columns.len()];
    if columns.is_empty() {
        return Ok(sums);
    }
    let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
    let n_rows = (0..x.shape().0).filter(|&row| weight(row) > 0.0).count();
    visit_columns(x, columns, |row, c, value| {
        if weight(row) > 0.0 {
            sums[c].see(weight(row), value);
        }
    })?;
    for sum in &mut sums {
        let unstored = if sum.n_stored < n_rows { sum.origin.abs() } else { 0.0 };
        sum.largest = (sum.highest - sum.origin).max(sum.origin - sum.lowest).max(unstored);
    }
    if sums.iter().all(|sum| sum.largest == 0.0) {
        return Ok(sums);
    }
    visit_columns(x, columns, |row, c, value| {
        let (sum, weight) = (&mut sums[c], weight(row));
        // In a row of weight zero the difference may overflow.
        if weight > 0.0 {
            sum.weight += weight;
            sum.mean += weight * sum.of(value);
        }
    })?;
    // Weight of the entries that are not stored; exactly zero if all are stored.
    let unstored =
        |sum: &Differences| if sum.n_stored < n_rows { (total - sum.weight).max(0.0) } else { 0.0 };
    for sum in &mut sums {
        sum.mean = (sum.mean + unstored(sum) * sum.of(0.0)) / total;
    }
    visit_columns(x, columns, |row, c, value| {
        let (sum, weight) = (&mut sums[c], weight(row));
        if weight > 0.0 {
            sum.variance += weight * (sum.of(value) - sum.mean).powi(2);
        }
    })?;
    for sum in &mut sums {
        sum.variance = (sum.variance + unstored(sum) * (sum.of(0.0) - sum.mean).powi(2)) / total;
    }
    Ok(sums)
}

/// Calls `f` with the row, the index into `columns` and the value of every stored entry of those columns.
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
            Block::Sparse(x) => sparse_sums::visit_columns(&x, columns, |i, c, value| {
                f(first + i, c, value);
            }),
        }
        Ok(())
    })
}
