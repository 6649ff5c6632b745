//! Convergence of a fit: the reason for its stop, its iterations, and out-of-range predictions.

use crate::choice::{Choice, Named, plain_names};
use crate::error::Result;
use crate::incomplete::factors::state_arrays::{count, damaged};
use crate::incomplete::options::Method;

/// Reason for the stop of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The relative decrease of the cost fell below `tol`.
    Tolerance,
    /// The relative gradient fell below `gradient_tol`.
    Gradient,
    /// The angle between consecutive loadings fell below `angle_tol`.
    Angle,
    /// The relative change of the error of the fitted entries fell below `rmse_tol`.
    Rmse,
    /// No step lowers the cost.
    Exhausted,
    /// The error of the held-out entries stopped falling.
    HeldOut,
    /// The fit reached `max_iter`.
    Iterations,
    /// The fit reached `time_limit`.
    TimeLimit,
    /// The noise of `ppca` vanished, because scores and loadings outnumber the entries: the cost falls without bound.
    NoNoise,
    /// Scores and loadings of `ppca` outnumber the entries, so that they fit noise, and the cost fell by less than a
    /// thousandth per entry and iteration.
    Overfit,
}

/// In the order of the codes in checkpoints.
impl Choice for StopReason {
    const TABLE: &'static [Named<Self>] = &[
        Named::new(Self::Tolerance, "tolerance", "the cost fell by less than the tolerance"),
        Named::new(Self::Gradient, "gradient", "the gradient was below its tolerance"),
        Named::new(Self::Angle, "angle", "the loadings turned by less than their tolerance"),
        Named::new(Self::Rmse, "rmse", "the error moved by less than its tolerance"),
        Named::new(Self::Exhausted, "exhausted", "no step lowered the cost any more"),
        Named::new(Self::HeldOut, "heldout", "the error of the held-out entries no longer fell"),
        Named::new(Self::Iterations, "iterations", "at the largest number of iterations"),
        Named::new(Self::TimeLimit, "timelimit", "at the time limit"),
        Named::new(Self::NoNoise, "nonoise", "the noise vanished: scores and loadings outnumber the entries"),
        Named::new(Self::Overfit, "overfit", "scores and loadings outnumber the entries and fit noise"),
    ];
}

plain_names!(StopReason);

impl StopReason {
    /// Returns true if the iterations met a limit, and no criterion of convergence.
    pub(crate) fn is_limit(self) -> bool {
        matches!(self, Self::Iterations | Self::TimeLimit)
    }

    /// The code in a checkpoint.
    pub(crate) fn code(self) -> f64 {
        Self::ALL.iter().position(|reason| *reason == self).map_or(f64::NAN, |code| code as f64)
    }

    pub(crate) fn from_code(code: f64) -> Result<Self> {
        Self::ALL.get(count("end", code)?).copied().ok_or_else(|| damaged("end", "holds no reason"))
    }
}

/// Result of one iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TraceEntry {
    /// Number of the iteration. Zero is the start, absent for methods that learn variances, which have no cost
    /// yet.
    pub iteration: usize,
    /// The cost that the method minimises: F, twice the negative log posterior (`map`), or the negative evidence
    /// lower bound (`ppca`, `vb`, `vb-fixed`, `vb-full`).
    pub cost: f64,
    /// Root mean squared error of the fitted entries.
    pub rmse: f64,
    /// Root mean squared error of the held-out entries, in iterations that compute it.
    pub held_out_rmse: Option<f64>,
    /// The learning rate of the next iteration, if the method has one.
    pub step: Option<f64>,
    /// Seconds since the first iteration began.
    pub seconds: f64,
}

/// Convergence of a fit.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IncompleteConvergence {
    /// The method of the fit.
    pub method: Method,
    /// Reason for the method: an automatic choice, or `asked for`.
    pub reason: String,
    /// Reason for the stop.
    pub stop: StopReason,
    /// The cost of the model.
    pub cost: f64,
    /// Root mean squared error of the fitted entries under the model.
    pub rmse: f64,
    /// Root mean squared error of the held-out entries under the model.
    pub held_out_rmse: Option<f64>,
    /// Every iteration of the selected run.
    pub trace: Vec<TraceEntry>,
    /// Every run: one per start, or per penalty of a path.
    #[cfg_attr(feature = "serde", serde(default))]
    pub runs: Vec<RunSummary>,
    /// Agreement of the starts, if several were compared.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub starts: Option<StartAgreement>,
    /// Facts about the entries that leave components undetermined, if there are any; not known of fits in parts.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub identifiability: Option<Identifiability>,
    /// True if the model was refitted to all entries, including the held-out ones.
    #[cfg_attr(feature = "serde", serde(default))]
    pub refitted: bool,
    /// Out-of-range predictions of missing entries, if any: there the entries do not determine the fit.
    #[cfg_attr(feature = "serde", serde(default))]
    pub far: Option<FarPredictions>,
    /// Set if the components of `ppca` fit noise.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub overfit: Option<Overfit>,
    /// Number of fitted rows of a fit in parts, whose scores are not in the model.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub n_samples_in_parts: Option<usize>,
}

/// Result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RunSummary {
    /// The penalty, on a path of penalties.
    pub lambda: Option<f64>,
    /// The cost at the end of the run, or at the lowest held-out error.
    pub cost: f64,
    /// Root mean squared error of the fitted entries at that iteration.
    pub rmse: f64,
    /// Root mean squared error of the held-out entries at that iteration.
    pub held_out_rmse: Option<f64>,
    /// Number of iterations.
    pub n_iterations: usize,
}

