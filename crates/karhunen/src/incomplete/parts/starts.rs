//! Starts of fits to rows in parts, as of fits in memory.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::{Diagonal, Objective};
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::fit::agreement::{RunRule, ShortStart, best_of};
use crate::incomplete::fit::first_factors::{
    EXACT, SWEEPS, StartSweep, curvatures, give_unit, lengthen, orthogonalize, random,
};
use crate::incomplete::fit::short_starts::{Penalties, Swept, ends_at_noise, level_of_noise, noise_penalty};
use crate::incomplete::model::convergence::StartAgreement;
use crate::incomplete::options::{IncompletePca, Method};
use crate::incomplete::parts::passes::EntryPasses;
use crate::incomplete::parts::stand_in::stand_in;
use crate::incomplete::parts::sweeps::sweep;
use crate::incomplete::parts::{ColumnEntries, ScorePenalty};
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::simd::Lane;
use crate::random::Purpose;

/// The starts of a fit.
pub(crate) struct PartStarts<'a, T> {
    pub(crate) pca: &'a IncompletePca,
    pub(crate) method: Method,
    pub(crate) problem: &'a Objective<'a, T>,
    pub(crate) entries: &'a ColumnEntries,
    pub(crate) prepared: &'a Prepared,
    pub(crate) penalty: ScorePenalty,
    pub(crate) passes: &'a dyn EntryPasses,
}

impl<T: Lane> PartStarts<'_, T> {
    /// The start of a run: random after a few sweeps with a ridge, or the best of several short starts, whose agreement comes
    /// with it; and the sum of its squared errors.
    pub(crate) fn of_run(
        &self,
        number: usize,
        exec: &Exec<'_>,
    ) -> Result<(Factors<T>, f64, Option<StartAgreement>)> {
        let Some(number) = RunRule::random_start(self.pca, number) else { return self.best(exec) };
        let (mut factors, squares) = self.swept(number, exec)?;
        self.give_unit(&mut factors, exec)?;
        Ok((factors, squares, None))
    }

    /// The best of several short starts with one sweep at each penalty, the sum of its squared errors, and their agreement.
    fn best(&self, exec: &Exec<'_>) -> Result<(Factors<T>, f64, Option<StartAgreement>)> {
        let c = self.problem.c;
        let exec = &exec.part(0.0, 0.0);
        let most = self.prepared.deviations.mean_square;
        let ends = ends_at_noise(self.method);
        let of_noise = |squares| self.penalty_of_noise(squares);
        let is_last = |penalty, squares| ends && penalty <= of_noise(squares);
        let mut penalties = Penalties::default();
        let start = |number| {
            let (mut factors, _) = self.swept(number, exec)?;
            let ridge = |factors: &mut Factors<T>, penalty| self.ridge(factors, penalty, exec);
            let Swept { cost, squares } = penalties.anneal(&mut factors, c, is_last, ridge, exec)?;
            // The penalty of noise is half of its largest singular value.
            Ok(ShortStart { factors, cost, penalty: penalties.last(), edge: 2.0 * of_noise(squares) })
        };
        let (mut factors, agreement) = best_of(c, start, exec)?;
        lengthen(&mut factors.a, c, exec)?;
        orthogonalize(&mut factors.a, c, most.sqrt(), exec)?;
        let squares = self.sweeps(&mut factors, EXACT, exec)?;
        self.give_unit(&mut factors, exec)?;
        Ok((factors, squares, agreement))
    }

    /// Half of the largest singular value of noise, by the sum of squared residuals.
    pub(crate) fn penalty_of_noise(&self, squares: f64) -> f64 {
        let Self { problem, entries, prepared, .. } = self;
        let c = problem.c as f64;
        let p = entries.n_observed.iter().filter(|n| **n > 0.0).count() as f64;
        let means = f64::from(u8::from(problem.mean.joint));
        let parameters = c * (entries.samples + p - c) + means * p;
        let level = level_of_noise(entries.total(), entries.samples, p);
        level * noise_penalty(squares, (entries.total(), parameters), prepared.deviations.mean_square)
    }

    /// A random start after a few sweeps with a ridge, in the units of the sweeps.
    fn swept(&self, number: usize, exec: &Exec<'_>) -> Result<(Factors<T>, f64)> {
        let Self { pca, problem, prepared, .. } = *self;
        let stream = Purpose::Starts.of(pca.seed).number(number as u64);
        let deviation = prepared.deviations.mean_square.sqrt();
        let mut factors = random(problem.data, (problem.c, false), &prepared.mean, deviation, stream);
        let squares = self.sweeps(&mut factors, &SWEEPS, exec)?;
        Ok((factors, squares))
    }

    /// Sweeps of a random start; returns the sum of squared errors.
    fn sweeps(&self, factors: &mut Factors<T>, sweeps: &[StartSweep], exec: &Exec<'_>) -> Result<f64> {
        let Self { problem, entries, prepared, penalty, passes, .. } = *self;
        let deviation = prepared.deviations.mean_square.sqrt();
        let totals = (entries.samples, entries.total());
        let [of_scores, of_loadings] = curvatures(&factors.a, problem.c, totals, deviation, exec)?;
        let mut squares = 0.0;
        for StartSweep { ridge: size, orthogonalize: after } in sweeps {
            let ridge = ScorePenalty { size: size * of_scores, per_entry: false };
            let with_ridge = Objective { loadings: Diagonal::Same(size * of_loadings), ..problem.clone() };
            let (sums, [cost, of_loadings]) =
                sweep(passes, &with_ridge, &mut factors.a, ridge, &exec.part(0.0, 0.0))?;
            factors.s = stand_in(&sums, penalty.per_entry)?;
            squares = (cost - of_loadings).max(0.0);
            if *after {
                orthogonalize(&mut factors.a, problem.c, deviation, exec)?;
            }
        }
        Ok(squares)
    }

    /// A sweep with the same penalty of loadings and scores.
    fn ridge(&self, factors: &mut Factors<T>, size: f64, exec: &Exec<'_>) -> Result<Swept> {
        let same = Diagonal::Same(size);
        let problem = Objective { loadings: same.clone(), scores: same, ..self.problem.clone() };
        let penalty = ScorePenalty { size, per_entry: false };
        lengthen(&mut factors.a, self.problem.c, exec)?;
        let (sums, [cost, of_loadings]) = sweep(self.passes, &problem, &mut factors.a, penalty, exec)?;
        factors.s = stand_in(&sums, false)?;
        let of_scores = problem.side_penalty(FactorSide::Scores, factors, exec)?;
        Ok(Swept { cost: cost + of_scores, squares: (cost - of_loadings).max(0.0) })
    }

    fn give_unit(&self, factors: &mut Factors<T>, exec: &Exec<'_>) -> Result<()> {
        let deviation = self.prepared.deviations.mean_square.sqrt();
        match self.pca.method.unit_side() {
            Some(side) => give_unit(self.problem, factors, (side, deviation), &exec.part(0.0, 0.0)),
            None => Ok(()),
        }
    }
}
