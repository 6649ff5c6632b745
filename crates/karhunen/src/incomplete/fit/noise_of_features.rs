//! Fits with a noise variance of each feature: factor analysis of incomplete data (`docs/missing-values-variational.md`).

use std::time::{Duration, Instant};

use crate::choice::Choice;
use crate::error::{Error, OptionValue, Result, options};
use crate::exec::{Exec, Run};
use crate::incomplete::data::{ColumnScales, Observed};
use crate::incomplete::factors::FactorSide;
use crate::incomplete::fit::agreement::{ONE, RunRule};
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::convergence::{RunSummary, StartAgreement, StopReason, TraceEntry};
use crate::incomplete::model::feature_noise::NoiseSums;
use crate::incomplete::options::{IncompletePca, MeanMode, Method, NoiseModel};
use crate::incomplete::start::Start;
use crate::linalg::Matrix;
use crate::random::Purpose;
use crate::scalar::Scalar;

/// Entries that the prior of the noise of a feature is worth.
const PSEUDO_ENTRIES: f64 = 2.0;
/// Logarithms of the noise change by this multiple of the step of the EM algorithm. Each time the cost rises, the part above
/// one is halved.
const RELAXATION: f64 = 1.8;
/// Rounds after which components that have vanished do not return.
const FREE_ROUNDS: usize = 5;
/// The least centre of the prior of the shares, as a part of the share that the first round finds in all features.
const LEAST_CENTRE: f64 = 0.1;
/// Most iterations of the fit of a round.
const MOST_INNER: usize = 100;

/// The noise of the features, and the divisors that make it equal.
#[derive(Clone)]
struct FeatureNoise {
    /// Standard deviation of the entries of each feature; of a constant one, or one with a single entry, the deviation
    /// of the others.
    spread: Vec<f64>,
    /// True for features whose entries vary; the others keep their divisor.
    varies: Vec<bool>,
    /// Divisor of each feature.
    scale: Vec<f64>,
    /// Lower bound of the centre of the prior.
    least_centre: f64,
    relaxation: f64,
}

/// Rounds: each a fit given the noise, and the noise given the fit.
struct Rounds<'a> {
    pca: &'a IncompletePca,
    /// Number of the run.
    number: usize,
    /// The begin of the first run.
    began: Instant,
    trace: Vec<TraceEntry>,
    /// The start of the next fit, in its units.
    start: Option<Start>,
    /// Agreement of the starts of the first fit.
    starts: Option<StartAgreement>,
}

impl IncompletePca {
    /// Fits entries in the units of the data with a noise variance of each feature. The costs of several runs are compared, as
    /// in other fits.
    ///
    /// # Errors
    /// As [`IncompletePca::fit_with`].
    pub(crate) fn fit_noise_of_features<T: Scalar>(
        &self,
        data: &Observed<T>,
        context: &FitContext<'_>,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        self.check_all(data, context.start)?;
        self.check_noise_of_features(data, context)?;
        let noise = FeatureNoise::new(data, self.mean != MeanMode::None, run)?;
        let entries = (data.n_observed(), data.total_entries(), 0.0);
        let rule = RunRule::new(self, self.chosen().0, entries, true);
        let began = Instant::now();
        let (mut best, mut runs, mut agreement) = (None::<IncompleteModel>, Vec::new(), ONE);
        loop {
            let number = runs.len();
            let rounds = Rounds { pca: self, number, began, trace: Vec::new(), start: None, starts: None };
            let model = rounds.run(data, noise.clone(), run)?;
            let found = model.convergence();
            let (cost, rmse, stop) = (found.cost, found.rmse, found.stop);
            let n_iterations = found.trace.len();
            runs.push(RunSummary { lambda: None, cost, rmse, held_out_rmse: None, n_iterations });
            let kept = match best {
                Some(best) => {
                    let lowest = best.convergence().cost;
                    agreement = rule.with_cost(agreement, [lowest, cost], None);
                    if rule.replaces(cost, lowest) { model } else { best }
                }
                None => model,
            };
            let is_over = self.time_limit.is_some_and(|limit| began.elapsed() >= limit);
            if is_over || rule.is_done(runs.len(), Some(agreement), stop) {
                return Ok(kept.with_columns(|parts| {
                    // One run has the agreement of its first round.
                    if runs.len() > 1 {
                        parts.convergence.starts = Some(agreement);
                    }
                    parts.convergence.runs = runs;
                }));
            }
            best = Some(kept);
        }
    }

    fn check_noise_of_features<T: Scalar>(&self, data: &Observed<T>, context: &FitContext<'_>) -> Result<()> {
        if data.feature_weights().is_some() {
            let rule = "the noise of each feature is its weight; leave the weights out";
            return Err(Error::option(options::FEATURE_WEIGHTS, OptionValue::Given, rule));
        }
        if context.start.is_some() || context.checkpoints.is_some() || context.resume.is_some() {
            let rule = "fits with a noise of each feature have starts of their own and keep no checkpoints; leave the start or \
                 the checkpoint out";
            return Err(Error::option(options::NOISE, self.noise.value(), rule));
        }
        Ok(())
    }
}

