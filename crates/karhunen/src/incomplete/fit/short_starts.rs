//! Short starts of a fit, which are compared before one of them is continued (`docs/missing-values-methods.md`).

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::Observed;
use crate::incomplete::factors::Factors;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::fit::agreement::{LARGE, ShortStart, best_of, largest_singular_value};
use crate::incomplete::fit::dense_part::{DensePart, dense_part};
use crate::incomplete::fit::error_bars::count_parameters;
use crate::incomplete::fit::first_factors::{
    EXACT, SWEEPS, balance, lengthen, orthogonalize, random, warm_up,
};
use crate::incomplete::methods::als::Als;
use crate::incomplete::methods::iterate::{Iterate, IterationReport};
use crate::incomplete::model::convergence::StartAgreement;
use crate::incomplete::options::{IncompletePca, Method, Regularization};
use crate::incomplete::updates::prepared::Prepared;
use crate::linalg::simd::Lane;
use crate::random::Purpose;

/// Ratio of consecutive penalties.
const STEP_RATIO: f64 = 0.7;
/// Most penalties, down to 0.7% of the largest.
const MOST_STEPS: usize = 14;
/// Times that the sweeps at the last penalty are repeated.
const SWEEPS_AT_END: usize = 3;
/// Sweeps of alternating least squares at each penalty, in small tables.
const SWEEPS_EACH: usize = 2;
/// Entries of the part for each loading, or score, of the shorter side: of small tables, and of large ones.
const ENTRIES_EACH: [f64; 2] = [10.0, 5.0];

/// The cost and the sum of squared residuals after a sweep.
pub(crate) struct Swept {
    pub(crate) cost: f64,
    pub(crate) squares: f64,
}

/// The penalties of short starts, which the first start determines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Penalties(Vec<f64>);

impl Penalties {
    pub(crate) fn last(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    /// Sweeps with ridges that fall from the largest singular value of the factors until `is_last(penalty, squares)`. Large
    /// penalties leave the strongest components alone, which a start cannot miss, and weaker ones join them one by one
    /// (Mazumder, Hastie & Tibshirani 2010, Algorithm 1, jmlr.org/papers/v11/mazumder10a.html). Returns cost and squares at the
    /// last penalty.
    pub(crate) fn anneal<T: Lane>(
        &mut self,
        factors: &mut Factors<T>,
        free: usize,
        is_last: impl Fn(f64, f64) -> bool,
        mut sweep: impl FnMut(&mut Factors<T>, f64) -> Result<Swept>,
        exec: &Exec<'_>,
    ) -> Result<Swept> {
        if !self.0.is_empty() {
            balance(factors, free, exec)?;
            return self.again(0, factors, sweep);
        }
        let top = largest_singular_value(factors, free, exec)?;
        balance(factors, free, exec)?;
        loop {
            let penalty = top * STEP_RATIO.powi(self.0.len() as i32 + 1);
            let swept = sweep(factors, penalty)?;
            self.0.push(penalty);
            if self.0.len() >= MOST_STEPS || is_last(penalty, swept.squares) {
                return end(penalty, factors, sweep);
            }
        }
    }

    /// Sweeps with the known penalties, from number `first` on.
    fn again<T: Lane>(
        &self,
        first: usize,
        factors: &mut Factors<T>,
        mut sweep: impl FnMut(&mut Factors<T>, f64) -> Result<Swept>,
    ) -> Result<Swept> {
        for penalty in &self.0[first..] {
            sweep(factors, *penalty)?;
        }
        end(self.last(), factors, sweep)
    }
}

/// More sweeps at the last penalty, so that starts that lead to one optimum come near to each other.
fn end<T: Lane>(
    penalty: f64,
    factors: &mut Factors<T>,
    mut sweep: impl FnMut(&mut Factors<T>, f64) -> Result<Swept>,
) -> Result<Swept> {
    for _ in 1..SWEEPS_AT_END {
        sweep(factors, penalty)?;
    }
    sweep(factors, penalty)
}

/// Returns true if penalties end at the penalty of noise: without penalties and learned variances, weaker components
/// take part.
pub(crate) fn ends_at_noise(method: Method) -> bool {
    method.learns_variances() || method.uses_penalties()
}

/// Entries and their statistics.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a, T> {
    pub(crate) data: &'a Observed<T>,
    pub(crate) prepared: &'a Prepared,
}

