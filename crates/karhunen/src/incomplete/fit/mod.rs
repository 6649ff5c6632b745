//! One fit from top to bottom: mean, penalties, start, iterations, rotation, error bars. A fit has stages: one per
//! random start or per step of a path of penalties, and a refit to all entries if requested.

pub(crate) mod checkpoint;
pub(crate) mod checkpointing;
pub(crate) mod error_bars;
pub(crate) mod far;
pub(crate) mod finish;
pub(crate) mod first_factors;
pub(crate) mod left_out;
pub(crate) mod need;
pub(crate) mod of_stream;
pub(crate) mod path;
pub(crate) mod run;
pub(crate) mod signals;
pub(crate) mod stopping;
pub(crate) mod time_left;
pub(crate) mod unseen;

use std::time::Duration;

use crate::error::{Result, options};
use crate::exec::{Exec, Iteration, Observer, Unobserved};
use crate::incomplete::data::{Observed, Share, Typed};
use crate::incomplete::factors::objective::{Objective, Penalties};
use crate::incomplete::factors::state_arrays::{
    Arrays, count, damaged, finite, optional_size, seconds, size,
};
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::fit::checkpoint::{Checkpoint, Fingerprint, FitContext};
use crate::incomplete::fit::checkpointing::{CheckpointWriter, DeferredCancellation};
use crate::incomplete::fit::first_factors::{give_unit, random, warm_up};
use crate::incomplete::fit::path::largest_penalty;
use crate::incomplete::fit::run::{Course, Run, Running};
use crate::incomplete::fit::stopping::Rules;
use crate::incomplete::fit::time_left::{remaining, seconds_left};
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::convergence::{RunSummary, StopReason};
use crate::incomplete::options::{IncompletePca, Method, Regularization};
use crate::incomplete::passes::normal::solve_side;
use crate::incomplete::start::Start;
use crate::incomplete::updates::offsets::{OffsetVariance, begin_offsets};
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::simd::Lane;
use crate::random::Purpose;
use crate::scalar::Scalar;

/// Ratio of consecutive penalties of a path; the first follows the smallest that makes all components zero.
const STEP_RATIO: f64 = 0.7;
/// Most steps of a path, down to a millionth of the first penalty.
const MOST_STEPS: usize = 40;
/// Steps without a lower held-out error that end a path.
const RISES: usize = 2;
/// Fraction of a random start added at each step of a path, because components of zero would stay zero.
const REVIVAL: f64 = 1e-2;

pub(crate) fn fit<T: Scalar>(
    pca: &IncompletePca,
    data: &Observed<T>,
    context: &FitContext<'_>,
) -> Result<IncompleteModel> {
    let observer = context.observer.unwrap_or(&Unobserved);
    let cancellation = DeferredCancellation::new(observer);
    // Only checkpoints require iterations to complete.
    let deferred = context.checkpoints.is_some().then_some(&cancellation);
    let observer = deferred.map_or(observer, |cancellation| cancellation as &dyn Observer);
    pca.ask(data, 1)?;
    Exec::run(pca.n_threads, observer, |exec| match data.typed() {
        Typed::F32(data) => fit_typed(pca, data, context, deferred, exec),
        Typed::F64(data) => fit_typed(pca, data, context, deferred, exec),
    })
}

