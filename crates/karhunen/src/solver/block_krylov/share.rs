//! Search for the number of pairs that a share of the sum of the eigenvalues takes.

use crate::error::Result;
use crate::exec::Exec;
use crate::solver::block_krylov::BlockKrylov;
use crate::solver::block_krylov::ritz::Ritz;
use crate::solver::spectrum::{Wanted, count};
use crate::solver::spectrum_estimate::Node;

impl BlockKrylov<'_> {
    /// Makes `n_steps` products, or fewer if the basis spans the whole space, and returns the spectral density
    /// estimate. Must precede any search.
    ///
    /// # Errors
    /// As [`BlockKrylov::leading`].
    pub(crate) fn estimate_spectrum(&mut self, n_steps: usize, exec: &Exec<'_>) -> Result<Vec<Node>> {
        assert_eq!(self.n_iterations, 0, "the spectrum estimate comes first");
        let unreported = exec.part(0.0, 0.0);
        self.reserve(n_steps * self.block_size);
        self.add_directions(&unreported)?;
        for _ in 0..n_steps {
            if self.next.n_cols() == 0 || self.n_iterations >= self.options.max_iter {
                break;
            }
            self.step(&unreported, &unreported)?;
        }
        let ritz = self.ritz(self.basis.len())?;
        let unit = self.unit.unwrap_or(1.0);
        let scale = ritz.values.first().copied().unwrap_or(0.0).max(0.0);
        let first = self.block_size.min(self.basis.len());
        let nodes = ritz.values.iter().zip(&ritz.residuals).enumerate().map(|(i, (value, residual))| {
            let part: f64 = (0..first).map(|j| ritz.vectors[(j, i)].powi(2)).sum();
            let weight = part * self.op.dim() as f64 / first as f64;
            Node { value: value * unit, weight, residual: residual * scale * unit }
        });
        Ok(nodes.collect())
    }

    /// Number of Ritz values that are wanted; `None` if all of them do not reach the sum.
    pub(super) fn enough(&self, values: &[f64], wanted: Wanted) -> Option<usize> {
        let unit = self.unit.unwrap_or(1.0);
        let scaled: Vec<f64> = values.iter().map(|value| value.max(0.0) * unit).collect();
        count(&scaled, wanted)
    }

    /// Tests whether the pairs cannot reach the sum even if every value grows by its residual.
    pub(super) fn falls_short(&self, ritz: &Ritz, wanted: Wanted) -> bool {
        let scale = ritz.values.first().copied().unwrap_or(0.0).max(0.0);
        let grown: Vec<f64> = ritz.values.iter().zip(&ritz.residuals).map(|(v, r)| v + r * scale).collect();
        self.enough(&grown, wanted).is_none()
    }

    /// Number of pairs to search for next if these values do not reach the sum: as many as it would take if the
    /// others equalled the smallest of these, and a few more.
    pub(super) fn more(&self, values: &[f64], wanted: Wanted) -> usize {
        let (k, dim) = (values.len(), self.op.dim());
        let Wanted::Share { sum, .. } = wanted else { return k };
        let unit = self.unit.unwrap_or(1.0);
        let reached: f64 = values.iter().map(|value| value.max(0.0) * unit).sum();
        let smallest = values.last().copied().unwrap_or(0.0).max(0.0) * unit;
        let missing = (sum - reached).max(0.0) / smallest;
        // NaN or infinite if the smallest value is zero: search for all.
        let missing = if missing < dim as f64 { missing.ceil() as usize } else { dim };
        (k + missing + (k + missing) / 10 + 2).min(dim)
    }
}