impl<'a, T: Lane> Table<'a, T> {
    /// A random start of a given number after the initial sweeps, and the sum of its squared residuals; `online` makes no
    /// sweeps.
    pub(crate) fn random(
        &self,
        (pca, method): (&IncompletePca, Method),
        number: usize,
        exec: &Exec<'_>,
    ) -> Result<(Factors<T>, f64)> {
        let problem = self.problem(pca, method);
        let deviation = self.prepared.deviations.mean_square.sqrt();
        let stream = Purpose::Starts.of(pca.seed).number(number as u64);
        let shape = (pca.n_components, pca.row_offsets);
        let mut factors = random(self.data, shape, &self.prepared.mean, deviation, stream);
        let squares = match method {
            Method::Online => 0.0,
            _ => warm_up(&problem, &mut factors, (&SWEEPS, deviation), exec)?,
        };
        Ok((factors, squares))
    }

    fn problem(&self, pca: &IncompletePca, method: Method) -> Objective<'a, T> {
        let regularization = self.prepared.regularization(pca, method, self.data.mean_weight());
        self.prepared.penalized(pca, self.data, regularization)
    }

    /// Makes the last sweeps of a random start, from loadings that penalties have shortened.
    fn finish(
        &self,
        (pca, method): (&IncompletePca, Method),
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let deviation = self.prepared.deviations.mean_square.sqrt();
        lengthen(&mut factors.a, pca.n_components, exec)?;
        orthogonalize(&mut factors.a, pca.n_components, deviation, exec)?;
        warm_up(&self.problem(pca, method), factors, (EXACT, deviation), exec).map(|_| ())
    }

    /// Sweeps of alternating least squares with a ridge, in units of an entry of mean weight.
    fn sweep(
        &self,
        pca: &IncompletePca,
        (factors, n_sweeps): (&mut Factors<T>, usize),
        penalty: f64,
        exec: &Exec<'_>,
    ) -> Result<Swept> {
        let mut problem =
            self.prepared.penalized(pca, self.data, Regularization::Ridge(penalty * self.data.mean_weight()));
        let mut swept = Swept { cost: 0.0, squares: 0.0 };
        for _ in 0..n_sweeps {
            lengthen(&mut factors.a, pca.n_components, exec)?;
            let IterationReport { cost, squares, .. } = Als.iterate(&mut problem, factors, exec)?;
            swept = Swept { cost, squares };
        }
        Ok(swept)
    }

    /// [`noise_penalty`] of these entries, in units of an entry of mean weight.
    pub(crate) fn noise_penalty(&self, pca: &IncompletePca, squares: f64) -> f64 {
        let Self { data, prepared } = *self;
        let problem = prepared.problem(pca, data);
        let (entries, weight) = (data.total_entries(), data.mean_weight());
        let parameters = count_parameters(data, (problem.c, problem.free()), problem.mean.joint);
        let most = prepared.deviations.mean_square;
        noise_penalty(squares / weight, (entries, parameters), most) * self.level_of_noise()
    }

    fn level_of_noise(&self) -> f64 {
        let p = (0..self.data.n_features()).filter(|j| self.data.n_observed_in_column(*j) > 0).count() as f64;
        level_of_noise(self.data.total_entries(), self.data.total_samples(), p)
    }
}

/// Half of the deviation `v` of noise, by the sum of squared residuals `squares` of a fit with so many entries and parameters;
/// at most the mean square of the entries, `most`. A ridge shrinks singular values by the penalty, and `v` times
/// [`level_of_noise`] is the largest singular value of noise alone (Koltchinskii, Lounici & Tsybakov 2011,
/// doi:10.1214/11-AOS894); half of it predicts best, `docs/log/missing-values.md`.
pub(crate) fn noise_penalty(squares: f64, (entries, parameters): (f64, f64), most: f64) -> f64 {
    /// Least share of the entries that are left after subtracting the parameters.
    const LEAST: f64 = 0.25;
    let noise = squares / (entries - parameters).max(LEAST * entries);
    0.5 * noise.min(most).sqrt()
}

