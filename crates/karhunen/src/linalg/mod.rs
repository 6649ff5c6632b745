//! Matrices, products and decompositions, without statistics. The only module that uses faer.

pub(crate) mod decomp;
pub(crate) mod dense;
pub(crate) mod finite;
mod matrix;
#[cfg(test)]
pub(crate) mod oracle;
pub(crate) mod permutation;
pub(crate) mod prefetch;
pub(crate) mod random;
pub(crate) mod simd;
mod single;
pub(crate) mod sparse;
#[cfg(test)]
pub(crate) mod test_matrices;
pub(crate) mod tiles;

pub use dense::view::Dense;
pub use matrix::Matrix;
pub use single::round_to_single;
pub use sparse::matrix::SparseMatrix;
pub(crate) use sparse::view::Indices;
pub use sparse::view::{IndexInt, Major, Sparse};

/// A map of columns, `x_j -> (x_j - shift_j) * factor_j`, applied to rows as they are read: centring and scaling.
/// All slices have one entry per column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnMap<'a> {
    /// Subtracted from each column, before the factor.
    pub(crate) shift: &'a [f64],
    /// The digits of the shift beyond f64, subtracted from dense values after the shift. Empty if all are zero.
    /// Sparse products omit it, because they lose more digits than these.
    pub(crate) remainder: &'a [f64],
    /// Factor of each column.
    pub(crate) factor: &'a [f64],
}
