//! PCA of rows that come in batches: fits that can be read at any time, merged, and saved.
//!
//! [`IncrementalPca`] holds the options, [`IncrementalFit`] the state, [`IncrementalModel`] the components of
//! the rows so far. One of two engines keeps the state ([`IncrementalMethod`]): the scatter matrix, which is
//! exact, or a sketch, whose memory grows with the columns and not with their square and whose error is
//! measured.
//!
//! Rows wait until they fill a piece of a fixed number of rows. Without forgetting, and with a half-life, the
//! state therefore depends on the sequence of the rows alone: batches of any size give the same bits.

mod exact;
mod fit;
mod held;
mod merge;
mod model;
mod options;
mod pieces;
#[cfg(feature = "serde")]
mod record;
mod refine;
mod sketch;

pub use fit::IncrementalFit;
pub use model::{IncrementalModel, Note};
pub use options::{IncrementalMethod, IncrementalPca};
