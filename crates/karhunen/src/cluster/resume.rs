//! Results of passes in a log.

use crate::cluster::{FirstBlock, PartSeen, Partial, Sums};
use crate::error::Result;
use crate::exec::{Resumable, State};
use crate::linalg::Matrix;
use crate::moments::{Moments, Scatter};

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
        if kind != self.sums.kind() || self.sums.n_features() != self.n_features {
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
            Sums::Scatter(sums) => {
                sums.exchange(state)?;
                // Its upper triangle alone is kept.
                sums.matrix.mirror_upper();
                Ok(())
            }
            Sums::Checked => Ok(()),
            Sums::Product(sums) => sums.exchange(state),
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
    /// A number for the kind, and the number of vectors of a product.
    fn kind(&self) -> (usize, usize) {
        match self {
            Self::Moments(_, block) => (0, block.product.n_cols()),
            Self::Scatter(_) => (1, 0),
            Self::Product(sums) => (2, sums.n_cols()),
            Self::Checked => (3, 0),
        }
    }

    fn n_features(&self) -> usize {
        match self {
            Self::Checked => 0,
            Self::Moments(sums, _) => sums.mean.len(),
            Self::Scatter(sums) => sums.moments.mean.len(),
            Self::Product(sums) => sums.n_rows(),
        }
    }

    fn empty((kind, n_vectors): (usize, usize), p: usize) -> Self {
        match kind {
            0 => {
                Self::Moments(Moments::empty(p), FirstBlock { seed: 0, product: Matrix::zeros(p, n_vectors) })
            }
            1 => Self::Scatter(Scatter::empty(p)),
            2 => Self::Product(Matrix::zeros(p, n_vectors)),
            _ => Self::Checked,
        }
    }
}
