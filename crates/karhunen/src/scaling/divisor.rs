//! The divisor of a column by each rule.

use crate::error::{Error, Result, options};
use crate::scaling::Scaling;

/// Rules for the divisor of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scales<'a> {
    /// One.
    Unit,
    /// The standard deviation, with this correction of the divisor.
    Deviation(f64),
    /// Its square root.
    Pareto(f64),
    /// That of binomial counts out of two with the mean of the column.
    Binomial,
    /// These numbers.
    Given(&'a [f64]),
}

impl<'a> Scales<'a> {
    /// The rule of `scaling`, with the correction of the divisor and the ranges of the columns, which
    /// [`Scaling::Range`] needs; the caller has refused it if there are none.
    pub(crate) fn new(scaling: &'a Scaling, correction: f64, ranges: Option<&'a [f64]>) -> Self {
        match scaling {
            Scaling::None => Self::Unit,
            Scaling::Deviation => Self::Deviation(correction),
            Scaling::Pareto => Self::Pareto(correction),
            Scaling::Range => {
                Self::Given(ranges.unwrap_or_else(|| unreachable!("fits measure ranges first")))
            }
            Scaling::Binomial => Self::Binomial,
            Scaling::Given(values) => Self::Given(values),
        }
    }

    /// The divisor of column `j` with the population standard deviation `spread` and this mean: one where the rule gives
    /// zero.
    ///
    /// # Errors
    /// [`Error::ColumnValue`] for a mean that no counts out of two have.
    pub(crate) fn of_column(self, j: usize, spread: f64, mean: f64) -> Result<f64> {
        let scale = match self {
            Self::Unit => 1.0,
            Self::Deviation(correction) => spread * correction.sqrt(),
            Self::Pareto(correction) => (spread * correction.sqrt()).sqrt(),
            Self::Binomial if (0.0..=2.0).contains(&mean) => (mean * (1.0 - mean / 2.0)).sqrt(),
            Self::Binomial => {
                let rule = "binomial scales need means of counts 0, 1, 2, within 0 and 2";
                return Err(Error::ColumnValue { option: options::SCALE, column: j, value: mean, rule });
            }
            Self::Given(values) => values[j],
        };
        Ok(if scale > 0.0 { scale } else { 1.0 })
    }
}