fn fit_typed<T: Lane>(
    pca: &IncompletePca,
    data: &Observed<T>,
    context: &FitContext<'_>,
    cancellation: Option<&DeferredCancellation<'_>>,
    exec: &Exec<'_>,
) -> Result<IncompleteModel> {
    let fingerprint = if context.checkpoints.is_some() || context.resume.is_some() {
        Some(Fingerprint::of(data, exec)?)
    } else {
        None
    };
    let split = match pca.early_stopping {
        Some(value) => {
            let share = Share { option: options::EARLY_STOPPING, value };
            let stream = Purpose::EarlyStopping.of(pca.seed);
            Some(data.split_by(share, stream, &exec.phase("holding entries out"))?)
        }
        None => None,
    };
    let (kept, held_out) = split.as_ref().map_or((data, None), |(kept, held_out)| (kept, Some(held_out)));
    let setting = Setting::new(pca, (data, kept, held_out), context.start, exec)?;
    let mut stages =
        Stages { stage: setting.first_stage(), best: None, warm: None, runs: Vec::new(), spent: 0.0 };
    let exec = &exec.phase(setting.method.name());
    let mut running = match (context.resume, &fingerprint) {
        (Some(checkpoint), Some(fingerprint)) => {
            checkpoint.check(pca, fingerprint)?;
            stages.resume(&setting, checkpoint, exec)?
        }
        _ => stages.begin(&setting, exec)?,
    };
    let mut writer = match (context.checkpoints, fingerprint, cancellation) {
        (Some(checkpoints), Some(data), Some(cancellation)) => {
            Some(CheckpointWriter::new(checkpoints, data, cancellation))
        }
        _ => None,
    };
    loop {
        stages.drive(&setting, &mut running, writer.as_mut(), exec)?;
        stages.note(&setting, running);
        match stages.next_stage(&setting) {
            Some(stage) => stages.stage = stage,
            None => break,
        }
        running = stages.begin(&setting, exec)?;
    }
    stages.into_model(&setting, &exec.phase("error bars"))
}

/// Data of a fit and their statistics.
struct FitPart<'a, T> {
    data: &'a Observed<T>,
    prepared: Prepared,
}

/// Constants of a fit.
struct Setting<'a, T> {
    pca: &'a IncompletePca,
    method: Method,
    reason: String,
    start: Option<&'a Start>,
    /// The entries without the held-out ones.
    kept: FitPart<'a, T>,
    held_out: Option<&'a Observed<T>>,
    /// All entries, for a refit.
    whole: Option<FitPart<'a, T>>,
    /// The largest penalty of a path, where all components vanish.
    top: Option<f64>,
}

/// Stage of a fit: a random (or given) start, a path step, or the refit to all entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Start(usize),
    PathStep(usize),
    Refit,
}

impl<'a, T: Lane> Setting<'a, T> {
    fn new(
        pca: &'a IncompletePca,
        (whole, kept, held_out): (&'a Observed<T>, &'a Observed<T>, Option<&'a Observed<T>>),
        start: Option<&'a Start>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let exec = &exec.phase("means and variances");
        let part = |data| Ok(FitPart { data, prepared: Prepared::new(pca, data, start, exec)? });
        let kept = part(kept)?;
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
        let (method, reason) = pca.chosen();
        Ok(Self { pca, method, reason, start, kept, held_out, whole, top })
    }

    fn first_stage(&self) -> Stage {
        if self.top.is_some() { Stage::PathStep(0) } else { Stage::Start(0) }
    }

    /// The penalty of a path step.
    fn lambda(&self, step: usize) -> Option<f64> {
        self.top.map(|top| top * STEP_RATIO.powi(step as i32 + 1))
    }

    /// Decodes the stage of a checkpoint; an error if this fit has no such stage.
    fn stage_of_codes(&self, name: &str, kind: f64, number: f64) -> Result<Stage> {
        let (number, path) = (count(name, number)?, self.top.is_some());
        match kind {
            0.0 if !path && number < self.pca.n_starts => Ok(Stage::Start(number)),
            1.0 if path && number < MOST_STEPS => Ok(Stage::PathStep(number)),
            2.0 if self.whole.is_some() && number == 0 => Ok(Stage::Refit),
            _ => Err(damaged(name, "holds no stage of this fit")),
        }
    }

    fn part(&self, stage: Stage) -> &FitPart<'a, T> {
        match (stage, &self.whole) {
            (Stage::Refit, Some(whole)) => whole,
            _ => &self.kept,
        }
    }

