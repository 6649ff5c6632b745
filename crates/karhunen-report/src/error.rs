//! Failures of a report.

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library refused the model or the rows.
    #[error(transparent)]
    Library(#[from] karhunen::Error),
    /// There are fewer or more names than things to name.
    #[error("{found} names of {what} are given, and there are {expected} {what}; give one name for each")]
    Names {
        /// `features` or `samples`.
        what: &'static str,
        /// Number of names.
        found: usize,
        /// Number of features or samples.
        expected: usize,
    },
    /// Weights of rows where there are no limits.
    #[error(
        "sample_weights have no effect on the page of a kernel model, whose rows have no limits; leave them out"
    )]
    Weights,
    /// The template of the page could not be filled: an error of this crate.
    #[error("the page of the report cannot be made: {0}")]
    Page(#[from] minijinja::Error),
    /// The numbers of the page could not be written as JSON: an error of this crate.
    #[error("the numbers of the report cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}
