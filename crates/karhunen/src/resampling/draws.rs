//! Weights of rows that are drawn with replacement.

use crate::error::{Error, Result, options};
use crate::random::{Generator, Stream};
use crate::resampling::groups::Groups;
use crate::weights::{NormalizedWeights, Weighting};
use rand::RngExt;
use rand_distr::{Binomial, Distribution};

/// Rows to draw from.
pub(super) struct Rows {
    /// The rows of positive weight.
    rows: Vec<usize>,
    /// Weight of each row.
    weights: Vec<f64>,
    /// For rows that are drawn by weight: the sums of the weights of each row of positive weight and those after it.
    sums: Option<Vec<f64>>,
    /// Number of draws, of rows or groups.
    n_draws: u64,
    /// Groups that are drawn whole.
    groups: Option<Groups>,
    /// The number of observations that the weights mean, or the effective number of groups.
    n_observations: f64,
}

impl Rows {
    /// Rows for a fit with weights of this meaning: frequency weights count observations, which are drawn one by one;
    /// rows of other weights are drawn alike and keep their weights. So do groups of rows, if they are given.
    ///
    /// # Errors
    /// As for the weights of a fit; [`Error::Shape`] unless three rows or more have positive weight; errors of
    /// [`Groups`].
    pub(super) fn new(
        weights: Option<&[f64]>,
        weighting: Weighting,
        n: usize,
        groups: Option<&[usize]>,
    ) -> Result<Self> {
        let totals = NormalizedWeights::new(weights, n)?.totals;
        totals.correction(weighting)?;
        let weights = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let rows: Vec<usize> = (0..n).filter(|row| weights[*row] > 0.0).collect();
        if rows.len() < FEWEST {
            let (what, axis) = ("the data of a bootstrap", "rows of positive weight");
            return Err(Error::Shape { what, axis, found: rows.len(), expected: FEWEST });
        }
        if let Some(groups) = groups {
            let groups = Groups::new(groups, &weights)?;
            let (n_draws, n_observations) = (groups.len() as u64, groups.effective());
            return Ok(Self { rows, weights, sums: None, n_draws, groups: Some(groups), n_observations });
        }
        let by_weight = weighting == Weighting::Frequency && rows.iter().any(|row| weights[*row] != 1.0);
        let sums = by_weight.then(|| {
            let mut sums: Vec<f64> = rows.iter().map(|row| weights[*row]).collect();
            (0..sums.len() - 1).rev().for_each(|at| sums[at] += sums[at + 1]);
            sums
        });
        let n_draws = sums.as_ref().map_or(rows.len() as u64, |sums| sums[0].round() as u64);
        let n_observations =
            if weighting == Weighting::Frequency { n_draws as f64 } else { totals.n_observations(weighting) };
        Ok(Self { rows, weights, sums, n_draws, groups: None, n_observations })
    }

    /// The number of observations that the rows are worth, of which the variance of draws has one degree of freedom less.
    pub(super) fn n_observations(&self) -> f64 {
        self.n_observations
    }

    /// The weights of all rows in resampled data: how often each was drawn, times its weight unless that was counted.
    ///
    /// # Errors
    /// [`Error::Option`] if one row alone is drawn again and again, because it holds nearly all of the weight.
    pub(super) fn draw(&self, stream: Stream) -> Result<Vec<f64>> {
        let mut generator = stream.generator();
        for _ in 0..MOST_TRIALS {
            let drawn = match (&self.groups, &self.sums) {
                (Some(groups), _) => self.grouped(groups, &mut generator),
                (None, None) => self.alike(&mut generator),
                (None, Some(sums)) => self.by_weight(sums, &mut generator)?,
            };
            // One row alone has no variance.
            if drawn.iter().filter(|count| **count > 0.0).nth(1).is_some() {
                return Ok(drawn);
            }
        }
        Err(self.one_row())
    }

    /// Rows with equal probabilities.
    fn alike(&self, generator: &mut Generator) -> Vec<f64> {
        let mut drawn = vec![0.0; self.weights.len()];
        for _ in 0..self.n_draws {
            let row = self.rows[generator.random_range(0..self.rows.len() as u64) as usize];
            drawn[row] += self.weights[row];
        }
        drawn
    }

    /// Groups with equal probabilities.
    fn grouped(&self, groups: &Groups, generator: &mut Generator) -> Vec<f64> {
        // Rows without weight have a group of their own.
        let mut times = vec![0.0; groups.len() + 1];
        for _ in 0..self.n_draws {
            times[generator.random_range(0..self.n_draws) as usize] += 1.0;
        }
        self.weights.iter().zip(&groups.of_row).map(|(weight, group)| weight * times[*group]).collect()
    }

