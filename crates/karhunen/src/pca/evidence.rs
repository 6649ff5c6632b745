//! The number of components by the evidence of probabilistic PCA, with Laplace's method, after Minka (2000),
//! "Automatic choice of dimensionality for PCA", Advances in Neural Information Processing Systems 13, equation
//! 77.

use std::f64::consts::{LN_2, PI, TAU};

/// The number of components of largest evidence, from 1 to `p - 1` (1 if `p` is 1), for all `p` variances of `n`
/// observations, in descending order. Takes time proportional to `p^2`.
pub(crate) fn most_probable_dimension(variances: &[f64], n: f64) -> usize {
    most_probable(&evidences(variances, n))
}

/// The number of components of the largest of the evidences of 1, 2, … components.
pub(crate) fn most_probable(evidences: &[f64]) -> usize {
    let (mut best, mut best_evidence) = (1, f64::NEG_INFINITY);
    for (evidence, rank) in evidences.iter().zip(1..) {
        if *evidence > best_evidence {
            (best, best_evidence) = (rank, *evidence);
        }
    }
    best
}

/// The logarithms of the evidence of 1, 2, … components, up to `p - 1` or the number of variances that are not zero.
pub(crate) fn evidences(variances: &[f64], n: f64) -> Vec<f64> {
    let p = variances.len();
    let largest = variances.first().copied().unwrap_or(0.0);
    let mut evidences = Vec::new();
    let mut sums = Sums::default();
    for rank in 1..p {
        let variance = variances[rank - 1];
        if variance <= largest * f64::EPSILON {
            break;
        }
        sums.add(variances, rank - 1);
        evidences.push(sums.evidence(variances, rank, n));
    }
    evidences
}

/// Sums that the evidences of successive ranks share.
#[derive(Default)]
struct Sums {
    /// Logarithms of the kept variances.
    logs: f64,
    /// `ln(2^-1 Gamma((p - i) / 2) pi^(-(p - i) / 2))` over the kept `i`: the volume of orthonormal frames.
    frames: f64,
    /// `ln((l_i - l_j) (1 / l_j - 1 / l_i))` over pairs of kept variances.
    kept_pairs: f64,
    /// `ln(l_i - l_j)` over pairs of a kept variance and a discarded one.
    mixed_pairs: f64,
    /// Number of pairs of both kinds.
    n_pairs: f64,
}

impl Sums {
    /// Keeps the variance of index `r`, the largest discarded one.
    fn add(&mut self, variances: &[f64], r: usize) {
        let (p, variance) = (variances.len(), variances[r]);
        for kept in &variances[..r] {
            let gap = log_gap(*kept, variance);
            self.kept_pairs += 2.0 * gap - kept.ln() - variance.ln();
            self.mixed_pairs -= gap;
        }
        self.mixed_pairs += variances[r + 1..].iter().map(|rest| log_gap(variance, *rest)).sum::<f64>();
        self.n_pairs += (p - 1 - r) as f64;
        self.logs += variance.ln();
        self.frames += log_gamma_of_half(p - r) - (p - r) as f64 / 2.0 * PI.ln() - LN_2;
    }

    /// The logarithm of the evidence of `rank` components, those kept so far.
    fn evidence(&self, variances: &[f64], rank: usize, n: f64) -> f64 {
        let (p, k) = (variances.len() as f64, rank as f64);
        let mean = variances[rank..].iter().sum::<f64>() / (p - k);
        let noise = mean.max(variances[0] * f64::EPSILON);
        let mixed: f64 = variances[..rank].iter().map(|kept| log_gap(1.0 / noise, 1.0 / kept)).sum();
        let curvature = self.kept_pairs + self.mixed_pairs + mixed * (p - k) + self.n_pairs * n.ln();
        let n_parameters = p * k - k * (k + 1.0) / 2.0;
        self.frames - n / 2.0 * (self.logs + (p - k) * noise.ln()) + (n_parameters + k) / 2.0 * TAU.ln()
            - curvature / 2.0
            - k / 2.0 * n.ln()
    }
}

/// `ln(a - b)` for `a >= b`; equal numbers are separated by one unit of rounding.
fn log_gap(a: f64, b: f64) -> f64 {
    (a - b).max(a * f64::EPSILON).ln()
}

/// `ln Gamma(m / 2)`, from `Gamma(1/2) = sqrt(pi)`, `Gamma(1) = 1` and `Gamma(x + 1) = x Gamma(x)`.
fn log_gamma_of_half(m: usize) -> f64 {
    let (mut x, mut log) = if m % 2 == 1 { (0.5, PI.ln() / 2.0) } else { (1.0, 0.0) };
    while 2.0 * x < m as f64 {
        log += f64::ln(x);
        x += 1.0;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_gamma() {
        assert!((log_gamma_of_half(1) - PI.sqrt().ln()).abs() < 1e-15);
        assert_eq!(log_gamma_of_half(2), 0.0);
        assert!((log_gamma_of_half(5) - (0.75 * PI.sqrt()).ln()).abs() < 1e-15);
        assert!((log_gamma_of_half(10) - 24_f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn variances_above_the_noise_are_counted() {
        let spectrum = [9.0, 5.0, 4.0, 1.02, 1.01, 1.0, 0.99, 0.98];
        assert_eq!(most_probable_dimension(&spectrum, 1000.0), 3);
        // Laplace's method overestimates for few observations: scikit-learn 1.9 returns the same number.
        assert_eq!(most_probable_dimension(&spectrum, 100.0), 7);
        assert_eq!(most_probable_dimension(&[2.0], 10.0), 1);
        assert_eq!(most_probable_dimension(&[2.0, 1.0, 0.0, 0.0], 10.0), 2);
        assert_eq!(most_probable_dimension(&[0.0, 0.0], 10.0), 1);
    }
}
