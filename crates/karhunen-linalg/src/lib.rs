//! Matrices, products and decompositions, threads, memory and errors behind `karhunen`, without statistics. The only crate that
//! uses faer.
//!
//! The inner loops of the library are compiled here. `karhunen` re-exports what its users need; everything else may change
//! in any version.

// Its documentation is read with the code.
#![allow(rustdoc::private_intra_doc_links)]
// Nobody asks whether a basis or the lines of a matrix are empty.
#![allow(clippy::len_without_is_empty)]

// The name by which the tests of both crates import it.
#[cfg(test)]
extern crate self as karhunen_linalg;

pub mod choice;
pub mod column_map;
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

pub use column_map::ColumnMap;
pub use dense::view::Dense;
pub use error::{Error, ErrorKind, Result};
pub use exec::{Flow, Observer, Run};
pub use growth::More;
pub use matrix::Matrix;
pub use scalar::Scalar;
pub use single::round_to_single;
pub use sparse::matrix::SparseMatrix;
pub use sparse::view::{IndexInt, Indices, Major, Sparse};
