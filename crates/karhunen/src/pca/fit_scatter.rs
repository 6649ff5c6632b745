//! Fits from sums over the rows: of data that were read before, and of data that can be read once.

use super::convergence::Input;
use super::factors::{check_factors, factors_of_varying};
use super::limit::Allowance;
use super::plan::{iteration, problem_of_sums, tolerance};
use super::solved::Solved;
use super::{Pca, PcaModel};
use crate::affine::{Affine, Standardization};
use crate::choice::Choice;
use crate::error::{Advice, Error, Result, Weighed, options};
use crate::exec::{Exec, Run};
use crate::linalg::{ColumnMap, Matrix};
use crate::moments::{Columns, Moments, Scatter};
use crate::scalar::Scalar;
use crate::scaling::Scales;
use crate::solver::{self, Route, Spectrum};
use crate::source::{Counted, Source, Stream};
use crate::weights::{Weights, check_feature_weights};

/// Properties of the data of a scatter that the model records.
pub(super) struct Origin {
    pub(super) reason: &'static str,
    pub(super) n_passes: usize,
    pub(super) dtype: &'static str,
    pub(super) tol: f64,
}

pub(crate) fn fit_scatter(
    pca: &Pca,
    scatter: &Scatter,
    feature_weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    let moments = &scatter.moments;
    pca.refuse_range("moments hold no ranges: fit the rows, or give the ranges as scales")?;
    scatter.check_shape()?;
    let shape = (moments.n_samples, moments.mean.len());
    pca.check(shape)?;
    if let Some(other) = pca.solver.filter(|&route| route != Route::Covariance) {
        let rule =
            "moments hold the covariance matrix, not the data: leave the solver out, or use covariance";
        return Err(Error::option(options::SOLVER, other.value(), rule));
    }
    check_feature_weights(feature_weights, shape.1)?;
    // No more rows are held than there are columns.
    ask(&Allowance::in_memory(pca), pca, (shape.0.min(shape.1), shape.1), run)?;
    let (reason, dtype, tol) = ("fitted from moments", f64::NAME, tolerance::<f64>(pca));
    Exec::run(run, |exec| {
        model(pca, scatter.clone(), feature_weights, Origin { reason, n_passes: 0, dtype, tol }, exec)
    })
}

