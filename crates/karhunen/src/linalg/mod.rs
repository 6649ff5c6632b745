//! Matrices, products and decompositions. Knows nothing of samples, means or components; the only place that names faer.

pub(crate) mod decomp;
pub(crate) mod dense;
pub(crate) mod finite;
mod matrix;
#[cfg(test)]
pub(crate) mod oracle;
pub(crate) mod prefetch;
pub(crate) mod random;
pub(crate) mod simd;
pub(crate) mod sparse;
#[cfg(test)]
pub(crate) mod test_matrices;
pub(crate) mod tiles;

pub use dense::view::Dense;
pub use matrix::Matrix;
pub use sparse::matrix::SparseMatrix;
pub(crate) use sparse::view::Indices;
pub use sparse::view::{IndexInt, Major, Sparse};

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
