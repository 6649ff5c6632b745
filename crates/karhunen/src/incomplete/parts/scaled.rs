//! Passes over entries that are multiplied by the factor of their column first.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::model::feature_noise::NoiseSums;
use crate::incomplete::parts::{
    ColumnEntries, EntryPasses, NoiseTask, NormalSums, NormalTask, PosteriorSums, PosteriorTask, TraceTask,
};

/// Passes in the units of a fit of scaled or weighted columns.
pub(crate) struct ScaledPasses<'a> {
    pub(crate) passes: &'a dyn EntryPasses,
    /// Shape (n_features,).
    pub(crate) factors: Vec<f64>,
}

impl ScaledPasses<'_> {
    fn factors(&self) -> Option<Vec<f64>> {
        Some(self.factors.clone())
    }
}

impl EntryPasses for ScaledPasses<'_> {
    fn columns(&self, exec: &Exec<'_>) -> Result<(ColumnEntries, bool)> {
        let (entries, single) = self.passes.columns(exec)?;
        Ok((entries.multiplied(&self.factors), single))
    }

    fn normal(&self, task: NormalTask, exec: &Exec<'_>) -> Result<NormalSums> {
        self.passes.normal(NormalTask { factors: self.factors(), ..task }, exec)
    }

    fn posterior(&self, task: PosteriorTask, exec: &Exec<'_>) -> Result<PosteriorSums> {
        self.passes.posterior(PosteriorTask { factors: self.factors(), ..task }, exec)
    }

    fn trace(&self, task: TraceTask, exec: &Exec<'_>) -> Result<f64> {
        self.passes.trace(TraceTask { factors: self.factors(), ..task }, exec)
    }

    fn noise(&self, task: NoiseTask, exec: &Exec<'_>) -> Result<NoiseSums> {
        self.passes.noise(NoiseTask { factors: self.factors(), ..task }, exec)
    }
}
