//! Iterated imputation without the completed matrix, which is the sparse matrix of residuals plus the fit: a half
//! step is `S += (E A - S D) (A'A + D)^-1`, and `A` likewise. Without penalties this is imputation by a truncated
//! singular value decomposition (hard), with a ridge soft imputation: Hastie, Mazumder, Lee & Zadeh (2015),
//! "Matrix completion and low-rank SVD via fast alternating least squares".

use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors, gram};
use crate::incomplete::passes::gradient::gradient_pass;
use crate::incomplete::passes::least_norm::solve;
use crate::linalg::Matrix;
use crate::linalg::decomp::cholesky::{BLOCK, Upper};
use crate::linalg::simd::Lane;

/// Time O(N c + (n + p) c^2) and two passes per iteration; monotone, with a linear rate near the missing fraction.
/// Requires penalties that are the same for all rows.
#[derive(Debug)]
pub(crate) struct Imputation<T> {
    /// Gradients of the scores at the end of the last iteration.
    of_scores: Option<Factor<T>>,
    /// Memory reused for gradients of the loadings.
    of_loadings: Option<Factor<T>>,
}

impl<T: Lane> Imputation<T> {
    pub(crate) fn new() -> Self {
        Self { of_scores: None, of_loadings: None }
    }
}

fn gradient<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &Factors<T>,
    side: FactorSide,
    out: &mut Factor<T>,
    exec: &Exec<'_>,
) -> Result<(f64, f64)> {
    let found = gradient_pass(problem, factors, side, [out], exec, |g, _, [row]| {
        for (row, g) in row.iter_mut().zip(g) {
            *row = T::from_f64(*g);
        }
    })?;
    Ok((found.squares, found.penalty))
}

/// `own += gradient (w X'X + D)^-1`, with `X` the other factor and `w` the largest weight of an entry: the fit
/// fills missing entries, and complements entries of smaller weight.
fn half_step<T: Lane>(
    problem: &Objective<'_, T>,
    factors: &mut Factors<T>,
    side: FactorSide,
    gradient: &Factor<T>,
    exec: &Exec<'_>,
) -> Result<()> {
    let m = problem.n_fitted(side);
    let weight = problem.data.rows().largest_weight();
    let products = gram(factors.of(side.other()), m, exec)?;
    let stride = m.next_multiple_of(BLOCK);
    let fixed = problem.fixed().filter(|_| side == FactorSide::Loadings);
    let mut g = vec![0.0; m * stride];
    for k in 0..m {
        for l in 0..m {
            let penalty = if k == l { problem.penalty_at(side, 0, k).0 } else { 0.0 };
            // A fixed component does not move, whatever its gradient.
            let moves = k == l || (fixed != Some(k) && fixed != Some(l));
            g[k * stride + l] = if moves { weight * products[(k, l)] + penalty } else { 0.0 };
        }
    }
    let mut inverse = Matrix::zeros(m, m);
    for k in 0..m {
        let column = inverse.row_mut(k);
        column[k] = 1.0;
        solve(&mut Upper { values: &mut g.clone(), m, stride }, column, problem.free())?;
    }
    let own = match side {
        FactorSide::Scores => &mut factors.s,
        FactorSide::Loadings => &mut factors.a,
    };
    own.map_rows(exec, |i, row| {
        let gradient = &gradient.row(i)[..m];
        for (k, x) in row[..m].iter_mut().enumerate() {
            let step: f64 = gradient.iter().zip(inverse.row(k)).map(|(g, r)| g.to_f64() * r).sum();
            *x = T::from_f64(x.to_f64() + step);
        }
    })
}

impl<T: Lane> Iterate<T> for Imputation<T> {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let mut of_scores = match self.of_scores.take() {
            Some(of_scores) => of_scores,
            None => {
                let mut of_scores = factors.s.zeros_like();
                gradient(problem, factors, FactorSide::Scores, &mut of_scores, &exec.part(0.0, 0.1))?;
                of_scores
            }
        };
        half_step(problem, factors, FactorSide::Scores, &of_scores, exec)?;
        let mut of_loadings = self.of_loadings.take().unwrap_or_else(|| factors.a.zeros_like());
        gradient(problem, factors, FactorSide::Loadings, &mut of_loadings, &exec.part(0.1, 0.5))?;
        half_step(problem, factors, FactorSide::Loadings, &of_loadings, exec)?;
        let (squares, penalty) =
            gradient(problem, factors, FactorSide::Scores, &mut of_scores, &exec.part(0.5, 1.0))?;
        let cost = squares + penalty + problem.side_penalty(FactorSide::Loadings, factors, exec)?;
        self.of_scores = Some(of_scores);
        self.of_loadings = Some(of_loadings);
        Ok(IterationReport { cost, squares, step: None, accepted: true, exhausted: false })
    }

    fn window(&self) -> usize {
        10
    }

    fn restart(&mut self) {
        self.of_scores = None;
    }
}
