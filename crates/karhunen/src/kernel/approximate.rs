//! Components in the span of features: kernel values with landmarks (Nyström), or random Fourier features. One
//! pass over the data sums the covariance of the features; memory does not grow with the number of rows.

use std::ops::Range;

use crate::error::{Advice, Error, Result};
use crate::exec::{Accumulate, Exec};
use crate::kernel::features::Features;
use crate::kernel::model::Approximation;
use crate::kernel::rows::KernelRows;
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::linalg::tiles::pairs::{Pairing, add_pair_sums, width};
use crate::scalar::{Scalar, largest_magnitude};
use crate::solver::{IterationOptions, Wanted, solve_matrix};
use crate::source::Source;

/// Number of rows turned into features at a time.
const PANEL: usize = 256;
/// Number of rows with a private sum.
const PIECE: usize = 8192;
/// Number of features in a band of the covariance.
const BAND: usize = 128;
/// Bytes that all private sums together may take.
const PRIVATE_BYTES: usize = 512 << 20;

/// First and second moments of features about a provisional mean.
struct Sums {
    /// Upper bands, each a tile of [`BAND`] rows and the columns from its first row on.
    products: Vec<f64>,
    mean: Vec<f64>,
    /// Weighted sum of the kernel values of the rows with themselves.
    diagonal: f64,
    tile: Vec<f64>,
}

impl Accumulate for Sums {
    fn reset(&mut self) {
        self.products.fill(0.0);
        self.mean.fill(0.0);
        self.diagonal = 0.0;
    }
    fn merge(&mut self, other: &Self) {
        self.products.iter_mut().zip(&other.products).for_each(|(a, b)| *a += b);
        self.mean.iter_mut().zip(&other.mean).for_each(|(a, b)| *a += b);
        self.diagonal += other.diagonal;
    }
}

/// Moments of the features of all rows.
pub(super) struct FeatureMoments {
    pub(super) mean: Vec<f64>,
    /// The covariance about the mean.
    pub(super) covariance: Matrix,
    /// The weighted mean of the kernel values of the rows with themselves.
    pub(super) diagonal: f64,
}

/// The bands of `m` features (a multiple of the strip width).
fn bands(m: usize) -> impl Iterator<Item = Range<usize>> {
    (0..m).step_by(BAND).map(move |start| start..m.min(start + BAND))
}

/// Sums the moments in one pass over `x`; `shares` sum to one. `origin` is near the mean of the features.
pub(super) fn moments<T: Scalar>(
    x: &dyn Source<T>,
    features: &Features<'_, f64>,
    origin: &[f64],
    shares: &[f64],
    exec: &Exec<'_>,
) -> Result<FeatureMoments> {
    let (m, n) = (features.n(), x.shape().0);
    let padded = m.next_multiple_of(width::<f64>());
    let origin: Vec<f64> = origin.iter().copied().chain(std::iter::repeat(0.0)).take(padded).collect();
    let size: usize = bands(padded).map(|band| band.len() * (padded - band.start)).sum();
    let zero =
        || Sums { products: vec![0.0; size], mean: vec![0.0; padded], diagonal: 0.0, tile: Vec::new() };
    let mut total = zero();
    x.visit(&mut |first, block| {
        let n_rows = block.n_rows();
        let part = exec.part(first as f64 / n as f64, (first + n_rows) as f64 / n as f64);
        let workers = PRIVATE_BYTES / (size * size_of::<f64>()).max(1);
        let sums = part.at_most(workers).fold(n_rows.div_ceil(PIECE), zero, |piece, sums: &mut Sums| {
            let last = n_rows.min((piece + 1) * PIECE);
            for start in (piece * PIECE..last).step_by(PANEL) {
                let rows = start..last.min(start + PANEL);
                let loaded = features.load(&block, rows.clone())?;
                let shares = &shares[first + rows.start..first + rows.end];
                let diagonal = features.diagonal(&loaded, rows.len())?;
                sums.diagonal += diagonal.iter().zip(shares).map(|(k, v)| k * v).sum::<f64>();
                sums.tile.resize(loaded.n_left * padded, 0.0);
                features.tile(&loaded, 0..padded, &mut sums.tile)?;
                sums.add(loaded.n_left, &origin, shares, m);
            }
            Ok(())
        })?;
        total.merge(&sums);
        Ok(())
    })?;
    Ok(total.finish(m, padded, &origin))
}

