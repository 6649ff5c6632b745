//! Cross-validation of a complete table for `select`.

use karhunen::incomplete::{CrossValidation, MeanMode, Method};
use karhunen::selection::{Selection, cross_validation, cross_validation_one_error};
use karhunen::{IncompletePca, Observed, Run, Scalar, Source, Weighting, Weights};
use karhunen_io::Values;

use crate::args::given::set;
use crate::args::select::SelectDataArgs;
use crate::error::{Failure, Result};

/// Predicts held-out entries by their expectation under probabilistic PCA, which has the components of PCA on complete
/// data. Least squares would extrapolate from rows that keep few entries.
const METHOD: Method = Method::Ppca;

/// The largest number of components that is compared without `-k`.
const MOST: usize = 10;

/// A resolved cross-validation.
pub(crate) struct Folds {
    grid: CrossValidation,
    pca: IncompletePca,
}

impl Folds {
    /// Resolves the arguments for a table of this shape; `None` without cross-validation.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that cross-validation has no use for.
    pub(crate) fn resolve<T>(
        args: &SelectDataArgs,
        values: &Values<T>,
        (n_samples, n_features): (usize, usize),
    ) -> Result<Option<Self>> {
        let SelectDataArgs { complete, folds, parallel, .. } = args;
        if !folds.cross_validate {
            if parallel.no_parallel && parallel.seed.is_some() {
                let none =
                    "--seed has no effect with --no-parallel and without --cross-validate; leave it out";
                return Err(Failure::Usage(none.to_owned()));
            }
            return Ok(None);
        }
        let scale = complete.scale.clone().unwrap_or_default();
        for (flag, given) in
            [("--center-values", &complete.center_values), ("--scale-values", &complete.scale_values)]
        {
            if given.is_some() {
                return Err(Failure::Usage(format!(
                    "{flag} does not go with --cross-validate, whose fits take means and deviations of their own \
                     entries; leave one out"
                )));
            }
        }
        if matches!(values, Values::Sparse(_)) {
            let advice = "--cross-validate takes dense tables: an entry that is not stored would count as missing, and not as \
                          zero; leave it out, or convert the table";
            return Err(Failure::Usage(advice.to_owned()));
        }
        let possible = n_samples.min(n_features).saturating_sub(1).max(1);
        let most = args.n_components.map_or(MOST, usize::from).min(possible);
        let mut grid = CrossValidation { n_components: (1..=most).collect(), ..CrossValidation::default() };
        set(&mut grid.n_folds, folds.folds);
        let mean = if complete.no_center { MeanMode::None } else { MeanMode::Joint };
        let mut pca = IncompletePca { method: METHOD, scale, mean, ..IncompletePca::default() };
        set(&mut pca.seed, parallel.seed);
        Ok(Some(Self { grid, pca }))
    }

    /// The choices of the two rules.
    ///
    /// # Errors
    /// Same errors as [`CrossValidation::run`].
    pub(crate) fn select<T: Scalar>(
        &self,
        source: &dyn Source<T>,
        (weights, weighting): (&Weights<'_>, Weighting),
        run: &Run<'_>,
    ) -> karhunen::Result<[Selection; 2]> {
        let mut entries = Observed::from_source_with(source, run)?;
        if let Some(samples) = weights.samples {
            // Counts of rows. Other weights have any unit.
            let unit = match weighting {
                Weighting::Frequency => 1.0,
                _ => samples.len() as f64 / samples.iter().sum::<f64>(),
            };
            let counts: Vec<f64> = samples.iter().map(|weight| weight * unit).collect();
            entries = entries.with_sample_weights(&counts)?;
        }
        if let Some(features) = weights.features {
            entries = entries.with_feature_weights(features)?;
        }
        let table = self.grid.run(&self.pca, &entries, run)?;
        Ok([cross_validation(&table), cross_validation_one_error(&table)])
    }
}
