//! Variational Bayes with factorial posteriors, of Raiko, Ilin & Karhunen (2007);
//! `docs/missing-values-variational.md`: `q = prod N(a_jk; a, a~) prod N(s_ik; s, s~) prod N(mu_j; mu, mu~)`,
//! `p(a_jk) = N(0, 1)`, `p(s_ik) = N(0, v_sk)`. Row offsets are scores with certain loadings,
//! `p(b_i) = N(0, v_b)`; `v_b` is learned with the other variances.

use super::conjugate::Conjugate;
use super::iterate::{Iterate, IterationReport, unit_of_posteriors};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::{Diagonal, LearnedPrior, MeanRule, Objective};
use crate::incomplete::factors::prior::NormalPrior;
use crate::incomplete::factors::state_arrays::{Arrays, count, size};
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::gradient::squares;
use crate::incomplete::passes::moments::Expected;
use crate::incomplete::passes::variances::variances_pass;
use crate::incomplete::updates::invariance::{FactorMap, FactorMoments, shift, shift_loadings, transform};
use crate::incomplete::updates::learned_variances::Hyperprior;
use crate::incomplete::updates::mean_posteriors::{
    MeanSums, moments_of_means, restore_mean_prior, save_mean_prior,
};
use crate::incomplete::updates::posterior::{LEAST_NOISE, Posterior, without_component};
use crate::incomplete::updates::preconditioner::{Preconditioner, Sizes};
use crate::incomplete::updates::prepared::{BROAD_VARIANCE, MeanSquares};
use crate::linalg::simd::Lane;

/// Iterations with a broad prior of the scores, before its variances are learned.
const BROAD: usize = 30;
/// Steps of conjugate gradients per iteration.
const STEPS: usize = 5;
/// Power of the second derivatives in the preconditioner.
const ALPHA: f64 = 2.0 / 3.0;
/// Iterations between attempts to prune.
const PRUNE_EVERY: usize = 10;
/// Pruning considers components that explain less of an entry than this fraction of the noise.
const NEGLIGIBLE: f64 = 0.02;

/// Time O(N c + (n + p) c^3) per iteration.
#[derive(Debug)]
pub(crate) struct Factorial<T> {
    /// True if the variances of the scores are learned after the broad phase.
    learned: bool,
    /// Variance of the scores during the broad phase; throughout if it is not learned.
    broad: f64,
    /// Mean squares of the entries.
    scale: MeanSquares,
    hyperprior: Hyperprior,
    /// Initial value of `v_b`.
    of_offsets: Option<f64>,
    iteration: usize,
    state: Option<FactorialState<T>>,
}

#[derive(Debug)]
struct FactorialState<T> {
    /// `v_x`.
    noise: f64,
    /// `v_s`, and `v_b` with row offsets.
    prior: Vec<f64>,
    /// The prior of the means, once it is learned.
    mean_prior: Option<NormalPrior>,
    /// Posterior variances.
    of_loadings: Factor<T>,
    of_scores: Factor<T>,
    /// Penalties that uncertainty adds: `sum w s~` per feature, `sum w a~` per sample.
    uncertainty_loadings: Factor<T>,
    uncertainty_scores: Factor<T>,
    /// Mean square of an entry that each component explains.
    shares: Vec<f64>,
}

/// Sums over all posterior variances.
struct PosteriorVariances {
    /// `T` without the means: contribution of uncertain factors to the sum of squares.
    excess: f64,
    /// `sum w mu~`.
    of_means: f64,
    /// `sum mu~`, `sum ln mu~` and the number of means with a posterior.
    means: [f64; 3],
}

impl<T: Lane> Factorial<T> {
    /// `fixed` is the variance of the scores of `vb-fixed`; `scale` the mean squares of the entries;
    /// `of_offsets` the initial variance of the row offsets; `hyperprior` its strength.
    pub(crate) fn new(
        (learned, fixed): (bool, Option<f64>),
        scale: MeanSquares,
        of_offsets: Option<f64>,
        hyperprior: f64,
    ) -> Self {
        let scale = scale.positive();
        let broad = fixed.unwrap_or(BROAD_VARIANCE * scale.of_entries);
        let hyperprior = Hyperprior::new(hyperprior, scale.of_entries);
        Self { learned, broad, scale, hyperprior, of_offsets, iteration: 0, state: None }
    }

