//! Rules that compute gamma from the data.

use crate::error::{Error, OptionValue, Result, options};
use crate::exec::Exec;
use crate::kernel::function::{Gamma, Kernel};
use crate::kernel::rows::{KernelRows, PointPanel, Points, Preparation};
use crate::kernel::sampling::Sample;
use crate::linalg::tiles::pairs::{Pairing, width};
use crate::moments::Moments;
use crate::random::Purpose;

/// The most rows that the rule `median` compares.
const SAMPLE: usize = 1000;

/// The kernel with a number for gamma. `rows` returns any of the `n` rows; `shares` sum to one.
pub(super) fn resolve(
    kernel: &Kernel,
    moments: &Moments,
    shares: &[f64],
    seed: u64,
    rows: impl FnOnce(&[usize]) -> Result<KernelRows>,
) -> Result<Kernel> {
    let p = moments.mean.len() as f64;
    let (name, value) = match kernel.gamma() {
        None | Some(Gamma::Value(_)) => return Ok(*kernel),
        Some(Gamma::PerFeature) => ("auto", 1.0 / p),
        Some(Gamma::Scale) => ("scale", 1.0 / (p * variance_of_all(moments))),
        Some(Gamma::Median) => {
            let sample = Sample::draw(shares, SAMPLE, Purpose::MedianRule.of(seed));
            let median = median_distance(kernel, &rows(&sample.rows)?, &sample.shares, &moments.mean)?;
            ("median", 1.0 / median)
        }
    };
    if value > 0.0 && value.is_finite() {
        return Ok(kernel.with_gamma(value));
    }
    let rule = "the rule finds no spread in the data: all rows are equal, or the spread is beyond the range of f64; \
                give a number";
    Err(Error::option(options::GAMMA, OptionValue::name(name), rule))
}

/// The variance of all entries about their common mean.
fn variance_of_all(moments: &Moments) -> f64 {
    let p = moments.mean.len() as f64;
    let mean = moments.mean.iter().sum::<f64>() / p;
    let about: f64 = moments
        .mean
        .iter()
        .zip(&moments.sum_of_squares)
        .map(|(m, s)| s / moments.weight + (m - mean).powi(2))
        .sum();
    about / p
}

/// The weighted lower median of the distances of rows that differ by more than rounding; zero if none do.
fn median_distance(kernel: &Kernel, rows: &KernelRows, shares: &[f64], mean: &[f64]) -> Result<f64> {
    let shift = if kernel.ignores_shifts() { mean } else { &[] };
    let points = Points::<f64>::new(rows, Preparation { shift, normalize: false }, &Exec::sequential())?;
    let (w, n) = (width::<f64>(), points.n());
    let padded = n.next_multiple_of(w);
    let norms = points.squared_norms();
    // A squared distance is a difference of sums of `p` products, whose rounding errors remain for equal rows; other distances
    // of sparse rows are differences of sums of `p` terms.
    let rounding = (mean.len() + 4) as f64 * f64::EPSILON;
    let is_difference_of_squares = matches!(kernel.pairing(), Pairing::Product);
    let mut distances: Vec<(f64, f64)> = Vec::new();
    let (mut panel, mut tile) = (PointPanel::new(), vec![0.0; w * padded]);
    for start in (0..n).step_by(w) {
        points.distances(kernel, start..start + w, &mut panel, &mut tile);
        for i in start..n.min(start + w) {
            distances.extend((i + 1..n).filter_map(|j| {
                let d = tile[(j / w * w + i - start) * w + j % w];
                let size = if is_difference_of_squares { norms[i] + norms[j] } else { 0.0 };
                (d > rounding * size).then(|| (d, shares[i] * shares[j]))
            }));
        }
    }
    distances.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !is_difference_of_squares && matches!(rows, KernelRows::Sparse { .. }) {
        let largest = distances.last().map_or(0.0, |distance| distance.0);
        distances.retain(|distance| distance.0 > rounding * largest);
    }
    let total: f64 = distances.iter().map(|d| d.1).sum();
    let mut reached = 0.0;
    for (distance, weight) in distances {
        reached += weight;
        // Rounding must not miss a half that is reached in exact arithmetic.
        if reached >= 0.5 * total * (1.0 - 1e-12) {
            return Ok(distance);
        }
    }
    Ok(0.0)
}
