//! Tables that a command reads, and rows that it computes.

pub(crate) mod computed_rows;
pub(crate) mod dataset;
pub(crate) mod weights;