    fn learns_now(&self) -> bool {
        self.learned && self.iteration > BROAD
    }

    fn start(
        &self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<FactorialState<T>> {
        let found = squares(problem, factors, exec)? / problem.data.total_entries();
        let mut state = FactorialState {
            noise: found.max(LEAST_NOISE * self.scale.of_noise),
            prior: [&vec![self.broad; problem.free()], self.of_offsets.as_slice()].concat(),
            mean_prior: None,
            of_loadings: factors.a.zeros_like(),
            of_scores: factors.s.zeros_like(),
            uncertainty_loadings: factors.a.zeros_like(),
            uncertainty_scores: factors.s.zeros_like(),
            shares: vec![0.0; problem.c],
        };
        state.update_variances(problem, factors, exec)?;
        Ok(state)
    }

    /// One iteration: means, gauge, variances of factors, of the noise and of the prior. Returns the cost and
    /// `sum w e^2`.
    fn round(
        &self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        state: &mut FactorialState<T>,
        exec: &Exec<'_>,
    ) -> Result<[f64; 2]> {
        let c = problem.free();
        problem.mean = problem.mean.with(state.mean_prior).under(state.noise);
        problem.loadings = penalties(&state.uncertainty_loadings, |_| state.noise, c, exec)?;
        problem.scores = penalties(&state.uncertainty_scores, |k| state.noise / state.prior[k], c, exec)?;
        problem.offsets = problem.fixed().map(|fixed| Diagonal::Same(state.noise / state.prior[fixed]));
        let sizes = Sizes::of_scores(self.scale.of_entries.sqrt());
        let mut solver = Conjugate::new(Preconditioner { alpha: ALPHA, sizes });
        let mut squares = 0.0;
        for step in 0..STEPS {
            let part = exec.part(0.7 * step as f64 / STEPS as f64, 0.7 * (step + 1) as f64 / STEPS as f64);
            let progress = solver.iterate(problem, factors, &part)?;
            squares = progress.squares;
            if progress.exhausted {
                break;
            }
        }
        let rest = exec.part(0.7, 1.0);
        if problem.mean.joint {
            shift(problem, factors, &rest)?;
        }
        shift_loadings(problem, factors, &rest)?;
        let mut map = FactorMap::identity(c);
        FactorMoments::of(problem, factors, &rest)?.shear(&mut map);
        transform(&mut factors.a, &map.a, &rest)?;
        transform(&mut factors.s, &map.s, &rest)?;
        let posterior = state.update_variances(problem, factors, &rest)?;
        let [of_variances, log_variances, count] = posterior.means;
        let entries = problem.data.total_entries();
        let [away, of_away] = moments_of_means(problem, factors, &rest)?;
        let mut means = MeanSums { count, away, squares: of_away + of_variances, log_variances };
        let expected = squares + posterior.excess + posterior.of_means;
        let noise = self.hyperprior.of_noise(self.scale).variance(expected / entries, entries);
        state.noise = noise.max(LEAST_NOISE * self.scale.of_noise);
        // A prior of the scores that is never learned has no broad phase before.
        if (self.learns_now() || !self.learned)
            && let Some((prior, about_new)) = means.learn(problem.mean, self.hyperprior)
        {
            state.mean_prior = Some(prior);
            means = about_new;
            problem.mean = problem.mean.with(state.mean_prior);
        }
        self.rescale(factors, state, problem.fixed(), &rest)?;
        let kl_means = if problem.mean.joint { means.divergence(problem.mean.precision, true) } else { 0.0 };
        let likelihood =
            0.5 * entries * (std::f64::consts::TAU * state.noise).ln() + expected / (2.0 * state.noise);
        let kl = divergence(&factors.a, &state.of_loadings, &vec![1.0; c], &rest)?
            + divergence(&factors.s, &state.of_scores, &state.prior, &rest)?;
        Ok([likelihood + kl + kl_means + self.cost_of_variances(state, problem.mean), squares])
    }

    /// Terms of the hyperprior in the cost.
    fn cost_of_variances(&self, state: &FactorialState<T>, mean: MeanRule) -> f64 {
        let of_mean = (mean.learned != LearnedPrior::Nothing).then_some(1.0 / mean.precision);
        let of_scores = if self.learned { &state.prior[..] } else { &[] };
        let all = of_scores.iter().copied().chain(of_mean);
        all.map(|v| self.hyperprior.cost(v)).sum::<f64>()
            + self.hyperprior.of_noise(self.scale).cost(state.noise)
    }

    /// Rescales the components: to the best mean square of the loadings if variances of the scores are learned, which is
    /// one without a hyperprior, and else to the scale that minimises the divergence from the priors.
    fn rescale(
        &self,
        factors: &mut Factors<T>,
        state: &mut FactorialState<T>,
        fixed: Option<usize>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let c = state.prior.len();
        let of_a = mean_squares(&factors.a, &state.of_loadings, c, exec)?;
        let of_s = mean_squares(&factors.s, &state.of_scores, c, exec)?;
        let (n, p) = (factors.s.total(), factors.a.n_rows() as f64);
        let mut ratio = vec![1.0; c];
        for k in 0..c {
            let (a, s) = (of_a[k], of_s[k]);
            if fixed == Some(k) {
                // The scale of row offsets is fixed by their loadings.
                if self.learns_now() {
                    let variance = self.hyperprior.variance(s, n);
                    state.prior[k] = variance.max(f64::MIN_POSITIVE.sqrt() * self.scale.of_entries);
                }
            } else if self.learns_now() {
                let t = self.hyperprior.mean_square((p, n), n * s * a);
                let r = if a > 0.0 { t / a } else { 1.0 };
                let variance = self.hyperprior.variance(s / r, n);
                (ratio[k], state.prior[k]) =
                    (r, variance.max(f64::MIN_POSITIVE.sqrt() * self.scale.of_entries));
            } else {
                let (qa, qs) = (p * a, n * s / state.prior[k]);
                let root = ((n - p).powi(2) + 4.0 * qa * qs).sqrt();
                let u = if n >= p { 2.0 * qs / (n - p + root) } else { (p - n + root) / (2.0 * qa) };
                ratio[k] = if u > 0.0 && u.is_finite() { u } else { 1.0 };
            }
        }
        let scale = |factor: &mut Factor<T>, by: &(dyn Fn(f64) -> f64 + Sync)| {
            factor.map_rows(exec, |_, row| {
                for (x, r) in row.iter_mut().zip(&ratio) {
                    *x = T::from_f64(x.to_f64() * by(*r));
                }
            })
        };
        scale(&mut factors.a, &|r| r.sqrt())?;
        scale(&mut factors.s, &|r| 1.0 / r.sqrt())?;
        scale(&mut state.of_loadings, &|r| r)?;
        scale(&mut state.of_scores, &|r| 1.0 / r)?;
        scale(&mut state.uncertainty_loadings, &|r| 1.0 / r)?;
        scale(&mut state.uncertainty_scores, &|r| r)
    }

    /// Prunes components without which the cost is lower.
    fn prune(
        &self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        state: &mut FactorialState<T>,
        mut reached: [f64; 2],
        exec: &Exec<'_>,
    ) -> Result<[f64; 2]> {
        while problem.free() > 1 {
            let weakest =
                (0..problem.free()).min_by(|k, l| state.shares[*k].total_cmp(&state.shares[*l])).unwrap_or(0);
            if state.shares[weakest] >= NEGLIGIBLE * state.noise {
                break;
            }
            let mut fewer = Objective { c: problem.c - 1, ..problem.clone() };
            let mut trial = without_component(factors, weakest);
            let mut of_trial = state.without(weakest, exec)?;
            let without = self.round(&mut fewer, &mut trial, &mut of_trial, exec)?;
            if without[0].is_nan() || without[0] >= reached[0] {
                break;
            }
            (*problem, *factors, *state, reached) = (fewer, trial, of_trial, without);
        }
        Ok(reached)
    }
}

impl<T: Lane> FactorialState<T> {
    /// Updates the posterior variances of both factors given their means, and their contributions to the
    /// penalties.
    fn update_variances(
        &mut self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<PosteriorVariances> {
        let (c, fixed) = (problem.c, problem.fixed());
        let (noise, prior) = (self.noise, &self.prior);
        let a = (&factors.a, &self.of_loadings);
        variances_pass(
            problem,
            FactorSide::Scores,
            a,
            [&mut self.of_scores],
            exec,
            |_, squares, variance_sums, [row]| {
                for k in 0..c {
                    row[k] = T::from_f64(noise / (squares[k] + variance_sums[k] + noise / prior[k]));
                }
                []
            },
        )?;
        let s = (&factors.s, &self.of_scores);
        let mut explained = factors.a.zeros_like();
        let outs = [&mut self.of_loadings, &mut self.uncertainty_loadings, &mut explained];
        let (rule, columns) = (problem.mean, problem.data.columns());
        let [excess, of_means, log_means, n_means] = variances_pass(
            problem,
            FactorSide::Loadings,
            s,
            outs,
            exec,
            |line, squares, variance_sums, rows| {
                let [variance, uncertainty, explained] = rows;
                let mut excess = 0.0;
                for k in 0..c {
                    let a = factors.a.row(line)[k].to_f64();
                    let moment = squares[k] + variance_sums[k];
                    variance[k] = T::from_f64(if fixed == Some(k) { 0.0 } else { noise / (moment + noise) });
                    uncertainty[k] = T::from_f64(variance_sums[k]);
                    let v = variance[k].to_f64();
                    excess += v * moment + a * a * variance_sums[k];
                    explained[k] = T::from_f64((a * a + v) * moment);
                }
                let weight = columns.weight(line);
                if rule.counts(weight) {
                    let variance = noise / (weight + rule.kappa);
                    [excess, weight * variance, variance.ln(), 1.0]
                } else {
                    [excess, 0.0, 0.0, 0.0]
                }
            },
        )?;
        let a = (&factors.a, &self.of_loadings);
        variances_pass(
            problem,
            FactorSide::Scores,
            a,
            [&mut self.uncertainty_scores],
            exec,
            |_, _, variance_sums, [row]| {
                (0..c).for_each(|k| row[k] = T::from_f64(variance_sums[k]));
                []
            },
        )?;
        let entries = problem.data.total_entries();
        self.shares = explained.sum_rows(c, exec, |_, row, sums| {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64() / entries);
        })?;
        let weights = (0..columns.n_lines()).map(|j| columns.weight(j)).filter(|w| rule.counts(*w));
        let of_variances = weights.map(|w| noise / (w + rule.kappa)).sum();
        Ok(PosteriorVariances { excess, of_means, means: [of_variances, log_means, n_means] })
    }

