//! How a fit went: why it stopped, its iterations, and far predictions.

use crate::choice::{Choice, Named, plain_names};
use crate::error::Result;
use crate::incomplete::factors::state_arrays::{count, damaged};
use crate::incomplete::options::Method;

/// Why a fit stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The cost fell by less than the tolerance.
    Tolerance,
    /// The gradient was below its tolerance.
    Gradient,
    /// The loadings turned by less than their tolerance.
    Angle,
    /// The error of the entries fitted moved by less than its tolerance.
    Rmse,
    /// No step lowers the cost any more.
    Exhausted,
    /// The error of the entries set aside no longer fell.
    HeldOut,
    /// The largest number of iterations.
    Iterations,
    /// The time limit.
    TimeLimit,
}

/// In the order of the codes of checkpoints.
impl Choice for StopReason {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Tolerance, "tolerance", "the cost fell by less than the tolerance"),
        Named::new(Self::Gradient, "gradient", "the gradient was below its tolerance"),
        Named::new(Self::Angle, "angle", "the loadings turned by less than their tolerance"),
        Named::new(Self::Rmse, "rmse", "the error moved by less than its tolerance"),
        Named::new(Self::Exhausted, "exhausted", "no step lowered the cost any more"),
        Named::new(Self::HeldOut, "heldout", "the error of the entries set aside no longer fell"),
        Named::new(Self::Iterations, "iterations", "at the largest number of iterations"),
        Named::new(Self::TimeLimit, "timelimit", "at the time limit"),
    ];
}

plain_names!(StopReason);

impl StopReason {
    /// As a number in a checkpoint.
    pub(crate) fn code(self) -> f64 {
        Self::ALL.iter().position(|reason| *reason == self).map_or(f64::NAN, |code| code as f64)
    }

    pub(crate) fn from_code(code: f64) -> Result<Self> {
        Self::ALL.get(count("end", code)?).copied().ok_or_else(|| damaged("end", "holds no reason"))
    }
}

/// Where one iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TraceEntry {
    /// Its number; zero is the start, which methods that learn variances leave out: it has no cost yet.
    pub iteration: usize,
    /// The cost that the method minimises: F, twice the negative logarithm of the posterior (`map`) or the negative
    /// evidence bound (`ppca`, `vb`, `vb-fixed`, `vb-full`).
    pub cost: f64,
    /// Root mean squared error of the entries fitted.
    pub rmse: f64,
    /// Root mean squared error of the entries set aside, where it was computed.
    pub held_out_rmse: Option<f64>,
    /// The learning rate of the next iteration, of methods that have one.
    pub step: Option<f64>,
    /// Seconds since the first iteration began.
    pub seconds: f64,
}

/// How a fit went.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IncompleteConvergence {
    /// The method that was used.
    pub method: Method,
    /// Why: chosen, or asked for.
    pub reason: String,
    /// Why it stopped.
    pub stop: StopReason,
    /// The cost of the model.
    pub cost: f64,
    /// Root mean squared error of the entries fitted, of the model.
    pub rmse: f64,
    /// Root mean squared error of the entries set aside, of the model.
    pub held_out_rmse: Option<f64>,
    /// Every iteration of the run that was kept.
    pub trace: Vec<TraceEntry>,
    /// Every run: one for each start, or for each penalty of a path.
    #[cfg_attr(feature = "serde", serde(default))]
    pub runs: Vec<RunSummary>,
    /// Whether the model was fitted again to all entries, those set aside included.
    #[cfg_attr(feature = "serde", serde(default))]
    pub refitted: bool,
    /// Predictions of missing entries far outside what was observed, if there are any: the entries do not determine the fit
    /// there.
    #[cfg_attr(feature = "serde", serde(default))]
    pub far: Option<FarPredictions>,
}

/// How one run of a fit ended.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RunSummary {
    /// The penalty, on a path of penalties.
    pub lambda: Option<f64>,
    /// The cost at its end, or where the error of the entries set aside was lowest.
    pub cost: f64,
    /// Root mean squared error of the entries fitted, there.
    pub rmse: f64,
    /// Root mean squared error of the entries set aside, there.
    pub held_out_rmse: Option<f64>,
    /// Iterations that were made.
    pub n_iterations: usize,
}

impl IncompleteConvergence {
    /// Whether the fit ended by itself, rather than at a limit.
    pub fn converged(&self) -> bool {
        !matches!(self.stop, StopReason::Iterations | StopReason::TimeLimit)
    }
}

/// Predictions of missing entries that lie far outside the observed entries of their columns: by more than ten standard
/// deviations beyond the lowest or the highest. Where a row or a column has few entries, components that were fitted without a
/// penalty or a prior may take any size; fewer components, a penalty or a method that learns variances will help.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FarPredictions {
    /// How many were found: of all missing entries where these are few, otherwise of those of the rows and columns with the
    /// largest scores and loadings.
    pub count: usize,
    /// The row of the farthest.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// What is predicted there.
    pub value: f64,
    /// How far that is beyond the observed entries of the column, in standard deviations of these.
    pub deviations: f64,
}
