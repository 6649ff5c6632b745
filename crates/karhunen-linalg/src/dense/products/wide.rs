//! Sums `M' y` over rows so wide that a private sum for each thread would take too much memory: threads share tiles
//! of columns, of which each has one sum.
//!
//! Rows are multiplied in groups counted from the first row of all. Of a group the threads first compute the products
//! `M q`, one tile each, which are added in the order of the tiles, and then add `M' y` to the sums of the tiles. The
//! bits do not depend on the number of threads.

use std::borrow::Cow;
use std::ops::Range;

use crate::Matrix;
use crate::dense::narrow::{Narrow, NarrowPanel, PanelShape};
use crate::dense::pack::Mapped;
use crate::dense::products::{MiddleStep, PRIVATE_BYTES};
use crate::error::Result;
use crate::exec::Exec;
use crate::scalar::Scalar;
use crate::simd::Lane;

/// Number of columns of a tile, whole cache lines: a packed tile and its sum stay in the cache of one core.
const TILE: usize = 1024;
/// Number of values of a group of rows, unless [`LEAST_ROWS`] have more: a group is copied where blocks end within it.
const GROUP_VALUES: usize = 8 << 20;
/// Least and largest number of rows of a group. Every group reads and writes all sums once.
const LEAST_ROWS: usize = 8;
const MOST_ROWS: usize = 64;

/// Tests whether rows of `p` values are wide: two private sums of `l` vectors of their length exceed [`PRIVATE_BYTES`].
pub fn are_wide(p: usize, l: usize) -> bool {
    2 * size_of::<f64>() * l * p > PRIVATE_BYTES
}

/// Number of rows of a group.
pub(super) fn group_rows(p: usize) -> usize {
    (GROUP_VALUES / p / LEAST_ROWS * LEAST_ROWS).clamp(LEAST_ROWS, MOST_ROWS)
}

/// The columns of each tile: one tile if the columns are not wide.
pub(super) fn tiles(p: usize, l: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    let width = if are_wide(p, l) { TILE } else { p.max(1) };
    (0..p.div_ceil(width)).map(move |tile| tile * width..p.min((tile + 1) * width))
}

/// The sum, in tiles.
pub struct WideSum {
    tiles: Vec<(Range<usize>, Narrow)>,
}

impl WideSum {
    pub(super) fn zeros<E>(p: usize, l: usize) -> Self {
        let zeros = |columns: Range<usize>| (columns.clone(), Narrow::zeros::<E>(columns.len(), l));
        Self { tiles: tiles(p, l).map(zeros).collect() }
    }

    /// Adds the rows of `m`, in whole groups but for the last of all; its first row is row `first` of all.
    ///
    /// # Errors
    /// [`crate::Error::Stopped`].
    pub(super) fn add<T: Scalar, E: Lane>(
        &mut self,
        first: usize,
        m: &Mapped<'_, T>,
        middle: &MiddleStep<'_, E>,
        exec: &Exec<'_>,
    ) -> Result<()> {
        let (n, l) = (m.n_rows(), middle.n_vectors());
        let height = group_rows(m.n_cols());
        let panel = |columns: &Range<usize>| NarrowPanel::<E>::new(PanelShape::of(height, columns.len(), l));
        for start in (0..n).step_by(height) {
            let rows = start..n.min(start + height);
            let of_all = first + rows.start..first + rows.end;
            let exec = exec.part(rows.start as f64 / n as f64, rows.end as f64 / n as f64);
            let y = match middle {
                MiddleStep::Given(u) => Cow::Borrowed(&u.as_slice()[of_all.start * l..of_all.end * l]),
                MiddleStep::Product { q, weights } => {
                    let n_values = rows.len() * l;
                    let mut parts = vec![0.0; self.tiles.len() * n_values];
                    let tiles = &self.tiles;
                    exec.part(0.0, 0.5).fill(&mut parts, n_values, |tile, part| {
                        let columns = &tiles[tile].0;
                        let mut panel = panel(columns);
                        panel.load_and_multiply(&m.columns(columns.clone()), rows.clone(), &q[tile]);
                        panel.write_products(part);
                        Ok(())
                    })?;
                    let (y, others) = parts.split_at_mut(n_values);
                    for part in others.chunks_exact(n_values) {
                        y.iter_mut().zip(part).for_each(|(y, part)| *y += part);
                    }
                    if let Some(weights) = weights {
                        for (y, weight) in y.chunks_exact_mut(l).zip(&weights[of_all]) {
                            y.iter_mut().for_each(|y| *y *= weight);
                        }
                    }
                    parts.truncate(n_values);
                    Cow::Owned(parts)
                }
            };
            exec.part(0.5, 1.0).each(self.tiles.iter_mut(), |_, (columns, sum)| {
                let (mut panel, m) = (panel(columns), m.columns(columns.clone()));
                panel.load(&m, rows.clone());
                panel.set_products(&y);
                panel.multiply_t(sum, &m, rows.clone(), rows.end);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The sum, shape (p, l).
    pub(super) fn into_matrix(self) -> Matrix {
        let p = self.tiles.last().map_or(0, |(columns, _)| columns.end);
        let l = self.tiles.first().map_or(0, |(_, sum)| sum.n_vectors());
        let mut out = Matrix::zeros(p, l);
        for (columns, sum) in self.tiles {
            out.as_mut_slice()[columns.start * l..columns.end * l]
                .copy_from_slice(sum.into_matrix().as_slice());
        }
        out
    }
}
