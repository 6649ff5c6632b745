//! Kernel PCA: results of other packages, explicit feature maps, and properties of every kernel and route.

mod approximate;
mod fixtures;
mod golden;
mod identities;
mod kernels;
mod last_digits;
mod nystrom;
mod preimages;
mod refusals;
mod routes;
mod trust;
