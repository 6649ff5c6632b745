//! PCA with missing values: the reference values of `docs/missing-values/reference.md`, and properties of every
//! method.

mod calibration;
mod checkpoints;
mod cross_validation;
mod explained;
mod faded;
mod far;
mod few_entries;
mod fixtures;
mod invariants;
mod mean_prior;
mod online;
mod optima;
mod parts;
mod posteriors;
mod predictions;
mod refusals;
mod row_offsets;
mod sample_weights;
mod scaling;
mod score;
mod small_example;
mod sources;
mod stopping;
mod traces;
mod units;
