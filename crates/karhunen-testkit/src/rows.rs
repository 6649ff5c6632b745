//! The matrix type of the kit.

/// A matrix as a vector of rows of equal length.
pub type Rows = Vec<Vec<f64>>;
