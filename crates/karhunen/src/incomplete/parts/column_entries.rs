//! Counts, means and squares of the entries of each feature.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::incomplete::data::{ColumnScales, Observed};
use crate::incomplete::updates::mean::{ColumnSums, Deviations};
use crate::scalar::Scalar;
use crate::scaling::{Scales, Scaling};

/// Features per piece of work.
const FEATURES: usize = 64;

/// Sums over the observed entries of some rows, which merge. Entries count as often as their rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ColumnEntries {
    /// Number of rows, including rows of weight zero.
    pub(crate) n_rows: usize,
    /// Sum of the multiplicities of the rows with entries.
    pub(crate) samples: f64,
    /// Sum of the multiplicities of all rows.
    pub(crate) multiplicity: f64,
    /// Number of entries of each feature.
    pub(crate) n_observed: Vec<f64>,
    /// Sum of the multiplicities of the entries of each feature.
    pub(crate) weight: Vec<f64>,
    /// Mean of the entries of each feature; zero without entries.
    pub(crate) mean: Vec<f64>,
    /// Sum of their squared deviations from the mean.
    pub(crate) squares: Vec<f64>,
}

impl ColumnEntries {
    pub(crate) fn empty(p: usize) -> Self {
        let zeros = || vec![0.0; p];
        Self {
            n_rows: 0,
            samples: 0.0,
            multiplicity: 0.0,
            n_observed: zeros(),
            weight: zeros(),
            mean: zeros(),
            squares: zeros(),
        }
    }

    pub(crate) fn of<T: Scalar>(data: &Observed<T>, exec: &Exec<'_>) -> Result<Self> {
        let mut sums = vec![[0.0; 3]; data.n_features()];
        exec.fill(&mut sums, FEATURES, |piece, out| {
            for (at, [weight, mean, squares]) in out.iter_mut().enumerate() {
                let line = data.columns().line(piece * FEATURES + at);
                let weight_of = |e: usize| line.weights.map_or(1.0, |w| w[e].to_f64());
                let over = |of: &dyn Fn(usize, f64) -> f64| -> f64 {
                    line.values.iter().enumerate().map(|(e, x)| weight_of(e) * of(e, x.to_f64())).sum()
                };
                *weight = over(&|_, _| 1.0);
                if let (true, Some(origin)) = (*weight > 0.0, line.values.first().map(|x| x.to_f64())) {
                    // A first mean, about an entry so that constant entries have squares of exactly zero, and the mean
                    // about it.
                    let first = origin + over(&|_, x| x - origin) / *weight;
                    *mean = first + over(&|_, x| x - first) / *weight;
                    let centre = *mean;
                    *squares = over(&|_, x| (x - centre).powi(2));
                }
            }
            Ok(())
        })?;
        let of = |k: usize| sums.iter().map(|sums| sums[k]).collect();
        Ok(Self {
            n_rows: data.n_samples(),
            samples: data.over_rows(|row| f64::from(u8::from(data.n_observed_in_row(row) > 0))),
            multiplicity: data.total_samples(),
            n_observed: (0..data.n_features()).map(|j| data.n_observed_in_column(j) as f64).collect(),
            weight: of(0),
            mean: of(1),
            squares: of(2),
        })
    }

    /// Refuses means and squares beyond f64.
    pub(crate) fn check(&self) -> Result<()> {
        let finite = |j: &usize| self.mean[*j].is_finite() && self.squares[*j].is_finite();
        match (0..self.weight.len()).find(|j| !finite(j)) {
            Some(column) => Err(Error::Overflow { statistic: "variance", column }),
            None => Ok(()),
        }
    }

    /// Adds the sums over other rows (Chan, Golub & LeVeque 1983, eq. 2.1).
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_rows += other.n_rows;
        self.samples += other.samples;
        self.multiplicity += other.multiplicity;
        for j in 0..self.weight.len() {
            self.n_observed[j] += other.n_observed[j];
            if other.weight[j] > 0.0 {
                let weight = self.weight[j] + other.weight[j];
                let (share, away) = (other.weight[j] / weight, other.mean[j] - self.mean[j]);
                self.squares[j] += other.squares[j] + self.weight[j] * share * away * away;
                self.mean[j] += share * away;
                self.weight[j] = weight;
            }
        }
    }

    /// Scales of a fit, as [`ColumnScales::of`] of the entries themselves. Ranges are refused by the caller.
    ///
    /// # Errors
    /// As [`ColumnScales::of`].
    pub(crate) fn scales(
        &self,
        scaling: &Scaling,
        centred: bool,
        feature_weights: Option<&[f64]>,
    ) -> Result<ColumnScales> {
        let weights = feature_weights.map(<[f64]>::to_vec);
        let p = self.weight.len();
        scaling.check(p)?;
        if *scaling == Scaling::None {
            return Ok(ColumnScales { scale: None, weights });
        }
        let deviation = |j: usize| {
            let (count, mean) = (self.weight[j], if centred { 0.0 } else { self.mean[j] });
            let squares = self.squares[j] + count * mean * mean;
            if count > 1.0 { (squares / (count - 1.0)).sqrt() } else { 0.0 }
        };
        let rule = Scales::new(scaling, 1.0, None);
        ColumnScales::by_rule(rule, weights, (0..p).map(|j| (deviation(j), self.mean[j])))
    }

    /// The sums over the entries times the factor of their column.
    pub(crate) fn multiplied(&self, factors: &[f64]) -> Self {
        let times = |values: &[f64], power: i32| {
            values.iter().zip(factors).map(|(x, factor)| x * factor.powi(power)).collect()
        };
        Self { mean: times(&self.mean, 1), squares: times(&self.squares, 2), ..self.clone() }
    }

    /// The mean of all entries and their mean square about it.
    pub(crate) fn mean_and_variance(&self) -> (f64, f64) {
        let mean = self.sums().grand_mean();
        let p = self.mean.len();
        (mean, self.deviations_about(&vec![mean; p]).mean_square)
    }

    /// `sum w` and `sum w x` of each feature.
    pub(crate) fn sums(&self) -> ColumnSums {
        let value = self.weight.iter().zip(&self.mean).map(|(w, mean)| w * mean).collect();
        ColumnSums { weight: self.weight.clone(), value }
    }

    /// Number of entries, with multiplicities.
    pub(crate) fn total(&self) -> f64 {
        self.weight.iter().sum()
    }

    /// As [`crate::incomplete::updates::mean::deviations_about`].
    pub(crate) fn deviations_about(&self, mean: &[f64]) -> Deviations {
        let squares = |j: usize| self.squares[j] + self.weight[j] * (self.mean[j] - mean[j]).powi(2);
        let p = self.weight.len();
        let widest = (0..p).max_by(|i, j| squares(*i).total_cmp(&squares(*j))).unwrap_or(0);
        Deviations { mean_square: (0..p).map(squares).sum::<f64>() / self.total(), widest }
    }
}
