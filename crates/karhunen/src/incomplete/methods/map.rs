//! Regularised PCA with learned variances: the most probable loadings and scores
//! (`docs/missing-values-variational.md`).
//!
//! `C = sum_O (e^2 / v_x + ln v_x) + sum a^2 + sum (s^2 / v_sk + ln v_sk)`, twice the negative log posterior. It
//! falls without bound along vanishing components, which are therefore pruned; all may be. Row offsets add
//! `sum (b^2 / v_b + ln v_b)` with `v_b` estimated before the fit, because a learned `v_b` would vanish too.

use super::als::Als;
use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::{Diagonal, Objective};
use crate::incomplete::factors::state_arrays::{Arrays, flag, size};
use crate::incomplete::updates::invariance::{gauge, shift, shift_loadings};
use crate::incomplete::updates::mean_posteriors::moments_of_means;
use crate::incomplete::updates::posterior::{LEAST_NOISE, without_component};
use crate::incomplete::updates::prepared::MeanSquares;
use crate::incomplete::updates::rotate::rotate;
use crate::linalg::simd::Lane;

/// Sweeps with a ridge before variances are learned.
const SWEEPS: usize = 20;
/// Ridge of these sweeps, as a multiple of the standard deviation of an entry and the mean weight.
const RIDGE: f64 = 0.1;
/// Components with less variance than this fraction of the noise have vanished.
const VANISHED: f64 = 1e-9;

/// Time O(N c^2 + (n + p) c^3) per iteration.
#[derive(Debug)]
pub(crate) struct MaximumAPosteriori {
    /// Mean squares of the entries.
    scale: MeanSquares,
    /// `v_b`.
    of_offsets: Option<f64>,
    /// `v_x` and `v_s`.
    variances: Option<(f64, Vec<f64>)>,
    collapsed: bool,
    /// True if the last iteration pruned components, and with them their terms of the cost.
    pruned: bool,
}

impl MaximumAPosteriori {
    /// `scale` are the mean squares of the entries, `of_offsets` the variance of the row offsets.
    pub(crate) fn new(scale: MeanSquares, of_offsets: Option<f64>) -> Self {
        let scale = scale.positive();
        Self { scale, of_offsets, variances: None, collapsed: false, pruned: false }
    }

    fn penalize<T: Lane>(&self, problem: &mut Objective<'_, T>, noise: f64, of_scores: &[f64]) {
        problem.mean = problem.mean.under(noise);
        problem.loadings = Diagonal::Same(noise);
        problem.scores = Diagonal::ByComponent(of_scores.iter().map(|v| noise / v).collect());
        problem.offsets = self.of_offsets.map(|v| Diagonal::Same(noise / v));
    }

