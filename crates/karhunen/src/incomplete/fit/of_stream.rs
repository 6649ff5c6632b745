//! Streams that continue a model, and models of streams.

use crate::choice::Choice;
use crate::error::{Error, Result, options as names};
use crate::exec::{Exec, Run};
use crate::incomplete::data::{Observed, Typed};
use crate::incomplete::factors::FactorSide;
use crate::incomplete::factors::objective::Penalties;
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::fit::first_factors::given;
use crate::incomplete::fit::left_out::Division;
use crate::incomplete::fit::run::RunResult;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::convergence::StopReason;
use crate::incomplete::options::{IncompletePca, MeanMode, Method, OnlineRule};
use crate::incomplete::passes::normal::solve_side;
use crate::incomplete::start::Start;
use crate::incomplete::stream::recent::Recent;
use crate::incomplete::stream::rule::IncompleteStream;
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;
use crate::scalar::{Scalar, compiled};
use crate::scaling::Scaling;

impl IncompleteStream {
    /// Continues a fitted model with the rule `Diagonal`: its components weigh as many rows as it was fitted to.
    pub fn resume(model: &IncompleteModel) -> Self {
        let parts = model.parts();
        let (c, p) = parts.components.shape();
        // Scores and loadings of equal size; a component without variance keeps its loadings.
        let size = |k: usize| if k < c { parts.explained_variance[k].sqrt() } else { 1.0 };
        let scale = |k: usize| if size(k) > 0.0 { size(k).sqrt() } else { 1.0 };
        let mean = model.mean_in_units();
        // A model of the last rows of a stream may know features that these rows do not have: next to no weight, but
        // loadings that are not a random start.
        let is_known = |j: usize| (0..c).any(|k| parts.components[(k, j)] != 0.0);
        let weight =
            |(j, n): (usize, &usize)| if *n == 0 && is_known(j) { f64::MIN_POSITIVE } else { *n as f64 };
        let seen: Vec<f64> = parts.n_observed.iter().enumerate().map(weight).collect();
        Self {
            rule: OnlineRule::Diagonal,
            c,
            loadings: Matrix::from_fn(p, c + 1, |j, k| {
                if k < c { parts.components[(k, j)] * scale(k) } else { mean[j] }
            }),
            curvatures: Matrix::from_fn(p, c + 1, |j, k| seen[j] * size(k)),
            seen,
            first: Vec::new(),
            n_samples: model.n_samples(),
            mean: parts.options.mean != MeanMode::None,
            row_offsets: parts.row_offsets.is_some(),
            recent: Recent::of_model(model),
            mean_known: true,
            deviation: Some((parts.total_variance / p as f64).sqrt()).filter(|deviation| *deviation > 0.0),
            scales: parts.scales.clone(),
        }
    }

    /// Makes a model of `rows`, whether learned before or not: scores given the loadings, rotated to principal
    /// components, with the error bars of `options` and the offsets of the stream. There are no iterations. With
    /// fewer rows than components, components, variances and noise come from the rows learned last, eight per
    /// component, and only the scores from `rows`.
    ///
    /// # Errors
    /// As [`IncompletePca::fit`].
    pub fn finish<T: Scalar>(&self, rows: &Observed<T>, options: &IncompletePca) -> Result<IncompleteModel> {
        self.finish_with(rows, options, &Run::default())
    }

    /// As [`IncompleteStream::finish`], with threads and observer of `run`.
    ///
    /// # Errors
    /// As [`IncompleteStream::finish`], and [`crate::Error::Stopped`] if the observer cancels.
    pub fn finish_with<T: Scalar>(
        &self,
        rows: &Observed<T>,
        options: &IncompletePca,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        let finish = compiled!(T, IncompleteStream::model_of::<T>
            => fn(&IncompleteStream, &Observed<T>, &IncompletePca, &Run<'_>) -> Result<IncompleteModel>);
        finish(self, rows, options, run)
    }

    fn model_of<T: Scalar>(
        &self,
        rows: &Observed<T>,
        options: &IncompletePca,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        let options = IncompletePca { row_offsets: self.row_offsets, ..options.clone() };
        if options.scale != Scaling::None && self.scales.scale.is_none() {
            return Err(Error::option(
                names::SCALE,
                options.scale.value(),
                "rows that are learned as they come have no scales before the first; divide the columns, or continue a \
                 model that was fitted so",
            ));
        }
        let rows = &*self.scales.of_entries(rows, self.loadings.n_rows(), run)?;
        Ok(self.model_in_units(rows, &options, run)?.with_scales(self.scales.clone()))
    }

    /// The model of rows in the units of the stream.
    fn model_in_units<T: Scalar>(
        &self,
        rows: &Observed<T>,
        options: &IncompletePca,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        let n_seen = (0..rows.n_samples()).filter(|row| rows.n_observed_in_row(*row) > 0).count();
        if n_seen >= self.c || self.recent.is_empty() {
            return match Division::of(rows, self.c) {
                Some(division) => division
                    .fit(rows, &FitContext::default(), run, |rows, _| self.finish_all(rows, options, run)),
                None => self.finish_all(rows, options, run),
            };
        }
        let recent = self.recent.observed(self.loadings.n_rows(), self.c, run)?;
        let mut model = self.finish_all(&recent, options, run)?;
        model.rename_rows(|_| None);
        let (found, covariances) = model.rows_with_covariances(rows, run)?;
        Ok(model.with_rows(found, options.error_bars.then_some(covariances)))
    }

    fn finish_all<T: Scalar>(
        &self,
        rows: &Observed<T>,
        options: &IncompletePca,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        let start = Start {
            loadings: self.loadings(),
            scores: Matrix::zeros(rows.n_samples(), self.c),
            mean: (options.mean != MeanMode::None).then(|| self.mean_in_units()),
        };
        finish_from(options, rows, &start, run)
    }
}

/// The model of given loadings and mean: one half sweep for the scores, no iterations.
fn finish_from<T: Scalar>(
    pca: &IncompletePca,
    data: &Observed<T>,
    start: &Start,
    run: &Run<'_>,
) -> Result<IncompleteModel> {
    let pca = IncompletePca { n_components: start.loadings.n_cols(), method: Method::Online, ..pca.clone() };
    pca.check_all(data, Some(start))?;
    if pca.conformal.is_some() {
        let rule = "rows that are learned one after the other hold no entries out";
        return Err(Error::option(names::CONFORMAL, pca.conformal, rule));
    }
    Exec::run(run, |exec| match data.typed() {
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
    let run = RunResult {
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
