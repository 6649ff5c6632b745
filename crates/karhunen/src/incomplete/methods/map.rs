//! Regularised PCA with learned variances: the most probable loadings and scores, section 9 of the specification.
//!
//! `C = sum_O (e^2 / v_x + ln v_x) + sum a^2 + sum (s^2 / v_sk + ln v_sk)`, twice the negative logarithm of the posterior. It
//! falls without bound along components that vanish: these are left out as they do, and nothing may be left in the end.

use super::als::Als;
use super::full::LEAST_NOISE;
use super::{Iterate, Progress};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::arrays::Arrays;
use crate::incomplete::factors::Factors;
use crate::incomplete::gauge::{gauge, shift};
use crate::incomplete::posterior::{pull_of_means, without_component};
use crate::incomplete::problem::{Diagonal, Problem};
use crate::incomplete::rotate::rotate;
use crate::linalg::simd::Lane;

/// Sweeps with a ridge before variances are learned.
const SWEEPS: usize = 20;
/// Its ridge, in standard deviations of an entry.
const RIDGE: f64 = 0.1;
/// Components whose variance is a smaller share of that of the noise have vanished.
const VANISHED: f64 = 1e-9;

/// Time O(N c^2 + (n + p) c^3) for each iteration.
#[derive(Debug)]
pub(crate) struct Map {
    /// Mean squared deviation of an entry.
    scale: f64,
    /// `v_x` and `v_s`.
    variances: Option<(f64, Vec<f64>)>,
    collapsed: bool,
    /// Whether the last iteration left out components, and with them terms of the cost.
    pruned: bool,
}

impl Map {
    /// `scale` is the mean squared deviation of an entry.
    pub(crate) fn new(scale: f64) -> Self {
        Self { scale: scale.max(f64::MIN_POSITIVE), variances: None, collapsed: false, pruned: false }
    }

    /// A ridge solution along its principal axes, whose loadings have a mean square of one, and its variances.
    fn start<T: Lane>(
        &self,
        problem: &Problem<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<(f64, Vec<f64>)> {
        let penalty = Diagonal::Same(RIDGE * self.scale.sqrt());
        let mut ridge = Problem { loadings: penalty.clone(), scores: penalty, ..problem.clone() };
        let mut squares = 0.0;
        for _ in 0..SWEEPS {
            squares = Als.iterate(&mut ridge, factors, exec)?.squares;
            gauge(&ridge, factors, exec)?;
        }
        let p = problem.data.n_features() as f64;
        let of_scores = align(factors, p, exec)?;
        Ok((self.noise(squares / problem.data.total_entries()), of_scores))
    }

    fn noise(&self, found: f64) -> f64 {
        found.max(LEAST_NOISE * self.scale)
    }

    /// Leaves out components that have vanished; the last one stays, as nothing.
    fn prune<T: Lane>(
        &mut self,
        problem: &mut Problem<'_, T>,
        factors: &mut Factors<T>,
        (noise, of_scores): (f64, &mut Vec<f64>),
    ) {
        let per_feature = problem.data.total_samples() / problem.data.n_features() as f64;
        self.pruned = false;
        // Descending: the last is the weakest.
        while of_scores.last().is_some_and(|v| v.is_nan() || v * per_feature < VANISHED * noise) {
            if problem.c == 1 {
                self.collapsed = true;
                for i in 0..factors.a.n_rows() {
                    factors.a.row_mut(i)[0] = T::default();
                }
                for j in 0..factors.s.n_rows() {
                    factors.s.row_mut(j)[0] = T::default();
                }
                of_scores[0] = VANISHED * noise / per_feature;
                break;
            }
            self.pruned = true;
            problem.c -= 1;
            *factors = without_component(factors, problem.c);
            of_scores.pop();
        }
    }
}

/// Turns to the principal axes with `|a_k|^2 = length`; returns the mean squares of the scores, descending.
fn align<T: Lane>(factors: &mut Factors<T>, length: f64, exec: &Exec<'_>) -> Result<Vec<f64>> {
    let rotated = rotate(factors, false, exec)?;
    let (mut loadings, mut scores) = (rotated.loadings, rotated.scores);
    let n = factors.s.total();
    loadings.scale(length.sqrt());
    scores.scale(1.0 / length.sqrt());
    *factors = Factors::new(&loadings, &scores, &rotated.mean).counted(factors.s.times());
    Ok(rotated.singular_values.iter().map(|d| d * d / (length * n)).collect())
}

impl<T: Lane> Iterate<T> for Map {
    fn iterate(
        &mut self,
        problem: &mut Problem<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<Progress> {
        let (noise, of_scores) = match self.variances.take() {
            Some(variances) => variances,
            None => self.start(problem, factors, &exec.part(0.0, 0.0))?,
        };
        problem.loadings = Diagonal::Same(noise);
        problem.scores = Diagonal::ByComponent(of_scores.iter().map(|v| noise / v).collect());
        let squares = Als.iterate(problem, factors, exec)?.squares;
        if problem.mean.joint {
            shift(problem, factors, exec)?;
        }
        let n = problem.data.total_samples();
        let mut of_scores = align(factors, n, exec)?;
        let kappa = if problem.mean.joint { problem.mean.kappa } else { 0.0 };
        let pull = kappa * pull_of_means(problem, factors, exec)?;
        let count =
            problem.data.total_entries() + if kappa > 0.0 { problem.data.n_features() as f64 } else { 0.0 };
        let noise = self.noise((squares + pull) / count);
        self.prune(problem, factors, (noise, &mut of_scores));
        problem.loadings = Diagonal::Same(noise);
        problem.scores = Diagonal::ByComponent(of_scores.iter().map(|v| noise / v).collect());
        let logs: f64 = of_scores.iter().map(|v| v.ln()).sum();
        let cost = count * noise.ln() + (squares + pull) / noise + n * (2.0 * problem.c as f64 + logs);
        self.variances = Some((noise, of_scores));
        Ok(Progress { cost, squares, step: None, accepted: true, exhausted: self.collapsed })
    }

    fn window(&self) -> usize {
        1
    }

    fn ready(&self) -> bool {
        !self.pruned
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
        problem: &Problem<'_, T>,
        _: &Factors<T>,
        _: &Exec<'_>,
    ) -> Result<()> {
        self.variances = if from.has("noise") {
            let [noise] = from.take_array("noise")?;
            Some((noise, from.take_vec("prior", problem.c)?))
        } else {
            None
        };
        let [collapsed, pruned] = from.take_array("flags")?;
        (self.collapsed, self.pruned) = (collapsed != 0.0, pruned != 0.0);
        Ok(())
    }

    fn collapsed(&self) -> bool {
        self.collapsed
    }
}
