//! The calls that repeat a fit of complete data and its report.

use karhunen::pca::Centring;
use karhunen::{NComponents, Pca, PcaModel, Weighting};

use crate::Report;
use crate::calls::{Calls, Given, Step, calls};
use crate::scaling;

/// The calls on the command line and in Python.
pub(super) fn of_pca(
    report: &Report<'_>,
    model: &PcaModel,
    with_rows: bool,
    step: Option<&Step>,
) -> Vec<Calls> {
    let mut weights = String::new();
    let weighted = is_weighted(report, model);
    if weighted {
        weights.push_str(", sample_weight=weights");
    }
    if model.feature_weights().is_some() {
        weights.push_str(", feature_weight=feature_weights");
    }
    let calls = calls(
        report,
        Given::limited(with_rows),
        &fit_options(model, weighted),
        (&expression(model), &weights),
        step,
    );
    // Sums of rows, and a matrix of covariances, are not the rows of the page.
    let of_sums = model.convergence().n_passes == 0 && report.estimator.is_none();
    if of_sums { calls.into_iter().map(|calls| calls.without_fit(report)).collect() } else { calls }
}

fn fit_options(model: &PcaModel, weighted: bool) -> Vec<String> {
    let options = model.options();
    let default = Pca::default();
    let mut words = match options.n_components {
        NComponents::All => vec!["-k all".to_owned()],
        NComponents::Count(k) => vec![format!("-k {k}")],
        NComponents::Variance(share) => vec![format!("-k {share:?}")],
        // The command line has no name for this rule: the number that it found.
        NComponents::Mle => vec![format!("-k {}", model.n_components())],
    };
    let mut add = |given: bool, word: String| words.extend(given.then_some(word));
    if let Some([flag, _]) = scaling::option(&options.scale) {
        add(true, flag);
    }
    match &options.center {
        Centring::Mean => {}
        Centring::None => add(true, "--no-center".to_owned()),
        Centring::Given(_) => add(true, "--center-values CENTERS".to_owned()),
    }
    add(weighted, "--weights WEIGHTS".to_owned());
    add(options.weighting != default.weighting, format!("--weighting {}", options.weighting.name()));
    add(model.feature_weights().is_some(), "--feature-weights FEATURE_WEIGHTS".to_owned());
    if let Some(route) = options.solver {
        add(true, format!("--solver {}", route.name()));
    }
    if let Some(tol) = options.tol {
        add(true, format!("--tol {tol:e}"));
    }
    add(options.max_iter != default.max_iter, format!("--max-iter {}", options.max_iter));
    add(options.seed != default.seed, format!("--seed {}", options.seed));
    if let Some(size) = options.block_size {
        add(true, format!("--block-size {size}"));
    }
    add(options.strict, "--strict".to_owned());
    add(model.new_rows().is_some(), "--limits".to_owned());
    words
}

fn expression(model: &PcaModel) -> String {
    let options = model.options();
    let default = Pca::default();
    let mut words = match options.n_components {
        NComponents::All => Vec::new(),
        NComponents::Count(k) => vec![k.to_string()],
        NComponents::Variance(share) => vec![format!("{share:?}")],
        NComponents::Mle => vec!["\"mle\"".to_owned()],
    };
    let mut add = |given: bool, word: String| words.extend(given.then_some(word));
    match &options.center {
        Centring::Mean => {}
        Centring::None => add(true, "center=False".to_owned()),
        Centring::Given(_) => add(true, "center=centers".to_owned()),
    }
    if let Some([_, argument]) = scaling::option(&options.scale) {
        add(true, argument);
    }
    if let Some(route) = options.solver {
        add(true, format!("solver=\"{}\"", route.name()));
    }
    add(options.weighting != default.weighting, format!("weighting=\"{}\"", options.weighting.name()));
    if let Some(tol) = options.tol {
        add(true, format!("tol={tol:e}"));
    }
    add(options.max_iter != default.max_iter, format!("max_iter={}", options.max_iter));
    add(options.seed != default.seed, format!("random_state={}", options.seed));
    add(options.strict, "strict=True".to_owned());
    format!("PCA({})", words.join(", "))
}

/// Tests whether the rows of the fit had weights, which may sum to their number, or the rows of the page have.
fn is_weighted(report: &Report<'_>, model: &PcaModel) -> bool {
    report.sample_weights.is_some()
        || model.sum_of_weights() != model.n_samples() as f64
        || model.options().weighting == Weighting::Importance
}