impl Sums {
    /// Adds the rows of the tile.
    fn add(&mut self, n_left: usize, origin: &[f64], shares: &[f64], m: usize) {
        const W: usize = width::<f64>();
        let roots: Vec<f64> =
            shares.iter().map(|v| v.sqrt()).chain(std::iter::repeat(0.0)).take(n_left).collect();
        let Self { tile, mean, products, .. } = self;
        pulp::Arch::new().dispatch(|| {
            let strips = tile.chunks_exact_mut(n_left * W).zip(mean.chunks_exact_mut(W));
            for ((strip, mean), origin) in strips.zip(origin.chunks_exact(W)) {
                for (row, root) in strip.chunks_exact_mut(W).zip(&roots) {
                    for ((value, mean), origin) in row.iter_mut().zip(mean.iter_mut()).zip(origin) {
                        *value = (*value - origin) * root;
                        *mean += *value * root;
                    }
                }
            }
        });
        // Padding of the last strip is not a feature.
        let padded = origin.len();
        mean[m..].fill(0.0);
        if m < padded {
            for row in tile[m / W * W * n_left..].chunks_exact_mut(W) {
                row[m % W..].fill(0.0);
            }
        }
        let mut rest = products.as_mut_slice();
        for band in bands(padded) {
            let (here, later) = rest.split_at_mut(band.len() * (padded - band.start));
            rest = later;
            let left = &tile[band.start * n_left..band.end * n_left];
            add_pair_sums(Pairing::Product, left, &tile[band.start * n_left..], n_left, here);
        }
    }

    fn finish(self, m: usize, padded: usize, origin: &[f64]) -> FeatureMoments {
        let w = width::<f64>();
        let mut covariance = Matrix::zeros(m, m);
        let mut rest = self.products.as_slice();
        for band in bands(padded) {
            let (here, later) = rest.split_at(band.len() * (padded - band.start));
            rest = later;
            for i in band.start..band.end.min(m) {
                for j in i..m {
                    let (r, c) = (i - band.start, j - band.start);
                    let value = here[(c / w * band.len() + r) * w + c % w];
                    covariance[(i, j)] = value - self.mean[i] * self.mean[j];
                }
            }
        }
        covariance.mirror_upper();
        let mean = self.mean[..m].iter().zip(origin).map(|(mean, origin)| mean + origin).collect();
        FeatureMoments { mean, covariance, diagonal: self.diagonal }
    }
}

/// The features of the rows, shape (n_rows, n_features).
pub(super) fn feature_matrix(
    features: &Features<'_, f64>,
    rows: &KernelRows,
    exec: &Exec<'_>,
) -> Result<Matrix> {
    let w = width::<f64>();
    let (n, m) = (rows.shape().0, features.n());
    let padded = m.next_multiple_of(w);
    let mut matrix = Matrix::try_zeros("a matrix of features", n, m)?;
    rows.with_block(|block| {
        exec.part(0.0, 0.0).fill(matrix.as_mut_slice(), 64 * m, |piece, out| {
            let loaded = features.load(block, piece * 64..piece * 64 + out.len() / m)?;
            let n_left = loaded.n_left;
            let mut tile = vec![0.0; n_left * padded];
            features.tile(&loaded, 0..padded, &mut tile)?;
            for (i, row) in out.chunks_exact_mut(m).enumerate() {
                row.iter_mut().enumerate().for_each(|(j, to)| *to = tile[(j / w * n_left + i) * w + j % w]);
            }
            Ok(())
        })
    })?;
    Ok(matrix)
}

/// The inverse square root of the kernel matrix of the landmarks, on its numerical range.
pub(super) struct Whitening {
    /// Shape (m, rank).
    pub(super) map: Matrix,
    /// The largest eigenvalue divided by the smallest that is kept.
    pub(super) condition: f64,
}

