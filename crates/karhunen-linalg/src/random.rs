//! Random numbers: one stream for each purpose, derived from a seed by the name of the purpose.
//!
//! Every random number of the library comes from this module or from a [`Generator`] made here; `tests/layers`
//! rejects any other. Streams for different purposes are independent even for equal seeds, which is the default:
//! the entries held out by one step do not predict those held out by the next. `docs/determinism.md` lists the
//! purposes.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The generator of all streams: ChaCha with eight rounds, the same on every machine.
pub type Generator = ChaCha8Rng;

/// The purpose of a stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The entries that `Observed::split` holds out.
    Split,
    /// The entries that a fit with early stopping holds out.
    EarlyStopping,
    /// The entries that a fit holds out for conformal intervals.
    Conformal,
    /// The fold of cross-validation that each entry belongs to.
    Folds,
    /// The initial loadings of a fit with missing values, one stream for each start.
    Starts,
    /// The initial loadings of a stream of incomplete rows.
    StreamStart,
    /// The rows that represent a fitted model in a stream, with a fixed seed.
    StreamRows,
    /// The starting vector for the largest penalty of a path, with a fixed seed.
    PathStart,
    /// The first block of a Krylov space, and the columns that replace exhausted directions.
    KrylovStart,
    /// The starting vectors of inverse iteration, with a fixed seed.
    InverseIteration,
    /// Columns that complete an orthonormal basis after linearly dependent ones.
    Completion,
    /// Probe vectors that estimate the norm or the spectrum of a matrix.
    Probes,
    /// The probe of a sketch that measures its error, one stream for each column of the data.
    SketchProbe,
    /// The rows whose distances determine gamma by the rule `median`.
    MedianRule,
    /// The rows that landmarks are chosen from.
    LandmarkCandidates,
    /// The candidates that the approximate leverage scores are computed from.
    LeverageSample,
    /// The landmarks among the candidates.
    Landmarks,
    /// The frequencies of random Fourier features.
    Fourier,
    /// The rows on which the error of an approximate kernel is estimated.
    KernelError,
    /// The random tables of parallel analysis, one stream for each.
    ParallelAnalysis,
    /// The rows that are drawn in a bootstrap, one stream for each draw.
    Bootstrap,
    /// The groups of rows that a jackknife leaves out.
    Jackknife,
}

impl Purpose {
    /// The name that the stream is derived from, at most 24 bytes. Changing a name changes results.
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Split => "split",
            Purpose::EarlyStopping => "early-stopping",
            Purpose::Conformal => "conformal",
            Purpose::Folds => "folds",
            Purpose::Starts => "starts",
            Purpose::StreamStart => "stream-start",
            Purpose::StreamRows => "stream-rows",
            Purpose::PathStart => "path-start",
            Purpose::KrylovStart => "krylov-start",
            Purpose::InverseIteration => "inverse-iteration",
            Purpose::Completion => "completion",
            Purpose::Probes => "probes",
            Purpose::SketchProbe => "sketch-probe",
            Purpose::MedianRule => "median-rule",
            Purpose::LandmarkCandidates => "landmark-candidates",
            Purpose::LeverageSample => "leverage-sample",
            Purpose::Landmarks => "landmarks",
            Purpose::Fourier => "fourier",
            Purpose::KernelError => "kernel-error",
            Purpose::ParallelAnalysis => "parallel-analysis",
            Purpose::Bootstrap => "bootstrap",
            Purpose::Jackknife => "jackknife",
        }
    }

    /// The stream of this purpose for a seed.
    pub const fn of(self, seed: u64) -> Stream {
        Stream { purpose: self, seed, number: 0 }
    }
}

/// A stream of random numbers, from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    purpose: Purpose,
    seed: u64,
    number: u64,
}

impl Stream {
    /// The stream with the same purpose and seed and this number. Streams with different numbers are independent.
    pub const fn number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// A generator at the beginning of the stream. The 256-bit key is the seed as eight little-endian bytes, the
    /// name of the purpose and zeros; the nonce is the number.
    pub fn generator(self) -> Generator {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        let name = self.purpose.name().as_bytes();
        key[8..8 + name.len()].copy_from_slice(name);
        let mut generator = Generator::from_seed(key);
        generator.set_stream(self.number);
        generator
    }

    /// Random numbers for the entries of a matrix, in any order.
    pub fn places(self) -> Places {
        Places { key: self.generator().next_u64() }
    }
}

/// A random number for each entry of a matrix, a function of the stream and the position alone.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    key: u64,
}

