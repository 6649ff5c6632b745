//! Sparse matrices (CSR and CSC) and their products with dense blocks.

pub mod cursors;
pub mod lanes;
pub mod lines;
pub mod matrix;
pub mod passes;
pub mod places;
pub mod plan;
pub mod products;
pub mod structure;
pub mod view;
