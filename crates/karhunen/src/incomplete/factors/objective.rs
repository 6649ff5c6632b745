//! The cost: squared errors of the observed entries, penalties, and a prior of the mean
//! (`docs/missing-values.md`):
//!
//! `F = sum_O e_ij^2 + sum_jk dA_jk a_jk^2 + sum_ik dS_ik s_ik^2 + sum_i dB_i b_i^2 + kappa sum_j (mu_j - m0)^2`
//!
//! with `e_ij = x_ij - mu_j - b_i - a_j.s_i`, each square times the weight of its entry. Optional row offsets
//! `b_i` are the scores of one more component, the last, whose loadings are fixed at one.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Observed};
use crate::incomplete::factors::prior::NormalPrior;
use crate::incomplete::factors::state_arrays::Arrays;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::scalar::Scalar;

/// Diagonal penalties of one factor, never negative.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Diagonal {
    /// One for all values.
    Same(f64),
    /// One for each component.
    ByComponent(Vec<f64>),
    /// One for each row of the factor: a multiple of its number of entries.
    ByRow(Vec<f64>),
    /// One for each value, `c` for each row.
    Full(Vec<f64>),
}

impl Diagonal {
    /// The penalty of component `k` of row `i`; `c` components per row.
    #[inline(always)]
    pub(crate) fn at(&self, i: usize, k: usize, c: usize) -> f64 {
        match self {
            Diagonal::Same(d) => *d,
            Diagonal::ByComponent(d) => d[k],
            Diagonal::ByRow(d) => d[i],
            Diagonal::Full(d) => d[i * c + k],
        }
    }

    /// Returns true if all penalties are zero.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Diagonal::Same(d) => *d == 0.0,
            Diagonal::ByComponent(d) | Diagonal::ByRow(d) | Diagonal::Full(d) => d.iter().all(|d| *d == 0.0),
        }
    }
}

/// Treatment of the mean in the cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanRule {
    /// True if the mean is fitted with the factors; otherwise it is constant.
    pub(crate) joint: bool,
    /// Number of pseudo-observations of the prior.
    pub(crate) kappa: f64,
    /// Value of the pseudo-observations.
    pub(crate) prior: f64,
    /// With learned noise: precision `1 / v_mu` of the prior of a mean, or zero.
    pub(crate) precision: f64,
    pub(crate) learned: LearnedPrior,
}

/// Parameters of the normal prior of the means that a fit learns; features without entries have no part in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LearnedPrior {
    Nothing,
    Variance,
    MeanAndVariance,
}

impl MeanRule {
    /// Means that are fitted without a prior.
    pub(crate) const FLAT: Self =
        Self { joint: true, kappa: 0.0, prior: 0.0, precision: 0.0, learned: LearnedPrior::Nothing };

    /// The rule with the prior that a fit has learned.
    pub(crate) fn with(self, found: Option<NormalPrior>) -> Self {
        match found {
            Some(NormalPrior { mean, variance }) => Self { prior: mean, precision: 1.0 / variance, ..self },
            None => self,
        }
    }

    /// True if means are fitted without a prior. At the optimum scores with one prior for all rows are then zero on average.
    pub(crate) fn is_free(self) -> bool {
        self.joint && self.kappa == 0.0 && self.precision == 0.0 && self.learned == LearnedPrior::Nothing
    }

    /// Returns true if the posterior of the mean of a feature, with entries of total weight `weight`, takes part in the
    /// cost.
    pub(crate) fn counts(self, weight: f64) -> bool {
        let prior = if self.learned == LearnedPrior::Nothing { self.kappa } else { 0.0 };
        self.joint && weight + prior > 0.0
    }

    /// Rule for noise variance `noise`: the prior is worth `noise * precision` observations.
    pub(crate) fn under(self, noise: f64) -> Self {
        if self.precision > 0.0 { Self { kappa: noise * self.precision, ..self } } else { self }
    }
}

/// The penalties of an objective; some methods learn them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Penalties {
    loadings: Diagonal,
    scores: Diagonal,
    offsets: Option<Diagonal>,
}

impl Penalties {
    pub(crate) fn of<T>(problem: &Objective<'_, T>) -> Self {
        let Objective { loadings, scores, offsets, .. } = problem;
        Self { loadings: loadings.clone(), scores: scores.clone(), offsets: offsets.clone() }
    }

