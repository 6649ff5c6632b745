//! Principal component analysis for the data people really have: weighted, sparse, wide, large.
//!
//! [`Pca`] holds the options and fits a [`PcaModel`] to any [`Source`]: [`Dense`] arrays of any memory order, [`Sparse`]
//! matrices (CSR and CSC), or [`RowBlocks`] of them. Nothing is copied, and sparse data are never densified.
//!
//! ```
//! use karhunen::{Dense, Pca, Weights};
//! let x = [2.0, 0.0, 0.0, 1.0, -2.0, 0.0, 0.0, -1.0];
//! let model = Pca::new(1).fit(&Dense::row_major(&x, 4, 2)?, &Weights::default())?;
//! assert!((model.components()[(0, 0)] - 1.0).abs() < 1e-15);
//! assert!((model.explained_variance_ratio()[0] - 0.8).abs() < 1e-15);
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! Results have the same bits for every number of threads. Every component reports its residual ([`Convergence`]). The
//! design decisions have a page each in the folder `docs` of the repository.

mod affine;
mod choice;
pub mod error;
mod exec;
mod incomplete;
mod kernel;
mod linalg;
pub mod memory;
mod moments;
mod operator;
mod pca;
mod random;
#[cfg(feature = "serde")]
mod record;
mod scalar;
mod solver;
mod source;
mod weights;

pub use choice::{Choice, Named};
pub use error::{Error, ErrorKind, Result};
pub use exec::{Exec, Flow, Iteration, Observer, Unobserved};
pub use incomplete::{
    Checkpoint, Checkpoints, Covariances, CrossValidated, CrossValidation, CrossValidationTable, Duplicates,
    Every, FarPredictions, Fingerprint, FitContext, IncompleteConvergence, IncompleteModel, IncompleteParts,
    IncompletePca, IncompleteStream, MeanMode, MeanPrior, Method, NotKept, Observed, OnlineRule, Prediction,
    Prior, Regularization, RowScores, RunSummary, Start, StopReason, TraceEntry, Triples,
};
pub use kernel::{
    Approximation, BlockKernel, Gamma, Kernel, KernelBasis, KernelConvergence, KernelModel, KernelParts,
    KernelPca, KernelRoute, KernelRows, Landmarks, Nystrom, NystromMap, NystromParts, PreImage,
    PreImageParts,
};
pub use linalg::{Dense, IndexInt, Major, Matrix, Sparse, SparseMatrix};
pub use moments::{Moments, Scatter};
pub use operator::LinOp;
pub use pca::{AboutMean, Convergence, ModelParts, NComponents, Pca, PcaModel, Transform};
#[cfg(feature = "serde")]
pub use record::{Array, Number, Numbers, Record, Recorded};
pub use scalar::Scalar;
pub use solver::Route;
pub use source::{Batch, Block, Passes, RowBlocks, Source, Stream};
pub use weights::{Weighting, Weights};

/// The README's Rust is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
