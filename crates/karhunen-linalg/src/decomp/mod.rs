//! Decompositions and solutions of linear systems.

pub mod basis;
pub mod cholesky;
pub mod eigh;
pub mod narrow_qr;
pub mod orthonormal;
pub mod polar;
pub mod svd;
pub mod triangular;
pub mod tridiagonal;
pub mod tsqr;
