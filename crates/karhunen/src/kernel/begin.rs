//! Fits of f64 data that begin with an iteration in f32. A pass over the tiles takes half the time there; one product
//! in f64 then gives the residuals and the eigenvalues, whose errors are of the size of the square, and an iteration in
//! f64 continues if a residual exceeds the tolerance.
//!
//! Only fits with the kernel rbf begin so: the squared norms of the rows show how kernel values are rounded. The values
//! of other kernels need other bounds, and values of a given matrix or of a function are not computed here.

use crate::kernel::function::Kernel;
use crate::kernel::options::KernelPca;
use crate::scalar::largest;

/// The most components: the product in f64 multiplies all vectors at once, and every thread has a sum of their width.
const MOST: usize = 100;
/// The most columns of the data. Values of stored tiles, computed once in f64, are computed in both types here, and with
/// more columns that costs more than the passes save; the solver tiles has the bits of stored ones.
const MOST_COLUMNS: usize = 500;
/// Rounding errors of an exponent, relative to gamma times the largest squared norm of a row, and of the value.
const ROUNDINGS: f64 = 8.0;
/// Relative rounding of f32.
const EPSILON: f64 = f32::EPSILON as f64;

/// Tests whether a fit of f64 data with `p` columns by iteration with the tolerance `tol` begins in f32 if its rows
/// allow it. At least twice `MOST` passes must be allowed, of which each of both iterations takes half: so a basis of
/// as many columns as components has room in half of them, whatever the width of a block.
pub(super) fn may_begin(options: &KernelPca, p: usize, tol: f64) -> bool {
    let few = options.n_components.given().is_some_and(|k| k <= MOST);
    let is_rbf = matches!(options.kernel, Kernel::Rbf { .. });
    is_rbf && few && p <= MOST_COLUMNS && options.max_iter >= 2 * MOST && tol >= ROUNDINGS * EPSILON
}

/// Tests whether the rounding errors of the kernel matrix of rows with these squared norms in f32 are within `tol` of
/// a bound on its trace after centring, and so on its largest eigenvalue. `shares` sum to one. The test predicts only if
/// passes in f32 help: the residuals in f64 decide when a fit ends.
pub(super) fn is_accurate(gamma: f64, squared_norms: &[f64], shares: &[f64], tol: f64) -> bool {
    /// Beyond these, products of f32 leave its range.
    const RANGE: std::ops::Range<f64> = 1e-30..1e30;
    let mean: f64 = squared_norms.iter().zip(shares).map(|(norm, share)| norm * share).sum();
    // The mean squared distance is twice the mean squared norm at most, and exp(-gamma d) is convex in d.
    let trace = -(-2.0 * gamma * mean).exp_m1();
    let errors = ROUNDINGS * EPSILON * (1.0 + gamma * largest(squared_norms.iter().copied()));
    RANGE.contains(&gamma) && errors <= tol * trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_must_be_near_the_mean_and_not_too_near() {
        let at = |gamma: f64, norm: f64| is_accurate(gamma, &[norm, 0.5 * norm], &[0.5, 0.5], 1e-5);
        // One and gamma times the norm, in units of 8 roundings: 1e-5 are 10 of them.
        assert!(at(0.5, 2.0) && at(0.5, 16.0) && !at(0.5, 20.0));
        // Nearly equal values of the kernel, whose differences alone remain after centring.
        assert!(at(0.5, 0.2) && !at(0.5, 0.1));
        assert!(!at(0.5, f64::NAN) && !at(0.5, f64::INFINITY) && !at(0.5, 0.0));
        assert!(at(1e-20, 1e20) && !at(1e-31, 1e31) && !at(1e31, 1e-31));
        // A weight of zero leaves a far row out of the mean only.
        assert!(!is_accurate(0.5, &[1e4, 1.0], &[0.0, 1.0], 1e-5));
    }
}
