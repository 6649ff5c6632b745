//! Online learning, one row at a time (`docs/missing-values-methods.md`).

pub(crate) mod recent;
pub(crate) mod rule;
