//! Simultaneous steps of loadings and scores with an adaptive learning rate: gradient descent, natural gradient,
//! and the diagonal Newton method of Raiko, Ilin & Karhunen (2007), doi:10.1007/978-3-540-74958-5_69.

use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::{Arrays, count, finite, optional_size, size};
use crate::incomplete::factors::{Factor, FactorSide, Factors, gram};
use crate::incomplete::passes::gradient::gradient_pass;
use crate::incomplete::passes::line_search::{best_step, polynomial};
use crate::incomplete::updates::preconditioner::{Preconditioner, Sizes};
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;

/// Growth of the step size after an accepted step.
const LONGER: f64 = 1.1;
/// Divisor of the step size after a step that does not lower the cost.
const SHORTER: f64 = 2.0;
/// Number of consecutive rejected steps that ends the fit.
const MOST_REFUSALS: usize = 40;

/// Multiplier of the gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Metric {
    /// The second derivatives to the power `-alpha`: 0 for gradient descent, 1 for the diagonal Newton method.
    Curvature(f64),
    /// `A'A` for the loadings, `S'S` for the scores: the natural gradient.
    Natural,
}

/// Time O(N c) per step: one pass by rows and, for an accepted step, one by columns.
#[derive(Debug)]
pub(crate) struct Descent<T> {
    metric: Metric,
    sizes: Sizes,
    /// The first learning rate; a line search if `None`.
    first_step: Option<f64>,
    state: Option<DescentState<T>>,
}

#[derive(Debug)]
struct DescentState<T> {
    directions: Factors<T>,
    proposal: Factors<T>,
    /// Directions of the scores at the proposed factors.
    ahead: Factor<T>,
    cost: f64,
    squares: f64,
    step: f64,
    n_refusals: usize,
}

impl<T: Lane> Descent<T> {
    pub(crate) fn new(metric: Metric, sizes: Sizes, first_step: Option<f64>) -> Self {
        Self { metric, sizes, first_step, state: None }
    }

