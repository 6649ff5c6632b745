//! Tables of categories and numbers: columns of text become categories, which have codes.

pub(crate) mod coded;
mod columnar;
mod read;
mod table;
#[cfg(test)]
mod tests;

pub use read::read_categories;
pub use table::{CategoryTable, ColumnKinds};
