//! Draws that depend on the seed alone.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Streams of one seed, so that no draw repeats another.
pub(super) fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// At most `most` of `0..n`, ascending, every subset as likely as another (Vitter's selection in order).
pub(super) fn without_replacement(n: usize, most: usize, seed: u64) -> Vec<usize> {
    let mut rng = generator(seed, 101);
    let (mut left, mut chosen) = (most.min(n), Vec::with_capacity(most.min(n)));
    for i in 0..n {
        if uniform(&mut rng) * ((n - i) as f64) < left as f64 {
            chosen.push(i);
            left -= 1;
        }
    }
    chosen
}

/// In [0, 1).
pub(super) fn uniform(rng: &mut impl Rng) -> f64 {
    rng.random::<f64>()
}
