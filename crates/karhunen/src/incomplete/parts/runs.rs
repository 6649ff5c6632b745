//! Runs of a fit to rows in parts, from its starts to the end.

use std::cell::RefCell;
use std::rc::Rc;

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::Factors;
use crate::incomplete::fit::agreement::{Ended, RunRule};
use crate::incomplete::fit::run::{Course, RunResult, Running};
use crate::incomplete::fit::stopping::Rules;
use crate::incomplete::methods::full::Full;
use crate::incomplete::methods::iterate::Iterate;
use crate::incomplete::methods::of_method;
use crate::incomplete::model::convergence::{RunSummary, StartAgreement};
use crate::incomplete::options::Method;
use crate::incomplete::parts::posterior_rows::RowsInParts;
use crate::incomplete::parts::starts::PartStarts;
use crate::incomplete::parts::sweeps::{Sweeps, Swept};
use crate::incomplete::updates::loading_posteriors::LoadingModel;
use crate::linalg::simd::Lane;

/// The best run, its number, and its last sweep of alternating least squares.
pub(crate) struct Best<T> {
    pub(crate) run: RunResult<T>,
    number: usize,
    pub(crate) swept: Option<Swept>,
}

/// Finished runs.
pub(crate) struct Runs<T> {
    pub(crate) best: Best<T>,
    pub(crate) runs: Vec<RunSummary>,
    pub(crate) agreement: Option<StartAgreement>,
}

impl<T: Lane> PartStarts<'_, T> {
    /// Runs from the starts of a fit to the end, until they agree.
    pub(crate) fn runs(&self, exec: &Exec<'_>) -> Result<Runs<T>> {
        let Self { pca, method, entries, .. } = *self;
        let n_observed = entries.n_observed.iter().sum::<f64>() as usize;
        let total = self.prepared.deviations.mean_square * self.prepared.weight();
        let rule = RunRule::new(pca, method, (n_observed, entries.total(), total), true);
        let (mut best, mut runs, mut spent) = (None::<Best<T>>, Vec::new(), 0.0);
        let (mut short, mut of_runs) = (None, None);
        loop {
            let number = runs.len();
            let part = rule.span(number, 0, exec);
            let (factors, squares, found) = self.of_run(number, &part)?;
            short = short.or(found);
            let (running, swept) = self.run((factors, squares), (number, &rule), spent, &part)?;
            spent += running.seconds();
            let (run, _) = running.into_run();
            runs.push(run.summary(None, self.prepared));
            let stop = run.stop;
            if let Some(Best { run: best, .. }) = &best {
                let ends = [self.ended(best, &part)?, self.ended(&run, &part)?];
                of_runs = Some(rule.with_run(of_runs, ends.each_ref())?);
            }
            let found = match best {
                Some(best) if !rule.replaces(run.rank(), best.run.rank()) => best,
                _ => Best { run, number, swept },
            };
            let agreement = rule.agreement(short, of_runs, found.number == 0);
            let is_over = pca.time_limit.is_some_and(|limit| spent >= limit.as_secs_f64());
            if is_over || rule.is_done(runs.len(), agreement, stop) {
                return Ok(Runs { best: found, runs, agreement });
            }
            best = Some(found);
        }
    }

    /// The end of a run, to be compared with others.
    fn ended(&self, run: &RunResult<T>, exec: &Exec<'_>) -> Result<Ended> {
        let edge = 2.0 * self.penalty_of_noise(run.squares);
        Ended::at(&run.factors, run.factors.c, run.cost, (edge, 0.0), &exec.part(0.0, 0.0))
    }

    /// Iterates from a start to the end; also returns the last sweep of alternating least squares.
    fn run<'b>(
        &'b self,
        (factors, squares): (Factors<T>, f64),
        (number, rule): (usize, &RunRule),
        spent: f64,
        exec: &Exec<'_>,
    ) -> Result<(Running<'b, T>, Option<Swept>)> {
        let Self { pca, method, entries, prepared, passes, penalty, .. } = *self;
        let last = Rc::new(RefCell::new(None));
        let scale = prepared.mean_squares(entries.total());
        let iterations: Box<dyn Iterate<T> + '_> = match method {
            Method::VbFull if scale.of_entries == 0.0 => of_method(pca, method, prepared, entries.total()),
            Method::VbFull => {
                let rows = RowsInParts { passes, entries };
                let of_variances = (scale, None, pca.hyperprior);
                Box::new(Full::over(rows, LoadingModel::Posterior, of_variances, Some(squares)))
            }
            _ => Box::new(Sweeps { passes, penalty, last: Rc::clone(&last) }),
        };
        let rules = Rules::of(pca, prepared, spent);
        let course = Course { pca, method, prepared, held_out: None, rules };
        let problem = self.problem.clone();
        let mut running = Running::begin_at(course, problem, factors, iterations, (squares, None), exec)?;
        while running.step(exec)?.is_none() {
            running.report((number, rule.expected_runs(number)), spent, exec)?;
        }
        let swept = last.take();
        Ok((running, swept))
    }
}
