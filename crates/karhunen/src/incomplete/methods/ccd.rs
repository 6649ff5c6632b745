//! Cyclic coordinate descent by components (CCD++): Yu, Hsieh, Si & Dhillon (2012), doi:10.1109/ICDM.2012.168. It
//! fits one component at a time to the residuals of the others, by alternating scores and loadings.

use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Rows, Segment};
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::normal::{is_rounding, squares_of_features};
use crate::incomplete::passes::residuals::residuals;
use crate::linalg::simd::Lane;

/// Time O(N c) per sweep, `2 c (T + 1)` streams over the entries; two copies of the residuals in memory. Monotone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ccd {
    /// Alternations `T` of scores and loadings per component.
    pub(crate) inner: usize,
}

/// One component: a loading per feature and a score per sample.
struct Pair<T> {
    a: Vec<T>,
    s: Vec<T>,
}

impl<T: Lane> Pair<T> {
    /// Component `k` of the factors.
    fn of(factors: &Factors<T>, k: usize) -> Self {
        let column = |factor: &Factor<T>| (0..factor.n_rows()).map(|i| factor.row(i)[k]).collect();
        Self { a: column(&factors.a), s: column(&factors.s) }
    }

    fn side(&self, side: FactorSide) -> &[T] {
        match side {
            FactorSide::Scores => &self.s,
            FactorSide::Loadings => &self.a,
        }
    }
}

/// Changes of the residuals during a pass: subtracts the previous component, adds the current one back.
struct Exchange<'a, T> {
    out: &'a Pair<T>,
    back: &'a Pair<T>,
}

/// Sums per line: `sum w e x`, `sum w x^2`, `sum w e^2`.
const SUMS: usize = 3;

/// Fits one factor of a component to the residuals, `own[i] = sum e x / (sum x^2 + d)`; returns `sum w e^2`
/// afterwards. Loadings that fit no more than rounding of `squares` ([`is_rounding`]) are zero.
fn fit_side<T: Lane>(
    problem: &Objective<'_, T>,
    (side, k, squares): (FactorSide, usize, Option<&[f64]>),
    residuals: &mut [T],
    exchange: Option<Exchange<'_, T>>,
    other: &[T],
    own: &mut [T],
    exec: &Exec<'_>,
) -> Result<f64> {
    let lines: &EntryLines<T> = problem.lines(side);
    let outs = [Rows { data: own, width: 1 }];
    let [squares] = lines.pass_with(
        exec,
        (SUMS, 0),
        residuals,
        outs,
        |segment, e, acc| {
            if let Some(Exchange { out, back }) = &exchange {
                let (out_own, back_own) =
                    (out.side(side)[segment.line].to_f64(), back.side(side)[segment.line].to_f64());
                let (out, back) = (out.side(side.other()), back.side(side.other()));
                for (e, index) in e.iter_mut().zip(segment.indices) {
                    let index = *index as usize;
                    let change = back_own * back[index].to_f64() - out_own * out[index].to_f64();
                    *e = T::from_f64(e.to_f64() + change);
                }
            }
            add(segment, e, other, acc);
        },
        |line, acc, [row]| {
            let (penalty, centre) = problem.penalty_at(side, line, k);
            let curvature = acc[1] + penalty;
            let x = if curvature > 0.0 { (acc[0] + penalty * centre) / curvature } else { 0.0 };
            let dropped = penalty == 0.0
                && squares.is_some_and(|squares| is_rounding::<T>(x * x * acc[1], squares[line]));
            row[0] = T::from_f64(if dropped { 0.0 } else { x });
            let x = row[0].to_f64();
            Ok([(acc[2] - 2.0 * x * acc[0] + x * x * acc[1]).max(0.0)])
        },
    )?;
    Ok(squares)
}

fn add<T: Lane>(segment: Segment<'_, T>, e: &[T], other: &[T], acc: &mut [f64]) {
    for (at, (e, index)) in e.iter().zip(segment.indices).enumerate() {
        let (e, x) = (e.to_f64(), other[*index as usize].to_f64());
        let weight = segment.weights.map_or(1.0, |w| w[at].to_f64());
        acc[0] += weight * e * x;
        acc[1] += weight * x * x;
        acc[2] += weight * e * e;
    }
}

impl<T: Lane> Iterate<T> for Ccd {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let c = problem.c;
        // Recomputed in every sweep, because rounding errors of updates accumulate.
        let mut by_rows = residuals(problem, factors, FactorSide::Scores, exec)?;
        let mut by_columns = residuals(problem, factors, FactorSide::Loadings, exec)?;
        let zeros =
            Pair { a: vec![T::default(); factors.a.n_rows()], s: vec![T::default(); factors.s.n_rows()] };
        // Penalized loadings are never set to zero.
        let unpenalized = problem.loadings.is_zero();
        let squares_of_features = unpenalized.then(|| squares_of_features(problem, exec)).transpose()?;
        let (mut before, mut squares) = (zeros, 0.0);
        // The mean is a component with scores one, the offset one with loadings one.
        let fixed = problem.fixed();
        for k in problem.mean.joint.then_some(c).into_iter().chain(fixed).chain(0..problem.free()) {
            let old = Pair::of(factors, k);
            let mut new = Pair { a: old.a.clone(), s: old.s.clone() };
            for round in 0..if k == c || fixed == Some(k) { 1 } else { self.inner } {
                let exchange = || (round == 0).then_some(Exchange { out: &before, back: &old });
                let scores = (FactorSide::Scores, k, None);
                fit_side(problem, scores, &mut by_rows, exchange(), &new.a, &mut new.s, exec)?;
                if k == c {
                    new.s.copy_from_slice(&old.s);
                }
                let of_components = squares_of_features.as_deref().filter(|_| k != c);
                let loadings = (FactorSide::Loadings, k, of_components);
                squares = fit_side(problem, loadings, &mut by_columns, exchange(), &new.s, &mut new.a, exec)?;
                if fixed == Some(k) {
                    new.a.copy_from_slice(&old.a);
                }
            }
            factors.a.map_rows(exec, |j, row| row[k] = new.a[j])?;
            factors.s.map_rows(exec, |i, row| row[k] = new.s[i])?;
            before = new;
        }
        let cost = squares
            + problem.side_penalty(FactorSide::Scores, factors, exec)?
            + problem.side_penalty(FactorSide::Loadings, factors, exec)?;
        Ok(IterationReport { cost, squares, step: None, accepted: true, exhausted: false })
    }

    fn window(&self) -> usize {
        1
    }
}
