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

/// A problem with factors and directions drawn at random.
pub struct Timed<'a, T> {
    problem: Objective<'a, T>,
    factors: Factors<T>,
    directions: Factors<T>,
}

impl<'a, T: Lane> Timed<'a, T> {
    /// The passes by name, with their multiply-adds for each entry and component; normal equations depend on the
    /// number of components.
    pub const PASSES: [(&'static str, usize); 8] = [
        ("residuals-rows", 1),
        ("residuals-columns", 1),
        ("gradient-rows", 2),
        ("gradient-columns", 2),
        ("normal-rows", 0),
        ("normal-columns", 0),
        ("squares", 1),
        ("line-search", 3),
    ];

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

    /// Makes a pass once, and returns one of its numbers.
    ///
    /// # Errors
    /// Those of the pass; [`crate::Error::Stopped`].
    pub fn pass(&self, name: &str, exec: &Exec<'_>) -> Result<f64> {
        let Self { problem, factors, directions } = self;
        let side = if name.ends_with("rows") { FactorSide::Scores } else { FactorSide::Loadings };
        if name.starts_with("residuals") {
            return Ok(residuals(problem, factors, side, exec)?[0].to_f64());
        }
        if name.starts_with("gradient") {
            let mut g = factors.of(side).zeros_like();
            let found = gradient_pass(problem, factors, side, [&mut g], exec, |sums, _, [row]| {
                row.iter_mut().zip(sums).for_each(|(out, &sum)| *out = T::from_f64(sum));
            })?;
            return Ok(found.squares);
        }
        if name.starts_with("normal") {
            return Ok(solve_side(problem, &mut factors.clone(), side, exec)?[0]);
        }
        if name == "squares" {
            return squares(problem, factors, exec);
        }
        Ok(polynomial(problem, factors, directions, exec)?[0])
    }
}
