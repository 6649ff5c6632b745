//! How the kit holds a matrix.

/// A matrix as a vector of rows of equal length.
pub type Rows = Vec<Vec<f64>>;
