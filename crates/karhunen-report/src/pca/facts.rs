//! Sentences about a fit of complete data: what was fitted, and how exact it is.

use karhunen::pca::{Centring, Scaling};
use karhunen::{Pca, PcaModel, Weighting};

use crate::components::kept_explain;
use crate::names::component;
use crate::numbers::{counted, percent, significant};
use crate::scaling;

/// Returns sentences about the model and its data.
pub(super) fn fitted(model: &PcaModel) -> Vec<String> {
    let mut sentences = vec![
        format!(
            "Principal component analysis of {} and {}, in {} numbers.",
            counted(model.n_samples(), "sample"),
            counted(model.n_features(), "feature"),
            if model.parts().dtype == "f32" { "single-precision (f32)" } else { "double-precision (f64)" },
        ),
        treatment(model.options()),
        weights(model),
    ];
    if model.total_variance() == 0.0 {
        sentences.push("The data have no variance: every feature is constant.".to_owned());
        return sentences;
    }
    let kept: f64 = model.explained_variance_ratio().iter().sum();
    sentences.push(format!(
        "{} {} of the total variance, {}.",
        kept_explain(model.n_components()),
        percent(kept),
        significant(model.total_variance(), 5),
    ));
    sentences
}

/// The centring and the scaling.
fn treatment(options: &Pca) -> String {
    match (&options.center, scaling::divisor(&options.scale)) {
        (Centring::Mean, None) => {
            "Each feature was centred and not scaled (PCA of the covariance matrix).".to_owned()
        }
        (Centring::Mean, Some(divisor)) => {
            let of =
                if options.scale == Scaling::Deviation { " (PCA of the correlation matrix)" } else { "" };
            format!("Each feature was centred and divided by {divisor}{of}.")
        }
        (Centring::None, None) => {
            "No feature was centred or scaled (truncated singular value decomposition).".to_owned()
        }
        (Centring::None, Some(divisor)) => format!("No feature was centred; each was divided by {divisor}."),
        (Centring::Given(_), divisor) => {
            let then = divisor.map_or("not scaled".to_owned(), |divisor| format!("divided by {divisor}"));
            format!(
                "A given value was subtracted from each feature, which was {then}; variances are mean squares about the \
                 given values."
            )
        }
    }
}

fn weights(model: &PcaModel) -> String {
    let weighting = model.options().weighting;
    let weighted = model.sum_of_weights() != model.n_samples() as f64;
    let rows = if weighted {
        let divisor = match weighting {
            Weighting::Population => "the sum of the weights",
            Weighting::Frequency => "the sum of the weights less one",
            Weighting::Importance => "the number of observations less one",
        };
        // Analyses of categories divide by the sum of weights of any meaning.
        let meaning = if model.parts().n_dimensions.is_some() { "" } else { weighting.name() };
        format!(
            "The samples have {meaning}{}weights, which sum to {}; they count as {} observations, and variances are divided by \
             {divisor}.",
            if meaning.is_empty() { "" } else { " " },
            significant(model.sum_of_weights(), 6),
            significant(model.n_observations(), 6),
        )
    } else if weighting == Weighting::Population {
        "Variances are divided by n.".to_owned()
    } else {
        "Variances are divided by n − 1.".to_owned()
    };
    let columns = if model.feature_weights().is_some() { " The features have weights." } else { "" };
    rows + columns
}

/// How exact the components are.
pub(super) fn exactness(model: &PcaModel) -> Vec<String> {
    let found = model.convergence();
    let mut sentences = vec![format!(
        "The route was {}, in {} over the data. Reason: {}.",
        found.solver.name(),
        if found.n_passes == 1 { "1 pass".to_owned() } else { format!("{} passes", found.n_passes) },
        found.reason.trim_end_matches('.'),
    )];
    if !found.residuals.is_empty() {
        sentences.push(format!(
            "The largest residual ‖Sw − λw‖ / λ₁ is {}; the tolerance is {}.",
            significant(found.worst_residual(), 2),
            significant(found.tol, 2),
        ));
    }
    if found.converged() {
        sentences.push("All components are within the tolerance.".to_owned());
    } else {
        let late: Vec<String> = (0..found.residuals.len())
            .filter(|k| found.residuals[*k].is_nan() || found.residuals[*k] > found.tol)
            .map(component)
            .collect();
        sentences.push(format!(
            "Warning: {} of {} components are within the tolerance; {} may be inexact.",
            found.n_converged,
            found.residuals.len(),
            late.join(", "),
        ));
    }
    sentences
}
