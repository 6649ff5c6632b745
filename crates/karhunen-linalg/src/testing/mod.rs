//! Matrices and arrays for the tests of this crate and, as a module of its own, of `karhunen`.

pub(crate) mod cases;
pub(crate) mod oracle;
pub(crate) mod test_matrices;
