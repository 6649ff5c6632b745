//! Means and standard deviations of columns, accurate even if squared deviations underflow or the mean rounds.

use crate::error::Result;
use crate::moments::Moments;
use crate::moments::sparse_sums;
use crate::scalar::Scalar;
use crate::scaling::Centring;
use crate::source::{Block, Source};

/// Squared deviations below this have lost digits to underflow, or vanished.
const UNDERFLOW: f64 = 1e-280;
/// Deviations below this many units of rounding of the mean change with its rounding: at this number, the variance
/// by the relative amount 2.5e-13.
const ROUNDING_UNITS: f64 = 1e6;

/// Largest relative change of a second moment about a given centre by the rounding of the mean.
const ROUNDED_MOMENT: f64 = 1e-12;

/// From moments alone, a deviation of at most this many units of rounding of the mean counts as zero.
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
}

impl Columns {
    /// The first column that deviates from its mean more than counts out of two can.
    pub(crate) fn first_beyond_counts(&self) -> Option<usize> {
        const ROUNDING: f64 = 0.01;
        let most = |mean: f64| mean * (2.0 - mean) + ROUNDING;
        (0..self.mean.len()).find(|&j| self.deviation[j].powi(2) > most(self.mean[j]))
    }

    /// Takes means and variances from `moments`. Reads columns again whose squared deviations underflow, or whose
    /// deviation or distance to a given centre is near the rounding of their mean: about their first value and in units of
    /// their largest difference from it. A constant column has a deviation of exactly zero.
    ///
    /// # Errors
    /// Errors of `x` while it is read.
    pub(crate) fn new<T: Scalar>(
        moments: &Moments,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        center: &Centring,
    ) -> Result<Self> {
        let p = moments.mean.len();
        let mut mean = moments.mean.clone();
        let mut deviation: Vec<f64> = (0..p).map(|j| moments.variance(j).sqrt()).collect();
        let is_delicate = |j: &usize| {
            let near = deviation[*j] <= ROUNDING_UNITS * f64::EPSILON * mean[*j].abs();
            let about_center = center.given().is_some_and(|centers| {
                let offset = mean[*j] - centers[*j];
                let moment = moments.variance(*j) + offset * offset;
                2.0 * f64::EPSILON * (mean[*j] * offset).abs() > ROUNDED_MOMENT * moment
            });
            near || about_center || moments.variance(*j) < UNDERFLOW
        };
        let delicate: Vec<usize> = (0..p).filter(is_delicate).collect();
        let mut remainder = Vec::new();
        for (&j, column) in delicate.iter().zip(read_again(&delicate, moments.weight, x, weights)?) {
            deviation[j] = column.deviation();
            // The first value is so near the mean that the difference is exact.
            let rest = (column.origin - mean[j]) + column.largest * column.mean;
            let nearest = mean[j] + rest;
            let rest = rest - (nearest - mean[j]);
            mean[j] = nearest;
            if rest != 0.0 && (deviation[j] > 0.0 || center.given().is_some()) {
                remainder.resize(p, 0.0);
                remainder[j] = rest;
            }
        }
        Ok(Self { mean, remainder, deviation })
    }

    /// Takes means and variances from `moments` alone. A column whose deviation is within [`CONSTANT_UNITS`]
    /// counts as constant, because sums over sparse parts leave rounding errors of that size.
    pub(crate) fn of_moments(moments: &Moments) -> Self {
        let deviation = |j: usize| {
            let deviation = moments.variance(j).sqrt();
            let rounding = CONSTANT_UNITS * f64::EPSILON * moments.mean[j].abs();
            if deviation <= rounding { 0.0 } else { deviation }
        };
        let p = moments.mean.len();
        Self { mean: moments.mean.clone(), remainder: Vec::new(), deviation: (0..p).map(deviation).collect() }
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

    /// Bounds the variance that the rounding of the means adds to columns with these factors. Columns whose deviation is near
    /// that rounding add none: [`Columns::new`] computes the remainders of their means.
    pub(crate) fn variance_of_rounding(&self, factor: &[f64]) -> f64 {
        let rounding = |j: usize| f64::EPSILON * self.mean[j].abs();
        let is_rounded = |j: &usize| self.deviation[*j] > ROUNDING_UNITS * rounding(*j);
        (0..factor.len()).filter(is_rounded).map(|j| (rounding(j) * factor[j]).powi(2)).sum()
    }

    /// Tests whether products about the means, without scaling, have lost digits.
    pub(crate) fn need_care(&self) -> bool {
        !self.remainder.is_empty() || self.deviation.iter().any(|&deviation| underflows(deviation))
    }
}

/// Sums over one column of the differences from `origin` in units of `largest`, without rows of weight zero.
#[derive(Clone, Default)]
struct Differences {
    /// The first stored value; zero if nothing is stored.
    origin: f64,
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
            let sum = &mut sums[c];
            if sum.n_stored == 0 {
                sum.origin = value;
            }
            sum.n_stored += 1;
            sum.largest = sum.largest.max((value - sum.origin).abs());
        }
    })?;
    for sum in sums.iter_mut().filter(|sum| sum.n_stored < n_rows) {
        sum.largest = sum.largest.max(sum.origin.abs());
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
