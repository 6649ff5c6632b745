//! Tiles of kernel matrices: products of rows with rows, and elementwise functions of them.

pub(crate) mod exp;
pub(crate) mod pairs;
pub(crate) mod products;
pub(crate) mod trig;