impl Whitening {
    /// Drops directions whose eigenvalues are below `sqrt(eps)` of the largest: their features would be amplified
    /// rounding errors.
    ///
    /// # Errors
    /// [`Error::NegativeEigenvalue`]; [`Error::KernelValue`].
    pub(super) fn of(among: &Matrix) -> Result<Self> {
        let m = among.n_rows();
        if let Some(at) = among.as_slice().iter().position(|value| !value.is_finite()) {
            return Err(Error::KernelValue { row: at / m });
        }
        let pairs = eigh(among)?;
        let largest = pairs.values.first().copied().unwrap_or(0.0).max(0.0);
        let smallest = pairs.values.last().copied().unwrap_or(0.0);
        if smallest < -1e-8 * largest.max(f64::MIN_POSITIVE) {
            let (matrix, advice) = ("the kernel matrix of the landmarks", vec![Advice::AnotherKernel]);
            return Err(Error::NegativeEigenvalue { smallest, largest, matrix, advice });
        }
        let level = f64::EPSILON.sqrt() * largest;
        let rank = pairs.values.iter().take_while(|&&value| value > level).count();
        let map = Matrix::from_fn(m, rank, |i, c| pairs.vectors[(i, c)] / pairs.values[c].sqrt());
        let condition = pairs.values[..rank].last().map_or(1.0, |smallest| largest / smallest);
        Ok(Self { map, condition })
    }

    /// The symmetric inverse square root `V D^(-1/2) V'`; the map is `V D^(-1/2)`.
    pub(super) fn symmetric(&self) -> Matrix {
        let (m, rank) = self.map.shape();
        let norm = |c: usize| (0..m).map(|i| self.map[(i, c)].powi(2)).sum::<f64>().sqrt();
        let roots: Vec<f64> = (0..rank).map(|c| norm(c).sqrt()).collect();
        let half = Matrix::from_fn(m, rank, |i, c| self.map[(i, c)] / roots[c]);
        multiply(&half, &half.transposed())
    }
}

/// Components in the span of the features.
pub(super) struct Projected {
    /// Eigenvalues of the weighted, centred approximate kernel matrix, descending; zeros beyond its rank.
    pub(super) values: Vec<f64>,
    /// Features to scores, shape (m, k).
    pub(super) coefficients: Matrix,
    pub(super) offsets: Vec<f64>,
    pub(super) residuals: Vec<f64>,
    /// The sum of all eigenvalues.
    pub(super) total: f64,
    /// The trace of the uncentred approximate kernel matrix.
    pub(super) uncentred: f64,
}

/// The `k` leading components; features are first multiplied by `whitening`, if given.
pub(super) fn project(
    moments: &FeatureMoments,
    whitening: Option<&Whitening>,
    k: usize,
    iteration: &IterationOptions<'_>,
    exec: &Exec<'_>,
) -> Result<Projected> {
    let turned = |a: &Matrix| match whitening {
        Some(w) => t_multiply(&w.map, &multiply(a, &w.map)),
        None => a.clone(),
    };
    let covariance = turned(&moments.covariance);
    let rank = covariance.n_rows();
    let found = k.min(rank);
    let spectrum = solve_matrix(&covariance, Wanted::Count(found), iteration, exec)?;
    let axes = spectrum.components.transposed();
    let inner = whitening.map_or_else(|| axes.clone(), |w| multiply(&w.map, &axes));
    let m = moments.mean.len();
    let coefficients = Matrix::from_fn(m, k, |i, c| if c < found { inner[(i, c)] } else { 0.0 });
    let offsets = (0..k).map(|c| (0..m).map(|i| coefficients[(i, c)] * moments.mean[i]).sum()).collect();
    let pad = |mut values: Vec<f64>| {
        values.resize(k, 0.0);
        values
    };
    let total: f64 = (0..rank).map(|i| covariance[(i, i)]).sum();
    let mean = Matrix::from_fn(m, 1, |i, _| moments.mean[i]);
    let mean = whitening.map_or_else(|| mean.clone(), |w| t_multiply(&w.map, &mean));
    Ok(Projected {
        values: pad(spectrum.values),
        coefficients,
        offsets,
        residuals: pad(spectrum.residuals),
        total,
        uncentred: total + mean.as_slice().iter().map(|x| x * x).sum::<f64>(),
    })
}

