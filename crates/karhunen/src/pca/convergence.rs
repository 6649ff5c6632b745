//! The convergence of a fit, and the remedy for components that missed the tolerance.

use crate::error::{Advice, Error, OptionValue, Phrase, Result, options};
use crate::scalar;
use crate::solver::Route;

/// Outcome of a fit: route, passes over the data and residuals. Outcomes are equal if all but their advice is, which records
/// do not keep.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Convergence {
    /// The route that was taken.
    pub solver: Route,
    /// Reason for the route: its predicted cost compared with the others.
    pub reason: String,
    /// Number of visits of the source, including those for means and variances; for an operator, of products with
    /// it and with its transpose; zero for moments.
    pub n_passes: usize,
    /// `||S w - lambda w|| / lambda_1` of each component; upper bounds on it for the route `gram`, and
    /// for `block-krylov` if there are more columns than rows.
    pub residuals: Vec<f64>,
    /// Tolerance of the residuals.
    pub tol: f64,
    /// Number of residuals within the tolerance.
    pub n_converged: usize,
    /// The remedy for residuals beyond the tolerance; `None` if there are none, or if the model was read from a record.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub advice: Option<Advice>,
}

impl PartialEq for Convergence {
    fn eq(&self, other: &Self) -> bool {
        let Self { solver, reason, n_passes, residuals, tol, n_converged, advice: _ } = self;
        (solver, reason, n_passes, residuals, tol, n_converged)
            == (
                &other.solver,
                &other.reason,
                &other.n_passes,
                &other.residuals,
                &other.tol,
                &other.n_converged,
            )
    }
}

impl Convergence {
    /// The outcome for these residuals, which include the rounding error of centring, `cancelled`.
    pub(super) fn new(
        (solver, reason): (Route, String),
        n_passes: usize,
        (residuals, tol): (Vec<f64>, f64),
        (input, cancelled): (Input, f64),
    ) -> Self {
        let n_converged = residuals.iter().filter(|&&r| r <= tol).count();
        let missed = if cancelled > tol {
            Missed::Centring
        } else if residuals.first().is_some_and(|&first| first <= tol) {
            Missed::Small
        } else {
            Missed::All
        };
        let advice = (n_converged < residuals.len()).then(|| input.advice(solver, missed));
        Self { solver, reason, n_passes, residuals, tol, n_converged, advice }
    }

    /// The largest residual: NaN if any is NaN, zero if there are none.
    pub fn worst_residual(&self) -> f64 {
        scalar::largest(self.residuals.iter().copied())
    }

    /// Tests that every component is within the tolerance.
    pub fn converged(&self) -> bool {
        self.n_converged == self.residuals.len()
    }

    /// Refuses components that miss the tolerance.
    ///
    /// # Errors
    /// [`Error::NotConverged`].
    pub(super) fn require(&self) -> Result<()> {
        let Some(advice) = self.advice.clone() else { return Ok(()) };
        Err(Error::NotConverged {
            solver: self.solver.name(),
            converged: self.n_converged,
            requested: self.residuals.len(),
            n_passes: self.n_passes,
            over: "the data",
            residual: self.worst_residual(),
            tol: self.tol,
            advice,
        })
    }

    /// Drops the components behind the first `k`.
    pub(super) fn truncate(&mut self, k: usize) {
        self.residuals.truncate(k);
        self.n_converged = self.residuals.iter().filter(|&&r| r <= self.tol).count();
        if self.converged() {
            self.advice = None;
        }
    }
}

/// The input of a fit, on which the remedy depends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Input {
    /// Rows, which every route takes.
    Rows,
    /// Rows, from the directions of an incremental fit, whose options limit no iterations.
    Refined,
    /// Rows in parts, or moments of rows.
    Parts,
    /// Directions kept of rows that are gone.
    Sketch,
    /// Products with an operator.
    Operator,
}

/// Which residuals miss the tolerance, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Missed {
    /// All: the rounding error of centring exceeds the tolerance.
    Centring,
    /// Later components, whose variances are smaller.
    Small,
    /// The first component too.
    All,
}

