//! Tiles of kernel matrices: sums over pairs of rows, and elementwise functions of them.

pub(crate) mod exp;
pub(crate) mod pairs;
pub(crate) mod products;
pub(crate) mod trig;
