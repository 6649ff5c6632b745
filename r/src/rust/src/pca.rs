//! Principal component analysis.

use karhunen::pca::Transform;
use karhunen::{Pca, PcaModel, Result, Source, Weights};
use savvy::{ListSexp, RealSexp, Sexp, savvy};

use crate::call::Call;
use crate::data::Given;
use crate::results::{Fields, engine_matrix};
use crate::run::run;
use crate::{options, record};

/// Fits components, and keeps those whose standard deviation exceeds `tol` times the first, if it is given.
#[savvy]
fn kh_fit_pca(
    call: ListSexp,
    data: ListSexp,
    options: ListSexp,
    weights: Option<RealSexp>,
    column_weights: Option<RealSexp>,
    tol: Option<f64>,
) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let pca: Pca = options::read(&call, &options)?;
    let given = Given::read(&data)?;
    let x = given.source()?;
    let weights = Weights {
        samples: weights.as_ref().map(RealSexp::as_slice),
        features: column_weights.as_ref().map(RealSexp::as_slice),
    };
    let model = run(&call, fit_cost(&*x), |run| {
        let model = pca.fit_with(&*x, &weights, run)?;
        leading(model, tol)
    })?;
    let (parts, convergence) = (model.parts(), model.convergence());
    let mut out = Fields::new(19)?;
    out.numbers("variance", model.explained_variance())?;
    out.matrix("rotation", &model.components().transposed())?;
    out.numbers("center", model.mean())?;
    out.numbers("scale", model.scale())?;
    out.numbers("share", model.explained_variance_ratio())?;
    out.number("total_variance", model.total_variance())?;
    out.number("noise_variance", model.noise_variance())?;
    out.number("sum_of_weights", model.sum_of_weights())?;
    out.number("n", model.n_samples() as f64)?;
    out.numbers("singular_values", &parts.singular_values)?;
    out.text("solver", convergence.solver.name())?;
    out.text("reason", &convergence.reason)?;
    out.number("n_passes", convergence.n_passes as f64)?;
    out.numbers("residuals", &convergence.residuals)?;
    out.number("tol", convergence.tol)?;
    out.flag("converged", convergence.converged())?;
    out.text("advice", &call.advice(convergence.advice.as_ref()))?;
    let note = weights.samples.and_then(|samples| pca.weighting.note(samples));
    out.text("note", &note.map_or_else(String::new, |note| note.text_for(&call)))?;
    out.put("model", record::to_list(&call, &model)?)?;
    out.done()
}

/// The model of the components whose standard deviation exceeds `tol` times the first, at least one.
fn leading(model: PcaModel, tol: Option<f64>) -> Result<PcaModel> {
    let Some(tol) = tol else { return Ok(model) };
    let variances = model.explained_variance();
    let least = variances.first().map_or(0.0, |first| first.sqrt() * tol);
    let k = variances.iter().filter(|variance| variance.sqrt() > least).count().max(1);
    if k < variances.len() { model.leading(k) } else { Ok(model) }
}

/// Scores of rows, shape (n, k).
#[savvy]
fn kh_pca_scores(call: ListSexp, model: ListSexp, data: ListSexp) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let model: PcaModel = record::from_list(&call, &model)?;
    let given = Given::read(&data)?;
    let x = given.source()?;
    let cost = x.n_stored() as f64 * model.n_components() as f64;
    let scores = run(&call, cost, |run| model.transform_with(&*x, Transform::default(), run))?;
    crate::results::r_matrix(&scores)?.into()
}

/// Rows from scores, shape (n, p).
#[savvy]
fn kh_pca_rows(call: ListSexp, model: ListSexp, scores: ListSexp) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let model: PcaModel = record::from_list(&call, &model)?;
    let scores = engine_matrix(&scores)?;
    let cost = scores.as_slice().len() as f64 * model.n_features() as f64;
    let rows = run(&call, cost, |run| model.inverse_transform_with(&scores, Transform::default(), run))?;
    crate::results::r_matrix(&rows)?.into()
}

/// Approximate number of multiplications of a fit: a product with the transpose and its decomposition.
fn fit_cost(x: &dyn Source<f64>) -> f64 {
    let (n, p) = x.shape();
    let small = n.min(p) as f64;
    (x.n_stored() as f64 + small * small) * small
}
