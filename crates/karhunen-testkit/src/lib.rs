//! Test oracles for karhunen: a slow, direct principal component analysis, generators of matrices with known
//! solutions, and one comparison of numbers. Shares no code with karhunen.
//!
//! A matrix is a `Vec` of rows (`Rows`) here; [`row_major`] and [`column_major`] lay it out for the code under test.

mod compare;
mod incomplete;
mod jacobi;
mod makers;
mod oracle;
mod ratings;
mod rows;
mod saved;
mod sparse;

pub use compare::{
    Mismatch, Tolerance, assert_close, assert_components, check_close, check_components, largest,
    largest_difference, subspace_sine,
};
pub use incomplete::{Incomplete, SplitMix64};
pub use jacobi::{Svd, svd};
pub use makers::{
    Planted, column_major, extreme_weights, gaussian, integer_weights, planted, power_law, repeat_rows,
    row_major, to_f32, uniform_weights, with_constant_column,
};
pub use oracle::{Fit, Options, Weighting, weighted_pca};
pub use ratings::{Catalogue, Ratings};
pub use rows::Rows;
pub use saved::without_times;
pub use sparse::{Columns, SparseArrays, sparse};

/// The exit codes listed by `karhunen --help`, without the codes of signals.
pub const EXIT_CODES: [i32; 6] = [0, 2, 3, 4, 5, 6];