    /// The state without one component.
    fn without(&self, dropped: usize, exec: &Exec<'_>) -> Result<Self> {
        let c = self.prior.len();
        let keep = |values: &[f64]| (0..c).filter(|k| *k != dropped).map(|k| values[k]).collect::<Vec<f64>>();
        let reduce = |factor: &Factor<T>| {
            let mut out = factor.zeros_of_width(c);
            out.map_rows(exec, |i, row| {
                let old = factor.row(i);
                (0..c - 1).for_each(|k| row[k] = old[k + usize::from(k >= dropped)]);
            })?;
            Ok::<_, crate::error::Error>(out)
        };
        Ok(Self {
            noise: self.noise,
            prior: keep(&self.prior),
            mean_prior: self.mean_prior,
            of_loadings: reduce(&self.of_loadings)?,
            of_scores: reduce(&self.of_scores)?,
            uncertainty_loadings: reduce(&self.uncertainty_loadings)?,
            uncertainty_scores: reduce(&self.uncertainty_scores)?,
            shares: keep(&self.shares),
        })
    }
}

/// Penalties of each value: uncertainty of the other factor, plus the prior.
fn penalties<T: Lane>(
    uncertainty: &Factor<T>,
    of_prior: impl Fn(usize) -> f64 + Sync,
    c: usize,
    exec: &Exec<'_>,
) -> Result<Diagonal> {
    const ROWS: usize = 1024;
    let mut full = vec![0.0; uncertainty.n_rows() * c];
    exec.fill(&mut full, ROWS * c, |piece, out| {
        for (at, out) in out.chunks_exact_mut(c).enumerate() {
            let row = uncertainty.row(piece * ROWS + at);
            out.iter_mut().enumerate().for_each(|(k, d)| *d = row[k].to_f64() + of_prior(k));
        }
        Ok(())
    })?;
    Ok(Diagonal::Full(full))
}

/// Mean expected squares of each component.
fn mean_squares<T: Lane>(
    means: &Factor<T>,
    variances: &Factor<T>,
    c: usize,
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let n = means.total();
    means.sum_rows(c, exec, |i, row, sums| {
        for (k, v) in variances.row(i)[..c].iter().enumerate() {
            sums[k] += (row[k].to_f64() * row[k].to_f64() + v.to_f64()) / n;
        }
    })
}

/// Kullback-Leibler divergence of the posterior of a factor from its prior.
fn divergence<T: Lane>(
    means: &Factor<T>,
    variances: &Factor<T>,
    prior: &[f64],
    exec: &Exec<'_>,
) -> Result<f64> {
    let sums = means.sum_rows(1, exec, |i, row, sum| {
        for (k, v0) in prior.iter().enumerate() {
            let (m, v) = (row[k].to_f64(), variances.row(i)[k].to_f64());
            sum[0] += 0.5 * ((m * m + v) / v0 - 1.0 + (v0 / v).ln());
        }
    })?;
    Ok(sums[0])
}

impl<T: Lane> Iterate<T> for Factorial<T> {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        self.iteration += 1;
        let mut state = match self.state.take() {
            Some(state) => state,
            None => self.start(problem, factors, &exec.part(0.0, 0.0))?,
        };
        let mut reached = self.round(problem, factors, &mut state, exec)?;
        if self.learns_now() && self.iteration.is_multiple_of(PRUNE_EVERY) {
            reached = self.prune(problem, factors, &mut state, reached, &exec.part(1.0, 1.0))?;
        }
        self.state = Some(state);
        let [cost, squares] = reached;
        Ok(IterationReport { cost, squares, step: None, accepted: true, exhausted: false })
    }

