//! Incremental fits through the public interface.

mod errors;
mod exact;
mod fixtures;
mod forgetting;
mod merging;
mod refining;
#[cfg(feature = "serde")]
mod saved;
mod sketch;
mod sources;