    /// The objective of a stage, with penalty `lambda` on a path.
    fn problem(&self, stage: Stage, lambda: Option<f64>) -> Objective<'a, T> {
        let FitPart { data, prepared } = self.part(stage);
        let regularization =
            lambda.map_or_else(|| prepared.regularization(self.pca, self.method), Regularization::Ridge);
        prepared.penalized(self.pca, data, regularization)
    }

    /// Random start of a given number, after the initial sweeps.
    fn random(
        &self,
        stage: Stage,
        number: usize,
        problem: &Objective<'_, T>,
        exec: &Exec<'_>,
    ) -> Result<Factors<T>> {
        let FitPart { data, prepared } = self.part(stage);
        let stream = Purpose::Starts.of(self.pca.seed).number(number as u64);
        let deviation = prepared.deviations.mean_square.sqrt();
        let shape = (self.pca.n_components, self.pca.row_offsets);
        let mut factors = random(*data, shape, &prepared.mean, deviation, stream);
        if self.method != Method::Online {
            warm_up(problem, &mut factors, deviation, &exec.part(0.0, 0.0))?;
        }
        if let Some(side) = self.method.unit_side() {
            give_unit(problem, &mut factors, (side, deviation), &exec.part(0.0, 0.0))?;
        }
        Ok(factors)
    }
}

/// Progress of a fit through its stages.
struct Stages<T> {
    stage: Stage,
    /// The best run so far and its stage.
    best: Option<(Run<T>, Stage)>,
    /// Final factors of the last path step.
    warm: Option<Factors<T>>,
    runs: Vec<RunSummary>,
    /// Seconds of previous stages.
    spent: f64,
}

