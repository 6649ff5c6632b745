//! Posteriors with full covariances: of loadings and scores in variational Bayes, of scores alone in probabilistic
//! PCA (the EM algorithm of Tipping & Bishop with missing values). Ilin & Raiko (2010), "Practical approaches to
//! principal component analysis in the presence of missing values"; `docs/missing-values/variational.md`.
//!
//! `q = prod N(a_j; a_j, Sa_j) prod N(s_i; s_i, Ss_i) prod N(mu_j; mu_j, mu~_j)`, `p(s) = N(0, I)`,
//! `p(a_jk) = N(0, v_ak)`.
//! The offset of a row is the last of its scores, `p(b_i) = N(0, v_b)`, within their joint posterior; its loadings
//! are certain.

use super::iterate::{Iterate, IterationReport, unit_of_posteriors};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::{Arrays, count, damaged, size};
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::gradient::squares;
use crate::incomplete::passes::moments::{Expected, moments_pass};
use crate::incomplete::updates::loading_posteriors::{
    LoadingModel, LoadingSolver, OfLoadings, drop_from_table, moments_of_loadings,
};
use crate::incomplete::updates::posterior::{LEAST_NOISE, Posterior, kl_of_means, without_component};
use crate::incomplete::updates::score_moments::ScoreMoments;
use crate::incomplete::updates::score_posteriors::score_posteriors;
use crate::incomplete::updates::score_shift::{Priors, ScoreShift, best_affine};
use crate::linalg::simd::Lane;

/// Most and fewest iterations with a broad prior, before its variances are learned.
const BROAD: usize = 20;
const LEAST_BROAD: usize = 8;
/// Relative decrease of the cost below which the broad phase ends.
const SETTLED: f64 = 3e-4;
/// Variance of the broad prior, as a multiple of the mean square of the data.
const BROAD_VARIANCE: f64 = 1e3;
/// Iterations between attempts to prune.
const PRUNE_EVERY: usize = 10;
/// Pruning considers components that explain less of an entry than this fraction of the noise.
const NEGLIGIBLE: f64 = 0.02;

/// Time O(N c^2 + (n + p) c^3) per iteration; memory for the second moments of every row and feature.
#[derive(Debug)]
pub(crate) struct Full<T> {
    loadings: LoadingModel,
    /// Mean squared deviation of an entry.
    scale: f64,
    iteration: usize,
    /// Initial value of `v_b`.
    of_offsets: Option<f64>,
    /// Cost of the previous iteration.
    before: f64,
    /// The first iteration that learns the variances of the prior, once determined.
    first_learned: Option<usize>,
    state: Option<FullState<T>>,
    /// Memory reused for expected values of the scores.
    workspace: Option<Factor<T>>,
}

#[derive(Debug)]
struct FullState<T> {
    /// `v_x`.
    noise: f64,
    /// `v_a`.
    prior: Vec<f64>,
    /// `v_b`, with row offsets.
    of_offsets: Option<f64>,
    /// Expected values of the loadings, see [`Expected`].
    table: Factor<T>,
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
        Ok(Self { noise, prior, of_offsets, table })
    }

    /// The noise over the prior variance of each score.
    fn score_penalty(&self) -> Vec<f64> {
        let of_offsets = self.of_offsets.map(|v| self.noise / v);
        [&vec![self.noise; self.prior.len()], of_offsets.as_slice()].concat()
    }
}

impl<T: Lane> Full<T> {
    /// `scale` is the mean squared deviation of an entry; `of_offsets` the initial variance of the row offsets.
    pub(crate) fn new(loadings: LoadingModel, scale: f64, of_offsets: Option<f64>) -> Self {
        // Point estimates of the loadings have no prior to learn.
        let first_learned = (loadings == LoadingModel::Point).then_some(1);
        let scale = scale.max(f64::MIN_POSITIVE);
        let before = f64::INFINITY;
        Self {
            loadings,
            scale,
            iteration: 0,
            of_offsets,
            before,
            first_learned,
            state: None,
            workspace: None,
        }
    }

    fn learns_now(&self) -> bool {
        self.first_learned.is_some_and(|first| self.iteration >= first)
    }

