//! Standard deviations of columns, also where squares of deviations underflow.

use crate::error::Result;
use crate::linalg::sparse_moments;
use crate::moments::Moments;
use crate::scalar::Scalar;
use crate::source::{Block, Source};

/// Below this, squares of deviations have lost digits to underflow, or vanished.
const UNDERFLOW: f64 = 1e-280;

/// Whether squares of such deviations have lost digits.
pub(crate) fn underflows(deviation: f64) -> bool {
    deviation > 0.0 && deviation * deviation < UNDERFLOW
}

/// The standard deviation (population) of each column, also of columns whose squared deviations underflow: those are
/// read again, divided by their largest deviation.
///
/// # Errors
/// What reading raises.
pub(crate) fn deviations<T: Scalar>(
    moments: &Moments,
    x: &dyn Source<T>,
    weights: Option<&[f64]>,
) -> Result<Vec<f64>> {
    let p = moments.mean.len();
    let mut deviations: Vec<f64> = (0..p).map(|j| moments.variance(j).sqrt()).collect();
    let tiny: Vec<usize> = (0..p).filter(|&j| moments.variance(j) < UNDERFLOW).collect();
    if tiny.is_empty() {
        return Ok(deviations);
    }
    let n_rows = x.shape().0;
    let mut columns = vec![Tiny::default(); tiny.len()];
    visit_columns(x, &tiny, |_, c, value| {
        let column = &mut columns[c];
        column.largest = column.largest.max((value - moments.mean[tiny[c]]).abs());
        column.n_stored += 1;
    })?;
    for (column, &j) in columns.iter_mut().zip(&tiny) {
        if column.n_stored < n_rows {
            column.largest = column.largest.max(moments.mean[j].abs());
        }
    }
    visit_columns(x, &tiny, |row, c, value| {
        let column = &mut columns[c];
        if column.largest > 0.0 {
            let deviation = (value - moments.mean[tiny[c]]) / column.largest;
            let weight = weights.map_or(1.0, |w| w[row]);
            column.squares += weight * deviation * deviation;
            column.weight += weight;
        }
    })?;
    for (column, &j) in columns.iter().zip(&tiny) {
        let missing = if column.n_stored < n_rows { (moments.weight - column.weight).max(0.0) } else { 0.0 };
        let zero = if column.largest > 0.0 { moments.mean[j] / column.largest } else { 0.0 };
        deviations[j] = column.largest * ((column.squares + missing * zero * zero) / moments.weight).sqrt();
    }
    Ok(deviations)
}

/// What is gathered of a column of tiny deviations.
#[derive(Clone, Default)]
struct Tiny {
    /// The largest deviation from the mean, of what is not stored too.
    largest: f64,
    n_stored: usize,
    /// The weight of the stored entries.
    weight: f64,
    /// Their weighted squared deviations, in units of the largest.
    squares: f64,
}

/// Calls `f` with the row, the place in `columns` and the value of every stored entry of those columns.
fn visit_columns<T: Scalar>(
    x: &dyn Source<T>,
    columns: &[usize],
    mut f: impl FnMut(usize, usize, f64),
) -> Result<()> {
    x.visit(&mut |first, block| {
        match block {
            Block::Dense(x) => {
                for i in 0..x.n_rows() {
                    columns.iter().enumerate().for_each(|(c, &j)| f(first + i, c, x.get(i, j).to_f64()));
                }
            }
            Block::Sparse(x) => sparse_moments::visit_columns(&x, columns, |i, c, value| {
                f(first + i, c, value);
            }),
        }
        Ok(())
    })
}
