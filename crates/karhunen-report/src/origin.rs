//! Tests whether rows are the rows of a fit.

use karhunen::diagnostics::{self, IncompleteSamples, Samples};
use karhunen::{IncompleteModel, Observed, PcaModel, Scalar, Weighting};

use crate::numbers::{count, counted};

/// Relative differences that rounding makes in sums of squares of scores, in double and in single precision.
const ROUNDING: f64 = 1e-4;
const ROUNDING_OF_SINGLES: f64 = 1e-3;
/// Largest squared difference of scores that an unfinished fit has kept and the scores of its rows, relative to their
/// squares. New rows differ by twice the squares.
const UNFINISHED: f64 = 0.25;

/// The origin of rows, by their number and by what a model knows of the rows of its fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Origin {
    /// They are the rows of the fit.
    Fit,
    /// Their number is another.
    OtherNumber,
    /// As many, with other values.
    OtherValues,
    /// As many, without the weights of the fit.
    NoWeights,
}

impl Origin {
    /// The origin of complete rows: the rows of the fit have its variances along the components and in total.
    pub(crate) fn of_complete<T: Scalar>(
        model: &PcaModel,
        found: &Samples<T>,
        weights: Option<&[f64]>,
    ) -> Self {
        if found.t2.len() != model.n_samples() {
            return Self::OtherNumber;
        }
        let is_weighted = model.sum_of_weights() != model.n_samples() as f64
            || model.options().weighting == Weighting::Importance;
        match (has_variances(model, found, weights), weights) {
            (true, _) => Self::Fit,
            (false, None) if is_weighted => Self::NoWeights,
            (false, _) => Self::OtherValues,
        }
    }

    /// The origin of rows with missing values: the rows of the fit have the scores that it kept, or if it kept none as
    /// many entries in each column.
    pub(crate) fn of_incomplete<T: Scalar>(
        model: &IncompleteModel,
        rows: &Observed<T>,
        found: &IncompleteSamples,
    ) -> Self {
        let n = rows.n_samples();
        if n != model.n_samples() {
            return Self::OtherNumber;
        }
        let (kept, scores) = (model.scores(), &found.scores.scores);
        let is_fit = if kept.n_rows() == n {
            let of_row = |i: usize, square: fn(f64, f64) -> f64| -> f64 {
                kept.row(i).iter().zip(scores.row(i)).map(|(a, b)| square(*a, *b)).sum()
            };
            let sum = |square: fn(f64, f64) -> f64| (0..n).map(|i| of_row(i, square)).sum::<f64>();
            sum(|a, b| (a - b).powi(2)) <= UNFINISHED * sum(|a, _| a * a)
        } else {
            (0..rows.n_features()).all(|j| rows.n_observed_in_column(j) == model.parts().n_observed[j])
        };
        if is_fit { Self::Fit } else { Self::OtherValues }
    }

    /// The rows whose limits hold.
    pub(crate) fn kind(self) -> diagnostics::Rows {
        match self {
            Self::Fit => diagnostics::Rows::Fitted,
            Self::OtherNumber | Self::OtherValues | Self::NoWeights => diagnostics::Rows::New,
        }
    }

    /// The origin of `n` rows in a sentence.
    pub(crate) fn sentence(self, n: usize, n_fitted: usize) -> String {
        let given = format!("{} {} given", counted(n, "sample"), if n == 1 { "is" } else { "are" });
        match self {
            Self::Fit => format!("{given}: the samples of the fit."),
            Self::OtherNumber => {
                format!("{given}, and {} were fitted; they are taken to be new.", count(n_fitted))
            }
            Self::OtherValues => {
                format!("{given}, as many as were fitted, but with other scores; they are taken to be new.")
            }
            Self::NoWeights => format!(
                "{given}, as many as were fitted, but without the weights of the fit; they are \
                 taken to be new. With these weights, sample_weight in Python and --weights on the \
                 command line, limits are for the samples of the fit."
            ),
        }
    }
}

/// Tests that weighted sums of squares of the scores and of the distances agree with the fit.
fn has_variances<T: Scalar>(model: &PcaModel, found: &Samples<T>, weights: Option<&[f64]>) -> bool {
    let (n, total) = (found.t2.len(), model.total_variance());
    if total == 0.0 {
        return true;
    }
    let sum = weights.map_or(n as f64, |weights| weights.iter().sum());
    let share = |i: usize| weights.map_or(1.0, |weights| weights[i]) / sum;
    let mean_square = |square: &dyn Fn(usize) -> f64| (0..n).map(|i| share(i) * square(i)).sum::<f64>();
    // The reported variance times this is the variance of the population.
    let population = match model.options().weighting {
        Weighting::Population => 1.0,
        Weighting::Frequency => 1.0 - 1.0 / model.sum_of_weights(),
        Weighting::Importance => 1.0 - 1.0 / model.n_observations(),
    };
    let is_single = size_of::<T>() == size_of::<f32>() || model.parts().dtype == "f32";
    let rounding = if is_single { ROUNDING_OF_SINGLES } else { ROUNDING };
    let agrees = |found: f64, variance: f64, residual: f64| {
        let allowed = rounding * variance + (rounding * rounding + residual) * total;
        (found - population * variance).abs() <= allowed
    };
    let residuals = &model.convergence().residuals;
    let of_component = |k: usize| {
        let residual = residuals.get(k).copied().filter(|residual| residual.is_finite());
        let found = mean_square(&|i| found.scores[(i, k)].to_f64().powi(2));
        agrees(found, model.explained_variance()[k], residual.unwrap_or(0.0))
    };
    agrees(mean_square(&|i| found.distance2[i]), total, 0.0) && (0..model.n_components()).all(of_component)
}
