//! Tasks for entries and their results within the records in which they travel.

use crate::error::Result;
use crate::incomplete::model::IncompleteModel;
use crate::incomplete::model::feature_noise::NoiseSums;
use crate::incomplete::parts::normal_sums::n_sums;
use crate::incomplete::parts::posterior_sums::{n_in_sums, n_in_task};
use crate::incomplete::parts::{
    ColumnEntries, EntrySums, EntryTask, NoiseTask, NormalSums, NormalTask, PosteriorSums, PosteriorTask,
    ScorePenalty, TraceTask,
};
use crate::incomplete::updates::precision::Precision;
use crate::linalg::Matrix;
use crate::record::{Record, damaged};

/// The numbers of a task, as text.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TaskOfEntries {
    Columns,
    Normal { penalty: ScorePenalty, single: bool },
    Trace { per_entry: bool, single: bool },
    Posterior { single: bool },
    Noise { single: bool },
}

/// The numbers of a result, as text.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SumsOfEntries {
    Columns { n_rows: usize },
    Normal,
    Trace,
    Posterior,
    Noise,
}

impl EntryTask {
    /// Adds the arrays of the task.
    pub(crate) fn put<'a>(&'a self, record: &mut Record<'a>) -> Result<TaskOfEntries> {
        Ok(match self {
            Self::Columns => TaskOfEntries::Columns,
            Self::Normal(NormalTask { loadings, penalty, single, factors }) => {
                record.put_matrix("loadings", loadings);
                put_factors(record, factors.as_deref());
                TaskOfEntries::Normal { penalty: *penalty, single: *single }
            }
            Self::Trace(TraceTask { loadings, precision, single, factors }) => {
                let Precision { matrix, per_entry } = precision;
                record.put_matrix("loadings", loadings);
                record.put_matrix("precision", matrix);
                put_factors(record, factors.as_deref());
                TaskOfEntries::Trace { per_entry: *per_entry, single: *single }
            }
            Self::Posterior(PosteriorTask { table, penalty, noise, single, factors }) => {
                record.put_matrix("table", table);
                put_factors(record, factors.as_deref());
                record.put_row("penalty", penalty);
                record.put_scalar("noise", *noise);
                TaskOfEntries::Posterior { single: *single }
            }
            Self::Noise(NoiseTask { model, single, factors }) => {
                model.put(record)?;
                put_factors(record, factors.as_deref());
                TaskOfEntries::Noise { single: *single }
            }
        })
    }

    /// Reads the arrays of [`EntryTask::put`].
    pub(crate) fn take(record: &mut Record<'_>, numbers: TaskOfEntries) -> Result<Self> {
        let loadings = |record: &mut Record<'_>| {
            let loadings = record.take_matrix("loadings")?;
            if loadings.n_cols() == 0 {
                return Err(damaged("its loadings have no column; compute it again".to_owned()));
            }
            Ok(loadings)
        };
        Ok(match numbers {
            TaskOfEntries::Columns => Self::Columns,
            TaskOfEntries::Normal { penalty, single } => {
                let loadings = loadings(record)?;
                let factors = take_factors(record, loadings.n_rows())?;
                Self::Normal(NormalTask { loadings, penalty, single, factors })
            }
            TaskOfEntries::Posterior { single } => {
                let (table, penalty) = (record.take_matrix("table")?, record.take_any_row("penalty")?);
                if penalty.is_empty() || table.n_cols() != n_in_task(penalty.len()) {
                    return Err(damaged("its table has another shape; compute it again".to_owned()));
                }
                let noise = record.take_scalar("noise")?;
                let factors = take_factors(record, table.n_rows())?;
                Self::Posterior(PosteriorTask { table, penalty, noise, single, factors })
            }
            TaskOfEntries::Noise { single } => {
                let model = Box::new(IncompleteModel::take(record)?);
                let factors = take_factors(record, model.n_features())?;
                Self::Noise(NoiseTask { model, single, factors })
            }
            TaskOfEntries::Trace { per_entry, single } => {
                let loadings = loadings(record)?;
                let matrix = square(record.take_matrix("precision")?, loadings.n_cols())?;
                let factors = take_factors(record, loadings.n_rows())?;
                let precision = Precision { matrix, per_entry };
                Self::Trace(TraceTask { loadings, precision, single, factors })
            }
        })
    }
}

