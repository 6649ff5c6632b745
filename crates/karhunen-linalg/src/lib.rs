//! Matrices, products and decompositions, threads, memory and errors behind `karhunen`, without statistics. The only crate that
//! uses faer.
//!
//! The inner loops of the library are compiled here. `karhunen` re-exports what its users need; everything else may change
//! in any version.

// Nobody asks whether a basis or the lines of a matrix are empty.
#![allow(clippy::len_without_is_empty)]

// The name by which the tests of both crates import it.
#[cfg(test)]
extern crate self as karhunen_linalg;

pub mod choice;
pub mod decomp;
pub mod dense;
pub mod error;
pub mod exec;
pub mod finite;
pub mod growth;
pub mod matrix;
pub mod memory;
pub mod normals;
pub mod permutation;
pub mod prefetch;
pub mod random;
pub mod scalar;
pub mod simd;
pub mod single;
pub mod sparse;
#[cfg(test)]
mod testing;
pub mod tiles;

pub use dense::view::Dense;
pub use error::{Error, ErrorKind, Result};
pub use exec::{Flow, Observer, Run};
pub use growth::More;
pub use matrix::Matrix;
pub use scalar::Scalar;
pub use single::round_to_single;
pub use sparse::matrix::SparseMatrix;
pub use sparse::view::{IndexInt, Indices, Major, Sparse};

/// A map of columns, `x_j -> (x_j - shift_j) * factor_j`, applied to rows as they are read: centring and scaling.
/// All slices have one entry per column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnMap<'a> {
    /// Subtracted from each column, before the factor.
    pub shift: &'a [f64],
    /// The digits of the shift beyond f64, subtracted from dense values after the shift. Empty if all are zero.
    /// Sparse products omit it, because they lose more digits than these.
    pub remainder: &'a [f64],
    /// Factor of each column.
    pub factor: &'a [f64],
}
