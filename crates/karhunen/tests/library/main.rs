//! The library through its public interface, as one program: `diagnostics`, `fits` of complete data, `incomplete` data,
//! `incremental` fits and `kernel` components.

mod diagnostics;
mod fits;
mod incomplete;
mod incremental;
mod kernel;
