//! Tasks and partial results as records, in which they travel between processes.

use crate::cluster::{FirstBlock, PartSeen, Partial, Sums, Task, Work};
use crate::error::Result;
use crate::incomplete::parts::{EntrySums, EntryTask, SumsOfEntries, TaskOfEntries};
use crate::linalg::Matrix;
use crate::moments::Moments;
use crate::moments::packed::PackedScatter;
use crate::record::{Record, Recorded, damaged};

/// The numbers of [`Work::Sums`].
#[derive(serde::Serialize, serde::Deserialize)]
struct SumsNumbers {
    scatter_columns: usize,
    first_block: (usize, u64),
}

/// The numbers of a task, as text.
#[derive(serde::Serialize, serde::Deserialize)]
struct TaskNumbers {
    fit: u64,
    pass: usize,
    /// `None` for other work.
    sums: Option<SumsNumbers>,
    /// Of [`Work::Check`].
    check: Option<usize>,
    entries: Option<TaskOfEntries>,
}

impl Recorded for Task {
    const KIND: &'static str = "cluster task";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = Record::new(Self::KIND);
        let (mut entries, mut check) = (None, None);
        let sums = match self.work {
            Work::Check { scatter_columns } => {
                check = Some(scatter_columns);
                None
            }
            Work::Entries(ref task) => {
                entries = Some(task.put(&mut record)?);
                None
            }
            Work::Sums { scatter_columns, first_block } => Some(SumsNumbers { scatter_columns, first_block }),
            Work::Product { ref shift, ref factor, weight, ref q } => {
                record.put_row("shift", shift);
                record.put_row("factor", factor);
                record.put_scalar("weight", weight);
                record.put_matrix("q", q);
                None
            }
        };
        record.put_json("task", &TaskNumbers { fit: self.fit, pass: self.pass, sums, check, entries })?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let TaskNumbers { fit, pass, sums, check, entries } = record.json("task")?;
        let work = match (sums, entries, check) {
            (_, Some(task), _) => Work::Entries(EntryTask::take(record, task)?),
            (Some(SumsNumbers { scatter_columns, first_block }), None, _) => {
                Work::Sums { scatter_columns, first_block }
            }
            (None, None, Some(scatter_columns)) => Work::Check { scatter_columns },
            (None, None, None) => {
                let q = record.take_matrix("q")?;
                let (shift, factor) =
                    (record.take_row("shift", q.n_rows())?, record.take_row("factor", q.n_rows())?);
                Work::Product { shift, factor, weight: record.take_scalar("weight")?, q }
            }
        };
        Ok(Self { fit, pass, work })
    }
}

/// The numbers of a partial result, as text.
#[derive(serde::Serialize, serde::Deserialize)]
struct PartialNumbers {
    task: (u64, usize),
    parts: Vec<PartSeen>,
    n_features: usize,
    single: bool,
    sparse: bool,
    sums: Kind,
    n_samples: usize,
    /// All weights are integers.
    whole: bool,
    /// That of the first block; zero if there is none.
    seed: u64,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Moments,
    Scatter,
    Product,
    Checked,
    Entries(SumsOfEntries),
}

impl Recorded for Partial {
    const KIND: &'static str = "cluster partial";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = Record::new(Self::KIND);
        let (sums, moments) = match &self.sums {
            Sums::Moments(moments, block) => {
                record.put_matrix("first_block", &block.product);
                (Kind::Moments, Some(moments))
            }
            Sums::Scatter(scatter) => {
                scatter.put_triangle(&mut record);
                (Kind::Scatter, Some(&scatter.moments))
            }
            Sums::Checked => (Kind::Checked, None),
            Sums::Entries(sums) => (Kind::Entries(sums.put(&mut record)), None),
            Sums::Product(product) => {
                record.put_matrix("product", product);
                (Kind::Product, None)
            }
        };
        if let Some(moments) = moments {
            moments.put(&mut record);
        }
        let Self { task, parts, n_features, single, sparse, .. } = self;
        let numbers = PartialNumbers {
            task: *task,
            parts: parts.clone(),
            n_features: *n_features,
            single: *single,
            sparse: *sparse,
            sums,
            n_samples: moments.map_or(0, |moments| moments.n_samples),
            whole: moments.is_none_or(|moments| moments.whole),
            seed: if let Sums::Moments(_, block) = &self.sums { block.seed } else { 0 },
        };
        record.put_json("partial", &numbers)?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let numbers: PartialNumbers = record.json("partial")?;
        let PartialNumbers { task, parts, n_features, single, sparse, n_samples, whole, .. } = numbers;
        let in_order = parts.windows(2).all(|pair| pair[0].number.checked_add(1) == Some(pair[1].number));
        if parts.is_empty() || !in_order {
            return Err(damaged("its parts are not in order; compute it again".to_owned()));
        }
        let mut moments = || Moments::take(record, n_samples, n_features, whole);
        let sums = match numbers.sums {
            Kind::Moments => {
                let moments = moments()?;
                let product = with_rows(record.take_matrix("first_block")?, n_features)?;
                Sums::Moments(moments, FirstBlock { seed: numbers.seed, product })
            }
            Kind::Scatter => {
                let moments = moments()?;
                Sums::Scatter(PackedScatter::take(record, moments)?)
            }
            Kind::Checked => Sums::Checked,
            Kind::Entries(sums) => Sums::Entries(EntrySums::take(record, sums, n_features)?),
            Kind::Product => Sums::Product(with_rows(record.take_matrix("product")?, n_features)?),
        };
        Ok(Self { task, parts, n_features, single, sparse, sums })
    }
}

/// Refuses a matrix with another number of rows.
fn with_rows(matrix: Matrix, n_rows: usize) -> Result<Matrix> {
    if matrix.n_rows() == n_rows {
        return Ok(matrix);
    }
    Err(damaged("its product has another number of rows; compute it again".to_owned()))
}
