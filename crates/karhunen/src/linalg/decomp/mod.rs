//! Decompositions and solutions of linear systems.

pub(crate) mod basis;
pub(crate) mod cholesky;
pub(crate) mod eigh;
pub(crate) mod narrow_qr;
pub(crate) mod orthonormal;
pub(crate) mod polar;
pub(crate) mod svd;
pub(crate) mod triangular;
pub(crate) mod tridiagonal;
pub(crate) mod tsqr;