impl FeatureNoise {
    fn new<T: Scalar>(data: &Observed<T>, centred: bool, run: &Run<'_>) -> Result<Self> {
        let mut spread = ColumnScales::deviations(data, centred, run)?;
        let varies: Vec<bool> = spread.iter().map(|s| *s > 0.0).collect();
        let known = spread.iter().filter(|s| **s > 0.0);
        let mean_square = known.clone().map(|s| s * s).sum::<f64>() / known.count().max(1) as f64;
        let usual = if mean_square > 0.0 { mean_square.sqrt() } else { 1.0 };
        spread.iter_mut().filter(|s| **s == 0.0).for_each(|s| *s = usual);
        Ok(Self { scale: spread.clone(), spread, varies, least_centre: 0.0, relaxation: RELAXATION })
    }

    fn scales(&self) -> ColumnScales {
        ColumnScales { scale: Some(self.scale.clone()), weights: None }
    }

    /// The noise of a feature under a model, as a share of the variance of its entries.
    fn share(&self, model: &IncompleteModel, j: usize) -> f64 {
        model.noise_variance() * (self.scale[j] / self.spread[j]).powi(2)
    }

    /// The features whose noise is learned.
    fn learned(&self) -> impl Iterator<Item = usize> {
        (0..self.scale.len()).filter(|j| self.varies[*j])
    }

    /// The centre of the prior of the shares: their harmonic mean, at which the prior is most likely, or a part of the share
    /// that the first round found in all features, if that is larger.
    fn centre(&self, model: &IncompleteModel) -> f64 {
        let inverses: Vec<f64> = self.learned().map(|j| 1.0 / self.share(model, j)).collect();
        (inverses.len() as f64 / inverses.iter().sum::<f64>()).max(self.least_centre)
    }

    /// The factors by which the step of the EM algorithm changes the noise variances: for each feature, the mean of the expected
    /// squared residuals of its entries and of the pseudo-entries of the prior, divided by the noise variance.
    fn step(&self, model: &IncompleteModel, sums: &Matrix, method: Method) -> Vec<f64> {
        let (noise, centre) = (model.noise_variance(), self.centre(model));
        // The variances of loadings and mean are in the bound of the variational methods, not in the likelihood.
        let of_loadings = f64::from(u8::from(method.has_posterior_loadings()));
        let ratio = |j: usize| {
            let (n, squares, of_column) = (sums[(j, 0)], sums[(j, 1)], sums[(j, 2)]);
            let of_scores = n - sums[(j, 3)] - sums[(j, 4)];
            let expected = squares / noise + of_scores + of_loadings * of_column;
            (expected + PSEUDO_ENTRIES * centre / self.share(model, j)) / (n + PSEUDO_ENTRIES)
        };
        let mut ratios = vec![1.0; self.scale.len()];
        self.learned().for_each(|j| ratios[j] = ratio(j));
        // The unit of all features together is free.
        let total: f64 = self.learned().map(|j| sums[(j, 0)]).sum();
        let mean = self.learned().map(|j| sums[(j, 0)] * ratios[j].ln()).sum::<f64>() / total;
        self.learned().for_each(|j| ratios[j] /= mean.exp());
        ratios
    }

    /// The terms that the units of the features and the prior of their noise add to the cost of a fit.
    fn cost(&self, model: &IncompleteModel, sums: &Matrix) -> f64 {
        let centre = self.centre(model);
        let of_prior = |j: usize| {
            let ratio = centre / self.share(model, j);
            0.5 * PSEUDO_ENTRIES * (ratio - 1.0 - ratio.ln())
        };
        let of_units: f64 = (0..self.scale.len()).map(|j| sums[(j, 0)] * self.scale[j].ln()).sum();
        of_units + self.learned().map(of_prior).sum::<f64>()
    }

    fn apply(&mut self, ratios: &[f64]) {
        let power = 0.5 * self.relaxation;
        self.scale.iter_mut().zip(ratios).for_each(|(scale, ratio)| *scale *= ratio.powf(power));
    }
}