impl<T: Lane> Stages<T> {
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
        let prepared = &setting.part(self.stage).prepared;
        let mut rules = Rules {
            tol: pca.tol,
            gradient_tol: pca.gradient_tol,
            angle_tol: pca.angle_tol,
            rmse_tol: pca.rmse_tol,
            max_iter: pca.max_iter,
            time_limit: pca.time_limit.map(|limit| limit.as_secs_f64() - self.spent),
            window: 1,
            floor: f64::EPSILON * f64::EPSILON * prepared.weight() * prepared.deviations.mean_square,
            early: setting.held_out.is_some() && matches!(self.stage, Stage::Start(_)),
        };
        if let (Stage::Refit, Some((best, Stage::Start(_)))) = (self.stage, &self.best) {
            // A refit makes exactly as many iterations.
            let time_limit = rules.time_limit;
            rules = Rules { max_iter: best.iteration.max(1), tol: 0.0, time_limit, ..rules };
            (rules.gradient_tol, rules.angle_tol, rules.rmse_tol) = (None, None, None);
        }
        let held_out = setting.held_out.filter(|_| !refit);
        Course { pca, method: setting.method, prepared, held_out, rules }
    }

    /// Prepares the current stage, before its first iteration.
    fn begin<'b>(&self, setting: &'b Setting<'_, T>, exec: &Exec<'_>) -> Result<Running<'b, T>> {
        let problem = setting.problem(self.stage, self.lambda(setting));
        let prepared = &setting.part(self.stage).prepared;
        let unreported = self.span(setting, exec).part(0.0, 0.0);
        let random = |number| setting.random(self.stage, number, &problem, &unreported);
        let factors = match (self.origin(), setting.start, &self.best, &self.warm) {
            (Stage::Start(_), Some(start), ..) => given(&problem, start, &prepared.mean, &unreported)?,
            (Stage::Start(number), ..) => random(number)?,
            (_, _, Some((best, _)), _) if self.stage == Stage::Refit => best.factors.clone(),
            (.., Some(warm)) => revived(warm, &random(0)?, problem.free(), &unreported)?,
            _ => random(0)?,
        };
        Running::begin(self.course(setting), problem, factors, &unreported)
    }

    /// Restores the current stage and the results of previous ones from a checkpoint.
    fn resume<'b>(
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
        let shape = setting.kept.data.shape();
        if from.has("best_leg") {
            let [kind, number] = from.take_array("best_leg")?;
            let stage = setting.stage_of_codes("best_leg", kind, number)?;
            let of = (setting.pca, setting.method);
            self.best = Some((Run::restore(&mut from.take_part("best"), setting.kept.data, of)?, stage));
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

    fn save(&self, running: &Running<'_, T>) -> Arrays {
        let mut out = Arrays::default();
        let [kind, number] = self.stage.codes();
        out.put("leg", [kind, number, self.spent]);
        out.put("runs", save_runs(&self.runs));
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
        let n = (setting.pca.n_starts + refit) as f64;
        match self.stage {
            Stage::Start(number) => exec.part(number as f64 / n, (number + 1) as f64 / n),
            Stage::PathStep(step) => {
                exec.part(1.0 - STEP_RATIO.powi(step as i32), 1.0 - STEP_RATIO.powi(step as i32 + 1))
            }
            Stage::Refit => exec.part((n - 1.0) / n, 1.0),
        }
    }

    /// Iterates to the end of the current stage.
    fn drive(
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
                writer.write_if_due(running.iteration(), setting.pca, || self.save(running))?;
                writer.cancellation.check(exec)?;
            }
        }
    }

    fn report(&self, setting: &Setting<'_, T>, running: &Running<'_, T>, exec: &Exec<'_>) -> Result<()> {
        let trace = &running.best.trace;
        let Some(last) = trace.last() else { return Ok(()) };
        let (start, n_starts) = match self.stage {
            Stage::Start(number) => (number, setting.pca.n_starts),
            Stage::PathStep(step) => (step, step + 1),
            Stage::Refit => (self.runs.len(), self.runs.len() + 1),
        };
        exec.report_iteration(Iteration {
            phase: "",
            start,
            n_starts,
            iteration: last.iteration,
            cost: last.cost,
            rmse: last.rmse,
            held_out_rmse: trace.iter().rev().find_map(|entry| entry.held_out_rmse),
            elapsed: Duration::try_from_secs_f64(self.spent + last.seconds).unwrap_or(Duration::MAX),
            remaining: remaining(seconds_left(&running.stopping, trace), last.seconds, n_starts - 1 - start),
        })
    }

    /// Records a finished stage.
    fn note(&mut self, setting: &Setting<'_, T>, running: Running<'_, T>) {
        self.spent += running.seconds();
        let (run, last) = running.into_run();
        if self.stage == Stage::Refit {
            if let Some((best, _)) = &mut self.best {
                // Keeps the trace of the run that chose the number of iterations, with the model of the refit.
                let stop = if run.stop == StopReason::TimeLimit { run.stop } else { best.stop };
                let trace = std::mem::take(&mut best.trace);
                *best = Run { trace, stop, held_out_rmse: best.held_out_rmse, ..run };
            }
            return;
        }
        self.runs.push(RunSummary {
            lambda: self.lambda(setting),
            cost: run.cost,
            rmse: (run.squares / setting.kept.prepared.weight()).sqrt(),
            held_out_rmse: run.held_out_rmse,
            n_iterations: run.trace.last().map_or(0, |entry| entry.iteration),
        });
        if matches!(self.stage, Stage::PathStep(_)) {
            self.warm = Some(last);
        }
        if self.best.as_ref().is_none_or(|(best, _)| run.rank() < best.rank()) {
            self.best = Some((run, self.stage));
        }
    }

    fn next_stage(&self, setting: &Setting<'_, T>) -> Option<Stage> {
        if setting.pca.time_limit.is_some_and(|limit| self.spent >= limit.as_secs_f64()) {
            return None;
        }
        let refit = setting.whole.is_some().then_some(Stage::Refit);
        match (self.stage, &self.best) {
            (Stage::Start(number), _) if number + 1 < setting.pca.n_starts => Some(Stage::Start(number + 1)),
            (Stage::PathStep(step), Some((_, Stage::PathStep(best))))
                if step < best + RISES && step + 1 < MOST_STEPS =>
            {
                Some(Stage::PathStep(step + 1))
            }
            (Stage::Refit, _) => None,
            _ => refit,
        }
    }

    fn into_model(self, setting: &Setting<'_, T>, exec: &Exec<'_>) -> Result<IncompleteModel> {
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
        model.record(self.runs, refitted);
        Ok(model)
    }
}

