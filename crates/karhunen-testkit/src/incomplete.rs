//! Reproducible problems with missing values, by SplitMix64 and the Box-Muller transform alone.

use crate::rows::Rows;

/// The generator SplitMix64.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// A generator that starts with `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = self.0;
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * 0.5f64.powi(53)
    }

    /// Standard normal, from two uniforms.
    pub fn normal(&mut self) -> f64 {
        let (u1, u2) = (self.uniform(), self.uniform());
        (-2.0 * (1.0 - u1).ln()).sqrt() * (2.0 * std::f64::consts::PI * u2).cos()
    }

    /// A matrix of standard normals, row by row.
    pub fn normals(&mut self, n_rows: usize, n_cols: usize) -> Rows {
        (0..n_rows).map(|_| (0..n_cols).map(|_| self.normal()).collect()).collect()
    }
}

/// A matrix with missing entries whose complete values are known.
#[derive(Clone, Debug)]
pub struct Incomplete {
    /// Every value.
    pub complete: Rows,
    /// True for observed entries.
    pub observed: Vec<Vec<bool>>,
    /// The values without noise.
    pub noise_free: Rows,
}

impl Incomplete {
    /// `S A' + mean + noise`, drawn in this order: loadings (p, c), each column times its factor, scores (n, c),
    /// mean (p), noise (n, p), then one uniform number for each entry, which is missing if that is below
    /// `missing`.
    pub fn planted(n: usize, p: usize, factors: &[f64], noise: f64, missing: f64, seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let loadings = rng.normals(p, factors.len());
        let scores = rng.normals(n, factors.len());
        let mean: Vec<f64> = (0..p).map(|_| rng.normal()).collect();
        let value = |j: usize, i: usize| {
            let products = factors.iter().enumerate().map(|(k, f)| scores[j][k] * loadings[i][k] * f);
            products.sum::<f64>() + mean[i]
        };
        let noise_free: Rows = (0..n).map(|j| (0..p).map(|i| value(j, i)).collect()).collect();
        let mut complete = noise_free.clone();
        complete.iter_mut().flatten().for_each(|x| *x += noise * rng.normal());
        let observed = (0..n).map(|_| (0..p).map(|_| rng.uniform() >= missing).collect()).collect();
        Self { complete, observed, noise_free }
    }

    /// Problem Q of `docs/log/reference-values.md`: 40 x 12, two components, 314 observed entries.
    pub fn problem_q() -> Self {
        Self::planted(40, 12, &[2.0, 1.0], 0.25, 0.4, 2007)
    }

    /// (n_samples, n_features).
    pub fn shape(&self) -> (usize, usize) {
        (self.complete.len(), self.complete[0].len())
    }

    /// The values, row-major, NaN if missing.
    pub fn with_nan(&self) -> Vec<f64> {
        let values = self.complete.iter().flatten().zip(self.observed.iter().flatten());
        values.map(|(x, seen)| if *seen { *x } else { f64::NAN }).collect()
    }

    /// Rows, columns and values of the observed entries, or of the missing ones.
    pub fn entries(&self, observed: bool) -> Vec<(usize, usize, f64)> {
        let (n, p) = self.shape();
        let all = (0..n).flat_map(|j| (0..p).map(move |i| (j, i)));
        all.filter(|(j, i)| self.observed[*j][*i] == observed)
            .map(|(j, i)| (j, i, self.complete[j][i]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_reproduces_its_reference_numbers() {
        let mut rng = SplitMix64::new(2007);
        assert_eq!(
            [rng.bits(), rng.bits(), rng.bits()],
            [0xaccac86204ddbe19, 0xe5dbb7214cda4435, 0x31ba1b2c3df295fc]
        );
        let mut rng = SplitMix64::new(2007);
        for expected in [1.2010734190, -0.6031765873, -0.4949885074] {
            assert!((rng.normal() - expected).abs() < 1e-10);
        }
    }

    #[test]
    fn problem_q_is_the_reference_problem() {
        let q = Incomplete::problem_q();
        let seen = q.entries(true);
        assert_eq!((seen.len(), q.entries(false).len()), (314, 166));
        assert!((seen.iter().map(|e| e.2).sum::<f64>() - 20.6543986537).abs() < 1e-9);
        assert!((q.complete[0][0] + 1.1051474960).abs() < 1e-9 && !q.observed[0][0]);
    }
}
