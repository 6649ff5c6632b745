//! A run: the iterations from one start to the stop.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::exec::{Exec, Iteration};
use crate::growth::More;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::{Objective, Penalties};
use crate::incomplete::factors::state_arrays::{
    Arrays, count, damaged, finite, flag, optional_size, seconds, size,
};
use crate::incomplete::fit::stopping::{Rules, Snapshot, Stopping};
use crate::incomplete::fit::stopping::{restore_trace, save_trace};
use crate::incomplete::fit::time_left::{remaining, seconds_left};
use crate::incomplete::methods::iterate::{Iterate, IterationReport};
use crate::incomplete::methods::of_method;
use crate::incomplete::model::convergence::{RunSummary, StopReason, TraceEntry};
use crate::incomplete::options::{IncompletePca, Method};
use crate::incomplete::passes::gradient::squares;
use crate::incomplete::updates::invariance::{gauge, penalties};
use crate::incomplete::updates::posterior::Posterior;
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::simd::Lane;

/// Result of a run, or its best state so far.
pub(crate) struct RunResult<T> {
    pub(crate) factors: Factors<T>,
    pub(crate) trace: Vec<TraceEntry>,
    pub(crate) stop: StopReason,
    /// Iteration of the factors.
    pub(crate) iteration: usize,
    pub(crate) cost: f64,
    pub(crate) squares: f64,
    pub(crate) held_out_rmse: Option<f64>,
    /// The posterior, if the method has one.
    pub(crate) posterior: Option<Posterior<T>>,
    /// The final penalties; some methods learn them.
    pub(crate) penalties: Penalties,
    /// True if all components have vanished.
    pub(crate) collapsed: bool,
}

impl<T: Lane> RunResult<T> {
    /// Lower is better; NaN is worst.
    pub(crate) fn rank(&self) -> f64 {
        Some(self.held_out_rmse.unwrap_or(self.cost)).filter(|rank| !rank.is_nan()).unwrap_or(f64::INFINITY)
    }

    /// The summary of a run with penalty `lambda` of a path, if any.
    pub(crate) fn summary(&self, lambda: Option<f64>, prepared: &Prepared) -> RunSummary {
        RunSummary {
            lambda,
            cost: self.cost,
            rmse: (self.squares / prepared.weight()).sqrt(),
            held_out_rmse: self.held_out_rmse,
            n_iterations: self.trace.last().map_or(0, |entry| entry.iteration),
        }
    }

    pub(crate) fn save(&self) -> Arrays {
        let mut out = Arrays::default();
        let held_out = self.held_out_rmse.unwrap_or(f64::NAN);
        let c = self.factors.c as f64;
        out.put("numbers", [c, self.iteration as f64, self.cost, self.squares, held_out]);
        out.put("end", [self.stop.code(), f64::from(u8::from(self.collapsed))]);
        out.put_factor("loadings", &self.factors.a);
        out.put_factor("scores", &self.factors.s);
        out.put("trace", save_trace(&self.trace));
        self.penalties.save(&mut out);
        if let Some(posterior) = &self.posterior {
            out.put_part("posterior", posterior.save());
        }
        out
    }

    /// Reads the arrays of [`RunResult::save`] of a fit of `data` by a method.
    pub(crate) fn restore(
        from: &mut Arrays,
        data: &Observed<T>,
        (pca, method): (&IncompletePca, Method),
    ) -> Result<Self> {
        let (n, p) = data.shape();
        let [c, iteration, cost, squares, held_out] = from.take_array("numbers")?;
        let [stop, collapsed] = from.take_array("end")?;
        let c = n_scores(c, pca, method)?;
        let factors = restore_factors(from, data, c)?;
        let mut posterior = from.take_part("posterior");
        Ok(Self {
            factors,
            trace: restore_trace(&from.take("trace")?)?,
            stop: StopReason::from_code(stop)?,
            iteration: count("numbers", iteration)?,
            cost: finite("numbers", cost)?,
            squares: size("numbers", squares)?,
            held_out_rmse: optional_size("numbers", held_out)?,
            posterior: if posterior.0.is_empty() {
                None
            } else {
                Some(Posterior::restore(&mut posterior, p, c)?)
            },
            penalties: Penalties::restore(from, (n, p), (c, pca.row_offsets))?,
            collapsed: flag("end", collapsed)?,
        })
    }
}