/// Largest singular value of noise of deviation one, at `entries` places of a table with n rows and p columns, about:
/// `sqrt(N / n) + sqrt(N / p)`.
pub(crate) fn level_of_noise(entries: f64, n: f64, p: f64) -> f64 {
    (entries / n).sqrt() + (entries / p).sqrt()
}

/// The short starts of a fit.
pub(crate) struct ShortStarts<'a, T> {
    pub(crate) pca: &'a IncompletePca,
    pub(crate) method: Method,
    pub(crate) whole: Table<'a, T>,
}

impl<T: Lane> ShortStarts<'_, T> {
    /// The factors of the best start, and the agreement of all of them: until two have reached the lowest cost.
    pub(crate) fn best(&self, exec: &Exec<'_>) -> Result<(Factors<T>, Option<StartAgreement>)> {
        let Self { pca, whole, .. } = *self;
        let is_large = whole.data.n_observed() >= LARGE;
        let part =
            dense_part(whole.data, ENTRIES_EACH[usize::from(is_large)] * pca.n_components as f64, exec)?;
        let of_part = part.as_ref().map(|part| Prepared::new(pca, &part.data, None, exec)).transpose()?;
        let part = part.as_ref().zip(of_part.as_ref());
        let only_part = part.filter(|_| is_large);
        let table = only_part.map_or(whole, |(part, prepared)| Table { data: &part.data, prepared });
        let mut penalties = Penalties::default();
        let start = |number| {
            let (factors, swept) = match part {
                // A start from other entries than the first.
                Some(part) if number == 1 && only_part.is_none() => {
                    self.part_first(part, &penalties, exec)?
                }
                _ => self.annealed(table, number, &mut penalties, exec)?,
            };
            // The penalty of noise is half of its largest singular value.
            let edge = 2.0 * table.noise_penalty(pca, swept.squares);
            Ok(ShortStart { factors, cost: swept.cost, penalty: penalties.last(), edge })
        };
        let (mut factors, agreement) = best_of(pca.n_components, start, exec)?;
        if let Some((part, _)) = only_part {
            factors = part.extended(&factors, whole, pca);
        }
        whole.finish((pca, self.method), &mut factors, &exec.part(0.0, 0.0))?;
        Ok((factors, agreement))
    }

    /// An annealed start, with its cost and its squares.
    fn annealed(
        &self,
        table: Table<'_, T>,
        number: usize,
        penalties: &mut Penalties,
        exec: &Exec<'_>,
    ) -> Result<(Factors<T>, Swept)> {
        let (pca, exec) = (self.pca, &exec.part(0.0, 0.0));
        let (mut factors, _) = table.random((pca, self.method), number, exec)?;
        let ends = ends_at_noise(self.method);
        let is_last = |penalty, squares| ends && penalty <= table.noise_penalty(pca, squares);
        let n_sweeps = if self.whole.data.n_observed() >= LARGE { 1 } else { SWEEPS_EACH };
        let sweep = |factors: &mut Factors<T>, penalty| table.sweep(pca, (factors, n_sweeps), penalty, exec);
        let swept = penalties.anneal(&mut factors, pca.n_components, is_last, sweep, exec)?;
        Ok((factors, swept))
    }

    /// A start that is annealed on a part of the entries, then on all with the smaller penalties, with its cost and its squares.
    fn part_first(
        &self,
        (part, prepared): (&DensePart<T>, &Prepared),
        penalties: &Penalties,
        exec: &Exec<'_>,
    ) -> Result<(Factors<T>, Swept)> {
        let table = Table { data: &part.data, prepared };
        let (factors, _) = self.annealed(table, 1, &mut Penalties::default(), exec)?;
        let mut factors = part.extended(&factors, self.whole, self.pca);
        let sweep = |factors: &mut Factors<T>, penalty| {
            self.whole.sweep(self.pca, (factors, SWEEPS_EACH), penalty, &exec.part(0.0, 0.0))
        };
        let swept = penalties.again(penalties.0.len() / 2, &mut factors, sweep)?;
        Ok((factors, swept))
    }
}
