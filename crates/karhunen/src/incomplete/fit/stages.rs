//! A fit on its way through its stages, and its checkpoints.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::state_arrays::{
    Arrays, count, damaged, finite, optional_size, seconds, size,
};
use crate::incomplete::fit::agreement::RunRule;
use crate::incomplete::fit::checkpoint::Checkpoint;
use crate::incomplete::fit::checkpointing::CheckpointWriter;
use crate::incomplete::fit::first_factors::{given, revived};
use crate::incomplete::fit::overfit::{LEAST_GAIN, NO_NOISE, outnumbered};
use crate::incomplete::fit::run::{Course, RunResult, Running, rmse_of};
use crate::incomplete::fit::setting::{FitPart, MOST_STEPS, STEP_RATIO, Setting, Stage};
use crate::incomplete::fit::stopping::Rules;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::convergence::{RunSummary, StartAgreement, StopReason};
use crate::incomplete::options::Method;
use crate::linalg::simd::Lane;

/// Steps without a lower held-out error that end a path.
const RISES: usize = 2;

/// Progress of a fit through its stages.
pub(crate) struct Stages<T> {
    pub(crate) stage: Stage,
    /// The best run so far and its stage.
    best: Option<(RunResult<T>, Stage)>,
    /// Final factors of the last path step.
    warm: Option<Factors<T>>,
    runs: Vec<RunSummary>,
    /// Agreement of the short starts.
    starts: Option<StartAgreement>,
    /// Agreement of the runs, if there are several.
    of_runs: Option<StartAgreement>,
    /// Reason for the stop of the last run.
    stop: StopReason,
    /// Seconds of previous stages.
    spent: f64,
}

impl<T: Lane> Stages<T> {
    pub(crate) fn new(first: Stage) -> Self {
        let stop = StopReason::Iterations;
        let (starts, of_runs, runs) = (None, None, Vec::new());
        Self { stage: first, best: None, warm: None, runs, starts, of_runs, stop, spent: 0.0 }
    }

    /// The current stage, or the one that a refit repeats.
    fn origin(&self) -> Stage {
        match (&self.best, self.stage) {
            (Some((_, stage)), Stage::Refit) => *stage,
            (_, stage) => stage,
        }
    }

    /// The penalty of the current stage.
    fn lambda(&self, setting: &Setting<'_, T>) -> Option<f64> {
        match self.origin() {
            Stage::PathStep(step) => setting.lambda(step),
            _ => None,
        }
    }

    fn course<'b>(&self, setting: &'b Setting<'_, T>) -> Course<'b, T> {
        let pca = setting.pca;
        let refit = self.stage == Stage::Refit;
        let early = setting.held_out.is_some() && matches!(self.stage, Stage::Start(_));
        let FitPart { data, prepared, .. } = setting.part(self.stage);
        let mut rules = Rules { early, ..Rules::of(pca, prepared, self.spent) };
        if setting.method == Method::Ppca && outnumbered(pca, data) {
            rules.no_noise = NO_NOISE * prepared.deviations.mean_square * prepared.weight();
            // Held-out entries decide if there are any.
            if pca.tol > 0.0 && !early {
                rules.least_gain = LEAST_GAIN * data.total_entries();
            }
        }
        if let (Stage::Refit, Some((best, Stage::Start(_)))) = (self.stage, &self.best) {
            // A refit makes exactly as many iterations.
            let time_limit = rules.time_limit;
            rules = Rules { max_iter: best.iteration.max(1), tol: 0.0, least_gain: 0.0, time_limit, ..rules };
            (rules.gradient_tol, rules.angle_tol, rules.rmse_tol) = (None, None, None);
        }
        let held_out = setting.held_out.filter(|_| !refit);
        Course { pca, method: setting.method, prepared, held_out, rules }
    }

