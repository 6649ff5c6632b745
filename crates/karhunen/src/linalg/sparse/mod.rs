//! Sparse matrices (CSR and CSC) and their products with dense blocks.

#[cfg(test)]
pub(crate) mod cases;
pub(crate) mod cursors;
pub(crate) mod lanes;
pub(crate) mod lines;
pub(crate) mod matrix;
pub(crate) mod passes;
pub(crate) mod places;
pub(crate) mod plan;
pub(crate) mod products;
pub(crate) mod structure;
pub(crate) mod view;
