//! Results of passes in a log.

use crate::cluster::{FirstBlock, PartSeen, Partial, Sums};
use crate::error::Result;
use crate::exec::{Resumable, State};
use crate::incomplete::parts::{ColumnEntries, EntrySums, NoiseSums, NormalSums, PosteriorSums};
use crate::linalg::Matrix;
use crate::moments::Moments;
use crate::moments::packed::PackedScatter;

/// The number of parts, of columns and of vectors is read before what has that many.
impl Resumable for Partial {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        let mut n_parts = self.parts.len();
        n_parts.exchange(state)?;
        self.parts.resize(n_parts, PartSeen::default());
        self.parts.iter_mut().try_for_each(|part| part.exchange(state))?;
        self.n_features.exchange(state)?;
        state.flag(&mut self.single)?;
        state.flag(&mut self.sparse)?;
        let mut kind = self.sums.kind();
        kind.0.exchange(state)?;
        kind.1.exchange(state)?;
        let of_others = self.sums.n_features().is_some_and(|found| found != self.n_features);
        if kind != self.sums.kind() || of_others {
            self.sums = Sums::empty(kind, self.n_features);
        }
        match &mut self.sums {
            Sums::Moments(sums, block) => {
                sums.exchange(state)?;
                block.product.exchange(state)?;
                let (mut high, mut low) = halves(block.seed);
                high.exchange(state)?;
                low.exchange(state)?;
                block.seed = whole(high, low);
                Ok(())
            }
            Sums::Scatter(sums) => sums.exchange(state),
            Sums::Checked => Ok(()),
            Sums::Product(sums) => sums.exchange(state),
            Sums::Entries(EntrySums::Columns(sums)) => {
                sums.n_rows.exchange(state)?;
                state.number(&mut sums.samples)?;
                state.number(&mut sums.multiplicity)?;
                [&mut sums.n_observed, &mut sums.weight, &mut sums.mean, &mut sums.squares]
                    .into_iter()
                    .try_for_each(|values| state.slice(values))
            }
            Sums::Entries(EntrySums::Normal(sums)) => {
                state.number(&mut sums.parameters)?;
                [&mut sums.features, &mut sums.scores, &mut sums.scores_per_entry]
                    .into_iter()
                    .try_for_each(|sums| sums.exchange(state))
            }
            Sums::Entries(EntrySums::Trace(sum)) => state.number(sum),
            Sums::Entries(EntrySums::Noise(NoiseSums(sums))) => sums.exchange(state),
            Sums::Entries(EntrySums::Posterior(sums)) => {
                state.number(&mut sums.log_det)?;
                [&mut sums.features, &mut sums.products, &mut sums.scores, &mut sums.means]
                    .into_iter()
                    .try_for_each(|sums| sums.exchange(state))
            }
        }
    }
}

impl Resumable for PartSeen {
    fn exchange(&mut self, state: &mut State) -> Result<()> {
        self.number.exchange(state)?;
        self.n_rows.exchange(state)?;
        let (mut high, mut low) = halves(self.checksum);
        high.exchange(state)?;
        low.exchange(state)?;
        self.checksum = whole(high, low);
        Ok(())
    }
}

/// Two integers that f64 represents.
fn halves(number: u64) -> (usize, usize) {
    ((number >> 32) as usize, number as u32 as usize)
}

fn whole(high: usize, low: usize) -> u64 {
    (high as u64) << 32 | low as u64
}

impl Sums {
    /// A number for the kind, and the number of vectors of a product or of components.
    fn kind(&self) -> (usize, usize) {
        match self {
            Self::Moments(_, block) => (0, block.product.n_cols()),
            Self::Scatter(_) => (1, 0),
            Self::Product(sums) => (2, sums.n_cols()),
            Self::Checked => (3, 0),
            Self::Entries(EntrySums::Columns(_)) => (4, 0),
            Self::Entries(EntrySums::Normal(sums)) => (5, sums.n_components()),
            Self::Entries(EntrySums::Trace(_)) => (6, 0),
            Self::Entries(EntrySums::Posterior(sums)) => (7, sums.n_components()),
            Self::Entries(EntrySums::Noise(_)) => (8, 0),
        }
    }

    /// `None` for sums of any number of features.
    fn n_features(&self) -> Option<usize> {
        match self {
            Self::Checked | Self::Entries(EntrySums::Trace(_)) => None,
            Self::Entries(EntrySums::Columns(sums)) => Some(sums.weight.len()),
            Self::Entries(EntrySums::Normal(sums)) => Some(sums.features.n_rows()),
            Self::Entries(EntrySums::Posterior(sums)) => Some(sums.features.n_rows()),
            Self::Entries(EntrySums::Noise(NoiseSums(sums))) => Some(sums.n_rows()),
            Self::Moments(sums, _) => Some(sums.mean.len()),
            Self::Scatter(sums) => Some(sums.moments.mean.len()),
            Self::Product(sums) => Some(sums.n_rows()),
        }
    }

    fn empty((kind, n_vectors): (usize, usize), p: usize) -> Self {
        match kind {
            0 => {
                Self::Moments(Moments::empty(p), FirstBlock { seed: 0, product: Matrix::zeros(p, n_vectors) })
            }
            1 => Self::Scatter(PackedScatter::empty(p)),
            2 => Self::Product(Matrix::zeros(p, n_vectors)),
            4 => Self::Entries(EntrySums::Columns(ColumnEntries::empty(p))),
            5 => Self::Entries(EntrySums::Normal(NormalSums::empty(p, n_vectors))),
            6 => Self::Entries(EntrySums::Trace(0.0)),
            7 => Self::Entries(EntrySums::Posterior(PosteriorSums::empty(p, n_vectors))),
            8 => Self::Entries(EntrySums::Noise(NoiseSums::empty(p))),
            _ => Self::Checked,
        }
    }
}
