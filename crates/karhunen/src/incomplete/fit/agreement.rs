//! Agreement of the starts of a fit.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::{Factors, gram};
use crate::incomplete::fit::signals::largest_angle;
use crate::incomplete::model::convergence::{StartAgreement, StopReason};
use crate::incomplete::options::{IncompletePca, Method};
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::{Eigh, eigh};
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::simd::Lane;

/// Most short starts that are compared.
pub(crate) const MOST_STARTS: usize = 6;
/// Most runs to the end of a fit that compares starts.
const MOST_RUNS: usize = 4;
/// Largest difference of costs that agree, whatever the tolerance.
const MOST_ALIKE: f64 = 1e-2;
/// Costs below this share of the total sum of squares are of exact fits, and differ by rounding.
const ROUNDING: f64 = 1e-12;
/// Entries of a large table: its starts are compared on a part of it, and only the best is run to the end.
pub(crate) const LARGE: usize = 100_000;
/// Singular value of a component that is compared, relative to the largest one of noise.
const CLEAR: f64 = 2.5;

/// One run, which agrees with itself.
pub(crate) const ONE: StartAgreement =
    StartAgreement { n_starts: 1, n_lowest: 1, cost_difference: f64::INFINITY, angle: None, n_weak: 0 };

/// Which starts are run to the end, and which run is kept.
#[derive(Clone, Copy)]
pub(crate) struct RunRule {
    /// Number of runs; `None` if short starts are compared and their best is compared with runs from random starts.
    n_runs: Option<usize>,
    method: Method,
    n_entries: f64,
    /// Least unit of differences of costs.
    least: f64,
    /// Difference of costs that agree.
    same: f64,
}

impl RunRule {
    /// The rule of a fit by a method to so many entries (observed ones, and with rows repeated) with a total sum of squares, whose
    /// runs end at an optimum or, because of held-out entries or a given start, not from several starts.
    pub(crate) fn new(
        pca: &IncompletePca,
        method: Method,
        (n_observed, n_entries, total): (usize, f64, f64),
        at_optimum: bool,
    ) -> Self {
        let compares = pca.compares_starts() && at_optimum && n_observed < LARGE;
        // Runs that end sooner end farther from the optimum.
        let same = (10.0 * pca.tol).clamp(StartAgreement::SAME_COST, MOST_ALIKE);
        let least = (ROUNDING * total).max(f64::MIN_POSITIVE);
        Self { n_runs: (!compares).then_some(pca.n_runs()), method, n_entries, least, same }
    }

    pub(crate) fn most_runs(&self) -> usize {
        self.n_runs.unwrap_or(MOST_RUNS)
    }

    /// Number of runs that are expected after run `number` has begun.
    pub(crate) fn expected_runs(&self, number: usize) -> usize {
        self.n_runs.unwrap_or((number + 1).max(2))
    }

