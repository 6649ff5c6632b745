//! Options as JSON: every option is obeyed or refused, on tables of every kind, and fits are finite.

use karhunen::kernel::{Landmarks, Nystrom};
use karhunen::{Dense, IncompletePca, KernelPca, Observed, Pca, Weights};
use serde::Deserialize;

use super::{Outcome, Verdict, accepted, all_finite, choice, hold};

/// The estimator and its options.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Options {
    Pca(Pca),
    Incomplete(IncompletePca),
    Kernel(KernelPca),
    Nystrom(Nystrom),
}

/// Limit of the iterations of a fit; more would only take longer.
const MOST_ITERATIONS: usize = 60;

pub(super) fn run(bytes: &[u8]) -> Verdict {
    let options: Options = match serde_json::from_slice(bytes) {
        Ok(options) => options,
        Err(_) => return Ok(Outcome::Refused),
    };
    let (n, p, values) = table(choice(bytes, 8));
    let x = Dense::row_major(&values, n, p).map_err(|error| error.to_string())?;
    let weights: Vec<f64> = (0..n).map(|row| (row % 3) as f64).collect();
    let weights = Weights { samples: (choice(bytes, 3) == 0).then_some(&weights[..]), ..Weights::default() };
    let outcome = match options {
        Options::Pca(mut pca) => {
            pca.max_iter = pca.max_iter.min(MOST_ITERATIONS);
            let model = accepted!(pca.fit(&x, &weights));
            let shape = (model.n_components(), model.n_features());
            hold(shape.0 <= n.min(p) && shape.1 == p, || format!("a model of {shape:?} for {n} x {p}"))?;
            all_finite("components", model.components().as_slice())?;
            all_finite("explained variance", model.explained_variance())?;
            all_finite("noise variance", &[model.noise_variance()])
        }
        Options::Incomplete(mut pca) => {
            pca.max_iter = pca.max_iter.min(MOST_ITERATIONS);
            pca.inner_iterations = pca.inner_iterations.min(20);
            pca.n_starts = pca.n_starts.map(|n| n.min(4));
            let observed = Observed::from_dense(&x).map_err(|error| error.to_string())?;
            let model = accepted!(pca.fit(&observed));
            all_finite("components of incomplete data", model.components().as_slice())?;
            all_finite("scores of incomplete data", model.scores().as_slice())?;
            all_finite("noise variance of incomplete data", &[model.noise_variance()])
        }
        Options::Kernel(mut pca) => {
            pca.max_iter = pca.max_iter.min(MOST_ITERATIONS);
            pca.n_features = pca.n_features.map(|n| n.min(200));
            let model = accepted!(pca.fit(&x, &weights));
            all_finite("eigenvalues", model.eigenvalues())?;
            all_finite("eigenvectors", model.eigenvectors().as_slice())
        }
        Options::Nystrom(mut nystrom) => {
            if !matches!(nystrom.landmarks, Landmarks::Uniform) && nystrom.n_landmarks > 1000 {
                nystrom.n_landmarks = 1000;
            }
            let map = accepted!(nystrom.fit(&x, &weights));
            let features = accepted!(map.transform(&x));
            all_finite("features of a map", features.as_slice())
        }
    };
    outcome.map(|()| Outcome::Accepted)
}

/// Small tables of every kind as (rows, columns, values); in some a twentieth is missing.
fn table(which: usize) -> (usize, usize, Vec<f64>) {
    let (n, p) = [(12, 5), (5, 12), (1, 4), (6, 1), (8, 8), (12, 5), (9, 4), (30, 3)][which];
    let value = |index: usize| {
        let (row, column) = (index / p, index % p);
        let base = ((index * 7919 + 13) % 101) as f64 / 10.0 - 5.0;
        match which {
            // Constant columns, rank one, far from zero, huge.
            4 => 3.0,
            5 => (row + 1) as f64 * (column + 1) as f64,
            6 => base + 1e9,
            7 => base * 1e150,
            _ => base,
        }
    };
    let mut values: Vec<f64> = (0..n * p).map(value).collect();
    if which == 0 || which == 1 {
        values.iter_mut().step_by(17).for_each(|value| *value = f64::NAN);
    }
    (n, p, values)
}
