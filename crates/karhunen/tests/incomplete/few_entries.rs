//! Data with very few entries: predictions stay near the observed values.

use karhunen::incomplete::{MeanMode, Method};
use karhunen::{Dense, IncompletePca, Observed};
use karhunen_testkit::{SplitMix64, largest};

/// A table of 10 x 3 with three entries.
fn three_entries(seed: u64) -> Vec<f64> {
    let mut rng = SplitMix64::new(seed);
    let mut x = vec![f64::NAN; 30];
    while x.iter().filter(|x| !x.is_nan()).count() < 3 {
        let at = (rng.uniform() * 30.0) as usize;
        x[at] = 3.0 * rng.normal();
    }
    x
}

#[test]
fn penalised_predictions_stay_within_the_range_of_the_data() {
    let shrinking = [Method::Auto, Method::Soft, Method::Als, Method::Ridge, Method::VbFull, Method::Vb];
    let mut beyond = Vec::new();
    for seed in 0..40 {
        let mut x = three_entries(seed);
        if seed == 0 {
            // Two entries in one column, and one in another, which the ridge shrinks to nothing.
            x.fill(f64::NAN);
            (x[5], x[6], x[20]) = (-3.228083777013916, -2.059530703095768, -1.6278509950469415);
        }
        let range = largest(x.iter().copied().filter(|x| !x.is_nan()));
        let data = Observed::from_dense(&Dense::row_major(&x, 10, 3).unwrap()).unwrap();
        for method in shrinking {
            for mean in [MeanMode::None, MeanMode::Joint] {
                let model = IncompletePca { method, mean, ..IncompletePca::new(2) }.fit(&data).unwrap();
                let all = (0..10).flat_map(|j| (0..3).map(move |i| (j, i)));
                let largest = largest(all.map(|(j, i)| model.predict(j, i).unwrap().value));
                if largest.is_nan() || largest > 1.5 * range {
                    beyond.push(format!("{} {mean:?} {seed}: {largest:e} of {range}", method.name()));
                }
            }
        }
    }
    assert!(beyond.is_empty(), "{beyond:#?}");
}
