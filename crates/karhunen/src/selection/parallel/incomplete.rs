//! Parallel analysis of data with missing values.

use crate::choice::Choice;
use crate::error::{Error, Result, options};
use crate::exec::Run;
use crate::incomplete::{FitContext, IncompletePca, Method, Observed};
use crate::linalg::{Dense, Matrix};
use crate::pca::{NComponents, Scaling};
use crate::scalar::Scalar;
use crate::selection::Selection;
use crate::selection::parallel::complete::{self, compared, variances_of_tables};
use crate::selection::parallel::options::{Null, Parallel};
use crate::selection::parallel::tables::{TableRows, Tables, values};
use crate::source::Source;
use crate::weights::{NormalizedWeights, Totals, Weighting, Weights};

/// The largest number of components unless it is given: probabilistic PCA of sparse data has few.
const MOST: usize = 10;
/// Relative decrease of the cost per iteration at which fits end, and most iterations. Few are enough: if columns are
/// independent, the table of the data is one of the random tables, so that fits that end alike compare alike.
const TOL: f64 = 1e-5;
const MAX_ITER: usize = 100;

/// Fits `x`, whose missing entries are NaN, and the random tables with the same pattern.
pub(super) fn select<T: Scalar>(
    rule: &Parallel,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> Result<Selection> {
    match complete::select(rule, x, weights, run) {
        Err(Error::NonFinite { value, .. } | Error::NonFiniteUnweighted { value, .. }) if value.is_nan() => {}
        found => return found,
    }
    let table = values(x)?;
    let NormalizedWeights { totals, .. } = NormalizedWeights::new(weights.samples, table.n_rows())?;
    let rows = TableRows::new(weights.samples, (&totals, rule.pca.weighting), rule.n_observations);
    let counts_row = |i: usize| weights.samples.is_none_or(|weights| weights[i] > 0.0);
    // Columns without variance would count as directions that noise could have.
    let varying = varying(&table, counts_row);
    if varying.is_empty() {
        return Ok(Selection::not_applicable(rule.rule(), "the data have no variance"));
    }
    let features: Option<Vec<f64>> =
        weights.features.map(|weights| varying.iter().map(|j| weights[*j]).collect());
    let table = if varying.len() == table.n_cols() {
        table
    } else {
        Matrix::from_fn(table.n_rows(), varying.len(), |i, j| table[(i, varying[j])])
    };
    let (n, p) = table.shape();
    let distinct = (0..n).filter(|i| counts_row(*i)).count();
    let fit = Fit::new(rule, (rows.n.min(distinct), p), features.as_deref())?;
    let of_rows = |weights: &[f64]| counts(weights, &totals, rule.pca.weighting);
    let (of_data, of_tables) = (weights.samples.map(of_rows), rows.weights.as_deref().map(of_rows));
    let k = fit.pca.n_components;
    let mut variances = vec![0.0; k];
    let correction = totals.correction(rule.pca.weighting)?;
    fit.variances(&table, of_data.as_deref(), correction, run, &mut variances)?;
    if variances[0] <= 0.0 {
        return Ok(Selection::not_applicable(rule.rule(), "the data have no variance"));
    }
    let tables = match rule.null {
        Null::Normal => Tables::normal_with_missing(rule.seed, &rows, &table, weights.samples)?,
        Null::Permutation => Tables::permuted(rule.seed, &rows, table),
    };
    let correction = match &of_tables {
        Some(_) => correction,
        None => {
            let of_rows = NormalizedWeights::new(None, rows.n)?.totals.correction(rule.pca.weighting)?;
            of_rows * rows.divisors(&totals, rule.pca.weighting)
        }
    };
    let found = variances_of_tables(rule, k, run, |draw, out| {
        let alone = Run { n_threads: Some(1), ..Run::default() };
        fit.variances(&tables.table(draw)?, of_tables.as_deref(), correction, &alone, out)
    })?;
    compared(rule, variances, &found)
}

/// The columns with two different observed values among the rows that count.
fn varying(table: &Matrix, counts_row: impl Fn(usize) -> bool) -> Vec<usize> {
    let varies = |j: &usize| {
        let rows = (0..table.n_rows()).filter(|i| counts_row(*i));
        let mut observed = rows.map(|i| table[(i, *j)]).filter(|x| !x.is_nan());
        observed.next().is_some_and(|first| observed.any(|x| x != first))
    };
    (0..table.n_cols()).filter(varies).collect()
}

/// Weights as numbers of observations.
fn counts(weights: &[f64], totals: &Totals, weighting: Weighting) -> Vec<f64> {
    let factor = match weighting {
        Weighting::Frequency => 1.0,
        Weighting::Importance | Weighting::Population => 1.0 / totals.sum_of_squares / totals.sum,
    };
    weights.iter().map(|weight| weight * factor).collect()
}

/// The fit of a table with missing values.
struct Fit<'a> {
    pca: IncompletePca,
    features: Option<&'a [f64]>,
}

impl<'a> Fit<'a> {
    /// The options of fits to tables of this shape.
    fn new(rule: &Parallel, (n, p): (usize, usize), features: Option<&'a [f64]>) -> Result<Self> {
        let most = match rule.pca.n_components {
            NComponents::Count(k) if k > 0 => k,
            NComponents::All => MOST.min(n).min(p),
            _ => {
                return Err(Error::option(
                    options::N_COMPONENTS,
                    rule.pca.n_components.value(),
                    "parallel analysis of data with missing values takes a whole number above 0, the largest to choose",
                ));
            }
        };
        let scale = match &rule.pca.scale {
            scale @ (Scaling::None | Scaling::Deviation | Scaling::Pareto | Scaling::Given(_)) => {
                scale.clone()
            }
            // Random tables have other means and extremes than the data.
            scale @ (Scaling::Range | Scaling::Binomial) => {
                return Err(Error::option(
                    options::SCALE,
                    scale.value(),
                    "parallel analysis of data with missing values divides columns by their standard deviation, by its \
                     square root or by given numbers",
                ));
            }
        };
        // The noise has a direction of its own. Too many components are refused by the fit.
        let largest = most.min(n - 1).min(p.saturating_sub(1)).max(1);
        let pca = IncompletePca {
            method: Method::Ppca,
            scale,
            tol: TOL,
            max_iter: MAX_ITER,
            error_bars: false,
            memory_limit: rule.pca.memory_limit,
            ..IncompletePca::new(if most > n.min(p) { most } else { largest })
        };
        Ok(Self { pca, features })
    }

    /// Writes the variances along the components of a table, with the noise, as in complete data.
    fn variances(
        &self,
        table: &Matrix,
        counts: Option<&[f64]>,
        correction: f64,
        run: &Run<'_>,
        out: &mut [f64],
    ) -> Result<()> {
        let mut observed = Observed::from_dense_with(&Dense::from(table), run)?;
        if let Some(counts) = counts {
            observed = observed.with_sample_weights(counts)?;
        }
        if let Some(features) = self.features {
            observed = observed.with_feature_weights(features)?;
        }
        let model = self.pca.fit_with(&observed, &FitContext::default(), run)?;
        for (c, out) in out.iter_mut().enumerate() {
            let along = model.explained_variance().get(c).copied().unwrap_or(0.0);
            *out = (along + model.noise_variance()) * correction;
        }
        Ok(())
    }
}
