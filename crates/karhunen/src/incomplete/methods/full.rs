//! Posteriors with full covariances: of loadings and scores in variational Bayes, of scores alone in probabilistic
//! PCA (the EM algorithm of Tipping & Bishop with missing values). Ilin & Raiko (2010), "Practical approaches to
//! principal component analysis in the presence of missing values"; `docs/missing-values-variational.md`.
//!
//! `q = prod N(a_j; a_j, Sa_j) prod N(s_i; s_i, Ss_i) prod N(mu_j; mu_j, mu~_j)`, `p(s) = N(0, I)`,
//! `p(a_jk) = N(0, v_ak)`.
//! The offset of a row is the last of its scores, `p(b_i) = N(0, v_b)`, within their joint posterior; its loadings
//! are certain.

use super::iterate::{Iterate, IterationReport, unit_of_posteriors};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::{LearnedPrior, MeanRule, Objective};
use crate::incomplete::factors::prior::NormalPrior;
use crate::incomplete::factors::state_arrays::{Arrays, count, damaged, size};
use crate::incomplete::factors::{Factor, Factors};
use crate::incomplete::passes::gradient::squares;
use crate::incomplete::passes::moments::Expected;
use crate::incomplete::updates::learned_variances::Hyperprior;
use crate::incomplete::updates::loading_posteriors::{
    LoadingModel, LoadingSolver, drop_from_table, moments_of_loadings,
};
use crate::incomplete::updates::mean_posteriors::{restore_mean_prior, save_mean_prior};
use crate::incomplete::updates::posterior::{LEAST_NOISE, Posterior, without_component};
use crate::incomplete::updates::prepared::{BROAD_VARIANCE, MeanSquares};
use crate::incomplete::updates::row_posteriors::{GivenLoadings, OfScores, RowPosteriors, RowsInMemory};
use crate::incomplete::updates::score_shift::{Priors, ScoreShift, best_affine};
use crate::linalg::simd::Lane;

/// Most and fewest iterations with a broad prior, before its variances are learned.
const BROAD: usize = 20;
const LEAST_BROAD: usize = 8;
/// Relative decrease of the cost below which the broad phase ends.
const SETTLED: f64 = 3e-4;
/// Iterations between attempts to prune.
const PRUNE_EVERY: usize = 10;
/// Pruning considers components that explain less of an entry than this fraction of the noise.
const NEGLIGIBLE: f64 = 0.02;

/// Time O(N c^2 + (n + p) c^3) per iteration; memory for the second moments of every row and feature.
pub(crate) struct Full<T, R> {
    loadings: LoadingModel,
    /// Mean squares of the entries.
    scale: MeanSquares,
    hyperprior: Hyperprior,
    iteration: usize,
    /// Initial value of `v_b`.
    of_offsets: Option<f64>,
    /// Cost of the previous iteration.
    before: f64,
    /// The first iteration that learns the variances of the prior, once determined.
    first_learned: Option<usize>,
    state: Option<FullState<T>>,
    rows: R,
    /// `sum w e^2` of the start, if it is known.
    at_start: Option<f64>,
}

#[derive(Debug)]
struct FullState<T> {
    /// `v_x`.
    noise: f64,
    /// `v_a`.
    prior: Vec<f64>,
    /// `v_b`, with row offsets.
    of_offsets: Option<f64>,
    /// The prior of the means, once it is learned.
    mean_prior: Option<NormalPrior>,
    /// Expected values of the loadings, see [`Expected`].
    table: Factor<T>,
    /// `sum w e^2` of the point predictions, if the last iteration computed it.
    errors: Option<f64>,
}

impl<T: Lane> FullState<T> {
    /// Starts from the current loadings, without uncertainty.
    fn new(
        factors: &Factors<T>,
        noise: f64,
        (prior, of_offsets): (f64, Option<f64>),
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let c = factors.c;
        let layout = Expected::new::<T>(c);
        let mut table = Factor::zeros(factors.a.n_rows(), layout.width);
        table.map_rows(exec, |j, row| {
            let a = factors.a.row(j);
            row[..=c].copy_from_slice(&a[..=c]);
            for k in 0..c {
                for l in 0..=k {
                    row[layout.at(k, l)] = T::from_f64(a[k].to_f64() * a[l].to_f64());
                }
            }
        })?;
        let prior = vec![prior; c - usize::from(of_offsets.is_some())];
        Ok(Self { noise, prior, of_offsets, mean_prior: None, table, errors: None })
    }

