//! Principal component analysis of data with missing values, at a cost linear in what was observed.
//!
//! The model is `x_ij = mu_i + a_i . s_j + noise`, with an offset `b_j` of each row where it is asked for; only observed
//! entries take part. After T. Raiko, A. Ilin and
//! J. Karhunen, "Principal component analysis for large scale problems with lots of missing values" (2007),
//! doi:10.1007/978-3-540-74958-5_69. Every method minimises one cost, F of [`problem`], up to its penalties.

mod affine;
mod arrays;
mod check_parts;
mod checkpoint;
mod cholesky;
mod covariances;
mod cross_validation;
mod error_bars;
mod estimator;
mod explained;
mod factors;
mod far;
mod finish;
mod fit;
mod gauge;
mod keeper;
mod kernels;

mod least_norm;
mod left_out;
mod mean;
mod methods;
mod model;
mod need;
mod new_rows;
mod observed;
mod offsets;
mod online;
mod options;
mod pace;
mod path;
mod posterior;
mod predict;
mod prepared;
mod prior;
mod problem;
mod recent;
mod rotate;
mod rules;
mod run;
mod score;
mod score_moments;
mod signals;
mod start;
mod stopping;
mod stream;
mod transform;
mod unseen;

pub use checkpoint::{Checkpoint, Checkpoints, Every, Fingerprint, FitContext, NotKept};
pub use covariances::Covariances;
pub use cross_validation::{CrossValidated, CrossValidation, CrossValidationTable};
pub use far::FarPredictions;
pub use model::{IncompleteModel, IncompleteParts, Prediction, RowScores};
pub use observed::{Duplicates, Observed, Triples};
pub use online::IncompleteStream;
pub use options::{IncompletePca, MeanMode, MeanPrior, Method, OnlineRule, Regularization};
pub use prior::Prior;
pub use start::Start;
pub use stopping::{IncompleteConvergence, RunSummary, StopReason, TraceEntry};
