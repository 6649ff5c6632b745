//! The passes one by one, for the benchmark `entries`: not part of the interface.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::Observed;
use crate::incomplete::factors::objective::{Diagonal, MeanRule, Objective};
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::passes::gradient::{gradient_pass, squares};
use crate::incomplete::passes::line_search::polynomial;
use crate::incomplete::passes::normal::solve_side;
use crate::incomplete::passes::residuals::residuals;
use crate::linalg::Matrix;
use crate::linalg::normals::gaussian;
use crate::linalg::simd::Lane;
use crate::random::Purpose;

/// A pass, which returns one of its numbers.
pub(crate) type Pass<'a> = dyn Fn(&Exec<'_>) -> Result<f64> + Sync + 'a;

/// A problem with factors and directions drawn at random.
pub struct Timed<'a, T> {
    problem: Objective<'a, T>,
    factors: Factors<T>,
    directions: Factors<T>,
}

impl<'a, T: Lane> Timed<'a, T> {
    /// A problem with `k` components.
    pub fn new(data: &'a Observed<T>, (n, p): (usize, usize), k: usize) -> Self {
        let drawn = |n_rows, seed| -> Matrix { gaussian(n_rows, k, Purpose::Probes.of(seed)) };
        let penalty = || Diagonal::ByComponent(vec![0.5; k]);
        let mean = vec![0.0; p];
        Self {
            problem: Objective {
                data,
                loadings: penalty(),
                scores: penalty(),
                mean: MeanRule::FLAT,
                offsets: None,
                c: k,
            },
            factors: Factors::new(&drawn(p, 2), &drawn(n, 3), &mean),
            directions: Factors::new(&drawn(p, 4), &drawn(n, 5), &mean),
        }
    }

    /// Calls `time` for each pass, with its name, its multiply-adds for each entry, and the pass itself.
    pub fn each(&self, time: &mut dyn FnMut(&str, usize, &Pass<'_>)) {
        let Self { problem, factors, directions } = self;
        let k = problem.c;
        for (side, of) in [(FactorSide::Scores, "rows"), (FactorSide::Loadings, "columns")] {
            time(&format!("residuals-{of}"), k, &|exec| {
                Ok(residuals(problem, factors, side, exec)?[0].to_f64())
            });
            time(&format!("gradient-{of}"), 2 * k, &|exec| {
                let mut g = factors.of(side).zeros_like();
                let found = gradient_pass(problem, factors, side, [&mut g], exec, |sums, _, [row]| {
                    row.iter_mut().zip(sums).for_each(|(out, &sum)| *out = T::from_f64(sum));
                })?;
                Ok(found.squares)
            });
            time(&format!("normal-{of}"), k * (k + 1) / 2, &|exec| {
                Ok(solve_side(problem, &mut factors.clone(), side, exec)?[0])
            });
        }
        time("squares", k, &|exec| squares(problem, factors, exec));
        time("line-search", 3 * k, &|exec| Ok(polynomial(problem, factors, directions, exec)?[0]));
    }
}