    /// Rows with probabilities in proportion to their weights: each count has a binomial distribution given those
    /// before.
    fn by_weight(&self, sums: &[f64], generator: &mut Generator) -> Result<Vec<f64>> {
        let mut drawn = vec![0.0; self.weights.len()];
        let mut left = self.n_draws;
        for (row, sum) in self.rows.iter().zip(sums) {
            let share = (self.weights[*row] / sum).min(1.0);
            let count = Binomial::new(left, share).map_err(|_| self.one_row())?.sample(generator);
            drawn[*row] = count as f64;
            left -= count;
        }
        Ok(drawn)
    }

    fn one_row(&self) -> Error {
        let largest = self.rows.iter().copied().max_by(|a, b| self.weights[*a].total_cmp(&self.weights[*b]));
        let row = largest.unwrap_or(0);
        Error::option(
            options::SAMPLE_WEIGHTS,
            self.weights[row],
            format!(
                "row {row} holds nearly all of the weight, so rows that are drawn by weight have no variance"
            ),
        )
    }
}

/// Most trials to draw two rows that differ.
const MOST_TRIALS: usize = 100;
/// Fewest rows of positive weight.
const FEWEST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn mean(weights: &[f64], weighting: Weighting) -> Vec<f64> {
        let rows = Rows::new(Some(weights), weighting, weights.len(), None).unwrap();
        let mut sums = vec![0.0; weights.len()];
        for draw in 0..4000 {
            let drawn = rows.draw(Purpose::Bootstrap.of(1).number(draw)).unwrap();
            if weighting == Weighting::Frequency {
                assert_eq!(drawn.iter().sum::<f64>(), weights.iter().sum::<f64>());
            }
            sums.iter_mut().zip(drawn).for_each(|(sum, x)| *sum += x / 4000.0);
        }
        sums
    }

    #[test]
    fn rows_are_drawn_by_what_their_weights_mean() {
        let weights = [3.0, 0.0, 1.0, 5.0, 1.0];
        for weighting in [Weighting::Frequency, Weighting::Importance, Weighting::Population] {
            for (found, expected) in mean(&weights, weighting).iter().zip(weights) {
                assert!((found - expected).abs() < 0.15, "{found} {expected}");
            }
        }
        assert!(Rows::new(Some(&[1.0, 1.0, 0.0]), Weighting::Frequency, 3, None).is_err());
    }

    #[test]
    fn groups_are_drawn_whole() {
        let weights = [3.0, 0.5, 0.0, 5.0, 1.0, 2.0, 0.0];
        let given = [7, 2, 2, 9, 7, 2, 4];
        let rows = Rows::new(Some(&weights), Weighting::Importance, 7, Some(&given)).unwrap();
        // Groups of weight 4, 2.5 and 5; the group 4 has none.
        assert!((rows.n_observations() - 11.5_f64.powi(2) / (16.0 + 6.25 + 25.0)).abs() < 1e-12);
        for draw in 0..50 {
            let drawn = rows.draw(Purpose::Bootstrap.of(3).number(draw)).unwrap();
            let times = [drawn[0] / 3.0, drawn[1] / 0.5, drawn[3] / 5.0];
            assert_eq!(times.iter().sum::<f64>(), 3.0);
            assert_eq!(
                drawn,
                [3.0 * times[0], 0.5 * times[1], 0.0, 5.0 * times[2], times[0], 2.0 * times[1], 0.0]
            );
        }
        for (given, said) in [(&given[..6], "groups"), (&[0, 1, 5, 1, 1, 1, 6], "2 groups have weight")] {
            let found = Rows::new(Some(&weights), Weighting::Importance, 7, Some(given));
            let found = found.err().unwrap().to_string();
            assert!(found.contains(said), "{found}");
        }
    }

    #[test]
    fn counts_of_any_size_are_drawn_at_once() {
        let weights = [3e15, 1e15, 6e15];
        let rows = Rows::new(Some(&weights), Weighting::Frequency, 3, None).unwrap();
        for draw in 0..50 {
            let drawn = rows.draw(Purpose::Bootstrap.of(2).number(draw)).unwrap();
            for (found, expected) in drawn.iter().zip(weights) {
                assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
            }
        }
        let rows = Rows::new(Some(&[1e3, 1e-9, 1e-9]), Weighting::Frequency, 3, None).unwrap();
        let said = rows.draw(Purpose::Bootstrap.of(2).number(0)).unwrap_err().to_string();
        assert!(said.contains("row 0 holds nearly all of the weight"), "{said}");
    }
}