/// Checks the stored number of scores per row: as in the options, or fewer if the method prunes components.
fn n_scores(stored: f64, pca: &IncompletePca, method: Method) -> Result<usize> {
    let (c, most) = (count("numbers", stored)?, pca.n_scores());
    let least = if method.learns_variances() { 1 + usize::from(pca.row_offsets) } else { most };
    if (least..=most).contains(&c) {
        Ok(c)
    } else {
        Err(damaged("numbers", "holds another number of components"))
    }
}

/// Reads loadings and scores with `c` scores per row, and checks their constant and padding.
fn restore_factors<T: Lane>(from: &mut Arrays, data: &Observed<T>, c: usize) -> Result<Factors<T>> {
    let (n, p) = data.shape();
    let (a, s) = (from.take_factor::<T>("loadings", p, c + 1)?, from.take_factor::<T>("scores", n, c + 1)?);
    let is_zero = |x: &T| x.to_f64() == 0.0;
    for i in 0..n {
        let (one, filling) =
            s.row(i)[c..].split_first().map_or((0.0, &[][..]), |(x, rest)| (x.to_f64(), rest));
        if one != 1.0 || !filling.iter().all(is_zero) {
            return Err(damaged("scores", "holds values where there are none"));
        }
    }
    if (0..p).any(|j| !a.row(j)[c + 1..].iter().all(is_zero)) {
        return Err(damaged("loadings", "holds values where there are none"));
    }
    Ok(Factors { a, s, c }.with_multiplicity(data.multiplicity()))
}

/// Constants of a run.
#[derive(Clone, Copy)]
pub(crate) struct Course<'a, T> {
    pub(crate) pca: &'a IncompletePca,
    pub(crate) method: Method,
    pub(crate) prepared: &'a Prepared,
    /// Held-out entries.
    pub(crate) held_out: Option<&'a Observed<T>>,
    pub(crate) rules: Rules,
}

/// A run in progress.
pub(crate) struct Running<'a, T> {
    course: Course<'a, T>,
    problem: Objective<'a, T>,
    factors: Factors<T>,
    iterations: Box<dyn Iterate<T> + 'a>,
    pub(crate) stopping: Stopping,
    pub(crate) best: RunResult<T>,
    /// Number of completed iterations.
    iteration: usize,
    /// True if loadings or scores have penalties, which gauge steps lower.
    regularized: bool,
    began: Instant,
    /// Seconds before the run was resumed.
    before: f64,
}

impl<'a, T: Lane> Running<'a, T> {
    /// Evaluates the start, before the first iteration.
    pub(crate) fn begin(
        course: Course<'a, T>,
        problem: Objective<'a, T>,
        factors: Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let found = squares(&problem, &factors, exec)?;
        let held_out_rmse = course.held_out_rmse(&factors, exec)?;
        let iterations = of_method(course.pca, course.method, course.prepared, problem.data.total_entries());
        Self::begin_at(course, problem, factors, iterations, (found, held_out_rmse), exec)
    }