    /// The noise over the prior variance of each score.
    fn score_penalty(&self) -> Vec<f64> {
        let of_offsets = self.of_offsets.map(|v| self.noise / v);
        [&vec![self.noise; self.prior.len()], of_offsets.as_slice()].concat()
    }
}

impl<T: Lane> Full<T, RowsInMemory<T>> {
    /// `scale` are the mean squares of the entries; `of_offsets` the initial variance of the row offsets;
    /// `hyperprior` its strength.
    pub(crate) fn new(
        loadings: LoadingModel,
        scale: MeanSquares,
        of_offsets: Option<f64>,
        hyperprior: f64,
    ) -> Self {
        Self::over(RowsInMemory::new(), loadings, (scale, of_offsets, hyperprior), None)
    }
}

impl<T: Lane, R: RowPosteriors<T>> Full<T, R> {
    /// As [`Full::new`], over rows that may lie elsewhere; `at_start` is `sum w e^2` of the start, if it is known.
    pub(crate) fn over(
        rows: R,
        loadings: LoadingModel,
        (scale, of_offsets, hyperprior): (MeanSquares, Option<f64>, f64),
        at_start: Option<f64>,
    ) -> Self {
        // Point estimates of the loadings have no prior to learn.
        let first_learned = (loadings == LoadingModel::Point).then_some(1);
        let scale = scale.positive();
        let before = f64::INFINITY;
        Self {
            loadings,
            scale,
            hyperprior: Hyperprior::new(hyperprior, scale.of_entries),
            iteration: 0,
            of_offsets,
            before,
            first_learned,
            state: None,
            rows,
            at_start,
        }
    }

    fn learns_now(&self) -> bool {
        self.first_learned.is_some_and(|first| self.iteration >= first)
    }

    /// One iteration: scores, shift and rotation, loadings and means, variances. Returns the cost.
    fn round(
        &mut self,
        problem: &Objective<'_, T>,
        factors: &mut Factors<T>,
        state: &mut FullState<T>,
        exec: &Exec<'_>,
    ) -> Result<f64> {
        let mean = problem.mean.with(state.mean_prior).under(state.noise);
        let problem = &Objective { mean, ..problem.clone() };
        let (c, free, n) = (problem.c, problem.free(), self.rows.n_samples(problem));
        let posterior = self.loadings == LoadingModel::Posterior;
        let learned = self.learns_now();
        let penalty = state.score_penalty();
        let given = GivenLoadings { table: &state.table, penalty: &penalty, noise: state.noise };
        let (OfScores { log_det, moments }, scores) =
            self.rows.scores(problem, factors, &given, &exec.part(0.0, 0.5))?;
        let unreported = exec.part(0.5, 0.5);
        let mut log_det = n * c as f64 * state.noise.ln() - log_det;
        let affine = if self.iteration > 1 {
            let priors = Priors {
                of_loadings: posterior.then_some(&state.prior[..]),
                fixed: !learned,
                of_scores: &penalty,
                noise: state.noise,
                hyperprior: self.hyperprior,
            };
            let seen = if problem.mean.joint && posterior {
                Some(self.rows.sums_of_scores(problem, factors, &scores, &unreported)?)
            } else {
                None
            };
            let tables = (&state.table, &moments, seen.as_ref());
            let affine = best_affine(problem, tables, &priors, &unreported)?;
            if learned {
                let least = f64::MIN_POSITIVE.sqrt() * self.scale.of_entries;
                let p = problem.data.n_features() as f64;
                state.prior =
                    affine.variances.iter().map(|v| self.hyperprior.variance(*v, p).max(least)).collect();
            }
            factors.s.map_rows(&unreported, |_, row| affine.apply(&mut row[..c]))?;
            affine
        } else {
            ScoreShift::identity(c)
        };
        log_det += 2.0 * n * affine.log_determinant;
        let squares = affine.squares_of(&moments);
        let mut of_prior_scores: f64 = squares[..free].iter().sum();
        if let (Some(fixed), Some(v)) = (problem.fixed(), &mut state.of_offsets) {
            if learned {
                let least = f64::MIN_POSITIVE.sqrt() * self.scale.of_entries;
                *v = self.hyperprior.variance(squares[fixed] / n, n).max(least);
            }
            of_prior_scores += squares[fixed] / *v + n * v.ln();
        }
        let kl_scores = 0.5 * (of_prior_scores - log_det - n * c as f64);
        let solver = LoadingSolver {
            loadings: self.loadings,
            layout: Expected::new::<T>(c),
            noise: state.noise,
            prior: &state.prior,
            affine: &affine,
            mean: problem.mean,
            fixed: problem.fixed(),
        };
        let loadings = [&mut factors.a, &mut state.table];
        let found = self.rows.loadings(problem, loadings, scores, &solver, &exec.part(0.5, 1.0))?;
        state.errors = found.errors;
        let totals = moments_of_loadings(&state.table, (c, free), &unreported)?;
        let p = problem.data.n_features() as f64;
        if posterior && learned {
            let least = f64::MIN_POSITIVE.sqrt() * self.scale.of_entries;
            state.prior = (0..free).map(|k| self.hyperprior.variance(totals[k] / p, p).max(least)).collect();
        }
        let of_prior: f64 = (0..free).map(|k| totals[k] / state.prior[k] + p * state.prior[k].ln()).sum();
        let kl_loadings = if posterior { 0.5 * (of_prior - found.log_det - p * free as f64) } else { 0.0 };
        let entries = self.rows.n_entries(problem);
        let noise = self.hyperprior.of_noise(self.scale).variance(found.squares / entries, entries);
        state.noise = noise.max(LEAST_NOISE * self.scale.of_noise);
        let (mut means, mut mean) = (found.means, problem.mean);
        if learned && let Some((prior, about_new)) = means.learn(mean, self.hyperprior) {
            state.mean_prior = Some(prior);
            (means, mean) = (about_new, mean.with(state.mean_prior));
        }
        let kl_means = if mean.joint { means.divergence(mean.precision, posterior) } else { 0.0 };
        let likelihood =
            0.5 * entries * (std::f64::consts::TAU * state.noise).ln() + found.squares / (2.0 * state.noise);
        Ok(likelihood + kl_scores + kl_loadings + kl_means + self.cost_of_variances(state, mean))
    }