    /// The part of the progress bar for a run, before `more` stages; a run that was not expected has none.
    pub(crate) fn span<'e>(&self, number: usize, more: usize, exec: &Exec<'e>) -> Exec<'e> {
        let n = (self.expected_runs(0) + more) as f64;
        exec.part((number as f64 / n).min(1.0), ((number + 1) as f64 / n).min(1.0))
    }

    /// The random start of a run; `None` for the best of short starts. Compared runs have random numbers that no short start has
    /// used: of two starts from the same numbers both may lead to one optimum of several.
    pub(crate) fn random_start(pca: &IncompletePca, number: usize) -> Option<usize> {
        if pca.compares_starts() {
            number.checked_sub(1).map(|number| MOST_STARTS + number)
        } else {
            Some(number)
        }
    }

    /// Returns true if no run follows the last of `n` ones, which stopped for a reason: of compared runs if two have the lowest
    /// cost, and if there was a given start, a limit or no optimum, whose costs cannot be compared.
    pub(crate) fn is_done(&self, n: usize, agreement: Option<StartAgreement>, stop: StopReason) -> bool {
        let is_cut = stop.is_limit() || matches!(stop, StopReason::NoNoise | StopReason::Overfit);
        let decided = || agreement.is_none_or(|agreement| is_cut || n >= 2 && agreement.agree());
        n >= self.most_runs() || self.n_runs.is_none() && decided()
    }

    /// Returns true if a run of a cost replaces the best one so far: among compared runs, if the costs differ by more than
    /// rounding or the tolerance of a fit.
    pub(crate) fn replaces(&self, cost: f64, best: f64) -> bool {
        cost < best && (self.n_runs.is_some() || self.away(best, cost) > self.same)
    }

    fn away(&self, cost: f64, lowest: f64) -> f64 {
        let unit = match self.method.learns_variances() {
            true => self.n_entries,
            false => lowest.abs().max(self.least),
        };
        (cost - lowest) / unit
    }

    /// The agreement of short starts and of runs, of which the first continues the best of short starts. If it is the best one,
    /// the short starts that agree with it count, unless they left components uncompared, or a run found the same cost with
    /// other components.
    pub(crate) fn agreement(
        &self,
        short: Option<StartAgreement>,
        runs: Option<StartAgreement>,
        first_is_best: bool,
    ) -> Option<StartAgreement> {
        let (Some(short), Some(runs)) = (short, runs) else { return runs.or(short) };
        let turned = runs.angle.is_some_and(|angle| angle > StartAgreement::AGREED);
        let contradicted = runs.n_lowest < 2 && runs.cost_difference <= self.same && turned;
        let counts = first_is_best && short.n_weak == 0 && !contradicted;
        let more = if counts { short.n_lowest - 1 } else { 0 };
        let n_starts = short.n_starts - 1 + runs.n_starts;
        Some(StartAgreement { n_starts, n_lowest: runs.n_lowest + more, ..runs })
    }

    /// The agreement of runs with one more, of an end and the end of the best of them: by costs and components.
    pub(crate) fn with_run(
        &self,
        runs: Option<StartAgreement>,
        [best, run]: [&Ended; 2],
    ) -> Result<StartAgreement> {
        Ok(self.with_cost(runs.unwrap_or(ONE), [best.cost, run.cost], Some(best.angle(run)?)))
    }

    /// The agreement of runs with one more, of a cost and the lowest of their costs, and the angle between their
    /// components if these are compared.
    pub(crate) fn with_cost(
        &self,
        before: StartAgreement,
        [best, cost]: [f64; 2],
        angle: Option<f64>,
    ) -> StartAgreement {
        // A cost that is not a number agrees with none.
        let away = if cost < best { self.away(best, cost) } else { self.away(cost, best) };
        let agrees = away <= self.same && angle.is_none_or(|angle| angle <= StartAgreement::AGREED);
        let is_best = self.replaces(cost, best);
        let n_lowest = match (agrees, is_best) {
            (true, _) => before.n_lowest + 1,
            (false, true) => 1,
            (false, false) => before.n_lowest,
        };
        let is_nearest = is_best && !agrees || away < before.cost_difference;
        let (cost_difference, angle) =
            if is_nearest { (away, angle) } else { (before.cost_difference, before.angle) };
        StartAgreement { n_starts: before.n_starts + 1, n_lowest, cost_difference, angle, n_weak: 0 }
    }
}

/// The largest singular value of the product of loadings and scores of the first `free` components.
pub(crate) fn largest_singular_value<T: Lane>(
    factors: &Factors<T>,
    free: usize,
    exec: &Exec<'_>,
) -> Result<f64> {
    let (_, Eigh { values, .. }) = principal_axes(factors, free, exec)?;
    Ok(values.first().map_or(0.0, |value| value.max(0.0).sqrt()))
}

/// An orthonormal basis `q` of the loadings `A`, and the eigenvalues and eigenvectors of `q' A S' S A' q`, with the scores `S`.
fn principal_axes<T: Lane>(factors: &Factors<T>, free: usize, exec: &Exec<'_>) -> Result<(Matrix, Eigh)> {
    let loadings = factors.a.to_matrix(free);
    let inside = |q: &Matrix| t_multiply(q, &loadings);
    let q = orthonormalize(loadings.clone(), 0, exec)?.q;
    let squares = multiply(&multiply(&inside(&q), &gram(&factors.s, free, exec)?), &inside(&q).transposed());
    Ok((q, eigh(&squares)?))
}

/// The end of a start.
pub(crate) struct Ended {
    cost: f64,
    /// Orthonormal basis of its loadings.
    span: Matrix,
    /// The principal axes that are compared.
    clear: Matrix,
}

