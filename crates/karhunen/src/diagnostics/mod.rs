//! Reading a fitted model: the quality of representation of samples and features, distances to the model with their
//! limits, and supplementary variables.
//!
//! All functions take a model and rows, or scores; none changes a model. Sums over rows are weighted.

pub(crate) mod distributions;
mod features;
mod incomplete;
mod left_out;
mod limits;
mod new_rows;
mod samples;
mod significance;
mod supplementary;

pub use features::{
    Features, R2, features, incomplete_features, incomplete_r2, r2, rotated_features,
    rotated_incomplete_features,
};
pub use incomplete::{
    IncompleteNewRows, IncompleteSamples, SpeScale, incomplete_row_contributions,
    incomplete_row_contributions_of, incomplete_samples,
};
pub use left_out::{LeftOut, left_out};
pub use limits::{Rows, SpeDistribution, SpeLimit, t2_limit, t2_limit_by};
pub use samples::{
    Distances, RowContributions, Samples, contributions, cos2, row_contributions, row_contributions_of,
    samples, samples_with,
};
pub use significance::{Adjust, adjusted};
pub use supplementary::{Categories, Correlations, categories, correlations};
