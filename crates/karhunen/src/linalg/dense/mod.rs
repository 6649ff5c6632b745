//! Dense matrices and their products.

pub(crate) mod narrow;
pub(crate) mod pack;
pub(crate) mod panel;
pub(crate) mod pieces;
pub(crate) mod products;
pub(crate) mod rank_k;
pub(crate) mod residual;
pub(crate) mod small;
pub(crate) mod square;
pub(crate) mod symmetric;
pub(crate) mod view;
