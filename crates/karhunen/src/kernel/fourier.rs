//! Random Fourier features: `k(x - y)` is the mean of `cos(w'(x - y))` over frequencies `w` drawn from the
//! kernel's spectral density. Rahimi & Recht (2007).

use rand_distr::{Cauchy, Distribution, StandardNormal};

use crate::error::{Error, OptionValue, Result, options};
use crate::kernel::function::{Gamma, Kernel};
use crate::linalg::Matrix;
use crate::random::Purpose;

/// Frequencies for a kernel, shape (n_frequencies, n_features).
///
/// # Errors
/// [`Error::Option`] for kernels that are not functions of differences.
pub(super) fn frequencies(
    kernel: &Kernel,
    n_frequencies: usize,
    n_features: usize,
    seed: u64,
) -> Result<Matrix> {
    let mut rng = Purpose::Fourier.of(seed).generator();
    let refuse = || {
        Error::option(
            options::SOLVER,
            OptionValue::name("fourier"),
            "random Fourier features are for kernels of differences: rbf and laplacian",
        )
    };
    match *kernel {
        // exp(-g d^2) is the characteristic function of normal frequencies of variance 2 g.
        Kernel::Rbf { gamma: Gamma::Value(gamma) } => {
            let deviation = (2.0 * gamma).sqrt();
            Ok(Matrix::from_fn(n_frequencies, n_features, |_, _| {
                let x: f64 = StandardNormal.sample(&mut rng);
                deviation * x
            }))
        }
        // exp(-g |d|) is the characteristic function of Cauchy frequencies of scale g.
        Kernel::Laplacian { gamma: Gamma::Value(gamma) } => {
            let cauchy = Cauchy::new(0.0, gamma).map_err(|_| refuse())?;
            Ok(Matrix::from_fn(n_frequencies, n_features, |_, _| cauchy.sample(&mut rng)))
        }
        _ => Err(refuse()),
    }
}