    /// Terms of the hyperprior in the cost.
    fn cost_of_variances(&self, state: &FullState<T>, mean: MeanRule) -> f64 {
        let of_mean = (mean.learned != LearnedPrior::Nothing).then_some(1.0 / mean.precision);
        let of_loadings = if self.loadings == LoadingModel::Posterior { &state.prior[..] } else { &[] };
        let all = of_loadings.iter().copied().chain(state.of_offsets).chain(of_mean);
        all.map(|v| self.hyperprior.cost(v)).sum::<f64>()
            + self.hyperprior.of_noise(self.scale).cost(state.noise)
    }

    /// Prunes components without which the cost is lower.
    fn prune(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        state: &mut FullState<T>,
        mut cost: f64,
        exec: &Exec<'_>,
    ) -> Result<f64> {
        while problem.free() > 1 {
            let (c, free) = (problem.c, problem.free());
            let weights: Vec<f64> =
                (0..problem.data.n_features()).map(|j| self.rows.weight(problem, j)).collect();
            let total: f64 = weights.iter().sum();
            let layout = Expected::new::<T>(c);
            let shares = state.table.sum_rows(free, exec, |j, row, sums| {
                let share = weights[j] / total;
                (0..free).for_each(|k| sums[k] += share * row[layout.at(k, k)].to_f64());
            })?;
            let weakest = (0..free).min_by(|k, l| shares[*k].total_cmp(&shares[*l])).unwrap_or(0);
            if shares[weakest] >= NEGLIGIBLE * self.scale.noise_of_entry(state.noise) {
                break;
            }
            let mut fewer = Objective { c: c - 1, ..problem.clone() };
            let mut trial = without_component(factors, weakest);
            let mut prior = state.prior.clone();
            prior.remove(weakest);
            let table = drop_from_table(&state.table, c, weakest, exec)?;
            let mut of_trial = FullState {
                noise: state.noise,
                prior,
                of_offsets: state.of_offsets,
                mean_prior: state.mean_prior,
                table,
                errors: None,
            };
            let without = self.round(&fewer, &mut trial, &mut of_trial, exec)?;
            if without.is_nan() || without >= cost {
                break;
            }
            std::mem::swap(problem, &mut fewer);
            (*factors, *state, cost) = (trial, of_trial, without);
        }
        Ok(cost)
    }
}

