//! The error of a sketch, measured on random vectors that the sketch never used.

use super::SketchState;
use crate::error::Result;
use crate::exec::Exec;
use crate::linalg::Matrix;
use crate::linalg::decomp::basis::tall_t_product;
use crate::linalg::normals::gaussian_rows;
use crate::random::Purpose;

/// `q`, the number of probe vectors.
pub(in crate::incremental) const PROBE: usize = 20;
/// `(q / x)^(1/2)`, with `x` = 8.2604 the quantile of chi-squared with `q` = 20 degrees of freedom that 1%
/// lie below: the true residual is below the measured one times this in 99% of cases.
const BOUND: f64 = 1.556_018;
/// Rounding errors of residuals, relative to the largest variance.
const ROUNDING: f64 = 1e-14;

/// Measured errors of components.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::incremental) struct Errors {
    /// Estimates of `||S w - theta w|| / theta_1`.
    pub(in crate::incremental) residuals: Vec<f64>,
    /// Bounds that hold with probability 99% each.
    pub(in crate::incremental) bounds: Vec<f64>,
}

/// `Theta`: standard normal, shape (p, q). Row j depends on the seed and on j alone.
pub(in crate::incremental) fn probe(p: usize, seed: u64) -> Matrix {
    gaussian_rows(p, PROBE, Purpose::SketchProbe.of(seed))
}

/// The errors of the first `k` directions `w`. As `S~ w = theta w`, each entry of `w'(T / s - S~ Theta)` is
/// normal with mean zero and variance `||S w - theta w||^2`, where `T / s = S Theta`. No bound exceeds that
/// of all that was cut off.
pub(super) fn errors(state: &SketchState, theta: &Matrix, k: usize, exec: &Exec<'_>) -> Result<Errors> {
    let weight = state.moments.weight;
    let largest = state.squares.first().copied().unwrap_or(0.0) / weight;
    if k == 0 {
        return Ok(Errors { residuals: Vec::new(), bounds: Vec::new() });
    }
    let vectors = state.directions.columns(0..k);
    let exact = tall_t_product(&vectors, &state.probe, &exec.part(0.0, 0.5))?;
    let plain = tall_t_product(&vectors, theta, &exec.part(0.5, 1.0))?;
    let most = (state.cut_off / weight / largest).max(ROUNDING);
    let residuals: Vec<f64> = (0..k)
        .map(|c| {
            let value = state.squares[c] / weight;
            let error = |(exact, plain): (&f64, &f64)| ((exact / weight - value * plain) / largest).powi(2);
            let squares: f64 = exact.row(c).iter().zip(plain.row(c)).map(error).sum();
            (squares / PROBE as f64).sqrt()
        })
        .collect();
    // A residual above all that was cut off shows errors of another kind.
    let bound = |r: &f64| if *r > most { BOUND * r } else { (BOUND * r).min(most) };
    let bounds = residuals.iter().map(bound).collect();
    Ok(Errors { residuals, bounds })
}
