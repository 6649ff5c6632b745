//! Cross-validation over entries, for the number of components and the penalty.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result, options};
use crate::exec::{Exec, Flow, Observer, Run};
use crate::growth::More;
use crate::incomplete::data::{ColumnScales, Observed};
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::fit::left_out::Division;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::options::{IncompletePca, MeanMode, Regularization};
use crate::memory;
use crate::scalar::{Scalar, compiled};

/// A grid of options to compare by held-out error, in random folds of equal size. Entries alone in their row or
/// column belong to no fold, and a fold does not hold out the last entry of a row or column.
///
/// ```
/// use karhunen::incomplete::{CrossValidation, Method};
/// use karhunen::{Dense, IncompletePca, Observed, Run};
/// // Rank one and a little noise.
/// let x: Vec<f64> = (0..240)
///     .map(|e| if e % 7 == 3 { f64::NAN } else { ((e / 6) % 9) as f64 * (e % 6) as f64 + 0.01 * (e * e * e % 101) as f64 })
///     .collect();
/// let data = Observed::from_dense(&Dense::row_major(&x, 40, 6)?)?;
/// let grid = CrossValidation { n_components: vec![1, 2, 3], ..CrossValidation::default() };
/// let table = grid.run(&IncompletePca::default(), &data, &Run::default())?;
/// let model = table.simplest().options(&IncompletePca::default()).fit(&data)?;
/// assert_eq!(model.n_components(), 1);
/// # Ok::<(), karhunen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct CrossValidation {
    /// Number of folds, at most the number of entries that can be held out.
    pub n_folds: usize,
    /// Candidate numbers of components; that of the options if empty.
    pub n_components: Vec<usize>,
    /// Candidate penalties; those of the options if empty.
    pub regularization: Vec<Regularization>,
    #[doc(hidden)]
    #[cfg_attr(feature = "serde", serde(skip))]
    pub more: More,
}

impl Default for CrossValidation {
    fn default() -> Self {
        Self { n_folds: 5, n_components: Vec::new(), regularization: Vec::new(), more: More }
    }
}

/// Result of cross-validation for one choice of options.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CrossValidated {
    /// The number of components.
    pub n_components: usize,
    /// The penalty; `None` for the default of the method.
    pub regularization: Option<Regularization>,
    /// Root mean squared error of each held-out fold.
    pub errors: Vec<f64>,
    /// Mean of the errors.
    pub mean: f64,
    /// Standard error of the mean: standard deviation of the errors over the square root of their number.
    pub standard_error: f64,
}

impl CrossValidated {
    fn new((n_components, regularization): Candidate, errors: Vec<f64>) -> Self {
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        let standard_error = (squares / (n - 1.0) / n).sqrt();
        Self { n_components, regularization, errors, mean, standard_error }
    }

    /// `pca` with these options.
    #[must_use]
    pub fn options(&self, pca: &IncompletePca) -> IncompletePca {
        apply(pca, (self.n_components, self.regularization))
    }

    /// Fewer components are simpler, then larger penalties.
    fn complexity(&self) -> (usize, f64) {
        let shrinkage = match self.regularization {
            Some(Regularization::Ridge(lambda) | Regularization::Weighted(lambda)) => lambda,
            _ => 0.0,
        };
        (self.n_components, -shrinkage)
    }
}

/// The errors of all choices, in the order of the grid: components first, penalties within.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CrossValidationTable {
    /// Never empty.
    choices: Vec<CrossValidated>,
}

impl CrossValidationTable {
    /// Every choice.
    pub fn choices(&self) -> &[CrossValidated] {
        &self.choices
    }

    /// The choice with the lowest mean error; NaN is the worst error.
    pub fn best(&self) -> &CrossValidated {
        let first = &self.choices[0];
        let is_better = |other: &CrossValidated, best: &CrossValidated| {
            other.mean < best.mean || best.mean.is_nan() && !other.mean.is_nan()
        };
        self.choices[1..].iter().fold(first, |best, other| if is_better(other, best) { other } else { best })
    }

    /// The simplest choice whose mean error is within one standard error of the lowest: fewest components, then the
    /// largest penalty.
    pub fn simplest(&self) -> &CrossValidated {
        let best = self.best();
        let bound = best.mean + best.standard_error;
        self.choices.iter().filter(|choice| choice.mean <= bound).fold(best, |simplest, other| {
            let ((c, shrinkage), (other_c, other_shrinkage)) = (simplest.complexity(), other.complexity());
            if (other_c, other_shrinkage) < (c, shrinkage) { other } else { simplest }
        })
    }
}

/// Number of components and penalty.
type Candidate = (usize, Option<Regularization>);

fn apply(pca: &IncompletePca, (n_components, regularization): Candidate) -> IncompletePca {
    IncompletePca { n_components, regularization, ..pca.clone() }
}

