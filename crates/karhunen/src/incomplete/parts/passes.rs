//! Passes over rows in parts.

use crate::error::Result;
use crate::exec::Exec;
use crate::incomplete::model::feature_noise::NoiseSums;
use crate::incomplete::parts::{
    ColumnEntries, NoiseTask, NormalSums, NormalTask, PosteriorSums, PosteriorTask, TraceTask,
};

/// Makes the passes over the parts.
pub(crate) trait EntryPasses {
    /// Counts, means and squares of all features, and true if all values are of single precision.
    fn columns(&self, exec: &Exec<'_>) -> Result<(ColumnEntries, bool)>;
    fn normal(&self, task: NormalTask, exec: &Exec<'_>) -> Result<NormalSums>;
    fn posterior(&self, task: PosteriorTask, exec: &Exec<'_>) -> Result<PosteriorSums>;
    fn trace(&self, task: TraceTask, exec: &Exec<'_>) -> Result<f64>;
    fn noise(&self, task: NoiseTask, exec: &Exec<'_>) -> Result<NoiseSums>;
}
