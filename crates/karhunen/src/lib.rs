//! Principal component analysis for the data people really have: weighted, sparse, wide, large.

mod error;
mod exec;
mod linalg;
mod operator;
mod scalar;
mod solver;
mod source;

pub use error::{Error, ErrorKind, Result};
pub use exec::{Exec, Flow, Observer, Unobserved};
pub use linalg::{ColumnMap, Dense, IndexInt, Major, Matrix, Sparse, SparseMatrix};
pub use operator::SymOp;
pub use scalar::Scalar;
pub use source::{Block, RowBlocks, Source};
