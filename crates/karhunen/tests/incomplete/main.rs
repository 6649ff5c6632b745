//! PCA with missing values: the numbers of the specification, and what must hold for every method.

mod fixtures;
mod optima;
mod traces;