impl Projected {
    /// Sets components to zero whose eigenvalues are below `share` of the largest, or within the rounding of
    /// the trace that centring removes, `uncentred - total`. Must be called while `total` belongs to the features.
    pub(super) fn clear_rounding(&mut self, share: f64) {
        /// Number of rounding errors: of a square, a mean and a difference.
        const ROUNDINGS: f64 = 4.0;
        let floor = ROUNDINGS * f64::EPSILON * (self.uncentred - self.total);
        let least = share * self.values.first().copied().unwrap_or(0.0);
        let is_rounding = |value: f64| value < least || value <= floor;
        for (c, value) in self.values.iter_mut().enumerate().filter(|(_, value)| is_rounding(**value)) {
            *value = 0.0;
            self.offsets[c] = 0.0;
            (0..self.coefficients.n_rows()).for_each(|i| self.coefficients[(i, c)] = 0.0);
        }
        if self.values.iter().all(|value| *value == 0.0) {
            // Residuals relative to a rounding error are meaningless.
            self.residuals.fill(0.0);
        }
    }
}

/// Number of rows of the sample that errors are estimated from.
pub(super) const SAMPLE: usize = 500;

/// The spectral norm of the difference of the exact and the approximate matrix on a sample of rows, which
/// represent others in proportion to `shares`. The probability of a row must grow with its weight, because a few
/// heavy rows often determine the norm and a uniform sample misses them.
pub(super) fn estimate(
    exact: &Matrix,
    features: &Matrix,
    whitening: Option<&Whitening>,
    shares: &[f64],
) -> Result<f64> {
    let s = shares.len();
    let z = whitening.map_or_else(|| features.clone(), |w| multiply(features, &w.map));
    let approximate = multiply(&z, &z.transposed());
    let mut difference = Matrix::from_fn(s, s, |i, j| exact[(i, j)] - approximate[(i, j)]);
    let sum: f64 = shares.iter().sum();
    let shares: Vec<f64> = shares.iter().map(|v| v / sum).collect();
    let mean = |i: usize, d: &Matrix| d.row(i).iter().zip(&shares).map(|(d, v)| d * v).sum::<f64>();
    let means: Vec<f64> = (0..s).map(|i| mean(i, &difference)).collect();
    let of_all: f64 = means.iter().zip(&shares).map(|(a, v)| a * v).sum();
    for i in 0..s {
        for j in 0..s {
            let centred = difference[(i, j)] - means[i] - means[j] + of_all;
            difference[(i, j)] = centred * (shares[i] * shares[j]).sqrt();
        }
    }
    let pairs = eigh(&difference)?;
    Ok(largest_magnitude(&pairs.values))
}

/// Bound on the rounding errors in the difference of two kernel matrices: of kernel values of relative precision
/// `epsilon` (from the type of the data) and trace `trace`, and of f64 features, which a whitening amplifies by its
/// condition number. Directions below `sqrt(eps)` are dropped, so the second part never exceeds a few `sqrt(eps)` of
/// the `largest` eigenvalue.
pub(super) fn rounding(epsilon: f64, trace: f64, whitening: Option<&Whitening>, largest: f64) -> f64 {
    let magnified = whitening.map_or(0.0, |w| f64::EPSILON * w.condition * largest);
    4.0 * (epsilon * trace + magnified)
}

/// Least share of the largest eigenvalue that errors are relative to, where random features may have none of it.
const LEAST_SHARE: f64 = 1e-3;

/// Bound and estimate relative to the largest eigenvalue of the kernel matrix, with `rounding` added; the estimate is at most
/// the bound. `largest` is the largest eigenvalue of the approximation: with a bound it is not above that of the
/// matrix, because the difference has no negative eigenvalue; for random features it may be, by the estimate.
pub(super) fn approximation(
    n_features: usize,
    bound: Option<f64>,
    estimate: f64,
    rounding: f64,
    largest: f64,
) -> Approximation {
    let excess = if bound.is_some() { 0.0 } else { estimate + rounding };
    let reference = (largest - excess).max(LEAST_SHARE * largest);
    let relative = |value: f64| if largest > 0.0 { (value + rounding) / reference } else { 0.0 };
    let bound = bound.map(relative);
    let estimate = relative(estimate).min(bound.unwrap_or(f64::INFINITY));
    Approximation { n_features, bound, estimate }
}