/// The end of a short start.
pub(crate) struct ShortStart<T> {
    pub(crate) factors: Factors<T>,
    pub(crate) cost: f64,
    /// The last penalty, which the singular values of the factors lack.
    pub(crate) penalty: f64,
    /// The largest singular value of noise.
    pub(crate) edge: f64,
}

/// Makes starts by their numbers until two have reached the lowest cost, at most six. Returns the factors of the best one, and
/// the agreement of the others with it.
pub(crate) fn best_of<T: Lane>(
    free: usize,
    mut start: impl FnMut(usize) -> Result<ShortStart<T>>,
    exec: &Exec<'_>,
) -> Result<(Factors<T>, Option<StartAgreement>)> {
    let first = start(0)?;
    let mut comparison = Comparison { starts: vec![Ended::of(&first, free, exec)?], best: 0 };
    let mut best = first.factors;
    for number in 1..MOST_STARTS {
        let found = start(number)?;
        if comparison.add(Ended::of(&found, free, exec)?)? {
            best = found.factors;
        }
        if comparison.agreement()?.is_some_and(|found| found.agree()) {
            break;
        }
    }
    Ok((best, comparison.agreement()?))
}

impl Ended {
    fn of<T: Lane>(start: &ShortStart<T>, free: usize, exec: &Exec<'_>) -> Result<Self> {
        let &ShortStart { ref factors, cost, penalty, edge } = start;
        Self::at(factors, free, cost, (edge, penalty), exec)
    }

    /// The end at factors of `free` components with a cost, given the largest singular value of noise and a penalty that
    /// singular values lack.
    pub(crate) fn at<T: Lane>(
        factors: &Factors<T>,
        free: usize,
        cost: f64,
        (edge, penalty): (f64, f64),
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let (span, Eigh { values, vectors }) = principal_axes(factors, free, exec)?;
        // A component that the penalty has shrunk to nothing is below it.
        let is_clear = |value: &&f64| value.max(0.0).sqrt() > (CLEAR * edge - penalty).max(0.0);
        let n_clear = values.iter().filter(is_clear).count();
        let clear = multiply(&span, &vectors.columns(0..n_clear));
        Ok(Self { cost, span, clear })
    }

    /// The largest principal angle between the compared components of the better one of two ends and the loadings of the other.
    /// Ends without such components have found the same, nothing.
    fn angle(&self, other: &Self) -> Result<f64> {
        let (better, worse) = if other.cost < self.cost { (other, self) } else { (self, other) };
        if better.clear.n_cols() == 0 { Ok(0.0) } else { largest_angle(&worse.span, &better.clear) }
    }
}

/// Ends of starts, and the number of the best one.
struct Comparison {
    starts: Vec<Ended>,
    best: usize,
}

impl Comparison {
    /// Adds the end of a start; returns true if it is the best: if it has a lower cost than the best one before and does not
    /// agree with it, so that rounding does not decide between starts that agree.
    fn add(&mut self, ended: Ended) -> Result<bool> {
        self.starts.push(ended);
        let last = self.starts.len() - 1;
        let is_best = self.starts[last].cost < self.starts[self.best].cost
            && self.angle(last)? > StartAgreement::AGREED;
        if is_best {
            self.best = last;
        }
        Ok(is_best)
    }

    /// The angle between the best start and another.
    fn angle(&self, other: usize) -> Result<f64> {
        self.starts[self.best].angle(&self.starts[other])
    }

    /// The agreement of the starts with the best one; `None` before the second start.
    fn agreement(&self) -> Result<Option<StartAgreement>> {
        let (mut nearest, mut n_lowest) = (None::<(f64, f64)>, 1);
        for other in (0..self.starts.len()).filter(|other| *other != self.best) {
            let (angle, lowest) = (self.angle(other)?, self.starts[self.best].cost);
            n_lowest += usize::from(angle <= StartAgreement::AGREED);
            if nearest.is_none_or(|(least, _)| angle < least) {
                let away = self.starts[other].cost - lowest;
                nearest = Some((angle, away.max(0.0) / lowest.abs().max(f64::MIN_POSITIVE)));
            }
        }
        let n_starts = self.starts.len();
        Ok(nearest.map(|(angle, cost_difference)| StartAgreement {
            n_starts,
            n_lowest,
            cost_difference,
            angle: Some(angle),
            n_weak: self.starts[self.best].span.n_cols() - self.starts[self.best].clear.n_cols(),
        }))
    }
}
