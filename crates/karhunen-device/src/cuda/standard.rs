//! What standardises a matrix, on the host and in the memory of a GPU.

use karhunen::Standard;

use crate::cuda::gpu::{Gpu, Result};
use crate::cuda::kernels::OnGpu;

/// A [`Standard`] whose rows without weights have the factor `common`.
#[derive(Clone, Copy)]
pub(super) struct By<'a> {
    pub(super) center: &'a [f64],
    pub(super) factor: &'a [f64],
    pub(super) shares: Option<&'a [f64]>,
    pub(super) common: f64,
}

impl<'a> By<'a> {
    /// The same for a matrix of `n` rows.
    pub(super) fn of(by: Standard<'a>, n: usize) -> Self {
        let Standard { center, factor, shares } = by;
        Self { center, factor, shares, common: (n as f64).sqrt().recip() }
    }

    /// The factor of row `i`.
    pub(super) fn root(&self, i: usize) -> f64 {
        self.shares.map_or(self.common, |shares| shares[i].sqrt())
    }

    /// Copies the vectors to the GPU.
    pub(super) fn put(&self, gpu: &Gpu) -> Result<OnGpu> {
        let what = "centres and scales";
        let roots = self.shares.map(|shares| shares.iter().map(|share| share.sqrt()).collect::<Vec<_>>());
        let roots = roots.map(|roots| gpu.put("weights", &roots)).transpose()?;
        let (center, factor) = (gpu.put(what, self.center)?, gpu.put(what, self.factor)?);
        Ok(OnGpu { center, factor, roots, common: self.common })
    }
}
