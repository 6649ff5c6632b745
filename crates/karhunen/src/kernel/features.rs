//! The features of a row: its kernel values with other rows, or random Fourier features.

use std::ops::Range;

use crate::error::Result;
use crate::exec::Exec;
use crate::kernel::function::{BlockKernel, Kernel};
use crate::kernel::rows::{KernelRows, PointPanel, Points, Preparation, lines};
use crate::kernel::tiles::call;
use crate::linalg::Matrix;
use crate::linalg::tiles::exp::Exp;
use crate::linalg::tiles::pairs::{Pairing, pair_sums, width};
use crate::linalg::tiles::trig::{Wave, wave};
use crate::scalar::Scalar;
use crate::source::Block;

/// A map from rows to features.
pub(super) struct Features<'a, E> {
    kernel: Kernel,
    preparation: Preparation<'a>,
    map: Map<'a, E>,
}

enum Map<'a, E> {
    /// Kernel values with rows.
    Points(Points<E>),
    /// Kernel values with rows, by a user-defined function.
    Called { rows: &'a Matrix, function: &'a dyn BlockKernel },
    /// Cosines, then sines, of the inner products with frequencies (in strips), scaled.
    Waves { strips: Vec<E>, n_frequencies: usize, n_features: usize },
}

/// Number of frequencies that fills whole strips of either type.
pub(super) const FREQUENCIES: usize = 16;

impl<'a, E: Exp> Features<'a, E> {
    /// Kernel values with `rows`.
    pub(super) fn of_rows(
        kernel: Kernel,
        rows: &'a KernelRows,
        function: Option<&'a dyn BlockKernel>,
        preparation: Preparation<'a>,
        exec: &Exec<'_>,
    ) -> Result<Self> {
        let map = match (rows, function) {
            (KernelRows::Dense(rows), Some(function)) => Map::Called { rows, function },
            _ => Map::Points(Points::new(rows, preparation, exec)?),
        };
        Ok(Self { kernel, preparation, map })
    }

    /// Cosines and sines for the frequencies in the rows, whose number is a multiple of [`FREQUENCIES`].
    pub(super) fn of_frequencies(kernel: Kernel, frequencies: &Matrix, preparation: Preparation<'a>) -> Self {
        let w = width::<E>();
        let (n_frequencies, n_features) = frequencies.shape();
        let mut strips = vec![E::default(); n_frequencies * n_features];
        for i in 0..n_frequencies {
            for (j, value) in frequencies.row(i).iter().enumerate() {
                strips[(i / w * n_features + j) * w + i % w] = E::from_f64(*value);
            }
        }
        Self { kernel, preparation, map: Map::Waves { strips, n_frequencies, n_features } }
    }

    /// Number of features.
    pub(super) fn n(&self) -> usize {
        match &self.map {
            Map::Points(points) => points.n(),
            Map::Called { rows, .. } => rows.n_rows(),
            Map::Waves { n_frequencies, .. } => 2 * n_frequencies,
        }
    }

    /// Reads the rows `rows` of a block.
    pub(super) fn load<T: Scalar>(&self, block: &Block<'_, T>, rows: Range<usize>) -> Result<Loaded<E>> {
        let (p, n_rows) = (block.n_cols(), rows.len());
        let mut values = vec![0.0; n_rows * p];
        lines(block, rows, &mut values)?;
        let mut panel = PointPanel::new();
        let n_left = n_rows.next_multiple_of(width::<E>());
        let given = if let Map::Called { .. } = self.map {
            Some(Matrix::from_vec(n_rows, p, values)?)
        } else {
            panel.load(&mut values, p, self.preparation);
            None
        };
        Ok(Loaded { n_left, panel, given })
    }

    /// Writes the features `columns` (whole strips) of loaded rows to `tile`.
    pub(super) fn tile(&self, from: &Loaded<E>, columns: Range<usize>, tile: &mut [E]) -> Result<()> {
        match (&self.map, &from.given) {
            (Map::Points(points), _) => {
                let left = (&from.panel.strips[..], &from.panel.norms[..]);
                points.tile(&self.kernel, left, columns, false, tile);
            }
            (Map::Called { rows, function }, Some(x)) => {
                let y = rows.rows(columns.start..columns.end.min(rows.n_rows()));
                call(*function, x, &y, from.n_left, tile)?;
            }
            (Map::Called { .. }, None) => {}
            (Map::Waves { strips, n_frequencies, n_features }, _) => {
                let scale = 1.0 / (*n_frequencies as f64).sqrt();
                let half = columns.start.max(*n_frequencies).min(columns.end);
                let runs =
                    [(Wave::Cosine, columns.start..half, 0), (Wave::Sine, half..columns.end, *n_frequencies)];
                let mut rest = tile;
                for (which, run, offset) in runs {
                    let (here, later) = rest.split_at_mut(run.len() * from.n_left);
                    rest = later;
                    if run.is_empty() {
                        continue;
                    }
                    let right = &strips[(run.start - offset) * n_features..(run.end - offset) * n_features];
                    pair_sums(Pairing::Product, &from.panel.strips, right, *n_features, here);
                    wave(which, scale, here);
                }
            }
        }
        Ok(())
    }

    /// The kernel values of loaded rows with themselves.
    pub(super) fn diagonal(&self, from: &Loaded<E>, n_rows: usize) -> Result<Vec<f64>> {
        if let (Map::Called { function, .. }, Some(x)) = (&self.map, &from.given) {
            let one = |i: usize| {
                let row = x.rows(i..i + 1);
                Ok(function.evaluate(&row, &row)?.as_slice().first().copied().unwrap_or(f64::NAN))
            };
            return (0..n_rows).map(one).collect();
        }
        Ok((0..n_rows).map(|i| self.kernel.of_itself(from.panel.norms[i].to_f64())).collect())
    }
}

/// Prepared rows, from which features are computed.
pub(super) struct Loaded<E> {
    /// Number of rows, rounded up to whole strips.
    pub(super) n_left: usize,
    panel: PointPanel<E>,
    given: Option<Matrix>,
}
