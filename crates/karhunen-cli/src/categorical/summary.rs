//! The summary of an MCA or FAMD as JSON, with the names of the Python classes.

use std::collections::BTreeMap;

use karhunen::Matrix;
use karhunen::categorical::{
    Analysis, CategoricalModel, CategoricalPca, CategoryResults, Corrected, Correction,
};
use serde::Serialize;

use crate::args::values::JsonExtent;
use crate::pca::summary::rows;
use crate::text::Seconds;

/// The JSON output of `fit --mca --json` and of `inspect --json` for a model of categories.
#[derive(Debug, Serialize)]
pub(crate) struct CategorySummary<'a> {
    analysis: Analysis,
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    feature_names: Vec<&'a str>,
    explained_variance: &'a [f64],
    explained_variance_ratio: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected: Option<Corrections>,
    sum_of_weights: f64,
    categories: Vec<Category>,
    variables: Vec<Figures<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    numbers: Vec<Numbers<'a>>,
    solver: &'static str,
    reason: &'a str,
    tol: f64,
    residuals: &'a [f64],
    converged: bool,
    options: &'a CategoricalPca,
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loadings: Option<Vec<Vec<f64>>>,
}

/// Corrected eigenvalues of an MCA; none if the fit left out components that a correction needs.
#[derive(Debug, Serialize)]
struct Corrections {
    eigenvalues: Option<Vec<f64>>,
    benzecri: Option<Vec<f64>>,
    greenacre: Option<Vec<f64>>,
}

/// Results of a category; null where they are not defined.
#[derive(Debug, Serialize)]
struct Category {
    name: String,
    share: f64,
    coordinates: Vec<f64>,
    contributions: Vec<f64>,
    cos2: Vec<f64>,
    v_tests: Vec<f64>,
}

/// Correlation ratios of a variable of categories.
#[derive(Debug, Serialize)]
struct Figures<'a> {
    name: &'a str,
    eta2: Vec<f64>,
}

/// Results of a column of numbers.
#[derive(Debug, Serialize)]
struct Numbers<'a> {
    name: &'a str,
    correlations: Vec<f64>,
    contributions: Vec<f64>,
}

impl<'a> CategorySummary<'a> {
    /// Summarises a model.
    pub(crate) fn new(model: &'a CategoricalModel, extent: JsonExtent) -> Self {
        let convergence = model.pca().convergence();
        let CategoryResults { coordinates, contributions, cos2, v_tests } = model.categories();
        let row = |matrix: &Matrix, i: usize| matrix.row(i).to_vec();
        let category = |(i, name): (usize, String)| Category {
            name,
            share: model.shares()[i],
            coordinates: row(&coordinates, i),
            contributions: row(&contributions, i),
            cos2: row(&cos2, i),
            v_tests: row(&v_tests, i),
        };
        let (eta2, correlations, of_numbers) =
            (model.eta2(), model.number_correlations(), model.number_contributions());
        let names = |of_categories: bool| {
            let variables = model.variables().iter();
            let kept = variables.filter(move |v| v.categories().is_some() == of_categories);
            kept.map(|variable| variable.name()).enumerate()
        };
        let variables = names(true).map(|(v, name)| Figures { name, eta2: row(&eta2, v) });
        let numbers = names(false).map(|(j, name)| Numbers {
            name,
            correlations: row(&correlations, j),
            contributions: row(&of_numbers, j),
        });
        let full = |matrix: &dyn Fn() -> Matrix| (extent == JsonExtent::Full).then(|| rows(&matrix()));
        Self {
            analysis: model.options().analysis,
            n_samples: model.n_samples(),
            n_features: model.variables().len(),
            n_components: model.n_components(),
            feature_names: model.variables().iter().map(|variable| variable.name()).collect(),
            explained_variance: model.eigenvalues(),
            explained_variance_ratio: model.ratio(),
            corrected: (model.options().analysis == Analysis::Mca).then(|| Corrections::of(model)),
            sum_of_weights: model.pca().sum_of_weights(),
            categories: model.category_names().into_iter().enumerate().map(category).collect(),
            variables: variables.collect(),
            numbers: numbers.collect(),
            solver: convergence.solver.name(),
            reason: &convergence.reason,
            tol: convergence.tol,
            residuals: &convergence.residuals,
            converged: convergence.converged(),
            options: model.options(),
            components: full(&|| model.pca().components().clone()),
            loadings: full(&|| model.pca().loadings()),
        }
    }
}

impl Corrections {
    fn of(model: &CategoricalModel) -> Self {
        let of = |correction| model.corrected_eigenvalues(correction).ok();
        let (benzecri, greenacre) = (of(Correction::Benzecri), of(Correction::Greenacre));
        let ratio = |found: Option<Corrected>| found.map(|found| found.ratio);
        let eigenvalues = benzecri.as_ref().map(|found| found.eigenvalues.clone());
        Self { eigenvalues, benzecri: ratio(benzecri), greenacre: ratio(greenacre) }
    }
}

/// The JSON output of `fit --mca --json` and `fit --famd --json`.
#[derive(Debug, Serialize)]
pub(crate) struct CategoryFitSummary<'a> {
    /// The data file.
    pub(crate) file: &'a str,
    /// Its format.
    pub(crate) format: &'a str,
    /// The model.
    #[serde(flatten)]
    pub(crate) model: CategorySummary<'a>,
    /// Choices made automatically.
    pub(crate) notes: &'a [String],
    /// The files written, by content.
    pub(crate) written: BTreeMap<&'static str, String>,
    /// Seconds of reading and fitting.
    pub(crate) seconds: Seconds,
}
