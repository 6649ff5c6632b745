//! Kernel PCA: the numbers of other packages, explicit feature maps, and what must hold for every kernel and route.

mod approximate;
mod fixtures;
mod golden;
mod identities;
mod kernels;
mod nystrom;
mod preimages;
mod refusals;
mod routes;
mod trust;
