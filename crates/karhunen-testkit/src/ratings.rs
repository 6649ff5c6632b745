//! Entries distributed like a catalogue of ratings: few samples and features have most of the entries, and values
//! have a planted rank. Generated in parallel; a seed determines the entries for every number of threads.

use std::num::NonZero;
use std::thread;

use crate::SplitMix64;

/// Number of samples of a piece of work.
const PIECE: usize = 2048;
/// Popularity of features falls as `(x + 1/50)^-1.8` over ranks `x` from 0 to 1: the most popular has 40 times the
/// mean, as of the films of the Netflix prize.
const POPULARITY: f64 = 1.8;
/// Numbers of entries per sample fall as `(x + 1/50)^-1`: their median is half their mean.
const ACTIVITY: f64 = 1.0;
/// The constant 1/50 of these laws.
const FLAT: f64 = 0.02;
/// Largest fraction of the features that a sample has, unless the problem has more entries.
const MOST: f64 = 0.25;
/// Mean and standard deviation of the means of features.
const LEVEL: (f64, f64) = (3.6, 0.5);
/// Standard deviation of all components together.
const SIGNAL: f64 = 0.7;

/// Size and distribution of the ratings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Catalogue {
    /// Number of rows.
    pub n_samples: usize,
    /// Number of columns.
    pub n_features: usize,
    /// Number of observed entries, at most half of all.
    pub n_entries: usize,
    /// Number of components; their variances fall as `1/k`.
    pub n_components: usize,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Round values to integers from 1 to 5.
    pub stars: bool,
    /// Seed of all draws.
    pub seed: u64,
}

impl Catalogue {
    /// The shape of the Netflix prize: 480,189 x 17,770 with 100,480,507 entries, here with 15 components.
    pub fn netflix() -> Self {
        Self::new(480_189, 17_770, 100_480_507)
    }

    /// 15 components, noise 0.85, values not rounded.
    pub fn new(n_samples: usize, n_features: usize, n_entries: usize) -> Self {
        Self { n_samples, n_features, n_entries, n_components: 15, noise: 0.85, stars: false, seed: 2007 }
    }

    /// Generates the entries, sample after sample, with increasing features.
    ///
    /// # Panics
    /// If there are more entries than half of the matrix, or fewer than samples.
    pub fn make(&self) -> Ratings {
        let (n, p, c) = (self.n_samples, self.n_features, self.n_components);
        assert!(
            self.n_entries >= n && 2 * self.n_entries <= n * p,
            "between one entry a sample and half of all"
        );
        let counts = self.counts();
        let places = shuffled(p, self.stream(1));
        let mut rng = self.stream(2);
        let scale: f64 = SIGNAL / (1..=c).map(|k| 1.0 / k as f64).sum::<f64>().sqrt();
        let mut loadings = Vec::with_capacity(p * (c + 1));
        for _ in 0..p {
            loadings.extend((1..=c).map(|k| (scale * rng.normal() / (k as f64).sqrt()) as f32));
            loadings.push((LEVEL.0 + LEVEL.1 * rng.normal()) as f32);
        }
        let mut ratings = Ratings {
            samples: vec![0; self.n_entries],
            features: vec![0; self.n_entries],
            values: vec![0.0; self.n_entries],
        };
        let mut pieces = ratings.pieces(&counts);
        let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
        let mut shares: Vec<Vec<(usize, Piece<'_>)>> = (0..n_threads).map(|_| Vec::new()).collect();
        for (number, piece) in pieces.drain(..).enumerate() {
            shares[number % n_threads].push((number, piece));
        }
        let (counts, places, loadings) = (&counts, &places, &loadings);
        thread::scope(|scope| {
            for share in shares {
                scope.spawn(move || {
                    let mut seen = vec![0u64; p.div_ceil(64)];
                    for (number, mut piece) in share {
                        let first = number * PIECE;
                        for (j, count) in (first..).zip(&counts[first..counts.len().min(first + PIECE)]) {
                            let entries = piece.take(*count);
                            self.fill(j, entries, places, loadings, &mut seen);
                        }
                    }
                });
            }
        });
        ratings
    }

    fn stream(&self, number: u64) -> SplitMix64 {
        let mut rng = SplitMix64::new(self.seed.wrapping_add(number << 32));
        SplitMix64::new(rng.bits())
    }

    /// The number of entries of each sample.
    fn counts(&self) -> Vec<usize> {
        let n = self.n_samples;
        let mean = self.n_entries as f64 / n as f64;
        let most = (MOST * self.n_features as f64).max((1.5 * mean).min(self.n_features as f64)) as usize;
        let weight = |rank: usize| ((rank as f64 + 0.5) / n as f64 + FLAT).powf(-ACTIVITY);
        let count = |scale: f64, rank: usize| ((scale * weight(rank)) as usize).clamp(1, most);
        let (mut low, mut high) = (0.0, self.n_entries as f64);
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            let total: usize = (0..n).map(|rank| count(middle, rank)).sum();
            if total <= self.n_entries { low = middle } else { high = middle }
        }
        let mut by_rank: Vec<usize> = (0..n).map(|rank| count(low, rank)).collect();
        let mut left = self.n_entries - by_rank.iter().sum::<usize>();
        while left > 0 {
            for count in by_rank.iter_mut().filter(|count| **count < most).take(left) {
                *count += 1;
                left -= 1;
            }
        }
        shuffled(n, self.stream(0)).into_iter().map(|rank| by_rank[rank as usize]).collect()
    }

