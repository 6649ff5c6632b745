//! Matrices, products and decompositions. Knows nothing of samples, means or components; the only place that names faer.

pub(crate) mod basis;
mod dense;
pub(crate) mod dense_moments;
pub(crate) mod dense_products;
pub(crate) mod dense_scatter;
pub(crate) mod eigh;
pub(crate) mod exp;
pub(crate) mod finite;
mod matrix;
mod narrow;
#[cfg(test)]
mod oracle;
pub(crate) mod orthonormal;
mod pack;
pub(crate) mod pairs;
mod panel;
mod prefetch;
pub(crate) mod random;
pub(crate) mod rank_k;
pub(crate) mod residual;
pub(crate) mod simd;
pub(crate) mod small;
mod sparse;
#[cfg(test)]
mod sparse_cases;
mod sparse_cursors;
mod sparse_kernels;
mod sparse_lines;
mod sparse_matrix;
pub(crate) mod sparse_moments;
mod sparse_passes;
mod sparse_places;
mod sparse_plan;
pub(crate) mod sparse_products;
pub(crate) mod sparse_scatter;
mod sparse_structure;
pub(crate) mod spd;
pub(crate) mod svd;
pub(crate) mod symmetric;
#[cfg(test)]
pub(crate) mod test_matrices;
pub(crate) mod tile_products;
mod triangular;
pub(crate) mod trig;
pub(crate) mod tsqr;

pub use dense::Dense;
pub use matrix::Matrix;
pub(crate) use sparse::Indices;
pub use sparse::{IndexInt, Major, Sparse};
pub use sparse_matrix::SparseMatrix;

/// A map of columns, `x_j -> (x_j - shift_j) * factor_j`, applied on the fly to every row: centring and scaling.
/// Both slices have one entry per column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnMap<'a> {
    /// What is subtracted from each column, before the factor.
    pub(crate) shift: &'a [f64],
    /// The digits of the shift that f64 does not hold: subtracted from dense values after the shift. Empty if all are
    /// zero; sparse products, which lose more digits than these, leave it out.
    pub(crate) remainder: &'a [f64],
    /// What each column is multiplied by.
    pub(crate) factor: &'a [f64],
}
