//! Row offsets: `x_ij = mu_j + b_i + a_j . s_i + noise`. In a fit `b_i` is the score of a component with loadings
//! fixed at one. This file estimates their variance and their start.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::passes::gradient::gradient_pass;
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

/// Least variance of the offsets, as a fraction of the variance of an entry.
const LEAST_SHARE: f64 = 1e-6;

/// Variance components of the entries, estimated before the first iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OffsetVariance {
    /// Variance of the offsets: mean product of two deviations in one row.
    pub(crate) variance: f64,
    /// Mean squared deviation of an entry less the variance of the offsets.
    pub(crate) rest: f64,
}

impl OffsetVariance {
    /// One-way analysis of variance with rows as groups. `mean_square` is the mean squared deviation of an entry
    /// from `mean`. If no row has two entries, offsets and rest get half each.
    pub(crate) fn of<T: Scalar>(data: &Observed<T>, mean: &[f64], mean_square: f64) -> Self {
        let (mut products, mut pairs) = (0.0, 0.0);
        for i in 0..data.n_samples() {
            let line = data.rows().line(i);
            let multiplicity = data.multiplicity().map_or(1.0, |multiplicity| multiplicity[i]);
            let (mut sum, mut squares, mut weight, mut weight_squares) = (0.0, 0.0, 0.0, 0.0);
            for (e, (column, value)) in line.indices.iter().zip(line.values).enumerate() {
                let w = line.weights.map_or(1.0, |w| w[e].to_f64());
                let away = w * (value.to_f64() - mean[*column as usize]);
                sum += away;
                squares += away * away;
                weight += w;
                weight_squares += w * w;
            }
            products += multiplicity * (sum * sum - squares);
            pairs += multiplicity * (weight * weight - weight_squares);
        }
        let found = if pairs > 0.0 { products / pairs } else { 0.5 * mean_square };
        let variance = found.clamp(LEAST_SHARE * mean_square, mean_square).max(f64::MIN_POSITIVE);
        Self { variance, rest: (mean_square - variance).max(0.0) }
    }

    /// Penalty of an offset under a ridge: the smaller of `ridge` over the deviation of the offsets (the penalty
    /// of a component with the norm of all offsets) and [`OffsetVariance::pseudo_observations`].
    pub(crate) fn penalty(self, ridge: f64) -> f64 {
        self.pseudo_observations().min(ridge / self.variance.sqrt())
    }

    /// Number of entries that the prior of an offset is worth, if the rest is noise.
    pub(crate) fn pseudo_observations(self) -> f64 {
        self.rest / self.variance
    }
}

/// Replaces the offsets by the minimiser of F given the other factors.
pub(crate) fn begin_offsets<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    let Some(fixed) = problem.fixed() else { return Ok(()) };
    let mut steps = factors.s.zeros_like();
    gradient_pass(problem, factors, FactorSide::Scores, [&mut steps], exec, |g, h, [row]| {
        row[fixed] = T::from_f64(if h[fixed] > 0.0 { g[fixed] / h[fixed] } else { 0.0 });
    })?;
    factors.s.map_rows(exec, |i, row| {
        row[fixed] = T::from_f64(row[fixed].to_f64() + steps.row(i)[fixed].to_f64());
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Dense;
    use crate::testing::test_matrices::gaussian;

    #[test]
    fn the_variance_of_offsets_is_found() {
        let (n, p) = (4000, 12);
        let (noise, offsets) = (gaussian(n, p, 1, 0), gaussian(n, 1, 2, 0));
        let x: Vec<f64> =
            (0..n * p)
                .map(|e| {
                    if e % 3 == 1 {
                        f64::NAN
                    } else {
                        noise[(e / p, e % p)] + 0.7 * offsets[(e / p, 0)] + 3.0
                    }
                })
                .collect();
        let data = Observed::from_dense(&Dense::row_major(&x, n, p).unwrap()).unwrap();
        let found = OffsetVariance::of(&data, &vec![3.0; p], 1.49);
        assert!((found.variance - 0.49).abs() < 0.03, "{found:?}");
        assert!((found.pseudo_observations() - 1.0 / 0.49).abs() < 0.2, "{found:?}");
        let counted = data.with_sample_weights(&vec![2.0; n]).unwrap();
        let again = OffsetVariance::of(&counted, &vec![3.0; p], 1.49);
        assert!((again.variance - found.variance).abs() < 1e-12, "{again:?}");
    }

    #[test]
    fn rows_of_one_entry_say_nothing() {
        let x = [1.0, f64::NAN, f64::NAN, -1.0];
        let data = Observed::from_dense(&Dense::row_major(&x, 2, 2).unwrap()).unwrap();
        assert_eq!(OffsetVariance::of(&data, &[0.0; 2], 1.0), OffsetVariance { variance: 0.5, rest: 0.5 });
    }
}