    /// Computes a ridge solution along its principal axes, with loadings of mean square one, and its variances.
    fn start<T: Lane>(
        &self,
        problem: &Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<(f64, Vec<f64>)> {
        let penalty = Diagonal::Same(RIDGE * problem.data.mean_weight() * self.scale.of_entries.sqrt());
        let mut ridge = Objective { loadings: penalty.clone(), scores: penalty, ..problem.clone() };
        let mut squares = 0.0;
        for _ in 0..SWEEPS {
            squares = Als.iterate(&mut ridge, factors, exec)?.squares;
            gauge(&ridge, factors, exec)?;
        }
        let p = problem.data.n_features() as f64;
        let of_scores = align(problem, factors, p, exec)?;
        Ok((self.noise(squares / problem.data.total_entries()), of_scores))
    }

    /// Terms of the row offsets: `sum (b^2 / v_b + ln v_b)`.
    fn of_rows<T: Lane>(
        &self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<f64> {
        let (Some(fixed), Some(v)) = (problem.fixed(), self.of_offsets) else { return Ok(0.0) };
        let sums =
            factors.s.sum_rows(1, exec, |_, row, sum| sum[0] += row[fixed].to_f64().powi(2) / v + v.ln())?;
        Ok(sums[0])
    }

    fn noise(&self, found: f64) -> f64 {
        found.max(LEAST_NOISE * self.scale.of_noise)
    }

    /// Prunes vanished components. The last one remains, set to zero.
    fn prune<T: Lane>(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        (noise, of_scores): (f64, &mut Vec<f64>),
    ) {
        let per_feature = problem.data.total_samples() / problem.data.n_features() as f64;
        let vanished = VANISHED * self.scale.noise_of_entry(noise);
        self.pruned = false;
        // Variances are descending: the last is the smallest.
        while of_scores.last().is_some_and(|v| v.is_nan() || v * per_feature < vanished) {
            if problem.free() == 1 {
                self.collapsed = true;
                for j in 0..factors.a.n_rows() {
                    factors.a.row_mut(j)[0] = T::default();
                }
                for i in 0..factors.s.n_rows() {
                    factors.s.row_mut(i)[0] = T::default();
                }
                of_scores[0] = vanished / per_feature;
                break;
            }
            self.pruned = true;
            *factors = without_component(factors, problem.free() - 1);
            problem.c -= 1;
            of_scores.pop();
        }
    }
}

/// Rotates to the principal axes with `|a_k|^2 = length`; returns the mean squares of the scores, descending.
fn align<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    length: f64,
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let rotated = rotate(factors, problem.free(), vec![0.0; problem.free()], exec)?;
    let (mut loadings, mut scores) = (rotated.loadings, rotated.scores);
    let n = factors.s.total();
    loadings.scale(length.sqrt());
    scores.scale(1.0 / length.sqrt());
    let offsets = problem.fixed().map(|fixed| factors.scores_of(fixed));
    *factors = Factors::with_offsets(&loadings, &scores, &rotated.mean, offsets.as_deref())
        .with_multiplicity(factors.s.multiplicity());
    Ok(rotated.singular_values.iter().map(|d| d * d / (length * n)).collect())
}

impl<T: Lane> Iterate<T> for MaximumAPosteriori {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let (noise, of_scores) = match self.variances.take() {
            Some(variances) => variances,
            None => {
                let (noise, mut of_scores) = self.start(problem, factors, &exec.part(0.0, 0.0))?;
                self.prune(problem, factors, (noise, &mut of_scores));
                (noise, of_scores)
            }
        };
        self.penalize(problem, noise, &of_scores);
        let squares = Als.iterate(problem, factors, exec)?.squares;
        if problem.mean.joint {
            shift(problem, factors, exec)?;
        }
        shift_loadings(problem, factors, exec)?;
        let n = problem.data.total_samples();
        let mut of_scores = align(problem, factors, n, exec)?;
        let entries = problem.data.total_entries();
        let of_means = problem.mean.precision * moments_of_means(problem, factors, exec)?[1];
        let noise = self.noise(squares / entries);
        self.prune(problem, factors, (noise, &mut of_scores));
        self.penalize(problem, noise, &of_scores);
        let logs: f64 = of_scores.iter().map(|v| v.ln()).sum();
        let of_factors = n * (2.0 * problem.free() as f64 + logs);
        let cost = entries * noise.ln()
            + squares / noise
            + of_means
            + of_factors
            + self.of_rows(problem, factors, exec)?;
        self.variances = Some((noise, of_scores));
        Ok(IterationReport { cost, squares, step: None, accepted: true, exhausted: self.collapsed })
    }

    fn window(&self) -> usize {
        1
    }

    fn ready(&self) -> bool {
        !self.pruned
    }

    fn unit(&self, problem: &Objective<'_, T>) -> f64 {
        // Loadings have mean square one: scores have the unit of the data.
        let of_scores = problem.data.total_samples() * problem.free() as f64;
        problem.data.total_entries() * self.scale.of_noise.ln() + of_scores * self.scale.of_entries.ln()
    }

    fn save(&self, out: &mut Arrays) {
        let flag = |x: bool| f64::from(u8::from(x));
        out.put("flags", [flag(self.collapsed), flag(self.pruned)]);
        if let Some((noise, of_scores)) = &self.variances {
            out.put("noise", [*noise]);
            out.put("prior", of_scores.as_slice());
        }
    }

    fn restore(
        &mut self,
        from: &mut Arrays,
        problem: &Objective<'_, T>,
        _: &Factors<T>,
        _: &Exec<'_>,
    ) -> Result<()> {
        self.variances = if from.has("noise") {
            let [noise] = from.take_array("noise")?;
            Some((size("noise", noise)?, from.take_sizes("prior", problem.free())?))
        } else {
            None
        };
        let [collapsed, pruned] = from.take_array("flags")?;
        (self.collapsed, self.pruned) = (flag("flags", collapsed)?, flag("flags", pruned)?);
        Ok(())
    }

    fn collapsed(&self) -> bool {
        self.collapsed
    }
}