impl CrossValidation {
    /// Fits every choice to the complement of every fold, several fits in parallel, each on one thread: the errors
    /// have the same bits for any number of threads. Every fit starts from the seed of `pca`, which also
    /// determines the folds. Memory: a copy of the entries per thread.
    ///
    /// # Errors
    /// As [`IncompletePca::fit`] for every choice; [`Error::Option`] for fewer than two folds; [`Error::Folds`]
    /// for more folds than entries that can be held out; [`Error::Stopped`] if the observer cancels.
    pub fn run<T: Scalar>(
        &self,
        pca: &IncompletePca,
        data: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<CrossValidationTable> {
        let errors = compiled!(T, CrossValidation::errors_of::<T>
            => fn(&CrossValidation, &IncompletePca, &Observed<T>, &Run<'_>) -> Result<CrossValidationTable>);
        errors(self, pca, data, run)
    }

    fn errors_of<T: Scalar>(
        &self,
        pca: &IncompletePca,
        data: &Observed<T>,
        run: &Run<'_>,
    ) -> Result<CrossValidationTable> {
        if let Some(division) = Division::of(data) {
            return self.run(pca, &division.data(data, run)?, run);
        }
        let choices = self.grid(pca);
        for choice in &choices {
            apply(pca, *choice).check_all(data, None)?;
        }
        if self.n_folds < 2 {
            return Err(self.refuse("at least two folds are needed"));
        }
        data.check_folds(self.n_folds)?;
        let mut errors = self.allocate_errors(choices.len())?;
        if let Some(largest) = choices.iter().max_by_key(|choice| choice.0) {
            let fits = run.expected_threads().min(errors.len());
            let largest = IncompletePca { error_bars: false, ..apply(pca, *largest) };
            largest.ask(data, fits, &Run::threads(1))?;
        }
        let scales = ColumnScales::of(data, pca.scale, pca.mean != MeanMode::None, run)?;
        let done = AtomicUsize::new(0);
        let n_jobs = errors.len();
        Exec::run(run, |exec| {
            let exec = exec.phase(PHASE);
            let watch = Watch { observer: run.observer, done: &done, n_jobs };
            // The largest fits start first, so that the last to end are short.
            exec.fill(&mut errors, 1, |job, error| {
                let (choice, fold) = (choices[choices.len() - 1 - job / self.n_folds], job % self.n_folds);
                error[0] = self.error_of(&apply(pca, choice), (data, &scales), fold, &watch)?;
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        })?;
        let of_choices = errors.chunks_exact(self.n_folds).rev().map(<[f64]>::to_vec);
        let choices = choices.into_iter().zip(of_choices).map(|(c, errors)| CrossValidated::new(c, errors));
        Ok(CrossValidationTable { choices: choices.collect() })
    }

    /// The held-out error of a fold, after a fit to the other entries.
    fn error_of<T: Scalar>(
        &self,
        pca: &IncompletePca,
        (data, scales): (&Observed<T>, &ColumnScales),
        fold: usize,
        watch: &Watch<'_>,
    ) -> Result<f64> {
        let (kept, held_out) = data.fold(fold, self.n_folds, pca.seed, &Exec::sequential())?;
        let pca = IncompletePca { error_bars: false, ..pca.clone() };
        let run = Run { n_threads: Some(1), observer: watch, ..Run::default() };
        error(&pca.fit_scaled(&kept, &FitContext::default(), &run)?, &held_out, scales)
    }

    /// Allocates an error per choice and fold.
    fn allocate_errors(&self, n_choices: usize) -> Result<Vec<f64>> {
        let too_many = || {
            self.refuse("the errors of all folds of all choices do not fit in memory; ask for fewer folds")
        };
        let n = n_choices.checked_mul(self.n_folds).ok_or_else(too_many)?;
        let mut errors = Vec::new();
        memory::reserve(&mut errors, n).map_err(|_| too_many())?;
        errors.resize(n, 0.0);
        Ok(errors)
    }

    fn grid(&self, pca: &IncompletePca) -> Vec<Candidate> {
        let components =
            if self.n_components.is_empty() { &[pca.n_components] } else { &self.n_components[..] };
        let given: Vec<Option<Regularization>> = self.regularization.iter().map(|r| Some(*r)).collect();
        let penalties = if given.is_empty() { vec![pca.regularization] } else { given };
        components.iter().flat_map(|c| penalties.iter().map(|r| (*c, *r))).collect()
    }

    fn refuse(&self, rule: &'static str) -> Error {
        Error::option(options::N_FOLDS, self.n_folds, rule)
    }
}

/// Root mean squared error of predictions in the units of `scales`, weighted by entry weights and multiplicities. The scales
/// are those of all entries: a column may be constant in the entries of one fold.
fn error<T: Scalar>(model: &IncompleteModel, held_out: &Observed<T>, scales: &ColumnScales) -> Result<f64> {
    let (mut squares, mut total) = (0.0, 0.0);
    for row in 0..held_out.n_samples() {
        let line = held_out.rows().line(row);
        let multiplicity = held_out.multiplicity().map_or(1.0, |multiplicity| multiplicity[row]);
        for (e, (column, value)) in line.indices.iter().zip(line.values).enumerate() {
            let weight = multiplicity * line.weights.map_or(1.0, |w| w[e].to_f64());
            let column = *column as usize;
            let away = scales.factor(column) * (model.predict(row, column)?.value - value.to_f64());
            squares += weight * away * away;
            total += weight;
        }
    }
    Ok((squares / total).sqrt())
}

const PHASE: &str = "cross-validation";

/// Observer of a fit that forwards cancellation and reports the number of finished fits.
struct Watch<'a> {
    observer: &'a dyn Observer,
    done: &'a AtomicUsize,
    n_jobs: usize,
}

impl Observer for Watch<'_> {
    fn update(&self, _: &'static str, _: f64) -> Flow {
        self.observer.update(PHASE, self.done.load(Ordering::Relaxed) as f64 / self.n_jobs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_is_no_number_is_the_worst() {
        let choice = |c, mean| {
            let errors = vec![mean, mean];
            CrossValidated { n_components: c, regularization: None, errors, mean, standard_error: 0.0 }
        };
        for means in [[f64::NAN, 2.0, 1.0], [1.0, f64::NAN, 2.0], [f64::NAN, f64::INFINITY, 1.0]] {
            let choices = means.iter().enumerate().map(|(c, mean)| choice(c, *mean)).collect();
            let table = CrossValidationTable { choices };
            assert_eq!((table.best().mean, table.simplest().mean), (1.0, 1.0), "{means:?}");
        }
    }
}