impl Rounds<'_> {
    /// Rounds to the end.
    fn run<T: Scalar>(
        mut self,
        data: &Observed<T>,
        mut noise: FeatureNoise,
        run: &Run<'_>,
    ) -> Result<IncompleteModel> {
        let method = self.pca.chosen().0;
        loop {
            let scales = noise.scales();
            let scaled = scales.of_entries(data, data.n_features(), run)?;
            let model = self.fit(&scaled, run)?;
            if model.noise_variance() <= 0.0 {
                let stop = model.convergence().stop;
                return Ok(self.finish(model.with_scales(scales), stop));
            }
            if self.trace.is_empty() {
                noise.least_centre = LEAST_CENTRE * model.noise_variance();
            }
            let NoiseSums(sums) = Exec::run(run, |exec| NoiseSums::of(&model, &scaled, exec))?;
            let ratios = noise.step(&model, &sums, method);
            let cost = model.convergence().cost + noise.cost(&model, &sums);
            self.note(&model, cost);
            if let Some(stop) = self.stop(&model, data.total_entries()) {
                return Ok(self.finish(model.with_scales(scales), stop));
            }
            if self.has_risen() {
                noise.relaxation = 0.5 * (1.0 + noise.relaxation);
            }
            self.start = self.start_from(&model, &ratios, noise.relaxation);
            noise.apply(&ratios);
        }
    }

    /// The fit of a round to scaled entries.
    fn fit<T: Scalar>(&self, scaled: &Observed<T>, run: &Run<'_>) -> Result<IncompleteModel> {
        let pca = self.pca;
        let spent = self.began.elapsed();
        let is_first = self.trace.is_empty() && self.number == 0 && pca.n_starts.is_none();
        let inner = IncompletePca {
            n_components: self.start.as_ref().map_or(pca.n_components, |start| start.loadings.n_cols()),
            noise: NoiseModel::Shared,
            // The noise of each feature takes the variances of loadings.
            error_bars: true,
            conformal: None,
            max_iter: pca.max_iter.min(MOST_INNER),
            time_limit: pca.time_limit.map(|limit| limit.saturating_sub(spent).max(Duration::from_nanos(1))),
            n_starts: if is_first { None } else { Some(1) },
            seed: self.seed(),
            ..pca.clone()
        };
        let context = FitContext { start: self.start.as_ref(), ..FitContext::default() };
        inner.fit_in_units(scaled, &context, run)
    }

    /// The seed of the fits of this run.
    fn seed(&self) -> u64 {
        match self.number {
            0 => self.pca.seed,
            number => Purpose::Starts.of(self.pca.seed).number(number as u64).places().at(0, 0),
        }
    }

    fn note(&mut self, model: &IncompleteModel, cost: f64) {
        let found = model.convergence();
        if self.trace.is_empty() {
            self.starts = found.starts;
        }
        self.trace.push(TraceEntry {
            iteration: self.trace.len() + 1,
            cost,
            rmse: found.rmse,
            held_out_rmse: None,
            step: None,
            seconds: self.began.elapsed().as_secs_f64(),
        });
    }

    fn has_risen(&self) -> bool {
        matches!(self.trace.as_slice(), [.., before, now] if now.cost > before.cost)
    }

    /// The reason to stop after a round, if any.
    fn stop(&self, model: &IncompleteModel, entries: f64) -> Option<StopReason> {
        let last = model.convergence().stop;
        let change = match self.trace.as_slice() {
            [.., before, now] => (before.cost - now.cost).abs(),
            _ => f64::INFINITY,
        };
        let tol = self.pca.tol;
        match last {
            StopReason::TimeLimit | StopReason::NoNoise | StopReason::Overfit => Some(last),
            _ if last != StopReason::Iterations && change <= tol * entries => {
                Some(if tol > 0.0 { StopReason::Tolerance } else { StopReason::Exhausted })
            }
            _ => (self.trace.len() >= self.pca.max_iter).then_some(StopReason::Iterations),
        }
    }

    /// The loadings and scores of a model in the units of the next fit; `None` for a random start, so that components that have
    /// vanished in one of the first rounds may return.
    fn start_from(&self, model: &IncompleteModel, ratios: &[f64], relaxation: f64) -> Option<Start> {
        let size: Vec<f64> = model.explained_variance().iter().map(|v| v.max(0.0).sqrt()).collect();
        let c = size.iter().filter(|size| **size > 0.0).count();
        if c == 0 || c < self.pca.n_components && self.trace.len() <= FREE_ROUNDS {
            return None;
        }
        // Loadings or scores have the unit of the data.
        let of_loadings = self.pca.chosen().0.unit_side() == Some(FactorSide::Loadings);
        let [of_loading, of_score] =
            [of_loadings, !of_loadings].map(|has| move |size: f64| if has { size } else { 1.0 });
        let unit = |j: usize| ratios[j].powf(-0.5 * relaxation);
        let loadings = Matrix::from_fn(model.n_features(), c, |j, k| {
            model.components()[(k, j)] * of_loading(size[k]) * unit(j)
        });
        let scores = Matrix::from_fn(model.scores().n_rows(), c, |i, k| {
            model.scores()[(i, k)] / size[k] * of_score(size[k])
        });
        let mean = model.mean_in_units().iter().enumerate().map(|(j, mean)| mean * unit(j)).collect();
        let mean = (self.pca.mean != MeanMode::None).then_some(mean);
        Some(Start { loadings, scores, mean })
    }

    /// The model of all rounds.
    fn finish(self, model: IncompleteModel, stop: StopReason) -> IncompleteModel {
        model.with_columns(|parts| {
            parts.options = self.pca.clone();
            let found = &mut parts.convergence;
            found.cost = self.trace.last().map_or(found.cost, |last| last.cost);
            found.stop = stop;
            found.trace = self.trace;
            found.starts = self.starts;
            if !self.pca.error_bars {
                (parts.score_covariances, parts.loading_covariances) = (None, None);
                (parts.feature_noise_variance, parts.spe_scale) = (None, None);
            }
        })
    }
}
