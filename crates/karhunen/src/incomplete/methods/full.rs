//! Posteriors with full covariances: variational Bayes, where loadings and scores both have one, and probabilistic PCA
//! (the EM algorithm of Tipping & Bishop with missing values), where scores alone do. Ilin & Raiko (2010), "Practical
//! approaches to principal component analysis in the presence of missing values", section 11 of the specification.
//!
//! `q = prod N(a_i; a_i, Sa_i) prod N(s_j; s_j, Ss_j) prod N(mu_i; mu_i, mu~_i)`, `p(s) = N(0, I)`, `p(a_ik) = N(0, v_ak)`.
//! The offset of a row is the last of its scores, `p(b_j) = N(0, v_b)`, and has one posterior with them; its loadings are
//! certain.

use super::{Iterate, Progress, unit_of_posteriors};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::arrays::{Arrays, count};
use crate::incomplete::cholesky::{BLOCK, Upper, solve_singular};
use crate::incomplete::factors::{Factor, Factors, Side};
use crate::incomplete::kernels::gradient::squares;
use crate::incomplete::kernels::moments::{Expected, moments_pass};
use crate::incomplete::kernels::normal::hold;
use crate::incomplete::posterior::{Affine, Posterior, Priors, best_affine, kl_of_means, without_component};
use crate::incomplete::problem::{MeanRule, Problem};
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Most and fewest iterations with a broad prior, before its variances are learned.
const BROAD: usize = 20;
const LEAST_BROAD: usize = 8;
/// The broad phase is over when an iteration lowers the cost by less than this share.
const SETTLED: f64 = 3e-4;
/// The variance of the broad prior, in mean squares of the data.
const BROAD_VARIANCE: f64 = 1e3;
/// How often components are looked at that may not be needed.
const PRUNE_EVERY: usize = 10;
/// Components that explain more of an entry than this share of the noise are not looked at.
const NEGLIGIBLE: f64 = 0.02;
/// Variances below this share of the mean square of the data are rounding.
pub(crate) const LEAST_NOISE: f64 = 1e-9;

/// Whether loadings have posteriors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loadings {
    /// A posterior each, under a learned prior: variational Bayes.
    Posterior,
    /// A value each, without prior: probabilistic PCA.
    Point,
}

/// Time O(N c^2 + (n + p) c^3) for each iteration, memory for the second moments of every row and feature.
#[derive(Debug)]
pub(crate) struct Full<T> {
    loadings: Loadings,
    /// Mean squared deviation of an entry.
    scale: f64,
    iteration: usize,
    /// `v_b` before it is learned.
    of_offsets: Option<f64>,
    /// Cost of the iteration before.
    before: f64,
    /// The first iteration that learns the variances of the prior, once it is known.
    first_learned: Option<usize>,
    state: Option<State<T>>,
    /// Room for expected values of the scores.
    room: Option<Factor<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// `v_x`.
    noise: f64,
    /// `v_a`.
    prior: Vec<f64>,
    /// `v_b`, where rows have offsets.
    of_offsets: Option<f64>,
    /// Expected values of the loadings, see [`Expected`].
    table: Factor<T>,
}