    /// Begins with given iterations, from factors with `found.0` the sum of squared errors and `found.1` the error of
    /// the held-out entries.
    pub(crate) fn begin_at(
        mut course: Course<'a, T>,
        problem: Objective<'a, T>,
        factors: Factors<T>,
        iterations: Box<dyn Iterate<T> + 'a>,
        (found, held_out_rmse): (f64, Option<f64>),
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let began = Instant::now();
        let mut best = RunResult {
            cost: found + penalties(&problem, &factors, exec)?,
            squares: found,
            held_out_rmse,
            factors: factors.clone(),
            trace: Vec::new(),
            stop: StopReason::Iterations,
            iteration: 0,
            posterior: None,
            penalties: Penalties::of(&problem),
            collapsed: false,
        };
        course.rules.window = iterations.window();
        let mut stopping = Stopping::new(course.rules);
        stopping.begin_from(&factors, exec)?;
        // Methods that learn variances have no cost and no model before their first iteration.
        if course.method.learns_variances() {
            stopping.best = held_out_rmse.map(|_| (f64::INFINITY, 0));
        } else {
            stopping.best = held_out_rmse.map(|error| (error, 0));
            stopping.costs.push(best.cost);
            best.trace.push(TraceEntry {
                iteration: 0,
                cost: best.cost,
                rmse: (found / course.prepared.weight()).sqrt(),
                held_out_rmse,
                step: None,
                seconds: began.elapsed().as_secs_f64(),
            });
        }
        let regularized = !problem.loadings.is_zero() || !problem.scores.is_zero();
        Ok(Self {
            course,
            problem,
            factors,
            iterations,
            stopping,
            best,
            iteration: 0,
            regularized,
            began,
            before: 0.0,
        })
    }

    /// Number of completed iterations.
    pub(crate) fn iteration(&self) -> usize {
        self.iteration
    }

    /// The best state of the run, and the last factors.
    pub(crate) fn into_run(self) -> (RunResult<T>, Factors<T>) {
        (self.best, self.factors)
    }

    /// Seconds since the first iteration began.
    pub(crate) fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    /// Makes one iteration; returns the reason to stop, if any.
    pub(crate) fn step(&mut self, exec: &Exec<'_>) -> Result<Option<StopReason>> {
        self.iteration += 1;
        let (iteration, max_iter) = (self.iteration, self.course.rules.max_iter);
        let at = |iteration: usize| (iteration as f64 / max_iter as f64).min(1.0);
        let part = exec.part(at(iteration - 1), at(iteration));
        let unreported = exec.part(at(iteration), at(iteration));
        let mut progress = self.iterations.iterate(&mut self.problem, &mut self.factors, &part)?;
        let window = self.iterations.window();
        if self.regularized && progress.accepted && iteration.is_multiple_of(window) {
            gauge(&self.problem, &mut self.factors, &unreported)?;
            self.iterations.restart();
            progress.cost = progress.squares + penalties(&self.problem, &self.factors, &unreported)?;
        }
        let check_every = if window == 1 { 1 } else { 5 };
        let checked = if iteration.is_multiple_of(check_every) && self.course.rules.early {
            self.course.held_out_rmse(&self.factors, &unreported)?
        } else {
            None
        };
        self.note(&progress, checked);
        let ready = self.iterations.ready();
        if ready && checked.is_some_and(|error| self.stopping.improves(error)) {
            self.keep(&progress, checked);
            self.best.factors = self.factors.clone();
        }
        let snapshot = Snapshot {
            problem: &self.problem,
            factors: &self.factors,
            progress: &progress,
            trace: &self.best.trace,
            unit: self.iterations.unit(&self.problem),
            ready,
        };
        let stop = self.stopping.check(&snapshot, &unreported)?;
        if let Some(stop) = stop {
            self.best.stop = stop;
            self.best.collapsed = self.iterations.collapsed();
            let has_best =
                self.course.rules.early && self.stopping.best.is_some_and(|(lowest, _)| lowest.is_finite());
            if !has_best {
                let held_out = self.course.held_out_rmse(&self.factors, &unreported)?;
                self.keep(&progress, held_out);
                self.best.factors = self.factors.clone();
            }
        }
        Ok(stop)
    }

    /// Reports the last iteration of run `start` of `n_starts`, which began `spent` seconds after the first.
    pub(crate) fn report(
        &self,
        (start, n_starts): (usize, usize),
        spent: f64,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let trace = &self.best.trace;
        let Some(last) = trace.last() else { return Ok(()) };
        exec.report_iteration(Iteration {
            phase: "",
            start,
            n_starts,
            iteration: last.iteration,
            cost: last.cost,
            rmse: last.rmse,
            held_out_rmse: trace.iter().rev().find_map(|entry| entry.held_out_rmse),
            elapsed: Duration::try_from_secs_f64(spent + last.seconds).unwrap_or(Duration::MAX),
            remaining: remaining(seconds_left(&self.stopping, trace), last.seconds, n_starts - 1 - start),
            more: More,
        })
    }

