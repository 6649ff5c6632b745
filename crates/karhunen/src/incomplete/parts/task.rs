//! The tasks of a fit for the entries of a part, and their results.

use crate::error::{Error, Result};
use crate::exec::{Accumulate, Exec, Run};
use crate::incomplete::data::{ENTRIES, Observed, Typed};
use crate::incomplete::factors::objective::Diagonal;
use crate::incomplete::factors::{FactorSide, Factors};
use crate::incomplete::fit::error_bars::inverses;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::feature_noise::NoiseSums;
use crate::incomplete::parts::{ColumnEntries, NormalSums, NormalTask, PosteriorSums, PosteriorTask};
use crate::incomplete::updates::precision::Precision;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;
use crate::scalar::{Scalar, is_single};
use crate::source::Source;

/// The computation for the entries of every part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EntryTask {
    /// Counts, means and squares of each feature.
    Columns,
    /// Normal equations of the loadings.
    Normal(NormalTask),
    /// The effective number of scores.
    Trace(TraceTask),
    /// Posteriors of the scores.
    Posterior(PosteriorTask),
    /// Residuals and leverages.
    Noise(NoiseTask),
}

/// Sums over the entries of some parts, which merge.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum EntrySums {
    Columns(ColumnEntries),
    Normal(NormalSums),
    Trace(f64),
    Posterior(PosteriorSums),
    Noise(NoiseSums),
}

/// Penalty `d |s|^2` of the scores of a row, with `d` a number or a multiple of the number of its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct ScorePenalty {
    pub(crate) size: f64,
    pub(crate) per_entry: bool,
}

impl ScorePenalty {
    /// The penalties of the rows of `data`.
    pub(crate) fn of_rows<T: Scalar>(self, data: &Observed<T>) -> Diagonal {
        if self.per_entry {
            Diagonal::ByRow((0..data.n_samples()).map(|i| self.size * data.rows().weight(i)).collect())
        } else {
            Diagonal::Same(self.size)
        }
    }
}

/// The trace of `G (G + P)^-1`, summed over rows, with `G` the products of the loadings of the entries of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TraceTask {
    /// Shape (n_features, c).
    pub(crate) loadings: Matrix,
    /// `P`.
    pub(crate) precision: Precision,
    /// True if the entries of all parts are of single precision.
    pub(crate) single: bool,
    /// As of [`NormalTask`].
    pub(crate) factors: Option<Vec<f64>>,
}

/// The sums of residuals and leverages under a model in the units of the fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NoiseTask {
    pub(crate) model: Box<IncompleteModel>,
    /// True if the entries of all parts are of single precision.
    pub(crate) single: bool,
    /// As of [`NormalTask`].
    pub(crate) factors: Option<Vec<f64>>,
}

impl EntryTask {
    /// Refuses another number of features than the task has.
    fn check_features(&self, found: usize) -> Result<()> {
        match self.n_features() {
            Some(expected) if expected != found => {
                Err(Error::Shape { what: "the part", axis: "columns", found, expected })
            }
            _ => Ok(()),
        }
    }

    /// Number of features, if the task holds loadings.
    fn n_features(&self) -> Option<usize> {
        match self {
            Self::Columns => None,
            Self::Normal(task) => Some(task.loadings.n_rows()),
            Self::Trace(task) => Some(task.loadings.n_rows()),
            Self::Posterior(task) => Some(task.table.n_rows()),
            Self::Noise(task) => Some(task.model.n_features()),
        }
    }

    /// The factors of the entries, if the task has any.
    fn factors(&self) -> Option<&[f64]> {
        match self {
            Self::Columns => None,
            Self::Normal(NormalTask { factors, .. })
            | Self::Trace(TraceTask { factors, .. })
            | Self::Posterior(PosteriorTask { factors, .. })
            | Self::Noise(NoiseTask { factors, .. }) => factors.as_deref(),
        }
    }

    /// The result for rows that do not count.
    fn none(&self, (n_rows, p): (usize, usize)) -> EntrySums {
        match self {
            Self::Columns => EntrySums::Columns(ColumnEntries { n_rows, ..ColumnEntries::empty(p) }),
            Self::Normal(task) => EntrySums::Normal(NormalSums::empty(p, task.loadings.n_cols() - 1)),
            Self::Trace(_) => EntrySums::Trace(0.0),
            Self::Posterior(task) => EntrySums::Posterior(PosteriorSums::empty(p, task.n_components())),
            Self::Noise(_) => EntrySums::Noise(NoiseSums::empty(p)),
        }
    }
}

