//! Fits of rows in parts, which lie elsewhere: scores stay with their rows, and sums over the entries of each feature
//! come back. Each iteration is one pass over the parts.
//!
//! Scores given the loadings are the solution of each row alone. The normal equations of the loadings given the scores
//! are sums over rows, and so are the first two moments of the scores, from which penalties, gauge steps and the
//! rotation to principal components follow. In variational Bayes expected values take their place.

mod column_entries;
mod fit;
mod normal_sums;
mod passes;
mod posterior_rows;
mod posterior_sums;
#[cfg(feature = "serde")]
mod record;
mod runs;
mod scaled;
mod stand_in;
mod starts;
mod sweeps;
mod task;

pub(crate) use crate::incomplete::model::feature_noise::NoiseSums;
pub(crate) use column_entries::ColumnEntries;
pub(crate) use fit::fit_in_parts;
pub(crate) use normal_sums::{NormalSums, NormalTask};
pub(crate) use passes::EntryPasses;
pub(crate) use posterior_sums::{PosteriorSums, PosteriorTask};
#[cfg(feature = "serde")]
pub(crate) use record::{SumsOfEntries, TaskOfEntries};
pub(crate) use task::{EntrySums, EntryTask, NoiseTask, ScorePenalty, TraceTask};
