//! Principal component analysis for the data people really have: weighted, sparse, wide, large.

mod affine;
mod error;
mod exec;
mod linalg;
mod moments;
mod operator;
mod pca;
mod scalar;
mod solver;
mod source;
mod weights;

pub use error::{Error, ErrorKind, Result};
pub use exec::{Exec, Flow, Observer, Unobserved};
pub use linalg::{ColumnMap, Dense, IndexInt, Major, Matrix, Sparse, SparseMatrix};
pub use moments::Moments;
pub use operator::SymOp;
pub use pca::{Convergence, ModelParts, NComponents, Pca, PcaModel, Transform};
pub use scalar::Scalar;
pub use solver::Route;
pub use source::{Block, RowBlocks, Source};
pub use weights::{Weighting, Weights};
