//! Kernel principal component analysis: principal components in the feature space of a kernel, computed from inner
//! products alone.
//!
//! Schölkopf, Smola & Müller (1998), doi:10.1162/089976698300017467. The weighted and centred kernel matrix
//! `V^(1/2) (K - 1 a' - a 1' + (v'a) 1 1') V^(1/2)`, `a = K v`, has the eigenpairs `(lambda, u)`; only the route
//! `full` forms it. Reported eigenvalues are multiplied by the sum of the weights, as in other packages.

mod approximate;
mod begin;
mod centred;
mod checks;
mod estimator;
mod features;
mod fit;
mod fourier;
mod function;
mod gamma;
mod gram;
mod landmarks;
mod model;
mod nystrom;
mod options;
mod preimage;
#[cfg(feature = "serde")]
mod record;
mod reduced;
mod route;
mod rows;
mod sampling;
mod select;
mod spectrum;
mod stored;
mod tiles;
mod transform;

pub use function::{BlockKernel, Gamma, Kernel};
pub use model::{Approximation, KernelBasis, KernelConvergence, KernelModel, KernelParts, PreImageParts};
pub use nystrom::{Nystrom, NystromMap, NystromParts};
pub use options::{KernelPca, Landmarks, PreImage};
pub use route::KernelRoute;
pub use rows::KernelRows;
