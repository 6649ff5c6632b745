//! Parallel analysis of complete data.

use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::linalg::{Dense, Matrix};
use crate::pca::{NComponents, Pca, Scaling};
use crate::scalar::Scalar;
use crate::selection::Selection;
use crate::selection::parallel::options::{Null, Parallel};
use crate::selection::parallel::tables::{TableRows, Tables, values};
use crate::source::{Passes, Source};
use crate::weights::{NormalizedWeights, Weights};

/// Fits `x` and the random tables.
pub(super) fn select<T: Scalar>(
    rule: &Parallel,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    run: &Run<'_>,
) -> Result<Selection> {
    rule.check()?;
    if x.passes() == Passes::Once {
        return Err(Error::OnePass {
            work: "parallel analysis".to_owned(),
            way_out: "give data that can be read again, such as a file or an array",
        });
    }
    let (n, p) = x.shape();
    let model = rule.pca.fit_with(x, weights, run)?;
    let NormalizedWeights { totals, .. } = NormalizedWeights::new(weights.samples, n)?;
    // The variances that can differ from zero.
    let n_counting = weights.samples.map_or(n, |weights| weights.iter().filter(|w| **w > 0.0).count());
    let rank =
        totals.all_components(rule.pca.weighting, (n, usize::MAX)).min(n_counting).saturating_sub(1).min(p);
    let mut variances = model.explained_variance().to_vec();
    variances.truncate(rank);
    if variances.is_empty() || model.total_variance() == 0.0 {
        return Ok(Selection::not_applicable(rule.rule(), "the data have no variance"));
    }
    let rows = TableRows::new(weights.samples, (&totals, rule.pca.weighting), rule.n_observations);
    let tables = match rule.null {
        Null::Permutation => Tables::permuted(rule.seed, &rows, values(x)?),
        Null::Normal => Tables::normal(rule.seed, &rows, x, (weights.samples, rule.pca.weighting), run)?,
    };
    // A table of fewer rows than the data has fewer variances.
    variances.truncate(rows.n.saturating_sub(1).max(1));
    let k = variances.len();
    let scale = match &rule.pca.scale {
        // Random values have other ranges and means than the columns.
        Scaling::Range | Scaling::Binomial => Scaling::Given(model.scale().to_vec()),
        scale => scale.clone(),
    };
    let divisors = rows.divisors(&totals, rule.pca.weighting);
    let n_components = NComponents::Count(k);
    let pca = Pca { n_components, scale, ..rule.pca.clone() };
    let of_tables = variances_of_tables(rule, k, run, |draw, out| {
        let table = tables.table(draw)?;
        let weights = Weights { samples: rows.weights.as_deref(), features: weights.features };
        let alone = Run { n_threads: Some(1), ..Run::default() };
        let model = pca.fit_with(&Dense::from(&table), &weights, &alone)?;
        out.iter_mut().zip(model.explained_variance()).for_each(|(out, variance)| *out = variance * divisors);
        Ok(())
    })?;
    compared(rule, variances, &of_tables)
}

/// The variances of all random tables, shape (n_draws, k): `fit` writes the variances of one table.
pub(super) fn variances_of_tables(
    rule: &Parallel,
    k: usize,
    run: &Run<'_>,
    fit: impl Fn(u64, &mut [f64]) -> Result<()> + Sync,
) -> Result<Matrix> {
    let mut variances = Matrix::try_zeros("the variances of all random tables", rule.n_draws, k)?;
    Exec::run(run, |exec| {
        exec.phase("parallel analysis").fill(variances.as_mut_slice(), k, |draw, out| fit(draw as u64, out))
    })?;
    Ok(variances)
}

/// Compares variances of the data with the variances of the random tables, shape (n_draws, k).
pub(super) fn compared(rule: &Parallel, variances: Vec<f64>, of_tables: &Matrix) -> Result<Selection> {
    let k = variances.len();
    let of_component = |c: usize| (0..rule.n_draws).map(|draw| of_tables[(draw, c)]).collect();
    let thresholds = (0..k).map(|c| rule.level.of(of_component(c))).collect();
    Selection::compared(rule.rule(), "variance", (variances, thresholds), k)
}
