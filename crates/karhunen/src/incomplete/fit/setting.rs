//! The constants of a fit and its stages: random starts, or steps of a path of penalties, and a refit to all entries.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::{count, damaged};
use crate::incomplete::fit::agreement::{Ended, RunRule};
use crate::incomplete::fit::first_factors::give_unit;
use crate::incomplete::fit::path::largest_penalty;
use crate::incomplete::fit::run::RunResult;
use crate::incomplete::fit::short_starts::{ShortStarts, Table};
use crate::incomplete::model::convergence::StartAgreement;
use crate::incomplete::options::{IncompletePca, Method, Regularization};
use crate::incomplete::start::Start;
use crate::incomplete::updates::offsets::OffsetVariance;
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::simd::Lane;

/// Ratio of consecutive penalties of a path; the first follows the smallest that makes all components zero.
pub(crate) const STEP_RATIO: f64 = 0.7;
/// Most steps of a path, down to a millionth of the first penalty.
pub(crate) const MOST_STEPS: usize = 40;

/// Data of a fit and their statistics.
pub(crate) struct FitPart<'a, T> {
    pub(crate) data: &'a Observed<T>,
    pub(crate) prepared: Prepared,
    /// The penalty that follows from the data, of the method `ridge` without a given one.
    penalty: Option<f64>,
}

impl<T> FitPart<'_, T> {
    fn table(&self) -> Table<'_, T> {
        Table { data: self.data, prepared: &self.prepared }
    }
}

/// Constants of a fit.
pub(crate) struct Setting<'a, T> {
    pub(crate) pca: &'a IncompletePca,
    pub(crate) method: Method,
    pub(crate) reason: String,
    pub(crate) start: Option<&'a Start>,
    /// The entries without the held-out ones.
    pub(crate) kept: FitPart<'a, T>,
    pub(crate) held_out: Option<&'a Observed<T>>,
    /// All entries, for a refit.
    pub(crate) whole: Option<FitPart<'a, T>>,
    /// The largest penalty of a path, where all components vanish.
    pub(crate) top: Option<f64>,
}

/// Stage of a fit: a random (or given) start, a path step, or the refit to all entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Start(usize),
    PathStep(usize),
    Refit,
}

impl<'a, T: Lane> Setting<'a, T> {
    pub(crate) fn new(
        pca: &'a IncompletePca,
        (whole, kept, held_out): (&'a Observed<T>, &'a Observed<T>, Option<&'a Observed<T>>),
        start: Option<&'a Start>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let exec = &exec.phase("means and variances");
        let (method, mut reason) = pca.chosen();
        let learns_penalty = method == Method::Ridge && pca.regularization.is_none();
        let part = |data| {
            let prepared = Prepared::new(pca, data, start, exec)?;
            let mut part = FitPart { data, prepared, penalty: None };
            if learns_penalty {
                // By the residuals of the sweeps from the first random start.
                let (_, squares) = part.table().random((pca, method), 0, &exec.part(0.0, 0.0))?;
                part.penalty = Some(data.mean_weight() * part.table().noise_penalty(pca, squares));
            }
            Ok(part)
        };
        let kept = part(kept)?;
        if let Some(penalty) = kept.penalty {
            reason = format!("{reason}; penalty {penalty:.4}, by the noise that the first sweeps leave");
        }
        let whole = if pca.refit && held_out.is_some() { Some(part(whole)?) } else { None };
        let top = if pca.regularization == Some(Regularization::Path) {
            let Prepared { mean, offset_variance, .. } = &kept.prepared;
            Some(largest_penalty(
                kept.data,
                mean,
                offset_variance.map(OffsetVariance::pseudo_observations),
                exec,
            )?)
        } else {
            None
        };
        Ok(Self { pca, method, reason, start, kept, held_out, whole, top })
    }

    pub(crate) fn first_stage(&self) -> Stage {
        if self.top.is_some() { Stage::PathStep(0) } else { Stage::Start(0) }
    }

    /// The penalty of a path step.
    pub(crate) fn lambda(&self, step: usize) -> Option<f64> {
        self.top.map(|top| top * STEP_RATIO.powi(step as i32 + 1))
    }

    /// Decodes the stage of a checkpoint; an error if this fit has no such stage.
    pub(crate) fn stage_of_codes(&self, name: &str, kind: f64, number: f64) -> Result<Stage> {
        let (number, path) = (count(name, number)?, self.top.is_some());
        match kind {
            0.0 if !path && number < self.run_rule().most_runs() => Ok(Stage::Start(number)),
            1.0 if path && number < MOST_STEPS => Ok(Stage::PathStep(number)),
            2.0 if self.whole.is_some() && number == 0 => Ok(Stage::Refit),
            _ => Err(damaged(name, "holds no stage of this fit")),
        }
    }

    pub(crate) fn part(&self, stage: Stage) -> &FitPart<'a, T> {
        match (stage, &self.whole) {
            (Stage::Refit, Some(whole)) => whole,
            _ => &self.kept,
        }
    }