    /// Prepares the current stage, before its first iteration.
    pub(crate) fn begin<'b>(
        &mut self,
        setting: &'b Setting<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<Running<'b, T>> {
        let problem = setting.problem(self.stage, self.lambda(setting));
        let prepared = &setting.part(self.stage).prepared;
        let unreported = self.span(setting, exec).part(0.0, 0.0);
        let random = |number| setting.random(self.stage, number, &problem, &unreported);
        let factors = match (self.origin(), setting.start, &self.best, &self.warm) {
            (Stage::Start(_), Some(start), ..) => given(&problem, start, &prepared.mean, &unreported)?,
            (Stage::Start(number), ..) => match RunRule::random_start(setting.pca, number) {
                Some(number) => random(number)?,
                None => {
                    let (factors, agreement) = setting.compared(self.stage, &problem, &unreported)?;
                    self.starts = agreement;
                    factors
                }
            },
            (_, _, Some((best, _)), _) if self.stage == Stage::Refit => best.factors.clone(),
            (.., Some(warm)) => revived(warm, &random(0)?, problem.free(), &unreported)?,
            _ => random(0)?,
        };
        Running::begin(self.course(setting), problem, factors, &unreported)
    }

    /// Restores the current stage and the results of previous ones from a checkpoint.
    pub(crate) fn resume<'b>(
        &mut self,
        setting: &'b Setting<'_, T>,
        checkpoint: &Checkpoint,
        exec: &Exec<'_>,
    ) -> Result<Running<'b, T>> {
        let mut from = Arrays(checkpoint.arrays.clone());
        let [kind, number, spent] = from.take_array("leg")?;
        self.stage = setting.stage_of_codes("leg", kind, number)?;
        self.spent = seconds("leg", spent)?;
        self.runs = restore_runs(&from.take("runs")?)?;
        if setting.pca.compares_starts() {
            self.starts = restore_starts(&from.take("starts")?)?;
        }
        if setting.pca.n_starts != Some(1) {
            self.of_runs = restore_starts(&from.take("starts_of_runs")?)?;
        }
        let shape = setting.kept.data.shape();
        if from.has("best_leg") {
            let [kind, number] = from.take_array("best_leg")?;
            let stage = setting.stage_of_codes("best_leg", kind, number)?;
            let of = (setting.pca, setting.method);
            self.best =
                Some((RunResult::restore(&mut from.take_part("best"), setting.kept.data, of)?, stage));
        }
        self.check_order()?;
        if from.has("warm_loadings") {
            let c = setting.pca.n_scores();
            let a = from.take_factor("warm_loadings", shape.1, c + 1)?;
            let s = from.take_factor("warm_scores", shape.0, c + 1)?;
            self.warm = Some(Factors { a, s, c }.with_multiplicity(setting.kept.data.multiplicity()));
        }
        let problem = setting.problem(self.stage, self.lambda(setting));
        let mut running = from.take_part("running");
        let unreported = self.span(setting, exec).part(0.0, 0.0);
        let running = Running::restore(self.course(setting), problem, &mut running, &unreported)?;
        match from.0.first_key_value() {
            Some((name, _)) => Err(damaged(name, "belongs to nothing")),
            None => Ok(running),
        }
    }

    /// Refuses a stage without its predecessors.
    fn check_order(&self) -> Result<()> {
        let before = match self.stage {
            Stage::Start(number) | Stage::PathStep(number) => Some(number),
            Stage::Refit => None,
        };
        if before.is_some_and(|before| before != self.runs.len()) {
            return Err(damaged("runs", "holds another number of runs"));
        }
        let best = match &self.best {
            Some((_, Stage::Refit)) => {
                return Err(damaged("best_leg", "holds neither a start nor a path step"));
            }
            Some((_, Stage::Start(number) | Stage::PathStep(number))) => Some(*number),
            None => None,
        };
        let is_before = best.map_or(self.runs.is_empty(), |best| best < self.runs.len());
        if is_before && (before.is_some() || best.is_some()) {
            Ok(())
        } else {
            Err(damaged("best_leg", "does not match the runs"))
        }
    }

    fn save(&self, setting: &Setting<'_, T>, running: &Running<'_, T>) -> Arrays {
        let mut out = Arrays::default();
        let [kind, number] = self.stage.codes();
        out.put("leg", [kind, number, self.spent]);
        out.put("runs", save_runs(&self.runs));
        if setting.pca.compares_starts() {
            out.put("starts", save_starts(self.starts));
        }
        if setting.pca.n_starts != Some(1) {
            out.put("starts_of_runs", save_starts(self.of_runs));
        }
        if let Some((best, stage)) = &self.best {
            out.put("best_leg", stage.codes());
            out.put_part("best", best.save());
        }
        if let Some(warm) = &self.warm {
            out.put_factor("warm_loadings", &warm.a);
            out.put_factor("warm_scores", &warm.s);
        }
        out.put_part("running", running.save());
        out
    }

    /// The part of the progress bar for the current stage.
    fn span<'e>(&self, setting: &Setting<'_, T>, exec: &Exec<'e>) -> Exec<'e> {
        let refit = usize::from(setting.whole.is_some());
        let rule = setting.run_rule();
        match self.stage {
            Stage::Start(number) => rule.span(number, refit, exec),
            Stage::PathStep(step) => {
                exec.part(1.0 - STEP_RATIO.powi(step as i32), 1.0 - STEP_RATIO.powi(step as i32 + 1))
            }
            Stage::Refit => rule.span(rule.expected_runs(0), refit, exec),
        }
    }

    /// Iterates to the end of the current stage.
    pub(crate) fn drive(
        &self,
        setting: &Setting<'_, T>,
        running: &mut Running<'_, T>,
        mut writer: Option<&mut CheckpointWriter<'_>>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let exec = &self.span(setting, exec);
        loop {
            let _end = writer.as_ref().map(|writer| writer.cancellation.defer());
            let stop = running.step(exec)?;
            self.report(setting, running, exec)?;
            if stop.is_some() {
                return Ok(());
            }
            if let Some(writer) = &mut writer {
                writer.write_if_due(running.iteration(), setting.pca, || self.save(setting, running))?;
                writer.cancellation.check(exec)?;
            }
        }
    }

    fn report(&self, setting: &Setting<'_, T>, running: &Running<'_, T>, exec: &Exec<'_>) -> Result<()> {
        let of = match self.stage {
            Stage::Start(number) => (number, setting.run_rule().expected_runs(number)),
            Stage::PathStep(step) => (step, step + 1),
            Stage::Refit => (self.runs.len(), self.runs.len() + 1),
        };
        running.report(of, self.spent, exec)
    }

    /// Records a finished stage.
    pub(crate) fn note(
        &mut self,
        setting: &Setting<'_, T>,
        running: Running<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        self.spent += running.seconds();
        let (run, last) = running.into_run();
        self.stop = run.stop;
        if self.stage == Stage::Refit {
            if let Some((best, _)) = &mut self.best {
                // Keeps the trace of the run that chose the number of iterations, with the model of the refit.
                let stop = if run.stop == StopReason::TimeLimit { run.stop } else { best.stop };
                let trace = std::mem::take(&mut best.trace);
                *best = RunResult { trace, stop, held_out_rmse: best.held_out_rmse, ..run };
            }
            return Ok(());
        }
        self.runs.push(run.summary(self.lambda(setting), &setting.kept.prepared));
        if matches!(self.stage, Stage::PathStep(_)) {
            self.warm = Some(last);
        }
        let rule = setting.run_rule();
        if let (Some((best, _)), true) = (&self.best, setting.ends_at_optimum()) {
            let exec = &exec.part(0.0, 0.0);
            let ends = [setting.ended(best, exec)?, setting.ended(&run, exec)?];
            self.of_runs = Some(rule.with_run(self.of_runs, ends.each_ref())?);
        }
        if self.best.as_ref().is_none_or(|(best, _)| rule.replaces(run.rank(), best.rank())) {
            self.best = Some((run, self.stage));
        }
        Ok(())
    }

    /// The agreement of all starts.
    fn agreement(&self, setting: &Setting<'_, T>) -> Option<StartAgreement> {
        let first_is_best = matches!(self.best, Some((_, Stage::Start(0))));
        setting.run_rule().agreement(self.starts, self.of_runs, first_is_best)
    }

    pub(crate) fn next_stage(&self, setting: &Setting<'_, T>) -> Option<Stage> {
        if setting.pca.time_limit.is_some_and(|limit| self.spent >= limit.as_secs_f64()) {
            return None;
        }
        let refit = setting.whole.is_some().then_some(Stage::Refit);
        match (self.stage, &self.best) {
            (Stage::Start(number), _)
                if !setting.run_rule().is_done(number + 1, self.agreement(setting), self.stop) =>
            {
                Some(Stage::Start(number + 1))
            }
            (Stage::PathStep(step), Some((_, Stage::PathStep(best))))
                if step < best + RISES && step + 1 < MOST_STEPS =>
            {
                Some(Stage::PathStep(step + 1))
            }
            (Stage::Refit, _) => None,
            _ => refit,
        }
    }

    pub(crate) fn into_model(self, setting: &Setting<'_, T>, exec: &Exec<'_>) -> Result<IncompleteModel> {
        let starts = self.agreement(setting);
        let Some((run, _)) = self.best else {
            // Every fit has at least one stage.
            unreachable!("a fit without a start");
        };
        let refitted = self.stage == Stage::Refit;
        let part = setting.part(self.stage);
        let problem = setting.problem(self.stage, None);
        let mut model = run.into_model(
            setting.pca,
            setting.method,
            setting.reason.clone(),
            &problem,
            &part.prepared,
            exec,
        )?;
        let parts = model.parts();
        let has_flat_prior = parts.prior.precision.as_slice().iter().all(|p| *p == 0.0);
        let is_of_iterate = has_flat_prior && parts.convergence.held_out_rmse.is_some();
        if let Some(held_out) = setting.held_out.filter(|_| is_of_iterate && !refitted) {
            // The model has other scores of rows with few entries than the iterate.
            let factors = model.factors::<T>();
            let rmse = rmse_of(setting.pca, &part.prepared, held_out, &factors, exec)?;
            model.record_held_out(rmse);
        }
        model.record(self.runs, starts, refitted);
        Ok(model)
    }
}

