//! Limits for new rows with missing values, by rows of the fit that are left out of it.

use super::{SpeScale, incomplete_samples};
use crate::diagnostics::left_out::MORE_ROWS;
use crate::error::{Error, Result};
use crate::exec::{Exec, Run};
use crate::incomplete::{FitContext, IncompleteModel, IncompletePca, Observed};
use crate::scalar::{Scalar, compiled};

/// Fits without a part of the rows.
const N_FOLDS: usize = 20;
/// Numbers of a row that is left out.
const WIDTH: usize = 6;

/// What limits for T² and for the squared prediction error of new rows with missing values follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IncompleteNewRows {
    /// Factor of the limit for T², above zero and at most one: the mean of T² of rows left out over that of its distribution
    /// for normal rows and variances that do not follow the rows of the fit. One with at most `k + 20` observations.
    pub t2_factor: f64,
    /// The scale of the squared prediction errors.
    pub spe: SpeScale,
}

impl IncompleteNewRows {
    /// From all rows of a fit, with their weights as multiplicities: twenty fits with its method and options, from one start each,
    /// leave out every twentieth row in turn, and T² and errors are of the rows left out.
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
    let weight = |row: usize| data.sample_weights().map_or(1.0, |weights| weights[row]);
    let counts = |row: &usize| weight(*row) > 0.0 && data.n_observed_in_row(*row) > 0;
    let rows: Vec<usize> = (0..data.n_samples()).filter(counts).collect();
    let by_leverage = || {
        let found = incomplete_samples(model, data, run)?;
        let spe = SpeScale::of_left_out(model, &found, data.sample_weights())?;
        Ok(IncompleteNewRows { t2_factor: 1.0, spe })
    };
    let of_features = model.parts().scales.weights.as_deref().filter(|_| data.feature_weights().is_none());
    let data = &match of_features {
        Some(weights) => data.clone().with_feature_weights(weights)?,
        None => data.clone(),
    };
    let n_folds = N_FOLDS.min(rows.len());
    if !data.has_few_rows() || n_folds < 2 {
        return by_leverage();
    }
    let options = IncompletePca {
        method: model.convergence().method,
        n_starts: Some(1),
        conformal: None,
        ..model.parts().options.clone()
    };
    let width = WIDTH * rows.len().div_ceil(n_folds);
    let mut found = vec![f64::NAN; n_folds * width];
    let alone = Run { n_threads: Some(1), ..Run::default() };
    let fits = Exec::run(run, |exec| {
        exec.phase("fits without rows").fill(&mut found, width, |fold, out| {
            let (left, kept): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|at| at % n_folds == fold);
            let of = |places: &[usize]| {
                let names: Vec<usize> = places.iter().map(|at| rows[*at]).collect();
                data.select(&names, &Exec::sequential())
            };
            let kept = of(&kept)?;
            let fit = options.fit_with(&kept, &FitContext::default(), &alone)?;
            let of_left = incomplete_samples(&fit, &of(&left)?, &alone)?;
            let n = fit.row_totals().samples;
            for (i, (out, at)) in out.chunks_exact_mut(WIDTH).zip(left).enumerate() {
                let degrees = of_left.t2_degrees[i] as f64;
                // The mean of the distribution of `t2_limit` for the rows that are kept.
                let expected = degrees * (n * n - 1.0) / (n * (n - degrees - 2.0));
                out.copy_from_slice(&[
                    weight(rows[at]),
                    of_left.t2[i],
                    expected,
                    of_left.spe[i],
                    of_left.spe_degrees[i] as f64,
                    of_left.distance2[i],
                ]);
            }
            Ok(())
        })
    });
    match fits {
        Ok(()) => {}
        Err(error @ Error::Stopped { .. }) => return Err(error),
        Err(_) => return by_leverage(),
    }
    let found: Vec<&[f64]> = found.chunks_exact(WIDTH).filter(|row| !row[0].is_nan()).collect();
    let column = |at: usize| -> Vec<f64> { found.iter().map(|row| row[at]).collect() };
    let sum = |at: usize| -> f64 { found.iter().map(|row| row[0] * row[at]).sum() };
    let k = model.explained_variance().iter().filter(|variance| **variance > 0.0).count() as f64;
    let is_certain = model.row_totals().samples > k + MORE_ROWS && sum(2) > 0.0 && sum(1) > 0.0;
    let degrees: Vec<usize> = column(4).iter().map(|degrees| *degrees as usize).collect();
    let spe = SpeScale::of_rows_left_out(&column(3), (&degrees, &column(5)), Some(&column(0)))?;
    Ok(IncompleteNewRows { t2_factor: if is_certain { (sum(1) / sum(2)).min(1.0) } else { 1.0 }, spe })
}

impl IncompleteModel {
    /// The model that keeps what limits for new rows follow from.
    #[must_use]
    pub fn with_new_rows(self, new_rows: IncompleteNewRows) -> Self {
        self.keeping(Some(new_rows.t2_factor), new_rows.spe)
    }
}