    fn note(&mut self, progress: &IterationReport, held_out_rmse: Option<f64>) {
        self.best.trace.push(TraceEntry {
            iteration: self.iteration,
            cost: progress.cost,
            rmse: (progress.squares / self.course.prepared.weight()).sqrt(),
            held_out_rmse,
            step: progress.step,
            seconds: self.seconds(),
        });
    }

    /// Records the state that belongs to the current factors.
    fn keep(&mut self, progress: &IterationReport, held_out_rmse: Option<f64>) {
        let best = &mut self.best;
        best.iteration = self.iteration;
        best.posterior = self.iterations.posterior(&self.factors);
        best.penalties = Penalties::of(&self.problem);
        (best.cost, best.squares, best.held_out_rmse) = (progress.cost, progress.squares, held_out_rmse);
    }

    /// Saves the state of the next iteration.
    pub(crate) fn save(&self) -> Arrays {
        let mut out = Arrays::default();
        out.put("numbers", [self.factors.c as f64, self.iteration as f64, self.seconds()]);
        out.put_factor("loadings", &self.factors.a);
        out.put_factor("scores", &self.factors.s);
        Penalties::of(&self.problem).save(&mut out);
        let mut method = Arrays::default();
        self.iterations.save(&mut method);
        out.put_part("method", method);
        out.put_part("stopping", self.stopping.save());
        out.put_part("best", self.best.save());
        out
    }

    /// Restores the state of [`Running::save`]; `problem` as for [`Running::begin`].
    pub(crate) fn restore(
        mut course: Course<'a, T>,
        problem: Objective<'a, T>,
        from: &mut Arrays,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let regularized = !problem.loadings.is_zero() || !problem.scores.is_zero();
        let (n, p) = problem.data.shape();
        let [c, iteration, before] = from.take_array("numbers")?;
        let before = seconds("numbers", before)?;
        let of = (course.pca, course.method);
        let c = n_scores(c, course.pca, course.method)?;
        let problem = Penalties::restore(from, (n, p), (c, course.pca.row_offsets))?.give(&problem, c);
        let factors = restore_factors(from, problem.data, c)?;
        let mut iterations =
            of_method(course.pca, course.method, course.prepared, problem.data.total_entries());
        iterations.restore(&mut from.take_part("method"), &problem, &factors, exec)?;
        course.rules.window = iterations.window();
        let mut stopping = Stopping::new(course.rules);
        stopping.restore(&mut from.take_part("stopping"))?;
        stopping.begin_from(&factors, exec)?;
        let best = RunResult::restore(&mut from.take_part("best"), problem.data, of)?;
        let iteration = count("numbers", iteration)?;
        let began = Instant::now();
        Ok(Self {
            course,
            problem,
            factors,
            iterations,
            stopping,
            best,
            iteration,
            regularized,
            began,
            before,
        })
    }
}

impl<T: Lane> Course<'_, T> {
    /// Root mean squared error of the held-out entries, if any.
    fn held_out_rmse(&self, factors: &Factors<T>, exec: &Exec<'_>) -> Result<Option<f64>> {
        let Some(data) = self.held_out else { return Ok(None) };
        Ok(Some(rmse_of(self.pca, self.prepared, data, factors, exec)?))
    }
}

/// Root mean squared error of held-out entries.
pub(crate) fn rmse_of<T: Lane>(
    pca: &IncompletePca,
    prepared: &Prepared,
    held_out: &Observed<T>,
    factors: &Factors<T>,
    exec: &Exec<'_>,
) -> Result<f64> {
    let test = prepared.problem(pca, held_out);
    Ok((squares(&test, factors, exec)? / held_out.total_weight()).sqrt())
}
