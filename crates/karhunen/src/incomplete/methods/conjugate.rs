//! Nonlinear conjugate gradients (Polak-Ribière, restarted) with the diagonal preconditioner of the Newton method
//! and an exact line search along the polynomial of degree four.

use super::iterate::{Iterate, IterationReport};
use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::factors::objective::Objective;
use crate::incomplete::factors::state_arrays::{Arrays, optional};
use crate::incomplete::factors::{Factor, FactorSide, Factors};
use crate::incomplete::passes::gradient::gradient_pass;
use crate::incomplete::passes::line_search::{best_step, polynomial};
use crate::incomplete::updates::preconditioner::Preconditioner;
use crate::linalg::simd::Lane;

/// Time O(N c) per iteration: one pass by rows and one by columns for the gradient, one by rows for the line
/// search.
#[derive(Debug)]
pub(crate) struct Conjugate<T> {
    preconditioner: Preconditioner,
    state: Option<ConjugateState<T>>,
}

#[derive(Debug)]
struct ConjugateState<T> {
    /// Minus half the gradient.
    gradient: Factors<T>,
    /// The previous gradient.
    before: Factors<T>,
    /// The preconditioned gradient.
    scaled: Factors<T>,
    directions: Factors<T>,
    /// `<Z, G>` of the previous iteration; `None` at the start.
    product: Option<f64>,
    cost: f64,
    squares: f64,
}

impl<T: Lane> ConjugateState<T> {
    fn zeros(factors: &Factors<T>) -> Self {
        let zeros = || Factors { a: factors.a.zeros_like(), s: factors.s.zeros_like(), c: factors.c };
        Self {
            gradient: zeros(),
            before: zeros(),
            scaled: zeros(),
            directions: zeros(),
            product: None,
            cost: 0.0,
            squares: 0.0,
        }
    }
}

impl<T: Lane> Conjugate<T> {
    pub(crate) fn new(preconditioner: Preconditioner) -> Self {
        Self { preconditioner, state: None }
    }

    fn evaluate(
        &self,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        state: &mut ConjugateState<T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let (preconditioner, free) = (self.preconditioner, problem.free());
        let mut penalties = 0.0;
        for (side, g, z) in [
            (FactorSide::Scores, &mut state.gradient.s, &mut state.scaled.s),
            (FactorSide::Loadings, &mut state.gradient.a, &mut state.scaled.a),
        ] {
            let found = gradient_pass(problem, factors, side, [g, z], exec, |g, h, [g_row, z_row]| {
                g_row.iter_mut().zip(g).for_each(|(to, g)| *to = T::from_f64(*g));
                preconditioner.apply((side, free), g, h, z_row);
            })?;
            penalties += found.penalty;
            state.squares = found.squares;
        }
        state.cost = state.squares + penalties;
        Ok(())
    }

    /// The next direction: `D = Z + beta D`.
    fn turn(&self, state: &mut ConjugateState<T>, exec: &Exec<'_>) -> Result<()> {
        let (mut zg, mut z_before) = (0.0, 0.0);
        for side in [FactorSide::Scores, FactorSide::Loadings] {
            let (now, before) = (state.gradient.of(side), state.before.of(side));
            let found = products(state.scaled.of(side), now, before, exec)?;
            zg += found.0;
            z_before += found.1;
        }
        let beta = match state.product {
            Some(old) if old > 0.0 => ((zg - z_before) / old).max(0.0),
            _ => 0.0,
        };
        state.product = Some(zg);
        let mut along = 0.0;
        for side in [FactorSide::Scores, FactorSide::Loadings] {
            let (scaled, gradient) = (state.scaled.of(side), state.gradient.of(side));
            let directions = match side {
                FactorSide::Scores => &mut state.directions.s,
                FactorSide::Loadings => &mut state.directions.a,
            };
            directions.map_rows(exec, |i, row| {
                for (d, z) in row.iter_mut().zip(scaled.row(i)) {
                    *d = T::from_f64(z.to_f64() + beta * d.to_f64());
                }
            })?;
            along += products(directions, gradient, gradient, exec)?.0;
        }
        if along.is_nan() || along <= 0.0 {
            steepest(state);
        }
        Ok(())
    }
}

