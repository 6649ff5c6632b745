//! Tiles of kernel matrices: sums over pairs of rows, and elementwise functions of them.

pub mod exp;
pub mod pairs;
pub mod products;
pub mod trig;
