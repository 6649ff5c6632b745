//! Intervals by the bootstrap and the jackknife.

use std::sync::Arc;

use karhunen::resampling::{Bootstrap, Estimates, Intervals, Jackknife, Replicates};
use karhunen::{Matrix, Pca, Weights};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{LentVector, copy_matrix, give_matrix, lend_vector};
use crate::diagnostics::named;
use crate::dtype::{Data, job};
use crate::model::Model;
use crate::model_class::ModelClass;
use crate::observer::{Effort, run};
use crate::options::Options;

/// Estimates, standard errors, bias, lower and upper ends.
type Ends<'py> = [Bound<'py, PyAny>; 5];
/// The model of the data; variances and shares, shape (n_draws, n_components); loadings, shape (n_draws, n_features *
/// n_components).
type Kept<'py> = (Bound<'py, Model>, [Bound<'py, PyAny>; 3]);
/// Of variances (1, n_components), their shares (1, n_components) and loadings (n_features, n_components); and the draws, if
/// they are kept.
type Found<'py> = ([Ends<'py>; 3], Option<Kept<'py>>);

#[pyfunction]
#[pyo3(signature = (x, options, n_draws, groups, level, alignment, seed, keep, sample_weight=None, feature_weight=None, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Python's function")]
pub(crate) fn bootstrap<'py>(
    py: Python<'py>,
    x: Data,
    options: &Bound<'_, PyDict>,
    n_draws: usize,
    groups: Option<Vec<usize>>,
    level: f64,
    alignment: &str,
    seed: u64,
    keep: bool,
    sample_weight: Option<&Bound<'_, PyAny>>,
    feature_weight: Option<&Bound<'_, PyAny>>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Found<'py>> {
    let Options { engine: pca, n_threads }: Options<Pca> = Options::read(options)?;
    let effort = Effort::new(x.fit_cost() * n_draws as f64, n_threads);
    let alignment = named("alignment", alignment)?;
    let how = How::Bootstrap(Bootstrap {
        pca,
        n_draws,
        groups,
        level,
        alignment,
        seed,
        keep,
        ..Bootstrap::default()
    });
    resample(py, (x, how), effort, (sample_weight, feature_weight), on_progress)
}

#[pyfunction]
#[pyo3(signature = (x, options, n_groups, groups, level, alignment, seed, sample_weight=None, feature_weight=None, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Python's function")]
pub(crate) fn jackknife<'py>(
    py: Python<'py>,
    x: Data,
    options: &Bound<'_, PyDict>,
    n_groups: Option<usize>,
    groups: Option<Vec<usize>>,
    level: f64,
    alignment: &str,
    seed: u64,
    sample_weight: Option<&Bound<'_, PyAny>>,
    feature_weight: Option<&Bound<'_, PyAny>>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Found<'py>> {
    let Options { engine: pca, n_threads }: Options<Pca> = Options::read(options)?;
    let n_fits = n_groups.unwrap_or(x.shape().0);
    let effort = Effort::new(x.fit_cost() * n_fits as f64, n_threads);
    let alignment = named("alignment", alignment)?;
    let how =
        How::Jackknife(Jackknife { pca, n_groups, groups, level, alignment, seed, ..Jackknife::default() });
    resample(py, (x, how), effort, (sample_weight, feature_weight), on_progress)
}

fn resample<'py>(
    py: Python<'py>,
    (x, how): (Data, How),
    effort: Effort,
    (samples, features): (Option<&Bound<'_, PyAny>>, Option<&Bound<'_, PyAny>>),
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Found<'py>> {
    let [samples, features] = [samples, features].map(|weights| weights.map(lend_vector));
    let job = job! {
        how: How,
        samples: Option<LentVector<f64>> = samples.transpose()?,
        features: Option<LentVector<f64>> = features.transpose()?,
        |x, run| -> Intervals {
            let weights = Weights {
                samples: samples.as_ref().map(LentVector::as_slice),
                features: features.as_ref().map(LentVector::as_slice),
            };
            match how {
                How::Bootstrap(bootstrap) => bootstrap.run(x, &weights, run),
                How::Jackknife(jackknife) => jackknife.run(x, &weights, run),
            }
        }
    };
    let Intervals { variances, ratios, loadings, replicates, .. } =
        run(py, effort, on_progress, move |run| x.run(job, run))?;
    let kept = replicates.map(|found| {
        let Replicates { model, variances, ratios, loadings } = found;
        let arrays = [give_matrix(py, variances)?, give_matrix(py, ratios)?, give_matrix(py, loadings)?];
        Ok::<_, PyErr>((Bound::new(py, Model::wrap(model, None))?, arrays))
    });
    Ok(([ends(py, variances)?, ends(py, ratios)?, ends(py, loadings)?], kept.transpose()?))
}

fn ends(py: Python<'_>, found: Estimates) -> PyResult<Ends<'_>> {
    let Estimates { estimate, standard_error, bias, lower, upper, .. } = found;
    Ok([
        give_matrix(py, estimate)?,
        give_matrix(py, standard_error)?,
        give_matrix(py, bias)?,
        give_matrix(py, lower)?,
        give_matrix(py, upper)?,
    ])
}

enum How {
    Bootstrap(Bootstrap),
    Jackknife(Jackknife),
}

/// Scores of rows on the aligned components of every draw, shape (n_draws, n_rows * n_components).
#[pyfunction]
#[pyo3(signature = (model, loadings, x, n_threads=None))]
pub(crate) fn scores_of_draws<'py>(
    py: Python<'py>,
    model: &Bound<'_, Model>,
    loadings: &Bound<'_, PyAny>,
    x: Data,
    n_threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (model, loadings) = (Arc::clone(&model.get().model), copy_matrix(loadings)?);
    let effort = Effort::new(x.product_cost(loadings.n_rows() * model.n_components()), n_threads);
    let none = || Matrix::zeros(0, 0);
    let replicates = Replicates { model: (*model).clone(), variances: none(), ratios: none(), loadings };
    give_matrix(
        py,
        run(py, effort, None, move |run| {
            x.run(
                job! {
                    replicates: Replicates,
                    |x, run| -> Matrix {
                        replicates.scores(x, run)
                    }
                },
                run,
            )
        })?,
    )
}
