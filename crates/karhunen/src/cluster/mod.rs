//! Fits of data in parts on several machines: the tasks of a fit, the partial results of a part, and their merging.
//!
//! A fit sends a [`Task`] to an [`Engine`], which applies it to every part ([`Partial::of`], in any process and any
//! order) and merges the results in the order of the parts ([`Partial::merge`]). Tasks and partial results are records,
//! which travel as bytes. Scheduling, transport and repetition after failures belong to the engine.

mod driver;
mod entries;
mod first_block;
mod partial;
#[cfg(feature = "serde")]
mod record;
mod resume;
mod task;
mod tree;

pub(crate) use driver::{Driver, PartProducts};
pub(crate) use first_block::FirstBlock;
pub use partial::Partial;
pub(crate) use partial::{PartSeen, Sums};
pub use task::Task;
pub(crate) use task::Work;
pub use tree::{FAN_IN, Tree};

use crate::error::Result;

/// Applies tasks to all parts of the data.
///
/// ```
/// use karhunen::cluster::{Engine, Partial, Task};
/// use karhunen::{Dense, Pca, Result, Run};
/// /// Three parts of two rows each, in this process.
/// struct Parts([[f64; 4]; 3]);
/// impl Engine for Parts {
///     fn reduce(&self, task: &Task) -> Result<Partial> {
///         let partials = self.0.iter().enumerate().map(|(part, values)| {
///             Partial::of(task, part, &Dense::row_major(values, 2, 2)?, None, &Run::default())
///         });
///         Partial::merge_all(partials.collect::<Result<_>>()?)
///     }
/// }
/// let parts = Parts([[1.0, 2.0, 3.0, 4.0], [5.0, 7.0, 2.0, 2.0], [0.0, 1.0, 1.0, 2.0]]);
/// let model = Pca::new(1).fit_parts(&parts, None)?;
/// assert_eq!((model.n_samples(), model.mean()[0]), (6, 2.0));
/// # Ok::<(), karhunen::Error>(())
/// ```
pub trait Engine: Sync {
    /// Returns the partial results of all parts, merged: the parts `8 j .. 8 j + 8` of each level of a tree
    /// become part `j` of the next, so that the bits depend on the parts alone. [`Partial::merge_all`] does so for
    /// partial results in one process.
    ///
    /// # Errors
    /// Errors of [`Partial::of`] and [`Partial::merge`]; [`crate::Error::Read`] if the engine fails.
    fn reduce(&self, task: &Task) -> Result<Partial>;
}
