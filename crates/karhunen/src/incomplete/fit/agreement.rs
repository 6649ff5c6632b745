//! Agreement of the starts of a fit.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::{Factors, gram};
use crate::incomplete::fit::signals::largest_angle;
use crate::incomplete::model::convergence::StartAgreement;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::{Eigh, eigh};
use crate::linalg::decomp::orthonormal::orthonormalize;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::simd::Lane;

/// Most starts that are compared.
pub(crate) const MOST_STARTS: usize = 6;
/// Singular value of a component that is compared, relative to the largest one of noise.
const CLEAR: f64 = 2.5;

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
struct Ended {
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
        let (span, Eigh { values, vectors }) = principal_axes(factors, free, exec)?;
        // A component that the penalty has shrunk to nothing is below it.
        let is_clear = |value: &&f64| value.max(0.0).sqrt() > (CLEAR * edge - penalty).max(0.0);
        let n_clear = values.iter().filter(is_clear).count();
        let clear = multiply(&span, &vectors.columns(0..n_clear));
        Ok(Self { cost, span, clear })
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

    /// The largest principal angle between the compared components of the best start and the loadings of another, or the other
    /// way round if that has a lower cost. Starts without such components have found the same, nothing.
    fn angle(&self, other: usize) -> Result<f64> {
        let (best, other) = (&self.starts[self.best], &self.starts[other]);
        let (better, worse) = if other.cost < best.cost { (other, best) } else { (best, other) };
        if better.clear.n_cols() == 0 { Ok(0.0) } else { largest_angle(&worse.span, &better.clear) }
    }

    /// The agreement of the starts with the best one; `None` before the second start.
    fn agreement(&self) -> Result<Option<StartAgreement>> {
        let (mut nearest, mut n_lowest) = (None::<(f64, f64)>, 1);
        for other in (0..self.starts.len()).filter(|other| *other != self.best) {
            let (angle, lowest) = (self.angle(other)?, self.starts[self.best].cost);
            n_lowest += usize::from(angle <= StartAgreement::AGREED);
            if nearest.is_none_or(|(least, _)| angle < least) {
                let away = self.starts[other].cost - lowest;
                nearest = Some((angle, away / lowest.abs().max(f64::MIN_POSITIVE)));
            }
        }
        let n_starts = self.starts.len();
        Ok(nearest.map(|(angle, cost_difference)| StartAgreement {
            n_starts,
            n_lowest,
            cost_difference,
            angle: Some(angle),
        }))
    }
}
