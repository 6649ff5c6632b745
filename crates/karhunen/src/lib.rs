//! Principal component analysis for the data people really have: weighted, sparse, wide, large, incomplete, nonlinear.
//!
//! An estimator holds options ([`Pca`], [`IncrementalPca`], [`IncompletePca`], [`KernelPca`], [`kernel::Nystrom`]); `fit` returns a model,
//! which transforms new rows and reports how accurate it is. Data are borrowed: dense arrays of any memory order, sparse
//! matrices (CSR and CSC) and blocks of rows are read in place by [`Pca`], and sparse data are never densified. Results
//! have the same bits for every number of threads.
//!
//! **Weighted rows.** A row of weight 3 counts as three equal rows.
//! ```
//! use karhunen::{Dense, Pca, Weights};
//! let x = [2.0_f64, 0.0, 0.0, 1.0, -2.0, 0.0, 0.0, -1.0];
//! let x = Dense::row_major(&x, 4, 2)?;
//! let model = Pca::new(1).fit(&x, &Weights::of_samples(&[3.0, 1.0, 3.0, 1.0]))?;
//! assert!((model.components()[(0, 0)] - 1.0).abs() < 1e-15);
//! assert!((model.explained_variance_ratio()[0] - 24.0 / 26.0).abs() < 1e-15);
//! let scores = model.transform(&x)?; // shape (4, 1)
//! assert!((scores[(0, 0)] - 2.0).abs() < 1e-15);
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! **Sparse data and a share of the variance.** Centring and scaling happen inside the products.
//! ```
//! use karhunen::{NComponents, Pca, Sparse, Weights};
//! let (indptr, indices, values) = ([0u32, 1, 2, 3, 4], [0u32, 1, 0, 1], [2.0, 1.0, -2.0, -1.0]);
//! let x = Sparse::csr(4, 2, &indptr, &indices, &values)?;
//! let pca = Pca { n_components: NComponents::Variance(0.7), ..Pca::default() };
//! assert_eq!(pca.fit(&x, &Weights::default())?.n_components(), 1);
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! **Missing values.** Only observed entries take part; predictions have error bars.
//! ```
//! use karhunen::incomplete::Method;
//! use karhunen::{Dense, IncompletePca, Observed};
//! let x = [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, 2.0, f64::NAN, 6.0, -2.0, -4.0, -6.0];
//! let observed = Observed::from_dense(&Dense::row_major(&x, 4, 3)?)?;
//! let model = IncompletePca { method: Method::Em, ..IncompletePca::new(1) }.fit(&observed)?;
//! assert!((model.predict(2, 1)?.value - 4.0).abs() < 1e-4);
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! **Kernel PCA,** exact or by landmarks, with new rows and pre-images.
//! ```
//! use karhunen::kernel::{Gamma, Kernel};
//! use karhunen::{Dense, KernelPca, Weights};
//! let x = [0.0, 1.0, 2.0, 4.0];
//! let x = Dense::row_major(&x, 4, 1)?;
//! let pca = KernelPca { kernel: Kernel::Rbf { gamma: Gamma::Value(0.5) }, ..KernelPca::new(2) };
//! assert_eq!(pca.fit(&x, &Weights::default())?.transform(&x)?.shape(), (4, 2));
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! **Files and streams.** Whatever yields blocks of rows is a [`Source`], visited as often as a fit needs, or a [`Stream`],
//! fitted in one pass ([`Pca::fit_stream`]); the crate `karhunen-io` reads files as sources.
//! ```
//! use karhunen::source::Block;
//! use karhunen::{Dense, Pca, RowBlocks, Weights};
//! let (first, second) = ([1.0, 2.0, 3.0, 4.0], [5.0, 7.0]);
//! let first = Block::Dense(Dense::row_major(&first, 2, 2)?);
//! let second = Block::Dense(Dense::row_major(&second, 1, 2)?);
//! let model = Pca::new(1).fit(&RowBlocks::new(vec![first, second])?, &Weights::default())?;
//! assert_eq!(model.mean()[0], 3.0);
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! **Parts that merge.** [`moments::Scatter`] of parts of the rows, computed anywhere, adds up to one fit
//! ([`Pca::fit_scatter`]); [`LinOp`] fits a matrix of which only products are known ([`Pca::fit_operator`]).
//! ```
//! use karhunen::moments::Scatter;
//! use karhunen::{Dense, Pca, Run};
//! let (first, second) = ([1.0, 2.0, 3.0, 4.0], [5.0, 7.0]);
//! let mut scatter = Scatter::of(&Dense::row_major(&first, 2, 2)?, None, &Run::default())?;
//! scatter.merge(&Scatter::of(&Dense::row_major(&second, 1, 2)?, None, &Run::default())?)?;
//! assert_eq!(Pca::new(1).fit_scatter(&scatter, None)?.mean()[0], 3.0);
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! **Rows in batches.** [`IncrementalPca`] keeps what a fit needs of the rows so far, exactly or in a sketch of bounded
//! memory; old rows may be forgotten, and fits of parts merge.
//! ```
//! use karhunen::source::Block;
//! use karhunen::{Dense, IncrementalPca, Run};
//! let run = Run::default();
//! let mut fit = IncrementalPca::new(1).start(2)?;
//! fit.push(&Block::Dense(Dense::row_major(&[1.0, 2.0, 3.0, 4.0], 2, 2)?), None, &run)?;
//! fit.push(&Block::Dense(Dense::row_major(&[5.0, 7.0], 1, 2)?), None, &run)?;
//! assert_eq!(fit.model(&run)?.pca().mean()[0], 3.0);
//! # Ok::<(), karhunen::Error>(())
//! ```
//!
//! Every component reports its residual ([`pca::Convergence`]). The design decisions have a page each in the folder
//! `docs` of the repository.

mod affine;
pub mod categorical;
pub mod cluster;
pub mod completion;
pub mod diagnostics;
pub mod incomplete;
pub mod incremental;
pub mod kernel;
pub mod moments;
mod operator;
pub mod pca;
#[cfg(feature = "serde")]
pub mod record;
pub mod resampling;
pub mod rotation;
mod scaling;
pub mod selection;
mod solver;
pub mod source;
mod weights;

// Unit tests need the repository: the file is not in the published crate.
#[cfg(test)]
#[allow(dead_code, reason = "each crate uses a part")]
#[path = "../../karhunen-linalg/src/testing/mod.rs"]
mod testing;

pub(crate) use karhunen_linalg as linalg;
#[doc(inline)]
pub use karhunen_linalg::{choice, error, exec, memory};
pub(crate) use karhunen_linalg::{growth, random, scalar};

/// Matrices that karhunen reads and returns.
pub mod matrix {
    pub use karhunen_linalg::permutation::check_places;
    pub use karhunen_linalg::{Dense, IndexInt, Major, Matrix, Sparse, SparseMatrix, round_to_single};
}

pub use error::{Error, ErrorKind, Result};
pub use exec::{Flow, Observer, Run};
pub use incomplete::{IncompleteModel, IncompletePca, Observed};
pub use incremental::{IncrementalFit, IncrementalPca};
pub use kernel::{KernelModel, KernelPca};
pub use linalg::{Dense, Matrix, Sparse};
pub use operator::{LinOp, Profile, Side, Standard};
pub use pca::{NComponents, Pca, PcaModel};
pub use scalar::Scalar;
pub use source::{RowBlocks, Source, Stream};
pub use weights::{Weighting, Weights};

#[doc(hidden)]
pub use growth::More;

/// The README's Rust is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
