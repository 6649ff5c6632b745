//! Passes over the observed entries. Each walks rows or columns, writes one factor, and reads rows of the other.

pub(crate) mod full_lines;
pub(crate) mod gradient;
pub(crate) mod least_norm;
pub(crate) mod line_search;
pub(crate) mod moments;
pub(crate) mod normal;
pub(crate) mod residuals;
mod rows;
#[cfg(test)]
mod tests;
pub(crate) mod timed;
pub(crate) mod variances;

/// Number of entries whose products are summed in the type of the data before the sum is added in `f64`.
const RUN: usize = 256;
