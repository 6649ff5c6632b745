//! The number of components: folds, cross-validation, and what they print.

pub(crate) mod chosen;
pub(crate) mod cross_validate_plan;
pub(crate) mod cross_validate_report;
pub(crate) mod folds;
pub(crate) mod report;
