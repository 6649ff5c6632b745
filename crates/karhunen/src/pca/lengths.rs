//! Squared lengths of mapped rows: their squared distances to the mean.

use crate::error::Result;
use crate::exec::{Exec, Run};
use crate::linalg::{ColumnMap, Major, Sparse};
use crate::operator::blocks;
use crate::pca::PcaModel;
use crate::scalar::Scalar;
use crate::source::{Block, Source};

/// Most rows that are mapped together.
const ROWS: usize = 64;
/// Number of values of a buffer of mapped rows.
const BUFFER: usize = 1 << 17;
/// Least share of the terms of a length that their sum may be; below it the length is computed from the mapped row.
const LEAST: f64 = 1e-4;

impl PcaModel {
    /// Squared lengths of the mapped rows, shape (n_rows,). Sparse rows cost time proportional to their stored entries.
    pub(crate) fn squared_lengths<T: Scalar>(&self, x: &dyn Source<T>, run: &Run<'_>) -> Result<Vec<f64>> {
        let mut lengths = vec![0.0; x.shape().0];
        Exec::run(run, |exec| {
            let exec = exec.phase("lengths");
            x.visit(&mut |first, block| {
                let out = &mut lengths[first..first + block.n_rows()];
                let unknown = match &block {
                    Block::Dense(_) => None,
                    Block::Sparse(rows) => Some(of_stored(rows, self.map(), out)),
                };
                let wanted = |row: usize| unknown.as_ref().is_none_or(|unknown| unknown[row]);
                each_mapped(self, &block, &wanted, out, &exec, |_, line| line.iter().map(|m| m * m).sum())
            })
        })?;
        Ok(lengths)
    }
}

/// The number of rows of `p` columns that are mapped together.
pub(super) fn mapped_at_once(p: usize) -> usize {
    (BUFFER / p.max(1)).clamp(1, ROWS)
}

/// Replaces the values of the `wanted` rows of a block by the values of `f`, which gets the number of each row in the block
/// and the mapped row, and may change it.
pub(crate) fn each_mapped<T: Scalar>(
    model: &PcaModel,
    block: &Block<'_, T>,
    wanted: &(dyn Fn(usize) -> bool + Sync),
    out: &mut [f64],
    exec: &Exec<'_>,
    f: impl Fn(usize, &mut [f64]) -> f64 + Sync,
) -> Result<()> {
    let p = model.n_features();
    let height = mapped_at_once(p);
    exec.fill(out, height, |piece, out| {
        let rows = piece * height..piece * height + out.len();
        if !rows.clone().any(wanted) {
            return Ok(());
        }
        let mut lines = vec![0.0; out.len() * p];
        blocks::mapped_rows(block, model.map(), None, rows.clone(), &mut lines)?;
        for ((row, line), out) in rows.zip(lines.chunks_exact_mut(p)).zip(out) {
            if wanted(row) {
                *out = f(row, line);
            }
        }
        Ok(())
    })
}

/// Writes the squared lengths of sparse rows: the squared length of a row of zeros, and the difference that each stored
/// entry makes. Returns which rows have lost digits in the sum.
fn of_stored<T: Scalar>(x: &Sparse<'_, T>, map: ColumnMap<'_>, out: &mut [f64]) -> Vec<bool> {
    let of_zeros: f64 =
        map.shift.iter().zip(map.factor).map(|(shift, factor)| (shift * factor).powi(2)).sum();
    out.fill(of_zeros);
    let mut sizes = vec![of_zeros; out.len()];
    let (pointers, indices, values) = (x.pointers(), x.indices(), x.values());
    for (line, ends) in pointers.windows(2).enumerate() {
        for (position, value) in (ends[0]..ends[1]).zip(&values[ends[0]..ends[1]]) {
            let (row, column) = match x.major() {
                Major::Rows => (line, indices.at(position)),
                Major::Columns => (indices.at(position), line),
            };
            let (value, factor) = (value.to_f64(), map.factor[column]);
            out[row] += value * factor * ((value - 2.0 * map.shift[column]) * factor);
            sizes[row] += (value * factor).powi(2);
        }
    }
    let keeps = |(length, size): (&f64, &f64)| *length > LEAST * size;
    out.iter().zip(&sizes).map(|pair| !keeps(pair)).collect()
}