/// Restarts from the direction of steepest descent.
fn steepest<T: Lane>(state: &mut ConjugateState<T>) {
    state.directions.s.as_mut_slice().copy_from_slice(state.scaled.s.as_slice());
    state.directions.a.as_mut_slice().copy_from_slice(state.scaled.a.as_slice());
}

/// `<x, y>` and `<x, z>`.
fn products<T: Lane>(x: &Factor<T>, y: &Factor<T>, z: &Factor<T>, exec: &Exec<'_>) -> Result<(f64, f64)> {
    let sums = x.sum_rows(2, exec, |i, x, sums| {
        for ((x, y), z) in x.iter().zip(y.row(i)).zip(z.row(i)) {
            sums[0] += x.to_f64() * y.to_f64();
            sums[1] += x.to_f64() * z.to_f64();
        }
    })?;
    Ok((sums[0], sums[1]))
}

impl<T: Lane> Iterate<T> for Conjugate<T> {
    fn iterate(
        &mut self,
        problem: &mut Objective<'_, T>,
        factors: &mut Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<IterationReport> {
        let mut state = match self.state.take() {
            Some(state) => state,
            None => {
                let mut state = ConjugateState::zeros(factors);
                self.evaluate(problem, factors, &mut state, &exec.part(0.0, 0.1))?;
                state
            }
        };
        self.turn(&mut state, exec)?;
        let search = exec.part(0.1, 0.4);
        let mut step = best_step(polynomial(problem, factors, &state.directions, &search)?);
        if step.is_none() {
            steepest(&mut state);
            step = best_step(polynomial(problem, factors, &state.directions, &search)?);
        }
        let before = (state.cost, state.squares);
        if let Some(t) = step {
            let old = factors.clone();
            factors.a.set_step(&old.a, t, &state.directions.a, exec)?;
            factors.s.set_step(&old.s, t, &state.directions.s, exec)?;
            std::mem::swap(&mut state.gradient, &mut state.before);
            self.evaluate(problem, factors, &mut state, &exec.part(0.4, 1.0))?;
            if state.cost.is_nan() || state.cost > before.0 {
                // Only rounding is left to gain.
                *factors = old;
                (state.cost, state.squares) = before;
                step = None;
            }
        }
        let progress = IterationReport {
            cost: state.cost,
            squares: state.squares,
            step,
            accepted: step.is_some(),
            exhausted: step.is_none(),
        };
        self.state = step.map(|_| state);
        Ok(progress)
    }

    fn window(&self) -> usize {
        10
    }

    fn save(&self, out: &mut Arrays) {
        // Gradients and costs follow from the factors and are not stored.
        if let Some(state) = &self.state {
            out.put("product", [state.product.unwrap_or(f64::NAN)]);
            out.put_factor("before_loadings", &state.before.a);
            out.put_factor("before_scores", &state.before.s);
            out.put_factor("direction_loadings", &state.directions.a);
            out.put_factor("direction_scores", &state.directions.s);
        }
    }

    fn restore(
        &mut self,
        from: &mut Arrays,
        problem: &Objective<'_, T>,
        factors: &Factors<T>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        if !from.has("product") {
            return Ok(());
        }
        let [product] = from.take_array("product")?;
        let mut state = ConjugateState::zeros(factors);
        state.product = optional("product", product)?;
        state.before.a = from.take_like("before_loadings", &factors.a)?;
        state.before.s = from.take_like("before_scores", &factors.s)?;
        state.directions.a = from.take_like("direction_loadings", &factors.a)?;
        state.directions.s = from.take_like("direction_scores", &factors.s)?;
        self.evaluate(problem, factors, &mut state, exec)?;
        self.state = Some(state);
        Ok(())
    }

    fn restart(&mut self) {
        self.state = None;
    }
}