    /// Draws the entries of one sample; `seen` is a set of features, empty before and after.
    fn fill(&self, j: usize, entries: Piece<'_>, places: &[u32], loadings: &[f32], seen: &mut [u64]) {
        let (p, c) = (self.n_features, self.n_components);
        let mut rng = self.stream(3 + j as u64);
        let scores: Vec<f32> = (0..c).map(|_| rng.normal() as f32).collect();
        // The inverse of the distribution function of ranks.
        let power = 1.0 - POPULARITY;
        let (start, end) = (FLAT.powf(power), (1.0 + FLAT).powf(power));
        let mut left = entries.values.len();
        while left > 0 {
            let x = (start + rng.uniform() * (end - start)).powf(1.0 / power) - FLAT;
            let feature = places[((x * p as f64) as usize).min(p - 1)] as usize;
            let (word, bit) = (feature / 64, 1 << (feature % 64));
            left -= usize::from(seen[word] & bit == 0);
            seen[word] |= bit;
        }
        entries.samples.fill(j as u32);
        let features = seen.iter_mut().enumerate().flat_map(|(word, bits)| {
            let mut rest = std::mem::take(bits);
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize);
                rest &= rest.wrapping_sub(1);
                bit.map(|bit| 64 * word + bit)
            })
        });
        for ((at, value), feature) in entries.features.iter_mut().zip(entries.values).zip(features) {
            let row = &loadings[feature * (c + 1)..(feature + 1) * (c + 1)];
            let fitted = row[c] + row.iter().zip(&scores).map(|(a, s)| a * s).sum::<f32>();
            let exact = fitted + (self.noise * rng.normal()) as f32;
            *at = feature as u32;
            *value = if self.stars { exact.round().clamp(1.0, 5.0) } else { exact };
        }
    }
}

/// Entries: `values[e]` belongs to sample `samples[e]` and feature `features[e]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratings {
    /// Row of each entry, not decreasing.
    pub samples: Vec<u32>,
    /// Column of each entry, increasing within a row.
    pub features: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f32>,
}

/// Some entries of [`Ratings`].
struct Piece<'a> {
    samples: &'a mut [u32],
    features: &'a mut [u32],
    values: &'a mut [f32],
}

impl<'a> Piece<'a> {
    /// Splits off the first `n` entries.
    fn take(&mut self, n: usize) -> Piece<'a> {
        Piece {
            samples: self.samples.split_off_mut(..n).unwrap_or_default(),
            features: self.features.split_off_mut(..n).unwrap_or_default(),
            values: self.values.split_off_mut(..n).unwrap_or_default(),
        }
    }
}

impl Ratings {
    fn pieces(&mut self, counts: &[usize]) -> Vec<Piece<'_>> {
        let mut rest =
            Piece { samples: &mut self.samples, features: &mut self.features, values: &mut self.values };
        counts.chunks(PIECE).map(|counts| rest.take(counts.iter().sum())).collect()
    }
}

/// The numbers below `n` in random order.
fn shuffled(n: usize, mut rng: SplitMix64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        order.swap(i, (rng.uniform() * (i + 1) as f64) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_have_the_requested_number_of_entries_and_their_distribution() {
        let catalogue = Catalogue { n_components: 3, ..Catalogue::new(5_000, 800, 200_000) };
        let ratings = catalogue.make();
        assert_eq!(ratings.values.len(), 200_000);
        let (mut by_sample, mut by_feature) = (vec![0usize; 5_000], vec![0usize; 800]);
        for (e, (j, i)) in ratings.samples.iter().zip(&ratings.features).enumerate() {
            by_sample[*j as usize] += 1;
            by_feature[*i as usize] += 1;
            let before = e.checked_sub(1).map(|e| (ratings.samples[e], ratings.features[e]));
            assert!(before.is_none_or(|before| before < (*j, *i)), "in order, none twice");
        }
        by_sample.sort_unstable();
        by_feature.sort_unstable();
        assert!(by_sample[0] >= 1 && by_sample[4_999] > 4 * 40, "{:?}", by_sample[4_999]);
        assert!(
            (15..=25).contains(&by_sample[2_500]),
            "the median is half of the mean of 40: {}",
            by_sample[2_500]
        );
        assert!(by_feature[400] < 100 && by_feature[799] > 2_500, "{} {}", by_feature[400], by_feature[799]);
        assert_eq!(ratings, catalogue.make());
    }

    #[test]
    fn values_have_the_planted_mean_and_variance() {
        let ratings = Catalogue::new(3_000, 700, 300_000).make();
        let n = ratings.values.len() as f64;
        let mean = ratings.values.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let variance = ratings.values.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n;
        let planted = LEVEL.1.powi(2) + SIGNAL.powi(2) + 0.85f64.powi(2);
        assert!((mean - LEVEL.0).abs() < 0.15, "{mean}");
        assert!((variance / planted - 1.0).abs() < 0.15, "{variance} {planted}");
        let stars = Catalogue { stars: true, ..Catalogue::new(300, 200, 5_000) }.make();
        assert!(stars.values.iter().all(|x| (1.0..=5.0).contains(x) && x.fract() == 0.0));
    }
}