impl Stage {
    fn codes(self) -> [f64; 2] {
        match self {
            Stage::Start(number) => [0.0, number as f64],
            Stage::PathStep(step) => [1.0, step as f64],
            Stage::Refit => [2.0, 0.0],
        }
    }
}

/// A given start, with the best offsets for it.
fn given<T: Lane>(
    problem: &Objective<'_, T>,
    start: &Start,
    mean: &[f64],
    exec: &Exec<'_>,
) -> Result<Factors<T>> {
    let zeros = problem.fixed().map(|_| vec![0.0; start.scores.n_rows()]);
    let mut factors = Factors::with_offsets(&start.loadings, &start.scores, mean, zeros.as_deref())
        .with_multiplicity(problem.data.multiplicity());
    begin_offsets(problem, &mut factors, exec)?;
    Ok(factors)
}

/// The factors of the last path step plus a fraction of a random start, for the first `c` components.
fn revived<T: Lane>(warm: &Factors<T>, random: &Factors<T>, c: usize, exec: &Exec<'_>) -> Result<Factors<T>> {
    let mut factors = warm.clone();
    for (factor, random) in [(&mut factors.a, &random.a), (&mut factors.s, &random.s)] {
        factor.map_rows(exec, |i, row| {
            for (x, random) in row[..c].iter_mut().zip(random.row(i)) {
                *x = T::from_f64(x.to_f64() + REVIVAL * random.to_f64());
            }
        })?;
    }
    Ok(factors)
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

/// The model of given loadings and mean: one half sweep for the scores, no iterations.
pub(crate) fn finish_from<T: Scalar>(
    pca: &IncompletePca,
    data: &Observed<T>,
    start: &Start,
    observer: &dyn Observer,
) -> Result<IncompleteModel> {
    let pca = IncompletePca { n_components: start.loadings.n_cols(), method: Method::Online, ..pca.clone() };
    pca.check_all(data, Some(start))?;
    Exec::run(pca.n_threads, observer, |exec| match data.typed() {
        Typed::F32(data) => finish_typed(&pca, data, start, exec),
        Typed::F64(data) => finish_typed(&pca, data, start, exec),
    })
}

fn finish_typed<T: Lane>(
    pca: &IncompletePca,
    data: &Observed<T>,
    start: &Start,
    exec: &Exec<'_>,
) -> Result<IncompleteModel> {
    let prepared = Prepared::new(pca, data, Some(start), &exec.phase("means and variances"))?;
    let problem = prepared.problem(pca, data);
    let mut factors = given(&problem, start, &prepared.mean, exec)?;
    let [squares, _] = solve_side(&problem, &mut factors, FactorSide::Scores, &exec.phase("scores"))?;
    let cost = squares + problem.side_penalty(FactorSide::Loadings, &factors, exec)?;
    let penalties = Penalties::of(&problem);
    let run = Run {
        factors,
        trace: Vec::new(),
        stop: StopReason::Iterations,
        iteration: 0,
        cost,
        squares,
        held_out_rmse: None,
        posterior: None,
        penalties,
        collapsed: false,
    };
    let reason = "asked for".to_owned();
    run.into_model(pca, Method::Online, reason, &problem, &prepared, &exec.phase("error bars"))
}
