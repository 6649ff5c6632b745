//! Fits of data with missing values: their plan, their data, and what they print.

pub(crate) mod dataset;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod summary;