    /// The objective of a stage, with penalty `lambda` on a path.
    pub(crate) fn problem(&self, stage: Stage, lambda: Option<f64>) -> Objective<'a, T> {
        let FitPart { data, prepared, penalty } = self.part(stage);
        let regularization = lambda.or(*penalty).map_or_else(
            || prepared.regularization(self.pca, self.method, data.mean_weight()),
            Regularization::Ridge,
        );
        prepared.penalized(self.pca, data, regularization)
    }

    /// Returns true if runs end at an optimum, not at the lowest error of held-out entries.
    pub(crate) fn ends_at_optimum(&self) -> bool {
        self.top.is_none() && self.held_out.is_none()
    }

    /// The rule of runs from several starts.
    pub(crate) fn run_rule(&self) -> RunRule {
        let FitPart { data, ref prepared, .. } = self.kept;
        let total = prepared.deviations.mean_square * prepared.weight();
        let entries = (data.n_observed(), data.total_entries(), total);
        RunRule::new(self.pca, self.method, entries, self.ends_at_optimum() && self.start.is_none())
    }

    /// The end of a run, to be compared with others.
    pub(crate) fn ended(&self, run: &RunResult<T>, exec: &Exec<'_>) -> Result<Ended> {
        let edge = 2.0 * self.kept.table().noise_penalty(self.pca, run.squares);
        Ended::at(&run.factors, run.factors.c, run.cost, (edge, 0.0), exec)
    }

    /// The best of several short starts, and their agreement.
    pub(crate) fn compared(
        &self,
        stage: Stage,
        problem: &Objective<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<(Factors<T>, Option<StartAgreement>)> {
        let whole = self.part(stage).table();
        let (mut factors, agreement) =
            ShortStarts { pca: self.pca, method: self.method, whole }.best(exec)?;
        self.give_unit(stage, problem, &mut factors, exec)?;
        Ok((factors, agreement))
    }

    /// Random start of a given number, after the initial sweeps.
    pub(crate) fn random(
        &self,
        stage: Stage,
        number: usize,
        problem: &Objective<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<Factors<T>> {
        let (mut factors, _) =
            self.part(stage).table().random((self.pca, self.method), number, &exec.part(0.0, 0.0))?;
        self.give_unit(stage, problem, &mut factors, exec)?;
        Ok(factors)
    }

    fn give_unit(
        &self,
        stage: Stage,
        problem: &Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let deviation = self.part(stage).prepared.deviations.mean_square.sqrt();
        match self.method.unit_side() {
            Some(side) => give_unit(problem, factors, (side, deviation), &exec.part(0.0, 0.0)),
            None => Ok(()),
        }
    }
}

impl Stage {
    /// The stage as numbers of a checkpoint: kind and number.
    pub(crate) fn codes(self) -> [f64; 2] {
        match self {
            Stage::Start(number) => [0.0, number as f64],
            Stage::PathStep(step) => [1.0, step as f64],
            Stage::Refit => [2.0, 0.0],
        }
    }
}