impl<T: Lane, R: RowPosteriors<T>> Iterate<T> for Full<T, R> {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        self.iteration += 1;
        let mut state = match self.state.take() {
            Some(state) => state,
            None => {
                let found = errors(self.at_start, problem, factors, &exec.part(0.0, 0.0))?;
                let noise = (found / self.rows.n_entries(problem)).max(LEAST_NOISE * self.scale.of_noise);
                let variances = (BROAD_VARIANCE * self.scale.of_entries, self.of_offsets);
                FullState::new(factors, noise, variances, &exec.part(0.0, 0.0))?
            }
        };
        let mut cost = self.round(problem, factors, &mut state, exec)?;
        if self.loadings == LoadingModel::Posterior
            && self.learns_now()
            && self.iteration.is_multiple_of(PRUNE_EVERY)
        {
            cost = self.prune(problem, factors, &mut state, cost, &exec.part(1.0, 1.0))?;
        }
        let size = (cost - self.unit(problem)).abs();
        let settled = self.before - cost < SETTLED * size && self.iteration >= LEAST_BROAD;
        if self.first_learned.is_none() && (settled || self.iteration == BROAD) {
            self.first_learned = Some(self.iteration + 1);
        }
        self.before = cost;
        let squares = errors(state.errors, problem, factors, &exec.part(1.0, 1.0))?;
        self.state = Some(state);
        Ok(IterationReport { cost, squares, step: None, accepted: true, exhausted: false })
    }

    fn window(&self) -> usize {
        1
    }

    fn ready(&self) -> bool {
        self.loadings == LoadingModel::Point
            || self.first_learned.is_some_and(|first| self.iteration >= first + 5)
    }

    fn unit(&self, problem: &Objective<'_, T>) -> f64 {
        let posterior = self.loadings == LoadingModel::Posterior;
        unit_of_posteriors(problem, self.rows.n_entries(problem), self.scale, posterior)
    }

    fn save(&self, out: &mut Arrays) {
        out.put("iteration", [self.iteration as f64]);
        out.put("before", [self.before]);
        // Zero represents `None`.
        out.put("first_learned", [self.first_learned.unwrap_or(0) as f64]);
        if let Some(FullState { noise, prior, of_offsets, mean_prior, table, .. }) = &self.state {
            out.put("noise", [*noise]);
            if let Some(v) = of_offsets {
                out.put("of_offsets", [*v]);
            }
            out.put("prior", prior.as_slice());
            out.put_factor("table", table);
            save_mean_prior(*mean_prior, out);
        }
    }

    fn restore(
        &mut self,
        from: &mut Arrays,
        problem: &Objective<'_, T>,
        _: &Factors<T>,
        _: &Exec<'_>,
    ) -> Result<()> {
        let [iteration] = from.take_array("iteration")?;
        self.iteration = count("iteration", iteration)?;
        [self.before] = from.take_array("before")?;
        // Infinite before the first iteration.
        if self.before.is_nan() {
            return Err(damaged("before", "holds no cost"));
        }
        let [first] = from.take_array("first_learned")?;
        self.first_learned = Some(count("first_learned", first)?).filter(|first| *first > 0);
        if !from.has("noise") {
            return Ok(());
        }
        let (p, c) = (problem.data.n_features(), problem.c);
        let [noise] = from.take_array("noise")?;
        let of_offsets = match problem.fixed() {
            Some(_) => Some(from.take_sizes("of_offsets", 1)?[0]),
            None => None,
        };
        let prior = from.take_sizes("prior", problem.free())?;
        let table = from.take_factor("table", p, Expected::new::<T>(c).width)?;
        let noise = size("noise", noise)?;
        let mean_prior = restore_mean_prior(from)?;
        self.state = Some(FullState { noise, prior, of_offsets, mean_prior, table, errors: None });
        Ok(())
    }

    fn posterior(&self, _: &Factors<T>) -> Option<Posterior<T>> {
        let state = self.state.as_ref()?;
        Some(Posterior {
            noise: state.noise,
            score_penalty: state.score_penalty(),
            table: state.table.clone(),
            point: self.loadings == LoadingModel::Point,
            fixed: false,
            mean_prior: state.mean_prior,
        })
    }
}

/// `sum w e^2` of the factors, computed unless it is known.
fn errors<T: Lane>(
    known: Option<f64>,
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    exec: &Exec<'_>,
) -> Result<f64> {
    match known {
        Some(found) => Ok(found),
        None => squares(problem, factors, exec),
    }
}
