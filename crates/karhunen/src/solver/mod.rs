//! Eigenpairs and singular triplets of matrices. Never hears of means or samples.

pub(crate) mod block_krylov;
pub(crate) mod pace;
