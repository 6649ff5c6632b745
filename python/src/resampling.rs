//! Intervals by the bootstrap.

use karhunen::resampling::{Alignment, Bootstrap, Estimates, Intervals};
use karhunen::{Pca, Result, Run, Source, Weights};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Lent, give_matrix, lend_vector};
use crate::diagnostics::named;
use crate::dtype::{Data, Element, Job};
use crate::observer::{Effort, run};
use crate::options::Options;

/// Estimates, standard errors, lower and upper ends.
type Ends<'py> = [Bound<'py, PyAny>; 4];

/// Intervals of variances (1, n_components), their shares (1, n_components) and loadings (n_features, n_components).
#[pyfunction]
#[pyo3(signature = (x, options, n_draws, level, alignment, seed, sample_weight=None, feature_weight=None, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Python's function")]
pub(crate) fn bootstrap<'py>(
    py: Python<'py>,
    x: Data,
    options: &Bound<'_, PyDict>,
    n_draws: usize,
    level: f64,
    alignment: &str,
    seed: u64,
    sample_weight: Option<&Bound<'_, PyAny>>,
    feature_weight: Option<&Bound<'_, PyAny>>,
    on_progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<[Ends<'py>; 3]> {
    let Options { engine: pca, n_threads }: Options<Pca> = Options::read(options)?;
    let effort = Effort::new(x.fit_cost() * n_draws as f64, n_threads);
    let alignment: Alignment = named("alignment", alignment)?;
    let bootstrap = Bootstrap { pca, n_draws, level, alignment, seed, ..Bootstrap::default() };
    let [samples, features] = [sample_weight, feature_weight].map(|weights| weights.map(lend_vector));
    let job = Resample { bootstrap, samples: samples.transpose()?, features: features.transpose()? };
    let Intervals { variances, ratios, loadings, .. } =
        run(py, effort, on_progress, move |run| x.run(job, run))?;
    Ok([ends(py, variances)?, ends(py, ratios)?, ends(py, loadings)?])
}

fn ends(py: Python<'_>, found: Estimates) -> PyResult<Ends<'_>> {
    let Estimates { estimate, standard_error, lower, upper } = found;
    Ok([
        give_matrix(py, estimate)?,
        give_matrix(py, standard_error)?,
        give_matrix(py, lower)?,
        give_matrix(py, upper)?,
    ])
}

struct Resample {
    bootstrap: Bootstrap,
    samples: Option<Lent<f64>>,
    features: Option<Lent<f64>>,
}

impl Job for Resample {
    type Output = Intervals;
    fn run<T: Element>(self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Intervals> {
        let weights = Weights {
            samples: self.samples.as_ref().map(Lent::as_slice),
            features: self.features.as_ref().map(Lent::as_slice),
        };
        self.bootstrap.run(x, &weights, run)
    }
}
