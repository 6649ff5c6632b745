//! Principal component analysis of data with missing values.

use karhunen::incomplete::{Covariances, FitContext, RowScores};
use karhunen::{IncompleteModel, IncompletePca, Matrix, Observed, Result, Run, Source};
use savvy::{ListSexp, RealSexp, Sexp, savvy};

use crate::call::Call;
use crate::data::Given;
use crate::results::Fields;
use crate::run::run;
use crate::{options, record};

/// Values of rows under a model, and their standard deviations if the fit kept error bars.
struct Rows {
    scores: Matrix,
    values: Matrix,
    deviations: Option<Matrix>,
}

/// Fits components to the entries that are there; returns the model, and the fitted values of all entries with the standard
/// deviations of new observations in their place.
#[savvy]
fn kh_fit_incomplete(
    call: ListSexp,
    data: ListSexp,
    options: ListSexp,
    weights: Option<RealSexp>,
    column_weights: Option<RealSexp>,
) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let pca: IncompletePca = options::read(&call, &options)?;
    let given = Given::read(&data)?;
    let x = given.source()?;
    let (weights, column_weights) =
        (weights.as_ref().map(RealSexp::as_slice), column_weights.as_ref().map(RealSexp::as_slice));
    let cost = cost(&*x, pca.n_components) * pca.max_iter as f64;
    let (model, rows) = run(&call, cost, |run| {
        let mut entries = pca.observe(&*x, run)?;
        if let Some(weights) = weights {
            entries = entries.with_sample_weights(weights)?;
        }
        if let Some(weights) = column_weights {
            entries = entries.with_feature_weights(weights)?;
        }
        let model = pca.fit_with(&entries, &FitContext::default(), run)?;
        let parts = model.parts();
        let found = RowScores { scores: parts.scores.clone(), offsets: parts.row_offsets.clone() };
        let rows = values_of(&model, found, parts.score_covariances.as_ref(), run)?;
        Ok((model, rows))
    })?;
    let (parts, convergence) = (model.parts(), model.convergence());
    let mut out = Fields::new(24)?;
    out.numbers("variance", model.explained_variance())?;
    out.matrix("rotation", &model.components().transposed())?;
    out.numbers("center", model.mean())?;
    out.numbers("center_variance", &parts.mean_variance)?;
    out.numbers("scale", model.scale().unwrap_or_default())?;
    out.numbers("share", model.explained_variance_ratio())?;
    out.number("total_variance", parts.total_variance)?;
    out.number("noise_variance", model.noise_variance())?;
    out.numbers("feature_noise_variance", &model.feature_noise_variance())?;
    out.number("n", model.n_samples() as f64)?;
    out.number("n_observed", parts.n_observed.iter().map(|n| *n as f64).sum())?;
    out.matrix("scores", &rows.scores)?;
    out.matrix("values", &rows.values)?;
    match &parts.row_offsets {
        Some(offsets) => out.numbers("row_offsets", offsets)?,
        None => out.put("row_offsets", savvy::NullSexp)?,
    }
    match &rows.deviations {
        Some(deviations) => out.matrix("deviations", deviations)?,
        None => out.put("deviations", savvy::NullSexp)?,
    }
    out.text("method", convergence.method.name())?;
    out.text("reason", &convergence.reason)?;
    out.text("stop", convergence.stop.name())?;
    out.number("iterations", convergence.trace.last().map_or(0.0, |last| last.iteration as f64))?;
    out.number("cost", convergence.cost)?;
    out.number("rmse", convergence.rmse)?;
    out.flag("converged", convergence.converged())?;
    let apart = convergence.starts.filter(|starts| !starts.agree()).map(|starts| starts.to_string());
    out.text("apart", &apart.unwrap_or_default())?;
    out.put("model", record::to_list(&call, &model)?)?;
    out.done()
}

/// Scores, values and standard deviations of new rows.
#[savvy]
fn kh_incomplete_rows(call: ListSexp, model: ListSexp, data: ListSexp) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let model: IncompleteModel = record::from_list(&call, &model)?;
    let given = Given::read(&data)?;
    let x = given.source()?;
    let rows = run(&call, cost(&*x, model.n_components()), |run| {
        let entries = Observed::from_source_with(&*x, run)?;
        let (found, covariances) = model.rows_with_covariances(&entries, run)?;
        values_of(&model, found, model.score_covariances().map(|_| &covariances), run)
    })?;
    let mut out = Fields::new(3)?;
    out.matrix("scores", &rows.scores)?;
    out.matrix("values", &rows.values)?;
    match &rows.deviations {
        Some(deviations) => out.matrix("deviations", deviations)?,
        None => out.put("deviations", savvy::NullSexp)?,
    }
    out.done()
}

/// The number of standard deviations on both sides of a prediction that make an interval of a level.
#[savvy]
fn kh_interval_factor(call: ListSexp, model: ListSexp, level: f64) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let model: IncompleteModel = record::from_list(&call, &model)?;
    let factor = run(&call, 0.0, |_| model.interval_factor(level))?;
    savvy::OwnedRealSexp::try_from_slice([factor])?.into()
}

/// Values and standard deviations of rows with these scores.
fn values_of(
    model: &IncompleteModel,
    found: RowScores,
    covariances: Option<&Covariances>,
    run: &Run<'_>,
) -> Result<Rows> {
    let shape = (found.scores.n_rows(), model.n_features());
    let mut values = Matrix::try_zeros("a filled table", shape.0, shape.1)?;
    model.values_into(&found, values.as_mut_slice(), run)?;
    let deviations = match covariances {
        Some(covariances) if model.parts().loading_covariances.is_some() => {
            let mut out = Matrix::try_zeros("standard deviations", shape.0, shape.1)?;
            model.deviations_into((&found.scores, covariances), true, out.as_mut_slice(), run)?;
            Some(out)
        }
        _ => None,
    };
    Ok(Rows { scores: found.scores, values, deviations })
}

/// Multiplications of one pass over the entries.
fn cost(x: &dyn Source<f64>, k: usize) -> f64 {
    x.n_stored() as f64 * ((k + 1) * (k + 1)) as f64
}