impl Input {
    /// Returns the remedy for residuals of `route` beyond the tolerance.
    fn advice(self, route: Route, missed: Missed) -> Advice {
        let offers_svd = matches!(self, Self::Rows) && route != Route::Svd;
        match (self, missed) {
            (Self::Sketch, _) => "keep more directions, or refine the components over the rows".into(),
            (Self::Rows | Self::Refined | Self::Parts, Missed::Centring) => {
                Advice::MakeDense { svd: offers_svd }
            }
            (Self::Operator, Missed::Centring) => {
                "centring costs the products their digits, because the columns are far from zero: subtract a \
                 constant from each column within the operator"
                    .into()
            }
            (Self::Refined, Missed::Small | Missed::All) => Advice::Raise(vec![options::TOL]),
            _ if route == Route::BlockKrylov => Advice::Raise(vec![options::MAX_ITER, options::TOL]),
            (_, Missed::All) => Advice::Raise(vec![options::TOL]),
            (_, Missed::Small) => {
                let text = Phrase::new(
                    "the smallest of these variances are near the rounding errors of the largest: scale the columns, or \
                     ask for fewer components",
                );
                let svd = || OptionValue::name(Route::Svd.name());
                if offers_svd { text.text(", or use ").setting(options::SOLVER, svd()) } else { text }.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Fields;

    /// The advice for residuals of two components.
    fn advice(input: Input, route: Route, residuals: [f64; 2], cancelled: f64) -> Option<String> {
        let reason = (route, String::new());
        let outcome = Convergence::new(reason, 1, (residuals.to_vec(), 1e-8), (input, cancelled));
        assert_eq!(outcome.require().is_err(), outcome.advice.is_some());
        outcome.advice.map(|advice| advice.text_for(&Fields))
    }

    #[test]
    fn residuals_within_the_tolerance_need_no_advice() {
        for input in [Input::Rows, Input::Refined, Input::Parts, Input::Sketch, Input::Operator] {
            assert_eq!(advice(input, Route::Gram, [1e-9, 1e-8], 0.0), None);
        }
    }

    #[test]
    fn the_advice_depends_on_the_input_the_route_and_what_is_missed() {
        let (small, all) = ([1e-12, 1e-7], [1e-7, 1e-7]);
        let cases = [
            (Input::Rows, Route::Gram, small, 0.0, "solver"),
            (Input::Rows, Route::Svd, small, 0.0, "fewer components"),
            (Input::Rows, Route::BlockKrylov, small, 0.0, "max_iter"),
            (Input::Rows, Route::Covariance, all, 0.0, "tol"),
            (Input::Rows, Route::Gram, all, 1e-6, "dense"),
            (Input::Refined, Route::BlockKrylov, small, 0.0, "raise `tol`"),
            (Input::Refined, Route::BlockKrylov, all, 1e-6, "dense"),
            (Input::Parts, Route::Covariance, small, 0.0, "fewer components"),
            (Input::Parts, Route::Covariance, all, 1e-6, "dense"),
            (Input::Sketch, Route::Svd, all, 0.0, "more directions"),
            (Input::Operator, Route::BlockKrylov, all, 1e-6, "within the operator"),
            (Input::Operator, Route::Covariance, small, 0.0, "fewer components"),
            (Input::Operator, Route::BlockKrylov, all, 0.0, "max_iter"),
        ];
        for (input, route, residuals, cancelled, expected) in cases {
            let text = advice(input, route, residuals, cancelled).unwrap();
            assert!(text.contains(expected), "{input:?} {route:?}: {text}");
            // Only rows can be fitted by the route svd instead.
            let offers_svd = text.contains("svd");
            assert!(!offers_svd || matches!(input, Input::Rows), "{input:?} {route:?}: {text}");
        }
    }

    #[test]
    fn outcomes_are_equal_without_their_advice() {
        let outcome = |residual: f64| {
            Convergence::new((Route::Gram, String::new()), 1, (vec![residual], 1e-8), (Input::Rows, 0.0))
        };
        let missed = outcome(1e-3);
        assert_eq!(missed, Convergence { advice: None, ..missed.clone() });
        assert_ne!(missed, outcome(1e-4));
    }
}
