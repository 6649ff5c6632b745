//! Limits for new rows with missing values, by rows of the fit that are left out of it.

use super::{SpeScale, incomplete_samples};
use crate::diagnostics::left_out::MORE_ROWS;
use crate::error::{ErrorKind, Result};
use crate::exec::{Exec, Run};
use crate::incomplete::{FitContext, IncompleteModel, IncompletePca, Observed};
use crate::scalar::{Scalar, compiled};

/// Fits without a part of the rows.
const N_FOLDS: usize = 20;

/// Numbers that give the limits for T² and for the squared prediction error of new rows with missing values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncompleteNewRows {
    /// Factor of the limit for T², above zero: the mean of T² of rows left out over the mean of its distribution for
    /// normal rows and variances that do not follow the rows of the fit. Methods that do not know the errors of their
    /// scores have larger T² of few new rows, and a factor above one. One with at most `k + 20` observations.
    pub t2_factor: f64,
    /// The scale of the squared prediction errors.
    pub spe: SpeScale,
}

impl IncompleteNewRows {
    /// From all rows of a fit, with their weights as multiplicities: twenty fits with its method and options, from one start each,
    /// leave out every twentieth row in turn, with all its observations, and T² and errors are of the rows left out.
    ///
    /// Large tables (1,000 rows and 100,000 entries or more), and tables of which a part cannot be fitted, such as with a column
    /// that is observed in one fold alone, have the factor one and the scale by [`SpeScale::of_left_out`].
    ///
    /// # Errors
    /// As [`IncompletePca::fit_with`] and [`incomplete_samples`].
    pub fn of<T: Scalar>(model: &IncompleteModel, data: &Observed<T>, run: &Run<'_>) -> Result<Self> {
        compiled!(T, of_rows::<T> => fn(&IncompleteModel, &Observed<T>, &Run<'_>) -> Result<IncompleteNewRows>)(
            model, data, run,
        )
    }
}

fn of_rows<T: Scalar>(
    model: &IncompleteModel,
    data: &Observed<T>,
    run: &Run<'_>,
) -> Result<IncompleteNewRows> {
    let found = match left_out(model, data, run) {
        Ok(found) if !found.is_empty() => found,
        Err(error) if !matches!(error.kind(), ErrorKind::Argument | ErrorKind::Data) => return Err(error),
        Ok(_) | Err(_) => {
            let found = incomplete_samples(model, data, run)?;
            let spe = SpeScale::of_left_out(model, &found, data.sample_weights())?;
            return Ok(IncompleteNewRows { t2_factor: 1.0, spe });
        }
    };
    let column = |of: fn(&LeftOut) -> f64| -> Vec<f64> { found.iter().map(of).collect() };
    let sum = |of: fn(&LeftOut) -> f64| -> f64 { found.iter().map(|row| row.weight * of(row)).sum() };
    let (t2, expected) = (sum(|row| row.t2), sum(|row| row.expected));
    let k = model.explained_variance().iter().filter(|variance| **variance > 0.0).count() as f64;
    let is_certain = model.row_totals().samples > k + MORE_ROWS && expected > 0.0 && t2 > 0.0;
    let degrees: Vec<usize> = found.iter().map(|row| row.spe_degrees).collect();
    let (spe, distance2, weights) =
        (column(|row| row.spe), column(|row| row.distance2), column(|row| row.weight));
    let spe = SpeScale::of_rows_left_out(&spe, (&degrees, &distance2), Some(&weights))?;
    Ok(IncompleteNewRows { t2_factor: if is_certain { t2 / expected } else { 1.0 }, spe })
}

/// A row under the fit of other rows.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    /// Its multiplicity; zero where there is no row.
    weight: f64,
    t2: f64,
    /// The mean of the distribution of [`t2_limit`](crate::diagnostics::t2_limit) for its degrees of freedom.
    expected: f64,
    spe: f64,
    spe_degrees: usize,
    distance2: f64,
}

/// The rows under fits without them; none of a large table, and of a single row.
fn left_out<T: Scalar>(model: &IncompleteModel, data: &Observed<T>, run: &Run<'_>) -> Result<Vec<LeftOut>> {
    let of_features = model.parts().scales.weights.as_deref().filter(|_| data.feature_weights().is_none());
    let data = &match of_features {
        Some(weights) => data.clone().with_feature_weights(weights)?,
        None => data.clone(),
    };
    let weight = |row: usize| data.sample_weights().map_or(1.0, |weights| weights[row]);
    let counts = |row: &usize| weight(*row) > 0.0 && data.n_observed_in_row(*row) > 0;
    let rows: Vec<usize> = (0..data.n_samples()).filter(counts).collect();
    let n_folds = N_FOLDS.min(rows.len());
    if !data.has_few_rows() || n_folds < 2 {
        return Ok(Vec::new());
    }
    let options = IncompletePca {
        method: model.convergence().method,
        n_starts: Some(1),
        conformal: None,
        ..model.parts().options.clone()
    };
    let select = |of_fold: &dyn Fn(usize) -> bool| -> Vec<usize> {
        rows.iter().enumerate().filter(|(at, _)| of_fold(at % n_folds)).map(|(_, row)| *row).collect()
    };
    let width = rows.len().div_ceil(n_folds);
    let mut found = vec![LeftOut::default(); n_folds * width];
    let alone = Run { n_threads: Some(1), ..Run::default() };
    Exec::run(run, |exec| {
        exec.phase("fits without rows").fill(&mut found, width, |fold, out| {
            let (left, kept) = (select(&|of| of == fold), select(&|of| of != fold));
            let kept = data.select(&kept, &Exec::sequential())?;
            let fit = options.fit_with(&kept, &FitContext::default(), &alone)?;
            let of_left = incomplete_samples(&fit, &data.select(&left, &Exec::sequential())?, &alone)?;
            let n = fit.row_totals().samples;
            for (i, (out, row)) in out.iter_mut().zip(left).enumerate() {
                let degrees = of_left.t2_degrees[i] as f64;
                *out = LeftOut {
                    weight: weight(row),
                    t2: of_left.t2[i],
                    expected: degrees * (n * n - 1.0) / (n * (n - degrees - 2.0)),
                    spe: of_left.spe[i],
                    spe_degrees: of_left.spe_degrees[i],
                    distance2: of_left.distance2[i],
                };
            }
            Ok(())
        })
    })?;
    found.retain(|row| row.weight > 0.0);
    Ok(found)
}

impl IncompleteModel {
    /// The model that keeps the numbers for limits of new rows.
    #[must_use]
    pub fn with_new_rows(self, new_rows: IncompleteNewRows) -> Self {
        self.keeping(Some(new_rows.t2_factor), new_rows.spe)
    }
}
