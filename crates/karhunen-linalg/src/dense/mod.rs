//! Dense matrices and their products.

pub mod narrow;
pub mod pack;
pub mod panel;
pub mod pieces;
pub mod products;
pub mod rank_k;
pub mod residual;
pub mod small;
pub mod square;
pub mod symmetric;
pub mod view;
