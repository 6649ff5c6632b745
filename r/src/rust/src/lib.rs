//! The engine of the R package: converts arguments, calls the library, converts results.
//!
//! It contains no numerics. R's vectors are borrowed and not copied. Fitted models go to R as lists of plain vectors,
//! so that `saveRDS` keeps them.

mod call;
mod data;
mod errors;
mod incomplete;
mod kernel;
mod options;
mod pca;
mod read;
mod record;
mod results;
mod run;

use karhunen::memory::HugePages;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;
