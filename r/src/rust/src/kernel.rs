//! Kernel principal component analysis.

use karhunen::pca::Transform;
use karhunen::{KernelModel, KernelPca, Weights};
use savvy::{ListSexp, RealSexp, Sexp, savvy};

use crate::call::Call;
use crate::data::Given;
use crate::results::{Fields, engine_matrix, r_matrix};
use crate::run::run;
use crate::{options, record};

/// Fits components in the feature space of a kernel.
#[savvy]
fn kh_fit_kernel(
    call: ListSexp,
    data: ListSexp,
    options: ListSexp,
    weights: Option<RealSexp>,
) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let pca: KernelPca = options::read(&call, &options)?;
    let given = Given::read(&data)?;
    let x = given.source()?;
    let weights = Weights { samples: weights.as_ref().map(RealSexp::as_slice), features: None };
    let (n, _) = x.shape();
    let (model, scores) = run(&call, (x.n_stored() + n) as f64 * n as f64, |run| {
        let model = pca.fit_with(&*x, &weights, run)?;
        let scores = model.transform_with(&*x, Transform::default(), run)?;
        Ok((model, scores))
    })?;
    let convergence = model.convergence();
    let mut out = Fields::new(12)?;
    out.numbers("eigenvalues", model.eigenvalues())?;
    out.numbers("share", &model.explained_variance_ratio())?;
    out.matrix("x", &scores)?;
    out.number("n", model.n_samples() as f64)?;
    out.number("gamma", gamma_of(&model))?;
    out.text("solver", convergence.solver.name())?;
    out.text("reason", &convergence.reason)?;
    out.numbers("residuals", &convergence.residuals)?;
    out.number("tol", convergence.tol)?;
    out.flag("converged", convergence.converged())?;
    out.text("advice", &call.advice(convergence.advice().as_ref()))?;
    out.put("model", record::to_list(&call, &model)?)?;
    out.done()
}

/// The coefficient of the kernel; NaN if it has none.
fn gamma_of(model: &KernelModel) -> f64 {
    match model.kernel().gamma() {
        Some(karhunen::kernel::Gamma::Value(gamma)) => gamma,
        _ => f64::NAN,
    }
}

/// Scores of rows, shape (n, k).
#[savvy]
fn kh_kernel_scores(call: ListSexp, model: ListSexp, data: ListSexp) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let model: KernelModel = record::from_list(&call, &model)?;
    let given = Given::read(&data)?;
    let x = given.source()?;
    let cost = x.n_stored() as f64 * model.n_samples() as f64;
    let scores = run(&call, cost, |run| model.transform_with(&*x, Transform::default(), run))?;
    r_matrix(&scores)?.into()
}

/// Rows from scores, shape (n, p), of a model that was fitted with pre-images.
#[savvy]
fn kh_kernel_rows(call: ListSexp, model: ListSexp, scores: ListSexp) -> savvy::Result<Sexp> {
    let call = Call::read(&call)?;
    let model: KernelModel = record::from_list(&call, &model)?;
    let scores = engine_matrix(&scores)?;
    let cost = (scores.n_rows() * model.n_samples() * model.n_features()) as f64;
    let rows = run(&call, cost, |run| model.inverse_transform_with(&scores, Transform::default(), run))?;
    r_matrix(&rows)?.into()
}
