//! Principal components of data on a GPU. The data are copied once; then only blocks of a few vectors, or one
//! covariance matrix, travel between the GPU and the host, where [`karhunen::Pca::fit_operator`] iterates.
//!
//! The libraries of CUDA 12 or 13 (the driver and cuBLAS; cuSPARSE for sparse data) are loaded at run time:
//! nothing is linked, and without them [`Device::open`] returns an error that says what was looked for. A
//! static program loads no libraries; nor does one without the feature `cuda`, a default.
//!
//! **Accuracy.** All products, means and variances are computed in f64, also for f32 data, which stay
//! f32 in the memory of the device and are converted panel by panel. Dense values are centred before they are
//! multiplied, as on the host. Sparse products are corrected by rank-one terms; the residuals include the
//! digits that this costs.
//!
//! ```no_run
//! use karhunen::{Dense, Pca, Run, Weights};
//! use karhunen_device::Device;
//! let x = [1.0f32, 2.0, 3.0, 4.0, 5.0, 7.0];
//! let x = Dense::row_major(&x, 3, 2)?;
//! let device = Device::open(&[])?;
//! let matrix = device.copy(&x)?;
//! let model = Pca::new(1).fit_operator_weighted(&matrix, &Weights::default(), &Run::default())?;
//! assert_eq!(model.n_components(), 1);
//! # Ok::<(), karhunen::Error>(())
//! ```

mod backend;
mod error;

#[cfg_attr(any(target_feature = "crt-static", not(feature = "cuda")), path = "absent.rs")]
mod cuda;

pub use backend::Backend;
pub use cuda::{Device, DeviceMatrix};
pub use error::DeviceError;

use std::path::PathBuf;

use karhunen::error::{OptionValue, options};
use karhunen::pca::Route;
use karhunen::{Error, Pca, PcaModel, Result, Run, Scalar, Source, Weights};

/// Fits principal components to `x` on the first GPU. `folders` are searched for libraries that the system
/// does not find.
///
/// `x` is visited once, to copy it. The model equals [`Pca::fit_with`] to rounding, with the dtype of
/// `x`.
///
/// # Errors
/// As [`Pca::fit_operator_weighted`]; [`Error::Device`] if there is no device or its memory is too
/// small; [`Error::Option`] for the solver svd and for scaling by ranges, before a device is
/// looked for.
pub fn fit<T: Scalar>(
    pca: &Pca,
    x: &dyn Source<T>,
    weights: &Weights<'_>,
    folders: &[PathBuf],
    run: &Run<'_>,
) -> Result<PcaModel> {
    check(pca)?;
    let device = Device::open(folders)?;
    let matrix = run.in_pool(|| device.copy(x))??;
    pca.fit_operator_weighted(&matrix, weights, run)
}

/// Refuses options that a device has no use for.
///
/// # Errors
/// [`Error::Option`].
pub fn check(pca: &Pca) -> Result<()> {
    if pca.solver == Some(Route::Svd) {
        let rule = "a device forms products, no triangle of the rows: use covariance, gram or block-krylov";
        return Err(Error::option(options::SOLVER, OptionValue::name("svd"), rule));
    }
    if pca.scale == karhunen::pca::Scaling::Range {
        let rule = "a device sums, and looks for no smallest and largest values: give the ranges as scales";
        return Err(Error::option(options::SCALE, OptionValue::name("range"), rule));
    }
    Ok(())
}
