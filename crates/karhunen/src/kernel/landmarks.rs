//! Landmark selection for the Nyström approximation.

use crate::error::Result;
use crate::exec::Exec;
use crate::kernel::approximate::{Whitening, feature_matrix};
use crate::kernel::features::Features;
use crate::kernel::function::{BlockKernel, Kernel};
use crate::kernel::options::Landmarks;
use crate::kernel::rows::{KernelRows, Preparation};
use crate::kernel::sampling::{Sample, first_to_arrive, uniform, without_replacement};
use crate::linalg::Matrix;
use crate::linalg::decomp::eigh::eigh;
use crate::linalg::dense::small::{multiply, t_multiply};
use crate::random::Purpose;
use crate::scalar::Scalar;
use crate::source::Source;

/// Number of candidate rows that the rules choose from.
pub(super) fn n_candidates(n_landmarks: usize) -> usize {
    (8 * n_landmarks).max(5_000)
}

/// Kernel and preparation that compare rows.
#[derive(Clone, Copy)]
pub(super) struct Comparison<'a> {
    pub(super) kernel: Kernel,
    pub(super) function: Option<&'a dyn BlockKernel>,
    pub(super) preparation: Preparation<'a>,
}

impl<'a> Comparison<'a> {
    /// Kernel values with `rows`, as features.
    pub(super) fn with(&self, rows: &'a KernelRows, exec: &Exec<'_>) -> Result<Features<'a, f64>> {
        Features::of_rows(self.kernel, rows, self.function, self.preparation, exec)
    }
}

/// Rule, number and seed of the landmarks.
#[derive(Clone, Copy, Debug)]
pub(super) struct LandmarkChoice {
    pub(super) rule: Landmarks,
    pub(super) m: usize,
    pub(super) seed: u64,
}

/// Landmarks among the rows of positive weight: their indices, ascending, and the rows.
pub(super) fn among<T: Scalar>(
    choice: LandmarkChoice,
    x: &dyn Source<T>,
    compare: &Comparison<'_>,
    shares: &[f64],
    exec: &Exec<'_>,
) -> Result<(Vec<usize>, KernelRows)> {
    let LandmarkChoice { rule, m, seed } = choice;
    let Sample { rows, shares: weights } =
        Sample::draw(shares, n_candidates(m), Purpose::LandmarkCandidates.of(seed));
    let candidates = KernelRows::gather(x, &rows)?;
    let features = compare.with(&candidates, exec)?;
    let chosen = choose(rule, m, &candidates, &features, &weights, seed, exec)?;
    let landmarks = candidates.select(&chosen);
    Ok((chosen.into_iter().map(|i| rows[i]).collect(), landmarks))
}

/// The indices of `m` landmarks among the candidate rows, ascending. `features` are the kernel values with the
/// candidates, `weights` their weights.
fn choose(
    rule: Landmarks,
    m: usize,
    candidates: &KernelRows,
    features: &Features<'_, f64>,
    weights: &[f64],
    seed: u64,
    exec: &Exec<'_>,
) -> Result<Vec<usize>> {
    let n = weights.len();
    if m >= n {
        return Ok((0..n).collect());
    }
    let mut chosen = match rule {
        Landmarks::Uniform => Sample::draw(weights, m, Purpose::Landmarks.of(seed)).rows,
        Landmarks::KMeansPlusPlus => by_distance(m, candidates, features, weights, seed, exec)?,
        Landmarks::LeverageScores => by_leverage(m, candidates, features, weights, seed, exec)?,
    };
    chosen.sort_unstable();
    Ok(chosen)
}

/// The kernel value of every candidate with itself.
fn diagonal(candidates: &KernelRows, features: &Features<'_, f64>) -> Result<Vec<f64>> {
    let n = candidates.shape().0;
    candidates.with_block(|block| features.diagonal(&features.load(block, 0..n)?, n))
}

fn by_distance(
    m: usize,
    candidates: &KernelRows,
    features: &Features<'_, f64>,
    weights: &[f64],
    seed: u64,
    exec: &Exec<'_>,
) -> Result<Vec<usize>> {
    let mut rng = Purpose::Landmarks.of(seed).generator();
    let diagonal = diagonal(candidates, features)?;
    let mut nearest = vec![f64::INFINITY; weights.len()];
    let mut masses: Vec<f64> = weights.to_vec();
    let mut chosen = Vec::with_capacity(m);
    while chosen.len() < m {
        let total: f64 = masses.iter().sum();
        if total <= 0.0 {
            // The other candidates equal landmarks.
            break;
        }
        let mut target = uniform(&mut rng) * total;
        let mut next = None;
        for (i, mass) in masses.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            next = Some(i);
            target -= mass;
            if target < 0.0 {
                break;
            }
        }
        let Some(next) = next else { break };
        chosen.push(next);
        let values = feature_matrix(features, &candidates.select(&[next]), exec)?;
        for (i, value) in values.row(0).iter().enumerate() {
            nearest[i] = nearest[i].min((diagonal[i] + diagonal[next] - 2.0 * value).max(0.0));
            masses[i] = weights[i] * nearest[i];
        }
        masses[next] = 0.0;
        chosen.iter().for_each(|&i| masses[i] = 0.0);
        exec.report(0.5 * chosen.len() as f64 / m as f64)?;
    }
    Ok(chosen)
}

fn by_leverage(
    m: usize,
    candidates: &KernelRows,
    features: &Features<'_, f64>,
    weights: &[f64],
    seed: u64,
    exec: &Exec<'_>,
) -> Result<Vec<usize>> {
    let first = without_replacement(weights.len(), m, &mut Purpose::LeverageSample.of(seed).generator());
    // Kernel values of all candidates with the first sample, then their coordinates in its span.
    let values = feature_matrix(features, &candidates.select(&first), exec)?.transposed();
    let among = Matrix::from_fn(m, m, |i, j| values[(first[i], j)]);
    let whitening = Whitening::of(&among)?;
    let coordinates = multiply(&values, &whitening.map);
    let gram = t_multiply(&coordinates, &coordinates);
    let pairs = eigh(&gram)?;
    let diagonal = diagonal(candidates, features)?;
    // The ridge for rank m / 2: the mean of the discarded directions.
    let half = (m / 2).max(1);
    let kept: f64 = pairs.values.iter().take(half).sum();
    let ridge = ((diagonal.iter().sum::<f64>() - kept) / half as f64).max(pairs.values[0] * 1e-12);
    let rotated = multiply(&coordinates, &pairs.vectors);
    let score = |i: usize| {
        let row = rotated.row(i);
        let inside: f64 = row.iter().zip(&pairs.values).map(|(z, d)| z * z / (d.max(0.0) + ridge)).sum();
        let outside = (diagonal[i] - row.iter().map(|z| z * z).sum::<f64>()).max(0.0) / ridge;
        (inside + outside).min(1.0) * weights[i]
    };
    let scores: Vec<f64> = (0..weights.len()).map(|i| score(i).max(f64::MIN_POSITIVE)).collect();
    Ok(first_to_arrive(&scores, m, &mut Purpose::Landmarks.of(seed).generator()).0)
}
