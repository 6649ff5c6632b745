//! Random samples of rows.

use rand::{Rng, RngExt};

use crate::random::Stream;

/// At most `most` of `0..n`, ascending, all subsets equally likely (Vitter's sequential selection).
pub(super) fn without_replacement(n: usize, most: usize, rng: &mut impl Rng) -> Vec<usize> {
    let (mut left, mut chosen) = (most.min(n), Vec::with_capacity(most.min(n)));
    for i in 0..n {
        if uniform(rng) * ((n - i) as f64) < left as f64 {
            chosen.push(i);
            left -= 1;
        }
    }
    chosen
}

/// A sample of rows that represents all rows.
pub(super) struct Sample {
    /// Indices of the rows, ascending.
    pub(super) rows: Vec<usize>,
    /// Normalised weight that each row represents.
    pub(super) shares: Vec<f64>,
}

impl Sample {
    /// Draws at most `most` rows of positive weight. If all weights are equal, all subsets are equally likely.
    /// Otherwise the rows are the first distinct ones in a random order of repeated rows, and a row whose
    /// probability, given the waiting time of the first row not drawn, is `p` represents its weight divided by
    /// `p`: sums over the sample are unbiased (Cohen & Kaplan 2007). A row of large weight is drawn almost surely
    /// and represents itself.
    pub(super) fn draw(shares: &[f64], most: usize, stream: Stream) -> Self {
        let rng = &mut stream.generator();
        let positive: Vec<usize> = (0..shares.len()).filter(|&i| shares[i] > 0.0).collect();
        if positive.windows(2).all(|pair| shares[pair[0]] == shares[pair[1]]) {
            let rows: Vec<usize> =
                without_replacement(positive.len(), most, rng).into_iter().map(|i| positive[i]).collect();
            let shares = rows.iter().map(|&i| shares[i]).collect();
            return Self { rows, shares };
        }
        let rates: Vec<f64> = positive.iter().map(|&i| shares[i]).collect();
        let (first, beyond) = first_to_arrive(&rates, most, rng);
        let rows: Vec<usize> = first.into_iter().map(|i| positive[i]).collect();
        let represented = |share: f64| match -(-share * beyond).exp_m1() {
            0.0 => 1.0 / beyond,
            drawn => share / drawn,
        };
        let shares = rows.iter().map(|&i| represented(shares[i])).collect();
        Self { rows, shares }
    }
}

/// The indices of the `most` smallest of exponential waiting times with positive `rates`, ascending, and the next
/// waiting time: successive draws in proportion to the rates, without replacement (Efraimidis & Spirakis 2006).
pub(super) fn first_to_arrive(rates: &[f64], most: usize, rng: &mut impl Rng) -> (Vec<usize>, f64) {
    let mut waits: Vec<(f64, usize)> =
        rates.iter().enumerate().map(|(i, rate)| (-(1.0 - uniform(rng)).ln() / rate, i)).collect();
    let mut beyond = f64::INFINITY;
    if most < waits.len() {
        waits.select_nth_unstable_by(most, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        beyond = waits[most].0;
        waits.truncate(most);
    }
    let mut first: Vec<usize> = waits.into_iter().map(|(_, i)| i).collect();
    first.sort_unstable();
    (first, beyond)
}

/// A uniform number in [0, 1).
pub(super) fn uniform(rng: &mut impl Rng) -> f64 {
    rng.random::<f64>()
}