impl Places {
    /// The random number of a position, uniform on `u64`.
    pub fn at(self, row: u64, column: u64) -> u64 {
        mix(mix(mix(self.key) ^ row) ^ column)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014, doi:10.1145/2660193.2660195): a bijection in which each
/// bit of the result depends on all bits of `z`.
pub const fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One step of a checksum over words: fast, and not linear, so that changes do not cancel.
#[inline(always)]
pub const fn stir(state: u64, word: u64) -> u64 {
    (state ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// Puts numbers in random order (Fisher & Yates).
pub fn shuffle(numbers: &mut [usize], generator: &mut Generator) {
    for i in (1..numbers.len()).rev() {
        numbers.swap(i, generator.random_range(0..=i as u64) as usize);
    }
}

/// A generator for the matrices of the tests of this crate and of `karhunen`.
#[doc(hidden)]
pub fn test_generator(seed: u64, stream: u64) -> Generator {
    let mut generator = Generator::seed_from_u64(seed);
    generator.set_stream(stream);
    generator
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Purpose; 22] = [
        Purpose::Split,
        Purpose::EarlyStopping,
        Purpose::Conformal,
        Purpose::Folds,
        Purpose::Starts,
        Purpose::StreamStart,
        Purpose::StreamRows,
        Purpose::PathStart,
        Purpose::KrylovStart,
        Purpose::InverseIteration,
        Purpose::Completion,
        Purpose::Probes,
        Purpose::SketchProbe,
        Purpose::MedianRule,
        Purpose::LandmarkCandidates,
        Purpose::LeverageSample,
        Purpose::Landmarks,
        Purpose::Fourier,
        Purpose::KernelError,
        Purpose::ParallelAnalysis,
        Purpose::Bootstrap,
        Purpose::Jackknife,
    ];

    /// 4,000 numbers on [-1/2, 1/2).
    fn draws(stream: Stream) -> Vec<f64> {
        let mut generator = stream.generator();
        (0..4000).map(|_| centred(generator.next_u64())).collect()
    }

    fn of_places(stream: Stream) -> Vec<f64> {
        let places = stream.places();
        (0..4000).map(|e| centred(places.at(e / 50, e % 50))).collect()
    }

    fn centred(bits: u64) -> f64 {
        bits as f64 / 2f64.powi(64) - 0.5
    }

    /// Correlation of two streams; of independent ones it has the standard error 1 / sqrt(4000) = 0.016.
    fn correlation(x: &[f64], y: &[f64]) -> f64 {
        12.0 * x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>() / x.len() as f64
    }

    #[test]
    fn names_of_purposes_differ_and_fit_in_the_key() {
        for (i, purpose) in ALL.iter().enumerate() {
            assert!(purpose.name().len() <= 24 && !purpose.name().contains('\0'), "{purpose:?}");
            for other in &ALL[..i] {
                assert_ne!(purpose.name(), other.name());
            }
        }
    }

    #[test]
    fn the_page_on_determinism_lists_every_purpose() {
        let page = include_str!("../../../docs/determinism.md");
        for purpose in ALL {
            let cell = format!("| `{}` |", purpose.name());
            assert!(page.contains(&cell), "docs/determinism.md has no row that begins with {cell}");
        }
    }

    #[test]
    fn streams_of_other_purposes_seeds_or_numbers_are_uncorrelated() {
        let mut streams: Vec<Stream> = ALL.iter().map(|purpose| purpose.of(0)).collect();
        streams.extend([1, 2, u64::MAX].map(|seed| Purpose::Split.of(seed)));
        streams.extend([1, 2, u64::MAX].map(|number| Purpose::Split.of(0).number(number)));
        for of in [draws, of_places] {
            let drawn: Vec<Vec<f64>> = streams.iter().map(|stream| of(*stream)).collect();
            for (i, x) in drawn.iter().enumerate() {
                let variance = correlation(x, x);
                assert!((variance - 1.0).abs() < 0.08, "{:?}: {variance}", streams[i]);
                for (y, other) in drawn.iter().zip(&streams).take(i) {
                    // Five standard errors; there are 276 pairs, twice.
                    let found = correlation(x, y);
                    assert!(found.abs() < 0.08, "{:?} and {other:?}: {found}", streams[i]);
                }
            }
        }
    }

    #[test]
    fn a_stream_follows_the_documented_construction() {
        let mut key = [0; 32];
        key[..13].copy_from_slice(b"\x07\x01\0\0\0\0\0\0split");
        let mut by_hand = Generator::from_seed(key);
        by_hand.set_stream(3);
        assert_eq!(Purpose::Split.of(263).number(3).generator().next_u64(), by_hand.next_u64());
    }
}
