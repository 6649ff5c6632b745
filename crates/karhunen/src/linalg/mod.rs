//! Matrices, products and decompositions. Knows nothing of samples, means or components; the only place that names faer.

mod dense;
mod matrix;
mod simd;
mod sparse;
#[cfg(test)]
mod sparse_cases;
mod sparse_cursors;
mod sparse_kernels;
mod sparse_lines;
mod sparse_moments;
mod sparse_passes;
mod sparse_plan;
mod sparse_products;
mod sparse_scatter;

pub use dense::Dense;
pub use matrix::Matrix;
pub use sparse::{IndexInt, Major, Sparse, SparseMatrix};

/// A map of columns, `x_j -> (x_j - shift_j) * factor_j`, applied on the fly to every row: centring and scaling.
/// Both slices have one entry per column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnMap<'a> {
    /// What is subtracted from each column, before the factor.
    pub shift: &'a [f64],
    /// What each column is multiplied by.
    pub factor: &'a [f64],
}
