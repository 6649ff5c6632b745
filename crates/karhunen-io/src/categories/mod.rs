//! Tables of categories and numbers: columns of text become categories, which have codes.

pub(crate) mod coded;
mod read;
mod table;

pub use read::read_categories;
pub use table::{CategoryTable, ColumnKinds};