impl IncompleteConvergence {
    /// Returns true if the fit met a criterion of convergence, and not a limit, and the starts that were compared agree.
    pub fn converged(&self) -> bool {
        self.met_criterion() && self.starts.is_none_or(|starts| starts.agree())
    }

    /// Returns true if the iterations met a criterion of convergence, and not a limit.
    pub fn met_criterion(&self) -> bool {
        !self.stop.is_limit()
    }
}

/// Facts about the observed entries that leave components undetermined, whatever their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Identifiability {
    /// Number of parts into which rows and columns fall, with no entry in a row of one and a column of another: nothing
    /// ties the components of one part to the components of another.
    pub n_parts: usize,
    /// Number of pairs of columns that no row has both entries of: their covariance follows from the components alone.
    /// `None` if the table is too large to count them.
    pub n_pairs_apart: Option<usize>,
    /// Number of rows with entries, but fewer than components.
    pub n_short_rows: usize,
    /// Number of columns with entries, but fewer than components.
    pub n_short_columns: usize,
}

impl Identifiability {
    pub(crate) fn is_notable(&self) -> bool {
        self.n_parts > 1 || self.n_pairs_apart.unwrap_or(0) + self.n_short_rows + self.n_short_columns > 0
    }
}

impl std::fmt::Display for Identifiability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { n_parts, n_pairs_apart, n_short_rows, n_short_columns } = *self;
        let counted = |n: usize, one: &str, several: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{n} {several}"),
        };
        let mut facts = Vec::new();
        if n_parts > 1 {
            let rule = "that share neither rows nor columns, so nothing ties their components to one another";
            facts.push(format!("the entries fall into {n_parts} parts {rule}"));
        }
        if let Some(n @ 1..) = n_pairs_apart {
            let pairs = counted(n, "pair of columns was", "pairs of columns were");
            facts.push(format!("{pairs} never observed in one row"));
        }
        if n_short_rows > 0 {
            facts.push(format!(
                "{} fewer entries than components",
                counted(n_short_rows, "row has", "rows have")
            ));
        }
        if n_short_columns > 0 {
            let columns = counted(n_short_columns, "column has", "columns have");
            facts.push(format!("{columns} fewer entries than components"));
        }
        f.write_str(&facts.join("; "))
    }
}

/// Agreement of the starts of a fit (`docs/missing-values-methods.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StartAgreement {
    /// Number of starts.
    pub n_starts: usize,
    /// Number of starts that reached the lowest cost: with the components of the best one, up to an angle of
    /// [`StartAgreement::AGREED`], and of runs to the end also its cost, up to [`StartAgreement::SAME_COST`].
    pub n_lowest: usize,
    /// Cost of the start that is nearest to the best, less the lowest cost: over the lowest cost, or for runs of methods that
    /// learn variances, whose cost is a log-likelihood, over the number of entries.
    pub cost_difference: f64,
    /// Largest principal angle between the components of the better one of two starts, of which those near the level of the
    /// noise are left out, and the loadings of the other, in radians: of the nearest run, or the nearest short start.
    pub angle: Option<f64>,
    /// Number of components near the level of the noise that short starts did not compare; 0 if costs of runs did.
    #[cfg_attr(feature = "serde", serde(default))]
    pub n_weak: usize,
}

impl StartAgreement {
    /// Largest angle between components that agree, in radians.
    pub const AGREED: f64 = 0.1;
    /// Largest difference of costs that agree, unless ten times `tol` is larger.
    pub const SAME_COST: f64 = 1e-3;

    /// Returns true if the lowest cost was reached from two starts.
    pub fn agree(&self) -> bool {
        self.n_lowest >= 2
    }
}

impl std::fmt::Display for StartAgreement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { n_starts, n_lowest, angle, n_weak, .. } = *self;
        if self.agree() {
            write!(f, "{n_lowest} of {n_starts} starts reached the lowest cost")?;
            return match n_weak {
                0 => Ok(()),
                1 => write!(f, "; a component near the level of the noise was not compared"),
                n => write!(f, "; {n} components near the level of the noise were not compared"),
            };
        }
        write!(f, "only one of {n_starts} starts reached the lowest cost")?;
        match angle {
            Some(angle) if angle > Self::AGREED => {
                write!(f, "; the nearest other one ended {angle:.2} radians away")
            }
            _ => Ok(()),
        }
    }
}

/// Components of `ppca` that fit noise: scores and loadings outnumber the entries, or the components lower the negative
/// log-likelihood by less than Akaike's corrected criterion demands of their loadings, so that the means alone are expected
/// to predict new entries better. Use fewer components, entries held out, or a posterior of the loadings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Overfit {
    /// Difference of the negative log-likelihoods without components and with them.
    pub gain: f64,
    /// Number of loadings that are free.
    pub n_parameters: usize,
    /// True if scores and loadings outnumber the entries: the likelihood has no maximum.
    pub outnumbered: bool,
}

/// Predictions of missing entries more than ten standard deviations outside the observed range of their column.
/// Without penalty or prior, components of rows or columns with few entries may take any size; use fewer
/// components, a penalty, or a method that learns variances.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FarPredictions {
    /// Number of such predictions, among all missing entries if these are few, otherwise among the rows and
    /// columns with the largest scores and loadings.
    pub count: usize,
    /// Row of the farthest prediction.
    pub row: usize,
    /// Column of the farthest prediction.
    pub column: usize,
    /// Value of the farthest prediction.
    pub value: f64,
    /// Distance of the farthest prediction from the observed range of its column, in standard deviations of the
    /// observed entries.
    pub deviations: f64,
}
