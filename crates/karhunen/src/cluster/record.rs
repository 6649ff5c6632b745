//! Tasks and partial results as records, in which they travel between processes.

use crate::cluster::{PartSeen, Partial, Sums, Task, Work};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::moments::{Moments, Scatter};
use crate::record::{Record, Recorded, damaged};

/// The numbers of a task, as text.
#[derive(serde::Serialize, serde::Deserialize)]
struct TaskNumbers {
    fit: u64,
    pass: usize,
    /// `None` for a product.
    scatter_columns: Option<usize>,
}

impl Recorded for Task {
    const KIND: &'static str = "cluster task";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = Record::new(Self::KIND);
        let scatter_columns = match &self.work {
            Work::Sums { scatter_columns } => Some(*scatter_columns),
            Work::Product { shift, factor, weight, q } => {
                record.put_row("shift", shift);
                record.put_row("factor", factor);
                record.put_scalar("weight", *weight);
                record.put_matrix("q", q);
                None
            }
        };
        record.put_json("task", &TaskNumbers { fit: self.fit, pass: self.pass, scatter_columns })?;
        Ok(record)
    }

    fn from_record(record: &mut Record<'_>) -> Result<Self> {
        record.check_kind(Self::KIND)?;
        let TaskNumbers { fit, pass, scatter_columns } = record.json("task")?;
        let work = match scatter_columns {
            Some(scatter_columns) => Work::Sums { scatter_columns },
            None => {
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
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Moments,
    Scatter,
    Product,
}

impl Recorded for Partial {
    const KIND: &'static str = "cluster partial";

    fn to_record(&self) -> Result<Record<'_>> {
        let mut record = Record::new(Self::KIND);
        let (sums, moments) = match &self.sums {
            Sums::Moments(moments) => (Kind::Moments, Some(moments)),
            Sums::Scatter(scatter) => {
                scatter.put_matrix(&mut record);
                (Kind::Scatter, Some(&scatter.moments))
            }
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
            Kind::Moments => Sums::Moments(moments()?),
            Kind::Scatter => {
                let moments = moments()?;
                let mut scatter = Scatter::take(record, moments)?;
                scatter.matrix.mirror_upper();
                Sums::Scatter(scatter)
            }
            Kind::Product => {
                let product: Matrix = record.take_matrix("product")?;
                if product.n_rows() != n_features {
                    return Err(damaged(
                        "its product has another number of rows; compute it again".to_owned(),
                    ));
                }
                Sums::Product(product)
            }
        };
        Ok(Self { task, parts, n_features, single, sparse, sums })
    }
}
