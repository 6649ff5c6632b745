//! Multiplicities of rows.

use std::sync::Arc;

use crate::error::{Error, OptionValue, Result, Weighed, options};
use crate::incomplete::data::Observed;
use crate::scalar::Scalar;
use crate::weights::{check_weights, counts_several};

impl<T: Scalar> Observed<T> {
    /// Sets the multiplicities of the rows, shape (n_samples,): a fit equals a fit of the repeated rows, with one
    /// row of scores for each. A row of weight zero does not influence the fit; its scores are computed
    /// afterwards. Memory: one number per entry; a clone shares the rest.
    ///
    /// ```
    /// use karhunen::{Dense, IncompletePca, Observed};
    /// let x = [1.0, 2.0, f64::NAN, -1.0, 0.5, 3.0, 2.0, 0.0];
    /// let rows = Observed::from_dense(&Dense::row_major(&x, 4, 2)?)?;
    /// let weighted = rows.with_sample_weights(&[1.0, 2.0, 1.0, 0.0])?;
    /// let y = [1.0, 2.0, f64::NAN, -1.0, f64::NAN, -1.0, 0.5, 3.0];
    /// let repeated = Observed::from_dense(&Dense::row_major(&y, 4, 2)?)?;
    /// let (a, b) = (IncompletePca::new(1).fit(&weighted)?, IncompletePca::new(1).fit(&repeated)?);
    /// assert!((a.mean()[0] - b.mean()[0]).abs() < 1e-6);
    /// assert_eq!(a.scores().n_rows(), 4);
    /// # Ok::<(), karhunen::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WeightLength`], [`Error::WeightValue`] and [`Error::WeightsAllZero`]; [`Error::Option`] for a sum
    /// below 2 or an infinite sum, and if the rows already have weights.
    pub fn with_sample_weights(self, weights: &[f64]) -> Result<Self> {
        let n = self.n_samples();
        check_weights(Some(weights), n)?;
        if n > 0 && weights.iter().all(|w| *w == 0.0) {
            return Err(Error::WeightsAllZero { of: Weighed::Samples, n });
        }
        let sum = weights.iter().sum::<f64>();
        if n > 0 && !(counts_several(sum) && sum.is_finite()) {
            return Err(Error::option(
                options::SAMPLE_WEIGHTS,
                OptionValue::Given,
                format!(
                    "they sum to {sum:?}, but they count how often a row was observed, so their sum is finite and at least \
                     2; multiply them so that they sum to the number of rows"
                ),
            ));
        }
        if self.multiplicity.is_some() {
            return Err(Error::option(
                options::SAMPLE_WEIGHTS,
                OptionValue::name("given twice"),
                "rows are weighed once; multiply the weights",
            ));
        }
        Ok(self.with_multiplicity(Some(weights.into())))
    }

    /// The multiplicities of the rows, if set.
    pub fn sample_weights(&self) -> Option<&[f64]> {
        self.multiplicity.as_deref()
    }

    /// The multiplicities, shared with factors of the rows.
    pub(crate) fn multiplicity(&self) -> Option<&Arc<[f64]>> {
        self.multiplicity.as_ref()
    }

    /// Sets the multiplicities without checks.
    pub(crate) fn with_multiplicity(self, multiplicity: Option<Arc<[f64]>>) -> Self {
        match multiplicity {
            None => self,
            Some(multiplicity) => Self {
                rows: self.rows.with_multiplicity(multiplicity.clone()),
                columns: self.columns.reweighted(&multiplicity),
                multiplicity: Some(multiplicity),
                feature_weights: self.feature_weights,
            },
        }
    }

    /// Sum of the multiplicities of the rows.
    pub(crate) fn total_samples(&self) -> f64 {
        self.multiplicity.as_ref().map_or(self.n_samples() as f64, |multiplicity| multiplicity.iter().sum())
    }

    /// Number of entries, each times the multiplicity of its row.
    pub(crate) fn total_entries(&self) -> f64 {
        self.over_rows(|row| self.rows.count(row) as f64)
    }

    /// Sum of the entry weights, each times the multiplicity of its row.
    pub(crate) fn total_weight(&self) -> f64 {
        self.over_rows(|row| self.rows.weight(row))
    }

    /// Mean weight of the entries.
    pub(crate) fn mean_weight(&self) -> f64 {
        self.total_weight() / self.total_entries().max(1.0)
    }

    /// Sum of `of` over the rows, times their multiplicities.
    pub(crate) fn over_rows(&self, of: impl Fn(usize) -> f64) -> f64 {
        let multiplicity =
            |row: usize| self.multiplicity.as_ref().map_or(1.0, |multiplicity| multiplicity[row]);
        (0..self.n_samples()).map(|row| multiplicity(row) * of(row)).sum()
    }

    /// Number of entries of a column, each times the multiplicity of its row.
    pub(crate) fn total_in_column(&self, column: usize) -> f64 {
        let line = self.columns.line(column);
        match &self.multiplicity {
            None => line.values.len() as f64,
            Some(multiplicity) => line.indices.iter().map(|row| multiplicity[*row as usize]).sum(),
        }
    }
}
