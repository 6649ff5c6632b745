//! Groups of rows that are drawn or left out together.

use std::collections::BTreeMap;

use crate::error::{Error, OptionName, OptionValue, Result};

/// The groups in errors.
const GROUPS: OptionName = OptionName::new("groups");
/// Fewest groups: standard errors by fewer mean little.
const FEWEST: usize = 3;

/// The groups of rows of a series: blocks of `length` consecutive rows, of which the last may be shorter. Dependence beyond a
/// block is lost: blocks are several times as long as it, and still many (Künsch 1989, doi:10.1214/aos/1176347265).
///
/// # Panics
/// If `length` is zero.
///
/// ```
/// assert_eq!(karhunen::resampling::blocks(5, 2), [0, 0, 1, 1, 2]);
/// ```
pub fn blocks(n_rows: usize, length: usize) -> Vec<usize> {
    (0..n_rows).map(|row| row / length).collect()
}

/// Groups of positive weight.
pub(super) struct Groups {
    /// The group of each row, counted from zero; of rows of other groups the number of groups.
    pub(super) of_row: Vec<usize>,
    /// The weight of each group.
    pub(super) weights: Vec<f64>,
    /// The number of rows of positive weight in each group.
    pub(super) n_rows: Vec<f64>,
}

impl Groups {
    /// Numbers the groups of rows with these weights.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is one group for each row; [`Error::Option`] for fewer than three groups of positive
    /// weight.
    pub(super) fn new(given: &[usize], weights: &[f64]) -> Result<Self> {
        if given.len() != weights.len() {
            let (found, expected) = (given.len(), weights.len());
            return Err(Error::Shape { what: "the groups", axis: "values", found, expected });
        }
        let mut numbers = BTreeMap::new();
        let (mut sums, mut n_rows) = (Vec::new(), Vec::new());
        for (group, weight) in given.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            let number = *numbers.entry(group).or_insert(sums.len());
            if number == sums.len() {
                sums.push(0.0);
                n_rows.push(0.0);
            }
            sums[number] += weight;
            n_rows[number] += 1.0;
        }
        if sums.len() < FEWEST {
            let rule = format!("{} groups have weight, and at least {FEWEST} are needed", sums.len());
            return Err(Error::option(GROUPS, OptionValue::Given, rule));
        }
        let of_row = given.iter().map(|group| numbers.get(group).copied().unwrap_or(sums.len())).collect();
        Ok(Self { of_row, weights: sums, n_rows })
    }

    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// The effective number of groups, `(sum W)^2 / sum W^2` with the weights W of the groups.
    pub(super) fn effective(&self) -> f64 {
        let sum: f64 = self.weights.iter().sum();
        1.0 / self.weights.iter().map(|weight| (weight / sum).powi(2)).sum::<f64>()
    }
}