impl EntrySums {
    /// The result of a task for the rows of a part. Rows of weight zero do not count.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of columns than the task has; [`Error::NonFinite`] for infinite values;
    /// [`Error::Overflow`] for a variance beyond f64.
    pub(crate) fn of<T: Scalar>(
        task: &EntryTask,
        x: &dyn Source<T>,
        weights: Option<&[f64]>,
        run: &Run<'_>,
    ) -> Result<Self> {
        let (n, p) = x.shape();
        task.check_features(p)?;
        let counting: Vec<usize> =
            (0..n).filter(|row| weights.is_none_or(|weights| weights[*row] > 0.0)).collect();
        // Rows that do not count are read too: their values must be finite.
        let mut data = Observed::from_source_with(x, run)?;
        if counting.is_empty() {
            return Ok(task.none((n, p)));
        }
        Exec::run(run, |exec| {
            if counting.len() < n {
                data = data.select(&counting, &exec.phase(ENTRIES))?;
            }
            let weights = weights.map(|weights| counting.iter().map(|row| weights[*row]).collect());
            let sums = Self::of_observed(task, &data.with_multiplicity(weights), exec)?;
            Ok(match sums {
                Self::Columns(sums) => Self::Columns(ColumnEntries { n_rows: n, ..sums }),
                sums => sums,
            })
        })
    }

    /// The result of a task for observed entries.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Overflow`] as of [`EntrySums::of`].
    pub(crate) fn of_observed<T: Scalar>(
        task: &EntryTask,
        data: &Observed<T>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        task.check_features(data.n_features())?;
        match task {
            EntryTask::Columns => {
                let sums = ColumnEntries::of(data, &exec.phase("means and variances"))?;
                sums.check()?;
                Ok(Self::Columns(sums))
            }
            // Loadings have the type of all parts.
            EntryTask::Normal(NormalTask { single, .. })
            | EntryTask::Trace(TraceTask { single, .. })
            | EntryTask::Posterior(PosteriorTask { single, .. })
            | EntryTask::Noise(NoiseTask { single, .. })
                if is_single::<T>() && !single =>
            {
                Self::of_entries(task, &data.widened(), exec)
            }
            _ => Self::of_entries(task, data, exec),
        }
    }

    /// The sums of a task that holds loadings.
    fn of_entries<T: Scalar>(task: &EntryTask, data: &Observed<T>, exec: &Exec<'_>) -> Result<Self> {
        let multiplied = match task.factors() {
            Some(factors) => Some(data.multiplied(factors, &exec.phase(ENTRIES))?),
            None => None,
        };
        let data = multiplied.as_ref().unwrap_or(data);
        // As in memory, rows without entries take no part.
        let seen: Vec<usize> = (0..data.n_samples()).filter(|row| data.n_observed_in_row(*row) > 0).collect();
        let without_empty = (seen.len() < data.n_samples()).then(|| data.without_empty_rows(&seen));
        match without_empty.as_ref().unwrap_or(data).typed() {
            Typed::F32(data) => Self::of_typed(task, data, exec),
            Typed::F64(data) => Self::of_typed(task, data, exec),
        }
    }

    fn of_typed<T: Lane>(task: &EntryTask, data: &Observed<T>, exec: &Exec<'_>) -> Result<Self> {
        match task {
            EntryTask::Columns => unreachable!("a task without loadings"),
            EntryTask::Normal(task) => NormalSums::of(data, task, exec).map(Self::Normal),
            EntryTask::Posterior(task) => PosteriorSums::of(data, task, exec).map(Self::Posterior),
            EntryTask::Noise(task) => NoiseSums::of(&task.model, data, exec).map(Self::Noise),
            EntryTask::Trace(TraceTask { loadings, precision, .. }) => {
                let scores = Matrix::zeros(data.n_samples(), loadings.n_cols());
                let factors = Factors::<T>::new(loadings, &scores, &vec![0.0; loadings.n_rows()]);
                let exec = exec.phase("error bars");
                let (_, trace) =
                    inverses(data.rows(), &factors, FactorSide::Scores, (precision, &[]), &exec)?;
                Ok(Self::Trace(trace))
            }
        }
    }

    /// Adds the sums over other rows.
    ///
    /// # Errors
    /// [`Error::Parts`] for the result of another task; [`Error::Overflow`] for a variance beyond f64.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<()> {
        match (self, other) {
            (Self::Columns(sums), Self::Columns(other)) => {
                sums.merge(other);
                sums.check()?;
            }
            (Self::Normal(sums), Self::Normal(other)) if sums.n_components() == other.n_components() => {
                sums.merge(other);
            }
            (Self::Trace(sum), Self::Trace(other)) => *sum += other,
            (Self::Noise(sums), Self::Noise(other)) => sums.merge(other),
            (Self::Posterior(sums), Self::Posterior(other))
                if sums.n_components() == other.n_components() =>
            {
                sums.merge(other);
            }
            _ => return Err(Error::Parts { problem: "results of different kinds were merged".to_owned() }),
        }
        Ok(())
    }
}