    /// Replaces the penalties and the number `c` of scores per row.
    pub(crate) fn give<'a, T: Clone>(self, problem: &Objective<'a, T>, c: usize) -> Objective<'a, T> {
        let Self { loadings, scores, offsets } = self;
        Objective { loadings, scores, offsets, c, ..problem.clone() }
    }

    pub(crate) fn save(&self, out: &mut Arrays) {
        out.put_diagonal("penalty_loadings", &self.loadings);
        out.put_diagonal("penalty_scores", &self.scores);
        if let Some(offsets) = &self.offsets {
            out.put_diagonal("penalty_offsets", offsets);
        }
    }

    /// Reads the arrays of [`Penalties::save`], for `n` rows of `c` scores and `p` features.
    pub(crate) fn restore(
        from: &mut Arrays,
        (n, p): (usize, usize),
        (c, row_offsets): (usize, bool),
    ) -> Result<Self> {
        let offsets = if row_offsets { Some(from.take_diagonal("penalty_offsets", n, 1)?) } else { None };
        let free = c.saturating_sub(usize::from(offsets.is_some()));
        Ok(Self {
            loadings: from.take_diagonal("penalty_loadings", p, free)?,
            scores: from.take_diagonal("penalty_scores", n, free)?,
            offsets,
        })
    }
}

/// Data, penalties and the rule of the mean.
#[derive(Clone, Debug)]
pub(crate) struct Objective<'a, T> {
    pub(crate) data: &'a Observed<T>,
    pub(crate) loadings: Diagonal,
    pub(crate) scores: Diagonal,
    pub(crate) mean: MeanRule,
    /// Penalties of the row offsets, if any: `Same` or `ByRow`.
    pub(crate) offsets: Option<Diagonal>,
    /// Number of scores per row: components, plus one with row offsets.
    pub(crate) c: usize,
}

impl<T: Scalar> Objective<'_, T> {
    /// The entries by rows (scores) or by columns (loadings).
    pub(crate) fn lines(&self, side: FactorSide) -> &EntryLines<T> {
        match side {
            FactorSide::Scores => self.data.rows(),
            FactorSide::Loadings => self.data.columns(),
        }
    }

    /// The penalties of a factor.
    pub(crate) fn penalty(&self, side: FactorSide) -> &Diagonal {
        match side {
            FactorSide::Scores => &self.scores,
            FactorSide::Loadings => &self.loadings,
        }
    }

    /// Number of components with free loadings.
    pub(crate) fn free(&self) -> usize {
        self.c - usize::from(self.offsets.is_some())
    }

    /// The component of the row offsets, if any: its loadings are fixed at one.
    pub(crate) fn fixed(&self) -> Option<usize> {
        self.offsets.is_some().then(|| self.free())
    }

    /// Number of fitted leading values per row: the scores, or the loadings and a jointly fitted mean.
    pub(crate) fn n_fitted(&self, side: FactorSide) -> usize {
        self.c + usize::from(side == FactorSide::Loadings && self.mean.joint)
    }

    /// Penalty of value `k` of row `i` and its centre: zero, or the prior mean.
    #[inline(always)]
    pub(crate) fn penalty_at(&self, side: FactorSide, i: usize, k: usize) -> (f64, f64) {
        let free = self.free();
        if k < free {
            (self.penalty(side).at(i, k, free), 0.0)
        } else if k < self.c {
            match (side, &self.offsets) {
                (FactorSide::Scores, Some(offsets)) => (offsets.at(i, 0, 1), 0.0),
                _ => (0.0, 0.0),
            }
        } else {
            (self.mean.kappa, self.mean.prior)
        }
    }

    /// The penalty terms of one row of a factor.
    #[inline(always)]
    pub(crate) fn row_penalty(&self, side: FactorSide, i: usize, row: &[T]) -> f64 {
        let mut sum = 0.0;
        for (k, value) in row[..self.n_fitted(side)].iter().enumerate() {
            let (d, centre) = self.penalty_at(side, i, k);
            let away = value.to_f64() - centre;
            sum += d * away * away;
        }
        sum
    }

    /// The penalty terms of one factor.
    pub(crate) fn side_penalty(
        &self,
        side: FactorSide,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<f64> {
        let sums = factors.of(side).sum_rows(1, exec, |i, row, sum| sum[0] += self.row_penalty(side, i, row));
        Ok(sums?[0])
    }
}
