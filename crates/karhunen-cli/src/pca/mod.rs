//! Fits of complete data: their plan, models of rows, and what they print.

pub(crate) mod moments_report;
pub(crate) mod plan;
pub(crate) mod rotation_report;
pub(crate) mod row_model;
pub(crate) mod summary;
pub(crate) mod update_report;
