//! The rows or columns with the most entries, which a start may be made on.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::data::{EntryLines, Observed};
use crate::incomplete::factors::Factors;
use crate::incomplete::fit::short_starts::Table;
use crate::incomplete::options::IncompletePca;
use crate::linalg::Matrix;
use crate::linalg::simd::Lane;
use crate::scalar::Scalar;

/// Largest share of the entries that is a part.
const MOST: f64 = 0.5;

/// Rows with the most entries, or columns if there are more of them.
pub(crate) struct DensePart<T> {
    pub(crate) data: Observed<T>,
    /// The columns, if columns were chosen.
    columns: Option<Vec<u32>>,
}

/// The fewest rows with the most entries (columns, if there are more of them) that hold `each` entries for each column (row),
/// with all rows that have as many entries as the last; `None` if they hold over half of the entries.
pub(crate) fn dense_part<T: Scalar>(
    data: &Observed<T>,
    each: f64,
    exec: &Exec<'_>,
) -> Result<Option<DensePart<T>>> {
    let (n, p) = data.shape();
    let needed = each * n.min(p) as f64;
    let of_rows = n >= p;
    let lines = if of_rows { data.rows() } else { data.columns() };
    let Some(names) = densest(lines, needed, MOST * data.n_observed() as f64) else { return Ok(None) };
    let exec = &exec.part(0.0, 0.0);
    Ok(Some(if of_rows {
        DensePart { data: data.select(&names, exec)?, columns: None }
    } else {
        let columns: Vec<u32> = names.iter().map(|name| *name as u32).collect();
        DensePart { data: data.select_columns(&columns, exec)?, columns: Some(columns) }
    }))
}

/// The lines with the most entries, ascending; `None` if they hold more than `most` entries.
fn densest<T: Scalar>(lines: &EntryLines<T>, needed: f64, most: f64) -> Option<Vec<usize>> {
    let mut counts: Vec<usize> = (0..lines.n_lines()).map(|line| lines.count(line)).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let mut sum = 0.0;
    let least = *counts.iter().find(|count| {
        sum += **count as f64;
        sum >= needed
    })?;
    let names: Vec<usize> = (0..lines.n_lines()).filter(|line| lines.count(*line) >= least).collect();
    let held: usize = names.iter().map(|line| lines.count(*line)).sum();
    (held as f64 <= most).then_some(names)
}

impl<T: Lane> DensePart<T> {
    /// Factors of all entries with the loadings and means of factors of this part, and scores of zero: sweeps begin with the
    /// scores.
    pub(crate) fn extended(
        &self,
        factors: &Factors<T>,
        whole: Table<'_, T>,
        pca: &IncompletePca,
    ) -> Factors<T> {
        let (n, p) = whole.data.shape();
        let c = pca.n_components;
        let (found, found_mean) = (factors.a.to_matrix(c), factors.mean());
        let (loadings, mean) = match &self.columns {
            None => (found, found_mean),
            Some(columns) => {
                let (mut loadings, mut mean) = (Matrix::zeros(p, c), whole.prepared.mean.clone());
                for (at, column) in columns.iter().enumerate() {
                    loadings.row_mut(*column as usize).copy_from_slice(found.row(at));
                    mean[*column as usize] = found_mean[at];
                }
                (loadings, mean)
            }
        };
        let offsets = pca.row_offsets.then(|| vec![0.0; n]);
        Factors::with_offsets(&loadings, &Matrix::zeros(n, c), &mean, offsets.as_deref())
            .with_multiplicity(whole.data.multiplicity())
    }
}