    /// One iteration: scores, shift and rotation, loadings and means, variances. Returns the cost and `sum w e^2`.
    fn round(
        &mut self,
        problem: &Objective<'_, T>,
        factors: &mut Factors<T>,
        state: &mut FullState<T>,
        exec: &Exec<'_>,
    ) -> Result<f64> {
        let problem = &Objective { mean: problem.mean.under(state.noise), ..problem.clone() };
        let (c, free, n) = (problem.c, problem.free(), problem.data.total_samples());
        let posterior = self.loadings == LoadingModel::Posterior;
        let learned = self.learns_now();
        let penalty = state.score_penalty();
        let workspace = self.workspace.take();
        let part = exec.part(0.0, 0.5);
        let (scores, log_det) =
            score_posteriors(problem, factors, &state.table, &penalty, state.noise, workspace, &part)?;
        let unreported = exec.part(0.5, 0.5);
        let mut log_det = n * c as f64 * state.noise.ln() - log_det;
        let moments = ScoreMoments::of(&scores, c, &unreported)?;
        let affine = if self.iteration > 1 {
            let priors = Priors {
                of_loadings: posterior.then_some(&state.prior[..]),
                fixed: !learned,
                of_scores: &penalty,
                noise: state.noise,
            };
            let tables = (&state.table, &moments);
            let affine = best_affine(problem, factors, tables, &priors, &unreported)?;
            if learned {
                let least = f64::MIN_POSITIVE.sqrt() * self.scale;
                state.prior = affine.variances.iter().map(|v| v.max(least)).collect();
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
                *v = (squares[fixed] / n).max(f64::MIN_POSITIVE.sqrt() * self.scale);
            }
            of_prior_scores += squares[fixed] / *v + n * v.ln();
        }
        let kl_scores = 0.5 * (of_prior_scores - log_det - n * c as f64);
        let found = self.loadings_given(problem, factors, state, &scores, &affine, &exec.part(0.5, 1.0))?;
        self.workspace = Some(scores);
        let totals = moments_of_loadings(&state.table, (c, free), &unreported)?;
        let p = problem.data.n_features() as f64;
        if posterior && learned {
            let least = f64::MIN_POSITIVE.sqrt() * self.scale;
            state.prior = (0..free).map(|k| (totals[k] / p).max(least)).collect();
        }
        let of_prior: f64 = (0..free).map(|k| totals[k] / state.prior[k] + p * state.prior[k].ln()).sum();
        let kl_loadings = if posterior { 0.5 * (of_prior - found.log_det - p * free as f64) } else { 0.0 };
        let entries = problem.data.total_entries();
        state.noise = (found.squares / entries).max(LEAST_NOISE * self.scale);
        let kl_means = if problem.mean.joint {
            let precision = problem.mean.precision;
            kl_of_means(found.away, found.log_mean_variance, precision, found.n_means, posterior)
        } else {
            0.0
        };
        let likelihood =
            0.5 * entries * (std::f64::consts::TAU * state.noise).ln() + found.squares / (2.0 * state.noise);
        Ok(likelihood + kl_scores + kl_loadings + kl_means)
    }

    /// Updates the posteriors of the loadings given those of the scores after the change `affine`, then the means.
    fn loadings_given(
        &self,
        problem: &Objective<'_, T>,
        factors: &mut Factors<T>,
        state: &mut FullState<T>,
        scores: &Factor<T>,
        affine: &ScoreShift,
        exec: &Exec<'_>,
    ) -> Result<OfLoadings> {
        let c = problem.c;
        let layout = Expected::new::<T>(c);
        let constants: Vec<T> = (0..factors.a.n_rows()).map(|j| factors.a.row(j)[c]).collect();
        let solver = LoadingSolver {
            loadings: self.loadings,
            layout,
            noise: state.noise,
            prior: &state.prior,
            affine,
            mean: problem.mean,
            fixed: problem.fixed(),
        };
        let found = moments_pass(
            problem,
            FactorSide::Loadings,
            (scores, &constants),
            solver.workspace(),
            [&mut factors.a, &mut state.table],
            exec,
            |_, acc, [row, expected]| solver.solve(acc, row, expected),
        )?;
        let [squares, log_det, away, log_mean_variance, n_means] = found;
        Ok(OfLoadings { squares, log_det, away, log_mean_variance, n_means })
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
            let weights: f64 = (0..problem.data.n_features()).map(|j| problem.data.columns().weight(j)).sum();
            let layout = Expected::new::<T>(c);
            let shares = state.table.sum_rows(free, exec, |j, row, sums| {
                let weight = problem.data.columns().weight(j) / weights;
                (0..free).for_each(|k| sums[k] += weight * row[layout.at(k, k)].to_f64());
            })?;
            let weakest = (0..free).min_by(|k, l| shares[*k].total_cmp(&shares[*l])).unwrap_or(0);
            if shares[weakest] >= NEGLIGIBLE * state.noise {
                break;
            }
            self.workspace = None;
            let mut fewer = Objective { c: c - 1, ..problem.clone() };
            let mut trial = without_component(factors, weakest);
            let mut prior = state.prior.clone();
            prior.remove(weakest);
            let table = drop_from_table(&state.table, c, weakest, exec)?;
            let mut of_trial = FullState { noise: state.noise, prior, of_offsets: state.of_offsets, table };
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

impl<T: Lane> Iterate<T> for Full<T> {
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
                let noise = squares(problem, factors, &exec.part(0.0, 0.0))? / problem.data.total_entries();
                let noise = noise.max(LEAST_NOISE * self.scale);
                let variances = (BROAD_VARIANCE * self.scale, self.of_offsets);
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
        self.state = Some(state);
        let squares = squares(problem, factors, &exec.part(1.0, 1.0))?;
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
        unit_of_posteriors(problem, self.scale, self.loadings == LoadingModel::Posterior)
    }

    fn save(&self, out: &mut Arrays) {
        out.put("iteration", [self.iteration as f64]);
        out.put("before", [self.before]);
        // Zero stands for `None`.
        out.put("first_learned", [self.first_learned.unwrap_or(0) as f64]);
        if let Some(FullState { noise, prior, of_offsets, table }) = &self.state {
            out.put("noise", [*noise]);
            if let Some(v) = of_offsets {
                out.put("of_offsets", [*v]);
            }
            out.put("prior", prior.as_slice());
            out.put_factor("table", table);
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
        self.state = Some(FullState { noise, prior, of_offsets, table });
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
        })
    }
}