/// Number of values per saved summary.
const SUMMARY: usize = 5;

fn save_runs(runs: &[RunSummary]) -> Vec<f64> {
    let or_nan = |x: Option<f64>| x.unwrap_or(f64::NAN);
    let numbers = |run: &RunSummary| {
        [or_nan(run.lambda), run.cost, run.rmse, or_nan(run.held_out_rmse), run.n_iterations as f64]
    };
    runs.iter().flat_map(numbers).collect()
}

/// No number if none were compared.
fn save_starts(starts: Option<StartAgreement>) -> Vec<f64> {
    let numbers = |StartAgreement { n_starts, n_lowest, cost_difference, angle, n_weak }| {
        [n_starts as f64, n_lowest as f64, cost_difference, angle.unwrap_or(f64::NAN), n_weak as f64]
    };
    starts.map(numbers).into_iter().flatten().collect()
}

fn restore_starts(numbers: &[f64]) -> Result<Option<StartAgreement>> {
    match *numbers {
        [] => Ok(None),
        [n_starts, n_lowest, cost_difference, angle, n_weak] => Ok(Some(StartAgreement {
            n_starts: count("starts", n_starts)?,
            n_lowest: count("starts", n_lowest)?,
            cost_difference: finite("starts", cost_difference)?,
            angle: optional_size("starts", angle)?,
            n_weak: count("starts", n_weak)?,
        })),
        _ => Err(damaged("starts", "has another length")),
    }
}

fn restore_runs(numbers: &[f64]) -> Result<Vec<RunSummary>> {
    let (runs, []) = numbers.as_chunks::<SUMMARY>() else {
        return Err(damaged("runs", "has another length"));
    };
    runs.iter()
        .map(|run| {
            Ok(RunSummary {
                lambda: optional_size("runs", run[0])?,
                cost: finite("runs", run[1])?,
                rmse: size("runs", run[2])?,
                held_out_rmse: optional_size("runs", run[3])?,
                n_iterations: count("runs", run[4])?,
            })
        })
        .collect()
}