impl EntrySums {
    /// Adds the arrays of the result.
    pub(crate) fn put<'a>(&'a self, record: &mut Record<'a>) -> SumsOfEntries {
        match self {
            Self::Columns(sums) => {
                record.put_scalar("samples", sums.samples);
                record.put_scalar("multiplicity", sums.multiplicity);
                record.put_row("n_observed", &sums.n_observed);
                record.put_row("weight", &sums.weight);
                record.put_row("mean", &sums.mean);
                record.put_row("squares", &sums.squares);
                SumsOfEntries::Columns { n_rows: sums.n_rows }
            }
            Self::Normal(sums) => {
                record.put_matrix("features", &sums.features);
                record.put_matrix("scores", &sums.scores);
                record.put_matrix("scores_per_entry", &sums.scores_per_entry);
                record.put_scalar("parameters", sums.parameters);
                SumsOfEntries::Normal
            }
            Self::Trace(sum) => {
                record.put_scalar("trace", *sum);
                SumsOfEntries::Trace
            }
            Self::Posterior(sums) => {
                record.put_matrix("features", &sums.features);
                record.put_matrix("products", &sums.products);
                record.put_matrix("scores", &sums.scores);
                record.put_matrix("means", &sums.means);
                record.put_scalar("log_det", sums.log_det);
                SumsOfEntries::Posterior
            }
            Self::Noise(NoiseSums(sums)) => {
                record.put_matrix("noise", sums);
                SumsOfEntries::Noise
            }
        }
    }

    /// Reads the arrays of [`EntrySums::put`].
    pub(crate) fn take(record: &mut Record<'_>, numbers: SumsOfEntries, n_features: usize) -> Result<Self> {
        Ok(match numbers {
            SumsOfEntries::Columns { n_rows } => {
                let mut row = |name: &str| record.take_row(name, n_features);
                let (n_observed, weight) = (row("n_observed")?, row("weight")?);
                let (mean, squares) = (row("mean")?, row("squares")?);
                let samples = record.take_scalar("samples")?;
                let multiplicity = record.take_scalar("multiplicity")?;
                let of_rows = ColumnEntries { n_rows, samples, multiplicity, ..ColumnEntries::empty(0) };
                Self::Columns(ColumnEntries { n_observed, weight, mean, squares, ..of_rows })
            }
            SumsOfEntries::Normal => {
                let features = record.take_matrix("features")?;
                let scores = record.take_matrix("scores")?;
                let m = scores.n_rows();
                if m == 0 || features.shape() != (n_features, n_sums(m)) {
                    return Err(damaged("its sums have another shape; compute it again".to_owned()));
                }
                Self::Normal(NormalSums {
                    features,
                    scores: square(scores, m)?,
                    scores_per_entry: square(record.take_matrix("scores_per_entry")?, m)?,
                    parameters: record.take_scalar("parameters")?,
                })
            }
            SumsOfEntries::Trace => Self::Trace(record.take_scalar("trace")?),
            SumsOfEntries::Noise => {
                let sums = record.take_matrix("noise")?;
                if sums.shape() != NoiseSums::empty(n_features).0.shape() {
                    return Err(damaged("its sums have another shape; compute it again".to_owned()));
                }
                Self::Noise(NoiseSums(sums))
            }
            SumsOfEntries::Posterior => {
                let (features, products) = (record.take_matrix("features")?, record.take_matrix("products")?);
                let scores = record.take_matrix("scores")?;
                let m = scores.n_rows();
                if m < 2
                    || [&features, &products].map(Matrix::shape) != n_in_sums(m - 1).map(|n| (n_features, n))
                {
                    return Err(damaged("its sums have another shape; compute it again".to_owned()));
                }
                Self::Posterior(PosteriorSums {
                    features,
                    products,
                    scores: square(scores, m)?,
                    means: square(record.take_matrix("means")?, m)?,
                    log_det: record.take_scalar("log_det")?,
                })
            }
        })
    }
}

fn put_factors<'a>(record: &mut Record<'a>, factors: Option<&'a [f64]>) {
    if let Some(factors) = factors {
        record.put_row("factors", factors);
    }
}

fn take_factors(record: &mut Record<'_>, n_features: usize) -> Result<Option<Vec<f64>>> {
    record.if_there("factors", |record, name| record.take_row(name, n_features))
}

/// Refuses a matrix of another shape than (m, m).
fn square(matrix: Matrix, m: usize) -> Result<Matrix> {
    if matrix.shape() == (m, m) {
        return Ok(matrix);
    }
    Err(damaged("a matrix has another shape; compute it again".to_owned()))
}