    fn start(
        &self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<DescentState<T>> {
        let mut directions = Factors { a: factors.a.zeros_like(), s: factors.s.zeros_like(), c: factors.c };
        let (squares, of_scores) =
            self.direct(problem, factors, FactorSide::Scores, &mut directions.s, &exec.part(0.0, 0.3))?;
        let (_, of_loadings) =
            self.direct(problem, factors, FactorSide::Loadings, &mut directions.a, &exec.part(0.3, 0.7))?;
        let step = match (self.first_step, self.metric) {
            (Some(step), _) => step,
            (None, Metric::Curvature(1.0)) => 1.0,
            _ => {
                let found = polynomial(problem, factors, &directions, &exec.part(0.7, 1.0))?;
                best_step(found).unwrap_or(0.0) / self.unit_of_directions()
            }
        };
        let (proposal, ahead) = (factors.clone(), factors.s.zeros_like());
        let cost = squares + of_scores + of_loadings;
        Ok(DescentState { directions, proposal, ahead, cost, squares, step, n_refusals: 0 })
    }

    /// Number by which directions are divided, so that they have the unit of the values that they move and fit into
    /// single precision whatever the unit of the data. Step sizes refer to the directions before this division.
    fn unit_of_directions(&self) -> f64 {
        match self.metric {
            Metric::Curvature(alpha) => self.sizes.unit.powf(1.0 - alpha),
            Metric::Natural => self.sizes.unit.powi(2),
        }
    }

    /// Writes the directions of one factor; returns its sum of squares and its penalty terms.
    fn direct(
        &self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        side: FactorSide,
        out: &mut Factor<T>,
        exec: &Exec<'_>,
    ) -> Result<(f64, f64)> {
        let (sizes, free) = (self.sizes, problem.free());
        let found = match self.metric {
            Metric::Curvature(alpha) => {
                let preconditioner = Preconditioner { alpha, sizes };
                gradient_pass(problem, factors, side, [out], exec, |g, h, [row]| {
                    preconditioner.apply((side, free), g, h, row);
                })?
            }
            Metric::Natural => {
                let gram = gram(factors.of(side), free, exec)?;
                gradient_pass(problem, factors, side, [out], exec, |g, _, [row]| {
                    natural(g, &gram, sizes.unit, row);
                })?
            }
        };
        Ok((found.squares, found.penalty))
    }
}

/// `g G` over the squared `unit`; a fitted mean or offset moves at the mean rate of the components, times the unit.
fn natural<T: Lane>(g: &[f64], gram: &Matrix, unit: f64, row: &mut [T]) {
    let c = gram.n_rows();
    for k in 0..g.len() {
        let value = if k < c {
            (0..c).map(|l| g[l] * gram[(l, k)]).sum()
        } else {
            unit * g[k] * (0..c).map(|l| gram[(l, l)]).sum::<f64>() / c as f64
        };
        row[k] = T::from_f64(value / (unit * unit));
    }
}

impl<T: Lane> Iterate<T> for Descent<T> {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let mut state = match self.state.take() {
            Some(state) => state,
            None => self.start(problem, factors, exec)?,
        };
        let step = state.step * self.unit_of_directions();
        state.proposal.a.set_step(&factors.a, step, &state.directions.a, exec)?;
        state.proposal.s.set_step(&factors.s, step, &state.directions.s, exec)?;
        let (squares, of_scores) = self.direct(
            problem,
            &state.proposal,
            FactorSide::Scores,
            &mut state.ahead,
            &exec.part(0.0, 0.5),
        )?;
        let of_loadings = problem.side_penalty(FactorSide::Loadings, &state.proposal, exec)?;
        let cost = squares + of_scores + of_loadings;
        let accepted = cost < state.cost;
        if accepted {
            std::mem::swap(factors, &mut state.proposal);
            std::mem::swap(&mut state.directions.s, &mut state.ahead);
            let columns = exec.part(0.5, 1.0);
            self.direct(problem, factors, FactorSide::Loadings, &mut state.directions.a, &columns)?;
            (state.cost, state.squares) = (cost, squares);
            state.step *= LONGER;
            state.n_refusals = 0;
        } else {
            state.step /= SHORTER;
            state.n_refusals += 1;
        }
        let progress = IterationReport {
            cost: state.cost,
            squares: state.squares,
            step: Some(state.step),
            accepted,
            exhausted: state.n_refusals >= MOST_REFUSALS || state.step == 0.0,
        };
        self.state = Some(state);
        Ok(progress)
    }

    fn window(&self) -> usize {
        10
    }

    fn save(&self, out: &mut Arrays) {
        out.put("first_step", [self.first_step.unwrap_or(f64::NAN)]);
        // Directions follow from the factors and are not stored.
        if let Some(DescentState { cost, squares, step, n_refusals, .. }) = &self.state {
            out.put("state", [*cost, *squares, *step, *n_refusals as f64]);
        }
    }

    fn restore(
        &mut self,
        from: &mut Arrays,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let [first_step] = from.take_array("first_step")?;
        self.first_step = optional_size("first_step", first_step)?;
        if !from.has("state") {
            return Ok(());
        }
        let [cost, squares, step, n_refusals] = from.take_array("state")?;
        let (cost, squares) = (finite("state", cost)?, size("state", squares)?);
        let (step, n_refusals) = (size("state", step)?, count("state", n_refusals)?);
        let mut directions = Factors { a: factors.a.zeros_like(), s: factors.s.zeros_like(), c: factors.c };
        self.direct(problem, factors, FactorSide::Scores, &mut directions.s, exec)?;
        self.direct(problem, factors, FactorSide::Loadings, &mut directions.a, exec)?;
        let (proposal, ahead) = (factors.clone(), factors.s.zeros_like());
        self.state = Some(DescentState { directions, proposal, ahead, cost, squares, step, n_refusals });
        Ok(())
    }

    fn restart(&mut self) {
        // Keeps the learning rate.
        self.first_step = self.state.take().map(|state| state.step).or(self.first_step);
    }
}
