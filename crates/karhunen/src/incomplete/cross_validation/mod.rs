//! Cross-validation over entries, for the number of components and the penalty.

mod squares;
mod table;

pub use table::{CrossValidated, CrossValidationTable, FeatureErrors};

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, Result, options};
use crate::exec::{Exec, Flow, Observer, Run};
use crate::growth::More;
use crate::incomplete::cross_validation::squares::{ColumnSums, Sums, columns_of, means, squares};
use crate::incomplete::data::{ColumnScales, HOLDING_OUT, Observed};
use crate::incomplete::fit::checkpoint::FitContext;
use crate::incomplete::fit::left_out::Division;
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
    /// Candidate numbers of components; taken from the options if empty.
    pub n_components: Vec<usize>,
    /// Candidate penalties; taken from the options if empty.
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

/// Number of components and penalty.
type Candidate = (usize, Option<Regularization>);

fn apply(pca: &IncompletePca, (n_components, regularization): Candidate) -> IncompletePca {
    IncompletePca { n_components, regularization, ..pca.clone() }
}

impl CrossValidation {
    /// Fits every choice to the complement of every fold, several fits in parallel, each on one thread: the errors
    /// have the same bits for any number of threads. Every fit starts from the seed of `pca`, which also
    /// determines the folds. One more fit of every choice is to all entries, for its R². Scales and means of a fit are those
    /// of the entries that it is fitted to. Memory: a copy of the entries per thread, and a number per choice, fold and
    /// column, at most one per choice and entry.
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
        if let Some(division) = Division::of_weights(data) {
            let found = self.run(pca, &division.data(data, run)?, run);
            return found.map_err(|error| division.of_all_rows(error));
        }
        let choices = self.grid(pca);
        for choice in &choices {
            apply(pca, *choice).check_all(data, None)?;
        }
        if self.n_folds < 2 {
            return Err(self.refuse("at least two folds are needed"));
        }
        data.check_folds(self.n_folds)?;
        if let Some(largest) = choices.iter().max_by_key(|choice| choice.0) {
            let fits =
                run.expected_threads().min(choices.len().saturating_mul(self.n_folds.saturating_add(1)));
            let largest = without_error_bars(&apply(pca, *largest));
            largest.ask(data, fits, &Run::threads(1))?;
        }
        let scales = ColumnScales::of(data, &pca.scale, pca.mean != MeanMode::None, run)?;
        let sums = self.sums(pca, (data, &scales), run)?;
        let (squares, n_apart) = self.squares(pca, &choices, (data, &scales, &sums), run)?;
        let of = |choice, squares: &[&[f64]]| CrossValidated::new(choice, &sums, squares, &scales);
        let of_choices = squares.chunks_exact(sums.n_values()).map(|squares| sums.parts(squares));
        let choices = choices
            .into_iter()
            .zip(of_choices)
            .zip(n_apart)
            .map(|((choice, parts), n_apart)| CrossValidated { n_apart, ..of(choice, &parts) })
            .collect();
        let of_means: Vec<&[f64]> = sums.parts.iter().map(|part| &part.of_means[..]).collect();
        Ok(CrossValidationTable::new(choices, of((0, None), &of_means)))
    }

    /// Sums over the held-out entries of each fold, and over all entries.
    fn sums<T: Scalar>(
        &self,
        pca: &IncompletePca,
        (data, scales): (&Observed<T>, &ColumnScales),
        run: &Run<'_>,
    ) -> Result<Sums> {
        let mut parts = self.reserved::<ColumnSums>(Some(self.n_folds + 1))?;
        parts.resize_with(self.n_folds + 1, ColumnSums::default);
        let means_of = |entries: &Observed<T>| means(entries, pca.mean);
        let of_all = means_of(data);
        Exec::run(run, |exec| {
            exec.phase(HOLDING_OUT).fill(&mut parts, 1, |fold, part| {
                part[0] = if fold == self.n_folds {
                    let columns = (0..data.n_features() as u32).collect();
                    ColumnSums::of((data, columns), [&of_all, &of_all], scales)?
                } else {
                    let (kept, held_out) = data.fold(fold, self.n_folds, pca.seed, &Exec::sequential())?;
                    let columns = columns_of(&held_out);
                    ColumnSums::of((&held_out, columns), [&of_all, &means_of(&kept)], scales)?
                };
                Ok(())
            })
        })?;
        Ok(Sums { parts })
    }

    /// Squared errors of every choice, fold and column with held-out entries of the fold, and of all entries as fitted to all:
    /// [`Sums::n_values`] for each choice; and the number of fits of each choice whose starts ended apart.
    fn squares<T: Scalar>(
        &self,
        pca: &IncompletePca,
        choices: &[Candidate],
        (data, scales, sums): (&Observed<T>, &ColumnScales, &Sums),
        run: &Run<'_>,
    ) -> Result<(Vec<f64>, Vec<usize>)> {
        let n_apart: Vec<AtomicUsize> = choices.iter().map(|_| AtomicUsize::new(0)).collect();
        let n_values = sums.n_values().checked_mul(choices.len());
        let mut squares = self.reserved(n_values)?;
        squares.resize(n_values.unwrap_or(0), 0.0);
        let mut jobs = Vec::with_capacity(choices.len() * sums.parts.len());
        let of_choices = squares.chunks_exact_mut(sums.n_values()).zip(&n_apart);
        for (choice, (squares, n_apart)) in choices.iter().zip(of_choices) {
            let mut rest = squares;
            for (fold, part) in sums.parts.iter().enumerate() {
                let (out, after) = rest.split_at_mut(part.columns.len());
                jobs.push((apply(pca, *choice), fold, out, n_apart));
                rest = after;
            }
        }
        // The largest fits start first, so that the last to end are short.
        jobs.reverse();
        let (done, n_jobs) = (AtomicUsize::new(0), jobs.len());
        Exec::run(run, |exec| {
            let watch = Watch { observer: run.observer, done: &done, n_jobs };
            exec.phase(PHASE).each(jobs.into_iter(), |_, (pca, fold, out, n_apart)| {
                let job = (fold, &sums.parts[fold].columns[..], out);
                if !self.predict(&pca, (data, scales), job, &watch)? {
                    n_apart.fetch_add(1, Ordering::Relaxed);
                }
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        })?;
        Ok((squares, n_apart.into_iter().map(AtomicUsize::into_inner).collect()))
    }

    /// Writes the squared errors of a fold by column, after a fit to the other entries; for the last fold, of all entries.
    /// Returns false if the starts of the fit ended apart.
    fn predict<T: Scalar>(
        &self,
        pca: &IncompletePca,
        (data, scales): (&Observed<T>, &ColumnScales),
        (fold, columns, out): (usize, &[u32], &mut [f64]),
        watch: &Watch<'_>,
    ) -> Result<bool> {
        let pca = without_error_bars(pca);
        let run = Run { n_threads: Some(1), observer: watch, ..Run::default() };
        let predicted = |fitted: &Observed<T>, entries: &Observed<T>| {
            let model = pca.fit_scaled(fitted, &FitContext::default(), &run)?;
            let found =
                squares(entries, columns, scales, |row, column| Ok(model.predict(row, column)?.value))?;
            Ok((found, model.convergence().starts.is_none_or(|starts| starts.agree())))
        };
        let (found, agree): (Vec<f64>, bool) = if fold == self.n_folds {
            predicted(data, data)?
        } else {
            let (kept, held_out) = data.fold(fold, self.n_folds, pca.seed, &Exec::sequential())?;
            predicted(&kept, &held_out)?
        };
        out.copy_from_slice(&found);
        Ok(agree)
    }

    /// An empty vector with room for `n` values; `None` is more than can be counted.
    fn reserved<U>(&self, n: Option<usize>) -> Result<Vec<U>> {
        let mut values = Vec::new();
        match n.map(|n| memory::reserve(&mut values, n)) {
            Some(Ok(())) => Ok(values),
            _ => Err(self
                .refuse("the errors of all folds of all choices do not fit in memory; ask for fewer folds")),
        }
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

/// The options of fits that predict without standard deviations and intervals.
fn without_error_bars(pca: &IncompletePca) -> IncompletePca {
    IncompletePca { error_bars: false, conformal: None, ..pca.clone() }
}
