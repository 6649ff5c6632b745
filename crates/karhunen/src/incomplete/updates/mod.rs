//! Exact updates of loadings, scores, means and offsets that several methods share, and the terms of the cost.

pub(crate) mod explained;
pub(crate) mod invariance;
pub(crate) mod learned_variances;
pub(crate) mod loading_posteriors;
pub(crate) mod mean;
pub(crate) mod mean_posteriors;
pub(crate) mod offsets;
pub(crate) mod posterior;
pub(crate) mod precision;
pub(crate) mod preconditioner;
pub(crate) mod prepared;
pub(crate) mod rotate;
pub(crate) mod row_posteriors;
pub(crate) mod score_moments;
pub(crate) mod score_posteriors;
pub(crate) mod score_shift;
pub(crate) mod undetermined;
