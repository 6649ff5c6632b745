//! Sentences about a fit of data with missing values.

use std::fmt::Write;

use karhunen::IncompleteModel;
use karhunen::choice::Choice;
use karhunen::incomplete::{MeanMode, Method, NoiseModel};
use karhunen::pca::Scaling;

use crate::components::kept_explain;
use crate::names::Names;
use crate::numbers::{counted, percent, significant};
use crate::scaling;

/// Returns sentences about the model and its data, whose rows may be weighted.
pub(super) fn fitted(model: &IncompleteModel, weighted: bool) -> Vec<String> {
    let parts = model.parts();
    let options = &parts.options;
    let method = model.convergence().method;
    let mean = match options.mean {
        MeanMode::Joint => "The mean of each feature was fitted with the components.",
        MeanMode::Fixed => "The mean of each feature is the mean of its observed entries.",
        MeanMode::None => "No feature was centred.",
    };
    let mut treatment = mean.to_owned();
    match (scaling::divisor(&options.scale), &parts.scales.scale) {
        (Some(divisor), Some(_)) => {
            let _ = write!(
                treatment,
                " Each feature was divided by {divisor}{}.",
                match options.scale {
                    Scaling::Given(_) => "",
                    _ => ", from its observed entries",
                }
            );
        }
        (None, Some(_)) if options.noise == NoiseModel::Feature => treatment
            .push_str(" Each feature was divided by the deviation of its noise, which was fitted too (factor analysis)."),
        // A stream keeps the scales of the model that it continues.
        (None, Some(_)) => treatment.push_str(" Each feature was divided by the scale of an earlier fit."),
        (_, None) => {}
    }
    if weighted {
        let _ = write!(
            treatment,
            " The samples have weights, the times each was seen, and count as {} samples.",
            significant(model.row_totals().samples, 6)
        );
    }
    if parts.scales.weights.is_some() {
        treatment.push_str(" The features have weights.");
    }
    if parts.row_offsets.is_some() {
        treatment.push_str(" Each sample has an offset in all features.");
    }
    let kept: f64 = model.explained_variance_ratio().iter().sum();
    let mut sentences = vec![
        format!(
            "Principal component analysis of {} and {} with missing values, in {} numbers.",
            counted(model.n_samples(), "sample"),
            counted(model.n_features(), "feature"),
            if parts.dtype == "f32" { "single-precision (f32)" } else { "double-precision (f64)" },
        ),
        format!(
            "The method was {} ({}). Reason: {}.",
            method.name(),
            help(method),
            model.convergence().reason.trim_end_matches('.'),
        ),
        treatment,
        format!(
            "{} {} of the variance that complete samples have by the fit, {}.",
            kept_explain(model.n_components()),
            percent(kept),
            significant(parts.total_variance, 5),
        ),
        format!(
            "An observation has a standard deviation of {} about its prediction{}.",
            significant(model.noise_variance().sqrt(), 4),
            match &parts.scales.scale {
                Some(_) if options.scale == Scaling::Deviation => {
                    ", in units of the standard deviation of its feature"
                }
                Some(_) => ", in units of the divisor of its feature",
                None => "",
            },
        ),
    ];
    if learns_variances(method) {
        sentences.push(
            "Variances along the components are variances of values without noise. Eigenvalues of complete \
             data are larger by the noise variance, and by what the sample adds to the variances of the \
             population."
                .to_owned(),
        );
    }
    sentences
}

/// The description of a choice, to follow a colon.
fn help(choice: impl Choice) -> String {
    let mut letters = choice.named().help.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn learns_variances(method: Method) -> bool {
    matches!(method, Method::Ppca | Method::Map | Method::Vb | Method::VbFixed | Method::VbFull)
}

/// How exact the components are.
pub(super) fn exactness(model: &IncompleteModel, names: &Names<'_>) -> Vec<String> {
    let found = model.convergence();
    let n_iterations = found.trace.last().map_or(0, |entry| entry.iteration);
    let mut sentences =
        vec![format!("The fit stopped after {}: {}.", counted(n_iterations, "iteration"), help(found.stop),)];
    if !found.met_criterion() {
        sentences.push(
            "Warning: it met no criterion of convergence, so more iterations may change it.".to_owned(),
        );
    }
    if let Some(facts) = found.identifiability {
        sentences.push(format!("Before any fit: {facts}."));
    }
    if let Some(starts) = found.starts {
        sentences.push(if starts.agree() {
            format!("{starts}.")
        } else {
            let reason = "Another fit may be better, or the entries do not determine the components.";
            format!("Warning: {starts}. {reason}")
        });
    }
    sentences.push(format!(
        "The root mean squared error of the fitted entries is {}{}.",
        significant(found.rmse, 4),
        match found.held_out_rmse {
            Some(error) => format!(", on entries held out {}", significant(error, 4)),
            None => String::new(),
        },
    ));
    if let Some(far) = found.far {
        sentences.push(format!(
            "Warning: {} of missing values {} more than ten standard deviations outside the observed range of {} feature; the \
             farthest is {}, {} standard deviations away, in {}. Use fewer components, a penalty, or a method that learns \
             variances.",
            counted(far.count, "prediction"),
            if far.count == 1 { "is" } else { "are" },
            if far.count == 1 { "its" } else { "their" },
            significant(far.value, 4),
            significant(far.deviations, 3),
            names.in_text(far.column),
        ));
    }
    if let Some(overfit) = found.overfit {
        sentences.push(format!(
            "Warning: the components fit noise: {}. Use fewer components, early stopping, or vb-full.",
            if overfit.outnumbered {
                "scores and loadings outnumber the entries, so that they can fit each exactly".to_owned()
            } else {
                format!(
                    "they lower the negative log-likelihood by {} with {}, so that the means alone are expected to predict \
                     new entries better",
                    significant(overfit.gain, 4),
                    counted(overfit.n_parameters, "loading"),
                )
            }
        ));
    }
    if let Some(dominant) = model.dominant() {
        sentences.push(format!(
            "Warning: {} without variance: apart from {}, all columns together have {} of it. Scale the \
             columns if they have different units.",
            counted(dominant.n_lost, "component"),
            names.in_text(dominant.column),
            significant(dominant.others, 2),
        ));
    }
    sentences
}

/// How many components the data support.
pub(super) fn choice(model: &IncompleteModel) -> Vec<String> {
    let method = model.convergence().method;
    let n_active = model.explained_variance().iter().filter(|variance| **variance > 0.0).count();
    let mut sentences = Vec::new();
    if matches!(method, Method::Vb | Method::VbFull | Method::VbFixed | Method::Map) {
        sentences.push(format!(
            "The method prunes components that the data do not support: {} of {} have variance.",
            n_active,
            counted(model.n_components(), "component"),
        ));
        if n_active == model.n_components() {
            sentences.push("None was pruned, so more components may be supported; fit with more.".to_owned());
        }
    } else if n_active < model.n_components() {
        sentences
            .push(format!("{n_active} of {} have variance.", counted(model.n_components(), "component")));
    }
    sentences.push(
        "The rules for complete data do not apply where values are missing. Compare numbers of components by entries that are \
         held out: karhunen cross-validate, or karhunen.cross_validate_entries in Python."
            .to_owned(),
    );
    sentences
}
