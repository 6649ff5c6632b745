//! Weights of rows that are drawn with replacement.

use crate::error::{Error, Result};
use crate::random::{Generator, Stream};
use crate::weights::{NormalizedWeights, Weighting};
use rand::RngExt;

/// Rows to draw from.
pub(super) struct Rows {
    /// The rows of positive weight.
    rows: Vec<usize>,
    /// Weight of each row.
    weights: Vec<f64>,
    /// Sums of the weights of the rows of positive weight up to each, if rows are drawn by weight.
    cumulative: Option<Vec<f64>>,
    /// Number of draws.
    n_draws: usize,
}

impl Rows {
    /// Rows for a fit with weights of this meaning: frequency weights count observations, which are drawn one by one;
    /// rows of other weights are drawn alike and keep their weights.
    ///
    /// # Errors
    /// Those of the weights of a fit; [`Error::Shape`] unless three rows or more have positive weight.
    pub(super) fn new(weights: Option<&[f64]>, weighting: Weighting, n: usize) -> Result<Self> {
        NormalizedWeights::new(weights, n)?.totals.correction(weighting)?;
        let weights = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let rows: Vec<usize> = (0..n).filter(|row| weights[*row] > 0.0).collect();
        if rows.len() < FEWEST {
            let (what, axis) = ("the data of a bootstrap", "rows of positive weight");
            return Err(Error::Shape { what, axis, found: rows.len(), expected: FEWEST });
        }
        let by_weight = weighting == Weighting::Frequency && rows.iter().any(|row| weights[*row] != 1.0);
        let sums = rows.iter().scan(0.0, |sum, row| {
            *sum += weights[*row];
            Some(*sum)
        });
        let cumulative = by_weight.then(|| sums.collect::<Vec<f64>>());
        let total = cumulative.as_ref().and_then(|sums| sums.last().copied());
        let n_draws = total.map_or(rows.len(), |total| total.round() as usize);
        Ok(Self { rows, weights, cumulative, n_draws })
    }

    /// The weights of all rows in resampled data: how often each was drawn, times its weight unless that was counted.
    pub(super) fn draw(&self, stream: Stream) -> Vec<f64> {
        let mut generator = stream.generator();
        loop {
            let mut drawn = vec![0.0; self.weights.len()];
            let mut distinct = 0;
            for _ in 0..self.n_draws {
                let row = self.rows[self.position(&mut generator)];
                distinct += usize::from(drawn[row] == 0.0);
                drawn[row] += if self.cumulative.is_some() { 1.0 } else { self.weights[row] };
            }
            // One row alone has no variance.
            if distinct > 1 {
                return drawn;
            }
        }
    }

    /// The position of a row among those of positive weight.
    fn position(&self, generator: &mut Generator) -> usize {
        // Uniform on [0, 1), with 53 bits.
        let uniform = generator.random_range(0..1u64 << 53) as f64 / (1u64 << 53) as f64;
        let last = self.rows.len() - 1;
        match &self.cumulative {
            None => ((uniform * self.rows.len() as f64) as usize).min(last),
            Some(sums) => sums.partition_point(|sum| *sum <= uniform * sums[last]).min(last),
        }
    }
}

/// Fewest rows of positive weight.
const FEWEST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn mean(weights: &[f64], weighting: Weighting) -> Vec<f64> {
        let rows = Rows::new(Some(weights), weighting, weights.len()).unwrap();
        let mut sums = vec![0.0; weights.len()];
        for draw in 0..4000 {
            let drawn = rows.draw(Purpose::Bootstrap.of(1).number(draw));
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
        assert!(Rows::new(Some(&[1.0, 1.0, 0.0]), Weighting::Frequency, 3).is_err());
    }
}