/// The sums of `x` that [`fit_scatter`] takes, within the memory limit.
pub(super) fn scatter_of<T: Scalar>(
    pca: &Pca,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<Scatter> {
    check_one_pass(pca)?;
    ask(&Allowance::of(pca, x.pass(), &|factor| x.memory_within(factor).held), pca, x.shape(), run)?;
    let x = &Counted::new(x).observed(run.observer, Some(1));
    Exec::run(run, |exec| Scatter::within(x, weights, &exec.phase("covariance")))
}

/// Fits rows that can be read once, by the covariance route from their scatter.
pub(super) fn fit_once<T: Scalar>(
    pca: &Pca,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    check_one_pass(pca)?;
    ask(&Allowance::of(pca, x.pass(), &|factor| x.memory_within(factor).held), pca, x.shape(), run)?;
    let x = &Counted::new(x).observed(run.observer, Some(1));
    Exec::run(run, |exec| {
        let scatter = Scatter::within(x, weights.samples, &exec.phase("covariance"))?;
        let (reason, n_passes) = ("the data can be read once", x.n_visits());
        let origin = Origin { reason, n_passes, dtype: T::NAME, tol: tolerance::<T>(pca) };
        model(pca, scatter, weights.features, origin, exec)
    })
}

/// Fits a stream of rows and their weights.
pub(super) fn fit_stream<T: Scalar>(
    pca: &Pca,
    rows: &mut (dyn Stream<T> + Send),
    feature_weights: Option<&[f64]>,
    run: &Run<'_>,
) -> Result<PcaModel> {
    check_one_pass(pca)?;
    let p = rows.n_features();
    // The number of rows is unknown before the end.
    match pca.n_components.given() {
        Some(k) if k > p => {
            let rule = format!("there are {p} columns, and no more components than columns");
            return Err(Error::option(options::N_COMPONENTS, k, rule));
        }
        _ if p > 0 => pca.check((usize::MAX, p))?,
        _ => {}
    }
    check_feature_weights(feature_weights, p)?;
    // The number of rows is unknown; as many as there are columns give the largest estimate.
    ask(&Allowance::in_memory(pca), pca, (p, p), run)?;
    Exec::run(run, |exec| {
        let scatter = Scatter::of_stream_within(rows, &exec.phase("covariance"))?;
        pca.check((scatter.moments.n_samples, p))?;
        let (reason, dtype, tol) = ("the data can be read once", T::NAME, tolerance::<T>(pca));
        model(pca, scatter, feature_weights, Origin { reason, n_passes: 1, dtype, tol }, exec)
    })
}

/// Refuses the routes that read the data again.
fn check_one_pass(pca: &Pca) -> Result<()> {
    pca.refuse_range(
        "ranges take a pass of their own, and sums of rows hold none: give the ranges as scales",
    )?;
    match pca.solver.filter(|&route| route != Route::Covariance) {
        None => Ok(()),
        Some(route) => Err(Error::OnePass {
            work: format!("the {route} route"),
            way_out: "leave the solver out or use covariance, which takes one pass, or give data that can be read again, such as a \
                      file or an array",
        }),
    }
}

/// Checks that memory suffices for the covariance route, the only one that moments allow.
pub(super) fn ask(allowance: &Allowance<'_>, pca: &Pca, shape: (usize, usize), run: &Run<'_>) -> Result<()> {
    let need = problem_of_sums(pca, shape).need(Route::Covariance, run.expected_threads());
    let advice = || {
        vec![
            "fit the data themselves by another route".into(),
            "take fewer columns".into(),
            Advice::RaiseLimit,
        ]
    };
    allowance.ask_for("the covariance route", need, advice)
}

/// Computes the standardization, the spectrum and the model.
pub(super) fn model(
    pca: &Pca,
    scatter: Scatter,
    feature_weights: Option<&[f64]>,
    Origin { reason, n_passes, dtype, tol }: Origin,
    exec: &Exec<'_>,
) -> Result<PcaModel> {
    let moments = &scatter.moments;
    let (n_samples, p) = (moments.n_samples, moments.mean.len());
    if moments.weight == 0.0 {
        return Err(Error::WeightsAllZero { of: Weighed::Samples, n: n_samples });
    }
    let totals = moments.totals();
    let correction = totals.correction(pca.weighting)?;
    let columns = Columns::of_moments(moments);
    let scales = Scales::new(&pca.scale, correction, None);
    let affine = Affine::new(&columns, Standardization { center: &pca.center, scales, feature_weights })?;
    check_factors(&affine.factor)?;
    let wanted = pca.n_components.wanted(n_samples.min(p), affine.total_variance);
    let factor = factors_of_varying(pca, &columns, &affine);
    let covariance = scatter.into_covariance(ColumnMap { factor: &factor, ..affine.map() });
    let spectrum = solver::solve_matrix(&covariance, wanted, &iteration(pca, tol), exec)?;
    let (route, reason, cancelled, input) = (Route::Covariance, reason.to_owned(), 0.0, Input::Parts);
    Solved { route, reason, tol, n_passes, spectrum, cancelled, input, affine, totals, n_samples, dtype }
        .model(pca, feature_weights, exec)
}

/// Leading eigenpairs of the population covariance of mapped rows.
pub(crate) struct SpectrumParts {
    /// Population variances, descending.
    pub(crate) variances: Vec<f64>,
    /// Orthonormal rows, shape (k, p).
    pub(crate) components: Matrix,
    /// Residuals relative to the largest variance.
    pub(crate) residuals: Vec<f64>,
    /// The text that the model gives as the reason for its route.
    pub(crate) reason: String,
}

/// The model of rows with these moments. The columns were divided by `scale`, if it is given.
///
/// # Errors
/// Errors of the weights; [`Error::Overflow`] for a variance beyond f64.
pub(crate) fn model_of_spectrum(
    pca: &Pca,
    moments: &Moments,
    scale: Option<&[f64]>,
    SpectrumParts { variances: values, components, residuals, reason }: SpectrumParts,
    exec: &Exec<'_>,
) -> Result<PcaModel> {
    if moments.weight == 0.0 {
        return Err(Error::WeightsAllZero { of: Weighed::Samples, n: moments.n_samples });
    }
    let scales = scale.map_or(Scales::Unit, Scales::Given);
    let standardization = Standardization { center: &pca.center, scales, feature_weights: None };
    let affine = Affine::new(&Columns::of_moments(moments), standardization)?;
    Solved {
        route: Route::Gram,
        reason,
        tol: tolerance::<f64>(pca),
        n_passes: 1,
        spectrum: Spectrum { values, components, residuals, others: None },
        cancelled: 0.0,
        input: Input::Sketch,
        affine,
        totals: moments.totals(),
        n_samples: moments.n_samples,
        dtype: f64::NAME,
    }
    .model(pca, None, exec)
}