    fn window(&self) -> usize {
        1
    }

    fn ready(&self) -> bool {
        self.iteration > if self.learned { BROAD + 5 } else { 5 }
    }

    fn unit(&self, problem: &Objective<'_, T>) -> f64 {
        unit_of_posteriors(problem, problem.data.total_entries(), self.scale, true)
    }

    fn save(&self, out: &mut Arrays) {
        out.put("iteration", [self.iteration as f64]);
        let Some(state) = &self.state else { return };
        out.put("noise", [state.noise]);
        out.put("prior", state.prior.as_slice());
        out.put("shares", state.shares.as_slice());
        let names = ["of_loadings", "of_scores", "pull_loadings", "pull_scores"];
        let factors =
            [&state.of_loadings, &state.of_scores, &state.uncertainty_loadings, &state.uncertainty_scores];
        names.into_iter().zip(factors).for_each(|(name, factor)| out.put_factor(name, factor));
        save_mean_prior(state.mean_prior, out);
    }

    fn restore(
        &mut self,
        from: &mut Arrays,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        _: &Exec<'_>,
    ) -> Result<()> {
        let [iteration] = from.take_array("iteration")?;
        self.iteration = count("iteration", iteration)?;
        if !from.has("noise") {
            return Ok(());
        }
        let c = problem.c;
        let [noise] = from.take_array("noise")?;
        self.state = Some(FactorialState {
            noise: size("noise", noise)?,
            prior: from.take_sizes("prior", c)?,
            mean_prior: restore_mean_prior(from)?,
            shares: from.take_sizes("shares", c)?,
            of_loadings: from.take_like("of_loadings", &factors.a)?,
            of_scores: from.take_like("of_scores", &factors.s)?,
            uncertainty_loadings: from.take_like("pull_loadings", &factors.a)?,
            uncertainty_scores: from.take_like("pull_scores", &factors.s)?,
        });
        Ok(())
    }

    fn posterior(&self, factors: &Factors<T>) -> Option<Posterior<T>> {
        let state = self.state.as_ref()?;
        let c = factors.c;
        let layout = Expected::new::<T>(c);
        let mut table = Factor::zeros(factors.a.n_rows(), layout.width);
        for j in 0..table.n_rows() {
            let (a, variances) = (factors.a.row(j), state.of_loadings.row(j));
            let row = table.row_mut(j);
            row[..=c].copy_from_slice(&a[..=c]);
            for k in 0..c {
                for l in 0..=k {
                    let variance = if k == l { variances[k].to_f64() } else { 0.0 };
                    row[layout.at(k, l)] = T::from_f64(a[k].to_f64() * a[l].to_f64() + variance);
                }
            }
        }
        let score_penalty = state.prior.iter().map(|v| state.noise / v).collect();
        Some(Posterior {
            noise: state.noise,
            score_penalty,
            table,
            point: false,
            fixed: !self.learned,
            mean_prior: state.mean_prior,
        })
    }
}
