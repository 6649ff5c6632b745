//! Principal component analysis of data with missing values, at a cost linear in the number of observed entries.
//!
//! The model is `x_ij = mu_j + b_i + a_j . s_i + noise` with optional row offsets `b_i`; only observed entries
//! take part. After T. Raiko, A. Ilin and J. Karhunen, "Principal component analysis for large scale problems with
//! lots of missing values" (2007), doi:10.1007/978-3-540-74958-5_69. Every method minimises one cost, F of
//! `factors/objective.rs`, up to its penalties.

mod cross_validation;
mod data;
mod estimator;
pub(crate) mod factors;
mod fit;
mod methods;
mod model;
mod options;
pub(crate) mod parts;
pub(crate) mod passes;
#[cfg(feature = "serde")]
mod record;
mod rules;
mod start;
mod stream;
mod updates;

pub use cross_validation::{CrossValidated, CrossValidation, CrossValidationTable, FeatureErrors};
pub use data::{ColumnScales, Duplicates, Observed, Triples};
pub use factors::covariances::Covariances;
pub use factors::prior::{NormalPrior, Prior};
pub use fit::checkpoint::{Checkpoint, Checkpoints, Every, Fingerprint, FitContext, NotKept};
pub(crate) use fit::far::far_fills;
pub use model::conformal::Conformal;
pub use model::convergence::{
    FarPredictions, Identifiability, IncompleteConvergence, Overfit, RunSummary, StartAgreement, StopReason,
    TraceEntry,
};
pub use model::dominant::Dominant;
pub(crate) use model::plane::{Plane, Row, dot};
pub use model::row_errors::SpeScale;
pub(crate) use model::row_errors::{ROUNDING, RowDistances, is_rounding};
pub use model::{IncompleteModel, IncompleteParts, Prediction, RowScores, RowTotals};
pub use options::{IncompletePca, MeanMode, MeanPrior, Method, NoiseModel, OnlineRule, Regularization};
#[doc(hidden)]
pub use passes::timed::Timed;
pub use start::Start;
pub use stream::rule::IncompleteStream;