impl<T: Lane> State<T> {
    /// Loadings as they are, without uncertainty.
    fn new(
        factors: &Factors<T>,
        noise: f64,
        (prior, of_offsets): (f64, Option<f64>),
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let c = factors.c;
        let layout = Expected::new::<T>(c);
        let mut table = Factor::zeros(factors.a.n_rows(), layout.width);
        table.map_rows(exec, |i, row| {
            let a = factors.a.row(i);
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
    /// `scale` is the mean squared deviation of an entry; `of_offsets` the variance of the offsets of rows to begin with.
    pub(crate) fn new(loadings: Loadings, scale: f64, of_offsets: Option<f64>) -> Self {
        // Without posteriors of the loadings there is no prior to learn.
        let first_learned = (loadings == Loadings::Point).then_some(1);
        let scale = scale.max(f64::MIN_POSITIVE);
        let before = f64::INFINITY;
        Self { loadings, scale, iteration: 0, of_offsets, before, first_learned, state: None, room: None }
    }

    fn learns_now(&self) -> bool {
        self.first_learned.is_some_and(|first| self.iteration >= first)
    }

    /// One round: scores, shift and rotation, loadings and means, variances. Returns the cost and `sum w e^2`.
    fn round(
        &mut self,
        problem: &Problem<'_, T>,
        factors: &mut Factors<T>,
        state: &mut State<T>,
        exec: &Exec<'_>,
    ) -> Result<f64> {
        let (c, free, n) = (problem.c, problem.free(), problem.data.total_samples());
        let posterior = self.loadings == Loadings::Posterior;
        let learned = self.learns_now();
        let penalty = state.score_penalty();
        let room = self.room.take();
        let part = exec.part(0.0, 0.5);
        let (scores, log_det) =
            score_posteriors(problem, factors, &state.table, &penalty, state.noise, room, &part)?;
        let quiet = exec.part(0.5, 0.5);
        let mut log_det = n * c as f64 * state.noise.ln() - log_det;
        let moments = Moments::of(&scores, c, &quiet)?;
        let affine = if self.iteration > 1 {
            let priors = Priors {
                of_loadings: posterior.then_some(&state.prior[..]),
                held: !learned,
                of_scores: &penalty,
                noise: state.noise,
            };
            let tables = (&state.table, &moments);
            let affine = best_affine(problem, factors, tables, &priors, &quiet)?;
            if learned {
                let least = f64::MIN_POSITIVE.sqrt() * self.scale;
                state.prior = affine.variances.iter().map(|v| v.max(least)).collect();
            }
            factors.s.map_rows(&quiet, |_, row| affine.apply(&mut row[..c]))?;
            affine
        } else {
            Affine::identity(c)
        };
        log_det += 2.0 * n * affine.log_determinant;
        let squares = moments.squares_under(&affine);
        let mut of_prior_scores: f64 = squares[..free].iter().sum();
        if let (Some(held), Some(v)) = (problem.held(), &mut state.of_offsets) {
            if learned {
                *v = (squares[held] / n).max(f64::MIN_POSITIVE.sqrt() * self.scale);
            }
            of_prior_scores += squares[held] / *v + n * v.ln();
        }
        let kl_scores = 0.5 * (of_prior_scores - log_det - n * c as f64);
        let found = self.loadings_given(problem, factors, state, &scores, &affine, &exec.part(0.5, 1.0))?;
        self.room = Some(scores);
        let totals = moments_of_loadings(&state.table, (c, free), &quiet)?;
        let p = problem.data.n_features() as f64;
        if posterior && learned {
            let least = f64::MIN_POSITIVE.sqrt() * self.scale;
            state.prior = (0..free).map(|k| (totals[k] / p).max(least)).collect();
        }
        let of_prior: f64 = (0..free).map(|k| totals[k] / state.prior[k] + p * state.prior[k].ln()).sum();
        let kl_loadings = if posterior { 0.5 * (of_prior - found.log_det - p * free as f64) } else { 0.0 };
        let entries = problem.data.total_entries();
        let pulled = if problem.mean.joint && problem.mean.kappa > 0.0 { p } else { 0.0 };
        state.noise = ((found.squares + found.pull) / (entries + pulled)).max(LEAST_NOISE * self.scale);
        let kl_means = if problem.mean.joint {
            kl_of_means(
                found.pull,
                found.log_mean_variance,
                problem.mean.kappa,
                found.n_means,
                state.noise,
                posterior,
            )
        } else {
            0.0
        };
        let likelihood =
            0.5 * entries * (std::f64::consts::TAU * state.noise).ln() + found.squares / (2.0 * state.noise);
        Ok(likelihood + kl_scores + kl_loadings + kl_means)
    }

    /// Posteriors of the loadings given those of the scores, moved by `affine`; then the means.
    fn loadings_given(
        &self,
        problem: &Problem<'_, T>,
        factors: &mut Factors<T>,
        state: &mut State<T>,
        scores: &Factor<T>,
        affine: &Affine,
        exec: &Exec<'_>,
    ) -> Result<OfLoadings> {
        let c = problem.c;
        let layout = Expected::new::<T>(c);
        let constants: Vec<T> = (0..factors.a.n_rows()).map(|i| factors.a.row(i)[c]).collect();
        let solver = LoadingSolver {
            loadings: self.loadings,
            layout,
            noise: state.noise,
            prior: &state.prior,
            affine,
            mean: problem.mean,
            held: problem.held(),
        };
        let found = moments_pass(
            problem,
            Side::Loadings,
            (scores, &constants),
            solver.room(),
            [&mut factors.a, &mut state.table],
            exec,
            |_, acc, [row, expected]| solver.solve(acc, row, expected),
        )?;
        let [squares, log_det, pull, log_mean_variance, n_means] = found;
        Ok(OfLoadings { squares, log_det, pull, log_mean_variance, n_means })
    }

    /// Leaves out components that the data do not support: those without which the cost is lower.
    fn prune(
        &mut self,
        problem: &mut Problem<'_, T>,
        factors: &mut Factors<T>,
        state: &mut State<T>,
        mut cost: f64,
        exec: &Exec<'_>,
    ) -> Result<f64> {
        while problem.free() > 1 {
            let (c, free) = (problem.c, problem.free());
            let weights: f64 = (0..problem.data.n_features()).map(|i| problem.data.columns().weight(i)).sum();
            let layout = Expected::new::<T>(c);
            let shares = state.table.sum_rows(free, exec, |i, row, sums| {
                let weight = problem.data.columns().weight(i) / weights;
                (0..free).for_each(|k| sums[k] += weight * row[layout.at(k, k)].to_f64());
            })?;
            let weakest = (0..free).min_by(|k, l| shares[*k].total_cmp(&shares[*l])).unwrap_or(0);
            if shares[weakest] >= NEGLIGIBLE * state.noise {
                break;
            }
            self.room = None;
            let mut fewer = Problem { c: c - 1, ..problem.clone() };
            let mut trial = without_component(factors, weakest);
            let mut prior = state.prior.clone();
            prior.remove(weakest);
            let table = drop_from_table(&state.table, c, weakest, exec)?;
            let mut of_trial = State { noise: state.noise, prior, of_offsets: state.of_offsets, table };
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
        problem: &mut Problem<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<Progress> {
        self.iteration += 1;
        let mut state = match self.state.take() {
            Some(state) => state,
            None => {
                let noise = squares(problem, factors, &exec.part(0.0, 0.0))? / problem.data.total_entries();
                let noise = noise.max(LEAST_NOISE * self.scale);
                let variances = (BROAD_VARIANCE * self.scale, self.of_offsets);
                State::new(factors, noise, variances, &exec.part(0.0, 0.0))?
            }
        };
        let mut cost = self.round(problem, factors, &mut state, exec)?;
        if self.loadings == Loadings::Posterior
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
        Ok(Progress { cost, squares, step: None, accepted: true, exhausted: false })
    }

    fn window(&self) -> usize {
        1
    }

    fn ready(&self) -> bool {
        self.loadings == Loadings::Point
            || self.first_learned.is_some_and(|first| self.iteration >= first + 5)
    }

    fn unit(&self, problem: &Problem<'_, T>) -> f64 {
        unit_of_posteriors(problem, self.scale, self.loadings == Loadings::Posterior)
    }

    fn save(&self, out: &mut Arrays) {
        out.put("iteration", [self.iteration as f64]);
        out.put("before", [self.before]);
        // Zero stands for what is not known yet.
        out.put("first_learned", [self.first_learned.unwrap_or(0) as f64]);
        if let Some(State { noise, prior, of_offsets, table }) = &self.state {
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
        problem: &Problem<'_, T>,
        _: &Factors<T>,
        _: &Exec<'_>,
    ) -> Result<()> {
        let [iteration] = from.take_array("iteration")?;
        self.iteration = count("iteration", iteration)?;
        [self.before] = from.take_array("before")?;
        let [first] = from.take_array("first_learned")?;
        self.first_learned = Some(count("first_learned", first)?).filter(|first| *first > 0);
        if !from.has("noise") {
            return Ok(());
        }
        let (p, c) = (problem.data.n_features(), problem.c);
        let [noise] = from.take_array("noise")?;
        let of_offsets = match problem.held() {
            Some(_) => Some(from.take_array::<1>("of_offsets")?[0]),
            None => None,
        };
        let prior = from.take_vec("prior", problem.free())?;
        let table = from.take_factor("table", p, Expected::new::<T>(c).width)?;
        self.state = Some(State { noise, prior, of_offsets, table });
        Ok(())
    }

    fn posterior(&self, _: &Factors<T>) -> Option<Posterior<T>> {
        let state = self.state.as_ref()?;
        Some(Posterior {
            noise: state.noise,
            score_penalty: state.score_penalty(),
            table: state.table.clone(),
            point: self.loadings == Loadings::Point,
        })
    }
}

/// What the pass over the features found.
struct OfLoadings {
    /// Expected `sum w e^2`.
    squares: f64,
    log_det: f64,
    /// `kappa sum ((mu - m0)^2 + mu~)`.
    pull: f64,
    log_mean_variance: f64,
    n_means: f64,
}

/// Posteriors of all scores: the expected values of each sample, and the sum of `ln det Psi_j`. `penalty` is the noise over
/// the prior variance of each component. Writes the means into the factors. `room` are expected values that are no longer
/// needed.
pub(crate) fn score_posteriors<T: Lane>(
    problem: &Problem<'_, T>,
    factors: &mut Factors<T>,
    table: &Factor<T>,
    penalty: &[f64],
    noise: f64,
    room: Option<Factor<T>>,
    exec: &Exec<'_>,
) -> Result<(Factor<T>, f64)> {
    let c = problem.c;
    let layout = Expected::new::<T>(c);
    let stride = c.next_multiple_of(BLOCK);
    let n = problem.data.n_samples();
    // What lies between the means and the moments is zero, there as well.
    let room = room.filter(|room| room.n_rows() == n && room.width() == layout.width);
    let mut expected = room.unwrap_or_else(|| factors.s.zeros_beside(layout.width));
    let ones = vec![T::from_f64(1.0); n];
    let [log_det] = moments_pass(
        problem,
        Side::Scores,
        (table, &ones),
        (3 * c + 1) * stride,
        [&mut factors.s, &mut expected],
        exec,
        |_, acc, [row, out]| {
            let (sums, room) = acc.split_at_mut(layout.n_sums());
            let (g, room) = room.split_at_mut(c * stride);
            let (inverse, room) = room.split_at_mut(c * stride);
            let (room, s) = room.split_at_mut(c * stride);
            for k in 0..c {
                for l in k..c {
                    g[k * stride + l] = sums[layout.at(l, k)];
                }
                g[k * stride + k] += penalty[k];
            }
            let b = &sums[layout.width..layout.width + c];
            s[..c].copy_from_slice(b);
            let mut psi = Upper { values: g, m: c, stride };
            let log_det = solve_and_invert(&mut psi, s, inverse, room)?;
            for k in 0..c {
                row[k] = T::from_f64(s[k]);
                out[k] = row[k];
                let moments = out[layout.at(k, 0)..].iter_mut().zip(&inverse[k * stride..][..=k]);
                for ((out, inverse), other) in moments.zip(&*s) {
                    *out = T::from_f64(s[k] * other + noise * inverse);
                }
            }
            out[c] = T::from_f64(1.0);
            Ok([log_det])
        },
    )?;
    Ok((expected, log_det))
}

/// Solves in place of `b`, inverts, and returns the logarithm of the determinant. What is singular to rounding has an
/// inverse of zero.
fn solve_and_invert(g: &mut Upper<'_>, b: &mut [f64], inverse: &mut [f64], room: &mut [f64]) -> Result<f64> {
    let (m, stride) = (g.m, g.stride);
    room[..m * stride].copy_from_slice(&g.values[..m * stride]);
    if g.factorize() {
        g.solve(&mut b[..m]);
        let log_det = g.log_determinant();
        g.invert(inverse, room);
        return Ok(log_det);
    }
    solve_singular(&Upper { values: &mut room[..m * stride], m, stride }, &mut b[..m])?;
    inverse[..m * stride].fill(0.0);
    Ok(0.0)
}

/// `sum_j E s_j` and `sum_j E s_j s_j'`.
#[derive(Debug)]
pub(crate) struct Moments {
    pub(crate) n: f64,
    pub(crate) first: Vec<f64>,
    pub(crate) second: Matrix,
}

impl Moments {
    pub(crate) fn of<T: Lane>(table: &Factor<T>, c: usize, exec: &Exec<'_>) -> Result<Self> {
        let layout = Expected::new::<T>(c);
        let sums = table.sum_rows(layout.width, exec, |_, row, sums| {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.to_f64());
        })?;
        let second = Matrix::from_fn(c, c, |k, l| sums[layout.at(k.max(l), k.min(l))]);
        Ok(Self { n: table.total(), first: sums[..c].to_vec(), second })
    }

    /// `sum_j E (R (s_j - m))_k^2` of each score `k`.
    fn squares_under(&self, affine: &Affine) -> Vec<f64> {
        let c = self.first.len();
        let centred = self.about(&affine.shift);
        let r = &affine.map;
        (0..c)
            .map(|k| {
                let row = r.row(k);
                (0..c).map(|i| row[i] * (0..c).map(|j| centred[(i, j)] * row[j]).sum::<f64>()).sum::<f64>()
            })
            .collect()
    }

    /// `sum_j E (s_j - m)(s_j - m)'`.
    pub(crate) fn about(&self, m: &[f64]) -> Matrix {
        let c = self.first.len();
        Matrix::from_fn(c, c, |k, l| {
            self.second[(k, l)] - self.first[k] * m[l] - m[k] * self.first[l] + self.n * m[k] * m[l]
        })
    }
}

/// `sum_i E a_ik^2` of the first `free` components of `c`.
fn moments_of_loadings<T: Lane>(
    table: &Factor<T>,
    (c, free): (usize, usize),
    exec: &Exec<'_>,
) -> Result<Vec<f64>> {
    let layout = Expected::new::<T>(c);
    table.sum_rows(free, exec, |_, row, sums| {
        (0..free).for_each(|k| sums[k] += row[layout.at(k, k)].to_f64());
    })
}

/// The expected values without one component.
fn drop_from_table<T: Lane>(
    table: &Factor<T>,
    c: usize,
    dropped: usize,
    exec: &Exec<'_>,
) -> Result<Factor<T>> {
    let (from, to) = (Expected::new::<T>(c), Expected::new::<T>(c - 1));
    let mut out = Factor::zeros(table.n_rows(), to.width);
    let old = |k: usize| k + usize::from(k >= dropped);
    out.map_rows(exec, |i, row| {
        let before = table.row(i);
        for k in 0..c - 1 {
            row[k] = before[old(k)];
            for l in 0..=k {
                row[to.at(k, l)] = before[from.at(old(k), old(l))];
            }
        }
        row[c - 1] = before[c];
    })?;
    Ok(out)
}

/// What the posterior of one feature depends on beside its sums.
struct LoadingSolver<'a> {
    loadings: Loadings,
    layout: Expected,
    noise: f64,
    prior: &'a [f64],
    affine: &'a Affine,
    mean: MeanRule,
    /// The component whose loadings are one.
    held: Option<usize>,
}

impl LoadingSolver<'_> {
    fn room(&self) -> usize {
        let m = self.layout.c + 1;
        (4 * m + 3) * self.affine.stride()
    }

    /// Writes `(a_i, mu_i)` and the expected values of a feature; returns its parts of [`OfLoadings`].
    fn solve<T: Lane>(&self, acc: &mut [f64], row: &mut [T], out: &mut [T]) -> Result<[f64; 5]> {
        let (layout, c, stride) = (self.layout, self.layout.c, self.affine.stride());
        let (sums, room) = acc.split_at_mut(layout.n_sums());
        let (g, room) = room.split_at_mut((c + 1) * stride);
        let (kept, room) = room.split_at_mut((c + 1) * stride);
        let (inverse, room) = room.split_at_mut((c + 1) * stride);
        let (room, b) = room.split_at_mut((c + 1) * stride);
        let (b, a) = b.split_at_mut(stride);
        let delta: f64 = (0..c).map(|k| row[k].to_f64() * self.affine.shift[k]).sum();
        let mut squares = self.affine.moved_sums(layout, sums, delta, (g, inverse), b);
        if let Some(held) = self.held {
            squares = hold(&mut Upper { values: &mut *g, m: c + 1, stride }, b, squares, held);
        }
        let weight = g[c * stride + c];
        let mut mean = row[c].to_f64() + delta;
        kept.copy_from_slice(g);
        a[..c].copy_from_slice(&b[..c]);
        let posterior = self.loadings == Loadings::Posterior;
        let MeanRule { joint, kappa, prior } = self.mean;
        let pulled = joint && weight + kappa > 0.0;
        let mut log_det = 0.0;
        if posterior {
            self.prior.iter().enumerate().for_each(|(k, v)| g[k * stride + k] += self.noise / v);
            if let Some(held) = self.held {
                // What is held has the determinant one, in units of the noise.
                g[held * stride + held] = self.noise;
            }
            let mut phi = Upper { values: g, m: c, stride };
            log_det = c as f64 * self.noise.ln() - solve_and_invert(&mut phi, a, inverse, room)?;
        } else {
            let m = c + usize::from(pulled);
            if let Some(held) = self.held {
                let largest = (0..m).map(|k| g[k * stride + k]).fold(0.0, f64::max);
                g[held * stride + held] = if largest > 0.0 { largest } else { 1.0 };
            }
            g[c * stride + c] += kappa;
            a[c] = b[c] + kappa * (prior - mean);
            solve_and_invert(&mut Upper { values: g, m, stride }, a, inverse, room)?;
            inverse.fill(0.0);
        }
        let along: f64 = (0..c).map(|k| a[k] * kept[k * stride + c]).sum();
        let moved = match (pulled, posterior) {
            (false, _) => 0.0,
            (true, true) => (b[c] - along + kappa * (prior - mean)) / (weight + kappa),
            (true, false) => a[c],
        };
        mean += moved;
        let variance = if pulled && posterior { self.noise / (weight + kappa) } else { 0.0 };
        let mut expected = squares - 2.0 * moved * b[c] + moved * moved * weight + weight * variance;
        for k in 0..c {
            row[k] = T::from_f64(a[k]);
            out[k] = row[k];
            expected -= 2.0 * a[k] * (b[k] - moved * kept[k * stride + c]);
            for l in 0..=k {
                let moment = a[k] * a[l] + self.noise * inverse[l * stride + k];
                out[layout.at(k, l)] = T::from_f64(moment);
                expected += if l < k { 2.0 } else { 1.0 } * moment * kept[l * stride + k];
            }
        }
        if let Some(held) = self.held {
            let one = T::from_f64(1.0);
            (row[held], out[held], out[layout.at(held, held)]) = (one, one, one);
            (0..held).for_each(|k| out[layout.at(held, k)] = row[k]);
        }
        row[c] = T::from_f64(mean);
        out[c] = row[c];
        let pull = if joint { kappa * ((mean - prior).powi(2) + variance) } else { 0.0 };
        let log_variance = if variance > 0.0 { variance.ln() } else { 0.0 };
        Ok([expected.max(0.0), log_det, pull, log_variance, f64::from(u8::from(pulled))])
    }
}
