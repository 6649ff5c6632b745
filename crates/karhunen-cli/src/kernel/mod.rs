//! Fits with a kernel: their plan, and what they print.

pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod summary;
