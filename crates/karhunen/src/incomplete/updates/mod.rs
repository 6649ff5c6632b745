//! Loadings, scores, means and offsets of a fit, the cost that they are judged by, and exact updates of each that
//! several methods share.

pub(crate) mod explained;
pub(crate) mod invariance;
pub(crate) mod loading_posteriors;
pub(crate) mod mean;
pub(crate) mod offsets;
pub(crate) mod posterior;
pub(crate) mod preconditioner;
pub(crate) mod prepared;
pub(crate) mod rotate;
pub(crate) mod score_moments;
pub(crate) mod score_posteriors;
pub(crate) mod score_shift;
